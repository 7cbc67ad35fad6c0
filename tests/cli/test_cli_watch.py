"""``watch``: the verb that reads folders by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from cli_runs import ROOT, TRIP, Run, command, document, environment, write

from appliance.cli.watch import Narrator
from appliance.types import FileReport, InputProblem
from tests import forked_programs
from tests.waits import PATIENCE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    write(made / "trip.jsonl", TRIP)
    (made / "notes.txt").write_text("milk, bread")
    return made


def test_once_reads_and_ends(run: Run, folder: Path) -> None:
    done = run("watch", folder, "--once")
    assert done.exit_code == 0
    read = [line for line in done.stdout.splitlines() if line.startswith("ok  ")]
    assert len(read) == 1 and read[0].endswith("/trip.jsonl  native  4 new, 0 updated, 0 known")
    assert "skipped  " in done.stdout and "notes.txt: not recognised" in done.stdout.replace("\n ", "")
    assert run("watch", folder, "--once").stdout == ""
    shown = run("status").stdout
    assert "watched files  1 read, 1 skipped\n" in shown
    assert run("search", "hotel").exit_code == 0


def test_what_is_watched_is_listed_added_and_removed(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("watch", "lst")
    assert refused.exit_code == 2 and "'watch list'" in refused.stderr
    run("watch", "add", folder)
    assert "already" in run("watch", "add", folder).stderr
    inbox, added = document(run("watch", "list", "--json"))["watched"]
    assert inbox["why"] == "inbox" and added["path"] == str(folder) and not added["is_followed"]
    (folder / "half.jsonl").write_text('{"session_id": "a", "role": "user", "content": "x"}\nbroken')
    run("watch", "--once")
    (_, added) = document(run("watch", "list", "--json"))["watched"]
    assert added["files"] == {"partial": 1, "read": 1, "skipped": 1} and added["problems"] == 1 and added["read_at"]
    assert "No watcher runs" in run("watch", "list").stderr
    wrong = run("watch", "remove", tmp_path / "other")
    assert wrong.exit_code == 4 and f"watch.folders has {folder}." in wrong.stderr
    assert "Not in watch.folders" in run("watch", "remove", folder, tmp_path / "other").stderr
    assert "The inbox is always watched" in run("watch", "remove", inbox["path"]).stderr


@pytest.mark.slow
def test_it_says_that_forgotten_messages_were_skipped(run: Run, folder: Path) -> None:
    run("ingest", folder / "trip.jsonl", "--no-wait")
    run("forget", "trip", "--yes")
    with (folder / "trip.jsonl").open("a") as file:
        file.write("\n")
    assert "trip.jsonl\n  skipped 4 messages that had been forgotten" in run("watch", folder, "--once").stderr


def test_notes_are_said_once_a_file_while_they_stay_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    narrator, note = Narrator(), InputProblem("", "skipped 4 messages")
    for new in range(2):
        narrator.say(FileReport("a.jsonl", "native", "ok", 1, 4, new, notes=(note,)), with_problems=True)
    told = capsys.readouterr()
    assert told.out.count("a.jsonl") == 2 and told.err == "  skipped 4 messages\n"


@pytest.mark.slow
def test_once_as_json_is_one_document(run: Run, folder: Path) -> None:
    files = document(run("watch", folder, "--once", "--json"))["files"]
    # The file that was written first may have settled first.
    assert sorted((Path(file["path"]).name, file["status"], file["new"]) for file in files) == [
        ("notes.txt", "skipped", 0),
        ("trip.jsonl", "ok", 4),
    ]
    assert document(run("status", "--json"))["files"] == {
        "queued": 0, "read": 1, "partial": 0, "skipped": 1, "failed": 0, "gone": 0, "troubles": [], "unfinished": [],
    }  # fmt: skip


@pytest.mark.slow
def test_what_fails_is_told_by_the_exit_code_and_by_status(run: Run, folder: Path) -> None:
    with (folder / "trip.jsonl").open("a") as file:
        file.write("{broken\n")
    done = run("watch", folder, "--once")
    assert done.exit_code == 1 and "line 5" in done.stderr
    shown = run("status").stdout
    assert "1 partial" in shown and f"{folder}/trip.jsonl: line 5" in shown


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    done = run("watch", tmp_path / "gone", "--once")
    assert done.exit_code != 0 and "There is no such folder" in done.stderr


def test_a_folder_that_may_not_be_read(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    for arguments in ((folder, "--once"), ("add", folder)):
        done = run("watch", *arguments)
        assert done.exit_code == 3 and f"{folder}: It can't be read: permission denied." in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_reads_what_lands_until_it_is_told_to_end(folder: Path, number: signal.Signals) -> None:
    process = forked_programs.Popen(
        command("watch", folder, "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(APPLIANCE_WATCH_SETTLE="0.1"),
    )
    assert process.stdout is not None and process.stderr is not None
    with process.stdout as said, process.stderr as told:
        assert "Ctrl-C" in told.readline()
        first = [json.loads(said.readline()) for _ in range(2)]
        assert {Path(file["path"]).name for file in first} == {"notes.txt", "trip.jsonl"}
        later = [{**line, "session_id": "later"} for line in TRIP]
        write(folder / "later.part", later).replace(folder / "later.jsonl")
        assert json.loads(said.readline())["new"] == 4
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert said.read() == "" and told.read() == ""
