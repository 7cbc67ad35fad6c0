"""The words of a person within what a client puts around them: documents before a question, the state of an editor
behind a task."""

from __future__ import annotations

_DOCUMENTS_START, _DOCUMENTS_END = "### Task:", "</context>"
"""Where Open WebUI's template for documents begins, and ends before the question."""

_SURROUNDINGS = "environment_details"
"""What Cline, Roo Code and their kin put behind what is said."""

_TAGS = ("task", "feedback", "user_message")
"""What they put around a task, and around what is said later on."""


def words_of_person(text: str) -> str:
    """The words of a person in a message of the role "user"; the same text where nothing is around them."""
    if text.startswith(_DOCUMENTS_START) and "<context>" in text:
        return _question(text)
    words = text.strip()
    if words.endswith(f"</{_SURROUNDINGS}>"):
        words = words.partition(f"<{_SURROUNDINGS}>")[0].strip()
    for tag in _TAGS:
        inner = _inside(words, tag)
        if inner:
            return inner
    return words if words and len(words) < len(text.strip()) else text


def _question(text: str) -> str:
    """The question behind the documents, or between tags of its own in older templates."""
    words = text.rpartition(_DOCUMENTS_END)[2].strip()
    return _inside(words, "user_query") or words or text


def _inside(text: str, tag: str) -> str:
    """What stands between two tags that are around a whole text; empty if none are."""
    start, end = f"<{tag}>", f"</{tag}>"
    if not (text.startswith(start) and text.endswith(end)):
        return ""
    inner = text[len(start) : -len(end)]
    return "" if end in inner else inner.strip()
