"""Steps that many parsers share on the way from decoded JSON to records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from appliance.formats import json_stream
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import json_type, wrong_type
from appliance.formats.salvage import MAX_DEPTH, is_whole
from appliance.types import InputProblem, Record


def parse_objects(
    document: Document,
    first_keys: Sequence[tuple[str, str]],
    kind: str,
    parse: Callable[[dict[str, Any], str], Iterator[Record]],
    max_depth: int = MAX_DEPTH,
) -> Iterator[Record]:
    """What ``parse`` makes of each object of a JSON document.

    Args:
        first_keys, max_depth: As for ``json_stream.records``.
        kind: What an object is called in problems: "conversation".
        parse: Is called with the object and its place ("conversation 3").
    """
    for value in json_stream.records(document, first_keys, max_depth=max_depth):
        if isinstance(value, InputProblem):
            yield value
        elif isinstance(value.data, dict):
            yield from parse(value.data, f"{kind} {value.number}")
        else:
            yield wrong_type(f"{kind} {value.number}", kind, value.data)


def best_score(head: DocumentHead, score: Callable[[dict[str, Any]], float]) -> float:
    """The highest score of the first objects of a document; 0 if it has none."""
    return max((score(record) for record in json_stream.preview(head.text) if isinstance(record, dict)), default=0.0)


def missing_messages(value: Any, parent: dict[str, Any], where: str) -> InputProblem:
    """The problem with ``value``, which should be the list of messages of ``parent``.

    A missing list (None) is harmless, unless the parent is damaged and may have lost it."""
    reason = "has no messages" if value is None else f"messages is {json_type(value)}, not a list"
    return InputProblem(where, f"{reason}; skipped", harmless=value is None and is_whole(parent))


def repeated_id(identity: str, where: str) -> InputProblem:
    """The note about a second message under one id."""
    return InputProblem(where, f"the id {identity} occurs twice; the second message gets none", harmless=True)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 message", "2 messages". ``plural`` is for nouns that take more than an "s"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def metadata_of(**fields: Any) -> dict[str, Any]:
    """Metadata of the fields that hold something: no None, False or empty list."""
    return {key: value for key, value in fields.items() if value}
