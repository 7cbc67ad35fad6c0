"""An upgrade from an older kit, while the older version runs, and the way back."""

from __future__ import annotations

import json
import signal

from trial.person import LONGEST, Person
from trial.steps import ingest_samples, messages_found, step, wait_for


def try_upgrade(person: Person, old: tuple[str, ...], new: tuple[str, ...], *, is_short: bool = False) -> None:
    """Make a memory with an older version, upgrade while its daemon runs, go back, and upgrade again.

    Args:
        old: What runs the older kit.
        new: What runs the newer one.
        is_short: Whether to leave the way back out.
    """
    step("install the older kit", lambda: person.run(*old, "install"))
    ingest_samples(person)
    messages, found = texts(person), messages_found(person)
    before = person.appliance("--version")
    daemon = person.start(*person.command, "serve")
    try:
        wait_for(lambda: (person.home / ".local/share/appliance/daemon.json").exists())
        said = step("upgrade while its daemon runs", lambda: person.run(*new, "install"))
        assert "appliance serve" in said, f"the upgrade does not name the daemon of the older version:\n{said}"
        assert "Backing up" in said, f"the upgrade makes no backup:\n{said}"
        answer = person.attempt(*person.command, "search", "Ben")
        refused = "of version" in answer.stderr and "Restart the daemon" in answer.stderr
        assert refused, f"the older daemon is not named:\n{answer.stdout}{answer.stderr}"
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(LONGEST)
    after = person.appliance("--version")
    assert after != before, "both kits are of one commit"
    assert texts(person) == messages, "the memory has other messages than before the upgrade"
    same = messages_found(person) == found
    print(
        f"  from {before.strip()} to {after.strip()}: {len(messages)} messages, searches {'' if same else 'not '}equal"
    )
    person.appliance("verify")
    if not is_short:
        _go_back(person, new, before, messages)


def _go_back(person: Person, new: tuple[str, ...], before: str, messages: list[tuple[str, str]]) -> None:
    said = step("rollback", lambda: person.run(*new, "rollback"))
    assert person.appliance("--version") == before
    if "can't read the memory" in said:
        backups = person.home / ".local/share/appliance-backups"
        assert f"restore {backups} --home" in said, f"the rollback does not name the backup:\n{said}"
        restored = str(person.home / "restored")
        person.appliance("restore", str(backups), "--home", restored)
        assert texts(person, "--home", restored) == messages, "the backup has other messages"
        print("  the older version can't read the memory; it restored the backup")
    else:
        assert texts(person) == messages
        print("  the older version reads the memory")
    step("upgrade again", lambda: person.run(*new, "install"))
    assert texts(person) == messages, "the memory has other messages after the second upgrade"


def texts(person: Person, *options: str) -> list[tuple[str, str]]:
    """All messages of the memory: who wrote them, and what."""
    lines = person.appliance("export", "-", "--messages-only", *options).splitlines()
    return sorted((message["role"], message["content"]) for message in map(json.loads, lines))
