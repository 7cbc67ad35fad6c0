"""What is done with a home while its process is killed: each does it, and compares the home with the record."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from life import (
    Action,
    Life,
    Texts,
    acknowledged_texts,
    check,
    check_erased,
    conversation,
    open_memory,
    texts_in,
    write_export,
)
from workers import Workers

from appliance import Appliance, Backups
from appliance.errors import NotFound
from appliance.store import migrations

STORES = Path(__file__).parent.parent / "stores"
OLD_STORES = ("first", "development")
"""Databases of earlier versions: two sessions, of three messages and of one."""


def add(life: Life) -> None:
    session = life.new_session()
    texts = conversation(session, 40)
    outcome = life.kill_during("add", str(life.home), session, texts)
    life.record.sessions[session] = {text for _, text in acknowledged_texts(outcome)}
    life.check({session: set(texts)})


def ingest(life: Life) -> None:
    session = life.new_session()
    texts = conversation(session, 120)
    export = write_export(life.folder / f"{session}.jsonl", session, texts)
    outcome = life.kill_during("ingest", str(life.home), str(export))
    for _, _, count in outcome.acknowledged:
        life.record.sessions[session] = set(texts[:count])
    life.check({session: set(texts)})
    export.unlink()


def forget(life: Life) -> None:
    """Forget a session while two others are written to."""
    writers = {session: conversation(session, 150) for session in (life.new_session(), life.new_session())}
    gone = _leave(life, "forget", {session: set(texts) for session, texts in writers.items()}, writers)
    life.forgets_beside_writers += 1
    if gone is None:
        return
    life.record.receipts.append(gone[1])
    life.record.forgotten += [gone[0], *life.record.deleted]
    life.record.deleted.clear()
    check_erased(life.home, life.record)
    life.check_receipts()


def forget_beside(life: Life, others: Workers, session: str) -> None:
    """Forget a session while two others are written to in the same process, and a third one by another process."""
    written = {name: conversation(name, 60) for name in (life.new_session(), life.new_session(), life.new_session())}
    *writers, elsewhere = written
    texts = life.record.sessions.pop(session)
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(others.run, "life_verbs.add", str(life.home), elsewhere, written[elsewhere])
        outcome = life.work("forget", str(life.home), session, {name: written[name] for name in writers})
        added = adding.result()
    assert added.code == 0, added.errors
    for name, text in (*acknowledged_texts(outcome), *acknowledged_texts(added)):
        life.record.sessions.setdefault(name, set()).add(text)
    life.forgets_beside_writers += 1
    life.record.receipts.append(len(texts))
    life.record.forgotten.append(session)
    check_erased(life.home, life.record)
    check(life.home, life.record, {})
    life.check_receipts()


def delete(life: Life) -> None:
    gone = _leave(life, "delete", {})
    if gone is not None:
        life.record.deleted.append(f"{gone[0]}x")  # the name of the file that it was read from stays


def _leave(life: Life, verb: str, written: Texts, *arguments: object) -> tuple[str, int] | None:
    """Let a session go by a verb, while some ``written`` may come. Returns the session and the number of its messages
    if it has gone; it is there whole or gone whole."""
    session = life.some_session()
    texts = life.record.sessions.pop(session)
    outcome = life.kill_during(verb, str(life.home), session, *arguments)
    for other, text in acknowledged_texts(outcome):
        life.record.sessions.setdefault(other, set()).add(text)
    is_acknowledged = any(said[0] == "forgotten" for said in outcome.acknowledged)
    life.check(written | ({} if is_acknowledged else {session: texts}))
    left = life.record.sessions.get(session)
    assert left in (None, texts), "it is there whole or gone whole"
    return None if left else (session, len(texts))


def archive(life: Life) -> None:
    life.kill_during("archive", str(life.home))
    life.check()


def unarchive(life: Life) -> None:
    life.kill_during("unarchive", str(life.home), *([life.some_session()] if life.chance.random() < 0.7 else []))
    life.check()


def backup(life: Life) -> None:
    """Back up into a folder that holds earlier ones, sometimes letting those go."""
    keep = "1d" if life.chance.random() < 0.3 else None
    outcome = life.kill_during("backup", str(life.home), str(life.backups), keep)
    try:
        ids = {info.id for info in Backups.list(life.backups)}
    except NotFound:
        assert not life.record.backups and not outcome.acknowledged
        return life.check()
    new = ids - life.record.backups.keys()
    assert {said[1] for said in outcome.acknowledged} <= new and len(new) <= 1
    assert life.record.backups.keys() <= ids or (keep and new), "no backup goes before there is a later one"
    life.record.backups = {id: life.record.backups.get(id, life.record.copy()) for id in ids}
    assert not Backups.verify(life.backups, read_data=True).problems
    life.check()


def backup_file(life: Life) -> None:
    """Back up into one file, which is there whole or not at all."""
    target = life.folder / "backup.zip"
    outcome = life.kill_during("backup", str(life.home), str(target), None)
    if target.exists():
        assert not Backups.verify(target, read_data=True).problems
        target.unlink()
    else:
        assert not outcome.acknowledged
    life.check()


def restore(life: Life) -> None:
    """Restore a backup into a new home, which is there whole or not at all."""
    if not life.record.backups:
        return backup(life)
    id = life.chance.choice(sorted(life.record.backups))
    new = life.folder / "new"
    outcome = life.kill_during("restore", str(life.backups), str(new), id)
    if not new.exists():
        assert not outcome.acknowledged
        Appliance.restore(life.backups, new, id=id)
    with open_memory(new) as memory:
        assert texts_in(memory) == life.record.backups[id]
        memory.run_pending_jobs()
        assert not memory.verify().problems
    shutil.rmtree(new)
    assert not list(life.folder.glob(".new*")), "what a killed process had begun is removed"


def migrate(life: Life) -> None:
    """Open a home of an earlier version, which is migrated whole or not at all."""
    old = life.folder / "old"
    name = life.chance.choice(OLD_STORES)
    old.mkdir(mode=0o700)
    (old / "recall.db").write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    life.kill_during("migrate", str(old))
    with open_memory(old) as memory:
        assert sorted(map(len, texts_in(memory).values())) == [1, 3]
        memory.run_pending_jobs()
        assert not memory.verify().problems
    with closing(sqlite3.connect(old / "recall.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (migrations.latest(),)
    shutil.rmtree(old)


def reindex(life: Life) -> None:
    life.kill_during("reindex", str(life.home), False)
    life.check()


def reindex_vectors(life: Life) -> None:
    life.kill_during("reindex", str(life.home), True)
    life.check()


ACTIONS: dict[str, tuple[int, Action]] = {
    "add": (4, add),
    "ingest": (4, ingest),
    "archive": (3, archive),
    "backup": (2, backup),
    "forget": (4, forget),
    "restore": (2, restore),
    "unarchive": (1, unarchive),
    "migrate": (2, migrate),
    "delete": (1, delete),
    "backup_file": (1, backup_file),
    "reindex": (1, reindex),
    "reindex_vectors": (1, reindex_vectors),
}
"""What can be killed, and its weight."""
