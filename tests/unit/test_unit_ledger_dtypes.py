"""A ledger keeps the kind of numbers that it began with, whatever the settings say later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from appliance import Appliance
from appliance.backups import Backups
from appliance.errors import StoreVersion
from appliance.store.ledger_header import HEADER_BYTES, write_header
from appliance.store.vectors import VectorLedger
from appliance_models import HashEmbedder, ShortenedEmbedder

LINES = [
    {"session_id": "s", "message_id": f"s-{number}", "role": "user", "content": text}
    for number, text in enumerate(
        ("the harbour at night", "a violin in the market", "tickets for the ferry", "soup with salt", "the dog sleeps")
    )
]


def configure(home: Path, dtype: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f'[index]\nledger = "{dtype}"\n', encoding="utf-8")


def opened(home: Path, embedder: object = None) -> Appliance:
    return Appliance.open(home, worker=False, embedder=embedder or HashEmbedder(dimension=64))  # type: ignore[arg-type]


@pytest.fixture
def small(home: Path, tmp_path: Path) -> Path:
    """A home whose ledger has bytes."""
    configure(home, "int8")
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    with opened(home) as memory:
        memory.ingest(path)
    return home


def dtypes(home: Path) -> Iterator[str]:
    for path in sorted((home / "vectors").glob("*.ledger")):
        with path.open("rb") as file:
            yield json.loads(file.readline())["dtype"]


def test_a_new_generation_has_the_dtype_of_the_settings_and_keeps_it(small: Path) -> None:
    assert list(dtypes(small)) == ["int8"]
    configure(small, "float16")
    with opened(small) as memory:
        memory.sessions.create(title="more").add("user", "another ferry")
        memory.embed_pending()
        assert list(dtypes(small)) == ["int8"]
        assert not memory.verify(deep=True).problems
        assert memory.status()["health"] == "ok"
        assert memory.search("ferry tickets")[0].external_id == "s-2"
        memory.reindex(vectors=True)
    assert list(dtypes(small)) == ["float16"]


def test_an_index_is_made_again_from_bytes(small: Path) -> None:
    with opened(small) as memory:
        before = [(hit.message_id, round(hit.score, 3)) for hit in memory.search("the harbour", profile="dense")]
        memory.reindex()
        after = [(hit.message_id, round(hit.score, 3)) for hit in memory.search("the harbour", profile="dense")]
    assert before == after


def test_damage_to_a_byte_or_a_scale_is_found_and_mended(small: Path) -> None:
    (path,) = (small / "vectors").glob("*.ledger")
    row_bytes = 16 + 4 + 4 + 64
    content = bytearray(path.read_bytes())
    content[HEADER_BYTES + row_bytes + 21] ^= 64  # the scale of the second row
    content[HEADER_BYTES + 3 * row_bytes + 40] ^= 1  # a number of the fourth
    path.write_bytes(content)
    with opened(small) as memory:
        assert len([one for one in memory.verify().problems if "vector" in one.message]) == 2
        memory.reindex(vectors=True)
        assert not memory.verify().problems


def test_what_is_archived_is_found_and_what_is_forgotten_leaves_a_row_of_zeros(small: Path) -> None:
    with opened(small) as memory:
        assert memory.archive.run(days=0, importance=1.0).archived
        assert memory.search("soup with salt", include_archived=True)[0].external_id == "s-3"
        receipt = memory.erasure.forget(memory.erasure.preview("m1"))
        assert receipt.state == "done"
        assert not memory.verify(deep=True).problems
        assert memory.search("soup with salt", include_archived=True)[0].external_id == "s-3"
    (path,) = (small / "vectors").glob("*.ledger")
    assert bytes(4 + 64) in path.read_bytes()[HEADER_BYTES:]  # a scale and its numbers


def test_a_backup_of_bytes_is_restored(small: Path, tmp_path: Path) -> None:
    with opened(small) as memory:
        memory.backup(tmp_path / "backup")
    Backups.restore(tmp_path / "backup", tmp_path / "restored")
    assert list(dtypes(tmp_path / "restored")) == ["int8"]
    with opened(tmp_path / "restored") as memory:
        assert not memory.verify(deep=True).problems
        assert memory.search("ferry tickets")[0].external_id == "s-2"


def test_a_ledger_of_another_kind_of_numbers_is_of_a_newer_program(tmp_path: Path) -> None:
    path = tmp_path / "g1.ledger"
    VectorLedger(path, "model@1", 4, 0).close()
    with path.open("r+b") as file:
        write_header(file.fileno(), path, {"format": 3, "model": "model@1", "dimension": 4, "dtype": "int4"})
    with pytest.raises(StoreVersion, match="newer version"):
        VectorLedger(path, "model@1", 4, 0)


def test_a_shortened_model_is_another_model(home: Path) -> None:
    embedder = ShortenedEmbedder(HashEmbedder(dimension=64), 16)
    assert (embedder.name, embedder.identity, embedder.dimension) == ("hash/16", "hash@64/16", 16)
    with opened(home, embedder) as memory:
        memory.sessions.create(title="some").add("user", "the ferry leaves at seven")
        memory.embed_pending()
        assert memory.status()["model"] == {"name": "hash/16", "dimension": 16, "generation": 1}
        assert memory.search("ferry")[0].text == "the ferry leaves at seven"
        assert not memory.verify(deep=True).problems
    vectors = embedder.embed_passages(["one", "two words"])
    whole = HashEmbedder(dimension=64).embed_passages(["one", "two words"])[:, :16]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors, whole / np.linalg.norm(whole, axis=1, keepdims=True))
