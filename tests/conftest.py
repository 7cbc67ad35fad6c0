"""Every test has a home of its own, no settings from outside, and no network."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import re
import shutil
import signal
import ssl
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

from appliance import Appliance
from appliance.runtime import power
from appliance.store.index import shard
from appliance_models import HashEmbedder
from tests.examples import CAMPAIGN, FULL, QUICK

# How fast examples are made and tried says something of the machine, on which another test runs beside, and not of us.
settings.register_profile(FULL, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(CAMPAIGN, settings.get_profile(FULL))
settings.register_profile(QUICK, settings.get_profile(FULL), max_examples=20)
settings.load_profile(QUICK)

# A command line in this process would build its 65 commands anew each time: four fifths of its time.
typer.testing._get_command = functools.cache(typer.testing._get_command)  # type: ignore[attr-defined]

# Clients load all certificates of the world for servers on loopback that speak plain HTTP.
ssl.SSLContext.load_verify_locations = lambda *_, **__: None  # type: ignore[method-assign]

# A process that a test starts would compile the whole program anew each time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A line that such a process keeps in its buffer would not be missed.
os.environ.pop("PYTHONUNBUFFERED", None)

# A shell makes what it starts in the background ignore interrupts, and so would each process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Threads of NumPy's algebra keep a processor busy for 50 ms after each use, in each process of the tests.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# The engine reads the indexes of all fields whole when it opens them, 60 MB of zeros: three quarters of what making and
# opening a small index takes, and a fifth of all quick tests. What a filter finds does not depend on them. They are all
# there in the processes that tests start, and in tests that ask for ``every_field_index``.
_every_field_index = shard._field_indexes
shard._field_indexes = lambda: _every_field_index()[:1]

MEMORY_FOLDER = Path("/dev/shm")
MEMORY_BYTES = 6_000_000_000
"""Room that the tests need in memory, with some to spare."""


def _temporary_root() -> str | None:
    """Where the homes of the tests lie if the caller named no place: in memory, if there is room. The tests flush
    thousands of small stores, which takes a disk five times as long, and what a power cut would do is not what they
    test."""
    try:
        room = os.statvfs(MEMORY_FOLDER)
    except (OSError, AttributeError):
        return None
    has_room = room.f_bavail * room.f_frsize > MEMORY_BYTES
    return str(MEMORY_FOLDER) if has_room and os.access(MEMORY_FOLDER, os.W_OK) else None


if not os.environ.get("PYTEST_DEBUG_TEMPROOT") and (root := _temporary_root()) is not None:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = root

# On a laptop's battery, work of the background would wait.
power.SUPPLIES = Path("/nonexistent")

# Loading the tests makes some millions of objects that stay: looking through them again and again took a fifth of it.
gc.disable()

COLLECTED_OBJECTS = 50_000
"""New objects after which the garbage collector looks for cycles. By its own 700 it took a fifth of the processor time
of all tests of the screen, whose widgets refer to each other."""


def pytest_collection_finish() -> None:
    """What was loaded for thousands of tests stays: the collector need not look through it while they run."""
    gc.freeze()
    gc.set_threshold(COLLECTED_OBJECTS, 5, 5)
    gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker more than there are cores: a third of the time a test waits, for a disk, a process or a screen."""
    return (os.cpu_count() or 1) + 1


LONGEST_ID = 100
"""Characters of a text that stand in a test's id. Ids go between the processes of a run and into every report: those of
hostile texts were 50 MB altogether."""


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A long text is named by its beginning and its length."""
    if not isinstance(val, str | bytes) or len(val) <= LONGEST_ID:
        return None
    begins = val[:20] if isinstance(val, str) else val[:20].decode("latin-1")
    return f"{begins.encode('unicode_escape').decode()}-{len(val)}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each process of a run begins to load the tests at another place, and finds compiled what the others have loaded
    until it comes there: in a new checkout all of them compiled the same 500 modules at the same time."""
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker and isinstance(collector, pytest.Directory):
        begin = len(report.result) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        report.result = [*report.result[begin:], *report.result[:begin]]
    return report


ALL_SLOW = re.compile(r"^pytestmark = .*\bmark\.(slow|campaign)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of a run of slow tests each process would load all modules, half of which have neither these nor properties; of
    a run of the others also those with slow tests alone. A module that is named on the command line is loaded."""
    chosen = config.option.markexpr
    if not chosen.startswith(("slow", "not slow and not campaign")) or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if chosen.startswith("slow"):
        return True if not any(word in text for word in ("mark.slow", "hypothesis")) else None
    return True if ALL_SLOW.search(text) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The same order in each process, and the longest first, so that nothing waits for them at the end. With all of
    their examples, properties belong to the slow tests."""
    items.sort(key=lambda item: (item.get_closest_marker("longest") is None, item.path.parts))
    if mark := {FULL: pytest.mark.slow, CAMPAIGN: pytest.mark.campaign}.get(settings.get_current_profile_name()):
        for item in items:
            if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
                item.add_marker(mark)


NAME_LENGTH = 26
"""Characters of a test's name in that of its folder: the path of a socket below it must stay short."""

_folder_numbers = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of the test's own, which stays if the test fails. pytest's own fixture leaves a link of each test behind
    and looks through all of them for a free name: a fifth of what a short test costs."""
    name = re.sub(r"\W", "_", request.node.name)[:NAME_LENGTH]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_folder_numbers)}"
    folder.mkdir(mode=0o700)
    failed = request.session.testsfailed
    yield folder
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that does not exist yet."""
    for name in [name for name in os.environ if name.startswith("APPLIANCE_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("APPLIANCE_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def every_field_index() -> Iterator[None]:
    """Indexes that are made have those of all fields, as outside of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard, "_field_indexes", _every_field_index)
        yield


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    """An open memory with a tiny deterministic model and no background work."""
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened
