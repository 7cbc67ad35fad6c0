"""The embedded index's folder: who may open it, what is said when it can't be, and how it is settled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from index_points import DIMENSION, passes, point, unit

from appliance.errors import ApplianceError, HomeError, HomeLocked, StoreCorrupt, StoreVersion
from appliance.store.index import shard
from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import SCHEMA_VERSION, IndexPoint, LegQuery
from appliance.store.index.shard import discard, translate_errors
from appliance.types import Filters, Scope


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed index of three points."""
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(1, "cat"), point(2, "dog"), point(3, "rain")])
    index.close()
    return tmp_path / "index"


def test_a_second_open_finds_what_the_first_wrote(folder: Path) -> None:
    index = open_edge(folder, DIMENSION)
    assert not index.is_fresh
    assert list(index.ids()) == [1, 2, 3]
    assert [s.id for s in index.search([LegQuery("own", text="dog")], Filters(Scope("ana")), 3)[0]] == [2]
    index.close()
    assert open_edge(folder, DIMENSION, prewarm=False).count() == 3


def test_only_the_owner_may_read_the_folder(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "engine.json").stat().st_mode & 0o777 == 0o600


def test_it_is_open_once_at_a_time(folder: Path) -> None:
    index = open_edge(folder, DIMENSION)
    with pytest.raises(HomeLocked) as locked:
        open_edge(folder, DIMENSION)
    assert locked.value.hint
    assert index.count() == 3
    index.close()
    open_edge(folder, DIMENSION).close()


def test_the_marker_says_what_made_it(folder: Path) -> None:
    marker = json.loads((folder / "engine.json").read_text())
    assert marker["engine"] == "qdrant-edge"
    assert (marker["dimension"], marker["schema"]) == (DIMENSION, SCHEMA_VERSION)
    assert marker["version"].count(".") == 2
    assert sorted(path.name for path in folder.iterdir()) == ["engine.json", "shard"]


def test_another_makers_index_is_not_opened(folder: Path) -> None:
    marker = folder / "engine.json"
    found = json.loads(marker.read_text())
    others = {"engine": "x", "version": "0.10.0", "dimension": 384, "schema": SCHEMA_VERSION + 1}
    for name, value in [*others.items(), ("version", "0.8.0")]:
        marker.write_text(json.dumps({**found, name: value}))
        with pytest.raises(StoreVersion, match=name) as refused:
            open_edge(folder, DIMENSION)
        assert "appliance reindex" in (refused.value.hint or "")
    # Releases that differ in the last place only are the same.
    marker.write_text(json.dumps({**found, "version": found["version"] + "9"}))
    open_edge(folder, DIMENSION).close()


def test_a_damaged_marker_is_told(folder: Path) -> None:
    for damaged in (b"", b"{", b"[]", b'{"engine": "qdrant-edge"}', b"\x00\xff"):
        (folder / "engine.json").write_bytes(damaged)
        with pytest.raises(StoreCorrupt) as refused:
            open_edge(folder, DIMENSION)
        assert "appliance reindex" in (refused.value.hint or "")


@pytest.mark.parametrize("lost", ["segment.json", "edge_config.json", "config.json", "segments"])
def test_a_damaged_shard_is_told_and_can_be_made_anew(folder: Path, lost: str) -> None:
    for path in sorted((folder / "shard").rglob(lost)):
        if path.is_dir():
            shutil.rmtree(path)
            path.write_text("not a folder")
        else:
            path.write_text("{")
    with pytest.raises(StoreCorrupt) as refused:
        open_edge(folder, DIMENSION)
    assert "appliance reindex" in (refused.value.hint or "")
    discard(folder)
    index = open_edge(folder, DIMENSION)
    assert (index.is_fresh, index.count()) == (True, 0)
    index.close()


@pytest.mark.skipif(os.name != "posix", reason="the system bounds no files")
def test_a_damaged_length_makes_no_endless_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine would make a file as long as a number says that it reads, and read that file."""
    monkeypatch.setattr(shard, "MAX_FILE_BYTES", 400_000_000)
    for status in (folder / "shard").glob("segments/*/payload_index/*level-null/is_null/status.dat"):
        status.write_bytes((1 << 33 | 3).to_bytes(8, "little") + status.read_bytes()[8:])
    index = open_edge(folder, DIMENSION)
    index.upsert([point(4, "dog")])
    assert index.count() == 4
    assert max(path.stat().st_size for path in folder.rglob("*")) <= 33_554_432
    index.close()


def test_a_file_of_an_impossible_length_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "MAX_FILE_BYTES", 400_000_000)
    with (folder / "shard" / "flags.dat").open("wb") as file:
        file.truncate(500_000_000)
    with pytest.raises(StoreCorrupt, match="impossible length") as refused:
        open_edge(folder, DIMENSION)
    assert "appliance reindex" in (refused.value.hint or "")


def test_a_lost_shard_is_a_fresh_index(folder: Path) -> None:
    shutil.rmtree(folder / "shard")
    index = open_edge(folder, DIMENSION)
    assert (index.is_fresh, index.count()) == (True, 0)
    index.close()


def test_creation_cut_short_is_told(folder: Path) -> None:
    (folder / "engine.json").unlink()
    with pytest.raises(StoreCorrupt):
        open_edge(folder, DIMENSION)
    discard(folder)
    discard(folder)
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError):
        open_edge(tmp_path / "file" / "index", DIMENSION)


def test_settling_keeps_every_point_and_drops_the_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "_MIN_OPTIMIZED_POINTS", 200)
    index = open_edge(tmp_path / "index", DIMENSION)
    index.upsert([point(id, f"cat word{id}", user_id=f"user{id % 3}") for id in range(1, 1501)])
    queries = [LegQuery("dense", vector=unit(77)), LegQuery("own", text="word77 word78")]
    filters = Filters(Scope("user2"))
    before = index.search(queries, filters, 10)
    assert index.optimize()
    assert not index.optimize()
    after = index.search(queries, filters, 10)
    assert [[s.id for s in leg] for leg in after] == [[s.id for s in leg] for leg in before]
    index.delete(range(1, 900))
    index.upsert([point(id, "late") for id in range(1400, 1700)])
    index.optimize()
    index.close()
    index = open_edge(tmp_path / "index", DIMENSION)
    assert list(index.ids()) == list(range(900, 1700))
    assert len(index.search([LegQuery("own", text="late")], None, 1000)[0]) == 300
    assert index.search([LegQuery("own", text="word1450")], None, 5) == [[]]
    index.close()


@pytest.mark.parametrize(
    "steps",
    [
        ["mine", "mine", "a tool's", "another's"],
        ["mine", "open again", "a tool's", "delete", "open again", "mine"],
        ["another's", "mine", "delete", "open again", "a tool's", "another's"],
    ],
    ids=" ".join,
)
def test_filters_hold_however_uniform_the_points_are(tmp_path: Path, steps: list[str]) -> None:
    """Conditions that all points pass are not asked for; a point that comes later may not pass them."""
    index = open_edge(tmp_path / "index", DIMENSION)
    points: dict[int, IndexPoint] = {}
    for id, step in enumerate(steps, 1):
        match step:
            case "delete":
                index.delete([min(points)])
                del points[min(points)]
            case "open again":
                index.close()
                index = open_edge(tmp_path / "index", DIMENSION)
            case _:
                user, talk = "bob" if step == "another's" else "ana", step != "a tool's"
                points[id] = point(id, user_id=user, conversational=talk)
                index.upsert([points[id]])
        for filters in (Filters(Scope(user), roles=roles) for user in ("ana", "bob") for roles in ((), ("user",))):
            (found,) = index.search([LegQuery("dense", vector=unit(0))], filters, 20)
            wanted = {id for id, one in points.items() if passes(one, filters)}
            assert {scored.id for scored in found} == wanted
            assert index.count(filters) == len(wanted)


def test_threads_may_share_it(folder: Path) -> None:
    index = open_edge(folder, DIMENSION)
    failed: list[Exception] = []

    def work(first: int) -> None:
        try:
            for id in range(first, first + 40):
                index.upsert([point(id, f"word{id}")])
                found = index.search([LegQuery("own", text=f"word{id}")], None, 3)[0]
                assert [scored.id for scored in found] == [id]
                assert id in index.vectors([id])
        except (AssertionError, ApplianceError) as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(1000 * number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert index.count() == 3 + 4 * 40
    index.close()


def test_the_engines_panics_come_out_as_ours(tmp_path: Path) -> None:
    class Panic(BaseException):
        pass

    with pytest.raises(ApplianceError), translate_errors("be tried", tmp_path):
        raise Panic("thread panicked")
    with pytest.raises(KeyboardInterrupt), translate_errors("be tried", tmp_path):
        raise KeyboardInterrupt


@pytest.mark.slow
def test_the_protocol_loads_no_engine_and_the_embedded_one_no_client() -> None:
    code = (
        "import sys, appliance.store.index.protocol as b; assert 'qdrant_edge' not in sys.modules;"
        "import appliance.store.index.edge, appliance.store.index.remote as r;"
        "assert 'qdrant_client' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(p for p in sys.path if p)})
