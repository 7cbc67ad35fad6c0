"""Before an update, the blocks that it writes are allocated: a disk that fills up meanwhile ends no process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from index_points import DIMENSION, point

from appliance.errors import DiskFull, OutOfMemory
from appliance.store.index import preallocation
from appliance.store.index.edge import open_edge
from appliance.store.index.shard import translate_errors
from appliance.store.room import require_room

needs_holes = pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files can't be preallocated here")

LIST_BLOCKS = 8
"""A file system may take a block of its own to list the pieces of a file, once some of them have been written."""


def allocated(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_blocks for path in folder.rglob("*") if path.is_file()}


@needs_holes
@pytest.mark.parametrize(("count", "reopened"), [(1, True), (250, False), (250, True)])
def test_an_update_writes_into_nothing_but_what_was_allocated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, reopened: bool
) -> None:
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(id) for id in range(1, 30)])  # the files that the first points begin are there now
    index.flush()
    if reopened:  # with files that were cut meanwhile
        index.close()
        index = open_edge(tmp_path / "index", DIMENSION)
    texts = " ".join(f"word{number}" for number in range(60))
    points = [point(id, texts, texts) for id in range(100, 100 + count)]
    preallocation.preallocate(
        tmp_path, preallocation.upsert_log_bytes(count, DIMENSION, 2 * count * len(texts)), "be tried"
    )
    before = allocated(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(preallocation, "preallocate", lambda *arguments: None)
        index.upsert(points)
        index.delete([2, 3])
        index.flush()
    written = {
        path: blocks for path, blocks in allocated(tmp_path).items() if blocks > before.get(path, 0) + LIST_BLOCKS
    }
    assert not [path for path in written if Path(path).suffix in (".dat", ".mmap") and "journal" not in path], written
    assert not [path for path in written if "/wal/open" in path], written
    index.close()


def test_too_little_room_is_told_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=r"no room to be tried: 10,?000,000,?000\.0 MB are needed, [\d,.]+ MB are free"):
        require_room(tmp_path, 10**16, "be tried")


def test_an_update_without_room_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(1)])
    with monkeypatch.context() as patched:
        patched.setattr("appliance.store.room.free_bytes", lambda folder: 1000)
        patched.setattr("appliance.store.index.edge.free_bytes", lambda folder: 1000)
        assert not index.optimize()
        with pytest.raises(DiskFull):
            index.upsert([point(id, "longer " * 500) for id in range(2, 2000)])
    assert index.count() == 1
    index.upsert([point(2)])
    assert index.count() == 2
    index.close()
    with monkeypatch.context() as patched:
        patched.setattr("appliance.store.room.free_bytes", lambda folder: 1000)
        with pytest.raises(DiskFull):
            open_edge(tmp_path / "index", DIMENSION)
    index = open_edge(tmp_path / "index", DIMENSION)
    assert index.count() == 2
    index.close()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("No space left on device (os error 28)", DiskFull),
        ("Disk quota exceeded (os error 122)", DiskFull),
        ("Cannot allocate memory (os error 12)", OutOfMemory),
    ],
)
def test_what_the_engine_says_of_the_machine_is_no_damage(tmp_path: Path, said: str, kind: type[Exception]) -> None:
    with pytest.raises(kind), translate_errors("be tried", tmp_path):
        raise ValueError(said)
