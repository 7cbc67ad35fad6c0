"""Summaries without a model: sentences of the conversation itself, chosen, with where each stands.

``read`` finds the sentences of a conversation, ``drafted`` chooses among them; ``summarise`` is both. ``exchanges`` and
``topics`` say what there is to summarise. Pure: no store, no model; vectors come from a function that is given.
"""

from appliance.memory.summarise.draft import Draft, drafted, rendered, summarise
from appliance.memory.summarise.reading import Embed, Reading, read
from appliance.memory.summarise.segments import exchanges, topics

__all__ = ["Draft", "Embed", "Reading", "drafted", "exchanges", "read", "rendered", "summarise", "topics"]
