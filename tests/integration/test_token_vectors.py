"""Token vectors over the life of a home: kept with each message, filled where they lack, forgotten with it."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance
from appliance.store import token_places
from appliance.store.token_vectors import TokenPlace
from appliance_models import EmbeddedQuery, HashEmbedder
from tests.engines import engine_of

WORDS = ["the kettle whistles", "a violin for Mara", "nine walnuts in the bread", "rain on the tin roof"]


class WordVectors(HashEmbedder):
    """A model with a token vector for each word: the word's own direction."""

    token_dimension = 16
    token_identity = "words@1"

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        return self.embed_passages(texts), [np.rint(word_vectors(text) * 127).astype(np.int8) for text in texts]

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        found = word_vectors(text)
        return EmbeddedQuery(self.embed_query(text), found, np.ones(len(found), np.float32))


def word_vectors(text: str) -> NDArray[np.float32]:
    words = re.findall(r"\w+", text.lower())
    rows = [np.random.default_rng(zlib.crc32(word.encode())).standard_normal(16) for word in words]
    vectors = np.array(rows, np.float32).reshape(-1, 16)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class WithoutTokens(WordVectors):
    """The same model, of a version that had none."""

    token_dimension = 0


def export(folder: Path) -> Path:
    path = folder / "chat.jsonl"
    records = [
        {"session_id": f"s{n // 2}", "message_id": str(n), "author": "Ana", "role": "user", "content": text}
        for n, text in enumerate(WORDS)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


OpenHome = Callable[..., Appliance]


@pytest.fixture
def open_home(tmp_path: Path) -> OpenHome:
    def open_it(embedder: HashEmbedder | None = None) -> Appliance:
        return Appliance.open(tmp_path / "home", worker=False, embedder=embedder or WordVectors())

    return open_it


def places(memory: Appliance) -> dict[bytes, TokenPlace]:
    return dict(token_places.all_places(engine_of(memory)._database.read(), 1))


def best_reasons(memory: Appliance, query: str) -> dict[str, float]:
    return dict(memory.search(query)[0].why["score"])


def ledger_file(memory: Appliance) -> Path:
    return memory.home.vectors / "g1.tokens"


def test_every_message_gets_token_vectors_and_a_search_compares_them(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        assert len(places(memory)) == len(WORDS)
        assert memory.verify().checked["token_vectors"] == len(WORDS)
        hits = {hit.external_id: hit.why["score"] for hit in memory.search("walnuts in the bread")}
    assert hits["2"]["token_match"] == 0, "the best is the measure"
    assert all(hits[key]["token_match"] < 0 for key in hits.keys() - {"2"})
    assert all(reasons["max_sim"] == 0 for reasons in hits.values()), "the lexicon has no say then"


def test_a_home_without_them_goes_on_and_gets_them_in_the_background(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home(WithoutTokens()) as memory:
        memory.ingest(export(tmp_path))
        assert places(memory) == {} and not ledger_file(memory).exists()
        assert best_reasons(memory, "walnuts in the bread")["token_match"] == 0
    with open_home() as memory:
        assert memory.search("walnuts in the bread")[0].external_id == "2"
        memory.run_pending_jobs()
        assert len(places(memory)) == len(WORDS)
        assert not memory.verify().problems
        filled = ledger_file(memory).read_bytes()
    with Appliance.open(tmp_path / "other", worker=False, embedder=WordVectors()) as memory:
        memory.ingest(export(tmp_path))
        assert sorted(filled[4096:]) == sorted(ledger_file(memory).read_bytes()[4096:]), "as if never without"


def test_a_model_with_other_token_vectors_has_them_computed_again(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
    newer = WordVectors()
    newer.token_identity = "words@2"
    with open_home(newer) as memory:
        memory.run_pending_jobs()
        assert len(places(memory)) == len(WORDS)
        assert b"words@2" in ledger_file(memory).read_bytes()[:4096]


def test_what_is_forgotten_leaves_no_token_vector(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        before = places(memory)
        memory.erasure.forget(memory.erasure.preview("0", "1"))
        after = places(memory)
        assert len(after) == len(WORDS) - 2 and after.items() <= before.items()
        data = ledger_file(memory).read_bytes()
        for digest, place in before.items():
            end = place.start + 20 + place.tokens * WordVectors.token_dimension
            assert (digest in data) == (digest in after)
            assert any(data[place.start : end]) == (digest in after)
        assert not memory.verify().problems


def test_a_lost_file_is_filled_again_and_the_search_goes_on(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        path = ledger_file(memory)
    for damage in (path.unlink, lambda: path.write_bytes(b"no ledger"), lambda: path.write_bytes(b"")):
        damage()
        with open_home() as memory:
            assert memory.search("walnuts in the bread")[0].external_id == "2"
            memory.run_pending_jobs()
            assert len(places(memory)) == len(WORDS) and not memory.verify().problems


def test_a_damaged_record_is_named_and_mended(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        (digest, place), *_ = places(memory).items()
        with ledger_file(memory).open("r+b") as file:
            file.seek(place.start + 21)
            file.write(b"\x55")
        (problem,) = memory.verify().problems
        assert digest.hex() in problem.message and "reindex --tokens" in problem.message
        assert memory.reindex(tokens=True) == len(WORDS)
        assert not memory.verify().problems


def test_a_backup_leaves_them_out_and_a_restored_home_fills_them(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        memory.backup(tmp_path / "backups")
    Appliance.restore(tmp_path / "backups", tmp_path / "restored")
    assert not (tmp_path / "restored" / "vectors" / "g1.tokens").exists()
    with Appliance.open(tmp_path / "restored", worker=False, embedder=WordVectors()) as memory:
        assert memory.search("walnuts in the bread")[0].external_id == "2"
        memory.run_pending_jobs()
        assert len(places(memory)) == len(WORDS)


def test_a_setting_leaves_them_out(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        path = ledger_file(memory)
    (tmp_path / "home" / "config.toml").write_text("[index]\ntoken_vectors = false\n", encoding="utf-8")
    with open_home() as memory:
        memory.run_pending_jobs()
        assert not path.exists() and places(memory) == {}
        assert memory.search("walnuts in the bread")[0].external_id == "2"


def test_what_was_just_added_is_no_worse_off(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        memory.sessions.get("s1").add("user", "walnuts are in season", author="Ana")
        found = memory.search("walnuts in season")
        assert found[0].text == "walnuts are in season"


def test_reindexing_with_another_model_makes_others(open_home: OpenHome, tmp_path: Path) -> None:
    with open_home() as memory:
        memory.ingest(export(tmp_path))
        memory.reindex(vectors=True)
        db = engine_of(memory)._database.read()
        assert len(dict(token_places.all_places(db, 2))) == len(WORDS)
        assert not ledger_file(memory).exists()
        assert not memory.verify().problems
