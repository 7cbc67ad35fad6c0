"""Hints for callers without a shell: what a command of the command line is to an assistant, or over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping

from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters

_COMMAND = re.compile(r"'appliance ([a-z]+)(?: ([a-z]+)\b(?![-=]))?(?: (?!-)[^' -][^'-]*)?'")
"""A command with its action and what it is about; one with options does more than a tool or a path does."""

MCP_TOOLS: Mapping[str, str] = {
    "sessions": "memory_sessions",
    "summaries": "memory_sessions",
    "facts": "memory_facts",
    "search": "memory_search",
    "show": "memory_timeline",
    "core": "memory_core",
    "people list": "memory_people",
    "people show": "memory_people (action show)",
    "people me": "memory_people (action me)",
    "people split": "memory_people (action split)",
}
"""The tools that do what a command does."""

HTTP_PATHS: Mapping[str, str] = {
    "sessions": "GET /v1/sessions",
    "summaries": "GET /v1/summaries",
    "facts": "GET /v1/facts",
    "search": "POST /v1/search",
    "show": "GET /v1/sessions/{id}/messages",
    "core": "GET /v1/core",
    "attachments": "GET /v1/attachments",
    "people list": "GET /v1/people",
    "people show": "GET /v1/people/{person}",
    "people me": "PUT /v1/people/me",
    "people split": "POST /v1/people/{person}/split",
}
"""The paths that do what a command does."""


MCP_FILTERS: Mapping[str, str] = {
    "author": "authors", "with": "participants", "source": "source", "role": "role", "has": "has", "tag": "tags",
    "tool": "tools", "file": "files", "entity": "entities", "topic": "topics", "since": "since", "until": "until",
}  # fmt: skip
"""The arguments of ``memory_search`` that do what a filter in a query of the command line does."""


def filter_notes(query: str) -> list[str]:
    """Notes on filters of the command line in a query over MCP, where a query has words alone."""
    _, filters = extract_filters(query, SearchFilters(), NO_CURSOR)
    return [
        f"'{name}:{value}' was searched for as words; the argument {MCP_FILTERS[name]} filters."
        for name, value in filters.pairs()
        if name in MCP_FILTERS
    ]


def over_mcp(text: str) -> str:
    """A hint or a note for an assistant. What only a command does is for the person."""
    told = _translated(text, MCP_TOOLS)
    return f"For the person: {told}" if "'appliance " in told and "person" not in told.casefold() else told


def over_http(text: str) -> str:
    """A hint for a program that speaks HTTP."""
    return _translated(text, HTTP_PATHS)


def _translated(text: str, names: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        command = " ".join(filter(None, found.groups()))
        return names.get(command, found[0])

    return _COMMAND.sub(name, text)
