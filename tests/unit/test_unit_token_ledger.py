"""The token ledger: what is written stays, what a crash leaves behind is overwritten, what is erased is gone."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.store.ledger_header import HEADER_BYTES, write_header
from appliance.store.token_vectors import TokenLedger, TokenPlace, Tokens

DIMENSION = 4
NAMES = [bytes([number]) * 16 for number in range(1, 9)]


def tokens(count: int, value: int = 1) -> Tokens:
    return np.full((count, DIMENSION), value, np.int8)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[TokenLedger]:
    opened = TokenLedger(tmp_path / "g1.tokens", "model@1", DIMENSION, 0)
    yield opened
    opened.close()


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, lengths: list[int]) -> None:
    path = tmp_path_factory.mktemp("ledger") / "g1.tokens"
    ledger = TokenLedger(path, "model@1", DIMENSION, 0)
    written = [tokens(length, number + 1) for number, length in enumerate(lengths)]
    places = []
    for name, one in zip(NAMES, written, strict=False):
        places += ledger.append([name], [one])
        ledger.acknowledge(places)
    ledger.close()
    again = TokenLedger(path, "model@1", DIMENSION, ledger.end)
    for place, one in zip(places, written, strict=True):
        assert np.array_equal(again.read([place]), one)
    assert np.array_equal(again.read(places), np.concatenate(written))
    assert not again.damaged(zip(NAMES, places, strict=False))
    again.close()


def test_what_no_transaction_noted_is_overwritten(ledger: TokenLedger) -> None:
    ledger.append(NAMES[:1], [tokens(5, 9)])  # killed before the database committed it
    (place,) = ledger.append(NAMES[1:2], [tokens(2, 3)])
    ledger.acknowledge([place])
    assert place.start == HEADER_BYTES
    assert np.array_equal(ledger.read([place]), tokens(2, 3))


def test_what_is_erased_is_gone_and_the_others_stay(ledger: TokenLedger) -> None:
    places = ledger.append(NAMES[:3], [tokens(3, 7), tokens(2, 8), tokens(1, 9)])
    ledger.acknowledge(places)
    ledger.append(NAMES[3:4], [tokens(4, 5)])  # never noted
    assert ledger.erase([places[1]]) > 0
    data = ledger.path.read_bytes()[HEADER_BYTES:]
    assert set(data) - {0, 8} <= set(data[places[1].start - HEADER_BYTES :][:20]), "digest and checksum of the kept one"
    assert NAMES[0] not in data and NAMES[2] not in data and len(data) == ledger.end - HEADER_BYTES
    assert np.array_equal(ledger.read([places[1]]), tokens(2, 8))
    assert ledger.erase([places[1]]) == 0, "nothing is written twice"


def test_a_flipped_bit_is_named(ledger: TokenLedger) -> None:
    places = ledger.append(NAMES[:2], [tokens(3), tokens(3)])
    ledger.acknowledge(places)
    with ledger.path.open("r+b") as file:
        file.seek(places[1].start + 22)
        file.write(b"\x55")
    assert ledger.damaged(zip(NAMES, places, strict=False)) == {NAMES[1]}


def test_a_place_outside_of_the_file_is_damage(ledger: TokenLedger) -> None:
    (place,) = ledger.append(NAMES[:1], [tokens(3)])
    beyond = TokenPlace(place.start, place.tokens + 1)
    with pytest.raises(StoreCorrupt, match="no record"):
        ledger.read([beyond])
    assert ledger.damaged([(NAMES[0], beyond)]) == {NAMES[0]}


def test_what_a_transaction_has_noted_is_read_before_the_ledger_counts_it(ledger: TokenLedger) -> None:
    """Another thread reads what the database has committed a moment before ``acknowledge`` is called."""
    ledger.acknowledge(ledger.append(NAMES[:1], [tokens(3, 7)]))
    places = ledger.append(NAMES[1:2], [tokens(2, 8)])
    assert np.array_equal(ledger.read(places), tokens(2, 8))
    assert not ledger.damaged([(NAMES[1], places[0])])


def test_a_ledger_that_grows_while_it_is_mapped_is_read(ledger: TokenLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that embeds notes further records between two steps of one that reads."""
    places = ledger.append(NAMES[:1], [tokens(3, 7)])
    ledger.acknowledge(places)
    mapped = mmap.mmap

    def grows_meanwhile(*arguments: Any, **named: Any) -> mmap.mmap:
        view = mapped(*arguments, **named)
        ledger.acknowledge(ledger.append(NAMES[1:2], [tokens(2, 8)]))
        return view

    monkeypatch.setattr("appliance.store.token_vectors.mmap.mmap", grows_meanwhile)
    assert np.array_equal(ledger.read(places), tokens(3, 7))


def test_another_file_in_its_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g1.tokens"
    TokenLedger(path, "model@1", DIMENSION, 0).close()
    with pytest.raises(StoreCorrupt, match="vectors of model@1, not of model@2"):
        TokenLedger(path, "model@2", DIMENSION, 0)
    with pytest.raises(StoreCorrupt, match="bytes of the token ledger are missing"):
        TokenLedger(path, "model@1", DIMENSION, HEADER_BYTES + 100)
    with pytest.raises(StoreCorrupt, match="missing"):
        TokenLedger(tmp_path / "g2.tokens", "model@1", DIMENSION, 0, read_only=True)
    with path.open("r+b") as file:
        write_header(file.fileno(), path, {"format": 99, "model": "model@1", "dimension": DIMENSION, "dtype": "int8"})
    with pytest.raises(StoreVersion, match="newer version"):
        TokenLedger(path, "model@1", DIMENSION, 0)
