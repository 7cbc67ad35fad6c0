"""Conversations as a program holds them: titles, lists, scopes, and what is removed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from tests.stored_sessions import DAY, clean, found, ingest, line, names, texts

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


def test_an_import_without_a_title_gets_one_until_its_export_has_one(memory: Appliance, tmp_path: Path) -> None:
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
    ingest(memory, tmp_path, [line("trip", day, f"trip {day}", session_title="Trip to Lisbon") for day in (1, 2)])
    ingest(memory, tmp_path, [line("work", day, f"work {day}", session_title="Budget") for day in (3, 4, 5)])
    for name, agent in (("one", "coder"), ("two", "")):
        session = memory.sessions.create(
            title=f"Own {name}", external_id=name, agent_id=agent, metadata={"project": name, "n": 1, "on": True}
        )
        session.add("user", f"hello {name}")
    memory.sessions.create(title="Ben's trip to Lisbon", user_id="ben").add("user", "x")
    memory.sessions.create(title="In a room", namespace="room").add("user", "x")
    return memory


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
def test_a_list_is_filtered_and_sorted(several: Appliance, wanted: dict[str, Any], expected: list[str]) -> None:
    assert names(several.sessions.list(**wanted)) == expected


def test_what_is_imported_late_stands_where_it_started(several: Appliance, tmp_path: Path) -> None:
    several.sessions.create(title="Empty", external_id="empty")
    ingest(several, tmp_path, [line("early", 1, "before the trip", timestamp="2020-01-01T08:00:00Z")])
    ingest(several, tmp_path, [line("early", 2, "long after it", timestamp="2030-01-01T08:00:00Z")])
    assert names(several.sessions.list(sort="started", reverse=True)) == [
        "early",
        "trip",
        "work",
        "one",
        "two",
        "empty",
    ]
    assert names(several.sessions.list(sort="created", reverse=True)) == [
        "trip",
        "work",
        "one",
        "two",
        "empty",
        "early",
    ]


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
    memory.run_pending_jobs()
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
    for wrong in ({"sort": "beauty"}, {"limit": 0}, {"since": "soon"}, {"after": page.next, "sort": "title"}):
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
    with pytest.raises(UsageError, match=f"belongs to session {other.id}"):
        session.branch(theirs.id)
    with pytest.raises(NotFound):
        session.branch("m999")
    for wrong in ({"ttl": -1}, {"storage_scope": "some"}, {"options": {"auto_recall": "yes"}}, {"title": " "}):
        with pytest.raises(UsageError):
            memory.sessions.create(**wrong)  # type: ignore[call-overload]
    for title in ("", " ", "\ud800"):
        with pytest.raises(UsageError):
            session.rename(title)
    with pytest.raises(NotFound):
        memory.sessions.get("s99")
    assert len(memory.sessions.list()) == 2 and texts(session) == ["here"] and session.title == "T"
    session.delete()
    for verb in (session.messages, session.clear, session.delete, session.branch, session.pin, lambda: session.info):
        with pytest.raises(NotFound):
            verb()
    with pytest.raises(NotFound):
        session.add("user", "too late")
    clean(memory)


@pytest.mark.slow
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
        assert [text for text in said if text.startswith(name)] == [f"{name} {number}" for number in range(30)]
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


def test_a_deleted_import_comes_back_only_if_it_is_told_to(memory: Appliance, tmp_path: Path) -> None:
    lines = [line("a", 1, "one"), line("a", 2, "two")]
    ingest(memory, tmp_path, lines)
    memory.sessions.resume("a").delete()
    assert not memory.sessions.list()
    ingest(memory, tmp_path, lines)
    assert not memory.sessions.list()
    ingest(memory, tmp_path, lines, again=True)
    assert texts(memory.sessions.resume("a")) == ["one", "two"]
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
@pytest.mark.parametrize(
    ("drained", "later"),
    [
        (True, False),
        (False, True),
        pytest.param(True, True, marks=pytest.mark.slow),
        pytest.param(False, False, marks=pytest.mark.slow),
    ],
)
def test_a_session_gives_what_its_scope_says(memory: Appliance, scope: Any, drained: bool, later: bool) -> None:
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
    assert answer is not None and (("with other sessions" in answer.words) == (scope != "all"))
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


def test_independent_messages_have_no_neighbours(memory: Appliance) -> None:
    session = memory.sessions.create(external_id="notes")
    for text in ("the key is blue", "tulips for Emma"):
        session.add("user", text)
    memory.embed_pending()

    def found(query: str) -> list[str]:
        return [hit.text for hit in memory.search(query, mode="lexical")]

    assert found("tulips") == ["tulips for Emma", "the key is blue"]
    with pytest.raises(UsageError, match="independent must be true or false"):
        session.configure({"independent": "yes"})
    memory.sessions.create(external_id="notes", options={"independent": True})
    memory.embed_pending()
    assert found("tulips") == ["tulips for Emma"]
    session.add("user", "Emma has a blue car")
    assert memory.status()["counts"]["pending"] == 1  # no other message got a new neighbour
    assert found("car") == ["Emma has a blue car"]
    session.configure({"independent": None})
    memory.embed_pending()
    assert found("tulips")[0] == "tulips for Emma" and len(found("tulips")) == 3
