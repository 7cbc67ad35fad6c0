"""What an index holds is counted when it is closed, so that opening it does not count; never believed after a kill."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from index_points import DIMENSION, point

from appliance.errors import DiskFull, StoreCorrupt
from appliance.runtime.processors import processors
from appliance.store.index import edge, marker, shard
from appliance.store.index.edge import open_edge

IDS = list(range(1, 40))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed index of 39 points."""
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(id, f"cat word{id}") for id in IDS])
    index.close()
    return tmp_path / "index"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points were counted, each time that an index was looked through."""
    look_through, counts = edge._look_through, list[int]()

    def watched(shard: object) -> object:
        contents = look_through(shard)  # type: ignore[arg-type]
        counts.append(contents.points)
        return contents

    monkeypatch.setattr(edge, "_look_through", watched)
    return counts


def contents(folder: Path) -> object:
    return json.loads((folder / "engine.json").read_text())["contents"]


def test_an_index_that_was_closed_is_not_counted_again(folder: Path, counted: list[int]) -> None:
    for _ in range(2):
        index = open_edge(folder, DIMENSION)
        assert (index.opened_with, index.count()) == (len(IDS), len(IDS))
        index.close()
    assert not counted


def test_the_counts_are_those_of_the_last_closing(folder: Path, counted: list[int]) -> None:
    index = open_edge(folder, DIMENSION)
    index.upsert([point(100, "new", user_id="other")])
    index.delete([1, 2])
    index.close()
    assert counted == [len(IDS) - 1]
    index = open_edge(folder, DIMENSION)
    assert index.opened_with == index.count() == len(list(index.ids())) == len(IDS) - 1
    assert len(index._scopes) == 2, "a search of one user must be filtered from now on"
    index.close()
    assert len(counted) == 1


@pytest.mark.parametrize("change", ["upsert", "delete"])
def test_an_index_that_was_not_closed_after_an_update_is_counted(
    folder: Path, tmp_path: Path, counted: list[int], change: str
) -> None:
    index = open_edge(folder, DIMENSION)
    assert contents(folder) is not None
    index.upsert([point(100, "new")]) if change == "upsert" else index.delete([1])
    assert contents(folder) is None, "before the update reached the engine"
    index.flush()
    shutil.copytree(folder, tmp_path / "killed")  # what a kill would leave now
    index.close()
    counted.clear()
    index = open_edge(tmp_path / "killed", DIMENSION)
    assert counted == [index.opened_with] == [len(IDS) + (1 if change == "upsert" else -1)]
    index.close()


def test_counts_that_the_engine_does_not_confirm_are_not_believed(folder: Path, counted: list[int]) -> None:
    """As of a copy that has the files of one time with the marker of another."""
    known = marker.read(folder, DIMENSION)
    assert known.contents is not None
    wrong = replace(known.contents, points=1_000, engine_points=1_000)
    marker.write(folder, DIMENSION, replace(known, contents=wrong))
    index = open_edge(folder, DIMENSION)
    assert [index.opened_with] == counted == [len(IDS)]
    index.close()


def test_without_room_for_the_marker_there_is_no_update(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = open_edge(folder, DIMENSION)

    def fail(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(marker, "write_file_atomically", fail)
        for _ in range(2):
            with pytest.raises(DiskFull):
                index.upsert([point(100, "new")])
    assert list(index.ids()) == IDS
    index.upsert([point(100, "new")])
    assert index.count() == len(IDS) + 1
    index.close()


def test_damaged_contents_are_damage(folder: Path) -> None:
    path = folder / "engine.json"
    path.write_text(path.read_text().replace('"points": 39', '"points": 38', 1))
    with pytest.raises(StoreCorrupt):
        open_edge(folder, DIMENSION)


def test_it_searches_on_as_many_threads_as_there_are_processors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def threads() -> object:
        return json.loads((folder / "shard" / "edge_config.json").read_text())["max_search_threads"]

    assert threads() == min(processors(), 8)
    for available, used in ((3, 3), (64, 8)):  # as on another machine, to which the home was moved
        monkeypatch.setattr(shard, "processors", lambda available=available: available)
        open_edge(folder, DIMENSION).close()
        assert threads() == used
