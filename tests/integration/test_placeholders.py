"""Placeholders of the apps are kept, and are in the way of no search, context or erasure."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import message_parts

CHAT = """\
[03.04.22, 08:00:12] Sabine: Der Schlüssel liegt unter dem Blumentopf
[03.04.22, 08:00:30] Sabine: \u200eBild weggelassen
[03.04.22, 08:00:40] Jürgen: Ist das ein Bild vom Hund?
[03.04.22, 08:00:50] Sabine: \u200eDiese Nachricht wurde gelöscht.
[03.04.22, 08:01:00] Jürgen: <Medien ausgeschlossen>
[04.05.22, 18:30:00] Jürgen: Danke! Die Straßenbahn fällt heute aus.
[04.05.22, 18:31:00] Sabine: \u200eBild weggelassen
"""
PLACEHOLDERS = {"Bild weggelassen", "Diese Nachricht wurde gelöscht.", "<Medien ausgeschlossen>"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A home with the shipped model, whose cosines mean something."""
    folder = tmp_path_factory.mktemp("placeholders")
    Path(folder / "_chat.txt").write_text(CHAT, encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as opened:
        opened.ingest(folder / "_chat.txt")
        yield opened


def _texts(memory: Appliance, query: str, **more: object) -> list[str]:
    return [hit.text for hit in memory.search(query, limit=50, min_score=0, **more)]  # type: ignore[arg-type]


def test_every_one_is_stored(memory: Appliance) -> None:
    stored = {line["content"] for line in memory.export()}
    assert stored >= PLACEHOLDERS


@pytest.mark.parametrize("query", ["Wo liegt der Schlüssel?", "Bild vom Hund", "what was said about the tram"])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_search_for_something_else_has_none(memory: Appliance, query: str, mode: str) -> None:
    assert not PLACEHOLDERS & set(_texts(memory, query, mode=mode))


@pytest.mark.parametrize(
    "query", ["Bild weggelassen", '"Bild weggelassen"', "Nachricht gelöscht", "Medien ausgeschlossen"]
)
def test_their_very_words_find_them(memory: Appliance, query: str) -> None:
    assert _texts(memory, query)[0] in PLACEHOLDERS


def test_an_omitted_picture_counts_as_one(memory: Appliance) -> None:
    assert set(_texts(memory, "Schlüssel", has=["image"])) == {"Bild weggelassen"}
    assert set(_texts(memory, "Schlüssel", has=["attachment"])) == {"Bild weggelassen", "<Medien ausgeschlossen>"}
    page = memory.attachments.list()
    assert sorted((one.name, one.kind, one.path) for one in page) == [
        ("file", "file", None), ("image", "image", None), ("image", "image", None),
    ]  # fmt: skip


def test_a_context_has_none(memory: Appliance) -> None:
    assert not [text for text in PLACEHOLDERS if text in memory.context("Wo liegt der Schlüssel?", budget=2_000).text]


def test_none_is_an_echo_of_another(memory: Appliance) -> None:
    pictures = [line["message_id"] for line in memory.export() if line["content"] == "Bild weggelassen"]
    preview = memory.erasure.preview(memory.search("Bild weggelassen")[0].message_id)
    assert len(pictures) == 2 and not preview.echoes


def test_a_memory_of_an_earlier_version_gets_them(memory: Appliance) -> None:
    with memory_database(memory) as db:
        db.execute("DELETE FROM attachment")
        message_parts.register(db)
        db.execute(message_parts.FILL_OMITTED_SQL)
        assert db.execute("SELECT name FROM attachment ORDER BY name").fetchall() == [("file",), ("image",), ("image",)]
        db.rollback()


def memory_database(memory: Appliance) -> sqlite3.Connection:
    """A second connection, for a change that is taken back."""
    connection = sqlite3.connect(memory.home.root / "recall.db")
    from appliance.store import text_frames

    text_frames.register(connection)
    return connection
