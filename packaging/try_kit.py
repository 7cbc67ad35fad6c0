"""Tries a kit as a person would who has nothing but it: an empty home folder, a bare Python, and no network.

    python packaging/try_kit.py KIT [--before OLDER_KIT] [--python /usr/bin/python3]

It installs, runs the demo, shakes hands over MCP, opens the screen, and uninstalls; with ``--before``, an older kit is
installed first and a memory made with it, which the newer one must have kept. Where the system allows it, all of this
runs in an empty network namespace. Prints how long each step took and how large it is; exits with 1 at the first step
that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

LONGEST = 120.0
"""Seconds after which a step counts as stuck."""

HANDSHAKE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "try_kit", "version": "1"}},
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

QUESTION = "which food is dangerous for Ben"


class Person:
    """A person's home folder in a world without a network."""

    def __init__(self, home: Path, python: str) -> None:
        self.home = home
        self.python = python
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.command = str(home / ".local/bin/appliance")
        is_possible = (
            shutil.which("unshare")
            and subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode == 0
        )
        self.cut_off = ["unshare", "-rn"] if is_possible else []

    def run(self, *command: str, entered: str | None = None) -> str:
        """Run a program; returns what it prints."""
        ended = subprocess.run(
            [*self.cut_off, *command],
            input=entered,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.home,
            timeout=LONGEST,
        )
        if ended.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def see(self, command: Sequence[str], wanted: bytes, then: bytes) -> None:
        """Run a program in a terminal until it shows something, type something, and wait for its end."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            os.execvpe((*self.cut_off, *command)[0], [*self.cut_off, *command], self.environment)
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


def try_kit(kit: Path, before: Path | None, python: str) -> None:
    """Go through all steps."""
    with tempfile.TemporaryDirectory() as folder:
        person = Person(Path(folder), python)
        print(f"network: {'none' if person.cut_off else 'as it is, because no namespace is possible here'}")
        if before is not None:
            step("install the older kit", lambda: person.run(python, str(before), "install"))
            person.run(person.command, "ingest", demo_files(person))
            found = ids_found(person)
        step("install", lambda: person.run(python, str(kit), "install"))
        files = [file for file in person.home.rglob("*") if file.is_file() and not file.is_symlink()]
        print(f"  {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
        print(f"  {person.run(person.command, '--version').strip()}")
        if before is not None:
            assert ids_found(person) == found, "the memory finds other messages than before the upgrade"
            assert (person.home / ".local/share/appliance-backups").is_dir(), "no backup was made before the upgrade"
            person.run(person.command, "verify")
        step("demo", lambda: person.run(person.command, "demo"))
        step("MCP", lambda: shake_hands(person))
        step("screen", lambda: person.see([person.command, "tui"], b"F1", b"\x11"))
        step("uninstall", lambda: person.run(python, str(kit), "uninstall"))
        left = [*(person.home / ".local/lib").rglob("*"), *(person.home / ".local/bin").iterdir()]
        assert not left, f"uninstalling leaves {left[0]}"


def step(name: str, act: object) -> None:
    began = time.monotonic()
    act()  # type: ignore[operator]
    print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


def demo_files(person: Person) -> str:
    """The sample exports that the program brings."""
    (folder,) = (person.home / ".local/lib/memory-appliance/versions").glob(
        "*/lib/python*/site-packages/appliance/demo"
    )
    return str(folder)


def ids_found(person: Person) -> list[str]:
    return [hit["message_id"] for hit in json.loads(person.run(person.command, "search", QUESTION, "--json"))["hits"]]


def shake_hands(person: Person) -> None:
    """Start the MCP server, and ask it for its tools."""
    lines = "".join(json.dumps(one) + "\n" for one in (HANDSHAKE, INITIALIZED, LIST_TOOLS))
    answers = [json.loads(line) for line in person.run(person.command, "mcp", entered=lines).splitlines()]
    tools = next(one["result"]["tools"] for one in answers if one.get("id") == 2)
    assert "memory_search" in {tool["name"] for tool in tools}, tools


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kit", type=Path)
    parser.add_argument("--before", type=Path, help="an older kit, which is installed first")
    parser.add_argument("--python", default=getattr(sys, "_base_executable", sys.executable))
    chosen = parser.parse_args()
    try_kit(chosen.kit.resolve(), chosen.before and chosen.before.resolve(), chosen.python)


if __name__ == "__main__":
    main()
