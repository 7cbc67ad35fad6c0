"""How fast the screen answers: from a key to its results, and how long its loop stands still, alone and beside an
ingest.

    python -m tests.bench.screen --home COPY [--seconds 10] [--user me] [--owner process|screen|daemon]

The home is a copy of one that ``tests.bench.scale`` has built (its ``alone``, 100,000 chunks), tended first: it is
changed. Words of stored messages are typed at a quick typist's pace; a time counts from a key to the moment at which
the list holds what was typed by then. A task on the screen's loop wakes every five milliseconds: how much later it
comes is how long a frame was held up. The terminal is not there (Textual's own headless driver draws every frame).
The home's owner is a process of the screen's, as when ``appliance tui`` starts, or the screen's own process, or a
daemon.

On a busy machine a frame is late because other programs run. ``held_up_here`` counts only as much of each delay as this
process has used of the processor meanwhile, with all of its threads: what the program itself may have to do with it.

Targets: p95 from a key to results 80 ms; no frame held up for longer than 50 ms beside an ingest.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from appliance.paths import find_home
from appliance.transports import owner_process
from appliance_tui.app import ApplianceApp
from appliance_tui.main import memory_opener
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.search_line import SearchInput
from tests.bench import material, measure
from tests.bench.serving import daemon, exports, relabelled

TARGETS = {"key_to_results_p95_ms": 80.0, "held_up_ms": 50.0}

BETWEEN = (0.08, 0.2)
"""Seconds between two keys: 60 to 150 words a minute."""

BEAT = 0.005


class Beats:
    """How much later than it should a task on the loop comes round."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.late_here: list[float] = []

    async def go_on(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(BEAT)
            late = time.perf_counter() - began - BEAT
            self.late.append(late)
            self.late_here.append(min(late, time.process_time() - worked))

    def told(self) -> measure.Document:
        return {"held_up": _delays(self.late), "held_up_here": _delays(self.late_here)}


def _delays(late: list[float]) -> measure.Document:
    return {**measure.percentiles(late), "above_50_ms": sum(one > 0.05 for one in late)}


async def typed(app: ApplianceApp, questions: list[str], seconds: float) -> measure.Document:
    """Type questions for so long; what that took, key by key, for those keys whose results were waited for."""
    recall = app.screen
    assert isinstance(recall, SearchScreen)
    line = recall.query_one(SearchInput)
    chance = random.Random(7)
    taken: list[float] = []
    beats = Beats()
    task = asyncio.create_task(beats.go_on())
    until = time.perf_counter() + seconds
    try:
        while time.perf_counter() < until:
            line.value = ""
            await asyncio.sleep(0.2)
            for letter in chance.choice(questions)[:24]:
                line.insert_text_at_cursor(letter)
                wanted, began = line.value, time.perf_counter()
                pause = asyncio.create_task(asyncio.sleep(chance.uniform(*BETWEEN)))
                while recall.answered_query != wanted and not pause.done():
                    await asyncio.sleep(0.001)
                if recall.answered_query == wanted and wanted.strip():
                    taken.append(time.perf_counter() - began)
                await pause
            # The last key's results are always waited for.
            while recall.answered_query != line.value:
                await asyncio.sleep(0.001)
            taken.append(time.perf_counter() - began)
    finally:
        task.cancel()
    return {"key_to_results": measure.percentiles(taken), **beats.told()}


@contextmanager
def ingesting(home: Path, app: ApplianceApp, user: str) -> Iterator[list[int]]:
    """An ingest of export after export as long as the block lasts; how many messages each had."""
    stop, done = threading.Event(), list[int]()

    def take() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for export in exports(Path(folder), material.texts()[0]):
                try:
                    app.memory_worker.memory().ingest(export, user_id=user, on_file=lambda path, count: check())
                except KeyboardInterrupt:
                    return
                done.append(1)

    def check() -> None:
        if stop.is_set():
            raise KeyboardInterrupt  # what is committed stays

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()


async def run(home: Path, user: str, seconds: float, on_open: Callable[[], None]) -> measure.Document:
    questions = material.questions(material.texts()[0], 100)
    app = ApplianceApp(memory_opener(home, on_open))
    app.user = user
    async with app.run_test(size=(120, 40)):
        while not app.status_text:
            await asyncio.sleep(0.01)
        await typed(app, questions, 2.0)
        found: measure.Document = {"alone": await typed(app, questions, seconds)}
        with ingesting(home, app, user):
            await asyncio.sleep(1.0)
            found["beside_ingest"] = await typed(app, questions, seconds)
            beats = Beats()
            task = asyncio.create_task(beats.go_on())
            await asyncio.sleep(seconds)  # nobody types: the memory takes the larger steps of a quiet hour
            task.cancel()
            found["watching_an_ingest"] = beats.told()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="a copy: it is changed")
    parser.add_argument("--user", default="me", help="whose memory is asked")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each phase lasts")
    parser.add_argument("--owner", choices=("process", "screen", "daemon"), default="process")
    given = parser.parse_args()
    relabelled(given.home)
    with ExitStack() as stack:
        wait: Callable[[], None] = lambda: None  # noqa: E731
        if given.owner == "daemon":
            stack.enter_context(daemon(given.home))
        elif given.owner == "process":
            wait = stack.enter_context(owner_process.running(find_home(given.home), "the benchmark of the screen"))
        found = asyncio.run(run(given.home, given.user, given.seconds, wait))
    measure.show(
        {"benchmark": "screen", "machine": measure.machine(), "owner": given.owner, "targets": TARGETS, **found}
    )


if __name__ == "__main__":
    main()
