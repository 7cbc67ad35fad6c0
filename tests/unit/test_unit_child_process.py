"""How the program starts its own processes, with Python beside it or frozen."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from appliance.runtime import child_process

ROOT = Path(__file__).resolve().parents[2]


def test_the_modules_that_run_as_processes_are_listed() -> None:
    guarded = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "appliance").rglob("*.py")
        if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }
    assert guarded - {"appliance.__main__"} == child_process.MODULES


def test_a_frozen_program_is_the_program_of_its_own_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "appliance.formats.document_worker"
    assert child_process.command_for(module, "a") == [sys.executable, "-P", "-m", module, "a"]
    assert child_process.program_command("tui") == [sys.executable, "-P", "-m", "appliance", "tui"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert child_process.command_for(module, "a") == [sys.executable, "-m", module, "a"]
    assert child_process.program_command("tui") == [sys.executable, "tui"]


def test_it_runs_its_own_modules_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(runpy, "run_module", lambda name, **_: ran.append(name))
    monkeypatch.setattr(sys, "argv", ["appliance"])
    for arguments in ([], ["-m"], ["-m", "this"], ["search", "-m"], ["appliance.formats.document_worker"]):
        assert not child_process.run_module_if_asked(arguments)
    assert child_process.run_module_if_asked(["-m", "appliance.formats.document_worker", "a"])
    assert ran == ["appliance.formats.document_worker"] and sys.argv == [*ran, "a"]
