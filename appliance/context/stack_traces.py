"""Stack traces in a text: which lines are the error, and which frames stand nearest to it.

Python writes the error last; Java, JavaScript, C#, Ruby, Go and Rust write it first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from appliance.lazy_dataclasses import dataclass

TraceRole = Literal["heading", "error", "detail", "frame"]

ERROR_WEIGHT, OUTER_ERROR_WEIGHT = 100.0, 50.0
"""The weight of a trace's root error, and of an error around it: both come before the rest of the text."""

DETAIL_WEIGHT = 10.0
"""The weight of the lines of an error's message after the first."""

FRAME_WEIGHTS = (8.0, 1.5)
"""The weights of the frames nearest to the error: the place where it happened comes before the errors of a log and
before nearly every sentence, its caller before a sentence with one word of the query."""

FAR_FRAME_WEIGHT, LIBRARY_FRAME_WEIGHT, HEADING_WEIGHT = 0.5, 0.25, 0.95
"""The weights of the other frames (those of a library are seldom the cause) and of the line that begins a trace."""

MAX_MESSAGE_LINES = 6
"""How many lines of an error's message are taken for it."""

_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\s*$")
_PYTHON_FRAME = re.compile(r'[\s|]*File "[^"\n]+", line \d+')
_PYTHON_ERROR = re.compile(r"[\s|]*[A-Za-z_][\w.]*(?::\s|\s*$)")
_INDENT = re.compile(r"[\s|+]*")

_ERROR = re.compile(
    r"\w(?:Error|Exception|Throwable|Fault)\b|\b(?:Error|Exception): "
    r"|^\s*(?:panic|fatal error): |^\s*thread '.*' panicked at"
)
_CAUSE = re.compile(r"\s*(?:Caused by: |Suppressed: |\[cause\]: )")
_FRAME = re.compile(
    r"\s*(?:at\s+\S.*(?:\((?:[^()]*:\d+|Native Method|Unknown Source|<anonymous>|native)\)|:\d+|:line \d+)[\s{]*$"
    r"|from\s+\S+:\d+(?::in\b|\s*$)|\d{1,4}:\s+\S*::\S+\s*$)"
    r"|\s+at\s+[\w.$<>`]+\(.*\)\s*$"
)
_GO_PLACE = re.compile(r"\s+\S+\.go:\d+")
_RUST_PLACE = re.compile(r"\s+at\s+\S+:\d+(?::\d+)?\s*$")
_RUST_FRAME = re.compile(r"\s*\d{1,4}:\s")
_BETWEEN = re.compile(r"\s*(?:goroutine \d+ \[|stack backtrace:|\.\.\. \d+ (?:more|common frames))")
_HINTS = ("Traceback (most", "Error", "Exception", "Throwable", "Fault", "panic", "fatal error: ")
"""One of these stands in each line that a trace begins with; to look for them is faster than the patterns."""

_LIBRARY = re.compile(
    r"site-packages|dist-packages|node_modules|\bnode:|/lib/python|\bjava\.base/|\bjdk\.|/rustc/|go/src/"
)


@dataclass(frozen=True, slots=True)
class TracePart:
    """A line or a frame of a stack trace, with all of its lines, and its weight beside the other parts of a text."""

    text: str
    role: TraceRole
    weight: float = 0.0


def read_trace(lines: Sequence[str], at: int) -> tuple[int, list[TracePart]] | None:
    """The stack trace that begins with the line ``at``: the index behind its last line, and its parts in their order.

    Together the parts are the text of the lines. None if no trace begins there.
    """
    line = lines[at]
    if not any(hint in line for hint in _HINTS):
        return None
    if _TRACEBACK.search(line):
        return _error_last(lines, at)
    if _ERROR.search(line):
        return _error_first(lines, at)
    return None


def has_trace(text: str) -> bool:
    """Whether a text has a stack trace."""
    if not any(hint in text for hint in _HINTS):
        return False
    lines = text.splitlines(keepends=True)
    return any(read_trace(lines, at) is not None for at in range(len(lines)))


def _error_last(lines: Sequence[str], at: int) -> tuple[int, list[TracePart]] | None:
    """A trace of Python."""
    parts = [TracePart(lines[at], "heading", HEADING_WEIGHT)]
    outer = _indent(lines[at])
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if _PYTHON_FRAME.match(line):
            parts.append(TracePart(line, "frame"))
        elif parts[-1].role != "frame":
            return None
        elif _indent(line) > outer or not _PYTHON_ERROR.match(line):
            if _ends_paragraph(lines[end - 1]) and _indent(line) <= outer:
                break
            parts[-1] = replace(parts[-1], text=parts[-1].text + line)
        else:
            parts.append(TracePart(line, "error", ERROR_WEIGHT))
            end += 1
            message_end = _message_end(lines, end)
            parts += [TracePart(detail, "detail", DETAIL_WEIGHT) for detail in lines[end:message_end]]
            end = message_end
            break
        end += 1
    frames = [number for number, part in enumerate(parts) if part.role == "frame"]
    return (end, _weighed(parts, frames[::-1])) if frames else None


def _error_first(lines: Sequence[str], at: int) -> tuple[int, list[TracePart]] | None:
    """A trace of another language."""
    first = next((i for i in range(at + 1, min(at + 2 + MAX_MESSAGE_LINES, len(lines))) if _frame_end(lines, i)), None)
    if first is None or any(map(_TRACEBACK.search, lines[at:first])):
        return None
    parts = [TracePart(lines[at], "error", ERROR_WEIGHT)]
    parts += [TracePart(line, "heading" if _BETWEEN.match(line) else "detail") for line in lines[at + 1 : first]]
    end = first
    while end < len(lines):
        if frame_end := _frame_end(lines, end):
            parts.append(TracePart("".join(lines[end:frame_end]), "frame"))
            end = frame_end
            continue
        if _CAUSE.match(lines[end]):
            parts.append(TracePart(lines[end], "error", ERROR_WEIGHT))
        elif _BETWEEN.match(lines[end]):
            parts.append(TracePart(lines[end], "heading"))
        else:
            break
        end += 1
    root = max(number for number, part in enumerate(parts) if part.role == "error")
    parts = [
        replace(part, weight=OUTER_ERROR_WEIGHT)
        if part.role == "error" and number != root
        else replace(part, weight=DETAIL_WEIGHT)
        if part.role == "detail"
        else part
        for number, part in enumerate(parts)
    ]
    nearest = [number for number, part in enumerate(parts) if part.role == "frame" and number > root]
    return end, _weighed(parts, nearest)


def _weighed(parts: Sequence[TracePart], frames: Sequence[int]) -> list[TracePart]:
    """The parts with the weights of their ``frames``, which are given by number, the one nearest to the error first."""
    weighed = list(parts)
    for nth, number in enumerate(frames):
        if nth < len(FRAME_WEIGHTS):
            weight = FRAME_WEIGHTS[nth]
        else:
            # The nearer ones come first among equals.
            far = LIBRARY_FRAME_WEIGHT if _LIBRARY.search(parts[number].text) else FAR_FRAME_WEIGHT
            weight = far - far * nth / (len(frames) + 1) / 2
        weighed[number] = replace(parts[number], weight=weight)
    return weighed


def _frame_end(lines: Sequence[str], at: int) -> int:
    """The index behind the frame that begins with the line ``at``; 0 if none begins there."""
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if _RUST_FRAME.match(lines[at]) and _RUST_PLACE.match(following):
        return at + 2
    if _FRAME.match(lines[at]):
        return at + 1
    return at + 2 if _GO_PLACE.match(following) and not lines[at][:1].isspace() else 0


def _message_end(lines: Sequence[str], at: int) -> int:
    """The index behind the message of an error, whose first line stands before ``at``."""
    end = at
    while end < min(at + MAX_MESSAGE_LINES, len(lines)) and not _ends_paragraph(lines[end - 1]):
        if _TRACEBACK.search(lines[end]) or lines[end].lstrip().startswith(("```", "~~~")):
            break
        end += 1
    return end


def _ends_paragraph(line: str) -> bool:
    """Whether blank lines follow a line, which hold on to it."""
    return line.count("\n") > 1


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return found.end() if found else 0
