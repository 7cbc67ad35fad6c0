"""``secrets``, and who sees what it finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Run, document, line, write

PASSWORD = "Tr0ub4dor&3"


@pytest.fixture
def known(run: Run, home: Path, tmp_path: Path) -> Path:
    said = [f"The wifi password is {PASSWORD}", "The ferry leaves at noon."]
    run("ingest", write(tmp_path / "a.jsonl", [line("a", n, text) for n, text in enumerate(said)]), "--no-wait")
    return home


def test_they_are_listed_without_their_words(run: Run, known: Path) -> None:
    result = run("secrets")
    assert result.exit_code == 0 and result.stdout.splitlines()[1].split() == ["m1", "password", "21-32"]
    assert document(run("secrets", "list", "--json")) == {
        "found": [{"message_id": "m1", "kind": "password", "start": 21, "end": 32}]
    }
    scanned = document(run("secrets", "scan", "--json"))
    assert scanned == {"found": [{"message_id": "m1", "kind": "password", "start": 21, "end": 32}], "scanned": 2}
    assert "Scanned 2 messages: 1 secret." in run("secrets", "scan").stderr
    assert PASSWORD not in run("secrets", "scan").output + result.output


def test_they_are_shown_on_request_only(run: Run, known: Path) -> None:
    for command in (("show", "m1"), ("show", "a"), ("search", "wifi password", "--mode", "lexical")):
        assert PASSWORD not in run(*command).output and "•" * len(PASSWORD) in run(*command).stdout, command
        assert PASSWORD not in run(*command, "--json").output
        assert PASSWORD in run(*command, "--reveal").stdout
    assert PASSWORD not in run("context", "wifi password").output
    assert PASSWORD in run("export", "-").stdout
    assert PASSWORD not in run("export", "-", "--mask-secrets").stdout


def test_a_correction_keeps_what_the_message_has(run: Run, known: Path) -> None:
    run("correct", "m1", f"The new wifi password is {PASSWORD}!")
    assert f"{PASSWORD}!" in run("show", "m1", "--reveal").stdout


def test_the_policy_is_shown_and_set(run: Run, known: Path, tmp_path: Path) -> None:
    assert document(run("secrets", "policy", "--json")) == {"policy": "mask", "origin": "default"}
    config = known / "config.toml"
    config.write_text('# mine\nuser = "me"\n\n[search]\nlimit = 5\n')
    assert run("secrets", "policy", "keep").exit_code == 0
    assert PASSWORD in run("show", "m1").stdout and PASSWORD in run("context", "wifi password").stdout
    assert run("secrets", "policy", "drop").exit_code == 0
    assert config.read_text() == '# mine\nuser = "me"\n\n[search]\nlimit = 5\n\n[secrets]\npolicy = "drop"\n'
    assert document(run("secrets", "policy", "--json")) == {"policy": "drop", "origin": str(config)}
    run("add", f"Another password is {PASSWORD}")
    assert "[secret: password]" in run("show", "m3", "--reveal").stdout
    assert run("secrets", "policy", "hide").exit_code == 2
    config.write_text('[secrets]\n# as it was\npolicy = "mask" # now\n[search]\nlimit = 5\n')
    run("secrets", "policy", "keep")
    assert config.read_text() == '[secrets]\n# as it was\npolicy = "keep"\n[search]\nlimit = 5\n'


def test_an_ingest_can_drop_them(run: Run, home: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [line("a", 1, f"The wifi password is {PASSWORD}")])
    assert run("ingest", file, "--no-wait", "--policy", "drop").exit_code == 0
    assert "[secret: password]" in run("show", "m1", "--reveal").stdout
    assert run("ingest", file, "--policy", "hide").exit_code == 2
