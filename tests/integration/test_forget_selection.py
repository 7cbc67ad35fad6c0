"""What a person names to be forgotten: words wherever somebody wrote them, conversations by title, authors, times."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.requests import PreviewErasureRequest
from appliance.types import ErasurePreview
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

NAME = "Quillfeather"


def line(session: str, day: int, content: str, **more: Any) -> dict[str, Any]:
    when = f"2026-03-{day:02}T10:00:00Z"
    return {"session_id": session, "message_id": f"{session}{day}", "role": "user", "timestamp": when,
            "content": content, **more}  # fmt: skip


@pytest.fixture
def chats(memory: Appliance, tmp_path: Path) -> Appliance:
    """A conversation for each place in which a name may stand."""
    lines = [
        line("text", 1, f"I met {NAME} yesterday"),
        line("text", 2, "it rained"),
        line("author", 3, "good morning", author=f"Ana {NAME}"),
        line("author", 4, "good evening", author="Ben"),
        line("title", 5, "so it goes", session_title=f"Letters to {NAME}"),
        line("metadata", 6, "see the attachment", metadata={"file": {"name": f"{NAME}.pdf"}}),
    ]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    memory.ingest(path)
    named = tmp_path / f"with {NAME}.jsonl"
    named.write_text(json.dumps(line("file", 7, "hello there")) + "\n")
    memory.ingest(named)
    edited = memory.sessions.create(title="edits")
    edited.add("user", f"{NAME} called", external_id="e")
    edited.add("user", "somebody called", external_id="e")
    return memory


def texts(memory: Appliance, preview: ErasurePreview) -> set[str]:
    return {message.text for message in memory.overview.messages([f"m{key}" for key in preview.messages])}


def test_words_are_looked_for_wherever_somebody_wrote_them(chats: Appliance, home: Path) -> None:
    chats.facts.add(f"My name is {NAME}")
    preview = chats.erasure.preview(query=NAME.lower())
    found = {f"I met {NAME} yesterday", "good morning", "see the attachment", "so it goes", "hello there"}
    assert texts(chats, preview) == found | {"somebody called"} and preview.facts == 1
    places = {"text", "earlier versions", "authors", "titles", "metadata", "file names"}
    assert preview.found_in == dict.fromkeys(places, 1) | {"facts": 0, "core memory": 0}
    assert preview.found_alone == {"facts": 1}
    # A request that comes from another process has lists for tuples.
    attached = PreviewErasureRequest([], query=NAME, echo_ids=[], by="assistant")
    assert engine_of(chats).erasure.preview(attached).found_alone == {"facts": 1}
    receipt = chats.erasure.forget(preview)
    assert receipt.proof.traces == () and not chats.facts.list()
    assert not holding(home, NAME.encode(), NAME.lower().encode("utf-16-le"))
    assert not chats.verify().problems


def test_a_fact_named_by_its_id_goes_with_what_states_it(memory: Appliance, home: Path) -> None:
    said = memory.sessions.create().add("user", "I live in Zanzibargue")
    (added,) = memory.facts.add(f"My dentist is called {NAME} Brunhilde")
    memory.run_pending_jobs()
    (stated,) = (fact for fact in memory.facts.list() if fact.id != added.id)
    with pytest.raises(UsageError, match=f"{added.id} is a whole fact"):
        memory.erasure.preview(added.id, query=NAME)
    alone = memory.erasure.preview(added.id)
    assert (alone.messages, alone.facts) == ((), 1)
    assert memory.erasure.forget(alone).proof.texts == 1
    assert memory.facts.list() == [stated] and not holding(home, NAME.encode())
    preview = memory.erasure.preview(stated.id)
    assert ([f"m{key}" for key in preview.messages], preview.facts) == ([said.id], 1)
    with pytest.raises(NotFound, match="There is no fact"):
        memory.erasure.preview(added.id)


def test_a_title_that_somebody_gave_leads_to_the_conversation(memory: Appliance) -> None:
    session, found = memory.sessions.create(title=f"Letters to {NAME}"), memory.sessions.create()
    session.add("user", "so it goes")
    found.add("user", f"I wrote to {NAME}")
    found.add("user", "and so on")
    preview = memory.erasure.preview(query=NAME)
    assert texts(memory, preview) == {"so it goes", f"I wrote to {NAME}"}, "a title made of the words does not"
    assert preview.found_in["titles"] == 1
    memory.erasure.forget(preview)
    assert [info.id for info in memory.sessions.list()] == [found.id]


def test_an_empty_conversation_is_found_by_its_title(memory: Appliance) -> None:
    memory.sessions.create(title=f"Letters to {NAME}")
    preview = memory.erasure.preview(query=NAME)
    assert (len(preview.sessions), preview.found_in["titles"], preview.found_alone) == (1, 0, {"titles": 1})


def test_words_are_found_in_what_a_conversation_withholds(memory: Appliance) -> None:
    session = memory.sessions.create(storage_scope="none")
    session.add("user", f"{NAME} must not know")
    assert len(memory.erasure.preview(query=NAME).messages) == 1


def test_author_title_and_times_narrow_each_other(chats: Appliance) -> None:
    forget = chats.erasure
    assert texts(chats, forget.preview(author="ben")) == {"good evening"}
    assert texts(chats, forget.preview(since="2026-03-06", until="2026-03-07")) == {"see the attachment", "hello there"}
    assert texts(chats, forget.preview(since="2026-03-07", until="2026-04-01")) == {"hello there"}
    assert texts(chats, forget.preview(author=NAME, until="2026-03-02")) == set()
    assert texts(chats, forget.preview(title="edits")) == {"somebody called"}
    assert forget.preview(title="edits", until="2026-03-07").sessions == ()
    with pytest.raises(UsageError, match="day before"):
        forget.preview(since="the day before")


def test_a_conversation_named_by_title_goes_whole(memory: Appliance) -> None:
    empty, talk = memory.sessions.create(title="Dr Zorn, first visit"), memory.sessions.create(title="dr zorn again")
    other = memory.sessions.create(title="Market")
    talk.add("user", "come on Monday")
    preview = memory.erasure.preview(title="Dr Zorn")
    assert {f"s{key}" for key in preview.sessions} == {empty.id, talk.id}
    memory.erasure.forget(preview)
    assert [info.id for info in memory.sessions.list()] == [other.id]


def test_an_imported_conversation_goes_with_its_last_message_and_one_of_an_application_stays(chats: Appliance) -> None:
    kept = next(info for info in chats.sessions.list() if info.title == "edits")
    gone = next(info for info in chats.sessions.list() if info.title == f"Letters to {NAME}")
    for info in (kept, gone):
        ids = [message.id for message in chats.sessions.get(info.id).messages()]
        chats.erasure.forget(chats.erasure.preview(*ids))
    assert kept.id in {info.id for info in chats.sessions.list()}
    assert gone.id not in {info.id for info in chats.sessions.list()}


def test_a_file_in_a_folder_that_may_not_be_entered_is_named_as_one_that_may_still_say_it(
    chats: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may enter every folder, so that the refusal is played here."""
    look, sealed = os.stat, str(tmp_path / "chats.jsonl")

    def refuse(path: Any, *arguments: Any, **more: Any) -> os.stat_result:
        if str(path) == sealed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, *arguments, **more)

    monkeypatch.setattr(os, "stat", refuse)
    assert sealed in chats.erasure.preview(query="I met").files


TITLES = ("Box 15", "Box 150", "Box 1500", "Case 15", "Anna", "Annabelle divorce papers", "Tax 2021")


@pytest.fixture
def titled(memory: Appliance, tmp_path: Path) -> Appliance:
    """Imported conversations whose titles have parts of each other."""
    path = tmp_path / "titled.jsonl"
    lines = [
        line(
            f"t{day}", day, f"a word on the {day}th of March", session_title=title, author=title.replace(" ", "") + "er"
        )
        for day, title in enumerate(TITLES, 1)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    memory.ingest(path)
    return memory


@pytest.mark.parametrize(
    ("title", "meant"),
    [
        ("Anna", ["Anna"]), ("ÀNNA", ["Anna"]), ("Box 15", ["Box 15"]), ("box", [*TITLES[:3]]), ("ax 20", []),
        ("15", ["Box 15", "Case 15"]), ("divorce", ["Annabelle divorce papers"]),
    ],
)  # fmt: skip
def test_a_title_is_named_by_whole_words(titled: Appliance, title: str, meant: list[str]) -> None:
    assert [*titled.erasure.preview(title=title).titles.values()] == meant
    assert sorted(info.title or "" for info in titled.sessions.list(title=title)) == sorted(meant)
    preview = titled.erasure.preview(query=title)
    assert [*preview.titles.values()] == meant and preview.found_in["titles"] == len(meant)
    assert preview.found_in["authors"] == 0, "parts of names are no words either"


def test_what_has_only_a_part_of_an_erased_title_stays_and_is_no_trace(titled: Appliance) -> None:
    receipt = titled.erasure.forget(titled.erasure.preview(title="Box 15"))
    assert receipt.sessions == 1 and receipt.proof.traces == ()
    assert sorted(info.title or "" for info in titled.sessions.list()) == sorted({*TITLES} - {"Box 15"})
    assert "Box" not in str(titled.erasure.receipts()), "what a preview shows, no receipt keeps"


def test_titles_in_scripts_without_spaces_are_found_as_messages_are(memory: Appliance) -> None:
    for said in ("東京都への旅行", "京都の庭", "ประเทศไทย"):
        memory.sessions.create(title=said).add("user", "hello")
        memory.sessions.create(title="other").add("user", said)
    for asked, found in (("東京", 1), ("京都", 2), ("庭", 1), ("ประเทศ", 1), ("旅館", 0)):
        assert len(memory.erasure.preview(title=asked).sessions) == found
        places = memory.erasure.preview(query=asked).found_in
        assert (places["titles"], places["text"]) == (found, found)


def test_a_preview_names_the_first_conversations_that_go_whole(memory: Appliance) -> None:
    for number in range(12):
        memory.sessions.create(title=f"Visit {number}").add("user", "hello")
    preview = memory.erasure.preview(title="visit")
    assert [*preview.titles.values()] == [f"Visit {number}" for number in range(10)] and len(preview.sessions) == 12
    assert memory.erasure.preview(query="visit", since="2999-01-01").titles == {}
