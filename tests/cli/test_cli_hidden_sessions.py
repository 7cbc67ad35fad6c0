"""The list of conversations: those of tools, systems and subagents alone stand in it only if they are asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.cli_runs import Run, document

PARENT, AGENT = "0000000a-1111-4222-8333-444444444444", "0000000b-1111-4222-8333-444444444444"


def entry(uuid: str, role: str, text: str, **more: object) -> dict[str, object]:
    return {
        "type": role, "uuid": uuid, "sessionId": PARENT, "timestamp": "2026-01-05T08:00:00Z",
        "message": {"role": role, "content": text},
    } | more  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    said = [entry("1", "user", "Look for the leak in the boat"), entry("2", "assistant", "It is at the bow")]
    apart = [
        entry("3", "user", "Look at the bow", isSidechain=True, agentId="a1"),
        entry("4", "assistant", "Water comes in", isSidechain=True, agentId="a1", parentUuid="3"),
    ]
    (folder / f"{PARENT}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said))
    (folder / "agent-a1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in apart))
    system = {"session_id": "sys", "message_id": "x", "role": "system", "content": "SYSTEM-ONLY-TEXT"}
    (folder / "system.jsonl").write_text(json.dumps(system) + "\n")
    return folder


def test_sessions_without_an_open_message_are_left_out_and_counted(run: Run, logs: Path) -> None:
    run("ingest", logs, "--no-wait")
    listed = run("sessions")
    assert "leak in the boat" in listed.stdout
    assert "subagent" not in listed.stdout and "sys" not in listed.stdout
    assert "2 sessions have no message that a person or an assistant said openly; --all lists" in listed.stderr
    lines = run("sessions", "--all").stdout.splitlines()
    parent = next(number for number, line in enumerate(lines) if "leak in the boat" in line)
    assert "subagent: " in lines[parent + 1], "below the session that has started it"
    assert len(document(run("sessions", "--all", "--json"))["sessions"]) == 3
    assert len(document(run("sessions", "--json"))["sessions"]) == 1
    counted = run("stats")
    assert "3 messages of tools, systems and subagents are not counted" in counted.stderr
    assert "2 messages\n" in counted.stderr
    assert "not counted" not in run("stats", "--role", "system").stderr
    assert "SYSTEM-ONLY-TEXT" in run("export", "-").stdout, "every character is kept"


@pytest.mark.slow
def test_a_session_without_messages_is_listed(run: Run) -> None:
    run("sessions", "new", "Garden plans")
    assert "Garden plans" in run("sessions").stdout


@pytest.mark.slow
def test_what_discover_is_to_watch_must_exist(run: Run, tmp_path: Path) -> None:
    result = run("discover", "--watch", tmp_path / "nope", "--seconds", "0")
    assert result.exit_code == 4
    assert f"'{tmp_path / 'nope'}' is neither a path that exists nor the name of a program" in result.stderr
