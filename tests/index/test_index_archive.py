"""The archive index: a file of segments that finds what the index found before, alone and together with it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from index_points import DIMENSION
from numpy.typing import NDArray

from appliance.errors import DiskFull
from appliance.store.index.archive_index import MAX_SEGMENTS, ArchiveIndex
from appliance.store.index.archive_segments import ArchivedPoint
from appliance.store.index.edge import EdgeIndex, open_edge
from appliance.store.index.protocol import IndexPoint, LegQuery, PointFields
from appliance.store.index.tiers import TieredIndex
from appliance.types import Filters, Scope

WORDS = [f"word{n}" for n in range(60)] + ["the", "and", "of"] * 5
RARE = [f"rare{n}" for n in range(200)]
ME = Scope("me", "")

ROUNDING = 0.1
"""A weight takes one byte: half a step of 2.2 / 255, times the frequencies of all terms."""


def points(count: int) -> list[ArchivedPoint]:
    picked, numbers = random.Random(5), np.random.default_rng(5)
    vectors = numbers.normal(size=(count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = []
    for n in range(count):
        own = " ".join(picked.choices(WORDS, k=picked.randint(1, 25)) + picked.sample(RARE, 2))
        fields = PointFields(
            "ana" if n % 7 == 0 else "me", "", ("coder",) if n % 3 == 0 else (), n % 20, "user" if n % 2 else "tool",
            "slack" if n % 4 else "mbox", bool(n % 2), None if n % 11 == 0 else n * 1000, withheld=n % 13 == 0,
        )  # fmt: skip
        point = IndexPoint(n + 1, vectors[n], own, f"{own} {' '.join(picked.choices(WORDS, k=40))}", fields)
        made.append(ArchivedPoint(point, n))
    return made


FILTERS = [
    None,
    Filters(ME),
    Filters(ME, roles=("tool", "user")),
    Filters(ME, roles=("user",), sources=("mbox",)),
    Filters(ME, session=3),
    Filters(ME, since=100_000, until=400_000),
    Filters(Scope("me", "", "coder"), roles=("user", "tool")),
    Filters(Scope("nobody", "")),
]


def queries(every: list[ArchivedPoint]) -> list[LegQuery]:
    text = "word3 the rare5 word7 rare9 unheard word59"
    vector: NDArray[np.float32] = every[17].point.vector
    return [LegQuery("dense", vector=vector), LegQuery("own", text=text), LegQuery("window", text=text)]


@pytest.fixture
def every() -> list[ArchivedPoint]:
    return points(600)


def reader(every: list[ArchivedPoint]):  # type: ignore[no-untyped-def]
    stored = np.stack([one.point.vector for one in every])
    return lambda rows: stored[rows]


@pytest.fixture
def whole(tmp_path: Path, every: list[ArchivedPoint]) -> EdgeIndex:
    index = open_edge(tmp_path / "whole", DIMENSION)
    index.upsert([one.point for one in every])
    return index


@pytest.mark.slow
@pytest.mark.parametrize("segments", [1, 3, MAX_SEGMENTS + 2])
@pytest.mark.parametrize("filters", FILTERS)
def test_both_tiers_rank_as_one_index_would(
    tmp_path: Path, every: list[ArchivedPoint], whole: EdgeIndex, segments: int, filters: Filters | None
) -> None:
    hot = open_edge(tmp_path / "hot", DIMENSION)
    hot.upsert([one.point for one in every[:100]])
    archive = ArchiveIndex(tmp_path / "g1.archive", DIMENSION, reader(every))
    for step in range(segments):
        archive.append(every[100 + step :: segments])
    assert len(archive) == 500
    tiers = TieredIndex(hot, archive)
    asked = queries(every)
    for expected, found in zip(whole.search(asked, filters, 40), tiers.search(asked, filters, 40), strict=True):
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=ROUNDING)
        # Random vectors of 32 dimensions are as unlike their signs as can be.
        assert len({one.id for one in expected} & {one.id for one in found}) >= 0.75 * len(expected)
    scope = None if filters is None else filters.scope
    some = [set(range(1, 601, 7))] * 3
    for exact, scored in zip(whole.score(asked, some, scope), tiers.score(asked, some, scope), strict=True):
        assert scored.keys() == exact.keys()
        assert all(scored[key] == pytest.approx(exact[key], abs=ROUNDING) for key in exact)
    hot.close()
    whole.close()


def test_rows_that_are_written_again_count_once(tmp_path: Path, every: list[ArchivedPoint]) -> None:
    path = tmp_path / "g1.archive"
    archive = ArchiveIndex(path, DIMENSION, reader(every))
    archive.append(every[:50])
    changed = ArchivedPoint(
        IndexPoint(5, every[4].point.vector, "zebra", "zebra crossing", every[4].point.fields), every[4].row
    )
    archive.append([changed])
    query = LegQuery("own", text="zebra")
    assert [one.id for one in archive.search(query, None, 9, dict.fromkeys(_terms(query), 1.0))] == [5]
    assert len(archive) == 50 and sorted(archive.ids().tolist()) == list(range(1, 51))
    archive.retain(lambda ids: ids != 7)
    again = ArchiveIndex(path, DIMENSION, reader(every))
    assert sorted(again.ids().tolist()) == [n for n in range(1, 51) if n != 7]
    assert [one.id for one in again.search(query, None, 9, dict.fromkeys(_terms(query), 1.0))] == [5]
    again.discard()
    assert not path.exists() and len(again) == 0


def test_the_author_of_what_is_erased_does_not_stay(tmp_path: Path, every: list[ArchivedPoint]) -> None:
    path = tmp_path / "g1.archive"
    archive = ArchiveIndex(path, DIMENSION, reader(every))
    by = [replace(one.point, fields=replace(one.point.fields, author=f"Dr Name{one.row}")) for one in every[:9]]
    archive.append([ArchivedPoint(point, n) for n, point in enumerate(by)])
    archive.retain(lambda ids: ids != 4)
    kept = path.read_bytes()
    assert b"Dr Name3" not in kept and all(b"Dr Name%d" % n in kept for n in range(9) if n != 3)
    text = LegQuery("own", text=by[5].own)
    weights = dict.fromkeys(_terms(text), 1.0)
    found = archive.search(text, Filters(ME, roles=("user", "tool"), authors=("Dr Name5",)), 9, weights)
    assert [one.id for one in found] == [6], "the codes of the others still mean the same authors"
    archive.retain(lambda ids: ids < 0)
    assert not path.exists() or b"Dr Name" not in path.read_bytes()


def _terms(query: LegQuery) -> list[int]:
    from appliance.store.index.archive_index import query_terms

    return query_terms(query)


def test_a_file_cut_or_changed_anywhere_keeps_its_whole_segments(tmp_path: Path, every: list[ArchivedPoint]) -> None:
    path = tmp_path / "g1.archive"
    archive = ArchiveIndex(path, DIMENSION, reader(every))
    ends = []
    for step in range(3):
        archive.append(every[step * 10 : step * 10 + 10])
        ends.append(path.stat().st_size)
    content = path.read_bytes()
    for cut in [*range(0, len(content), 997), *(end + shift for end in ends for shift in (-1, 0, 1))]:
        path.write_bytes(content[:cut])
        whole = sum(end <= cut for end in ends)
        torn = ArchiveIndex(path, DIMENSION, reader(every))
        assert len(torn) == 10 * whole
        if whole:
            assert torn.is_intact(), "what an interrupted writer left behind is no damage"
            assert torn.has_torn_end == (path.stat().st_size not in ends)
    # The last segment is the one that a power cut can have left full of zeros.
    path.write_bytes(content[: ends[1] + 2000] + bytes(len(content) - ends[1] - 2000))
    torn = ArchiveIndex(path, DIMENSION, reader(every))
    assert len(torn) == 20
    torn.append(every[20:30])
    assert len(ArchiveIndex(path, DIMENSION, reader(every))) == 30
    assert len(ArchiveIndex(path, DIMENSION * 2, reader(every))) == 0


def test_a_full_disk_is_said_and_leaves_the_file_as_it_was(
    tmp_path: Path, every: list[ArchivedPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = ArchiveIndex(tmp_path / "g1.archive", DIMENSION, reader(every))
    archive.append(every[:10])
    real, calls = __import__("os").pwrite, itertools.count()

    def full(descriptor: int, data: bytes, offset: int) -> int:
        if next(calls) > 3:
            raise OSError(28, "No space left on device")
        return int(real(descriptor, data, offset))

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(DiskFull, match="No space left"):
        archive.append(every[10:20])
    monkeypatch.setattr("os.pwrite", real)
    assert len(ArchiveIndex(archive.path, DIMENSION, reader(every))) == 10
    archive.append(every[10:20])
    assert len(archive) == 20
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(DiskFull):
        archive.merge_all()
    assert [path.name for path in tmp_path.iterdir()] == [archive.path.name] and len(archive) == 20
