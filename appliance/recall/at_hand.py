"""Vectors that stay at hand: of the latest questions, since a context asks for one several times and a person types
one again, and of what was said just now."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from appliance.store import chunks

KEPT = 256
"""Texts whose vectors stay at hand, 1.5 KB each."""

SAID = 64
"""Messages that count as said just now: more at once are an import, which is found when its turn has come."""


class AtHand:
    """Vectors by the model that made them and the text. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    def get(self, model: str, text: str) -> NDArray[np.float32] | None:
        with self._lock:
            found = self._vectors.get((model, text))
            if found is not None:
                self._vectors.move_to_end((model, text))
            return found

    def keep(self, model: str, text: str, vector: NDArray[np.float32]) -> None:
        """Keep one, and let go of the one that was asked for longest ago."""
        with self._lock:
            self._vectors[model, text] = vector
            while len(self._vectors) > KEPT:
                self._vectors.popitem(last=False)


class JustSaid:
    """The messages that were said just now and may still wait for the index, with their vectors as soon as somebody
    asks: nobody looks in vain for what he has just said himself, however much waits besides."""

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._vectors = AtHand()

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, message: int) -> None:
        if len(self._keys) < SAID:
            self._keys.add(message)

    def keys(self) -> frozenset[int]:
        return frozenset(self._keys.copy())

    def vectors(
        self,
        db: sqlite3.Connection,
        generation: int,
        model: str,
        embed: Callable[[Sequence[str]], NDArray[np.float32]],
    ) -> dict[int, NDArray[np.float32]]:
        """The vectors, (chunks, dimension), of each one that still waits, by a model's identity and its passages."""
        said = self.keys()
        waiting = chunks.next_puts(db, generation, SAID, said) if said else []
        if not waiting:
            self._keys.difference_update(said)  # the index has them
        found = {one.chunk: self._vector(model, one.passage, embed) for one in waiting}
        each = chunks.chunks_of(db, generation, sorted(said)) if found else {}
        return {
            message: np.stack([found[key] for key in keys if key in found])
            for message, keys in each.items()
            if not found.keys().isdisjoint(keys)
        }

    def _vector(
        self, model: str, passage: str, embed: Callable[[Sequence[str]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        known = self._vectors.get(model, passage)
        if known is None:
            known = embed([passage])[0]
            self._vectors.keep(model, passage, known)
        return known
