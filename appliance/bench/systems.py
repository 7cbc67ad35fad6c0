"""What is compared on the same data and questions: the product's search, and each plain leg of it."""

from __future__ import annotations

from appliance.engine import Appliance
from appliance.types import Hits, Mode

SYSTEMS: dict[str, Mode] = {"evidence": "hybrid", "bm25": "lexical", "dense": "dense"}
"""The product's search, BM25 over single messages, and cosine of vectors over single messages."""


def ask(memory: Appliance, system: str, question: str, limit: int, user: str | None = None) -> Hits:
    """A question put to a system, as a user would."""
    return memory.search(question, limit=limit, mode=SYSTEMS[system], user_id=user)
