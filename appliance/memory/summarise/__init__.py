"""Summaries without a model: sentences of the conversation itself, chosen, with where each stands.

``read`` finds the sentences of a conversation, ``part`` takes some of its messages, ``drafted`` chooses among them;
``summarise`` is the first and the last. ``exchanges`` and ``topics`` say what there is to summarise. Pure: no store, no
model; vectors come from a function that is given.
"""

from appliance.memory.summarise.choose import picked, scores
from appliance.memory.summarise.draft import Draft, drafted, quoted, rendered, summarise
from appliance.memory.summarise.reading import Embed, Reading, message_vectors, part, read
from appliance.memory.summarise.segments import exchanges, topics

__all__ = [
    "Draft",
    "Embed",
    "Reading",
    "drafted",
    "exchanges",
    "message_vectors",
    "part",
    "picked",
    "quoted",
    "read",
    "rendered",
    "scores",
    "summarise",
    "topics",
]
