"""A person with an empty home folder, a command, and no network."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

LONGEST = 120.0
"""Seconds after which a step counts as stuck."""

PATH = "/usr/bin:/bin"


@cache
def cut_off() -> Sequence[str]:
    """What runs a program in an empty network namespace; nothing where the system allows none."""
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return (unshare, "-rn")
    return ()


def few_programs(folder: Path) -> Path:
    """A folder for PATH with a shell and what a kit with its own Python needs, of busybox if it is here."""
    folder.mkdir()
    busybox = shutil.which("busybox")
    for name in ("sh", "tail", "head", "gzip", "tar", "mktemp", "rm", "wc"):
        (folder / name).symlink_to(busybox or str(shutil.which(name)))
    return folder


class Person:
    """A person's home folder in a world without a network.

    Args:
        home: An empty folder.
        command: What starts the installed program.
        within: What every program is run with, as ``("chroot", TREE)``. ``cut_off()`` unless given.
        more: Further environment variables, or others than the usual ones.
    """

    def __init__(
        self,
        home: Path,
        command: Sequence[str],
        within: Sequence[str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.command = (*command,)
        self.within = cut_off() if within is None else (*within,)
        self.environment = {
            "HOME": str(home), "PATH": PATH, "TERM": "xterm-256color", "LANG": "C", **(more or {}),
        }  # fmt: skip

    def appliance(self, *arguments: str, entered: str | None = None) -> str:
        """Run the installed program; returns what it prints. Exits where it fails."""
        return self.run(*self.command, *arguments, entered=entered)

    def run(self, *command: str, entered: str | None = None) -> str:
        """Run any program; returns what it prints. Exits where it fails."""
        ended = self.attempt(*command, entered=entered)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def attempt(self, *command: str, entered: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run any program, which may fail."""
        return subprocess.run(
            [*self.within, *command],
            input=entered,
            capture_output=True,
            encoding="utf-8",
            env=self.environment,
            cwd=self.home,
            timeout=LONGEST,
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program that runs on; the caller ends it."""
        return subprocess.Popen(
            [*self.within, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env=self.environment,
            cwd=self.home,
        )

    def see(self, *command: str, wanted: bytes, then: bytes) -> None:
        """Run a program in a terminal until it shows something, type something, and wait for its end."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            os.execvpe((*self.within, *command)[0], [*self.within, *command], self.environment)
        said, until = b"", time.monotonic() + LONGEST
        typed = False
        try:
            while time.monotonic() < until:
                if not select.select([terminal], [], [], 1.0)[0]:
                    continue
                try:
                    more = os.read(terminal, 1 << 16)
                except OSError:  # Linux says so when the other end is closed
                    more = b""
                said += more
                if not more:
                    break
                if not typed and wanted in said:
                    os.write(terminal, then)
                    typed = True
        finally:
            os.close(terminal)
            _, status = os.waitpid(pid, 0)
        if not typed or status:
            shown = said[-2000:].decode(errors="replace")
            sys.exit(f"{' '.join(command)} never showed {wanted!r}, or ended with {status}:\n{shown}")
