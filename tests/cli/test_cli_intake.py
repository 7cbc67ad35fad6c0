"""``ingest`` and ``add``."""

from __future__ import annotations

import json
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cli_runs import TRIP, Run, document, line, write

from appliance import Appliance
from appliance.cli import import_report
from appliance.cli import ingest as ingest_verbs
from appliance.cli.ingest import EMPTY_HINT
from appliance.errors import DiskFull, ModelUnavailable
from appliance.formats import FORMATS
from appliance.ingest import pipeline
from appliance_models import HashEmbedder

FILE_KEYS = ["path", "format", "status", "conversations", "messages", "new", "updated", "duplicates",
             "documents", "pages", "kept", "errors", "notes", "read_with"]  # fmt: skip
TOTAL_KEYS = ["conversations", "messages", "new", "updated", "duplicates", "documents", "pages", "kept",
              "chunks", "embedded", "pending"]  # fmt: skip


def test_ingest_tells_what_it_did(run: Run, chats: Path) -> None:
    result = run("ingest", chats)
    assert result.exit_code == 0, result.output
    assert "9 messages in 2 conversations: 9 new, 0 updated, 0 already known" in result.stdout
    assert chats.name in result.stdout
    again = run("ingest", chats)
    assert "0 new, 0 updated, 9 already known" in again.stdout


def test_a_conversation_in_two_files_counts_for_each(run: Run, chats: Path) -> None:
    (chats.parent / "again.jsonl").write_bytes(chats.read_bytes())
    done = run("ingest", chats, chats.parent / "again.jsonl", "--no-wait")
    assert "in 4 conversations" in done.stdout
    assert "counts once for each: the memory has 2 in all" in done.stderr.replace("\n", " ")


def test_conversations_that_were_forgotten_are_not_said_to_be_in_several_files(run: Run, chats: Path) -> None:
    one = write(chats.parent / "one.jsonl", [line("alone", 1, "The heron stands in the pond")])
    run("ingest", chats, one, "--no-wait")
    run("forget", "trip", "--yes")
    for files in ([chats], [chats, one]):
        again = run("ingest", *files, "--no-wait")
        assert "skipped 4 messages that had been forgotten" in again.stderr and "0 new" in again.stdout
        assert "several files" not in again.stderr.replace("\n", " ")
    (chats.parent / "again.jsonl").write_bytes(chats.read_bytes())
    both = run("ingest", chats, chats.parent / "again.jsonl", one, "--no-wait").stderr.replace("\n", " ")
    assert "counts once for each: the memory has 2 in all" in both


def test_where_no_message_was_stored_none_can_be_searched(run: Run, chats: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for nothing in (tmp_path / "empty", write(tmp_path / "unknown.bin", [])):
        told = run("ingest", nothing).stdout
        assert "0 messages in 0 conversations" in told and "\nno message was stored; " in told
    run("ingest", chats)
    run("forget", "--everything", "--yes")
    told = run("ingest", chats).stdout
    assert "9 messages in 2 conversations: 0 new, 0 updated, 0 already known\nno message was stored; " in told


def test_ingest_prints_the_contracts_shape(run: Run, chats: Path) -> None:
    report = document(run("ingest", chats, "--json"))
    assert list(report) == ["files", "totals", "seconds", "pending_reason", "stopped"]
    (file,) = report["files"]
    assert list(file) == FILE_KEYS
    assert file["path"] == str(chats)
    assert (file["format"], file["status"], file["new"], file["errors"]) == ("native", "ok", 9, [])
    assert list(report["totals"]) == TOTAL_KEYS
    assert report["totals"]["embedded"] == report["totals"]["chunks"] > 0
    assert report["totals"]["pending"] == 0


def test_a_dry_run_begins_no_memory(run: Run, chats: Path, home: Path) -> None:
    result = run("ingest", chats, "--dry-run")
    assert result.exit_code == 0
    assert "9 would be new" in result.stdout
    assert not home.exists()


def test_a_dry_run_adds_nothing_to_a_memory(run: Run, filled: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.jsonl", [*TRIP, line("trip", 9, "One more")])
    totals = document(run("ingest", more, "--dry-run", "--json"))["totals"]
    assert (totals["new"], totals["duplicates"]) == (1, 4)
    assert document(run("status", "--json"))["counts"]["messages"] == 10


def test_without_waiting_words_are_found_and_pending_is_left(run: Run, chats: Path) -> None:
    result = run("ingest", chats, "--no-wait")
    assert "reindex --pending" in result.stderr
    report = document(run("status", "--json"))
    assert report["counts"]["pending"] == 9
    assert run("reindex", "--pending").exit_code == 0
    assert document(run("status", "--json"))["counts"]["pending"] == 0


def test_the_seconds_are_those_that_the_person_waited(run: Run, chats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    took: dict[str, float] = {}

    def timed(name: str) -> None:
        verb = getattr(Appliance, name)

        def measured(*arguments: Any, **more: Any) -> Any:
            began = time.perf_counter()
            result = verb(*arguments, **more)
            took[name] = time.perf_counter() - began
            return result

        monkeypatch.setattr(Appliance, name, measured)

    for name in ("ingest", "run_pending_jobs", "close"):
        timed(name)
    assert document(run("ingest", chats, "--json"))["seconds"] >= sum(took.values()) and len(took) == 3
    monkeypatch.setattr(import_report, "MIN_NAMED_SECONDS", 0.0)
    said = " ".join(run("ingest", chats, "--again").stdout.split())
    assert re.search(r"; \d+\.\d s, \d+\.\d s of it for summaries and facts$", said)


def test_an_import_without_news_does_not_wait_for_what_was_left(
    run: Run, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", chats, "--no-wait")
    due = document(run("status", "--json"))["summaries"]["due"]
    assert due > 0
    monkeypatch.setattr(ingest_verbs, "MAX_LEFTOVER_SECONDS", 0.0)
    said = run("ingest", chats).stderr
    assert f"{due} conversation" in said and "'appliance summaries make'" in said
    monkeypatch.undo()
    assert "summaries make" not in run("ingest", chats).stderr
    assert document(run("summaries", "list", "--json"))


def test_what_fails_is_named_with_its_place_and_the_rest_is_kept(run: Run, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text(json.dumps(TRIP[0]) + "\n" + '{"session_id": 7}\n' + json.dumps(TRIP[1]) + "\n")
    missing = tmp_path / "missing.zip"
    result = run("ingest", damaged, missing)
    assert result.exit_code == 1
    assert f"partial: {damaged}" in result.stderr
    assert "line 2" in result.stderr
    assert f"failed: {missing}" in result.stderr
    assert "2 of 2 files failed or could be read only in part" in result.stderr
    assert "2 messages in 1 conversation: 2 new" in result.stdout


def test_what_is_no_chat_in_a_zip_is_not_called_missing(run: Run, chats: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as file:
        file.write(chats, "chats.jsonl")
        file.writestr("users.json", '[{"id": "U1"}]')
    result = run("ingest", tmp_path / "export.zip")
    assert result.exit_code == 0 and "does not exist" not in result.output and "failed" not in result.output


def test_a_missing_file_is_named_in_one_line(run: Run, tmp_path: Path) -> None:
    result = run("ingest", tmp_path / "gone.zip")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"{tmp_path}/gone.zip does not exist; nothing was imported.", EMPTY_HINT]
    assert document(run("ingest", tmp_path / "gone.zip", "--json"))["files"][0]["status"] == "failed"


def test_failures_are_in_the_document_too(run: Run, tmp_path: Path) -> None:
    noise = tmp_path / "noise.json"
    noise.write_bytes(bytes(range(256)) * 8)
    result = run("ingest", noise, "--json")
    assert result.exit_code == 1
    (file,) = document(result)["files"]
    assert file["status"] == "failed"
    assert set(file["errors"][0]) == {"where", "message"}


def test_many_damaged_places_are_summed_up(run: Run, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text(json.dumps(TRIP[0]) + "\n" + "{}\n" * 50)
    result = run("ingest", damaged)
    assert result.exit_code == 1
    assert result.stderr.count("  line ") == 1
    assert "  line 2, line 3, line 4 and 47 more: " in result.stderr
    assert len(document(run("ingest", damaged, "--json"))["files"][0]["errors"]) == 50


def test_a_folder_may_hold_other_things(run: Run, tmp_path: Path, chats: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    result = run("ingest", tmp_path)
    assert result.exit_code == 0
    assert "  photo.jpg: a media file\n" in result.stdout


def test_help_lists_the_formats(run: Run) -> None:
    text = " ".join(run("ingest", "--help").stdout.split())
    listed = text.partition("The formats are ")[2].partition(". ")[0].replace(" and ", ", ").split(", ")
    assert listed == list(FORMATS)


@pytest.mark.parametrize("command", ["ingest", "watch", "watch add", "serve", "export", "backup", "sources dismiss"])
def test_an_empty_path_is_not_the_present_folder(run: Run, command: str) -> None:
    result = run(*command.split(), "")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: The path is empty.")


def test_ingest_refuses_an_unknown_format(run: Run, chats: Path) -> None:
    result = run("ingest", chats, "--format", "carrier-pigeon")
    assert result.exit_code == 2
    assert "native" in result.stderr


def test_add_begins_notes_and_finds_them_again(run: Run, home: Path) -> None:
    assert "m1 added to notes (s1)" in run("add", "My deadline is March 15th", "--pin").stdout
    assert "m2 added to notes (s1)" in run("add", "The talk is on Friday").stdout
    assert document(run("status", "--json"))["health"] == "ok"
    assert "deadline" in run("search", "when is it due", "-k", "1").stdout
    assert "[pinned]" in run("show", "m1").stdout


def test_a_note_is_not_found_by_the_words_of_the_next(run: Run, home: Path) -> None:
    for note in ("The blue key opens the cellar", "Aunt Emma likes tulips"):
        assert run("add", note).exit_code == 0
    assert document(run("sessions", "--json"))["sessions"][0]["options"] == {"independent": True}
    found = document(run("search", "tulips", "--mode", "lexical", "--json"))
    assert [hit["text"] for hit in found["hits"]] == ["Aunt Emma likes tulips"]


def test_add_prints_the_message(run: Run, home: Path) -> None:
    message = document(run("add", "Hi", "--role", "assistant", "--author", "Bo", "--session", "x", "--json"))
    assert list(message) == ["message"]
    assert message["message"]["text"] == "Hi"
    assert (message["message"]["role"], message["message"]["author"]) == ("assistant", "Bo")


@pytest.mark.parametrize("reference", ["s1", "trip"])
def test_add_reaches_a_session_by_id_and_external_id(run: Run, filled: Path, reference: str) -> None:
    expected = document(run("show", reference, "--json"))["session"]["id"]
    assert document(run("add", "See you", "--session", reference, "--json"))["message"]["session_id"] == expected


def test_add_never_writes_into_another_users_session(run: Run, filled: Path) -> None:
    mine = document(run("add", "mine", "--json"))["message"]["session_id"]
    others = document(run("add", "hers", "--user", "ana", "--json"))["message"]["session_id"]
    assert mine != others
    result = run("add", "oops", "--user", "ana", "--session", mine)
    assert result.exit_code == 4
    assert "User 'ana' has no session" in result.stderr


def test_add_reads_stdin_whole(run: Run, home: Path) -> None:
    text = "first line\n\n  third, with a tab\t and é\n"
    added = document(run("add", "-", "--json", input=text))
    assert added["message"]["text"] == text.removesuffix("\n")


def test_add_refuses_what_is_no_text(run: Run, home: Path) -> None:
    assert run("add", "").exit_code == 2
    result = run("add", "-", input=b"\xff\xfe\xff")
    assert result.exit_code == 1
    assert "stdin: Not UTF-8 text at byte 0" in result.stderr


@pytest.mark.parametrize(
    "failure", [DiskFull("The disk is full."), ModelUnavailable("The model can't be run."), RuntimeError("it broke")]
)
def test_what_was_added_is_no_error_when_it_can_t_be_embedded(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    run("add", "the first")

    def fail(*arguments: object, **options: object) -> int:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr("appliance.engine.index_service.IndexService.drain", fail)
        added = run("add", "the key hangs behind the clock")
        in_json = run("add", "the other key", "--json")
    assert added.exit_code == in_json.exit_code == 0
    assert added.stdout == "m2 added to notes (s1); stored, waiting for its vector\n"
    assert added.stderr.startswith(f"note: {failure}") and "error" not in added.stderr
    assert document(in_json)["message"]["id"] == "m3" and "waiting for its vector" in in_json.stderr
    assert (
        document(run("status", "--json"))["counts"] | {"messages": 3, "pending": 2}
        == document(run("status", "--json"))["counts"]
    )


def test_what_waits_behind_an_import_is_said(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.engine.index_service.MAX_CATCH_UP_CHUNKS", 0)
    added = run("add", "the key hangs behind the clock")
    assert added.exit_code == 0 and added.stdout.endswith("stored, waiting for its vector\n")
    assert "1 chunk waits" in added.stderr and "reindex --pending" in added.stderr


def test_a_full_disk_leaves_a_report_of_what_was_read(
    run: Run, home: Path, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> int:
        raise DiskFull("The disk has no room to create the index.", where=str(home / "index"))

    with monkeypatch.context() as patch:
        patch.setattr("appliance.engine.index_service.IndexService._drain_rounds", refuse)
        result = run("ingest", chats)
    assert result.exit_code == 1 and "9 messages in 2 conversations: 9 new" in result.stdout
    told = result.stderr[result.stderr.index("error: ") :]
    assert told.startswith("error: All messages are stored and can be found by their words. ")
    assert "no room to create the index" in told and "reindex --pending" in told


def test_a_disk_that_fills_while_files_are_read_names_where_it_ended(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [write(tmp_path / f"{name}.jsonl", [line(name, 1, f"hello from {name}")]) for name in ("a", "b", "c")]
    store = pipeline.store

    def fill(batch: Any, source: Any, *rest: Any) -> None:
        if source.name.endswith("b.jsonl"):
            raise DiskFull("The disk is full.", where=str(home))
        store(batch, source, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "store", fill)
        result = run("ingest", *files)
    assert result.exit_code == 1 and "1 message in 1 conversation: 1 new" in result.stdout
    assert "error: No further file was read: " in result.stderr and "then ingest again" in result.stderr
    assert document(run("ingest", *files, "--json"))["totals"]["new"] == 2


@pytest.mark.slow
def test_status_names_a_full_disk_and_counts_files_that_were_not_read(
    run: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drop").mkdir()
    broken = tmp_path / "drop" / "broken.jsonl"
    broken.write_text('{"session_id": "s", "role": "user", "content": "fine"}\n{"session_id": "s", "role"')
    run("watch", tmp_path / "drop", "--once")
    shape = document(run("status", "--json"))
    assert shape["health"].startswith("1 file was not read completely") and shape["files"]["troubles"]
    told = run("sources", "problems").stdout
    assert "The memory keeps 1 message in 1 conversation from it." in told and f"'appliance ingest {broken}'" in told
    broken.unlink()
    assert document(run("status", "--json"))["health"] == "ok"
    assert "not read completely is not there any more" in run("status").stdout
    assert "in part, gone" in run("sources").stdout and "no longer counted" in run("sources", "problems").stdout
    assert run("sources", "dismiss", broken).exit_code == 0 and run("sources", "dismiss", broken).exit_code == 4
    assert (
        "not read completely" not in run("status").stdout and "dismissed" in run("sources", "problems", "--all").stdout
    )
    monkeypatch.setattr("appliance.memory.status.free_bytes", lambda folder: 1_200_000)
    assert f"the disk of {filled} is full: 1.2 MB are free" in run("status").stdout


def test_the_memory_itself_is_not_imported(run: Run, kept: Path) -> None:
    for path in (kept, kept / "recall.db", kept / "."):
        result = run("ingest", path, "--dry-run")
        assert result.exit_code == 2 and "That is the memory itself" in result.stderr


@pytest.mark.slow
def test_an_import_that_was_broken_off_is_named_resumed_or_given_up(
    run: Run, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = pipeline.store, [True]

    def store_and_break(*arguments: Any) -> None:
        real(*arguments)
        if broken:
            broken.pop()
            raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "store", store_and_break)
    assert run("ingest", chats, "--user", "ana").exit_code == 130
    status = run("status")
    assert "broken off: 'appliance ingest --resume' reads the rest" in status.stdout
    assert f"{chats}: the import was broken off" in status.stdout
    assert "'appliance ingest --resume' reads the rest" in run("sources", "problems").stdout
    assert [one["user_id"] for one in document(run("status", "--json"))["files"]["unfinished"]] == ["ana"]
    assert run("ingest", "--resume", chats).exit_code == run("ingest", "--no-resume", "--user", "ana").exit_code == 2
    assert run("ingest").exit_code == 2

    report = document(run("ingest", "--resume", "--json"))
    assert [Path(file["path"]).name for file in report["files"]] == [chats.name]
    assert report["totals"]["duplicates"] and not document(run("search", "soup", "--json"))["hits"], "they are ana's"
    assert "No import was broken off." in run("ingest", "--resume").stderr
    assert document(run("ingest", "--resume", "--json"))["files"] == []

    broken.append(True)
    more = write(tmp_path / "more.jsonl", [line("more", 1, "One more")])
    run("ingest", more)
    assert "What was read of it stays." in run("ingest", "--no-resume").stdout
    assert document(run("ingest", "--no-resume", "--json")) == {"given_up": []}
    assert "broken off" not in run("status").stdout


def test_what_is_being_read_or_was_broken_off_is_among_the_problems(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in "ab":
        write(folder / f"{name}.jsonl", [line(name, 1, f"Something of {name}")])
    seen: list[str] = []

    def look_and_stop(path: str, messages: int) -> None:
        seen.append(run("sources", "problems").stderr)
        assert run("sources", "dismiss", folder).exit_code == 2
        raise KeyboardInterrupt

    with Appliance.open(home, embedder=HashEmbedder()) as memory, pytest.raises(KeyboardInterrupt):
        memory.ingest(folder, on_file=look_and_stop)
    assert f"{folder} is being read, since " in seen[0].replace("\n", " ") and "no import was broken off" in seen[0]
    told = run("sources", "problems")
    assert f"{folder}\n  The import was broken off (" in told.stdout and "The memory keeps 1 message in" in told.stdout
    assert f"'appliance ingest {folder}' reads the rest; 'appliance sources dismiss {folder}'" in told.stdout
    assert told.stderr == "" and "1 import was broken off" in run("sources").stderr
    (begun,) = document(run("sources", "problems", "--json"))["broken_off"]
    assert (begun["path"], begun["is_running"]) == (str(folder), False)

    part = run("sources", "dismiss", folder / "b.jsonl")
    assert part.exit_code == 2 and f"dismiss {folder}' gives all of it up" in part.stderr.replace("\n", " ")
    assert f"gave up the import of {folder}" in run("sources", "dismiss", folder).stdout
    assert run("sources", "dismiss", folder).exit_code == 4
    assert "no import was broken off" in run("sources", "problems").stderr.replace("\n", " ")
