"""What only a process of its own shows: rights, streams, pipes, signals, locks, terminals, imports."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_runs import ROOT, Process, command, environment, line, write

from appliance import cli
from appliance.cli.app import run as command_line
from appliance.transports import owner_process
from tests import forked_programs
from tests.waits import PATIENCE, until

HEAVY = {
    "numpy",
    "onnxruntime",
    "tokenizers",
    "qdrant_edge",
    "qdrant_client",
    "rich",
    "appliance.engine.engine",
    "appliance.client",
    "tiktoken",
}


@pytest.mark.slow
def test_all_that_ingest_makes_is_private(process: Process, home: Path, chats: Path) -> None:
    done = process("ingest", chats, umask=0)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in home.rglob("*")}
    assert {"recall.db", "lock", "vectors", "index", "models"} <= names
    for path in [home, *home.rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


@pytest.mark.slow
def test_streams_are_apart(process: Process, kept: Path) -> None:
    done = process("search", "hotel", "--json")
    assert json.loads(done.stdout)["hits"]
    assert b"hits" in done.stderr
    failed = process("show", "s99", "--json")
    assert failed.returncode == 4
    assert json.loads(failed.stdout)["error"]["hint"]
    assert failed.stderr.startswith(b"error: ")


@pytest.mark.slow
def test_output_does_not_depend_on_the_locale(process: Process, kept: Path) -> None:
    shown = forked_programs.run(
        command("search", "picture", "-k", "1"), capture_output=True, timeout=60, check=False, cwd=ROOT,
        env=environment(PYTHONIOENCODING="ascii"),
    )  # fmt: skip
    assert shown.returncode == 0
    assert b"\\u241b[2J" in shown.stdout


@pytest.mark.slow
@pytest.mark.parametrize("verb", [["export", "-"], ["show", "s1"], ["search", "the", "--json"], ["--help"]])
def test_a_reader_that_has_enough_ends_it_quietly(kept: Path, verb: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = forked_programs.run(
        command(*verb), stdout=writer, stderr=subprocess.PIPE, env=environment(), cwd=ROOT, timeout=60, check=False
    )
    os.close(writer)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"error" not in done.stderr


@pytest.mark.slow
def test_a_full_disk_is_no_bug(kept: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = forked_programs.run(
            command("export", "-"), stdout=full, stderr=subprocess.PIPE, env=environment(), cwd=ROOT, timeout=60,
            check=False,
        )  # fmt: skip
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr


def committed(home: Path) -> int:
    """How many messages another process has committed so far."""
    try:
        with closing(sqlite3.connect(f"file:{home / 'recall.db'}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM message").fetchone()[0])
    except sqlite3.OperationalError:  # not there yet, or without its tables
        return 0


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_committed(home: Path, tmp_path: Path, process: Process) -> None:
    words = "river stone house garden train ticket server cache queue lamp winter bread cheese"
    big = write(tmp_path / "big.jsonl", [line(f"s{i // 50}", i % 25, f"{words} {i}") for i in range(30_000)])
    running = forked_programs.Popen(
        command("ingest", big), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT
    )
    until(lambda: committed(home) or running.poll() is not None, "a commit")
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    assert stdout == b""
    assert b"Everything committed so far is kept" in stderr
    assert b"Traceback" not in stderr
    counts = json.loads(process("status", "--json").stdout)["counts"]
    assert 0 < counts["messages"] < 30_000


@contextmanager
def held(home: Path) -> Iterator[int]:
    """Another process has the home open."""
    script = (
        "import sys; from appliance.engine.engine import Engine\n"
        "with Engine.open(sys.argv[1], worker=False, purpose='a long ingest'):\n"
        "    print('open', flush=True); sys.stdin.read()\n"
    )
    other = forked_programs.Popen(
        [sys.executable, "-c", script, str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), cwd=ROOT,
    )  # fmt: skip
    assert other.stdin and other.stdout
    try:
        assert other.stdout.readline() == b"open\n"
        yield other.pid
    finally:
        other.stdin.close()
        other.wait(timeout=PATIENCE)
        other.stdout.close()


@pytest.mark.slow
def test_a_home_whose_owner_answers_nobody_is_refused_naming_who(process: Process, kept: Path, chats: Path) -> None:
    with held(kept) as pid:
        for verb in (["status", "--json"], ["search", "x", "--json"], ["ingest", str(chats), "--json"]):
            refused = process(*verb)
            assert refused.returncode == 3
            error = json.loads(refused.stdout)["error"]
            assert error["type"] == "HomeLocked"
            assert f"'a long ingest' (process {pid})" in error["message"]
        assert process("path").returncode == 0
        assert process("version").returncode == 0


@pytest.mark.parametrize(
    "verb", ["status", "search x", "context x", "sessions", "show s1", "verify", "reindex", "export -"]
)
def test_a_missing_home_is_refused_and_not_made(home: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(verb.split()) == 3
    refused = capsys.readouterr().err
    assert str(home) in refused
    assert "appliance ingest" in refused
    assert not home.exists()


def test_a_file_that_is_no_database_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    (home / "recall.db").write_bytes(os.urandom(9000))
    assert command_line(["status", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "StoreCorrupt"


def test_a_home_that_is_a_file_is_refused(home: Path, chats: Path) -> None:
    home.touch()
    assert command_line(["ingest", str(chats)]) == 3


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_process(process: Process, home: Path) -> None:
    refused = process("status", "--json")
    assert refused.returncode == 3
    assert json.loads(refused.stdout)["error"]["where"] == str(home)
    assert not home.exists()


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    script = (
        "import sys; from appliance.cli import main; code = main(sys.argv[1:])\n"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True, env=environment(), cwd=ROOT, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_search_loads_no_facts_no_summaries_and_no_parsers(
    home: Path, chats: Path, process: Process, mode: str
) -> None:
    assert process("ingest", chats).returncode == 0
    found = loaded("search", "ferry", "--mode", mode)
    assert "appliance.retrieval.pipeline" in found
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "appliance").rglob("*.py")}
    for unused in (
        "memory.facts",
        "memory.summar",
        "memory.compaction",
        "formats",
        "engine.erasure",
        "transports.daemon",
    ):
        assert [name for name in modules if name.startswith(f"appliance.{unused}")], "a name from before a rename"
        assert not [name for name in found if name.startswith(f"appliance.{unused}")]


@pytest.mark.slow
@pytest.mark.parametrize("verb", [["--help"], ["search", "--help"], ["version"], ["path"], ["--version"]])
def test_nothing_heavy_is_loaded_before_it_is_used(home: Path, verb: list[str]) -> None:
    assert not HEAVY & loaded(*verb)


def terminal(*arguments: str, **variables: str) -> str:
    """What a verb shows on a terminal of 80 columns, both streams together."""
    controller, end = pty.openpty()
    running = forked_programs.Popen(
        command(*arguments), stdin=end, stdout=end, stderr=end, cwd=ROOT,
        env=environment(TERM="xterm-256color", COLUMNS="80", LINES="24", **variables),
    )  # fmt: skip
    os.close(end)
    shown = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            data = os.read(controller, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(controller)
    assert running.wait(timeout=PATIENCE) == 0, shown
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_on_a_terminal_it_is_drawn(filled: Path, chats: Path) -> None:
    coloured = terminal("search", "QX-4471", "-k", "1", "--explain")
    assert "\x1b[1;36mLisbon" in coloured
    assert "█" in coloured
    assert "─" in terminal("sessions")
    assert "reading" in terminal("ingest", str(chats))
    shown = terminal("show", "trip")
    assert "␛[2J" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.slow
def test_no_color_is_honoured(kept: Path) -> None:
    plain = terminal("search", "QX-4471", "-k", "1", NO_COLOR="1")
    assert "Lisbon" in plain
    assert not any(f"3{colour}m" in plain for colour in range(1, 8))


@pytest.mark.parametrize(
    ("arguments", "is_terminal", "starts"),
    [
        (["tui", "--user", "ana"], True, True),
        (["tui"], False, False),
        (["tui", "--help"], True, False),
        (["tui", "--serve"], True, False),
        (["search", "tui"], True, False),
        ([], True, False),
    ],
)
def test_a_screen_alone_has_its_memory_opened_before_the_verbs_are_loaded(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], is_terminal: bool, starts: bool
) -> None:
    started: list[str] = []
    monkeypatch.setattr(owner_process, "started_early", lambda purpose: nullcontext(started.append(purpose)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: is_terminal))
    with cli._beginning(arguments):
        assert started == (["appliance tui"] if starts else [])


@pytest.mark.slow
def test_a_daemon_says_its_address_at_once_into_a_pipe(home: Path) -> None:
    arguments = command("serve", "--port", "0", "--home", home)
    with forked_programs.Popen(arguments, env=environment(), stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        try:
            assert daemon.stdout.readline().startswith("http://127.0.0.1:")
        finally:
            daemon.terminate()
