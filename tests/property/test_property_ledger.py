"""Vectors come back from a ledger as they were rounded, and rounding turns none further than is said."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from appliance.errors import StoreCorrupt
from appliance.store.vectors import LedgerDtype, VectorLedger, min_file_bytes, missing_rows, quantize
from tests.examples import examples

DTYPES: tuple[LedgerDtype, ...] = get_args(LedgerDtype)

numbers = st.floats(-1, 1, width=32, allow_subnormal=False)
matrices = arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=numbers)


@contextmanager
def ledger(dtype: LedgerDtype, dimension: int) -> Iterator[VectorLedger]:
    with tempfile.TemporaryDirectory() as folder:
        opened = VectorLedger(Path(folder) / "g1.ledger", "model@1", dimension, 0, dtype=dtype)
        yield opened
        opened.close()


def digests(count: int) -> list[bytes]:
    return [bytes([number + 1]) * 16 for number in range(count)]


@settings(max_examples=examples(200), deadline=None)
@given(vectors=matrices)
def test_int8_turns_a_vector_no_further_than_is_said_and_keeps_its_length(vectors: NDArray[np.float32]) -> None:
    steps, scales = quantize(vectors)
    rounded = steps.astype(np.float64) * scales.astype(np.float64)[:, np.newaxis]
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1)
    assert np.allclose(np.linalg.norm(rounded, axis=1), lengths, rtol=1e-6)
    for vector, found, length in zip(exact, rounded, lengths, strict=True):
        if length == 0:
            assert not found.any()
            continue
        limit = np.sqrt(len(vector)) * np.abs(vector).max() / (254 * length)
        cosine = vector @ found / (length * np.linalg.norm(found))
        assert np.sqrt(max(0.0, 1 - cosine**2)) <= limit + 1e-6


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=examples(30), deadline=None)
@given(vectors=matrices)
def test_what_is_read_is_what_the_ledger_says_it_keeps(dtype: LedgerDtype, vectors: NDArray[np.float32]) -> None:
    with ledger(dtype, vectors.shape[1]) as opened:
        first = opened.append(digests(len(vectors)), vectors)
        opened.acknowledge(first + len(vectors))
        rows = list(range(len(vectors)))
        assert np.array_equal(opened.read(rows), opened.round(vectors))
        assert not opened.damaged_rows(rows)
        assert [digest for _, digest in opened.check()] == digests(len(vectors))
        assert opened.path.stat().st_size == min_file_bytes(vectors.shape[1], len(vectors), dtype)
        assert missing_rows(opened.path, vectors.shape[1], len(vectors)) == 0
        assert missing_rows(opened.path, vectors.shape[1], len(vectors) + 2) == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_the_database_has_committed_are_read_at_once(
    dtype: LedgerDtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread reads them a moment before ``acknowledge`` is called, or while further ones are noted."""
    vectors, mapped = np.eye(4, dtype=np.float32), mmap.mmap
    with ledger(dtype, 4) as opened:
        opened.acknowledge(opened.append(digests(1), vectors[:1]) + 1)

        def grows_meanwhile(*arguments: Any, **named: Any) -> mmap.mmap:
            view = mapped(*arguments, **named)
            opened.acknowledge(opened.append(digests(1), vectors[3:]) + 1)
            return view

        opened.append(digests(2), vectors[1:3])
        monkeypatch.setattr("appliance.store.vectors.mmap.mmap", grows_meanwhile)
        assert np.array_equal(opened.read([0, 2]), opened.round(vectors[[0, 2]]))
        monkeypatch.undo()
        with pytest.raises(StoreCorrupt, match="does not exist"):
            opened.read([4])
