"""What stands beside a message: the messages said in the open before and after it in its session.

An answer stands next to its question, so a message is also found by what stands beside it, and the index
holds words of its neighbours: when a session grows in the middle, theirs have to be made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from appliance.store.messages import NewMessage, get, message_id, message_key, public
from appliance.store.migrations import NEIGHBOURS
from appliance.store.sql import LISTED, at_once, listed, pages
from appliance.types import Message


def pairs(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
    """The direct neighbours of each message, before and after."""
    rows = at_once(
        db,
        f"SELECT m.id, ({_next('<', 'DESC')} LIMIT 1), ({_next('>', 'ASC')} LIMIT 1) FROM message m"
        f" WHERE m.id IN {LISTED}",
        (listed(keys),),
        columns=3,
    )
    return {key: (before, after) for key, before, after in rows}


def beside_each(
    db: sqlite3.Connection, ids: Sequence[str]
) -> dict[str, tuple[Message | None, Message | None]]:
    """The messages directly before and after each of the given ones, by public id."""
    found = pairs(db, [key for id in ids if (key := message_key(id)) is not None])
    rows = get(db, {key for both in found.values() for key in both if key is not None})
    there = {key: public(row) for key, row in rows.items()}
    return {
        message_id(key): (there.get(before or 0), there.get(after or 0))
        for key, (before, after) in found.items()
    }


def of_each(db: sqlite3.Connection, keys: Sequence[int], reach: int) -> dict[int, tuple[int, ...]]:
    """The neighbours of each message, up to ``reach`` on each side."""
    found: dict[int, tuple[int, ...]] = {}
    for page in pages(keys):
        for key, before, after in at_once(
            db,
            f"SELECT m.id, {_side('<', 'DESC')}, {_side('>', 'ASC')} FROM message m WHERE m.id IN {LISTED}",
            (reach, reach, listed(page)),
            columns=3,
        ):
            found[key] = tuple(int(other) for side in (before, after) if side for other in side.split(","))
    return found


def _side(sign: str, order: str) -> str:
    return f"(SELECT group_concat(id) FROM ({_next(sign, order)} LIMIT ?))"


def _next(sign: str, order: str) -> str:
    return (
        "SELECT n.id FROM message n WHERE n.session_id = m.session_id AND n.talk = 1"
        f" AND (n.order_at, n.position, n.id) {sign} (m.order_at, m.position, m.id)"
        f" ORDER BY n.order_at {order}, n.position {order}, n.id {order}"
    )


def around(tx: sqlite3.Connection, session: int, messages: Sequence[NewMessage]) -> set[int]:
    """The stored messages whose neighbours change when ``messages`` are added to a session."""
    touched: set[int] = set()
    for message in messages:
        if not message.talk:
            continue
        place = (session, message.order_at, message.position, NEIGHBOURS)
        for sign, order in (("<=", "DESC"), (">", "ASC")):
            touched.update(
                key
                for (key,) in tx.execute(
                    "SELECT id FROM message WHERE session_id = ? AND talk = 1"
                    f" AND (order_at, position) {sign} (?, ?)"
                    f" ORDER BY order_at {order}, position {order}, id {order} LIMIT ?",
                    place,
                )
            )
    return touched


def beside(tx: sqlite3.Connection, keys: Collection[int]) -> set[int]:
    """The given messages and those that have them as neighbours."""
    return set(keys).union(*of_each(tx, list(keys), NEIGHBOURS).values())
