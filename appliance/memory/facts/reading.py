"""From messages to facts: what is due is read in pages, each one transaction; then the slots it touched are settled.

A page repeated is a page read once: a message's statements are replaced, and facts follow from statements alone.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date

import msgspec

from appliance.memory.facts import timeline
from appliance.memory.facts.reader import Found, read
from appliance.memory.facts.wording import refines
from appliance.store import facts as store
from appliance.store.database import Database
from appliance.store.facts import Derived, Due, Kept, Statement
from appliance.types import LOCAL

PAGE_MESSAGES = 500
"""Messages of one transaction: a quarter of a second at the most, so that no add waits long."""

PAGE_SLOTS = 500

_OPEN_SCOPES = ("all", "conversational")
"""What a session must give to others for its facts to be known elsewhere."""


def read_due(
    database: Database, owner: str, name: str, goes_on: Callable[[], bool], most: int | None = None
) -> int:
    """Read the messages that are due and settle what follows; how many it was. ``owner`` is the configured user and
    ``name`` what that person is called in chats; ``most`` bounds the messages of this call."""
    done = 0
    while goes_on() and (most is None or done < most):
        page = store.due(database.read(), PAGE_MESSAGES)
        if not page:
            break
        done += _read_page(database, page, owner, name)
    while goes_on() and not store.is_settled(database.read()):
        with database.write() as tx:
            settle(tx)
    return done


def _read_page(database: Database, page: Sequence[Due], owner: str, name: str) -> int:
    db = database.read()
    talkers = {session: store.talkers(db, session) for session in dict.fromkeys(one.session for one in page)}
    stated = {one.id: list(_statements(one, *talkers[one.session], owner, name)) for one in page}
    with database.write() as tx:
        kept = store.unchanged(tx, page)
        for message in kept:
            store.state(tx, message, stated[message.id])
        for session, (assistant, authors) in talkers.items():
            store.note_talkers(tx, session, assistant, authors)
        settle(tx)
    return len(page)


def settle(tx: sqlite3.Connection) -> None:
    """Make the facts of stale slots follow again, of a page of them."""
    for user_id, namespace, slot in store.stale(tx, PAGE_SLOTS):
        said = store.statements(tx, user_id, namespace, slot)
        decided = store.decisions(tx, user_id, namespace, slot)
        digests = {one.digest for one in said}
        digests |= {timeline.value_digest(slot, one.attribute, one.value) for one in said}
        refused = store.refused(tx, user_id, namespace, sorted(digests))
        derived = timeline.derive(said, decided, refused)
        ids = _same_ids(derived, store.kept(tx, user_id, namespace, slot))
        store.put(tx, (user_id, namespace, slot), derived, ids)


def _same_ids(derived: Sequence[Derived], kept: Sequence[Kept]) -> dict[int, int]:
    """The ids that facts keep: of the same value, by the evidence they share, else in their order."""
    ids: dict[int, int] = {}
    left = list(kept)
    for by_evidence in (True, False):
        for number, one in enumerate(derived):
            messages = {message for message, _, _ in one.evidence}
            if number in ids:
                continue
            for row in left:
                alike = row.attribute == one.attribute and row.ends == one.ends
                alike = alike and (refines(row.value, one.value) or refines(one.value, row.value))
                if alike and (not by_evidence or row.messages & messages):
                    ids[number] = row.id
                    left.remove(row)
                    break
    return ids


def speaks(message: Due, assistant: bool, authors: int, owner: str, name: str) -> bool:
    """Whether a message is the person's own. In a conversation with an assistant the one user is; among people only who
    has the person's name."""
    if message.role != "user" or not message.talk or message.scope not in _OPEN_SCOPES:
        return False
    if message.author is None:
        return True
    author = _plain(message.author)
    if author == _plain(message.user_id) or (message.user_id == owner and name and author == _plain(name)):
        return True
    return authors < store.TALKERS and (assistant or message.format == LOCAL)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def statements_of(message: Due, found: Iterable[Found], model: str | None = None) -> Iterable[Statement]:
    """What was found in a message, as it is stored."""
    for one in found:
        slot = timeline.place(one.subject, one.kind, one.attribute, one.value)
        quote = message.text[one.start : one.end]
        yield Statement(
            message=message.id, slot=slot, kind=one.kind, subject=one.subject, attribute=one.attribute, value=one.value,
            mode=one.mode, confidence=one.confidence, since=one.since, until=one.until, start=one.start, stop=one.end,
            made_by=model or one.rule, by_model=model is not None,
            digest=timeline.digest(slot, one.attribute, one.value, quote, message.sent_at),
        )  # fmt: skip


def _statements(message: Due, assistant: bool, authors: int, owner: str, name: str) -> Iterable[Statement]:
    if not speaks(message, assistant, authors, owner, name):
        return
    if '"deleted":true' in message.metadata and msgspec.json.decode(message.metadata).get("deleted"):
        return
    found = read(message.text, day(message.sent_at))
    among_people = not assistant and (
        authors >= store.TALKERS or (message.format != LOCAL and message.author is not None)
    )
    yield from statements_of(
        message, (one for one in found if not (among_people and one.kind == "instruction"))
    )


def day(sent_at: str | None) -> date | None:
    """The day that a message was sent."""
    try:
        return date.fromisoformat(sent_at[:10]) if sent_at else None
    except ValueError:
        return None
