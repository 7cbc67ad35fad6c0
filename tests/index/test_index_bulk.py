"""An index of segments that were written on their own: it answers like one that was filled, and takes updates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from index_points import DIMENSION, point, random_filters, random_point, text, unit

from appliance.errors import StoreCorrupt, UsageError
from appliance.store.index import bulk
from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import IndexPoint, LegQuery

POINTS = 300


def assembled(folder: Path, *parts: Sequence[IndexPoint], batch: int = 40) -> Path:
    """The folder of an index with a segment for each of the parts."""
    for number, points in enumerate(parts):
        batches = [points[start : start + batch] for start in range(0, len(points), batch)]
        assert bulk.write_segment(folder / f"segment-{number}", DIMENSION, batches) == len(points)
    folders = [folder / f"segment-{number}" for number in range(len(parts))]
    bulk.assemble(folder / "index", DIMENSION, folders, sum(map(len, parts)))
    return folder / "index"


def test_it_answers_like_one_that_was_filled(tmp_path: Path) -> None:
    chance = random.Random(7)
    points = [random_point(id, chance) for id in range(1, POINTS + 1)]
    filled = open_edge(tmp_path / "filled", DIMENSION)
    filled.upsert(points)
    index = open_edge(assembled(tmp_path, points[:200], points[200:]), DIMENSION)
    assert index.opened_with == POINTS and list(index.ids()) == list(filled.ids())
    for _ in range(30):
        filters = random_filters(chance) if chance.random() < 0.8 else None
        queries = [
            LegQuery("dense", vector=unit(chance.randint(10_000, 20_000))),
            LegQuery("own", text=text(chance, 5)),
            LegQuery("window", text=text(chance, 5)),
        ]
        assert index.count(filters) == filled.count(filters)
        for one, other in zip(index.search(queries, filters, 500), filled.search(queries, filters, 500), strict=True):
            assert [found.score for found in one] == pytest.approx([found.score for found in other], abs=2e-3)
            assert {found.id for found in one} == {found.id for found in other}
    index.close()
    filled.close()


@pytest.mark.slow
def test_updates_reach_the_points_of_every_segment(tmp_path: Path) -> None:
    """The segments were numbered by shards of their own; the engine leaves out an update with a lower number."""
    many = [point(id) for id in range(1, 200)]
    folder = assembled(tmp_path, many, [point(id) for id in range(200, 203)], batch=1)
    index = open_edge(folder, DIMENSION)
    changed = [replace(point(id), vector=unit(900 + id)) for id in (1, 199, 202)]
    index.upsert(changed)
    index.delete([2, 201])
    index.flush()
    for _ in range(2):
        assert index.count() == 200
        for one in changed:
            assert index.vectors([one.id])[one.id] == pytest.approx(one.vector, abs=2e-3)
            (best,) = index.search([LegQuery("dense", vector=one.vector)], None, 1)[0]
            assert best.id == one.id
        index.close()
        index = open_edge(folder, DIMENSION)
    index.close()


def test_what_is_not_valid_never_reaches_the_engine(tmp_path: Path) -> None:
    broken = replace(point(3), vector=np.full(DIMENSION, np.nan, np.float32))
    with pytest.raises(UsageError, match="point 3"):
        bulk.write_segment(tmp_path / "segment", DIMENSION, [[point(1)], [point(2), broken]])


def test_missing_points_are_an_error(tmp_path: Path) -> None:
    bulk.write_segment(tmp_path / "segment", DIMENSION, [[point(1)]])
    with pytest.raises(StoreCorrupt, match="1 of 2 points"):
        bulk.assemble(tmp_path / "index", DIMENSION, [tmp_path / "segment"], 2)


def test_no_points_are_an_empty_index(tmp_path: Path) -> None:
    index = open_edge(assembled(tmp_path, []), DIMENSION)
    assert index.count() == 0
    index.close()
