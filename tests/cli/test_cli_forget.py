"""``forget``: says what would go, asks, and gives a receipt."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from cli_runs import Run, document, line, write

from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

HOTEL = "QX-4471"


def test_a_dry_run_changes_nothing(run: Run, kept: Path) -> None:
    told = document(run("forget", "--query", HOTEL, "--dry-run", "--json"))["would_forget"]
    assert len(told["messages"]) == 1 and told["sessions"] == [] and told["formats"] == {"native": 1}
    assert "would erase 1 message (" in run("forget", "trip", "--query", HOTEL, "--dry-run").stdout
    assert HOTEL in run("export", "-").stdout


def test_an_empty_condition_does_not_widen_what_is_erased(run: Run, kept: Path) -> None:
    result = run("forget", "--query", HOTEL, "--author", "", "--yes")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: --author is empty; nothing was erased.")
    assert HOTEL in run("export", "-").stdout


def test_a_dry_run_shows_what_would_go_and_where_the_words_stand(run: Run, filled: Path) -> None:
    shown = run("forget", "--query", "Ben", "--dry-run")
    lines = [line for line in shown.stdout.splitlines() if line.startswith("  m")]
    assert len(lines) == 2 and all("Ben: " in line and "(found in: authors)" in line for line in lines)
    assert "note: The words stand in: authors (2 messages). Not in: text, " in shown.stderr
    told = document(run("forget", "--query", "Ben", "--dry-run", "--json"))["would_forget"]
    assert [item["message_id"] for item in told["items"]] == told["messages"]
    assert {item["text"] for item in told["items"]} > {"Did you book the hotel?"}
    assert all(item["found_in"] == ["authors"] and item["timestamp"] for item in told["items"])


def test_a_fact_that_no_message_says_is_counted_where_it_stands(run: Run, filled: Path) -> None:
    run("facts", "add", "Nobby lives in Xanthorp")
    shown = run("forget", "--query", "xanthorp", "--dry-run")
    assert "would erase 0 messages (0 characters), 1 fact" in shown.stdout
    assert "note: The words stand in: facts (1 fact). Not in: text, " in shown.stderr
    run("add", "Xanthorp is far away")
    both = run("forget", "--query", "xanthorp", "--dry-run").stderr
    assert "text (1 message), facts (1 fact). Not in: " in both and "facts." not in both


def test_a_long_list_is_cut(run: Run, filled: Path, tmp_path: Path) -> None:
    many = write(tmp_path / "many.jsonl", [line("many", number % 20, f"note {number}", message_id=f"n{number}")
                                           for number in range(25)])  # fmt: skip
    run("ingest", many)
    shown = run("forget", "many", "--dry-run").stdout.splitlines()
    assert len([one for one in shown if one.startswith("  m")]) == 20 and shown[-1] == "  and 5 more"
    assert len(document(run("forget", "many", "--dry-run", "--json"))["would_forget"]["items"]) == 25


@pytest.mark.slow
def test_many_files_are_named_once(run: Run, filled: Path, tmp_path: Path) -> None:
    for number in range(5):
        run("ingest", write(tmp_path / f"{number}.jsonl", [line(f"s{number}", 1, "the purple walrus sings")]))
    said = run("forget", "--query", "purple walrus", "--dry-run").stderr
    assert "note: These 5 files were not changed, and may still contain it:" in said
    assert "  and 2 more; --json lists all" in said and said.count(".jsonl") == 3


def test_without_a_terminal_it_wants_to_be_told_yes(run: Run, filled: Path) -> None:
    refused = run("forget", "trip")
    assert refused.exit_code == 2 and "This would permanently erase 4 messages (" in refused.stderr
    assert "1 whole session" in refused.stderr
    assert HOTEL in run("export", "-").stdout


def test_a_receipt_says_what_went_and_that_no_trace_was_found(run: Run, filled: Path) -> None:
    done = document(run("forget", "trip", "--yes", "--json"))
    receipt = done["receipt"]
    assert (receipt["searched"]["texts"], receipt["searched"]["of"], receipt["traces"]) == (4, 4, [])
    assert done["echoes"] == []
    assert (receipt["messages"], receipt["sessions"], receipt["state"]) == (4, 1, "done")
    assert receipt["proof"]["traces"] == [] and receipt["proof"]["files"] > 1
    assert HOTEL not in run("export", "-").stdout
    assert holding(filled, HOTEL.encode()) == []
    assert document(run("forget", "--receipts", "--json"))["receipts"] == [receipt]
    assert "e1" in run("forget", "--receipts").stdout
    assert document(run("verify", "--json"))["ok"]


def test_a_receipt_says_what_was_not_looked_for(run: Run, filled: Path) -> None:
    said = document(run("add", "ok, thx", "--session", "short", "--json"))["message"]["id"]
    short = run("forget", said, "--yes").stdout
    assert "0 of 1 text; full text for 1 word; files not for 1 text: too short, or too many" in short
    assert "none found" not in short and "in files not looked for" in short
    run("add", "ok, thx", "--session", "both")
    run("add", "The spare key lies under the third flower pot", "--session", "both")
    both = run("forget", "both", "--yes").stdout
    assert "none found of the 1 text looked for; not known of the others" in both


def test_the_next_ingest_leaves_it_out_unless_told(run: Run, filled: Path, chats: Path) -> None:
    run("forget", "--query", HOTEL, "--yes")
    report = document(run("ingest", chats, "--json"))
    assert report["totals"]["new"] == 0
    assert "skipped 1 message that" in report["files"][0]["notes"][0]["message"]
    assert document(run("ingest", chats, "--again", "--json"))["totals"]["new"] == 1


def test_a_markdown_export_brings_nothing_back_and_changes_nothing(run: Run, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    before = run("export", "-").stdout
    run("export", folder / "reading.md")
    text = (folder / "reading.md").read_text()
    (folder / "reading.md").write_text(text.replace(HOTEL, f"edited {HOTEL}"))
    assert document(run("ingest", folder, "--json"))["totals"]["new"] == 0
    assert run("export", "-").stdout == before  # neither an edit of it, nor what it does not say
    run("forget", "--query", HOTEL, "--yes")
    (folder / "earlier.md").write_text(re.sub(r"\n*<!-- \{.*| <!-- \{.*", "", text).replace("format 2", "format 1"))
    report = document(run("ingest", folder, "--json"))
    assert report["totals"]["new"] == 0
    notes = {Path(file["path"]).name: file["notes"][0]["message"] for file in report["files"]}
    assert "skipped 1 message that had been forgotten" in notes["reading.md"]
    assert "a Markdown export of this program" in notes["earlier.md"]
    assert run("ingest", folder / "earlier.md").exit_code == 1


def test_a_deleted_conversation_stays_deleted_unless_told(run: Run, filled: Path, chats: Path) -> None:
    run("sessions", "delete", "trip", "--yes")
    report = document(run("ingest", chats, "--json"))
    assert report["totals"]["new"] == 0
    assert "skipped 4 messages that had been forgotten or deleted" in report["files"][0]["notes"][0]["message"]
    run("add", "We are back", "--session", "trip")
    assert document(run("ingest", chats, "--again", "--json"))["totals"]["new"] == 4
    assert document(run("verify", "--json"))["ok"]


def test_it_needs_something_to_forget(run: Run, kept: Path) -> None:
    assert run("forget", "--yes").exit_code == 2
    assert run("forget", "m99", "--yes").exit_code == 4
    assert run("forget", "--user", "ana", "--query", HOTEL, "--yes").stdout == "nothing to forget\n"
    assert run("forget", "trip", "--user", "ana", "--yes").exit_code == 4


def test_echoes_are_named_without_their_secrets(run: Run, filled: Path) -> None:
    key = "AKIAIOSFODNN7EXAMPLQ"
    said = document(run("add", f"The spare key is {key}, with Mrs. Aydin", "--session", "keys", "--json"))["message"][
        "id"
    ]
    run("add", f"Saved: the spare key is {key}, with Mrs. Aydin", "--session", "keys", "--role", "assistant")
    shown = run("forget", said, "--dry-run", "--json")
    (echo,) = document(shown)["would_forget"]["echoes"]
    assert echo["message_id"] == echo["id"] and "Mrs. Aydin" in echo["snippet"]
    assert "Mrs. Aydin" in shown.stderr and key not in shown.output


def test_a_zip_is_named_by_its_path_and_as_what_still_says_it(run: Run, filled: Path, tmp_path: Path) -> None:
    """The chat of an iPhone is a text in a zip, of which only the zip is a file."""
    zipped = tmp_path / "Discussion WhatsApp - Thomas Vidal.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("_chat.txt", "[12/03/2023 à 21:05:11] Thomas Vidal: le mot de passe est Benhamou\n")
    run("ingest", zipped)
    shown = run("forget", "--source", zipped, "--dry-run")
    assert "would erase 1 message (" in shown.stdout
    assert f"note: The source covers 1 file: {zipped}/_chat.txt." in shown.stderr.replace("\n", " ")
    done = run("forget", "--query", "Benhamou", "--yes", "--json")
    assert document(done)["files"] == [str(zipped)]
    run("ingest", zipped, "--again")
    said = run("forget", "--query", "Benhamou", "--yes").stderr.replace("\n", " ")
    assert f"note: The file {zipped} was not changed, and may still contain it." in said


def test_conversations_that_go_whole_are_named(run: Run, filled: Path, tmp_path: Path) -> None:
    titles = ["Annabelle divorce papers", *(f"Anna {number}" for number in range(12))]
    lines = [line(f"a{at}", at, f"note {at}", session_title=title) for at, title in enumerate(titles)]
    run("ingest", write(tmp_path / "titled.jsonl", lines))
    shown = run("forget", "--title", "Anna", "--dry-run").stdout
    assert "12 whole sessions" in shown and "Annabelle" not in shown
    named = [one for one in shown.splitlines() if re.match(r"    s\d+  Anna \d", one)]
    assert len(named) == 10 and "    and 2 more" in shown
    told = document(run("forget", "--title", "Anna 7", "--dry-run", "--json"))["would_forget"]
    assert list(told["titles"].items()) == [(told["sessions"][0], "Anna 7")]
    refused = run("forget", "--title", "Anna 7")
    assert refused.exit_code == 2 and f"    {told['sessions'][0]}  Anna 7\n" in refused.stderr
    done = run("forget", "--title", "Anna 7", "--yes")
    assert f"    {told['sessions'][0]}  Anna 7\n" in done.stderr and "Anna 7" not in done.stdout
    assert "Annabelle divorce papers" in run("sessions").stdout
