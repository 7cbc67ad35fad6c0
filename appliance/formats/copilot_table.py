"""Microsoft Copilot: the history of activity as a table (CSV) of conversation, time, author and message."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain

from appliance.formats import text as texts
from appliance.formats.base import Document
from appliance.formats.chat_app_turns import AppConversation, AppTurn, text_parts
from appliance.formats.json_stream import error_text
from appliance.types import InputProblem, Role

_HEADER = re.compile(r'\ufeff?"?Conversation"?,"?Time"?,"?Author"?,"?Message"?\s*(?:\r?\n|$)', re.IGNORECASE)
_AUTHORS: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "copilot": "assistant",
    "bot": "assistant",
}
_MAX_FIELD = 64 * 1024 * 1024


def matches(text: str) -> bool:
    """Whether the text begins with the table's header."""
    return _HEADER.match(text) is not None


def conversations(document: Document) -> Iterator[AppConversation | InputProblem]:
    """The conversations of the table; rows of one title are one. The newest row stands first."""
    found: dict[str, AppConversation] = {}
    csv.field_size_limit(_MAX_FIELD)
    try:
        with texts.utf8(document) as (stream, _):
            decoded = (line.decode("utf-8", "replace") for line in stream)
            rows = csv.reader(chain([next(decoded, "").lstrip("\ufeff")], decoded))
            next(rows, None)
            for number, row in enumerate(rows, 2):
                if len(row) < 4:
                    if any(row):
                        yield InputProblem(f"row {number}", "the row has fewer than four columns; skipped")
                    continue
                title, time, author, message = row[:4]
                role = _AUTHORS.get(author.strip().lower())
                if role is None:
                    yield InputProblem(f"row {number}", "the author is unknown; imported as system")
                conversation = found.setdefault(title, AppConversation(None, title or None))
                turn = AppTurn(role or "system", text_parts(message), time or None, where=f"row {number}")
                conversation.turns.append(turn)
    except (csv.Error, *texts.READ_ERRORS) as error:
        yield InputProblem("", f"can't be read to its end: {error_text(error)}")
    for conversation in found.values():
        stamps = [turn.time or "" for turn in conversation.turns if isinstance(turn, AppTurn)]
        if stamps and str(stamps[0]) > str(stamps[-1]):
            conversation.turns.reverse()
        yield conversation
