"""What stands directly before and after some messages, and whether people talk with each other there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from appliance.recall.candidates import Column
from appliance.store import messages, neighbours
from appliance.store.messages import Said
from appliance.store.scripts import is_question

CHARACTERS = 1_000
"""How much of a text is looked at; the legs read it whole."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Some messages by their ``keys``, those ``before`` and ``after`` each, and what ``said`` knows of all of
    them. ``people`` is 1 for what a person said with no assistant beside it, else 0."""

    keys: Sequence[int]
    before: Sequence[int | None]
    after: Sequence[int | None]
    said: Mapping[int, Said]
    people: Column

    @property
    def own(self) -> list[Said | None]:
        return [self.said.get(key) for key in self.keys]

    @property
    def beside(self) -> set[int]:
        """Every message that stands before or after one."""
        return {key for key in (*self.before, *self.after) if key is not None}

    @property
    def asking(self) -> list[int | None]:
        """The message before each, where people talk and it ends by asking."""
        return [
            key if key is not None and is_talk and self._asks(key) else None
            for key, is_talk in zip(self.before, self.people.tolist(), strict=True)
        ]

    def of_people(self) -> Iterator[tuple[int, int, list[int]]]:
        """Of what people said the row, the key, and the keys of what stands beside it."""
        for row, (key, is_talk, *sides) in enumerate(
            zip(self.keys, self.people.tolist(), self.before, self.after, strict=True)
        ):
            if is_talk:
                yield row, key, [side for side in sides if side is not None and side in self.said]

    def _asks(self, key: int) -> bool:
        return key in self.said and is_question(self.said[key].beginning)


def around(db: sqlite3.Connection, keys: Sequence[int]) -> Surroundings:
    """The surroundings of the messages of the given keys."""
    pairs = neighbours.pairs(db, keys)
    before, after = ([pairs.get(key, (None, None))[side] for key in keys] for side in (0, 1))
    beside = {key for key in (*before, *after) if key is not None}
    said = messages.said(db, beside.union(keys), CHARACTERS)
    talk = [
        _among_people(*(said.get(key) if key is not None else None for key in place))
        for place in zip(keys, before, after, strict=True)
    ]
    return Surroundings(keys, before, after, said, np.array(talk, np.float64))


def _among_people(own: Said | None, before: Said | None, after: Said | None) -> bool:
    beside = (one.role for one in (before, after) if one is not None)
    return own is not None and own.role == "user" and "assistant" not in beside
