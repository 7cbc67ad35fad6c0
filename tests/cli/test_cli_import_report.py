"""The report of ``ingest`` for people: it fits the width, folds what is equal, and ends with what was lost."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from cli_runs import TRIP, Run, document, write

from appliance.cli.import_report import print_report, shorten_path
from appliance.cli.output import cell_width
from appliance.report_groups import folded, outcome_of, quiet_groups
from appliance.types import FileReport, IngestReport, InputProblem

DAY = [{"type": "message", "user": "U1", "text": "The ferry leaves at nine", "ts": "1700000000.000100"}]
USERS = [{"id": "U1", "name": "ana", "profile": {"real_name": "Ana"}}]


def slack_zip(path: Path, days: int = 1) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("users.json", json.dumps(USERS))
        file.writestr("channels.json", json.dumps([{"id": "C1", "name": "harbour", "members": ["U1"]}]))
        file.writestr("integration_logs.json", json.dumps([{"user_id": "U1", "reason": "added"}]))
        for day in range(1, days + 1):
            record = DAY[0] | {"ts": f"{1_700_000_000 + day * 86_400}.000100", "text": f"Ferry {day}"}
            file.writestr(f"harbour/2023-11-{day:02}.json", json.dumps([record]))
    return path


def open_code(folder: Path, parts: int) -> Path:
    """A storage tree with one session of one message."""
    stamps = {"created": 1_700_000_000_000}
    session = {"id": "ses1", "projectID": "p", "version": "1", "title": "Ferry", "directory": "/x", "time": stamps}
    message = {"id": "msg1", "sessionID": "ses1", "role": "user", "time": stamps}
    tree = {"session/p/ses1.json": session, "message/ses1/msg1.json": message}
    for number in range(parts):
        text = f"Piece {number} of the question"
        part = {"id": f"prt{number}", "messageID": "msg1", "sessionID": "ses1", "type": "text", "text": text}
        tree[f"part/msg1/prt{number}.json"] = part
    for name, value in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    return folder


def report(path: str, status: str = "ok", messages: int = 0, note: str = "", read_with: str = "") -> FileReport:
    notes = (InputProblem("", note, harmless=True),) if note else ()
    return FileReport(path, "native", status, 0, messages, messages, 0, 0, (), notes, read_with=read_with)  # type: ignore[arg-type]


def test_side_files_are_read_with_their_export_and_counted_apart(run: Run, tmp_path: Path) -> None:
    path = slack_zip(tmp_path / "slack.zip")
    result = run("ingest", path, "--dry-run")
    assert "Read with other files: 2 files\n  channels.json, users.json: read with the Slack export\n" in result.stdout
    assert "Skipped: 1 file\n  integration_logs.json: not recognised" in result.stdout
    files = {file["path"].removeprefix(f"{path}/"): file for file in document(run("ingest", path, "--json"))["files"]}
    assert files["users.json"]["status"] == "ok" and files["integration_logs.json"]["status"] == "skipped"
    assert files["users.json"]["read_with"] == f"{path}/harbour/2023-11-01.json"
    assert files["harbour/2023-11-01.json"]["read_with"] == files["integration_logs.json"]["read_with"] == ""


@pytest.mark.slow
def test_a_known_side_file_is_still_one_when_nothing_is_new(run: Run, tmp_path: Path) -> None:
    path = slack_zip(tmp_path / "slack.zip")
    run("ingest", path)
    assert "Read with other files: 2 files" in run("ingest", path).stdout


def test_parts_that_are_read_with_their_session_are_one_line(run: Run, tmp_path: Path) -> None:
    result = run("ingest", open_code(tmp_path / "opencode", 30), "--dry-run")
    assert "  30 files in part/msg1: read with their messages\n" in result.stdout
    assert "read with its session" in result.stdout
    assert "note" not in result.stderr and len(result.stdout.splitlines()) < 10


@pytest.mark.parametrize(
    "columns", [pytest.param(40, marks=pytest.mark.slow), 80, pytest.param(100, marks=pytest.mark.slow)]
)
def test_the_report_fits_the_width(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    deep = tmp_path / "a folder with a long name" / "and another one that is even longer" / "and one more below it"
    deep.mkdir(parents=True)
    write(deep / f"{'a very long name of a file ' * 5}.jsonl", TRIP)
    write(tmp_path / "海の写真とフェリーの時刻表についての会話の記録.jsonl", TRIP)
    slack_zip(tmp_path / "slack.zip", days=9)
    result = run("ingest", tmp_path, "--dry-run")
    assert max(map(cell_width, result.stdout.splitlines())) <= columns
    assert "…" in result.stdout and ".jsonl" in result.stdout and " 4\n" in result.stdout


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_table_fits_a_terminal_without_breaking_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("appliance.cli.output.is_terminal", lambda stream=None: True)
    names = [f"/x/an export with a long name/and folders/{'long ' * number}/chat {number}.json" for number in range(9)]
    files = [replace(report(name, messages=1_234_567), conversations=1) for name in names]
    print_report(IngestReport(tuple(files), 0, 0, 0, 1.0), dry_run=False)
    rows = [row for row in capsys.readouterr().out.splitlines() if "chat " in row]
    assert len(rows) == 9 and all("1,234,567" in row and ".json" in row for row in rows)
    assert max(map(cell_width, rows)) <= columns


@pytest.mark.slow
def test_many_files_are_rows_of_their_folders(run: Run, tmp_path: Path) -> None:
    path = slack_zip(tmp_path / "slack.zip", days=28)
    write(tmp_path / "trip.jsonl", TRIP)
    for number in range(15):
        write(tmp_path / f"trip {number}.jsonl", TRIP)
    output = run("ingest", tmp_path, "--dry-run").stdout
    assert "slack.zip/harbour (28 files)" in output and "trip 3.jsonl" in output
    assert len(document(run("ingest", path, "--dry-run", "--json"))["files"]) == 31


@pytest.mark.slow
def test_what_failed_stands_last_and_equal_failures_are_one(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "trip.jsonl", TRIP)
    for number in range(5):
        (tmp_path / f"chat {number}.zip").write_bytes(b"PK\x03\x04 cut off")
    result = run("ingest", tmp_path, "--dry-run")
    assert result.exit_code == 1
    *_, head, reason, last = result.stderr.splitlines()
    assert head.startswith("failed: 5 files: ") and head.endswith(" and 2 more")
    assert "the zip is cut off after 12 bytes" in reason and last.startswith("5 of 6 files failed")


def test_a_row_of_an_incomplete_file_stays_its_own() -> None:
    files = [report(f"/x/a/{number}.jsonl", messages=1) for number in range(9)]
    files.append(report("/x/a/bad.jsonl", "partial", 3))
    assert [(name, len(group)) for name, group in folded(files, 4)] == [("/x/a", 9), ("/x/a/bad.jsonl", 1)]
    assert len(folded(files, 10)) == 10


def test_files_of_no_common_folder_are_rows() -> None:
    files = [report("a.jsonl", messages=1), report("/b/c.jsonl", messages=1)]
    assert [name for name, _ in folded(files, 5)] == ["a.jsonl", "/b/c.jsonl"]
    assert folded([], 5) == []


def test_groups_are_of_one_export_each_unless_they_are_many() -> None:
    def skips(exports: int) -> list[FileReport]:
        return [report(f"/x/{n}/{i}.jpg", "skipped", note="a media file") for n in range(exports) for i in range(3)]

    assert [len(group.files) for group in quiet_groups(skips(3))] == [3, 3, 3]
    assert [len(group.files) for group in quiet_groups(skips(50))] == [150]


def test_every_file_is_in_the_table_or_in_a_group() -> None:
    files = [
        report("/x/a", messages=2), report("/x/b", "skipped", note="a cache"), report("/x/c", read_with="/x/a"),
        report("/x/d"), report("/x/e", "failed"), report("/x/f", "partial", 1),
    ]  # fmt: skip
    grouped = [file.path for group in quiet_groups(files) for file in group.files]
    assert sorted(grouped) == ["/x/b", "/x/c", "/x/d"]
    assert [outcome_of(file) for file in files if file.path not in grouped] == ["messages", "failed", "partial"]


@pytest.mark.parametrize(
    ("path", "room", "short"),
    [
        ("a/b.json", 20, "a/b.json"),
        ("export.zip/one/two/three/file.json", 28, "export.zip/…/three/file.json"),
        ("export.zip/one/two/three/file.json", 22, "export.zip/…/file.json"),
        ("export.zip/one/two/three/file.json", 12, "…/file.json"),
        ("/home/ines/Downloads/exports/chat.json", 22, "/home/…/chat.json"),
        ("conversations-of-2024.json", 15, "convers…24.json"),
    ],
)
def test_a_path_is_shortened_in_its_middle(path: str, room: int, short: str) -> None:
    assert shorten_path(path, room) == short
