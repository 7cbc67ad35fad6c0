"""What encryption at rest would cost: the database in SQLCipher, an index made anew at each start, a sealed ledger.

    python -m tests.bench.encryption [--chunks 20000] [--home DIR]

It measures what decision 25 weighs, and needs ``sqlcipher3`` (``sqlcipher3-binary`` or ``sqlcipher3-wheels``), which
this project does not depend on: install it into a folder that PYTHONPATH names. Without it, the database is left out.
It prints JSON:

- ``database``: the program as it is, on three engines, each in processes of its own that take turns: Python's sqlite3,
  SQLCipher without a key, and with one. Messages stored a second, and milliseconds of a search by words.
- ``index``: seconds to open a home and search it, and to make its index anew from the ledger first.
- ``ledger``: milliseconds to read 300 blocks of vectors as they lie, and sealed with AES-256-GCM.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench import measure

MODULE = "tests.bench.encryption"
ENGINES = ("sqlite3", "sqlcipher without a key", "sqlcipher")
MESSAGES, SEARCHES, ROUNDS = 3_000, 50, 3
READ_BLOCKS, READS = 300, 100
BLOCK_BYTES = 4_096


def run(folder: Path, count: int) -> measure.Document:
    """Measure all three parts."""
    document = {"machine": measure.machine(), "chunks": count}
    if importlib.util.find_spec("sqlcipher3") is not None:
        document["database"] = _database_engines()
    return {**document, **_home(folder, count)}


# --- the database -----------------------------------------------------------------------------------------


def _database_engines() -> measure.Document:
    found: dict[str, list[measure.Document]] = {engine: [] for engine in ENGINES}
    for _ in range(ROUNDS):
        for engine in ENGINES:
            measure.say(f"database: {engine}")
            found[engine].append(measure.in_fresh_process(MODULE, "--engine", engine))
    return {
        engine: {
            "stored_a_second": median(one["stored_a_second"] for one in rounds),
            "search_p50_ms": median(one["search"]["p50"] for one in rounds),
            "begins_in_the_clear": rounds[0]["begins_in_the_clear"],
            "problems": rounds[0]["problems"],
        }
        for engine, rounds in found.items()
    }


def _one_engine(engine: str) -> measure.Document:
    """Store messages and search them with a database engine, in this process."""
    if engine != "sqlite3":
        _replace_sqlite(encrypted=engine == "sqlcipher")
    from appliance import Appliance
    from tests.bench import material

    with tempfile.TemporaryDirectory() as folder:
        texts = material.texts()[0]
        file = material.write_jsonl(Path(folder) / "chats.jsonl", material.short_messages(texts, MESSAGES))
        with Appliance.open(f"{folder}/home", embedder=material.ProjectionEmbedder(), worker=False) as memory:
            stored = measure.seconds(lambda: memory.ingest(file, wait=False))
            queries = material.questions(texts, SEARCHES)
            search = partial(memory.search, mode="lexical")
            search(queries[0])
            searches = [measure.seconds(partial(search, query)) for query in queries]
            problems = len(memory.verify().problems)
        head = (Path(folder) / "home" / "recall.db").read_bytes()[:15]
    return {
        "stored_a_second": round(MESSAGES / stored),
        "search": measure.percentiles(searches),
        "begins_in_the_clear": head == b"SQLite format 3",
        "problems": problems,
    }


def _replace_sqlite(*, encrypted: bool) -> None:
    """Let all modules that are imported from now on use SQLCipher for sqlite3, with a raw key: deriving one from a
    passphrase is done once at the start and belongs to no query."""
    engine: Any = importlib.import_module("sqlcipher3.dbapi2")
    connect: Callable[..., Any] = engine.connect

    def with_key(database: object, *arguments: object, **named: object) -> Any:
        connection = connect(database, *arguments, **named)
        if str(database) != ":memory:":
            connection.execute(f"PRAGMA key = \"x'{bytes(range(32)).hex()}'\"")
        return connection

    engine.dbapi2 = engine
    if encrypted:
        engine.connect = with_key
    sys.modules["sqlite3"] = engine


# --- the index and the ledger -----------------------------------------------------------------------------


def _home(folder: Path, count: int) -> measure.Document:
    from tests.bench import scale

    home = folder / "home"
    scale.build(home, None, count, [scale.ALONE])
    opened = [measure.in_fresh_process(MODULE, "--open", str(home)) for _ in range(ROUNDS)]
    rebuilt = []
    for _ in range(ROUNDS):
        shutil.rmtree(home / "index")
        rebuilt.append(measure.in_fresh_process(MODULE, "--open", str(home)))
    return {
        "index": {
            "open_and_search_seconds": measure.seconds_of([one["seconds"] for one in opened]),
            "rebuild_and_search_seconds": measure.seconds_of([one["seconds"] for one in rebuilt]),
            "index_mb": round(measure.disk_bytes(home / "index") / 1e6, 1),
        },
        "ledger": _ledger(next((home / "vectors").glob("*.ledger"))),
    }


def _open(home: Path) -> measure.Document:
    """Open a home and search it by meaning, with an index that is made anew if it is missing."""
    from appliance import Appliance
    from tests.bench import material

    query = material.texts()[0][0]
    began = time.perf_counter()
    with Appliance.open(home, create=False, embedder=material.ProjectionEmbedder(), worker=False) as memory:
        memory.embed_pending()
        memory.search(query, mode="dense")
        return {"seconds": time.perf_counter() - began}


def _ledger(path: Path) -> measure.Document:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    data = np.memmap(path, mode="r")
    blocks = len(data) // BLOCK_BYTES
    seal, nonce = AESGCM(bytes(32)), bytes(12)
    sealed = [
        seal.encrypt(nonce, data[at * BLOCK_BYTES : (at + 1) * BLOCK_BYTES].tobytes(), None) for at in range(blocks)
    ]
    chance = np.random.default_rng(7)
    wanted = [chance.choice(blocks, min(READ_BLOCKS, blocks), replace=False) for _ in range(READS)]

    rows = data[: blocks * BLOCK_BYTES].reshape(blocks, BLOCK_BYTES)

    def mapped(numbers: NDArray[np.int64]) -> int:
        return int(rows[numbers].sum())

    def unsealed(numbers: NDArray[np.int64]) -> int:
        opened = b"".join(seal.decrypt(nonce, sealed[at], None) for at in numbers)
        return int(np.frombuffer(opened, np.uint8).sum())

    return {
        "mapped": measure.percentiles([measure.seconds(partial(mapped, numbers)) for numbers in wanted]),
        "sealed": measure.percentiles([measure.seconds(partial(unsealed, numbers)) for numbers in wanted]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--home", type=Path, help="where the home is built; by default a temporary folder")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine is not None:
        measure.show(_one_engine(given.engine))
    elif given.open is not None:
        measure.show(_open(given.open))
    elif given.home is not None:
        measure.show(run(given.home, given.chunks))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure.show(run(Path(folder), given.chunks))


if __name__ == "__main__":
    main()
