"""What every installed program is tried with, whatever installed it: the kit, the Debian package, the frozen build."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trial.person import LONGEST, Person

ROOT = Path(__file__).resolve().parents[2]

HANDSHAKE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "trial", "version": "1"}},
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

QUESTION = "which food is dangerous for Ben"
CTRL_Q = b"\x11"

T = TypeVar("T")


def step(name: str, act: Callable[[], T]) -> T:
    """Do a step, and print how long it took."""
    began = time.monotonic()
    done = act()
    print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
    return done


def use_program(person: Person) -> None:
    """The steps that each installed program must pass."""
    begin_with_program(person)
    step("MCP", lambda: shake_hands(person))
    ingest_samples(person)
    step("daemon", lambda: use_daemon(person))
    step("doctor --airgap", lambda: person.appliance("doctor", "--airgap"))


def begin_with_program(person: Person) -> None:
    """The first of these steps: that it runs, finds something by meaning, and draws its screen."""
    print(f"  {step('version', lambda: person.appliance('--version')).strip()}")
    step("demo", lambda: person.appliance("demo"))
    step("screen", lambda: person.see(*person.command, "tui", wanted=b"F1", then=CTRL_Q))


def let_program_try_itself(person: Person) -> None:
    """The shortest way through all of them: ``doctor --airgap`` runs the demo's import and search, the MCP server, the
    daemon and the screen."""
    print(f"  {step('version', lambda: person.appliance('--version')).strip()}")
    step("doctor --airgap", lambda: person.appliance("doctor", "--airgap"))


def ingest_samples(person: Person) -> None:
    """Make a memory of the sample exports that the program brings."""
    exports = person.home / "exports"
    if not exports.exists():
        shutil.copytree(ROOT / "appliance/demo", exports, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    person.appliance("ingest", str(exports))


def messages_found(person: Person, question: str = QUESTION) -> list[str]:
    """The ids of the messages that a search finds, the best first."""
    return [hit["message_id"] for hit in json.loads(person.appliance("search", question, "--json"))["hits"]]


def shake_hands(person: Person) -> None:
    """Start the MCP server, and ask it for its tools."""
    lines = "".join(json.dumps(one) + "\n" for one in (HANDSHAKE, INITIALIZED, LIST_TOOLS))
    answers = [json.loads(line) for line in person.appliance("mcp", entered=lines).splitlines()]
    tools = next(one["result"]["tools"] for one in answers if one.get("id") == 2)
    assert "memory_search" in {tool["name"] for tool in tools}, tools


def use_daemon(person: Person) -> None:
    """Start the daemon, search through it, let it start anew, and end it."""
    home = person.home / ".local/share/appliance"
    daemon = person.start(*person.command, "serve", "--port", "0")
    try:
        wait_for(lambda: (home / "daemon.json").exists() or daemon.poll() is not None)
        before = json.loads(person.appliance("status", "--json"))
        assert before["daemon"], f"the daemon is not seen: {before}"
        assert messages_found(person), "nothing is found"
        address = (home / "daemon.json").stat().st_mtime_ns
        daemon.send_signal(signal.SIGHUP)
        wait_for(lambda: (home / "daemon.json").stat().st_mtime_ns != address)
        assert messages_found(person), "nothing is found after the daemon started anew"
    finally:
        daemon.terminate()
        said, _ = daemon.communicate(timeout=LONGEST)
    assert daemon.returncode == 0, f"the daemon ended with {daemon.returncode}:\n{said}"


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so. Raises AssertionError if it takes too long."""
    until = time.monotonic() + LONGEST
    while not is_so():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)
