"""What a process does with a damaged home, and what it says of each step: see ``process_server``."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

from process_server import say

from appliance import Appliance, Backups
from appliance.engine.recovery import recover
from appliance.errors import ApplianceError, StoreCorrupt
from appliance.paths import Home
from appliance.server.access import tokens
from appliance_models import HashEmbedder

QUESTION = "violin at the harbour"
ADDED = "the kettle was added after the damage"


def attempt(step: str, work: Callable[[], object]) -> None:
    """Say what a step returned, or the words of its error. An error that is none of the program's ends the process."""
    try:
        say(step, work(), "", "")
    except ApplianceError as error:
        say(step, None, type(error).__name__, f"{error} {error.hint or ''}")


def use(home: str) -> None:
    """Each verb once."""
    attempt("use", lambda: _in_memory(home, _use))
    attempt("add", lambda: _in_memory(home, _add))
    attempt("tokens", lambda: bool(tokens.owner_token(Home(Path(home))) and tokens.issued_tokens(Home(Path(home)))))


def save(home: str, new: str) -> None:
    """Recover what can be read into a new home."""
    attempt("recover", lambda: recover(Path(home), Path(new)).messages)
    attempt("recovered", lambda: _in_memory(new, _hold))


def repair(home: str) -> None:
    """Make again what is derived, as the errors say."""
    attempt("repair", lambda: _in_memory(home, _repair))
    attempt("repaired", lambda: _in_memory(home, _hold))


def use_backups(home: str, backups: str, new: str) -> None:
    """List, check, extend and restore backups."""
    attempt("list", lambda: len(Backups.list(backups)))
    attempt("check", lambda: [problem.message for problem in Backups.verify(backups, read_data=True).problems])
    attempt("restore", lambda: len(Appliance.restore(backups, new).lost))
    attempt("restored", lambda: _in_memory(new, _hold))
    attempt("make", lambda: _in_memory(home, lambda memory: memory.backups.make(backups).id))


def _in_memory(home: str, work: Callable[[Appliance], object]) -> object:
    try:
        with Appliance.open(home, create=False, worker=False, embedder=HashEmbedder()) as memory:
            return work(memory)
    finally:
        gc.collect()  # what fails when it is freed fails here


def _use(memory: Appliance) -> None:
    attempt("status", lambda: memory.status()["health"])
    attempt("search", lambda: [hit.text for hit in memory.search(QUESTION)])
    attempt("meaning", lambda: [hit.text for hit in memory.search(QUESTION, mode="dense", include_archived=True)])
    attempt("context", lambda: memory.context(QUESTION).tokens)
    attempt("sessions", lambda: len(memory.sessions.list()))
    attempt("archive", lambda: memory.archive.status().archived)
    attempt("export", lambda: _export(memory, "exported"))
    attempt("verify", lambda: [[problem.where, problem.message] for problem in memory.verify().problems])
    attempt("backups", lambda: [one.path for one in memory.backups.known()])
    attempt("receipts", lambda: _receipts(memory))


def _add(memory: Appliance) -> None:
    attempt("new", lambda: memory.sessions.create(title="after").add("user", ADDED).text)
    attempt("embed", memory.embed_pending)
    attempt("jobs", memory.run_pending_jobs)
    attempt("finished", lambda: _receipts(memory))


def _repair(memory: Appliance) -> None:
    try:
        memory.reindex()
    except StoreCorrupt:
        memory.reindex(vectors=True)
    if any("reindex --vectors" in problem.message for problem in memory.verify().problems):
        memory.reindex(vectors=True)


def _hold(memory: Appliance) -> list[list[str]]:
    attempt("held", lambda: _export(memory, "holds"))
    return [[problem.where, problem.message] for problem in memory.verify().problems]


def _export(memory: Appliance, word: str) -> int:
    """Say each message; one that can't be read whole ends the export after all others."""
    count = 0
    for line in memory.export():
        if "content" in line:
            say(word, line["message_id"], line["content"])
            count += 1
    return count


def _receipts(memory: Appliance) -> list[list[object]]:
    return [
        [one.state, one.messages, one.proof.searched, one.proof.texts, len(one.proof.traces)]
        for one in memory.erasure.receipts()
    ]
