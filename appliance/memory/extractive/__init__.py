"""Extractive summaries: sentences of the conversation itself, chosen without a model, with the place of each.

``analyze`` finds the sentences of a conversation, ``slice_analysis`` takes a part of them, and ``draft_summary``
chooses among them; ``summarize`` does the first and the last. ``exchanges`` and ``topics`` find the parts that are
worth a summary. Everything is pure: no store and no model; an ``Embed`` function supplies the vectors."""

from appliance.memory.extractive.analysis import ConversationAnalysis, Embed, analyze, message_vectors, slice_analysis
from appliance.memory.extractive.cues import settles
from appliance.memory.extractive.segmentation import Range, exchanges, topics
from appliance.memory.extractive.selection import (
    EXTRACTIVE,
    SummaryDraft,
    draft_summary,
    render_quotes,
    score_sentences,
    select_diverse,
    summarize,
    to_quotes,
)

__all__ = [
    "EXTRACTIVE", "ConversationAnalysis", "Embed", "Range", "SummaryDraft", "analyze", "draft_summary", "exchanges",
    "message_vectors", "render_quotes", "score_sentences", "select_diverse", "settles", "slice_analysis", "summarize",
    "to_quotes", "topics",
]  # fmt: skip
