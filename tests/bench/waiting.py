"""How long ``forget`` and ``ingest(wait=True)`` take beside somebody who adds twenty messages a second.

    python -m tests.bench.waiting [--messages 1000] [--rounds 3] [--rate 20]

Both wait for what was there when they began, and not for what is added meanwhile. In each round, each is measured
alone and beside the adding thread, in one home with its background work; the shipped model embeds. ``adds_a_second``
is what the adding thread achieved meanwhile.

Target: at most three times as long as alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from appliance import Appliance
from tests.bench import material, measure

TARGET_RATIO = 3.0
FORGOTTEN_MESSAGES = 20
INGESTED_MESSAGES = 200


@dataclass(slots=True)
class Adding:
    """What the adding thread has done."""

    messages: int = 0
    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)


@contextmanager
def adding(memory: Appliance, rate: float, done: Adding) -> Iterator[None]:
    """Another thread adds so many messages a second to a conversation of its own."""
    stop = threading.Event()
    session = memory.sessions.create(title="busy")

    def add() -> None:
        began = time.perf_counter()
        for number in itertools.count(1):
            if stop.wait(max(0.0, began + number / rate - time.perf_counter())):
                break
            try:
                session.add("user", f"The ferry of hour {number} was late by {number % 7} minutes again.")
                done.messages += 1
            except Exception as error:
                done.errors.append(f"{type(error).__name__}: {error}")
        done.seconds += time.perf_counter() - began

    thread = threading.Thread(target=add)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run(messages: int, rounds: int, rate: float) -> measure.Document:
    taken: dict[str, list[float]] = {
        f"{verb}_{where}": [] for verb in ("forget", "ingest") for where in ("alone", "beside")
    }
    done = Adding()
    with tempfile.TemporaryDirectory() as place, Appliance.open(Path(place) / "home") as memory:
        records = iter(material.short_messages(material.texts()[0], messages + 2 * rounds * INGESTED_MESSAGES))
        memory.ingest(_export(Path(place), records, messages))
        for _ in range(rounds):
            for where in ("alone", "beside"):
                forget, ingest = (
                    _forgetting(memory),
                    _ingesting(memory, _export(Path(place), records, INGESTED_MESSAGES)),
                )
                if where == "alone":
                    memory.embed_pending()
                    taken["forget_alone"].append(measure.seconds(forget))
                    taken["ingest_alone"].append(measure.seconds(ingest))
                else:
                    with adding(memory, rate, done):
                        taken["forget_beside"].append(measure.seconds(forget))
                        taken["ingest_beside"].append(measure.seconds(ingest))
        unproved = [one.id for one in memory.erasure.receipts() if not one.proof.searched or one.proof.traces]
    ratios = {verb: measure.ratio(taken[f"{verb}_beside"], taken[f"{verb}_alone"]) for verb in ("forget", "ingest")}
    return {
        "benchmark": "waiting",
        "machine": measure.machine(),
        "messages": messages,
        "seconds": {name: measure.seconds_of(durations) for name, durations in taken.items()},
        "beside_over_alone": ratios,
        "target": TARGET_RATIO,
        "met": all(ratio["median"] <= TARGET_RATIO for ratio in ratios.values()),
        "adds_a_second": round(done.messages / done.seconds, 1),
        "errors": done.errors[:5],
        "receipts_unproved": unproved,
    }


def _export(folder: Path, records: Iterator[dict[str, object]], count: int) -> Path:
    own = list(itertools.islice(records, count))
    return material.write_jsonl(folder / f"{own[0]['message_id']}.jsonl", own)


def _forgetting(memory: Appliance) -> Callable[[], object]:
    """Forget a conversation that has just been made."""
    session = memory.sessions.create()
    for number in range(FORGOTTEN_MESSAGES):
        session.add("user", f"The blue envelope lies under stair {number} of the lighthouse.")
    memory.embed_pending()
    return lambda: memory.erasure.forget(memory.erasure.preview(session.id))


def _ingesting(memory: Appliance, export: Path) -> Callable[[], object]:
    return lambda: memory.ingest(export, wait=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000, help="messages of the home (1000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    parser.add_argument("--rate", type=float, default=20.0, help="messages added a second (20)")
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.messages, arguments.rounds, arguments.rate), indent=2))


if __name__ == "__main__":
    main()
