"""``show`` and ``export``."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from cli_runs import Run, document

from appliance.timestamps import iso_from_microseconds, now
from tests.damages import break_text


def test_show_reads_a_session_with_its_marks(run: Run, kept: Path) -> None:
    shown = run("show", "help").stdout
    assert shown.startswith("Soup\n")
    assert "system  2026-02-02 10:00  m5  [hidden]" in shown
    assert "[other branch]" in shown
    assert "web  2026-02-06 10:00  m9  [tool]" in shown
    assert "    Blend some of the vegetables into it.\n" in shown
    assert "[edited, with river.jpg]" in run("show", "trip").stdout


def test_show_gives_a_session_as_a_document(run: Run, kept: Path) -> None:
    shown = document(run("show", "trip", "--json"))
    assert list(shown) == ["session", "messages", "summary"]
    assert [message["external_id"] for message in shown["messages"]] == ["trip-1", "trip-2", "trip-3", "trip-4"]


def test_show_says_how_often_and_when_a_message_s_like_was_said(run: Run, tmp_path: Path) -> None:
    lines = [
        f'{{"session_id": "s{n}", "role": "user", "content": "How late is it?",'
        f' "timestamp": "20{n:02}-03-01T10:00:00Z"}}'
        for n in range(30, 0, -1)
    ]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run("ingest", str(tmp_path / "asked.jsonl"))
    result = run("show", "m1")
    assert "30 similar messages\n2001-03-01 10:00  m30  s30  user" in result.stdout
    assert "2030-03-01 10:00  m1 " in result.stdout and "2010-" not in result.stdout
    assert "--json lists all" in result.stderr
    found = document(run("show", "m1", "--json"))["variants"]
    assert [message["timestamp"][:4] for message in found] == [f"20{n:02}" for n in range(1, 31)]
    assert document(run("status", "--json"))["counts"]["variants"] == 29


def test_show_puts_a_message_in_its_place(run: Run, kept: Path) -> None:
    shown = run("show", "m2").stdout
    assert "> Ben  2026-02-03 10:00  m2" in shown
    assert "We leave for Lisbon" in shown
    assert "2 of 4 in s1" in shown
    found = document(run("show", "trip-2", "--json"))
    assert list(found) == ["message", "session", "place", "variants", "importance"]
    assert found["place"] == {"position": 2, "of": 4, "before": ["m1"], "after": ["m3", "m4"]}


def test_show_tells_how_important_a_message_is_and_why(run: Run, filled: Path) -> None:
    shown = run("show", "m3").stdout
    (told,) = [line for line in shown.splitlines() if line.startswith("importance")]
    score, parts = told.removeprefix("importance").split(" = ")
    assert 0 < float(score) < 1
    assert sum(float(part.split()[1]) for part in parts.split(" + ")) == pytest.approx(float(score), abs=0.04)
    found = document(run("show", "m3", "--json"))["importance"]
    assert found["pinned"] is False
    assert sum(found["parts"].values()) == pytest.approx(found["score"])
    # Each time that it is shown counts, and is seen the next time.
    assert f"recalled     {found['times'] + 1} times, last " in run("show", "m3").stdout


def test_pin_and_unpin(run: Run, filled: Path) -> None:
    assert run("pin").stdout == ""
    assert run("pin", "m1", "trip-2").stdout == "m1 pinned\nm2 pinned\n"
    assert "[pinned]" in run("show", "m1").stdout
    assert "importance   1.00 = " in run("show", "m1").stdout
    listed = run("pin")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["m2", "m1"]
    assert "2 messages pinned by me" in listed.stderr
    assert [message["id"] for message in document(run("pin", "--json"))["messages"]] == ["m2", "m1"]
    assert run("unpin", "m1").stdout == "m1 unpinned\n"
    assert "m1  [pinned]" not in run("show", "m1").stdout
    assert document(run("unpin", "m2", "--json"))["messages"][0]["pinned"] is False


def test_feedback_changes_the_importance_and_show_says_so(run: Run, filled: Path) -> None:
    before = document(run("show", "m3", "--json"))["importance"]["score"]
    noted = document(run("feedback", "m3", "helpful", "--json"))
    assert (noted["message_id"], noted["kind"]) == ("m3", "helpful")
    assert noted["importance"]["score"] > before
    assert run("feedback", "trip-2", "used").stdout.startswith("m2 used: importance 0.")
    run("feedback", "m3", "wrong")
    assert "feedback     helpful (1), wrong (1); it counts as wrong" in run("show", "m3").stdout
    assert "feedback -0." in run("show", "m3").stdout
    assert document(run("show", "m3", "--json"))["importance"]["score"] < before
    again = run("feedback", "m3", "wrong")
    assert again.stdout.startswith("m3 wrong: importance 0.") and again.stdout.endswith(", as before\n")
    assert "helpful (1), wrong (2); it counts as wrong" in again.stderr
    assert run("feedback", "m3", "wrong", "--undo").stdout.startswith("m3 still wrong: importance 0.")
    assert run("feedback", "m3", "wrong", "--undo").stdout.startswith("m3 no longer wrong: importance 0.")
    assert "feedback     helpful (1); it counts as helpful" in run("show", "m3").stdout
    assert run("feedback", "m3", "wrong", "--undo").exit_code == 4


def test_feedback_on_nothing_or_of_no_kind_says_what_there_is(run: Run, filled: Path) -> None:
    missing = run("feedback", "m99", "used")
    assert missing.exit_code == 4 and "no message 'm99'" in missing.stderr
    wrong = run("feedback", "m1", "good")
    assert wrong.exit_code == 2 and "helpful, used, wrong, outdated" in wrong.stderr


def test_pinning_what_is_not_there_names_it_and_pins_the_others(run: Run, filled: Path) -> None:
    result = run("pin", "m99", "m1")
    assert (result.exit_code, result.stdout) == (4, "m1 pinned\n")
    assert "no message 'm99'" in result.stderr
    missing = document(run("pin", "m99", "--json"))
    assert (missing["messages"], len(missing["missing"])) == ([], 1)
    assert run("unpin").exit_code == 2


def test_a_message_is_corrected_and_an_older_export_does_not_undo_it(run: Run, filled: Path, chats: Path) -> None:
    old = document(run("show", "trip-3", "--json"))["message"]
    assert run("correct", "trip-3", "The green one, reservation ZZ-9000").stdout == f"{old['id']} corrected\n"
    new = document(run("show", "trip-3", "--json"))["message"]
    corrected = {"corrected": new["metadata"]["corrected"]}
    assert new == {**old, "text": "The green one, reservation ZZ-9000", "metadata": old["metadata"] | corrected}
    assert document(run("ingest", chats, "--json"))["totals"]["updated"] == 0
    assert run("search", "ZZ-9000").stdout.count("ZZ-9000") == 1
    assert "QX-4471" not in run("search", "QX-4471", "--mode", "lexical").stdout
    assert document(run("verify", "--json"))["ok"]


def test_a_correction_is_marked_and_the_original_can_be_read(run: Run, filled: Path) -> None:
    run("correct", "trip-3", "The green one, reservation ZZ-9000")
    mark = f"corrected by you on {iso_from_microseconds(now())[:10]}"
    assert mark in run("show", "trip-3").stdout and mark in run("search", "green reservation").stdout
    (hit,) = document(run("search", "ZZ-9000", "-k", "1", "--json"))["hits"]
    assert hit["corrected"].startswith(mark[-10:])
    assert f"Ana, {mark.replace('by you on ', '')}] The green one" in run("context", "reservation ZZ-9000").stdout
    shown = run("show", "trip-3", "--versions").stdout
    assert "version 1" in shown and "The blue one near the river, reservation QX-4471" in shown and mark in shown
    told = document(run("show", "trip-3", "--versions", "--json"))
    assert [one["text"] for one in told["versions"]] == ["The blue one near the river, reservation QX-4471"]
    assert "never changed" in run("show", "trip-1", "--versions").stderr
    assert run("show", "trip", "--versions").exit_code == 2


def test_somebody_elses_message_is_not_corrected(run: Run, filled: Path) -> None:
    assert run("correct", "trip-3", "no", "--user", "ana").exit_code == 4
    assert run("correct", "trip-3", " ").exit_code == 2
    assert run("correct", "m99", "no").exit_code == 4


@pytest.mark.parametrize("reference", ["s99", "m99", "no-such-id"])
def test_show_of_what_is_not_there(run: Run, kept: Path, reference: str) -> None:
    result = run("show", reference, "--json")
    assert result.exit_code == 4
    error = document(result)["error"]
    assert list(error) == ["type", "message", "where", "hint"]
    assert error["type"] == "NotFound"


def test_export_writes_a_private_file_that_can_be_ingested(run: Run, kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("an older one")
    refused = run("export", target, "--user", "me")
    assert refused.exit_code == 2 and "--force" in refused.stderr and target.read_text() == "an older one"
    result = run("export", target, "--user", "me", "--force")
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    lines = [json.loads(each) for each in target.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 9
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    again = document(run("ingest", target, "--home", tmp_path / "second", "--json"))
    assert again["totals"]["new"] == 9


def test_export_to_stdout_is_the_data_alone(run: Run, kept: Path) -> None:
    result = run("export", "-")
    assert len([json.loads(each) for each in result.stdout.splitlines()]) == 10
    assert result.stderr == ""
    assert run("export", "-", "--format", "markdown").stdout.startswith("<!-- conversations exported")


def test_export_reports_a_file_as_a_document(run: Run, kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    report = document(run("export", target, "--format", "markdown", "--json"))
    assert report == {"path": str(target), "bytes": target.stat().st_size, "format": "markdown"}


def test_export_follows_a_link(run: Run, kept: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.touch()
    link.symlink_to(target)
    run("export", link, "--force")
    assert link.is_symlink()
    assert target.stat().st_size > 0


@pytest.mark.parametrize(
    "arguments", [["-", "--json"], ["x", "--format", "carving"], ["."], ["/dev/null"], ["no/such/folder/x"]]
)
def test_export_refuses_what_can_not_be(run: Run, kept: Path, arguments: list[str]) -> None:
    assert run("export", *arguments).exit_code == 2


def test_export_leaves_nothing_out_and_names_what_is_damaged(run: Run, filled: Path, tmp_path: Path) -> None:
    break_text(filled, "reservation QX-4471", b"reservation Q\xff\xfe4471")
    for format in ("jsonl", "markdown"):
        result = run("export", tmp_path / format, "--format", format, "--json")
        assert result.exit_code == 1
        assert "m3" in document(result)["damaged"] and "m3 (the stored bytes of text are damaged)" in result.stderr
        assert "QX" not in result.stderr
        assert "reservation Q\ufffd\ufffd4471" in (tmp_path / format).read_text(encoding="utf-8")
        assert "the cellar key" in (tmp_path / format).read_text(encoding="utf-8").lower()
    result = run("export", "-")
    assert result.exit_code == 1 and len(result.stdout.splitlines()) == 10 and "m3" in result.stderr
    assert "m3" in run("status").stdout
    result = run("verify", "--json")
    assert result.exit_code == 3
    assert [problem["where"] for problem in document(result)["problems"]].count("m3") == 1
