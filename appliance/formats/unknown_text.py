"""What is kept of a record by a person or an assistant whose words stand in a shape that no parser knows.

The rule is the same for all parsers: every string of the unknown part is kept as text, except what only describes the
record (ids, types, times, names of models and files), and a note says so. A part without such a string is reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from appliance.types import InputProblem

NOTE = "the text stands in an unknown shape"
"""How a note on such a record begins; detection by reading does not count it as read."""

TEXT_KEYS = (
    "text", "content", "contents", "body", "message", "value", "markdown", "parts", "segments", "blocks", "msg",
    "caption", "words", "utterance", "response", "prompt", "answer", "display", "input_text", "output_text", "raw",
)  # fmt: skip
"""Keys under which programs put a message's words."""

_DESCRIBING = frozenset(
    """
    id ids uuid guid hash sha digest checksum signature etag token tokens nonce key index version schema protocol
    type kind subtype mime mimetype mediatype contenttype format encoding lang language locale role sender author from
    actor speaker recipient owner user username userid name displayname status state channel source origin
    platform client agent agentid model modelid modelslug provider engine finishreason stopreason endturn
    time timestamp ts date datetime created createdat createtime updated updatedat updatetime inserted insertedat
    modified edited editedat sent sentat started ended finished start end duration timezone
    cwd path filepath file filename folder directory branch gitbranch url uri href link src image imageurl
    parent parentid parentuuid parentmessageid children childrenids replyto thread threadid session sessionid
    conversationid chatid messageid requestid turnid callid toolcallid traceid spanid usertype entrypoint
    color colour style class level severity visibility weight metadata meta usage data64 base64 thoughtsignature
    reactions emoji avatar
    """.split()
)
_ID_SUFFIXES = ("id", "uuid", "at", "time", "date", "timestamp", "hash", "url", "uri", "type")
_KEY_LETTERS = re.compile(r"[^a-z0-9]+")
_ID_LIKE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{9,}|[0-9a-fA-F]{24,}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*|\d{10,19}(?:\.\d+)?"
)
# A longer run without a blank, of the letters of base64 alone, is data.
_DATA = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=_-]{80,}")
_SENTENCE = re.compile(r"\S+\s+\S+\s+\S+\s+\S|[\u3040-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{8}")
"""Four words, or eight letters of a script that sets none apart."""
_MAX_DEPTH = 60


def strings_of(value: Any, known: Collection[str] = ()) -> Iterator[str]:
    """The strings of a decoded value that say something, in its order; those under ``known`` keys are left out."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            if item.strip() and not _ID_LIKE.fullmatch(item.strip()) and not _DATA.fullmatch(item.strip()):
                yield item
        elif depth > _MAX_DEPTH:
            continue
        elif isinstance(item, list):
            stack.extend((inner, depth + 1) for inner in reversed(item))
        elif isinstance(item, dict):
            inside = [inner for key, inner in item.items() if key not in known and not is_describing(key, inner)]
            stack.extend((inner, depth + 1) for inner in reversed(inside))


def sentences_of(value: Any, known: Collection[str] = ()) -> str:
    """Those strings of a value that are as long as a sentence, each on lines of its own; empty if it has none."""
    return "\n".join(one for one in strings_of(value, known) if _SENTENCE.search(one))


def is_describing(key: str, value: Any) -> bool:
    """Whether a value describes its record, by its key; a text key with an object or a list holds words in any case."""
    letters = _KEY_LETTERS.sub("", key.lower())
    return letters in _DESCRIBING or (letters.endswith(_ID_SUFFIXES) and not isinstance(value, dict | list))


def text_of(value: Any, known: Collection[str] = ()) -> str:
    """The strings of a value as one text, each on lines of its own; empty if it has none."""
    return "\n".join(strings_of(value, known))


def text_under_text_keys(record: Mapping[str, Any]) -> str:
    """The strings under the keys of a record that usually hold words, for chats whose other fields say other things."""
    return text_of([record[key] for key in TEXT_KEYS if key in record])


def text_of_record(record: Mapping[str, Any], known: Collection[str] = ()) -> str:
    """The text of an assistant's record that has none where its format puts it: the strings under text keys, else those
    of all lists and objects but ``known`` ones."""
    blocks = {key: value for key, value in record.items() if isinstance(value, list | dict)}
    return text_under_text_keys(record) or text_of(blocks, known)


def kept(where: str, what: str = "") -> InputProblem:
    """The note that the strings of a part in an unknown shape (``what``: its type) were kept."""
    return InputProblem(where, f"{NOTE}{f' ({what[:60]})' if what else ''}; its strings were kept", harmless=True)


def lost(where: str, what: str = "message") -> InputProblem:
    """The note on a record without any text."""
    return InputProblem(where, f"the {what} has no text; skipped", harmless=True)
