"""Conversations as a program holds them: titles, lists, branches, scopes, times to live, and what is removed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Session
from appliance.errors import NotFound, UsageError
from appliance_models import HashEmbedder

DAY = 24 * 60 * 60


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock by seconds, forwards or back."""
    import time

    shift = [0]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + shift[0])

    def move(seconds: float) -> None:
        shift[0] += int(seconds * 1e9)

    return move


def texts(session: Any) -> list[str]:
    return [message.text for message in session.messages()]


def found(memory: Appliance, query: str, **more: Any) -> set[str]:
    return {hit.text for hit in memory.search(query, limit=50, **more)}


def clean(memory: Appliance) -> None:
    """All stores agree, now and when the index has followed."""
    assert not memory.verify().problems
    memory.embed_pending()
    findings = memory.verify()
    assert not findings.problems and findings.checked["pending"] == 0


def ingest(memory: Appliance, folder: Path, lines: list[dict[str, Any]], **more: Any) -> None:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    memory.ingest(path, **more)


def line(session: str, number: int, content: str, **more: Any) -> dict[str, Any]:
    when = f"2026-02-{number + 1:02}T10:00:00Z"
    base = {"session_id": session, "message_id": f"{session}-{number}", "role": "user", "timestamp": when}
    return {**base, "content": content, **more}


# --- titles ------------------------------------------------------------------------------------------


def test_a_title_is_found_in_the_first_words_that_tell_something(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "Hello!")
    assert session.title is None
    session.add("assistant", "What is it about?")
    session.add("user", "Could you help me with the tax return?")
    session.add("user", "And with the garden")
    assert (session.title, session.info.title_found) == ("The tax return", True)
    session.rename("  Taxes\n2025 ")
    assert (session.title, session.info.title_found) == ("Taxes 2025", False)
    assert memory.sessions.create(title="Given").info.title_found is False


def test_an_import_without_a_title_gets_one_until_its_export_has_one(
    memory: Appliance, tmp_path: Path
) -> None:
    lines = [line("a", 1, "hi"), line("a", 2, "We leave for Lisbon on Thursday")]
    ingest(memory, tmp_path, lines)
    info = memory.sessions.info("a")
    assert (info.title, info.title_found) == ("We leave for Lisbon on Thursday", True)
    assert "session_title" not in next(memory.export())
    assert memory.search("Lisbon")[0].session_title is None
    ingest(memory, tmp_path, [{**each, "session_title": "Lisbon"} for each in lines])
    info = memory.sessions.info("a")
    assert (info.title, info.title_found) == ("Lisbon", False)


def test_what_a_person_calls_it_outlasts_a_later_export(memory: Appliance, tmp_path: Path) -> None:
    ingest(memory, tmp_path, [line("a", 1, "we leave", session_title="Chat 17")])
    memory.sessions.resume("a").rename("Lisbon")
    ingest(memory, tmp_path, [line("a", 2, "we are back", session_title="Chat 17 (2)")])
    assert memory.sessions.info("a").title == "Lisbon"


# --- lists -------------------------------------------------------------------------------------------


@pytest.fixture
def several(memory: Appliance, tmp_path: Path) -> Appliance:
    ingest(
        memory, tmp_path, [line("trip", day, f"trip {day}", session_title="Trip to Lisbon") for day in (1, 2)]
    )
    ingest(memory, tmp_path, [line("work", day, f"work {day}", session_title="Budget") for day in (3, 4, 5)])
    for name, agent in (("one", "coder"), ("two", "")):
        session = memory.sessions.create(
            title=f"Own {name}",
            external_id=name,
            agent_id=agent,
            metadata={"project": name, "n": 1, "on": True},
        )
        session.add("user", f"hello {name}")
    memory.sessions.create(title="Ben's trip to Lisbon", user_id="ben").add("user", "x")
    memory.sessions.create(title="In a room", namespace="room").add("user", "x")
    return memory


def names(found: Any) -> list[str]:
    return [info.external_id for info in found]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["two", "one", "work", "trip"]),
        ({"reverse": True}, ["trip", "work", "one", "two"]),
        ({"sort": "title"}, ["work", "one", "two", "trip"]),
        ({"sort": "messages", "sources": ["native"]}, ["work", "trip"]),
        ({"sort": "created", "reverse": True}, ["trip", "work", "one", "two"]),
        ({"agent_id": "coder"}, ["one"]),
        ({"agent_id": ""}, ["two", "work", "trip"]),
        ({"metadata": {"project": "one"}}, ["one"]),
        ({"metadata": {"project": "one", "n": 2}}, []),
        ({"metadata": {"n": 1, "on": True}}, ["two", "one"]),
        ({"metadata": {"n": "1", "on": "true"}}, ["two", "one"]),
        ({"sources": ["native", "local"]}, ["two", "one", "work", "trip"]),
        ({"since": "2026-02-04", "until": "2026-02-06"}, ["work"]),
        ({"until": "2026-02-03"}, ["trip"]),
        ({"title": "lisbon trips"}, ["trip"]),
        ({"title": "own"}, ["two", "one"]),
        ({"title": "?!"}, []),
        ({"title": 'budget" OR "trip'}, []),
        ({"pinned": True}, []),
        ({"user_id": "ana"}, []),
    ],
)
def test_a_list_is_filtered_and_sorted(
    several: Appliance, wanted: dict[str, Any], expected: list[str]
) -> None:
    assert names(several.sessions.list(**wanted)) == expected


def test_the_most_important_come_first(memory: Appliance) -> None:
    said = {
        "life": (
            "My sister Mira and I decided to move to Lisbon in June 2026, into Rua das Flores 12.",
            "ok",
            "thanks",
            "fine",
        ),
        "chat": ("ok", "thanks", "fine", "good"),
        "kept": ("ok", "fine"),
    }
    talks = {name: memory.sessions.create(title=name, external_id=name) for name in said}
    ids = {name: [talks[name].add("user", text).id for text in texts] for name, texts in said.items()}
    memory.tend()
    assert names(memory.sessions.list(sort="importance"))[0] == "life"
    memory.pin(ids["chat"][1])
    assert names(memory.sessions.list(sort="importance")).index("chat") == 0, "what is pinned in it counts"
    talks["kept"].pin()
    assert names(memory.sessions.list(sort="importance")) == ["kept", "chat", "life"]
    assert names(memory.sessions.list(sort="importance", reverse=True)) == ["life", "chat", "kept"]


def test_pages_neither_repeat_nor_miss_while_others_talk(memory: Appliance) -> None:
    begun = [memory.sessions.create(title=f"Talk {number}") for number in range(9)]
    for session in begun:
        session.add("user", "first")
    for more in (
        {},
        {"reverse": True},
        {"sort": "messages"},
        {"sort": "title"},
        {"sort": "created"},
        {"sort": "importance"},
    ):
        expected = [info.id for info in memory.sessions.list(**more)]  # type: ignore[arg-type]
        seen: list[str] = []
        after = None
        while True:
            page = memory.sessions.list(limit=2, after=after, **more)  # type: ignore[arg-type]
            seen += [info.id for info in page]
            begun[len(seen) % 9].add("user", "said meanwhile")
            memory.sessions.create(title="begun meanwhile").add("user", "x")
            if page.next is None:
                break
            after = page.next
        assert seen == expected


@pytest.mark.parametrize("wrong", ["x", "", "W10", "é", "eyJhIjoxfQ"])
def test_a_page_that_is_none_is_refused(several: Appliance, wrong: str) -> None:
    with pytest.raises(UsageError, match="page"):
        several.sessions.list(after=wrong)


def test_lists_refuse_what_can_not_be(several: Appliance) -> None:
    page = several.sessions.list(limit=1)
    for wrong in (
        {"sort": "beauty"},
        {"limit": 0},
        {"since": "yesterday"},
        {"after": page.next, "sort": "title"},
    ):
        with pytest.raises(UsageError):
            several.sessions.list(**wrong)  # type: ignore[arg-type]


def test_the_last_or_a_named_one_is_resumed(several: Appliance) -> None:
    assert several.sessions.resume().info.external_id == "two"
    assert several.sessions.resume(agent_id="coder").info.external_id == "one"
    assert several.sessions.resume("trip").info.format == "native"
    for wrong in ({"reference": "nowhere"}, {"user_id": "ana"}, {"reference": "trip", "user_id": "ben"}):
        with pytest.raises(NotFound):
            several.sessions.resume(**wrong)


# --- what is refused, and what is large or at once ---------------------------------------------------


def test_bad_input_is_refused_and_changes_nothing(memory: Appliance) -> None:
    session = memory.sessions.create(title="T")
    other = memory.sessions.create()
    theirs = other.add("user", "elsewhere")
    with pytest.raises(UsageError, match="no message"):
        session.branch()
    session.add("user", "here")
    for role, text in (("owner", "x"), ("user", ""), ("assistant", " \n\t")):
        with pytest.raises(UsageError):
            session.add(role, text)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"is of {other.id}"):
        session.branch(theirs.id)
    with pytest.raises(NotFound):
        session.branch("m999")
    for wrong in (
        {"ttl": -1},
        {"storage_scope": "some"},
        {"options": {"auto_recall": "yes"}},
        {"title": " "},
    ):
        with pytest.raises(UsageError):
            memory.sessions.create(**wrong)  # type: ignore[call-overload]
    for title in ("", " ", "\ud800"):
        with pytest.raises(UsageError):
            session.rename(title)
    with pytest.raises(NotFound):
        memory.sessions.get("s99")
    assert len(memory.sessions.list()) == 2 and texts(session) == ["here"] and session.title == "T"
    session.delete()
    for verb in (
        session.messages,
        session.clear,
        session.delete,
        session.branch,
        session.pin,
        lambda: session.info,
    ):
        with pytest.raises(NotFound):
            verb()
    with pytest.raises(NotFound):
        session.add("user", "too late")
    clean(memory)


def test_a_message_of_five_megabytes_is_kept_whole_and_found(memory: Appliance) -> None:
    words = "the river runs below the old stone bridge. "
    text = words * (5_000_000 // len(words)) + "And there lies the copper key."
    session = memory.sessions.create()
    session.add("user", text)
    assert texts(session) == [text]
    assert found(memory, "copper key", mode="lexical") == {text}
    assert not memory.verify().problems


def test_two_writers_on_one_session_lose_nothing(memory: Appliance) -> None:
    session = memory.sessions.create()
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for number in range(30):
                session.add("user", f"{name} {number}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = texts(session)
    assert not failed and len(said) == 90
    for name in ("one", "two", "three"):
        assert [text for text in said if text.startswith(name)] == [
            f"{name} {number}" for number in range(30)
        ]
    clean(memory)


def test_one_writer_deletes_what_another_writes_to(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "first")
    outcomes: list[str] = []

    def write() -> None:
        try:
            for number in range(200):
                session.add("user", f"more {number}")
        except NotFound:
            outcomes.append("refused")

    thread = threading.Thread(target=write)
    thread.start()
    memory.sessions.resume(session.id).delete()
    thread.join()
    assert outcomes == ["refused"] and not memory.sessions.list()
    clean(memory)


def test_what_is_said_now_stands_last_though_the_clock_went_back(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    session = memory.sessions.create()
    session.add("user", "before")
    clock(-400 * DAY)
    session.add("user", "after")
    session.branch().add("user", "branched")
    clock(+400 * DAY)
    session.add("user", "put right")
    assert texts(session) == ["before", "after", "put right"]
    assert texts(memory.sessions.resume("s2")) == ["before", "after", "branched"]


# --- branches ----------------------------------------------------------------------------------------


def forked(memory: Appliance) -> tuple[Session, Session, Session, Session]:
    """A conversation of four turns; one that left it at the third, one that left that one at its end, and one
    that left at the second turn, through the first branch."""
    root = memory.sessions.create(title="Root")
    turns = [root.add("user", f"root {number}") for number in range(1, 5)]
    near = root.branch(turns[2].id)
    near.add("user", "near 1")
    far = near.branch()
    far.add("user", "far 1")
    side = near.branch(turns[1].id, title="Side")
    side.add("user", "side 1")
    near.add("user", "near 2")
    return root, near, far, side


PASTS = (
    ["root 1", "root 2", "root 3", "root 4"],
    ["root 1", "root 2", "root 3", "near 1", "near 2"],
    ["root 1", "root 2", "root 3", "near 1", "far 1"],
    ["root 1", "root 2", "side 1"],
)


def test_a_branch_shares_its_past_and_has_its_own_future(memory: Appliance) -> None:
    family = forked(memory)
    assert tuple(texts(each) for each in family) == PASTS
    root, near, far, side = (each.info for each in family)
    assert (near.branch_of, near.branch_at, near.messages, near.shared) == (root.id, "m3", 2, 3)
    assert (far.branch_of, far.shared, side.branch_of, side.shared) == (near.id, 4, root.id, 2)
    assert (near.title, far.title, side.title) == ("Root (branch)", "Root (branch)", "Side")
    exported = [each["content"] for each in memory.export()]
    assert sorted(exported) == sorted({text for past in PASTS for text in past}), "every message once"
    assert memory.sessions.messages(far.id)[0].session_id == root.id
    clean(memory)


def test_within_a_branch_its_past_is_found_and_no_other_future(memory: Appliance) -> None:
    for wait in (False, True):
        family = forked(memory)
        if wait:
            memory.embed_pending()
        for session, past in zip(family, PASTS, strict=True):
            for mode in ("hybrid", "lexical"):
                hits = memory.search("root near far side 1 2 3 4", session_id=session.id, mode=mode, limit=50)  # type: ignore[arg-type]
                assert {hit.text for hit in hits} == set(past)


def test_a_context_in_a_branch_begins_before_it(memory: Appliance) -> None:
    _, near, _, _ = forked(memory)
    (recent,) = [layer for layer in near.context("root", budget=800).layers if layer.name == "recent"]
    assert [item.text for item in recent.items] == PASTS[1]


def test_an_edit_of_the_shared_past_is_seen_in_both_and_made_where_it_belongs(memory: Appliance) -> None:
    root = memory.sessions.create()
    root.add("user", "we meet at nine", external_id="plan")
    branch = root.branch()
    with pytest.raises(UsageError, match=f"edit it in {root.id}|shares"):
        branch.add("user", "we meet at ten", external_id="plan")
    root.add("user", "we meet at ten", external_id="plan")
    assert texts(branch) == ["we meet at ten"]


@pytest.mark.parametrize("verb", ["clear", "delete"])
@pytest.mark.parametrize("order", [(0,), (1,), (0, 1), (1, 0), (2, 1, 0), (0, 1, 2), (3, 0), (0, 3, 1)])
def test_nothing_of_a_branch_is_lost_with_what_it_left(
    memory: Appliance, verb: str, order: tuple[int, ...]
) -> None:
    family = forked(memory)
    memory.embed_pending()
    for number in order:
        removed = getattr(family[number], verb)()
        assert removed.kept == 0 or removed.heir in {each.id for each in family}
    for number, (session, past) in enumerate(zip(family, PASTS, strict=True)):
        if number not in order:
            assert texts(session) == past
            assert found(memory, "root near far side 1 2 3 4", session_id=session.id) == set(past)
        elif verb == "clear":
            assert texts(session) == [] and session.info.branch_of is None
    left = {text for number, past in enumerate(PASTS) if number not in order for text in past}
    assert sorted(each["content"] for each in memory.export()) == sorted(left), "each once, nothing more"
    clean(memory)
    assert found(memory, "root near far side 1 2 3 4") == left


def test_a_branch_keeps_its_order_whatever_times_its_messages_have(memory: Appliance) -> None:
    from datetime import UTC, datetime

    root = memory.sessions.create()
    for number in (1, 2):
        root.add("user", f"root {number}", external_id=f"{number}")
    branch = root.branch()
    for number in (1, 2, 3):
        # Of long before the branch began, and with external ids that its past has.
        external = f"{number}" if number == 3 else None
        branch.add(
            "user", f"own {number}", timestamp=datetime(2020, 1, number, tzinfo=UTC), external_id=external
        )
    root.add("user", "later", external_id="3")
    expected = ["root 1", "root 2", "own 1", "own 2", "own 3"]
    assert texts(branch) == expected
    root.delete()
    assert texts(branch) == expected
    clean(memory)


def test_external_ids_that_meet_in_a_handing_over_are_told_apart(memory: Appliance, tmp_path: Path) -> None:
    ingest(memory, tmp_path, [line("a", 5, "five")])
    root = memory.sessions.resume("a")
    branch = root.branch()
    branch.add("user", "own", external_id="a-1")
    ingest(memory, tmp_path, [line("a", 1, "one")])  # comes into the shared past
    assert texts(branch) == ["one", "five", "own"]
    root.delete()
    assert texts(branch) == ["one", "five", "own"]
    clean(memory)


def test_what_was_withheld_stays_so_with_its_new_owner(memory: Appliance) -> None:
    root = memory.sessions.create()
    root.add("user", "the violin is a secret")
    branch = root.branch()
    root.set_storage_scope("none")
    assert not found(memory, "violin")
    root.delete()
    assert texts(branch) == ["the violin is a secret"] and not found(memory, "violin")
    assert branch.info.storage_scope == "none"


# --- what is removed ---------------------------------------------------------------------------------


def test_what_is_deleted_is_in_no_store(memory: Appliance) -> None:
    for session in [memory.sessions.create(title=name) for name in ("keep", "go")]:
        for number in range(5):
            text = f"the violin of {session.title}, lesson {number}"
            session.add("user", text, external_id=f"{number}")
            session.add("user", f"{text} and more", external_id=f"{number}")
        session.add("user", "the same words here and there, to be told apart again")
    memory.embed_pending()
    keep, go = (memory.sessions.resume(f"s{number}") for number in (1, 2))
    before = go.info
    assert go.delete(dry_run=True).messages == 6
    assert go.info == before
    assert go.delete().messages == 6
    assert not memory.verify().problems, "also while points wait to be dropped"
    assert not [text for text in found(memory, "the violin of go") if " go," in text]
    clean(memory)
    counts = memory.verify().checked
    assert (counts["messages"], counts["revisions"], counts["points"]) == (6, 5, 6)
    assert [info.id for info in memory.sessions.list()] == [keep.id]
    assert len(memory.variants(keep.messages()[-1].id)) == 1, "nobody says the same any more"


def test_a_cleared_session_goes_on(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "My secret diary of the violin")
    assert session.title == "My secret diary of the violin"
    assert session.clear().messages == 1
    assert (texts(session), session.title, session.info.messages) == ([], None, 0)
    session.add("user", "A new garden")
    assert (texts(session), session.title) == (["A new garden"], "A new garden")
    clean(memory)
    titled = memory.sessions.create(title="Kept")
    titled.clear()
    assert titled.title == "Kept"


def test_a_deleted_import_comes_back_with_its_export(memory: Appliance, tmp_path: Path) -> None:
    lines = [line("a", 1, "one"), line("a", 2, "two")]
    ingest(memory, tmp_path, lines)
    memory.sessions.resume("a").delete()
    assert not memory.sessions.list()
    ingest(memory, tmp_path, lines)
    assert texts(memory.sessions.resume("a")) == ["one", "two"]
    clean(memory)


# --- times to live -----------------------------------------------------------------------------------


def test_what_has_outlived_its_time_is_not_shown_and_then_deleted(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    short = memory.sessions.create(ttl=60, external_id="short")
    message = short.add("user", "the walrus sings")
    memory.sessions.create(title="stays").add("user", "the walrus sleeps")
    memory.embed_pending()
    clock(50)
    short.add("user", "the walrus swims")  # activity prolongs
    clock(50)
    assert "the walrus sings" in found(memory, "walrus")
    clock(20)
    assert found(memory, "walrus") == found(memory, "walrus", mode="lexical") == {"the walrus sleeps"}
    assert [info.title for info in memory.sessions.list()] == ["stays"]
    assert [each["content"] for each in memory.export()] == ["the walrus sleeps"]
    for gone in (
        lambda: short.info,
        lambda: short.messages(),
        lambda: short.add("user", "x"),
        lambda: memory.sessions.get("short"),
        lambda: memory.message(message.id),
        lambda: memory.context("walrus", session_id="short"),
        lambda: memory.search("walrus", session_id="short"),
    ):
        with pytest.raises(NotFound):
            gone()
    assert memory.sessions.clear_away(lambda: True) == 1
    assert memory.status()["counts"]["sessions"] == 1
    clean(memory)


def test_one_that_is_begun_again_by_its_name_begins_empty(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    memory.sessions.create(ttl=60, external_id="daily").add("user", "yesterday")
    clock(61)
    again = memory.sessions.create(ttl=60, external_id="daily")
    assert texts(again) == [] and again.info.expires_at is not None
    clean(memory)


def test_the_default_is_for_what_was_begun_here_and_is_not_pinned(
    home: Path, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    def opened() -> Appliance:
        return Appliance.open(home, worker=False, embedder=HashEmbedder())

    with opened() as memory:
        ingest(memory, tmp_path, [line("import", 1, "imported")])
        for name, ttl in (("plain", None), ("pinned", None), ("for ever", 0), ("long", 10 * DAY)):
            memory.sessions.create(external_id=name, ttl=ttl).add("user", name)
        memory.sessions.resume("pinned").pin()
        assert memory.sessions.info("plain").expires_at is None
        assert memory.sessions.info("long").expires_at is not None
        with pytest.raises(UsageError, match="imported"):
            memory.sessions.resume("import").set_ttl(5)
    (home / "config.toml").write_text(f"[session]\nttl = {DAY}\n", encoding="utf-8")
    clock(2 * DAY)
    with opened() as memory:
        assert set(names(memory.sessions.list())) == {"import", "pinned", "for ever", "long"}
        assert memory.sessions.clear_away(lambda: True) == 1
        assert set(names(memory.sessions.list())) == {"import", "pinned", "for ever", "long"}
        memory.sessions.resume("pinned").unpin()
        assert memory.sessions.clear_away(lambda: True) == 0, "its time begins when it is let go"
        clock(1 * DAY + 1)
        assert memory.sessions.clear_away(lambda: True) == 1
        memory.sessions.create(external_id="new").add("user", "new")
    (home / "config.toml").write_text("", encoding="utf-8")
    clock(2 * DAY)
    with opened() as memory:
        assert set(names(memory.sessions.list())) == {"import", "for ever", "long", "new"}
        clock(10 * DAY)
        assert memory.sessions.clear_away(lambda: True) == 1
        clean(memory)


def test_a_clock_that_goes_back_deletes_nothing_early(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    before = memory.sessions.create(ttl=60, external_id="before")
    before.add("user", "before")
    clock(-1000 * DAY)
    during = memory.sessions.create(ttl=60, external_id="during")
    during.add("user", "during")
    before.add("user", "more")
    assert memory.sessions.clear_away(lambda: True) == 0 and len(memory.sessions.list()) == 2
    clock(+1000 * DAY)
    assert memory.sessions.clear_away(lambda: True) == 0 and len(memory.sessions.list()) == 2, (
        "both were active a moment ago"
    )
    clock(61)
    assert not memory.sessions.list() and memory.sessions.clear_away(lambda: True) == 2


def test_many_are_cleared_away_in_steps(memory: Appliance, clock: Callable[[float], None]) -> None:
    for number in range(25):
        memory.sessions.create(ttl=1).add("user", f"gone {number}")
    clock(2)
    asked: list[int] = []
    assert memory.sessions.clear_away(lambda: not asked.append(1) and len(asked) <= 3) == 3  # type: ignore[func-returns-value]
    assert memory.sessions.clear_away(lambda: True) == 20
    assert memory.sessions.clear_away(lambda: True) == 2
    clean(memory)


def test_a_branch_outlives_what_it_left(memory: Appliance, clock: Callable[[float], None]) -> None:
    root = memory.sessions.create(ttl=60)
    root.add("user", "the walrus sings")
    branch = root.branch()
    branch.set_ttl(0)
    memory.embed_pending()
    clock(61)
    assert texts(branch) == ["the walrus sings"]
    assert found(memory, "walrus", session_id=branch.id) == {"the walrus sings"}
    assert memory.sessions.clear_away(lambda: True) == 1
    assert texts(branch) == ["the walrus sings"]
    assert found(memory, "walrus") == {"the walrus sings"}
    clean(memory)


# --- agents and scopes -------------------------------------------------------------------------------


def test_an_agent_that_joins_finds_all_of_the_session(memory: Appliance) -> None:
    session = memory.sessions.create(agent_id="coder")
    session.add("user", "the violin needs a string")
    memory.embed_pending()
    assert not found(memory, "violin", agent_id="painter")
    message = session.add("assistant", "the violin is blue", agent_id="painter")
    assert message.metadata["agent"] == "painter"
    assert session.info.agents == ("coder", "painter")
    for agent in ("coder", "painter"):
        assert len(found(memory, "violin", agent_id=agent)) == 2
        assert [info.id for info in memory.sessions.list(agent_id=agent)] == [session.id]
    assert not found(memory, "violin", agent_id="") and not found(memory, "violin", agent_id="thief")
    clean(memory)
    assert len(found(memory, "violin", agent_id="painter")) == 2


SCOPES = ("all", "conversational", "summaries_only", "none")


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("drained", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_a_session_gives_what_its_scope_says(
    memory: Appliance, scope: Any, drained: bool, later: bool
) -> None:
    session = memory.sessions.create(storage_scope=None if later else scope, title="Violin")
    other = memory.sessions.create()
    session.add("user", "the violin is hidden in the attic")
    tool = session.add("tool", "violin lookup: attic")
    other.add("user", "what do we play tonight")
    if later:
        memory.embed_pending()
        session.set_storage_scope(scope)
    if drained:
        memory.embed_pending()
    talk, record = {"the violin is hidden in the attic"}, {"violin lookup: attic"}
    gives, noise = (talk if scope in ("all", "conversational") else set()), {"what do we play tonight"}

    for mode in ("hybrid", "lexical", "dense") if drained else ("hybrid", "lexical"):
        for query in ("violin attic", 'where is the "violin"', "attic last week or today"):
            asked = partial(found, memory, query, mode=mode)
            assert asked() - noise == asked(asked_in=other.id) - noise == gives
            assert asked(roles=["tool"]) == (record if scope == "all" else set())
            assert asked(asked_in=session.id) - noise == talk and asked(session_id=session.id) == talk
            assert asked(session_id=session.id, roles=["tool", "user"]) == talk | record
            assert asked(asked_in=session.id, roles=["tool"]) == record
            assert not asked(user_id="ben", session_id=session.id)
    answer = memory.search("violin", why_not=tool.id, roles=["tool"]).why_not
    assert answer is not None and (("withheld" in answer.words) == (scope != "all"))
    context = other.context("where is the violin", budget=600)
    assert ("attic" in context.text) == (scope in ("all", "conversational"))
    assert "attic" in session.context("where is the violin", budget=600).text
    clean(memory)


def test_auto_recall_and_other_options_are_kept(memory: Appliance) -> None:
    session = memory.sessions.create(options={"working": {"strategy": "buffer_window"}}, auto_recall=False)
    assert session.auto_recall is False
    session.configure({"auto_recall": None, "note": [1]})
    assert session.auto_recall is True
    assert session.info.options == {"working": {"strategy": "buffer_window"}, "note": [1]}
    with pytest.raises(UsageError):
        session.configure({"auto_recall": 1})
    with pytest.raises(UsageError):
        session.configure({"x": object()})
    session.add("user", "x")
    assert session.branch().info.options == session.info.options


@pytest.mark.parametrize("private", [False, True])
def test_what_json_can_not_say_is_refused(memory: Appliance, private: bool) -> None:
    session: Any = memory.sessions.create(private=private)
    with pytest.raises(UsageError, match="metadata"):
        session.add("user", "hello", metadata={"x": object()})
    with pytest.raises(UsageError, match="metadata"):
        memory.sessions.create(private=private, metadata={"x": object()})
    with pytest.raises(UsageError, match="timestamp"):
        session.add("user", "hello", timestamp="2026-01-01")
    assert session.messages() == []
