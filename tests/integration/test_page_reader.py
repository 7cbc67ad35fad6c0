"""Large documents are read in a process of their own: the same comes in as without one, whatever happens to it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from appliance import Appliance
from appliance.ingest import page_frames, page_reader
from appliance.types import IngestReport
from appliance_models import HashEmbedder
from tests.bench import material
from tests.parse.long_documents import LONG
from tests.waits import PATIENCE, until

pytestmark = pytest.mark.slow

CUT_BYTES = 30_000

FIXTURES = Path(__file__).parents[1] / "parse" / "fixtures"


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "MIN_BYTES", 0)
    monkeypatch.setattr(page_reader, "processors", lambda: 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that have been started."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type, call-overload]
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


@pytest.fixture
def chatgpt(tmp_path: Path) -> Path:
    return material.write_chatgpt(tmp_path / "conversations.json", material.texts()[0], 1.0)


@pytest.fixture(params=[5, pytest.param(2, marks=pytest.mark.campaign)])
def exports(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a zip and documents of every fifth format, in a campaign of every second, cut off in the middle."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for name, data in islice(LONG.items(), 0, None, request.param):
        (folder / name).write_bytes(data[:CUT_BYTES])
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.write(FIXTURES / "chatgpt.json", "conversations.json")
        archive.writestr("notes/readme.txt", "nothing of a chat")
    return folder


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "MIN_BYTES", sys.maxsize)


def format_of(path: Path) -> str | None:
    return path.name if path.name in LONG else None


def without_time(report: IngestReport) -> IngestReport:
    return replace(report, seconds=0.0)


@pytest.mark.longest
def test_what_comes_in_is_the_same(
    exports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    with opened(tmp_path / "beside") as memory:
        reports = [memory.ingest(path, wait=False, format=format_of(path)) for path in sorted(exports.iterdir())]
        lines, marks = list(memory.export()), memory.secrets.list()
        assert not memory.verify().problems
    assert len(started) >= len(reports) - 1 and sum(report.total("new") for report in reports) > 1_000
    assert any(not report.complete for report in reports)
    assert all(process.returncode is not None for process in started)
    here(monkeypatch)
    with opened(tmp_path / "here") as memory:
        for path, report in zip(sorted(exports.iterdir()), reports, strict=True):
            assert without_time(memory.ingest(path, wait=False, format=format_of(path))) == without_time(report)
        assert list(memory.export()) == lines
        assert memory.secrets.list() == marks


def test_it_is_recognised_when_it_is_read_again(chatgpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "home") as memory:
        first = memory.ingest(chatgpt, wait=False)
        here(monkeypatch)
        again = memory.ingest(chatgpt, wait=False)
        assert first.total("new") == again.total("duplicates") > 100 and not again.total("new")


def test_secrets_are_dropped_before_they_are_stored(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    line = {"session_id": "s", "role": "user", "content": "my password is Tr0ub4dor&3"}
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with opened(tmp_path / "home") as memory:
        memory.ingest(path, secrets="drop")
        (stored,) = memory.export()
        assert started and "Tr0ub4dor" not in stored["content"] and "password" in stored["content"]


def test_without_a_process_it_is_read_here(chatgpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "home") as memory:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
        assert memory.ingest(chatgpt, wait=False).total("new") > 100
        monkeypatch.setattr(sys, "executable", shutil.which("false"))
        report = memory.ingest(chatgpt, wait=False)
        assert report.complete and report.total("duplicates") > 100


def test_a_process_that_is_killed_leaves_what_was_stored(
    chatgpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setattr(page_reader, "READ_AHEAD_BYTES", 1)
    count = itertools.count()
    decode = page_frames.decode

    def decode_and_kill(data: bytes) -> page_frames.Frame:
        if next(count) == 3:
            started[0].kill()
            started[0].wait()
        return decode(data)

    monkeypatch.setattr(page_frames, "decode", decode_and_kill)
    with opened(tmp_path / "home") as memory:
        report = memory.ingest(chatgpt, wait=False)
        (file,) = report.files
        assert file.status == "partial" and 0 < file.messages == report.total("new")
        assert "its process has ended with code -9" in file.errors[0].message
        assert file.errors[0].where.startswith("after message ")
        assert not memory.verify().problems
        monkeypatch.setattr(page_frames, "decode", decode)
        again = memory.ingest(chatgpt, wait=False)
        assert again.complete and again.total("duplicates") == file.messages and again.total("new") > 0


def test_who_stops_stops_the_process(
    chatgpt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    def interrupt(path: str, messages: int) -> None:
        raise KeyboardInterrupt

    with opened(tmp_path / "home") as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.ingest(chatgpt, wait=False, on_file=interrupt)
        assert [process.returncode is not None for process in started] == [True]
        assert memory.status()["counts"]["messages"] > 0, "what was committed stays"


def test_the_process_is_a_bounded_number_of_bytes_ahead(chatgpt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reader, "READ_AHEAD_BYTES", 1_000)
    plan = page_frames.ReadingPlan(str(chatgpt), str(chatgpt), str(chatgpt), True, None, None, False)
    with page_reader._Reader(plan) as reader:
        assert isinstance(reader.next(), page_frames.FormatFrame)
        until(lambda: reader._bytes >= 1_000)
        assert len(reader._frames) == 1, "the next page is not taken before this one is"
        frames = list(iter(reader.next, page_frames.EndFrame()))
        assert len(frames) > 5 and all(isinstance(frame, page_frames.Page) for frame in frames)


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_the_process_ends_with_the_program(chatgpt: Path) -> None:
    plan = page_frames.ReadingPlan(str(chatgpt), str(chatgpt), str(chatgpt), True, None, None, False)
    command = [sys.executable, "-m", "appliance.engine.page_worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(msgspec.json.encode(plan) + b"\n")
        process.stdin.flush()
        assert page_frames.read(process.stdout), "it works, and waits because nothing is taken from it"
        process.stdin.close()
        assert process.wait(PATIENCE) == 1
