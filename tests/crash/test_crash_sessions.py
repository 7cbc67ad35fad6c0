"""``kill -9`` while conversations are deleted: each is there whole or gone whole, and no branch loses anything."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from crash_runs import chat, moments, open_memory, run, write

from tests import homes

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

FEW, MANY = 2, 20
FAMILIES = 6


def texts(home: Path) -> dict[str, list[str]]:
    """What each conversation says, by id."""
    with open_memory(home) as memory:
        return {
            info.id: [message.text for message in memory.sessions.messages(info.id)] for info in memory.sessions.list()
        }


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_deletes(tmp_path: Path, count: int) -> None:
    before = tmp_path / "before"
    with open_memory(before) as memory:
        for number in range(FAMILIES):
            name = f"chat {number}"
            memory.ingest(write(tmp_path / "chat.jsonl", chat(name, 60)))
            root = memory.sessions.resume(name)
            root.rename("goes")
            ids = [message.id for message in root.messages()]
            root.branch(ids[40], title="stays").add("user", f"another end of {name}")
            near = root.branch(ids[20], title="goes")
            near.add("user", f"a middle of {name}")
            near.branch(title="stays").add("user", f"one more end of {name}")
        memory.embed_pending()
        stays = {info.id for info in memory.sessions.list() if info.title == "stays"}
    whole = homes.copied(before, tmp_path / "whole")
    said = run("delete", whole, [])
    assert len(said.files) == 2 * FAMILIES
    expected, at_first = texts(whole), texts(before)
    assert expected == {id: at_first[id] for id in stays}
    kills = 0
    for moment in moments(said, count, seed=count):
        home = tmp_path / "killed"
        shutil.rmtree(home, ignore_errors=True)
        homes.copied(before, home)
        killed = run("delete", home, [], moment)
        kills += killed.killed
        left = texts(home)
        assert not left.keys() & killed.files.keys(), "what was said to be deleted is"
        assert left == {id: at_first[id] for id in left} and stays <= left.keys()
        with open_memory(home) as memory:
            assert not memory.verify().problems
            memory.embed_pending()
            assert not memory.verify().problems
        run("delete", home, [])
        assert texts(home) == expected
    assert kills
