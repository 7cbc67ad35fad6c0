"""The best are read once more by a reranker: in time, explained, and never at the price of an answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance, Hits
from appliance.config import load
from appliance.errors import ConfigError
from appliance.paths import Home
from appliance.retrieval import pipeline, rerank
from appliance.retrieval.resources import Page, PassageScorer, RerankerSettings, SearchQuery
from appliance.retrieval.search_query import query_time
from appliance.retrieval.weights import EVIDENCE, RERANK_WEIGHT
from appliance.store.passages import passage
from appliance.types import Filters, Scope
from appliance_models import HashEmbedder, import_pack
from tests.engines import engine_of
from tests.tiny_models import crossencoder_folder
from tests.waits import PATIENCE

QUERY = "the harbour at night"
ANSWER = "zebra"
"""A word that the question lacks; the tests' scorers like who says it."""

Score = Callable[[str, Sequence[str]], Sequence[float]]


class Judge:
    """A scorer made of a function, which notes what it was given."""

    name = "judge"
    threads = 4

    def __init__(self, score: Score, *, accepts: bool = True) -> None:
        self._score = score
        self._accepts = accepts
        self.given: list[str] = []

    def accepts_query(self, query: str) -> bool:
        return self._accepts

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.given += passages
        return np.array(self._score(query, passages), np.float32)


def likes_the_answer(query: str, passages: Sequence[str]) -> list[float]:
    return [9.0 if ANSWER in text else -9.0 for text in passages]


@pytest.fixture
def chats(memory: Appliance, tmp_path: Path) -> Appliance:
    records = [
        {"session_id": "s", "message_id": f"m{n}", "role": "user", "author": "Ana"}
        | {"content": f"the harbour at night{', and more' * n}, part {n}"}
        for n in range(24)
    ]
    records[15]["content"] += f" {ANSWER}"
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    return memory


def search(
    memory: Appliance, scorer: PassageScorer | None, *, top: int = 30, budget_ms: float = 60_000, **more: str
) -> Hits:
    """A search with a reranker, whatever the settings say."""
    with engine_of(memory)._index_service.search_resources(dense=True) as shelf:
        assert shelf is not None
        shelf = replace(shelf, reranker=RerankerSettings(scorer, top, budget_ms, "it is not there"))
        filters = Filters(Scope(more.get("user", memory.settings.user), "", None))
        wish = SearchQuery(more.get("query", QUERY), filters, EVIDENCE, EVIDENCE.legs, "hybrid", query_time(None))
        return pipeline.search(shelf, wish, Page(50))


def ids(hits: Hits) -> list[str]:
    return [hit.external_id for hit in hits]


def test_what_it_likes_comes_first(chats: Appliance) -> None:
    before = chats.search(QUERY, limit=50)
    assert before[0].external_id != "m15" and "rerank" not in before[0].why["score"]
    hits = search(chats, Judge(likes_the_answer))
    assert hits[0].external_id == "m15"
    assert [one for one in ids(hits) if one != "m15"] == [one for one in ids(before) if one != "m15"]
    assert hits.notes == ("24 of the best 24 were reranked by judge",)


@pytest.mark.parametrize("top", [1, 5, 17, 24, 30])
def test_the_reasons_order_the_hits(chats: Appliance, top: int) -> None:
    hits = search(chats, Judge(likes_the_answer), top=top)
    assert [hit.points for hit in hits] == sorted((hit.points for hit in hits), reverse=True)
    for hit in hits:
        assert 0 <= hit.score <= 1
    liked = [hit for hit in hits if hit.why["score"]["rerank"] > RERANK_WEIGHT / 2]
    assert [hit.external_id for hit in liked] in ([], ["m15"])


@pytest.mark.parametrize("top", [1, 5, 17])
def test_the_rest_follows_in_its_order(chats: Appliance, top: int) -> None:
    before = ids(chats.search(QUERY, limit=50))
    hits = ids(search(chats, Judge(lambda query, texts: [-float(len(text)) for text in texts]), top=top))
    assert set(hits[:top]) == set(before[:top])
    assert hits[top:] == before[top:]


def test_it_is_given_the_chunk_that_matched(memory: Appliance, tmp_path: Path) -> None:
    text = "nothing to see here. " * 300 + f"the harbour at night, {ANSWER}. " + "nothing to see here. " * 300
    record = {"session_id": "s", "message_id": "long", "role": "user", "author": "Ana", "content": text}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    memory.ingest(path)
    judge = Judge(likes_the_answer)
    search(memory, judge, query=f"harbour night {ANSWER}")
    (given,) = judge.given
    assert ANSWER in given and len(given) < len(text) / 4
    assert given.startswith('Ana said, "') and given == passage("Ana", given[len('Ana said, "') : -1])


def test_a_slow_one_is_not_waited_for(chats: Appliance) -> None:
    before = ids(chats.search(QUERY, limit=50))
    ended, answered = threading.Event(), threading.Event()

    def slowly(query: str, texts: Sequence[str]) -> list[float]:
        ended.wait(PATIENCE)
        answered.set()
        return [0.0] * len(texts)

    hits = search(chats, Judge(slowly), budget_ms=50)
    waited = answered.is_set()
    ended.set()
    assert not waited, "it waited for the model"
    assert ids(hits) == before
    assert hits.notes == ("0 of the best 24 were reranked by judge, as many as 50 ms allow",)


def test_what_is_done_in_time_counts(chats: Appliance) -> None:
    before = ids(chats.search(QUERY, limit=50))
    ended = threading.Event()
    calls = 0

    def slower_and_slower(query: str, texts: Sequence[str]) -> list[float]:
        nonlocal calls
        calls += 1
        if calls == 3:
            ended.wait(30)
        return [-float(len(text)) for text in texts]

    hits = search(chats, Judge(slower_and_slower), budget_ms=1_000)
    ended.set()
    done = 2 * Judge.threads
    assert hits.notes == (f"{done} of the best 24 were reranked by judge, as many as 1000 ms allow",)
    assert set(ids(hits)[:done]) == set(before[:done])
    assert ids(hits)[done:] == before[done:]


def test_none_is_begun_that_would_not_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(rerank.time, "monotonic", lambda: now)

    def takes_a_while(query: str, texts: Sequence[str]) -> list[float]:
        nonlocal now
        now += 0.06
        return [1.0] * len(texts)

    judge = Judge(takes_a_while)
    done, trouble = rerank.score_within_budget(
        RerankerSettings(judge, 30, 150), judge, "a question", ["a passage"] * 30
    )
    assert len(done) == len(judge.given) == 2 * Judge.threads and trouble is None


def test_what_goes_wrong_in_the_model_is_said(chats: Appliance) -> None:
    before = ids(chats.search(QUERY, limit=50))

    def fails(query: str, texts: Sequence[str]) -> list[float]:
        raise ValueError("indices are out of bounds")

    hits = search(chats, Judge(fails))
    assert hits.notes == ("0 of the best 24 were reranked by judge: ValueError, indices are out of bounds",)
    assert ids(hits) == before


def test_a_search_without_it_says_so(chats: Appliance) -> None:
    before = chats.search(QUERY, limit=50)
    for scorer, says in (
        (None, "the hits were not reranked: it is not there"),
        (Judge(likes_the_answer, accepts=False), "the hits were not reranked: the question is too long for judge"),
    ):
        hits = search(chats, scorer)
        assert hits.notes == (says,)
        assert [(hit.external_id, hit.score) for hit in hits] == [(hit.external_id, hit.score) for hit in before]


def test_nothing_found_is_nothing_to_rerank(chats: Appliance) -> None:
    judge = Judge(likes_the_answer)
    assert list(search(chats, judge, user="ben")) == []
    assert list(search(chats, judge, query="   ")) == list(chats.search("   ", limit=50))
    assert judge.given == []


def test_an_imported_pack_reranks_by_the_settings(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    import_pack(crossencoder_folder(tmp_path / "tiny"), home / "models")
    (home / "config.toml").write_text('[rerank]\nmodel = "tiny"\nbudget_ms = 60000\n', encoding="utf-8")
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(
            json.dumps({"session_id": "s", "message_id": str(n), "role": "user", "content": text}) + "\n"
            for n, text in enumerate(["a boat at the pier", "a boat, a boat, a boat", "no boat"])
        ),
        encoding="utf-8",
    )
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(path)
        hits = memory.search("boat")
        assert hits.notes == ("3 of the best 3 were reranked by tiny",)
        # Shared pieces, the separator's pair among them: the more, the nearer to the whole weight.
        shares = {hit.external_id: hit.why["score"]["rerank"] / RERANK_WEIGHT for hit in hits}
        assert shares["1"] == pytest.approx(1 / (1 + np.exp(-4)))
        assert shares["0"] == shares["2"] == pytest.approx(1 / (1 + np.exp(-2)))
        assert memory.search("boat", mode="lexical").notes == ()
        explained = memory.search("boat", limit=1, why_not="2").why_not
        assert explained is not None and explained.why is not None
        assert explained.score is not None and 0 <= explained.score <= 1


@pytest.mark.parametrize(
    ("name", "says"), [("nobody", "There is no model 'nobody'"), ("all-minilm-l6-v2-int8", "is an embedder")]
)
def test_a_search_answers_without_its_pack(home: Path, tmp_path: Path, name: str, says: str) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'[rerank]\nmodel = "{name}"\n', encoding="utf-8")
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"session_id": "s", "role": "user", "content": "a boat"}), encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(path)
        hits = memory.search("boat")
        assert [hit.text for hit in hits] == ["a boat"]
        (note,) = hits.notes
        assert note.startswith("the hits were not reranked: ") and says in note


def test_the_settings_are_off_and_checked(home: Path) -> None:
    home.mkdir()
    settings = load(Home(home), {}).rerank
    assert (settings.model, settings.top, settings.budget_ms) == ("", 30, 150)
    for wrong in ("top = 0", "budget_ms = 0", "budget_ms = 'fast'", "speed = 3"):
        Home(home).config.write_text(f"[rerank]\n{wrong}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="rerank"):
            load(Home(home), {})
