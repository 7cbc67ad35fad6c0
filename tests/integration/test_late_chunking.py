"""A memory with late chunking: the chunks of a long message are read together, whatever happens to it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import appliance_models
from appliance import Appliance
from appliance.store import generations
from appliance.store.passages import SECTION_CHUNKS, text_digest
from appliance_models import HashEmbedder, SpannedText, UnknownModel
from tests import forked_programs
from tests.engines import engine_of
from tests.homes import holding


class LateEmbedder(HashEmbedder):
    """A late model that notes what it reads, and ends its process by SIGKILL before it reads too much."""

    def __init__(self, reads_before_kill: int = 1_000_000) -> None:
        super().__init__(max_tokens=40, late_chunking=True)
        self.read: list[SpannedText] = []
        self.plain: list[str] = []
        self.left = reads_before_kill

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.plain += texts
        return super().embed_passages(texts)

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        self.left -= len(texts)
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.read += texts
        return super().embed_spans(texts)


SHARED = " ".join(f"shared{number}" for number in range(36)) + "\n\n"
"""It fills the first chunk of a message."""


def long_text(about: str, words: int = 120) -> str:
    return SHARED + " ".join(f"{about}{number}" for number in range(words))


@pytest.fixture
def model() -> LateEmbedder:
    return LateEmbedder()


@pytest.fixture
def late(home: Path, model: LateEmbedder) -> Iterator[Appliance]:
    with Appliance.open(home, worker=False, embedder=model) as memory:
        yield memory


def stored(memory: Appliance, message: int | None = None) -> list[tuple[str, int, int, bytes, NDArray[np.float32]]]:
    """The chunks of the serving generation: text of the message, place, key and vector."""
    engine = engine_of(memory)
    rows = engine._database.read().execute(
        "SELECT m.text, c.start, c.stop, c.digest, e.row FROM chunk c JOIN message m ON m.id = c.message_id"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        " WHERE c.generation = (SELECT id FROM generation WHERE state = 'active') AND (?1 IS NULL OR m.id = ?1)"
        " ORDER BY c.message_id, c.start",
        (message,),
    )
    with engine._index_service.serving.lease() as stores:
        assert stores is not None
        return [(*found, stores.ledger.read([row])[0]) for *found, row in rows]


def check_vectors(memory: Appliance, author: str | None = None) -> None:
    """Every vector is what the model gives for the message as a whole, or for the text of a message of one chunk."""
    by_text: dict[str, list[Any]] = {}
    for text, *chunk in stored(memory):
        by_text.setdefault(text, []).append(chunk)
    lead = f'{author} said, "' if author else ""
    for text, chunks in by_text.items():
        spans = sorted({(start, stop) for start, stop, *_ in chunks})
        expected = HashEmbedder().embed_spans([SpannedText(text, spans, lead)])
        if len(spans) == 1:
            expected = HashEmbedder().embed_passages([lead + text + '"' if lead else text])
        for start, stop, _, vector in chunks:
            assert vector @ expected[spans.index((start, stop))] > 0.999


def exported(folder: Path, *texts: str) -> Path:
    """A file of messages."""
    lines = [
        {"session_id": "s", "role": "user", "timestamp": "2020-01-01T00:00:00Z", "content": text} for text in texts
    ]
    (folder / "export.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder / "export.jsonl"


def test_the_chunks_of_a_message_are_read_together(late: Appliance, model: LateEmbedder) -> None:
    session = late.sessions.create(title="notes")
    session.add("user", long_text("otter"), author="Ana")
    session.add("user", "a short one", author="Ana")
    assert late.embed_pending() >= 5
    check_vectors(late, "Ana")
    assert len(model.read) == 1 and model.read[0].lead == 'Ana said, "' and model.plain == ['Ana said, "a short one"']
    assert not late.verify(deep=True).problems
    assert late.search("otter77")[0].text == long_text("otter")
    assert late.status()["model"]["name"] == "hash+late"


def test_an_equal_chunk_of_two_messages_has_two_vectors(late: Appliance, model: LateEmbedder) -> None:
    session = late.sessions.create(title="notes")
    for text in (long_text("otter"), long_text("violin"), long_text("otter"), "the same", "the same"):
        session.add("user", text)
    late.embed_pending()
    chunks = stored(late)
    firsts = [chunk for chunk in chunks if chunk[1] == 0 and len(chunk[0]) > 100]
    assert len({text[start:stop] for text, start, stop, *_ in firsts}) == 1
    assert firsts[0][3] != firsts[1][3] and not np.allclose(firsts[0][4], firsts[1][4], atol=0.01)
    assert firsts[0][3] == firsts[2][3], "equal messages share their vectors"
    short = [chunk for chunk in chunks if chunk[0] == "the same"]
    assert {chunk[3] for chunk in short} == {text_digest("the same")}
    assert len(model.read) == 2 and len(model.plain) == 1
    check_vectors(late)


def test_a_message_longer_than_a_batch_is_read_once(late: Appliance, model: LateEmbedder, tmp_path: Path) -> None:
    late.ingest(exported(tmp_path, long_text("otter", 1_000)), wait=False)
    late.search("otter7")  # embeds some chunks at a time
    late.embed_pending()
    assert len(stored(late)) > 30 and len(model.read) == 1
    check_vectors(late)


def test_a_very_long_message_is_read_in_sections(late: Appliance, model: LateEmbedder) -> None:
    late.sessions.create(title="notes").add("user", long_text("otter", 9_000))
    late.embed_pending()
    count = len(stored(late))
    assert count > 2 * SECTION_CHUNKS and len(model.read) == -(-count // SECTION_CHUNKS)
    check_vectors(late)


def test_a_new_message_is_found_before_its_turn(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=LateEmbedder()) as memory:
        memory.sessions.create(title="many").add("user", long_text("filler", 2_500))
        memory.sessions.create(title="new").add("user", long_text("otter", 60))
        hits = memory.search("otter7 otter8", mode="dense")
        assert hits[0].text == long_text("otter", 60)


def test_an_edit_embeds_all_chunks_again(late: Appliance, model: LateEmbedder) -> None:
    session = late.sessions.create(title="notes")
    session.add("user", long_text("otter"), external_id="x")
    late.embed_pending()
    before = {chunk[3] for chunk in stored(late)}
    session.add("user", long_text("otter") + " and a word", external_id="x")
    late.embed_pending()
    after = {chunk[3] for chunk in stored(late)}
    assert len(model.read) == 2 and not before & after
    check_vectors(late)
    session.add("user", "short now", external_id="x")
    late.embed_pending()
    assert {chunk[3] for chunk in stored(late)} == {text_digest("short now")}
    assert not late.verify(deep=True).problems


def test_what_is_forgotten_leaves_nothing(late: Appliance, home: Path) -> None:
    session = late.sessions.create(title="notes")
    gone, left = long_text("otter"), long_text("violin")
    session.add("user", gone, external_id="gone")
    session.add("user", left, external_id="left")
    late.embed_pending()
    (key,) = {key for key, text in _texts(late) if text == gone}
    vectors = [chunk[4].astype(np.float16).tobytes() for chunk in stored(late, key)]
    assert all(holding(home / "vectors", vector) for vector in vectors)
    receipt = late.erasure.forget(late.erasure.preview(f"m{key}"))
    assert (receipt.state, receipt.messages, receipt.proof.traces) == ("done", 1, ())
    assert not any(holding(home, vector) for vector in vectors)
    assert not holding(home / "vectors", b"otter7") and late.search("violin7")[0].text == left
    assert not late.verify(deep=True).problems
    check_vectors(late)


def _texts(memory: Appliance) -> list[tuple[int, str]]:
    return list(engine_of(memory)._database.read().execute("SELECT id, text FROM message"))


def test_a_rebuild_embeds_nothing_and_new_vectors_are_the_same(late: Appliance, model: LateEmbedder) -> None:
    session = late.sessions.create(title="notes")
    for about in ("otter", "violin"):
        session.add("user", long_text(about))
    late.embed_pending()
    before = {chunk[3]: chunk[4] for chunk in stored(late)}
    late.reindex()
    assert len(model.read) == 2
    late.reindex(vectors=True)
    assert len(model.read) == 4
    after = {chunk[3]: chunk[4] for chunk in stored(late)}
    assert before.keys() == after.keys() and all(np.array_equal(before[key], after[key]) for key in before)


def test_a_chunk_of_another_text_is_told(late: Appliance) -> None:
    session = late.sessions.create(title="notes")
    session.add("user", long_text("otter"))
    late.embed_pending()
    with engine_of(late)._database.write() as tx:
        # The digest that the chunk would have in a generation without late chunking.
        (first,) = tx.execute("SELECT stop FROM chunk WHERE start = 0").fetchone()
        plain = text_digest(long_text("otter")[:first])
        tx.execute("UPDATE chunk SET digest = ? WHERE start = 0", (plain,))
    assert any("belongs to another text" in problem.message for problem in late.verify().problems)


def test_a_damaged_vector_is_made_again_from_its_message(late: Appliance, home: Path, model: LateEmbedder) -> None:
    session = late.sessions.create(title="notes")
    session.add("user", long_text("otter"))
    late.embed_pending()
    engine = engine_of(late)
    ledger = generations.ledger_path(engine.home, 1)
    before = [chunk[4] for chunk in stored(late)]
    with engine._index_service.serving.closed():
        data = bytearray(ledger.read_bytes())
        data[-10] ^= 0xFF
        ledger.write_bytes(data)
    assert any(
        "ledger" in problem.message or "vector" in problem.message for problem in late.verify(deep=True).problems
    )
    late.reindex()
    assert len(model.read) == 2
    assert all(np.array_equal(one[4], other) for one, other in zip(stored(late), before, strict=True))
    assert not late.verify(deep=True).problems


def test_archived_and_backed_up_messages_keep_their_vectors(home: Path, tmp_path: Path, model: LateEmbedder) -> None:
    with Appliance.open(home, worker=False, embedder=model) as memory:
        memory.ingest(exported(tmp_path, long_text("otter")))
        before = [chunk[4] for chunk in stored(memory)]
        assert memory.archive.run(importance=1.0).archived == 1
        memory.backup(tmp_path / "backup")
        assert not memory.verify(deep=True).problems
    Appliance.restore(tmp_path / "backup", tmp_path / "again")
    with Appliance.open(tmp_path / "again", worker=False, embedder=model) as memory:
        assert memory.archive.restore(everything=True) == 1
        memory.embed_pending()
        assert all(np.array_equal(one[4], other) for one, other in zip(stored(memory), before, strict=True))
        assert len(model.read) == 1 and not memory.verify(deep=True).problems


KILLED = """
import sys
from pathlib import Path
from appliance import Appliance
from tests.integration.test_late_chunking import LateEmbedder
with Appliance.open(sys.argv[1], worker=False, embedder=LateEmbedder(int(sys.argv[3]))) as memory:
    memory.ingest(Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("reads", [pytest.param(1, marks=pytest.mark.campaign), 100])
def test_killed_in_the_middle_it_goes_on(home: Path, tmp_path: Path, reads: int) -> None:
    texts = [long_text(f"topic{number}x", 400) for number in range(120)]
    export = exported(tmp_path, *texts)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = forked_programs.run(
        [sys.executable, "-c", KILLED, str(home), str(export), str(reads)], env=environment, capture_output=True
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    model = LateEmbedder()
    with Appliance.open(home, worker=False, embedder=model) as memory:
        memory.ingest(export)
        memory.embed_pending()
        assert {text for text, *_ in stored(memory)} == set(texts) and memory.status()["counts"]["pending"] == 0
        check_vectors(memory)
        assert not memory.verify(deep=True).problems
        assert len(model.read) <= 120 and (reads < 100 or len(model.read) < 60), "what was finished is not read again"


# --- from plain to late, and back ------------------------------------------------------------------------------


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> LateEmbedder:
    """The model "hash+late", as if it were installed beside "hash"."""
    model = LateEmbedder()

    def load(name: str, folders: Sequence[Path] = (), threads: int | None = None) -> HashEmbedder:
        if name != "hash+late":
            raise UnknownModel(f"There is no model {name!r}.")
        return model

    monkeypatch.setattr(appliance_models, "load", load)
    return model


def test_from_plain_to_late_and_back(home: Path, installed: LateEmbedder) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder(max_tokens=40)) as memory:
        session = memory.sessions.create(title="notes")
        session.add("user", long_text("otter"))
        session.add("user", "short")
        memory.embed_pending()
        plain = {chunk[3]: chunk[4] for chunk in stored(memory)}
        memory.reindex(model="hash+late")
        states = [(one["model"], one["state"]) for one in memory.status()["generations"]]
        assert states == [("hash", "kept"), ("hash+late", "active")]
        late = {chunk[3]: chunk[4] for chunk in stored(memory)}
        assert plain.keys() & late.keys() == {text_digest("short")}, "only a message of one chunk has the same key"
        check_vectors(memory)
        session.add("user", long_text("violin"))
        memory.embed_pending()
        memory.reindex(rollback=True)
        assert memory.status()["model"]["name"] == "hash"
        back = {chunk[3]: chunk[4] for chunk in stored(memory)}
        assert all(np.array_equal(back[key], plain[key]) for key in plain) and len(back) > len(plain)
        assert not memory.verify(deep=True).problems
        memory.reindex(rollback=True)
        assert memory.status()["model"]["name"] == "hash+late"
        check_vectors(memory)
        assert not memory.verify(deep=True).problems
        memory.reindex(drop_old=True)


@pytest.mark.slow
def test_the_setting_is_a_part_of_the_model(home: Path) -> None:
    def setting(text: str) -> None:
        (home / "config.toml").write_text(f"[model]\n{text}\n", encoding="utf-8")

    home.mkdir()
    setting("late_chunking = true")
    with Appliance.open(home, worker=False) as memory:
        session = memory.sessions.create(title="notes")
        session.add("assistant", "The otter sleeps beside the river all day. " * 60)
        memory.embed_pending()
        assert memory.status()["model"]["name"] == "minilm-l6-dialogue-int8+late"
        before = stored(memory)
        tokens = _token_vectors(memory)
        assert len(before) > 1 and len(tokens) > 500
        assert memory.reindex(tokens=True) == len(before)
        assert np.array_equal(_token_vectors(memory), tokens)
        assert not memory.verify(deep=True).problems
    setting("late_chunking = false")
    with Appliance.open(home, worker=False) as memory:
        assert memory.status()["model"]["name"] == "minilm-l6-dialogue-int8+late", "a memory keeps its model"
        memory.reindex(model="minilm-l6-dialogue-int8")
        assert memory.status()["model"]["name"] == "minilm-l6-dialogue-int8"
        plain = stored(memory)
        cosines = [float(one[4] @ other[4]) for one, other in zip(before, plain, strict=True)]
        assert all(0.3 < cosine < 0.999 for cosine in cosines)


def _token_vectors(memory: Appliance) -> NDArray[np.int8]:
    engine = engine_of(memory)
    with engine._index_service.serving.lease() as stores:
        assert stores is not None
        (key, _), *_ = _texts(memory)
        return generations.token_vectors(engine._database.read(), stores, [key])[key]
