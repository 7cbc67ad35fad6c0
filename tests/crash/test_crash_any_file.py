"""Whatever is done to any file of a home: each verb answers, or says in words what is wrong; what can be read stays
readable, nothing is invented, and what is derived can be made again."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import msgspec
import pytest
from crash_runs import chat, open_memory, write
from damage_verbs import ADDED
from file_damages import damage
from workers import Workers

from appliance.engine.index_service import IndexService
from appliance.paths import Home
from appliance.server.access import tokens
from appliance.transports.daemon import DaemonAddress
from tests.homes import copied

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="processes are forked"), pytest.mark.slow]

DAMAGES = 100
SHARDS = 10
SAMPLE = 1
"""Damages of each kind in the slow step; the campaign does all, in shards."""

SECRET = "The spare keys are with Mrs Aydin"
PATIENCE_SECONDS = 120.0

KINDS = {
    "database": "home/recall.db",
    "frames": "home/recall.db",
    "log of the database": "home/recall.db-wal",
    "ledger": "home/vectors/*.ledger",
    "segments": "home/index/g*/shard/segments/**/*",
    "log of the index": "home/index/g*/shard/wal/*",
    "settings of the index": "home/index/g*/**/*.json",
    "archive index": "home/index/*.archive",
    "settings": "home/config.toml",
    "lock": "home/lock",
    "daemon": "home/daemon.json",
    "tokens": "home/token*",
    "erasing": "home/erasing/*",
    "list of backups": "home/backups/*.json",
    "inbox": "home/inbox/*",
    "backups": "backups/**/*",
    "file of a backup": "backup.zip",
}
"""Kinds of files, each with where they lie beside a home, its backups, and a backup in one file."""

TRUTH = {"database", "frames", "log of the database"}
DERIVED = {"segments", "log of the index", "settings of the index", "archive index", "ledger"}
BACKUPS = {"backups", "file of a backup"}


@dataclass(frozen=True, slots=True)
class Built:
    """A folder with a home and backups, and the home's messages by id. ``in_log`` are those that only the log of the
    database holds; ``keys`` are the ids that ``verify`` names."""

    folder: Path
    messages: dict[str, str]
    in_log: set[str]
    in_backups: set[str]
    keys: dict[str, str]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A home with archived messages, an interrupted erasure, backups, and messages in the log of the database."""
    folder = tmp_path_factory.mktemp("built")
    work, home = folder / "work", Home(folder / "home")
    gone = [{**line, "content": f"{SECRET}, {number}"} for number, line in enumerate(chat("gone", 30))]
    with open_memory(work) as memory:
        memory.ingest(write(folder / "ben.jsonl", chat("ben", 150)))
        memory.archive.run(days=0, importance=1.0)
        memory.ingest(write(folder / "ana.jsonl", [*chat("ana", 60), *gone]))
        with (
            mock.patch.object(IndexService, "expunge", side_effect=ZeroDivisionError),
            pytest.raises(ZeroDivisionError),
        ):
            memory.erasure.forget(memory.erasure.preview("gone"))
        memory.backups.make(folder / "backups")
        memory.backups.make(folder / "backup.zip")
        before = {line["message_id"] for line in memory.export()}
    with open_memory(work) as memory:
        memory.ingest(write(folder / "carl.jsonl", chat("carl", 20)))
        lines = {line["message_id"]: line["content"] for line in memory.export()}
        keys = {memory.message(id).id: id for id in lines}
        copied(work, home.root)
    shutil.rmtree(work)
    home.config.write_text("[search]\nlimit = 12\n")
    home.lock.write_text(json.dumps({"pid": 999_999, "purpose": "appliance watch", "socket": "/nowhere/socket"}))
    home.daemon.write_bytes(msgspec.json.encode(DaemonAddress(999_999, "http://127.0.0.1:1", "/nowhere", "", "1")))
    tokens.owner_token(home)
    tokens.issue(home, "phone", user_id="me")
    write(home.inbox / "read.jsonl", chat("ana", 3))
    return Built(folder, lines, lines.keys() - before, before, keys)


@dataclass(slots=True)
class Transcript:
    """What processes reported: of each step its answer, or the type and text of its error; and the messages that were
    exported or shown, by id."""

    answers: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, tuple[str, str]] = field(default_factory=dict)
    messages: dict[str, dict[str, str]] = field(default_factory=dict)


def run(processes: Workers, verb: str, *paths: Path, after: Transcript | None = None) -> Transcript:
    """Run a verb in a process; its report is added to the transcript ``after`` which it comes."""
    outcome = processes.run(f"damage_verbs.{verb}", *map(str, paths), kill_after=PATIENCE_SECONDS)
    assert outcome.code == 0, f"{verb} ended with {outcome.code}: {outcome.errors}"
    said = after or Transcript()
    for words in outcome.acknowledged:
        if words[0] in ("exported", "holds"):
            said.messages.setdefault(words[0], {})[words[1]] = words[2]
        elif words[2]:
            said.errors[words[0]] = (words[2], words[3])
        else:
            said.answers[words[0]] = words[1]
    return said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(SAMPLE), id="sample"),
        *(
            pytest.param(
                range(SAMPLE + shard, DAMAGES + SAMPLE, SHARDS), id=f"shard {shard}", marks=pytest.mark.campaign
            )
            for shard in range(SHARDS)
        ),
    ],
)
@pytest.mark.timeout(1_200)
def test_a_damaged_file(built: Built, processes: Workers, tmp_path: Path, kind: str, seeds: range) -> None:
    for seed in seeds:
        chance = Random(f"{kind} {seed}")
        folder = copied(built.folder, tmp_path / "damaged")
        path = chance.choice([path for path in sorted(folder.glob(KINDS[kind])) if path.is_file()])
        how = damage(path, chance, kind)
        try:
            (check_backups if kind in BACKUPS else check_home)(built, processes, folder, path, kind)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {path.relative_to(folder)}, {how}") from error
        shutil.rmtree(folder)


def check_home(built: Built, processes: Workers, folder: Path, path: Path, kind: str) -> None:
    was = path.read_bytes() if path.is_file() else None
    said = run(processes, "use", folder / "home")
    if kind in TRUTH | {"settings", "lock"}:
        run(processes, "save", folder / "home", folder / "new", after=said)
    if kind in DERIVED:
        run(processes, "repair", folder / "home", after=said)
    for word, held in said.messages.items():
        assert not [text for text in held.values() if SECRET in text], word
        if kind not in TRUTH:
            assert {id: text for id, text in held.items() if text != ADDED} == built.messages, word
    if kind in TRUTH:
        check_not_invented(built, said)
    if kind == "log of the database" and "exported" in said.messages:
        sound = {id: text for id, text in built.messages.items() if id not in built.in_log}
        assert sound.items() <= said.messages["exported"].items()
    if kind in DERIVED and not path.is_dir():
        assert said.messages["exported"] and not said.errors.keys() & {"use", "search", "export", "new"}
        assert said.answers["repaired"] == [], "what is derived is made again"
    if kind == "erasing" and "finished" in said.answers:
        original = built.folder / path.relative_to(folder)
        is_whole = was == original.read_bytes()
        assert said.answers["finished"] == [["done", 30, is_whole, 30 if is_whole else 0, 0]]


def check_not_invented(built: Built, said: Transcript) -> None:
    """A message that says something else than was stored is named by verify as damaged. Where a page leads to rows of
    another one, a text that was stored may stand at another message; then verify says that the pages are damaged."""
    named = {built.keys.get(where, where) for where, _ in said.answers.get("verify") or []}
    texts = set(built.messages.values())
    for id, text in said.messages.get("exported", {}).items():
        if built.messages.get(id) != text:
            is_elsewhere = "recall.db" in named and (text in texts or id not in built.messages)
            assert id in named or is_elsewhere, (
                f"{id}: {text[:80]!r} is not among {sorted(named)}; {said.answers}; {said.errors}"
            )


def check_backups(built: Built, processes: Workers, folder: Path, path: Path, kind: str) -> None:
    target = folder / "backup.zip" if kind == "file of a backup" else folder / "backups"
    said = run(processes, "use_backups", folder / "home", target, folder / "new")
    expected = {id: built.messages[id] for id in built.in_backups}
    held = said.messages.get("holds", {})
    if said.answers.get("check") == []:
        assert held == expected, "what is checked can be restored"
    if "restored" in said.answers and said.answers["restored"] == [] and said.answers["restore"] == 0:
        assert held == expected, "a restoration that reports nothing is whole"
