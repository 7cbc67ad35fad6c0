"""Generations of vectors: a change of the model, back again, both compared, and what is forgotten meanwhile."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import appliance_models
from appliance import Appliance
from appliance.errors import ModelUnavailable, NotFound, UsageError
from appliance.store.generations import ledger_path
from appliance_models import HashEmbedder, UnknownModel
from tests.engines import engine_of
from tests.waits import PATIENCE

TEXTS = (
    "the ferry leaves at six from the north pier",
    "Marta keeps the violin in the attic",
    "the greenhouse needs a new pane of glass",
    "we voted for the copper kettle",
)


class CountingEmbedder(HashEmbedder):
    """Another model than the tests' own, which counts what it embeds, and does something before each step."""

    def __init__(self) -> None:
        super().__init__(dimension=48)
        self.embedded: list[str] = []
        self.before_step: Callable[[], None] = lambda: None

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.before_step()
        self.embedded += texts
        return super().embed_passages(texts)


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    """The model "other", as if it were installed."""
    model = CountingEmbedder()

    def load(name: str, folders: Sequence[Path] = (), threads: int | None = None) -> HashEmbedder:
        if name != "other":
            raise UnknownModel(f"There is no model {name!r}.")
        return model

    monkeypatch.setattr(appliance_models, "load", load)
    return model


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    session = memory.sessions.create(title="A week in May")
    for text in TEXTS:
        session.add("user", text, author="Ana")
    memory.embed_pending()
    return memory


PAGES = 1_200
"""More than a batch of the indexer."""


def ingest_pages(memory: Appliance, folder: Path) -> None:
    pages = (
        {"session_id": "book", "role": "user", "content": f"the lighthouse keeper wrote page {number}"}
        for number in range(PAGES)
    )
    export = folder / "book.jsonl"
    export.write_text("".join(json.dumps(page) + "\n" for page in pages), encoding="utf-8")
    memory.ingest(export)


def states(memory: Appliance) -> list[tuple[str, str]]:
    return [(one["model"], one["state"]) for one in memory.status()["generations"]]


def best(memory: Appliance, query: str, generation: int | None = None) -> str:
    return memory.search(query, mode="dense", min_score=0, generation=generation)[0].text


def test_a_change_keeps_the_old_vectors_and_goes_back(filled: Appliance, other: CountingEmbedder) -> None:
    assert filled.reindex(model="other") == len(TEXTS)
    assert states(filled) == [("hash", "kept"), ("other", "active")]
    assert filled.status()["model"] == {"name": "other", "dimension": 48, "generation": 2}
    assert best(filled, "ferry north pier") == TEXTS[0]
    assert filled.reindex(rollback=True) == 0
    assert states(filled) == [("hash", "active"), ("other", "kept")]
    assert best(filled, "violin attic") == TEXTS[1]
    filled.reindex(rollback=True)  # and forth again
    assert states(filled) == [("hash", "kept"), ("other", "active")]
    assert len(other.embedded) == len(TEXTS), "no text is embedded twice"
    assert not filled.verify().problems


def test_going_back_brings_what_was_stored_and_edited_meanwhile(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    session = filled.sessions.create()
    session.add("user", "the lighthouse is painted green", external_id="x")
    session.add("user", "the lighthouse is painted red", external_id="x")
    filled.embed_pending()
    assert filled.reindex(rollback=True) == 1
    assert best(filled, "lighthouse painted red") == "the lighthouse is painted red"
    assert filled.status()["counts"]["pending"] == 0 and not filled.verify().problems


def test_there_is_nothing_to_go_back_to(filled: Appliance) -> None:
    with pytest.raises(UsageError, match="no earlier generation") as refused:
        filled.reindex(rollback=True)
    assert "--model" in str(refused.value.hint)


@pytest.fixture
def three(filled: Appliance, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A memory with the generations 1 ("hash"), 2 ("small") and 3 ("large"), of which the last one serves."""
    dimensions = {"small": 16, "large": 64}
    monkeypatch.setattr(appliance_models, "load", lambda name, *rest, **options: HashEmbedder(dimensions[name]))
    filled.reindex(model="small")
    filled.sessions.create().add("user", "the lighthouse is painted green")
    filled.reindex(model="large")
    return filled


def test_one_of_several_kept_generations_is_gone_back_to(three: Appliance) -> None:
    assert states(three) == [("hash", "kept"), ("small", "kept"), ("large", "active")]
    assert three.reindex(rollback=True, generation=1) == 1, "the one that served last is generation 2"
    assert states(three) == [("hash", "active"), ("small", "kept"), ("large", "kept")]
    assert best(three, "lighthouse painted green") == "the lighthouse is painted green"
    assert three.reindex(rollback=True) == 0
    assert states(three) == [("hash", "kept"), ("small", "kept"), ("large", "active")], "that which served last"
    assert not three.verify().problems


def test_one_of_several_kept_generations_is_dropped(three: Appliance) -> None:
    assert three.reindex(drop_old=True, generation=1) == 1
    assert states(three) == [("small", "kept"), ("large", "active")]
    assert not ledger_path(three.home, 1).exists()
    assert three.reindex(drop_old=True) == 1 and states(three) == [("large", "active")]


def test_a_choice_that_can_not_be_made_lists_what_is_kept(three: Appliance) -> None:
    for way in ({"rollback": True}, {"drop_old": True}):
        with pytest.raises(NotFound, match="no generation 7") as refused:
            three.reindex(**way, generation=7)
        assert re.fullmatch(
            r"Kept: 2 \(small, 16 dimensions, 5 messages, [\d.]+ [KM]B, complete until \d{4}-\d\d-\d\d\);"
            r" 1 \(hash, 32 dimensions, 4 messages, .*\)\.",
            str(refused.value.hint),
        ), refused.value.hint
        with pytest.raises(UsageError, match=r"Generation 3 .* is the one that serves"):
            three.reindex(**way, generation=3)
    assert [(one["id"], one["messages"]) for one in three.status()["generations"]] == [(1, 4), (2, 5), (3, 5)]
    assert states(three) == [("hash", "kept"), ("small", "kept"), ("large", "active")]


def test_a_model_that_is_gone_is_not_gone_back_to(
    filled: Appliance, other: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.reindex(model="other")
    filled.reindex(rollback=True)
    engine_of(filled)._index_service._models._embedders.pop("other")
    monkeypatch.undo()
    with pytest.raises(ModelUnavailable):
        filled.reindex(rollback=True)
    assert states(filled) == [("hash", "active"), ("other", "kept")]


def test_old_vectors_are_dropped_when_they_are_told_to(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    assert filled.reindex(drop_old=True) == 1
    assert states(filled) == [("other", "active")]
    assert [path.name for path in filled.home.vectors.iterdir()] == ["g2.ledger"]
    assert [path.name for path in filled.home.index.iterdir()] == ["g2"]
    assert filled.run_pending_jobs() >= 0
    database = engine_of(filled)._database.read()
    for table in ("generation", "chunk", "embedding", "outbox"):
        rows = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        assert rows == {"generation": 1, "chunk": len(TEXTS), "embedding": len(TEXTS), "outbox": 0}[table], table
    assert filled.reindex(drop_old=True) == 0


def test_vectors_computed_again_replace_the_old_ones(filled: Appliance) -> None:
    filled.reindex(vectors=True)
    assert states(filled) == [("hash", "active")]


@pytest.mark.slow
def test_an_interrupted_change_goes_on_where_it_ended(
    filled: Appliance, other: CountingEmbedder, tmp_path: Path
) -> None:
    ingest_pages(filled, tmp_path)
    steps = iter(range(100))

    def stop_in_the_second_batch() -> None:
        if next(steps) == 17:
            raise KeyboardInterrupt

    other.before_step = stop_in_the_second_batch
    with pytest.raises(KeyboardInterrupt):
        filled.reindex(model="other")
    assert states(filled) == [("hash", "active"), ("other", "building")]
    assert "reindex --model other" in filled.status()["health"]
    first, other.before_step = len(other.embedded), lambda: None
    assert first > 1_000
    filled.reindex(model="other")
    assert states(filled) == [("hash", "kept"), ("other", "active")]
    assert len(set(other.embedded)) == len(TEXTS) + PAGES
    assert len(other.embedded) < first + 300, "what had been embedded is not embedded again"
    assert not filled.verify().problems


def test_an_interrupted_change_can_be_given_up(filled: Appliance, other: CountingEmbedder) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    other.before_step = stop
    with pytest.raises(KeyboardInterrupt):
        filled.reindex(model="other")
    assert filled.reindex(drop_old=True) == 1
    assert states(filled) == [("hash", "active")] and filled.status()["health"] == "ok"


def test_both_generations_are_searched_side_by_side(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    filled.sessions.create().add("user", "the lighthouse is painted green")
    new, old = (filled.search("lighthouse painted", mode="dense", min_score=0, generation=n) for n in (2, 1))
    assert new[0].text == "the lighthouse is painted green" and not new.notes
    assert "the lighthouse is painted green" not in [hit.text for hit in old]
    assert any("Generation 1 (hash) has what was stored until 20" in note for note in old.notes)
    assert filled.embed_pending(generation=1) == 1
    assert best(filled, "lighthouse painted", generation=1) == "the lighthouse is painted green"
    with pytest.raises(NotFound, match="generation 7") as missing:
        filled.search("lighthouse", generation=7)
    assert "1 (hash), 2 (other)" in str(missing.value.hint)
    filled.reindex(drop_old=True)
    with pytest.raises(NotFound):
        filled.search("lighthouse", generation=1)


@pytest.mark.slow
def test_what_is_forgotten_is_in_no_generation(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    best(filled, "violin", generation=1)  # its stores are open
    vector = HashEmbedder().embed_passages([f'Ana said, "{TEXTS[1]}"'])[0].astype("<f2").tobytes()
    assert vector in ledger_path(filled.home, 1).read_bytes(), "the test would prove nothing"
    filled.erasure.forget(filled.erasure.preview(query="violin"))
    assert vector not in ledger_path(filled.home, 1).read_bytes()
    assert all(vector not in path.read_bytes() for path in filled.home.index.rglob("*") if path.is_file())
    assert TEXTS[1] not in [hit.text for hit in filled.search("violin attic", min_score=0, generation=1)]
    filled.reindex(rollback=True)
    assert best(filled, "ferry north pier") == TEXTS[0]
    assert not filled.verify().problems


@pytest.mark.slow
def test_an_erasure_does_not_wait_for_the_end_of_a_change(
    filled: Appliance, other: CountingEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_pages(filled, tmp_path)
    index_service, order = engine_of(filled)._index_service, list[str]()
    has_begun, may_go_on = threading.Event(), threading.Event()
    erase = index_service._changes.erase_orphaned_vectors
    monkeypatch.setattr(index_service._changes, "erase_orphaned_vectors", lambda: (order.append("erased"), erase())[1])

    def hold() -> None:
        has_begun.set()
        assert may_go_on.wait(PATIENCE)

    other.before_step = hold
    with ThreadPoolExecutor(2) as pool:
        change = pool.submit(filled.reindex, model="other")
        change.add_done_callback(lambda _: order.append("changed"))
        assert has_begun.wait(PATIENCE)
        erasure = pool.submit(lambda: filled.erasure.forget(filled.erasure.preview(query="violin")))
        while not index_service._rebuild_lock.is_awaited:
            assert not erasure.done()
        other.before_step = lambda: None
        may_go_on.set()
        erasure.result(), change.result()
    assert order == ["erased", "changed"]
    assert best(filled, "ferry north pier") == TEXTS[0] and not filled.verify().problems
    assert TEXTS[1] not in [hit.text for hit in filled.search("violin attic", min_score=0)]


@pytest.mark.slow
def test_searches_beside_changes_always_find_everything(filled: Appliance, other: CountingEmbedder) -> None:
    session = filled.sessions.create()
    for number in range(300):
        session.add("user", f"keepsake{number} lies in drawer {number}")
    filled.embed_pending()
    ended, asked = threading.Event(), 0

    def search() -> int:
        count = 0
        while not ended.is_set():
            number = count * 37 % 300
            hits = filled.search(f"where is keepsake{number}", limit=3)
            assert hits[0].text == f"keepsake{number} lies in drawer {number}"
            # What is added meanwhile may come between a search's catching up and its reading.
            assert not [note for note in hits.notes if "wait for the index" not in note]
            legs = hits[0].why["legs"]
            assert "dense" in legs and "own" in legs, legs
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        searching = pool.submit(search)
        try:
            filled.reindex(model="other")
            filled.reindex(rollback=True)
            session.add("user", "one more")
            filled.reindex(rollback=True)
            filled.reindex(drop_old=True)
        finally:
            ended.set()
        asked = searching.result()
    assert asked > 3
    assert not filled.verify().problems


def test_an_erasure_says_what_it_waits_for(
    filled: Appliance, other: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.engine.generation_changes.WAIT_NOTICE_SECONDS", 0.0)
    told: list[str] = []
    waiting, forgotten = threading.Event(), []

    def note(waits_for: str) -> None:
        told.append(waits_for)
        waiting.set()

    def forget() -> None:
        forgotten.append(filled.erasure.forget(filled.erasure.preview(query="violin"), on_wait=note))

    thread = threading.Thread(target=forget)

    def forget_once() -> None:
        if not thread.ident:
            thread.start()
            assert waiting.wait(PATIENCE), "the batch would not end before"

    other.before_step = forget_once
    filled.reindex(model="other")
    thread.join(30)
    assert told == ["the batch of vectors that a change of the model is making ('appliance reindex')"]
    assert forgotten and not forgotten[0].proof.traces
    filled.erasure.forget(filled.erasure.preview(query="kettle"), on_wait=note)
    assert len(told) == 1, "alone it does not wait"


def test_damaged_old_vectors_are_told_and_dropped(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    path = ledger_path(filled.home, 1)
    data = bytearray(path.read_bytes())
    data[-3] ^= 0xFF
    path.write_bytes(data)
    (problem,) = filled.verify().problems
    assert problem.where == "g1.ledger" and "reindex --drop-old" in problem.message
    filled.reindex(drop_old=True)
    assert not filled.verify().problems


def test_a_generation_that_was_never_embedded_lacks_no_vectors(memory: Appliance, other: CountingEmbedder) -> None:
    memory.sessions.create().add("user", TEXTS[0])
    memory.reindex(model="other")
    assert states(memory) == [("hash", "kept"), ("other", "active")] and not ledger_path(memory.home, 1).exists()
    assert not memory.verify().problems
    assert memory.reindex(rollback=True) == 1 and not memory.verify().problems


def test_a_running_change_is_neither_a_trouble_nor_dropped(filled: Appliance, other: CountingEmbedder) -> None:
    seen: list[str] = []

    def look() -> None:
        if not seen:
            seen.append(filled.status()["health"])
            with pytest.raises(UsageError, match="at this moment"):
                filled.reindex(drop_old=True)
            with pytest.raises(NotFound, match="not complete"):
                filled.search("ferry", generation=2)

    other.before_step = look
    filled.reindex(model="other")
    assert seen == ["ok"] and states(filled) == [("hash", "kept"), ("other", "active")]


def test_the_model_that_serves_is_not_changed_to(filled: Appliance, other: CountingEmbedder) -> None:
    filled.reindex(model="other")
    with pytest.raises(UsageError, match="uses other already") as refused:
        filled.reindex(model="other")
    assert "--vectors" in str(refused.value.hint) and len(other.embedded) == len(TEXTS)
