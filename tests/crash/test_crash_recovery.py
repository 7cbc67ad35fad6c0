"""Of a randomly damaged database every message on a sound page is recovered, and none that was not there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from crash_runs import chat, open_memory, write

from appliance.store import recovery
from appliance.store.database import Database
from appliance.store.pages import PageFile
from tests.stored_sessions import line

pytestmark = pytest.mark.slow

DAMAGED_HOMES = 50
SECRET = "The spare keys are with Mrs Aydin"
PAGE = 4096


def flip_bits(content: bytearray, chance: Random) -> None:
    for _ in range(chance.choice((1, 10, 100, 1_000))):
        at = chance.randrange(len(content))
        content[at] ^= 1 << chance.randrange(8)


def tear_pages(content: bytearray, chance: Random) -> None:
    """Some pages lose their end, or hold something else there."""
    for _ in range(chance.choice((1, 5, 25))):
        at = chance.randrange(len(content) // PAGE) * PAGE + chance.choice((0, 512, 2048))
        end = at // PAGE * PAGE + PAGE
        other = chance.randrange(len(content) // PAGE) * PAGE
        content[at:end] = chance.choice(
            (bytes(end - at), chance.randbytes(end - at), content[other : other + end - at])
        )


def truncate(content: bytearray, chance: Random) -> None:
    del content[chance.randrange(len(content)) :]


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it was stored, and the pages on which it stands."""

    text: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True)
class Original:
    database: bytes
    messages: dict[int, Stored]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    """The database of a closed home with edits, deletions and something forgotten."""
    folder = tmp_path_factory.mktemp("original")
    home = folder / "home"
    gone = [line("gone", number, f"{SECRET}, {number}") for number in range(30)]
    long = [line("long", number, f"long {number} " + "harbour lights at night " * 900) for number in range(5)]
    with open_memory(home) as memory:
        memory.ingest(write(folder / "a.jsonl", [*chat("ana", 300), *gone, *chat("ben", 300), *long]))
        memory.ingest(write(folder / "b.jsonl", chat("ana", 300, edited=True)))
        memory.ingest(write(folder / "c.jsonl", chat("carl", 50)))
        memory.sessions.get("carl").delete()
        memory.erasure.forget(memory.erasure.preview("gone"))
    path = home / "recall.db"
    return Original(path.read_bytes(), dict(_stored(path)))


def _stored(path: Path) -> Iterator[tuple[int, Stored]]:
    pages: dict[int, frozenset[int]] = {}
    with closing(PageFile(path)) as file:
        for number in file.walk(file.roots["message"]).pages:
            for row, used in file.rows_with_pages(number):
                pages[row.rowid or 0] = frozenset(used)
    with closing(sqlite3.connect(path)) as db:
        for key, text in db.execute("SELECT id, body FROM message"):
            yield key, Stored(text, pages[key])


@pytest.mark.parametrize("damage", [flip_bits, tear_pages, truncate])
@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed < 2 else pytest.mark.campaign) for seed in range(DAMAGED_HOMES // 3 + 1)],
)
def test_every_message_on_a_sound_page_is_saved_and_nothing_else(
    original: Original, tmp_path: Path, damage: Callable[[bytearray, Random], None], seed: int
) -> None:
    content = bytearray(original.database)
    damage(content, Random(seed))
    path = tmp_path / "recall.db"
    path.write_bytes(content)
    with closing(Database(tmp_path / "new.db")) as database:
        report = recovery.recover(path, database, "me")
        rows = database.read().execute("SELECT id, text FROM message").fetchall()
        assert database.read().execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not database.read().execute("PRAGMA foreign_key_check").fetchall()
    found = dict(rows)
    damaged_pages = {
        number + 1
        for number in range(len(original.database) // PAGE)
        if content[number * PAGE : number * PAGE + PAGE] != original.database[number * PAGE : number * PAGE + PAGE]
    }
    for key, stored in original.messages.items():
        if not stored.pages & damaged_pages:
            assert found.get(key) == stored.text, f"m{key} stands on sound pages {sorted(stored.pages)}"
    named = {part.where for part in report.lost}
    for key, text in found.items():
        assert key in original.messages, f"m{key} was not there: {text[:80]}"
        if text != original.messages[key].text:
            assert f"m{key}" in named, f"m{key} was stored as {original.messages[key].text[:80]!r}"
        assert SECRET not in text
