"""``core``: the blocks of core memory on the command line."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from cli_runs import CLEAR_SCREEN, Run, document, environment

from appliance.cli import core


def test_a_block_is_set_shown_listed_and_deleted(run: Run, home: Path) -> None:
    assert "persona written: 15 of 2,000 characters" in run("core", "set", "Persona", "Answer briefly.").stdout
    assert run("core", "show", "persona").stdout == "Answer briefly.\n"
    run("core", "append", "persona", f"No emoji. {CLEAR_SCREEN}")
    listed = run("core")
    assert listed.stdout.startswith("persona  ") and "revision 2" in listed.stdout and "\x1b" not in listed.stdout
    (block,) = document(run("core", "list", "--json"))["blocks"]
    assert block["label"] == "persona" and block["changed_by"] == "person"
    assert "Answer briefly." in run("context", "anything", "--budget", "300").stdout
    history = run("core", "history", "persona").stdout
    assert history.index("revision 1") < history.index("revision 2")
    run("core", "revert", "persona", "1")
    assert run("core", "show", "persona").stdout == "Answer briefly.\n"
    assert run("core", "delete", "persona").exit_code == 0
    assert "Core memory is empty" in run("core").stderr


def test_what_is_not_given_stays(run: Run, home: Path) -> None:
    run("core", "set", "person", "Has a cat.", "--limit", "300", "--read-only")
    run("core", "set", "person", "--description", "Who it is")
    (block,) = document(run("core", "--json"))["blocks"]
    assert (block["value"], block["limit"], block["read_only"], block["description"]) == (
        "Has a cat.", 300, True, "Who it is",
    )  # fmt: skip
    assert "read-only" in run("core").stdout
    assert not document(run("core", "set", "person", "--writable", "--json"))["block"]["read_only"]
    nothing = run("core", "set", "person")
    assert nothing.exit_code == 2 and "nothing to set" in nothing.stderr


def test_mistakes_are_named(run: Run, home: Path) -> None:
    run("core", "set", "person", "Has a cat.", "--limit", "10")
    long = run("core", "append", "person", "And a dog.")
    assert long.exit_code == 2 and "its limit is 10" in long.stderr
    assert run("core", "show", "boat").exit_code == 4
    assert run("core", "set", "two words", "x").exit_code == 2
    assert "needs a terminal" in run("core", "edit", "person").stderr


def editor(path: Path, *lines: str) -> str:
    """A command that edits a file as these lines of Python do, in which ``text`` is what it has."""
    body = ["import sys, pathlib", "file = pathlib.Path(sys.argv[1])", "text = file.read_text('utf-8')", *lines]
    path.write_text("\n".join(body), encoding="utf-8")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


@pytest.mark.slow
def test_a_block_is_edited_in_an_editor(run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("core", "set", "person", "Has a cat.")
    monkeypatch.setattr(core, "_has_terminal", lambda: True)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path / "dog.py", "file.write_text(text.replace('cat', 'dog'), 'utf-8')"))
    assert "person written" in run("core", "edit", "Person").stdout
    assert run("core", "show", "person").stdout == "Has a dog.\n"
    assert "Nothing was changed" in run("core", "edit", "person").stderr
    monkeypatch.setenv("EDITOR", editor(tmp_path / "fails.py", "sys.exit(3)"))
    failed = run("core", "edit", "person")
    assert failed.exit_code == 2 and "exit code 3" in failed.stderr
    monkeypatch.setenv("EDITOR", str(tmp_path / "nowhere"))
    assert "can't be started" in run("core", "edit", "person").stderr
    late = [
        "from appliance import Appliance",
        f"with Appliance.open({str(home)!r}, worker=False) as memory:",
        "    memory.core.append('person', 'Has a canary.', by='assistant')",
        "file.write_text('Has a dog and a cat.', 'utf-8')",
    ]
    monkeypatch.setenv("EDITOR", editor(tmp_path / "late.py", *late))
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    refused = run("core", "edit", "person")
    assert refused.exit_code == 2 and "has revision 3, not 2" in refused.stderr
    assert run("core", "show", "person").stdout == "Has a dog.\nHas a canary.\n"


@pytest.mark.slow
def test_a_block_says_what_is_forgotten_and_is_forgotten_itself(run: Run, home: Path) -> None:
    run("add", "The spare keys are with Mrs. Aydin")
    run("core", "set", "person", "Has a cat.\nSpare keys: Mrs. Aydin.")
    tried = run("forget", "m1", "--dry-run")
    assert "block core:person: Spare keys: Mrs. Aydin." in tried.stderr and "with-echoes" in tried.stderr
    shape = document(run("forget", "m1", "--with-echoes", "--dry-run", "--json"))["would_forget"]
    assert shape["blocks"] == [{"id": "core:person", "texts": ["Spare keys: Mrs. Aydin."]}]
    assert shape["echoes"][0]["snippet"] == "Spare keys: Mrs. Aydin." and shape["echoes"][0]["message_id"] is None
    erased = run("forget", "m1", "--with-echoes", "--yes")
    assert "1 block of core memory" in erased.stdout and "none found" in erased.stdout
    assert run("core", "show", "person").stdout == "Has a cat.\n"
    assert "core:person: the whole block" in run("forget", "core:person", "--dry-run").stdout
    assert run("forget", "core:person", "--yes").exit_code == 0
    assert "Core memory is empty" in run("core").stderr
    assert document(run("forget", "--receipts", "--json"))["receipts"][0]["blocks"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "written", ["file.write_text('words ' * 9_000, 'utf-8')", "file.write_bytes(b'words ' * 9_000 + b'\\xff')"]
)
def test_what_was_written_and_can_t_be_stored_is_kept(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    run("core", "set", "person", "Has a cat.")
    monkeypatch.setattr(core, "_has_terminal", lambda: True)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path / "long.py", written))
    failed = run("core", "edit", "person")
    assert failed.exit_code == 2
    (kept,) = (Path(word.removesuffix(".")) for word in failed.stderr.split() if word.endswith(".txt."))
    assert b"words words" in kept.read_bytes()
    kept.unlink()
    assert run("core", "show", "person").stdout == "Has a cat.\n"
