"""A closed index takes no more room than its content, for programs that copy files without their holes, too."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from index_points import DIMENSION, point

from appliance.errors import StoreCorrupt
from appliance.store.index import trimming
from appliance.store.index.edge import EdgeIndex, open_edge
from appliance.store.index.protocol import LegQuery

pytestmark = pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="files have no holes here")

IDS = list(range(1, 40))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed index of 39 points."""
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(id, f"cat word{id}") for id in IDS])
    index.close()
    return tmp_path / "index"


def lengths(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def check_content(index: EdgeIndex) -> None:
    assert list(index.ids()) == IDS
    assert len(index.vectors(IDS)) == len(IDS)
    for id in IDS:
        assert [scored.id for scored in index.search([LegQuery("own", text=f"word{id}")], None, 1)[0]] == [id]


def test_a_closed_index_is_as_long_as_its_content(folder: Path) -> None:
    assert sum(lengths(folder).values()) < 1_000_000
    full = json.loads((folder / "engine.json").read_text())["lengths"]
    assert sum(full.values()) > 100_000_000
    for _ in range(2):
        index = open_edge(folder, DIMENSION)
        opened = lengths(folder / "shard")
        assert {name: opened[name] for name in full} == full, "the engine finds its files as it left them"
        index.upsert([point(100, "new")])
        index.delete([100])
        check_content(index)
        index.close()
        assert sum(lengths(folder).values()) < 1_000_000


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the maps of a process can't be read here")
def test_a_closed_index_is_not_mapped(folder: Path) -> None:
    """To read a map beyond the end of its file would end the process."""
    index = open_edge(folder, DIMENSION)
    assert str(folder) in Path("/proc/self/maps").read_text()
    index.close()
    assert str(folder) not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("step", [0, 1, 20])
def test_trimming_that_ends_halfway_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    truncate, calls = os.truncate, []

    def killed(path: str, length: int) -> None:
        if len(calls) == step:
            raise KeyboardInterrupt
        calls.append(path)
        truncate(path, length)

    with monkeypatch.context() as patched:  # while the lengths are restored
        patched.setattr(os, "truncate", killed)
        with pytest.raises(KeyboardInterrupt):
            open_edge(folder, DIMENSION)
    index = open_edge(folder, DIMENSION)
    check_content(index)
    calls.clear()
    with monkeypatch.context() as patched:  # while the files are cut
        patched.setattr(os, "truncate", killed)
        with pytest.raises(KeyboardInterrupt):
            index.close()
    index = open_edge(folder, DIMENSION)
    check_content(index)
    index.close()
    assert sum(lengths(folder).values()) < 1_000_000


def test_an_index_that_was_not_closed_is_opened_as_it_is(folder: Path, tmp_path: Path) -> None:
    index = open_edge(folder, DIMENSION)
    shutil.copytree(folder, tmp_path / "copy")
    index.close()
    for path in (tmp_path / "copy").rglob("*.dat"):
        path.write_bytes(path.read_bytes())  # copied without holes
    copy = open_edge(tmp_path / "copy", DIMENSION)
    check_content(copy)
    copy.close()
    assert sum(lengths(tmp_path / "copy").values()) < 1_000_000


def test_what_a_file_system_calls_a_hole_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tell holes from what has been written out, and new content is not there yet."""
    file = tmp_path / "file"
    content = b"old".ljust(70_000, b"x") + b"new"
    file.write_bytes(content + bytes(1_000_000))
    monkeypatch.setattr(trimming, "holes", lambda descriptor, size: iter([(4096, size)]))
    (trim,) = trimming.plan(tmp_path)
    assert len(content) <= trim.content < len(content) + 4096
    trimming.cut(tmp_path, [trim])
    trimming.restore(tmp_path, {trim.name: trim.length})
    assert file.read_bytes() == content + bytes(1_000_000)


def test_lengths_that_were_damaged_are_not_restored(folder: Path) -> None:
    marker = folder / "engine.json"
    text = marker.read_text()
    assert json.loads(text)["lengths"]
    marker.write_text(text.replace("33554432", "33554431", 1))
    with pytest.raises(StoreCorrupt):
        open_edge(folder, DIMENSION)


def test_an_index_whose_files_can_not_be_trimmed_is_closed_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_edge(folder, DIMENSION)
    index.upsert([point(100, "new " * 100)])
    index.delete([100])
    with monkeypatch.context() as patched:

        def fail(path: Path, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr("appliance.store.index.marker.write_file_atomically", fail)
        index.close()
    index = open_edge(folder, DIMENSION)
    check_content(index)
    index.close()


KILLED = """
import sys
from pathlib import Path
from appliance.store.index.edge import open_edge
from index_points import DIMENSION, point
while True:
    index = open_edge(Path(sys.argv[1]), DIMENSION, prewarm=False)
    index.upsert([point(1_000, "new")])
    index.delete([1_000])
    index.close()
    print(flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_a_kill_while_it_is_opened_and_closed_loses_nothing(folder: Path) -> None:
    for attempt in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(folder)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert process.stdout is not None
        with process.stdout as lines:
            next(lines)
            time.sleep(0.04 * attempt)  # a cycle takes about 0.2 s
            process.send_signal(signal.SIGKILL)
            process.wait()
        index = open_edge(folder, DIMENSION)
        assert set(IDS) <= set(index.ids()) <= {*IDS, 1_000}
        index.delete([1_000])
        check_content(index)
        index.close()
        assert sum(lengths(folder).values()) < 1_000_000
