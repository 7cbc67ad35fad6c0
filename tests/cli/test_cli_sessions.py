"""``sessions`` and its verbs."""

from __future__ import annotations

import os
import pty
from pathlib import Path

import pytest
from cli_runs import Process, Run, document


def test_sessions_lists_a_users(run: Run, kept: Path) -> None:
    result = run("sessions")
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["ID", "TITLE", "SOURCE", "MESSAGES", "LAST"]
    assert [row.split()[1] for row in rows] == ["Soup", "Lisbon"]
    assert "Ana's own" in run("sessions", "--user", "ana").stdout
    assert len(document(run("sessions", "-k", "1", "--json"))["sessions"]) == 1


def test_a_user_without_sessions_is_told_so(run: Run, kept: Path) -> None:
    result = run("sessions", "--user", "nobody")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No conversations match for user 'nobody'." in result.stderr


def test_sessions_new_begins_one(run: Run, home: Path) -> None:
    assert run("sessions", "new", "Garden plans", "--id", "garden").stdout == "s1 Garden plans\n"
    session = document(run("sessions", "new", "Attic", "--json", "--user", "ana"))["session"]
    assert (session["title"], session["user_id"]) == ("Attic", "ana")
    assert run("sessions", "new", "x", "--id", "").exit_code == 2


def test_options_before_a_verbs_verb_count_for_it(run: Run, home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert "session" in document(run("sessions", "--home", elsewhere, "--json", "new", "There"))
    assert elsewhere.is_dir()
    assert not home.exists()


def test_sessions_are_filtered_and_paged(run: Run, kept: Path) -> None:
    def listed(*options: str) -> list[str]:
        return [info["title"] for info in document(run("sessions", "--json", *options))["sessions"]]

    assert listed("--sort", "title") == ["Lisbon", "Soup"]
    assert listed("--sort", "messages", "--reverse") == ["Lisbon", "Soup"]
    assert listed("--title", "soup") == listed("--since", "2026-02-06") == ["Soup"]
    assert listed("--until", "2026-02-05") == ["Lisbon"]
    assert listed("--source", "local") == listed("--meta", "a=b") == listed("--pinned") == []
    first = document(run("sessions", "--json", "-k", "1"))
    assert listed("-k", "1", "--after", first["next"]) == ["Lisbon"]
    assert "--after" in run("sessions", "-k", "1").stderr
    for wrong in (("--sort", "beauty"), ("--meta", "a"), ("--after", "x"), ("--since", "soon")):
        assert run("sessions", *wrong).exit_code == 2


def test_a_session_is_begun_with_what_is_said_of_it(run: Run, home: Path) -> None:
    info = document(run("sessions", "new", "--ttl", "7d", "--scope", "none", "--meta", "a=b", "--agent", "x", "--json"))
    assert info["session"]["ttl"] == 7 * 86_400 and info["session"]["storage_scope"] == "none"
    assert info["session"]["agents"] == ["x"] and info["session"]["metadata"] == {"a": "b"}
    assert "Plant the beans" in run("add", "Plant the beans in May", "--session", "s1").stdout
    for wrong in (("--ttl", "soon"), ("--scope", "some"), ("--meta", "=")):
        assert run("sessions", "new", "x", *wrong).exit_code == 2


def test_a_session_is_resumed_renamed_pinned_and_branched(run: Run, filled: Path) -> None:
    assert run("sessions", "resume").exit_code == 4, "nothing was begun here by this user"
    shown = run("sessions", "resume", "trip")
    assert shown.stdout.startswith("Lisbon\n") and "reservation QX-4471" in shown.stdout
    assert run("sessions", "rename", "trip", "Lisbon in May").stdout == "s1 Lisbon in May\n"
    assert document(run("sessions", "pin", "s1", "--json"))["session"]["pinned"] is True
    assert document(run("sessions", "unpin", "s1", "--json"))["session"]["pinned"] is False
    result = run("sessions", "branch", "s1", "--at", "trip-2")
    assert result.stdout == "s4 Lisbon in May (branch)\n" and "shares 2 messages, up to m2" in result.stderr
    run("add", "no hotel at all", "--session", "s4")
    assert [m["text"] for m in document(run("show", "s4", "--json"))["messages"]][1:] == [
        "Did you book the hotel?",
        "no hotel at all",
    ]
    assert "branch of s1 at m2" in run("show", "s4").stdout
    assert document(run("sessions", "resume", "--json"))["session"]["id"] == "s4"
    for wrong, code in ((("branch", "s1", "--at", "m5"), 2), (("branch", "s9"), 4), (("rename", "s1", " "), 2)):
        assert run("sessions", *wrong).exit_code == code
    assert run("sessions", "rename", "s1", "x", "--user", "ana").exit_code == 4


@pytest.mark.parametrize("verb", ["clear", "delete"])
def test_what_is_removed_is_said_and_asked(run: Run, filled: Path, verb: str) -> None:
    asked = run("sessions", verb, "trip")
    assert asked.exit_code == 2 and "4 messages of s1 (Lisbon)" in asked.stderr and "--yes" in asked.stderr
    planned = document(run("sessions", verb, "trip", "--dry-run", "--json"))
    assert planned["removed"] == {"messages": 4, "kept": 0, "heir": None} and planned["dry_run"]
    assert len(document(run("show", "trip", "--json"))["messages"]) == 4
    assert run("sessions", verb, "trip", "--yes").stdout == "removed 4 messages of s1 (Lisbon)\n"
    left = run("show", "trip", "--json")
    assert (left.exit_code == 4) if verb == "delete" else document(left)["messages"] == []
    assert "QX-4471" not in run("search", "reservation QX-4471", "--json").stdout.split('"hits"')[1]
    assert run("verify").exit_code == 0
    assert document(run("status", "--json"))["counts"]["pending"] == 0


def test_what_a_branch_needs_stays(run: Run, filled: Path) -> None:
    run("sessions", "branch", "trip", "--at", "m3")
    result = run("sessions", "delete", "trip", "--yes")
    assert result.stdout == "removed 1 message of s1 (Lisbon)\n"
    assert "3 messages remain as the beginning of s4" in result.stderr
    assert len(document(run("show", "s4", "--json"))["messages"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("said", "code"), [(b"y\n", 0), (b"n\n", 130)])
@pytest.mark.skipif(os.name != "posix", reason="there are no terminals like this")
def test_on_a_terminal_a_person_is_asked(process: Process, filled: Path, said: bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, said)
        ended = process("sessions", "delete", "trip", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.returncode == code
    assert b"4 messages of s1 (Lisbon)" in ended.stderr and (b"removed" in ended.stdout) == (code == 0)


def test_a_session_gives_what_it_is_told_to(run: Run, filled: Path) -> None:
    result = run("sessions", "scope", "trip", "none", "--no-auto-recall")
    assert "Not shared with other conversations; does not recall" in result.stderr
    assert not document(run("search", "reservation", "--json"))["found"]
    within = document(run("search", "reservation", "--session", "trip", "--json"))["hits"]
    assert within[0]["text"].startswith("The blue one")
    assert document(run("sessions", "scope", "trip", "all", "--json"))["session"]["options"] == {"auto_recall": False}
    assert document(run("search", "reservation", "--json"))["hits"][0]["text"].startswith("The blue one")
    limited = document(run("sessions", "scope", "trip", "--recall-limit", "5", "--min-score", "0.5", "--json"))
    assert limited["session"]["options"] == {"auto_recall": False, "recall_limit": 5, "min_score": 0.5}
    assert run("sessions", "scope", "trip", "--recall-limit", "-1").exit_code == 2
    assert run("sessions", "scope", "trip", "some").exit_code == 2


def test_a_private_conversation_gets_contexts_and_leaves_nothing(run: Run, filled: Path) -> None:
    said = "I am Quetzalcoatl, what is the reservation?\nassistant: It is QX-4471\n\nand who am I?\n"
    result = run("sessions", "private", "--budget", "300", input=said)
    assert result.exit_code == 0, result.output
    first, _, second = result.stdout.partition("and who am I?")[0].partition("assistant] It is QX-4471")
    assert "reservation QX-4471" in first and second.strip().endswith("user]")
    contexts = document(run("sessions", "private", "--json", "--budget", "300", input=said))["contexts"]
    assert [context["query"] for context in contexts] == said.replace("assistant: It is QX-4471\n\n", "").split("\n")[
        :2
    ]
    assert all(context["tokens"] <= 300 for context in contexts)
    for path in filled.rglob("*"):
        assert not path.is_file() or b"Quetzalcoatl" not in path.read_bytes()
    bad = run("sessions", "private", input=b"\xff\xfe\n")
    assert bad.exit_code == 1 and "line 1" in bad.stderr


def test_every_verb_shows_how(run: Run) -> None:
    for verb in ("new", "resume", "rename", "branch", "clear", "delete", "pin", "unpin", "scope", "private"):
        shown = run("sessions", verb, "--help").stdout
        assert "Examples:" in shown and "--home" in shown and "--json" in shown, verb
        assert f"appliance sessions {verb}" in shown
