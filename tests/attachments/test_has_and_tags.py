"""Searching by what messages have besides words, and by the tags of their conversations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance, NotFound, UsageError
from tests.attachments.exports import native


@pytest.fixture
def garden(memory: Appliance, tmp_path: Path) -> Appliance:
    """Three sessions about roses of two users."""
    lines = [
        {"session_id": "a", "message_id": "a1", "content": "the roses in the north bed"},
        {"session_id": "a", "message_id": "a2", "content": "the roses as a picture",
         "metadata": {"attachments": [{"name": "r.jpg"}]}},
        {"session_id": "a", "message_id": "a3", "content": "a page on roses https://example.org"},
        {"session_id": "b", "message_id": "b1", "content": "the roses and their song",
         "metadata": {"attachments": [{"name": "r.ogg"}, {"name": "notes.odt"}]}},
    ]  # fmt: skip
    memory.ingest(native(tmp_path / "mine.jsonl", lines))
    eve = [{"session_id": "c", "message_id": "c1", "content": "the roses of Eve http://example.org",
            "metadata": {"attachments": [{"name": "e.jpg"}]}}]  # fmt: skip
    memory.ingest(native(tmp_path / "eve.jsonl", eve), user_id="eve")
    return memory


def found(memory: Appliance, **filters: object) -> set[str]:
    hits = memory.search("roses", min_score=0, limit=20, **filters)  # type: ignore[arg-type]
    return {hit.external_id for hit in hits}


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        (["image"], {"a2"}),
        (["audio"], {"b1"}),
        (["file"], {"b1"}),
        (["video"], set()),
        (["link"], {"a3"}),
        (["attachment"], {"a2", "b1"}),
        (["image", "link"], {"a2", "a3"}),
    ],
)
def test_a_search_finds_what_has_it(garden: Appliance, has: list[str], expected: set[str]) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        assert found(garden, has=has, mode=mode) == expected
    assert found(garden, has=has, sort="time") == expected
    assert sum(row.messages for row in garden.statistics(has=has).rows) == len(expected)


def test_messages_that_wait_for_the_index_are_filtered_too(memory: Appliance, tmp_path: Path) -> None:
    lines = [{"message_id": "1", "content": "roses https://example.org"}, {"message_id": "2", "content": "more roses"}]
    memory.ingest(native(tmp_path / "mine.jsonl", lines), wait=False)
    assert found(memory, has=["link"]) == {"1"}


def test_archived_messages_are_filtered_too(garden: Appliance) -> None:
    garden.archive.run(days=0, importance=1.0)
    assert garden.status()["counts"]["archived"]
    assert found(garden, has=["link"], include_archived=True) == {"a3"}
    assert found(garden, has=["image"], include_archived=True) == {"a2"}
    assert found(garden, tags=["none"], include_archived=True) == set()


def test_the_memories_of_users_stay_apart(garden: Appliance) -> None:
    assert found(garden, has=["attachment", "link"], user_id="eve") == {"c1"}
    garden.sessions.get("c").tag(["garden"])
    assert found(garden, tags=["garden"]) == set()
    assert found(garden, tags=["garden"], user_id="eve") == {"c1"}
    assert not garden.sessions.tags()
    assert [one.tag for one in garden.sessions.tags(user_id="eve")] == ["garden"]


def test_why_a_message_is_no_hit(garden: Appliance) -> None:
    words = garden.search("roses", has=["image"], tags=["bed"], why_not="a1").why_not
    assert words is not None
    assert "It has no image." in words.words
    assert "none of the tags" in words.words


def test_tags_are_added_listed_and_removed(garden: Appliance) -> None:
    a, b = garden.sessions.get("a"), garden.sessions.get("b")
    assert a.tag(["#Garden", "To  Do"]) == ("garden", "to do")
    assert a.tag(["GARDEN"]) == ("garden", "to do")
    b.tag(["garden"])
    assert [(one.tag, one.sessions) for one in garden.sessions.tags()] == [("garden", 2), ("to do", 1)]
    assert [info.external_id for info in garden.sessions.list(tags=["To do"])] == ["a"]
    assert found(garden, tags=["garden"]) == {"a1", "a2", "a3", "b1"}
    assert found(garden, tags=["garden"], has=["audio"]) == {"b1"}
    assert found(garden, tags=["garden"], session_id="b") == {"b1"}
    assert found(garden, tags=["to do"], session_id="b") == set()
    assert a.untag(["to do", "never there"]) == ("garden",)
    assert a.info.tags == ("garden",)
    b.delete()
    assert [(one.tag, one.sessions) for one in garden.sessions.tags()] == [("garden", 1)]


def test_a_tag_that_nothing_has_is_said_with_the_most_similar_one(garden: Appliance) -> None:
    assert "no tag 'garden'; nothing is tagged" in garden.search("roses", tags=["garden"]).notes
    garden.sessions.get("a").tag(["garden"])
    assert "no tag 'gardn'; did you mean garden?" in garden.search("roses", tags=["gardn"]).notes


@pytest.mark.parametrize("tag", ["", " # ", "x" * 101, "two\nlines", "\ud800"])
def test_what_is_no_tag_is_refused(garden: Appliance, tag: str) -> None:
    with pytest.raises(UsageError):
        garden.sessions.get("a").tag(["good", tag])
    assert garden.sessions.get("a").info.tags == ()
    with pytest.raises(UsageError):
        garden.search("roses", has=["smell"])
    with pytest.raises(NotFound):
        garden.sessions.get("nowhere")


def test_a_context_keeps_to_tags(garden: Appliance) -> None:
    garden.sessions.get("b").tag(["music"])
    text = garden.context("the roses", budget=500, tags=["music"]).text
    assert "song" in text
    assert "north bed" not in text


def test_tags_survive_an_export_a_backup_and_a_new_home(garden: Appliance, tmp_path: Path) -> None:
    garden.sessions.get("a").tag(["garden"])
    exported = tmp_path / "export.jsonl"
    exported.write_text("".join(json.dumps(line) + "\n" for line in garden.export(state=True)))
    with Appliance.open(tmp_path / "other", worker=False) as other:
        other.ingest(exported, wait=False)
        assert other.sessions.info("a").tags == ("garden",)
        assert {one.name for one in other.attachments.list()} == {"r.jpg", "r.ogg", "notes.odt"}


def test_a_private_session_has_tags_that_reach_no_disk(garden: Appliance) -> None:
    private = garden.sessions.create(title="Quiet", private=True)
    assert private.tag(["hush"]) == ("hush",)
    assert private.info.tags == ("hush",)
    assert garden.sessions.tags() == []
    assert b"hush" not in b"".join(path.read_bytes() for path in garden.home.root.glob("recall.db*"))
