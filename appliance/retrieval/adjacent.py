"""The best candidates of a search with the messages next to them, and who talks there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from appliance.lazy_dataclasses import dataclass
from appliance.retrieval.candidates import Column
from appliance.store import messages, neighbours
from appliance.store.messages import MessageExcerpt
from appliance.store.scripts import is_question

EXCERPT_CHARACTERS = 1_000
"""How much of a text the second stage reads; the legs read it whole."""


@dataclass(frozen=True, slots=True)
class AdjacentMessages:
    """Messages with their neighbours.

    Attributes:
        keys: The messages.
        before: The message before each, None at the beginning of its session.
        after: The message after each, None at the end of its session.
        excerpts: The beginnings of all these messages, by key.
        between_people: 1 for a person's message with no assistant before or after it, else 0.
    """

    keys: Sequence[int]
    before: Sequence[int | None]
    after: Sequence[int | None]
    excerpts: Mapping[int, MessageExcerpt]
    between_people: Column

    def select(self, keys: Sequence[int]) -> AdjacentMessages | None:
        """Some of the messages, with their neighbours; None if any of them is none of these."""
        rows = {key: row for row, key in enumerate(self.keys)}
        places = [rows[key] for key in keys if key in rows]
        if len(places) < len(keys):
            return None
        before, after = ([side[place] for place in places] for side in (self.before, self.after))
        needed = {key for key in (*keys, *before, *after) if key is not None and key in self.excerpts}
        excerpts = {key: self.excerpts[key] for key in needed}
        return AdjacentMessages(keys, before, after, excerpts, self.between_people[places])

    @property
    def own_excerpts(self) -> list[MessageExcerpt | None]:
        return [self.excerpts.get(key) for key in self.keys]

    @property
    def neighbour_keys(self) -> set[int]:
        """The keys of all neighbours."""
        return {key for key in (*self.before, *self.after) if key is not None}

    @property
    def preceding_questions(self) -> list[int | None]:
        """The message before each, if it is a question between people."""
        return [
            key if key is not None and is_between_people and self._is_question(key) else None
            for key, is_between_people in zip(self.before, self.between_people.tolist(), strict=True)
        ]

    def rows_between_people(self) -> Iterator[tuple[int, int, list[int]]]:
        """The row, the key and the neighbours' keys of each message between people."""
        for row, (key, is_between_people, *neighbours_of_row) in enumerate(
            zip(self.keys, self.between_people.tolist(), self.before, self.after, strict=True)
        ):
            if is_between_people:
                yield (row, key, [side for side in neighbours_of_row if side is not None and side in self.excerpts])

    def _is_question(self, key: int) -> bool:
        return key in self.excerpts and is_question(self.excerpts[key].excerpt)


def load_adjacent(
    db: sqlite3.Connection, keys: Sequence[int], characters: int = EXCERPT_CHARACTERS
) -> AdjacentMessages:
    """Read the first ``characters`` of messages and of their neighbours."""
    pairs = neighbours.adjacent_keys(db, keys)
    before, after = ([pairs.get(key, (None, None))[side] for key in keys] for side in (0, 1))
    neighbour_keys = {key for key in (*before, *after) if key is not None}
    excerpts = messages.excerpts(db, neighbour_keys.union(keys), characters)
    between_people = [
        _is_between_people(*(excerpts.get(key) if key is not None else None for key in place))
        for place in zip(keys, before, after, strict=True)
    ]
    return AdjacentMessages(keys, before, after, excerpts, np.array(between_people, np.float64))


def _is_between_people(own: MessageExcerpt | None, before: MessageExcerpt | None, after: MessageExcerpt | None) -> bool:
    neighbour_roles = (one.role for one in (before, after) if one is not None)
    return own is not None and own.role == "user" and "assistant" not in neighbour_roles
