"""The Markdown that ``export`` writes, and how it is read back.

A file begins with ``MARKER``. A conversation is a heading of the first level, a line about it, and a comment with its
id; a message is a line with its author in bold and, if they are known, its role and its time, and a comment with its
id, and then its text. Messages of tools and of the system are quotations. By the ids an import knows the messages that
it has, and those that were forgotten. A file of the first format has none: all of it would be a new conversation.

What people and assistants write is Markdown too, and stays so. But a line of theirs that this format, or a program that
shows it, would take for its own gets a backslash before it: a heading of the first level, an author's line, HTML, and a
fence that is never closed. So a text can neither begin another message nor hide the next one. Lines within closed
fences are as they were.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import Any, cast, get_args

from appliance.formats import native
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

MARKER = "<!-- conversations exported by the memory appliance, format 2 -->"

MARKER_WITHOUT_IDS = "<!-- conversations exported by the memory appliance, format 1 -->"

CONVERSATION_TIME = " (conversation)"
"""Behind a time that is not the message's but its conversation's."""

_ROLES: tuple[Role, ...] = get_args(Role)
_ROLE = "|".join(_ROLES)
_HEADING = re.compile(r"# (?P<title>.*)")
_ABOUT = re.compile(r"_.*\d messages?_")
_COMMENT = re.compile(r"<!-- (?P<values>\{.*\}) -->")
_OPENER = re.compile(
    rf"(?P<aside>> )?\*\*(?P<who>.*)\*\*(?: \((?P<role>{_ROLE})\))?(?: · (?P<when>.*?))?(?: <!-- (?P<id>\{{.*\}}) -->)?"
)
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
_TAKEN = re.compile(
    r"(?P<indent> {0,3})(?P<escape>\\*)"
    r"(?=#(?:\s|$)|=+\s*$|<(?![a-zA-Z][a-zA-Z0-9+.-]+:)[a-zA-Z/!?]|`{3}|~{3}"
    rf"|(?:> ?)*\*\*.*\*\*(?: \((?:{_ROLE})\))?(?: · .*)?(?: <!--.*)?\s*$)"
)
"""A line that is taken for something else than text, without or with backslashes before it."""


# --- writing ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationId:
    """What a conversation is known by. ``title`` is the one that its source or a person gave it, ``owner`` the user and
    the namespace if they are to be kept."""

    format: str
    id: str
    title: str | None = None
    owner: tuple[str, str] | None = None


def heading(title: str, about: str, id: ConversationId) -> str:
    """The beginning of a conversation."""
    owner = {"user_id": id.owner[0], "namespace": id.owner[1]} if id.owner else {}
    values = {"source": id.format, "session_id": id.id, "title": id.title, **owner}
    return f"# {_one_line(title)}\n\n_{about}_\n\n{_comment(values)}\n\n"


def message(
    role: Role, author: str | None, when: str, text: str, *, is_aside: bool, id: str, session: str | None = None
) -> str:
    """A message. ``when`` is its time, "" if it is unknown; an aside is a quotation. ``session`` is the id of the
    conversation that it is of, if it is not that of the heading."""
    author = _one_line(author or "")
    has_role = is_aside or (author and (role != "user" or author in _ROLES))
    opener = f"**{author or role}**" + (f" ({role})" if has_role else "") + (f" · {when}" if when else "")
    opener += f" {_comment({'message_id': id, 'session_id': session})}"
    lines = list(_escaped(text.split("\n")))
    if is_aside:
        return "\n".join((f"> {opener}", ">", *(f"> {line}" for line in lines))) + "\n\n"
    return "\n".join((opener, "", *lines)) + "\n\n"


def _comment(values: Mapping[str, Any]) -> str:
    """A comment that no value of it can end: JSON in ASCII, without "<" and ">"."""
    written = json.dumps({key: value for key, value in values.items() if value is not None})
    return f"<!-- {written.translate(_BRACKETS)} -->"


_BRACKETS = {ord("<"): "\\u003c", ord(">"): "\\u003e"}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escaped(lines: Sequence[str]) -> Iterator[str]:
    longest = _longest_ends(lines)
    fence = ""
    for number, line in enumerate(lines):
        if fence:
            yield line
            fence = "" if _ends(line, fence) else fence
        elif (opened := _FENCE.fullmatch(line)) and longest[number + 1].get(opened["mark"][0], 0) >= len(
            opened["mark"]
        ):
            yield line
            fence = opened["mark"]
        elif found := _TAKEN.match(line):
            yield f"{found['indent']}\\{line[found.end('indent') :]}"
        else:
            yield line


def _longest_ends(lines: Sequence[str]) -> list[dict[str, int]]:
    """The length of the longest line that may end a fence, of each kind, from each line on."""
    found: list[dict[str, int]] = [{}]
    for line in reversed(lines):
        later = found[-1]
        ends = _FENCE.fullmatch(line)
        if ends and not ends["info"].strip(" \t") and len(ends["mark"]) > later.get(ends["mark"][0], 0):
            later = later | {ends["mark"][0]: len(ends["mark"])}
        found.append(later)
    return found[::-1]


def _ends(line: str, fence: str) -> bool:
    ends = _FENCE.fullmatch(line)
    return ends is not None and not ends["info"].strip(" \t") and ends["mark"].startswith(fence)


# --- reading ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Turn:
    """A message: its opener, and the lines behind that."""

    number: int
    opener: re.Match[str]
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text without the blank line before it and the one behind it."""
        lines = self.lines[1:] if self.lines[:1] == [""] else self.lines
        return "\n".join(_unescaped(lines[:-1] if lines[-1:] == [""] else lines))

    @property
    def author(self) -> str | None:
        return None if self.opener["who"] == self.role else self.opener["who"]

    @property
    def role(self) -> Role:
        who = self.opener["who"]
        return cast(Role, self.opener["role"] or (who if who in _ROLES else "user"))

    @property
    def when(self) -> str:
        return self.opener["when"] or ""


def is_export(lines: Sequence[str]) -> bool:
    """Whether these are the first lines of an export."""
    return bool(lines) and _marker(lines[0]) in (MARKER, MARKER_WITHOUT_IDS)


def has_no_ids(text: str) -> bool:
    """Whether a text is the beginning of an export of the first format."""
    return _marker(text[: 2 * len(MARKER)].partition("\n")[0]) == MARKER_WITHOUT_IDS


def _marker(line: str) -> str:
    return line.removeprefix("\ufeff").strip()


def parse(lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    """The conversations of an export, whose first line is the marker. The lines may have carriage returns at their
    ends: if the marker has one, all have got theirs from a program that edited the file."""
    known: Counter[str] = Counter()
    _, marker = next(lines, (1, ""))
    has_ids = _marker(marker) == MARKER
    if marker.endswith("\r"):
        lines = ((number, line.removesuffix("\r")) for number, line in lines)
    known_ids: set[str] = set()
    for place, parts in groupby(_parts(lines), lambda part: part[0]):
        records = (part for _, part in parts)
        if has_ids:
            yield from _identified_session(place, records, known_ids)
            continue
        opening = list(islice(records, 2))
        yield from _session(place.title, opening, records, known)


def _session(
    title: str, opening: Sequence[_Turn | InputProblem], more: Iterator[_Turn | InputProblem], known: Counter[str]
) -> Iterator[Record]:
    """The records of a conversation, which its title and its first two messages identify, and how many before it had
    the same."""
    turns = [part for part in opening if isinstance(part, _Turn)]
    key = "\0".join((title, *chain.from_iterable((turn.opener[0], turn.text) for turn in turns)))
    known[key] += 1
    digest = hashlib.sha256(f"{key}\0{known[key]}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    session = f"markdown:{digest}"
    first = turns[0].when if turns else ""
    yield SessionRecord(session, title or None, read_time(first.removesuffix(CONVERSATION_TIME)))
    for part in chain(opening, more):
        yield part if isinstance(part, InputProblem) else _record(session, None, part)


def _identified_session(place: _Place, parts: Iterator[_Turn | InputProblem], known: set[str]) -> Iterator[Record]:
    """The records of a conversation that names its id. What has none can't be recognised, and is left out."""
    values = _values(place.comment)
    if "session_id" not in values or values.get("source") is None:
        reason = "the comment with the conversation's id is missing; its messages were not imported"
        yield InputProblem(f"line {place.number}", reason)
        return
    origin, scope = native.export_origin(values)
    for part in parts:
        if isinstance(part, InputProblem):
            yield part
            continue
        ids = _values(part.opener["id"])
        if "message_id" not in ids:
            yield InputProblem(
                f"line {part.number}", "the comment with the message's id is missing; it was not imported"
            )
            continue
        session, title = (
            ids.get("session_id", values["session_id"]),
            None if "session_id" in ids else values.get("title"),
        )
        header = SessionRecord(session, title, format=origin, scope=scope, dates_messages=False, is_rendition=True)
        if header.key not in known:
            known.add(header.key)
            yield header
        yield _record(header.key, ids["message_id"], part)


def _values(comment: str | None) -> dict[str, str]:
    """The values of a comment that are texts."""
    try:
        found = json.loads(comment or "{}")
    except (ValueError, RecursionError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _record(session: str, id: str | None, turn: _Turn) -> MessageRecord:
    metadata: dict[str, Any] = {}
    if turn.opener["aside"] and turn.role in ("user", "assistant"):
        metadata["hidden"] = True
    if turn.when.endswith(CONVERSATION_TIME):
        metadata["time"] = "conversation"
    return MessageRecord(
        session,
        turn.role,
        turn.text,
        id,
        author=turn.author,
        sent_at=read_time(turn.when.removesuffix(CONVERSATION_TIME)),
        metadata=metadata,
        where=f"line {turn.number}",
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A conversation: the line of its heading, its title, and the values of its comment."""

    number: int = 1
    title: str = ""
    comment: str = ""


def _parts(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[_Place, _Turn | InputProblem]]:
    """The messages, and what stands outside of them, each with its conversation."""
    place, turn, fence = _Place(), None, ""
    for number, line in lines:
        is_quoted = turn is not None and turn.opener["aside"] is not None and line.startswith(">")
        text = line[1:].removeprefix(" ") if is_quoted else line
        if fence:
            assert turn is not None
            turn.lines.append(text)
            fence = "" if _ends(text, fence) else fence
        elif found := _HEADING.fullmatch(line):
            if turn is not None:
                yield place, turn
            place, turn = _Place(number, found["title"]), None
        elif found := _OPENER.fullmatch(line):
            if turn is not None:
                yield place, turn
            turn = _Turn(number, found)
        elif turn is not None:
            turn.lines.append(text)
            if opened := _FENCE.fullmatch(text):
                fence = opened["mark"]
        elif found := _COMMENT.fullmatch(line):
            place = replace(place, comment=found["values"])
        elif line.strip() and not _ABOUT.fullmatch(line):
            yield place, InputProblem(f"line {number}", "this line belongs to no message; it was not imported")
    if turn is not None:
        yield place, turn


def _unescaped(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        if fence:
            fence = "" if _ends(line, fence) else fence
        elif opened := _FENCE.fullmatch(line):
            fence = opened["mark"]
        elif (found := _TAKEN.match(line)) and found["escape"]:
            line = f"{found['indent']}{line[found.end('indent') + 1 :]}"
        yield line
