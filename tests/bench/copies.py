"""What linking copies costs: time a round, and disk a message.

    python -m tests.bench.copies [--messages 50000] [--texts FILE] [--model 1000]

``share``: of an ingest of real texts with the shipped model, how much of the embedding's time linking takes
(target 5 %).
The rest is linking alone in processor time (others' work does not show in it, nor the disk), in rounds of
1,024, newest first, on messages that are stored and have vectors already, all in one session of a few hours
unless said otherwise:
``distinct``: messages of one to three sentences in sessions of fifty; ``long``: of eight sentences, which all
have bands; ``repeated``: one short text; ``template``: a long text with another word in it each time;
``alike``: different texts whose vectors all mean nearly the same.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

import appliance_models
from appliance import Appliance
from appliance.ingest import indexer, near_duplicates
from appliance.store import chunks, generation_states, messages, sessions, variants
from appliance.store.database import Database
from appliance.store.messages import MessageInsert
from appliance.store.passages import ChunkSpan
from appliance.types import Scope, SessionRecord
from appliance_models import Embedder
from tests.bench import ingest, material, measure

TARGET_SHARE = 0.05
DIMENSION = 384
BEGIN = 1_700_000_000_000_000


def run(texts: Path | None, message_count: int, model_count: int, embedder: Embedder) -> measure.Document:
    found, origin = material.texts(texts)
    pool = material.sentences(found)
    chance = random.Random(8)
    many = range(message_count)
    form = " ".join(chance.choices(pool, k=6))
    middle = len(form.split()) // 2
    cases: dict[str, tuple[Callable[[int], str], int, float]] = {
        "distinct": (lambda n: " ".join(chance.choices(pool, k=1 + n % 3)), 50, 0.0),
        "long": (lambda n: " ".join(chance.choices(pool, k=8)), 50, 0.0),
        "repeated": (lambda n: "ok", message_count, 0.0),
        "template": (
            lambda n: " ".join([*form.split()[:middle], _word(n), *form.split()[middle:]]),
            message_count,
            0.0,
        ),
        "alike": (lambda n: f"say {_word(n)}", message_count, 5.0),
    }
    document: measure.Document = {"benchmark": "copies", "machine": measure.machine(), "texts": origin}
    near_duplicates.minhashes([frozenset(["the library is loaded before anything is timed"])])
    with tempfile.TemporaryDirectory() as folder:
        document["share"] = share(found[:model_count], Path(folder), embedder)
        for name, (text, session_messages, likeness) in cases.items():
            measure.say(f"{name} ...")
            document[name] = case(Path(folder) / f"{name}.db", [text(n) for n in many], session_messages, likeness)
    return document


def share(found: Sequence[str], folder: Path, embedder: Embedder) -> measure.Document:
    """Linking against embedding within one ingest."""
    embedder.embed_query("the model is loaded before anything is timed")
    file = material.write_jsonl(folder / "chat.jsonl", ingest.as_sessions(found))
    wall, processor = measure.Stopwatch(), measure.Stopwatch(time.process_time)
    parts = ((ingest.Recording, "embed_passages"), (near_duplicates, "signatures"), (near_duplicates, "link"))
    with (
        Appliance.open(folder / "home", worker=False, embedder=ingest.Recording(embedder)) as memory,
        wall.watching(*parts),
        processor.watching(*parts),
    ):
        report = memory.ingest(file)
        linked = memory.status()["counts"]["variants"]
    embedding, linking = (
        {name: sum(watch.spent[part] for part in named) for name, watch in (("wall", wall), ("processor", processor))}
        for named in (("Recording.embed_passages",), ("near_duplicates.signatures", "near_duplicates.link"))
    )
    return {
        "messages": len(found),
        "chunks": report.chunks,
        "variants": linked,
        "embedding_seconds": {name: round(taken, 3) for name, taken in embedding.items()},
        "linking_seconds": {name: round(taken, 3) for name, taken in linking.items()},
        # Embedding uses every core and linking one: on a machine that does nothing else wall time counts.
        "share": {name: round(linking[name] / embedding[name], 4) for name in linking},
        "target": TARGET_SHARE,
    }


def case(path: Path, texts: Sequence[str], session_messages: int, likeness: float) -> measure.Document:
    """Rounds of linking. ``likeness`` is how much longer than its own part is what all vectors have in common."""
    chance = np.random.default_rng(8)
    vectors = chance.standard_normal((len(texts), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    common = chance.standard_normal(DIMENSION).astype(np.float32)
    vectors += likeness * common / np.linalg.norm(common)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    database = Database(path)
    try:
        found = _store(database, texts, session_messages)
        before = _bytes(database)
        prints, links = [], []
        for end in range(len(found), 0, -indexer.BATCH_CHUNKS):
            keys = found[max(0, end - indexer.BATCH_CHUNKS) : end]
            began = time.process_time()
            made = near_duplicates.signatures(database.read(), keys)
            between = time.process_time()
            with database.write() as tx:
                near_duplicates.link(
                    tx,
                    keys,
                    made,
                    near_duplicates.ComparisonVectors(1, {}, lambda rows: vectors[np.asarray(rows, int)]),
                )
            prints.append(between - began)
            links.append(time.process_time() - between)
        whole = [a + b for a, b in zip(prints, links, strict=True)]
        tenth = max(1, len(whole) // 10)
        return {
            "messages": len(texts),
            "variants": variants.count(database.read()),
            "characters_a_message": round(sum(map(len, texts)) / len(texts)),
            "ms_a_round": round(1000 * median(whole), 1),
            "of_which_fingerprints": round(1000 * median(prints), 1),
            "ms_first_tenth": round(1000 * median(whole[:tenth]), 1),
            "ms_last_tenth": round(1000 * median(whole[-tenth:]), 1),
            "ms_longest": round(1000 * max(whole), 1),
            "bytes_a_message": round((_bytes(database) - before) / len(texts), 1),
        }
    finally:
        database.close()


def _store(database: Database, texts: Sequence[str], session_messages: int) -> list[int]:
    """Messages a second apart with one chunk and one vector each; the chunks' keys."""
    with database.write() as tx:
        generation_states.begin(tx, "none", "none", DIMENSION, "active")
        pieces = []
        for start in range(0, len(texts), session_messages):
            session, _ = sessions.upsert(tx, Scope("me"), "native", SessionRecord(f"s{start}"))
            new = []
            for number in range(start, min(start + session_messages, len(texts))):
                at = BEGIN + number * 1_000_000
                new.append(
                    MessageInsert(str(number), number, at, "then", at, "user", None, texts[number], True, None, "{}")
                )
            keys = messages.insert(tx, session, None, new)
            pieces += [
                (
                    chunks.ChunkableMessage(key, None, message.text, True, message.order_at),
                    [ChunkSpan(0, len(message.text))],
                )
                for key, message in zip(keys, new, strict=True)
            ]
        chunks.insert(tx, 1, pieces)
        digests = [digest for (digest,) in tx.execute("SELECT DISTINCT digest FROM chunk ORDER BY id")]
        chunks.acknowledge(tx, 1, rows={digest: row for row, digest in enumerate(digests)})
        tx.execute("DELETE FROM outbox")
        return [key for (key,) in tx.execute("SELECT id FROM chunk ORDER BY id")]


def _bytes(database: Database) -> int:
    db = database.read()
    pages, free, size = (
        int(db.execute(f"PRAGMA {what}").fetchone()[0]) for what in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _word(number: int) -> str:
    """A word for a number, without digits."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    parser.add_argument("--messages", type=int, default=50_000, help="to link without a model")
    parser.add_argument("--model", type=int, default=1_000, help="to ingest with the model")
    options = parser.parse_args()
    measure.show(run(options.texts, options.messages, options.model, appliance_models.load()))


if __name__ == "__main__":
    main()
