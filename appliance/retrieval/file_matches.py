"""The messages about the files that a query names: "what did I change in endpoints.py"."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from appliance.retrieval import cues
from appliance.store import mentions
from appliance.types import Filters
from appliance.types.file_names import paths

MAX_FILES = 4
"""The most files of a query that are looked up: a pasted stack trace asks for none of them."""

MAX_FILE_MESSAGES = 2_000
"""The most messages that are about the files of a query, the newest."""


def find_file_matches(db: sqlite3.Connection, query: str, filters: Filters) -> frozenset[int]:
    """The messages of the scope that name or carry a file of a query, or whose turn touched it."""
    files = list(dict.fromkeys(paths(query)))
    if not 0 < len(files) <= MAX_FILES:
        return frozenset()
    found = mentions.messages_mentioning(db, filters, mentions.FILE, files)
    if filters.messages is not None:
        found &= {*filters.messages}
    return frozenset(sorted(found, reverse=True)[:MAX_FILE_MESSAGES])


def find_file_edits(db: sqlite3.Connection, query: str, filters: Filters, matches: frozenset[int]) -> frozenset[int]:
    """Those of the messages about the files of a query whose turn changed one of them, if that is asked for: a call of
    a tool that only reads a file changes nothing."""
    if not matches or not cues.asks_for_change(query):
        return frozenset()
    files = list(dict.fromkeys(paths(query)))
    return matches & mentions.messages_mentioning(db, filters, mentions.FILE, files, mentions.EDITING_TOOLS)


def narrow_to_files(db: sqlite3.Connection, matches: frozenset[int], filters: Filters) -> Filters:
    """The filters narrowed to messages about the files of a query."""
    pieces = set(mentions.chunks_of(db, matches))
    if filters.chunks is not None:
        pieces &= {*filters.chunks}
    return replace(filters, messages=tuple(sorted(matches)), chunks=tuple(sorted(pieces)))
