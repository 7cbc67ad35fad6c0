"""The program in terminals that are small, slow, pasted into, stopped and killed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from pathlib import Path

import pytest
from pseudo_terminal import ROOT, pseudo_terminal
from screens import talk
from test_tui_terminal import Terminal

from appliance import Appliance
from tests.tested_program import PROGRAM

pytestmark = pytest.mark.slow


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    with Appliance.open(home) as memory:
        memory.ingest(talk(tmp_path / "talk.jsonl"))
    return home


@pytest.mark.parametrize(
    "size", [(60, 20), *(pytest.param(size, marks=pytest.mark.campaign) for size in ((80, 24), (200, 60)))]
)
def test_it_searches_reads_and_quits_at_every_size(filled: Path, size: tuple[int, int]) -> None:
    with pseudo_terminal(filled, size=size) as terminal:
        terminal.until("Recall")
        terminal.type("walnuts")
        terminal.until("allergic to")
        terminal.type("\r")
        terminal.until("Bake it at 230")
        terminal.type("\x11")
        assert terminal.process.wait(60) == 0
        assert b"\x1b[?1049l" in terminal.sent


def test_a_paste_of_a_megabyte_is_taken_and_leaves_the_screen_alive(filled: Path) -> None:
    with pseudo_terminal(filled) as terminal:
        terminal.until("9 messages")
        start = len(terminal.sent)
        terminal.type("\x1b[200~" + "ferry to Brodgar " * 62_000 + "\x1b[201~")
        terminal.until("Brodgar", start)
        terminal.type("\x15")  # to the start of the line
        terminal.type("walnuts")
        terminal.until("allergic to", start)


def test_a_slow_line_gets_it_all(filled: Path) -> None:
    with pseudo_terminal(filled, read_size=400, pause=0.01) as terminal:
        terminal.until("9 messages")
        terminal.type("walnuts")
        terminal.until("allergic to")
        terminal.type("\r")
        terminal.until("Bake it at 230")


def test_a_killed_program_leaves_a_terminal_that_can_be_used(filled: Path) -> None:
    with pseudo_terminal(filled) as terminal:
        terminal.until("9 messages")
        start = len(terminal.sent)
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.until_bytes(b"\x1b[?1049l", start)
        terminal.until_bytes(b"\x1b[?1003l", start)
        terminal.until_bytes(b"\x1b[?25h", start)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_it_can_be_suspended_and_continued(filled: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "tmux")
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    try:
        terminal.begin("bash --norc --noprofile -i", PYTHONPATH=paths)
        terminal.text(shlex.join([*PROGRAM, "tui", "--home", str(filled)]))
        terminal.keys("Enter")
        terminal.until("9 messages")
        terminal.text("walnuts")
        terminal.until("allergic to")
        terminal.keys("C-z")
        terminal.until("Stopped")
        terminal.text("echo sum $((6 * 7))")
        terminal.keys("Enter")
        terminal.until("sum 42")
        terminal.text("fg")
        terminal.keys("Enter")
        terminal.until(lambda screen: "allergic to" in screen and "Stopped" not in screen)
        terminal.text(" ferry")
        terminal.until("06:40")
        terminal.keys("C-q")
        terminal.until("Stopped")  # the shell's own lines are back
    finally:
        terminal.end()
