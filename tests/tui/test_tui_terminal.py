"""The real program in a real terminal: found, read, pinned and forgotten by keys alone."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from screens import talk

from appliance import Appliance
from appliance.engine.engine import Engine
from tests.tested_program import PROGRAM
from tests.waits import until

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here"), pytest.mark.slow]


class Terminal:
    """A terminal of 110 by 34 with the program in it."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]

    def begin(self, command: str, **variables: str) -> None:
        # The size is the terminal's: what a test runner says of its own must not reach the program.
        sized = f"unset COLUMNS LINES; {command}"
        self._run("new-session", "-d", "-x", "110", "-y", "34", *self._set(variables), sized)

    def keys(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def text(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def until(self, words: str | Callable[[str], bool]) -> str:
        """The screen, once words stand on it."""
        holds = (lambda screen: words in screen) if isinstance(words, str) else words
        screen = ""

        def seen() -> bool:
            nonlocal screen
            screen = self.screen()
            return holds(screen)

        until(seen, lambda: f"{words!r} on\n{screen}")
        return screen

    def is_there(self) -> bool:
        asked = subprocess.run([*self._tmux, "has-session"], capture_output=True, check=False)
        return asked.returncode == 0

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def _set(self, variables: dict[str, str]) -> list[str]:
        return [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def program(home: Path, folder: Path, *options: str) -> Iterator[Terminal]:
    """``appliance tui`` on a home, in a terminal of its own."""
    terminal = Terminal(folder / "tmux")
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    command = shlex.join([*PROGRAM, "tui", "--home", str(home), *options])
    try:
        terminal.begin(command, PYTHONPATH=paths, COLORTERM="truecolor")
        yield terminal
    finally:
        terminal.end()


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    with Appliance.open(home) as memory:
        memory.ingest(talk(tmp_path / "talk.jsonl"))
    return home


def test_one_finds_reads_pins_and_forgets(filled: Path, tmp_path: Path) -> None:
    with program(filled, tmp_path) as terminal:
        terminal.until("9 messages")
        terminal.text("walnuts in bread")
        terminal.until("allergic to walnuts")

        terminal.keys("Enter")  # reads
        terminal.until(lambda screen: "Bake it at 230" in screen and "78 % water" in screen)
        terminal.until("n Next match")
        terminal.keys("Escape")
        terminal.until("9 hits")
        terminal.keys("Tab")  # to the list
        terminal.until("w Why")
        terminal.keys("p")
        pinned = terminal.until("★")
        assert "walnuts" in pinned

        terminal.keys("d")
        terminal.until("Type 1 and enter to erase 1 message")
        terminal.keys("1", "Enter")
        terminal.until("none found")
        terminal.keys("Escape")
        terminal.until(lambda screen: "8 messages" in screen and "w Why" in screen)

        terminal.keys("C-q")
        until(lambda: not terminal.is_there(), "the program's end")
    with Appliance.open(filled, worker=False) as memory:
        assert memory.status()["counts"]["messages"] == 8
        (receipt,) = memory.erasure.receipts()
        assert receipt.messages == 1 and not receipt.proof.traces


def test_what_is_typed_fast_is_text(filled: Path, tmp_path: Path) -> None:
    with program(filled, tmp_path) as terminal:
        terminal.until("9 messages")
        for pause in (0.0, 0.005, 0.03, 0.05):
            typed = "Ben since:2026-01 cashews"
            for part in [typed] if not pause else typed:
                terminal.text(part)
                time.sleep(pause)
            terminal.until(lambda screen: "since: 2026-01 ✕" in screen and "Ben cashews" in screen)
            terminal.keys("C-u")
            terminal.until(lambda screen: "Ben cashews" not in screen)
            terminal.keys("Tab")
            terminal.until("tab Type on")
            terminal.text("X/dog")  # one write: X drops the filters, / goes to the line, the rest is text
            screen = terminal.until(lambda screen: "dog" in screen and "✕" not in screen)
            assert "Forgetting" not in screen
            terminal.keys("C-u")
            terminal.until("Type to search")


def test_a_resize_loses_nothing(filled: Path, tmp_path: Path) -> None:
    with program(filled, tmp_path) as terminal:
        terminal.until("9 messages")
        terminal.text("ferry")
        terminal.until("06:40")
        for width, height in ((80, 24), (200, 60), (40, 12), (110, 34)):
            terminal._run("resize-window", "-x", str(width), "-y", str(height))
            terminal.until("ferry")
        assert "06:40" in terminal.until("06:40")


def test_two_screens_at_once_and_the_second_stays_when_the_first_leaves(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with program(filled, tmp_path) as first:
        first.until("9 messages")
        with program(filled, tmp_path / "second") as second:
            second.until("9 messages")
            second.text("ferry")
            second.until("06:40")
            first.keys("C-q")
            until(lambda: not first.is_there(), "the first program's end")
            second.keys("Tab")  # to the list
            second.until("w Why")
            second.keys("p")
            second.until("★")


def test_an_owner_that_does_not_answer_is_named_at_the_end(filled: Path, tmp_path: Path) -> None:
    with Engine.open(filled, worker=False, purpose="a long import"):
        paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
        done = tmp_path / "done"
        command = shlex.join([*PROGRAM, "tui", "--home", str(filled)])
        terminal = Terminal(tmp_path / "tmux")
        try:
            terminal.begin(f"sh -c '{command}; echo $? > {done}; sleep 60'", PYTHONPATH=paths)
            terminal.until(lambda screen: "a long import" in " ".join(screen.split()))  # wherever the line breaks
            until(lambda: done.exists() and done.read_text().strip(), "its exit code")
            assert done.read_text().strip() == "3"
        finally:
            terminal.end()
