"""From messages to facts: what is due is read in pages, each one transaction; then the slots it touched are settled.

A page repeated is a page read once: a message's statements are replaced, and facts follow from statements alone.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date

import msgspec

from appliance.memory.facts import timeline, wording
from appliance.memory.facts.reader import Found, read
from appliance.store import facts as store
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.facts import Derived, Kept
from appliance.store.statements import Due, Statement
from appliance.types import LOCAL

PAGE_MESSAGES = 500
"""Messages of one transaction: a quarter of a second at the most, so that no add waits long."""

PAGES_UNSETTLED = 20
"""Pages after which what was read becomes facts: a slot that much is said of is then not derived for each page."""

PAGE_SLOTS = 100

_OPEN_SCOPES = ("all", "conversational")
"""What a session must give to others for its facts to be known elsewhere."""


def read_due(
    database: Database, owner: str, name: str, goes_on: Callable[[], bool], most: int | None = None
) -> int:
    """Read the messages that are due and settle what follows; how many it was. ``owner`` is the configured user and
    ``name`` what that person is called in chats; ``most`` bounds the messages of this call."""
    done = pages = 0
    while goes_on() and (most is None or done < most):
        page = stated.due(database.read(), PAGE_MESSAGES)
        if not page:
            break
        _read_page(database, page, owner, name)
        done, pages = done + len(page), pages + 1
        if pages % PAGES_UNSETTLED == 0:
            settle(database, goes_on)
    settle(database, goes_on)
    return done


def _read_page(database: Database, page: Sequence[Due], owner: str, name: str) -> None:
    db = database.read()
    talkers = {session: stated.talkers(db, session) for session in dict.fromkeys(one.session for one in page)}
    said = {one.id: list(_statements(one, *talkers[one.session], owner, name)) for one in page}
    with database.write() as tx:
        for message in stated.unchanged(tx, page):
            stated.state(tx, message, said[message.id])
        for session, (assistant, authors) in talkers.items():
            stated.note_talkers(tx, session, assistant, authors)


def settle(database: Database, goes_on: Callable[[], bool] = lambda: True) -> None:
    """Make the facts of all stale slots follow again, a page of them a transaction."""
    while goes_on() and not stated.is_settled(database.read()):
        with database.write() as tx:
            settle_page(tx)


def unlearn(tx: sqlite3.Connection, told: Iterable[tuple[str, str, str, str]]) -> None:
    """Give up what rests on messages that are gone for good: values that they ``told`` (user, namespace, slot, value)
    and nobody says any more, be they confirmed. What the person added stays."""
    by_slot: dict[tuple[str, str, str], list[str]] = {}
    for user_id, namespace, slot, value in told:
        by_slot.setdefault((user_id, namespace, slot), []).append(value)
    for (user_id, namespace, slot), values in by_slot.items():
        left = [one.value for one in stated.statements(tx, user_id, namespace, slot)]
        gone = [
            one.value
            for one in stated.decisions(tx, user_id, namespace, slot)
            if any(alike(one.value, value) for value in values)
            and not any(alike(one.value, value) for value in left)
        ]
        stated.withdraw(tx, user_id, namespace, slot, gone)
    while not stated.is_settled(tx):
        settle_page(tx)


def settle_page(tx: sqlite3.Connection) -> None:
    """Make the facts of some stale slots follow again."""
    for user_id, namespace, slot in stated.stale(tx, PAGE_SLOTS):
        said = stated.statements(tx, user_id, namespace, slot)
        decided = stated.decisions(tx, user_id, namespace, slot)
        digests = {one.digest for one in said}
        digests |= {timeline.value_digest(slot, one.attribute, one.value) for one in said}
        refused = stated.refused(tx, user_id, namespace, sorted(digests))
        derived = timeline.derive(said, decided, refused)
        scope = (user_id, namespace, slot)
        before = store.kept(tx, scope)
        store.put(tx, scope, derived, before, _same_ids(derived, before))


def _same_ids(derived: Sequence[Derived], kept: Sequence[Kept]) -> dict[int, int]:
    """The ids that facts keep: of the same value, by the first evidence that they share, else in their order."""
    by_evidence: dict[tuple[object, ...], int] = {}
    by_value: dict[tuple[object, ...], list[int]] = {}
    for row in reversed(kept):
        one = row.derived
        by_value.setdefault(_likeness(one), []).append(row.id)
        by_evidence.update({(one.attribute, one.ends, message): row.id for message, _, _ in one.evidence})
    ids: dict[int, int] = {}
    taken: set[int] = set()
    values = {row.id: row.derived.value for row in kept}
    for number, one in enumerate(derived):
        for message, _, _ in one.evidence:
            key = by_evidence.get((one.attribute, one.ends, message))
            if key is not None and key not in taken and alike(values[key], one.value):
                ids[number] = key
                taken.add(key)
                break
    for number, one in enumerate(derived):
        left = by_value.get(_likeness(one), []) if number not in ids else []
        while left:
            key = left.pop()
            if key not in taken:
                ids[number] = key
                taken.add(key)
                break
    return ids


def _likeness(one: Derived) -> tuple[object, ...]:
    return one.attribute, one.ends, wording.key(one.value)


def alike(value: str, other: str) -> bool:
    """Whether two values say the same, one perhaps more of it."""
    return wording.refines(value, other) or wording.refines(other, value)


def speaks(message: Due, assistant: bool, authors: int, owner: str, name: str) -> bool:
    """Whether a message is the person's own. In a conversation with an assistant the one user is; among people only who
    has the person's name."""
    if message.role != "user" or not message.talk or message.scope not in _OPEN_SCOPES:
        return False
    if '"deleted":true' in message.metadata and msgspec.json.decode(message.metadata).get("deleted"):
        return False
    if message.author is None:
        return True
    author = _plain(message.author)
    if author == _plain(message.user_id) or (message.user_id == owner and name and author == _plain(name)):
        return True
    return authors < stated.TALKERS and (assistant or message.format == LOCAL)


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
    found = read(message.text, day(message.sent_at))
    among_people = not assistant and (
        authors >= stated.TALKERS or (message.format != LOCAL and message.author is not None)
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
