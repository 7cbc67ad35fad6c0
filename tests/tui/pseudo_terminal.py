"""The real program behind a pseudo-terminal of the test's own: what it sends, byte by byte."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests import forked_programs
from tests.tested_program import PROGRAM
from tests.waits import until

ROOT = Path(__file__).parents[2]
_ESCAPE = re.compile(rb"\x1b(?:\[[0-9;:?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[ -/]*[0-~])")
_SGR = re.compile(rb"\x1b\[([0-9;:]*)m")


def without_controls(sent: bytes) -> str:
    """The text among what a program sent to a terminal."""
    return _ESCAPE.sub(b"", sent).decode(errors="replace")


class PseudoTerminal:
    """A terminal that remembers all that a program sends."""

    def __init__(self, process: subprocess.Popen[bytes], master: int, read_size: int, pause: float) -> None:
        self.process = process
        self.sent = b""
        self._master = master
        self._read_size, self._pause = read_size, pause
        self._end = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, text: str) -> None:
        """Send a text, as fast as the program takes it."""
        rest = text.encode()
        while rest:
            rest = rest[os.write(self._master, rest) :]

    def text(self, start: int = 0) -> str:
        """What was sent behind the first ``start`` bytes, without control sequences."""
        return without_controls(self.sent[start:])

    def until(self, words: str, start: int = 0) -> None:
        """Wait until words were sent behind the first ``start`` bytes."""
        until(lambda: words in self.text(start), lambda: f"{words!r} in\n{self.text(start)[-3000:]}")

    def until_bytes(self, sequence: bytes, start: int = 0) -> None:
        """Wait until a control sequence was sent behind the first ``start`` bytes."""
        until(lambda: sequence in self.sent[start:], lambda: f"{sequence!r} in\n{self.sent[start:][-3000:]!r}")

    def colours(self) -> list[bytes]:
        """The codes of colours among what was sent."""
        codes = (code for match in _SGR.finditer(self.sent) for code in re.split(rb"[;:]", match[1]) if code)
        return [code for code in codes if 30 <= int(code) <= 49 or 90 <= int(code) <= 107]

    def close(self) -> None:
        self._end.set()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        while not self._end.wait(self._pause):
            if select.select([self._master], [], [], 0.05)[0]:
                try:
                    self.sent += os.read(self._master, self._read_size)
                except OSError:  # the program has ended
                    return


@contextmanager
def pseudo_terminal(
    home: Path, *options: str, size: tuple[int, int] = (110, 34), read_size: int = 65536, pause: float = 0.0, **env: str
) -> Iterator[PseudoTerminal]:
    """``appliance tui`` on a home. A small ``read_size`` and a ``pause`` (seconds) make a slow line."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = forked_programs.Popen(
        [*PROGRAM, "tui", "--home", str(home), *options],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        env={**inherited, "PYTHONPATH": paths, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
    )  # fmt: skip
    os.close(slave)
    terminal = PseudoTerminal(process, master, read_size, pause)
    try:
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        terminal.close()
