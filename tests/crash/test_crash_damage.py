"""Files of a home that are damaged, gone or from the future: a clear refusal or a quiet repair, and no loss."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from crash_runs import Content, chat, content, open_memory, write
from numpy.typing import NDArray

from appliance import Appliance
from appliance.errors import StoreCorrupt, StoreVersion
from appliance.store.index.edge import open_edge
from appliance.store.vectors import HEADER_BYTES
from appliance_models import HashEmbedder
from tests import forked_programs
from tests.homes import copied

pytestmark = pytest.mark.slow

LINES = chat("ana", 150)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return write(tmp_path / "ana.jsonl", LINES)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Content]:
    """A closed home with a conversation in it, and what it holds."""
    folder = tmp_path_factory.mktemp("built")
    with open_memory(folder / "home") as memory:
        memory.ingest(write(folder / "ana.jsonl", LINES))
        return folder / "home", content(memory)


@pytest.fixture
def expected(home: Path, built: tuple[Path, Content]) -> Content:
    """The test's own copy of the home that is built once, and what it holds."""
    copied(built[0], home)
    return built[1]


def ledger(home: Path) -> Path:
    (path,) = (home / "vectors").iterdir()
    return path


@pytest.mark.parametrize("tail", [b"\x07", Random(1).randbytes(3_000)], ids=["part of a row", "many rows"])
def test_what_a_crash_leaves_behind_the_last_row_is_not_read(
    home: Path, export: Path, expected: Content, tail: bytes, tmp_path: Path
) -> None:
    with ledger(home).open("ab") as file:
        file.write(tail)
    with open_memory(home) as memory:
        assert content(memory) == expected
        memory.ingest(write(tmp_path / "more.jsonl", chat("ben", 20)))
        assert not memory.verify().problems


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def spoil_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(20)
        file.write(b"\xff\xff")


DAMAGES: list[Callable[[Path], None]] = [cut, spoil_header, Path.unlink, lambda path: os.truncate(path, 0)]
FIRST: dict[str, Callable[[Appliance, Path], object]] = {
    "embed": lambda memory, export: memory.embed_pending(),
    "ingest": lambda memory, export: memory.ingest(write(export.with_name("b.jsonl"), chat("ben", 5))),
    "reindex": lambda memory, export: memory.reindex(),
    "verify": lambda memory, export: memory.verify(),
}


@pytest.mark.parametrize("damage", DAMAGES, ids=["cut", "header", "gone", "empty"])
@pytest.mark.parametrize("first", FIRST)
def test_a_ledger_that_lost_rows_is_named_and_made_again(
    home: Path, export: Path, expected: Content, damage: Callable[[Path], None], first: str
) -> None:
    damage(ledger(home))
    with open_memory(home) as memory:
        # That the header is spoilt shows when it is read; a status reads no vectors.
        assert ("vectors are missing" in memory.status()["health"]) == (damage is not spoil_header)
        with pytest.raises(StoreCorrupt) as refused:
            FIRST[first](memory, export)
        assert refused.value.exit_code == 3
        assert str(home / "vectors") in str(refused.value)
        assert "reindex --vectors" in str(refused.value.hint)
        memory.reindex(vectors=True)
        assert memory.status()["health"] == "ok"
        memory.ingest(export)
        if first == "ingest":  # what it had stored before it came to the ledger stayed
            assert len(memory.sessions.messages("ben")) == 5
            assert not memory.verify().problems
        else:
            assert content(memory) == expected


@pytest.mark.parametrize("damage", DAMAGES, ids=["cut", "header", "gone", "empty"])
def test_with_a_damaged_ledger_words_are_still_found_and_the_answer_says_what_is_wrong(
    home: Path, expected: Content, damage: Callable[[Path], None]
) -> None:
    damage(ledger(home))
    with open_memory(home) as memory:
        for answer in (memory.search("violin"), memory.search("violin", mode="lexical")):
            assert answer and "violin" in answer[0].text
            assert any("ledger" in note and str(home) in note for note in answer.notes)
        assert "violin" in memory.context("violin").text
    with open_memory(home) as memory:  # another process can repair it, too
        memory.reindex(vectors=True)
        assert content(memory) == expected


def test_what_a_rebuild_killed_at_its_end_leaves_is_removed(home: Path, expected: Content, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "before")
    with open_memory(home) as memory:
        memory.reindex(vectors=True)
    for folder in ("vectors", "index"):
        shutil.copytree(tmp_path / "before" / folder, home / folder, dirs_exist_ok=True)
        (home / folder / "notes of mine").write_text("x")
        assert len(list((home / folder).iterdir())) == 3
    with open_memory(home) as memory:
        assert content(memory) == expected
    assert {path.name for path in (home / "vectors").iterdir()} == {"g2.ledger", "notes of mine"}
    assert {path.name for path in (home / "index").iterdir()} == {"g2", "notes of mine"}


def test_a_ledger_of_a_newer_version_is_refused_as_that(home: Path, expected: Content) -> None:
    path = ledger(home)
    data = path.read_bytes()
    body, _, rest = data[:HEADER_BYTES].partition(b"\n")
    body = body.replace(b'"format":1', b'"format":9')
    header = body + b"\n" + b"%08x\n" % zlib.crc32(body)
    path.write_bytes(header.ljust(HEADER_BYTES, b"\0") + data[HEADER_BYTES:])
    assert rest
    with open_memory(home) as memory, pytest.raises(StoreVersion, match="newer"):
        memory.embed_pending()


class Recorder(HashEmbedder):
    """Notes what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passages += texts
        return super().embed_passages(texts)


def remove_markers(home: Path) -> None:
    for marker in (home / "index").rglob("engine.json"):
        marker.unlink()


def remove_generation(home: Path) -> None:
    for folder in (home / "index").iterdir():
        shutil.rmtree(folder)


def remove_segments(home: Path) -> None:
    for folder in (home / "index").rglob("segments"):
        shutil.rmtree(folder)


def remove_points(home: Path) -> None:
    (folder,) = (home / "index").iterdir()
    index = open_edge(folder, HashEmbedder().dimension)
    index.delete([5, 6])
    index.close()


@pytest.mark.parametrize(
    "damage",
    [lambda home: shutil.rmtree(home / "index"), *(remove_generation, remove_markers, remove_segments, remove_points)],
    ids=["folder gone", "generation gone", "marker gone", "segments gone", "points gone"],
)
def test_an_index_that_is_gone_is_made_again_without_embedding(
    home: Path, expected: Content, damage: Callable[[Path], None]
) -> None:
    damage(home)
    embedder = Recorder()
    with Appliance.open(home, worker=False, embedder=embedder) as memory:
        memory.embed_pending()
        assert content(memory) == expected
    assert not embedder.passages, "every vector is in the ledger"


@pytest.mark.parametrize(
    "garbage",
    [b"this is no database at all" * 400, Random(2).randbytes(65_536), b"SQLite format 3\x00" + b"\xff" * 8_000],
    ids=["text", "noise", "head"],
)
def test_a_database_that_is_none_is_refused_and_left_as_it_is(home: Path, garbage: bytes) -> None:
    home.mkdir()
    (home / "recall.db").write_bytes(garbage)
    with pytest.raises(StoreCorrupt) as refused:
        open_memory(home)
    assert refused.value.exit_code == 3
    assert "recall.db" in str(refused.value) and "backup" in str(refused.value.hint)
    assert (home / "recall.db").read_bytes() == garbage
    with pytest.raises(StoreCorrupt):
        open_memory(home)  # and the lock was let go


def test_a_database_damaged_inside_is_named_by_verify(home: Path, expected: Content) -> None:
    path = home / "recall.db"
    connection = sqlite3.connect(path)
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'").fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with open_memory(home) as memory:
        problems = memory.verify().problems
        assert any("damaged" in note for note in memory.search("violin").notes)
        with pytest.raises(StoreCorrupt, match="damaged"):
            memory.sessions.list()
    assert "recall.db" in {problem.where for problem in problems}
    assert {f"m{number}" for number in range(1, 151)} <= {problem.where for problem in problems}


def file_contents(home: Path) -> dict[Path, bytes]:
    """What is in each file. The lock names its owner, and blanks of the length of its name when there is none."""
    return {path: path.read_bytes().rstrip(b" ") for path in home.rglob("*") if path.is_file()}


def test_a_store_from_the_future_is_refused_and_nothing_is_changed(home: Path, expected: Content) -> None:
    connection = sqlite3.connect(home / "recall.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = file_contents(home)
    with pytest.raises(StoreVersion, match="newer") as refused:
        open_memory(home)
    assert refused.value.exit_code == 3 and "Nothing was changed" in str(refused.value.hint)
    assert file_contents(home) == before


FULL = """
import resource, sys
from appliance import Appliance
from appliance.errors import StoreError
from appliance_models import HashEmbedder

phase, home, room, first, more = sys.argv[1:]
told = 0


def on_file(path, count):
    global told
    told = count


with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
    memory.ingest(first)
    if phase == "embedding":
        memory.ingest(more, wait=False, on_file=on_file)
    suffix = ".ledger" if phase == "embedding" else ".db-wal"
    (size,) = (path.stat().st_size for path in memory.home.root.rglob("*" + suffix))
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(room), free[1]))
    try:
        memory.ingest(more, on_file=on_file) if phase == "storing" else memory.embed_pending()
    except StoreError as error:
        assert error.hint, error
        print(told, type(error).__name__, error, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, free)
    session = memory.sessions.create(title="after")
    session.add("user", "there is room again")
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no limit to a file's size")
@pytest.mark.parametrize(
    ("phase", "room", "told"),
    [
        pytest.param("storing", 4_000, 0, marks=pytest.mark.campaign),
        ("storing", 2_000_000, 1_000),
        pytest.param("embedding", 0, 2_500, marks=pytest.mark.campaign),
        ("embedding", 60_000, 2_500),
    ],
)
def test_a_full_disk_is_a_clear_error_and_loses_nothing(
    home: Path, export: Path, tmp_path: Path, phase: str, room: int, told: int
) -> None:
    more = write(tmp_path / "more.jsonl", chat("ben", 2_500))
    ended = forked_programs.run(
        [sys.executable, "-c", FULL, phase, str(home), str(room), str(export), str(more)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    acknowledged, kind, where = ended.stdout.split()[:3]
    assert (int(acknowledged) >= told, kind) == (True, "StoreError")
    assert where.startswith(str(home)), "the error names the file"
    with open_memory(home) as memory:
        there = {line["message_id"] for line in memory.export()}
        assert {f"ana-{n}" for n in range(150)} | {f"ben-{n}" for n in range(int(acknowledged))} <= there
        assert memory.search("is there room again")[0].session_title == "after"
        memory.ingest(more)
        assert memory.status()["counts"]["messages"] == 2_651
        assert not memory.verify().problems


def test_a_damaged_vector_is_computed_again_when_the_index_needs_it(home: Path, expected: Content) -> None:
    with ledger(home).open("r+b") as file:
        file.seek(HEADER_BYTES + 100)
        file.write(bytes(5_000))
    with open_memory(home) as memory:
        assert any("is damaged" in problem.message for problem in memory.verify().problems)
        memory.reindex()
        assert content(memory) == expected
