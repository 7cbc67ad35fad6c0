"""The vectors of the latest questions: a context asks for one several times, a person types one again."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

KEPT = 256
"""Questions whose vectors stay at hand, 1.5 KB each."""


class AtHand:
    """Vectors by the model that made them and the question. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    def get(self, model: str, question: str) -> NDArray[np.float32] | None:
        with self._lock:
            found = self._vectors.get((model, question))
            if found is not None:
                self._vectors.move_to_end((model, question))
            return found

    def keep(self, model: str, question: str, vector: NDArray[np.float32]) -> None:
        """Keep one, and let go of the one that was asked for longest ago."""
        with self._lock:
            self._vectors[model, question] = vector
            while len(self._vectors) > KEPT:
                self._vectors.popitem(last=False)
