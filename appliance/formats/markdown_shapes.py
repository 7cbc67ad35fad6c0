"""Which shape the turns of a transcript have, who its speakers are, and how certain that is.

Headings and bold labels stand in documents too. A shape counts only if its speakers take turns; a name that may also be
a label counts only with more evidence than its looks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise

from appliance.formats import markdown_words as words
from appliance.formats.markdown_lines import DATED, TIMED, TurnOpener
from appliance.formats.markdown_words import Side
from appliance.lazy_dataclasses import dataclass

MIXED_HEADINGS = "headings"
"""The shape of a conversation whose speakers have headings of different levels."""

# This many turns show how a conversation goes; the rest is only counted.
_MAX_TURNS_WEIGHED = 2000
# The lines before the first turn of a saved page: a title, the time of the export, a link.
_MAX_PREAMBLE_LINES = 25
DOCUMENT_CONFIDENCE = 0.4
"""The confidence for a file that may as well be a document."""

_MAX_NAME_WORDS = 5
_MAX_LOOSE_NAME_CHARACTERS = 40

# The share of lines that sound like talk from which on any name counts: behind a time, beside a name that is certain,
# and without one.
_TALK_TIMED, _TALK, _TALK_OF_STRANGERS = 0.5, 0.6, 0.75

_Place = tuple[int, int]


@dataclass(slots=True)
class ShapeStatistics:
    """The openers of one shape. A place is the number of lines with text, and of headings, up to a line."""

    lines: int = 0
    conversational_lines: int = 0
    names: Counter[str] = field(default_factory=Counter)
    conversational_names: set[str] = field(default_factory=set)
    order: list[str] = field(default_factory=list)
    first: _Place = (0, 0)
    last: _Place = (0, 0)

    def add(self, opener: TurnOpener, place: _Place) -> None:
        self.lines += 1
        if words.CONVERSATIONAL.search(opener.rest) is not None:
            self.conversational_lines += 1
            self.conversational_names.add(opener.name)
        self.names[opener.name] += 1
        if len(self.order) < _MAX_TURNS_WEIGHED:
            self.order.append(opener.name)
        self.first = self.first if self.lines > 1 else place
        self.last = place


@dataclass(slots=True)
class TranscriptShapes:
    """The openers of a file by their shape, the headings among them in order, and the place of the file's end."""

    by_shape: dict[str, ShapeStatistics] = field(default_factory=dict)
    headings: list[tuple[TurnOpener, _Place]] = field(default_factory=list)
    end: _Place = (0, 0)

    def add(self, opener: TurnOpener, place: _Place) -> None:
        self.by_shape.setdefault(opener.shape, ShapeStatistics()).add(opener, place)
        if opener.shape.startswith("heading") and len(self.headings) < _MAX_TURNS_WEIGHED:
            self.headings.append((opener, place))


@dataclass(frozen=True, slots=True)
class ShapeVerdict:
    """The confidence that the file's turns have this shape, and its speakers; people have no side.

    ``levels`` has the shape of each name's headings if their levels differ. ``lines`` is the number of openers."""

    score: float
    shape: str
    names: dict[str, Side | None]
    lines: int
    levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_only_sides(self) -> bool:
        """Whether the speakers are a person and an assistant by words that are no names."""
        sides = {words.side_of(name) for name in self.names if not words.is_loose(name)}
        return {"user", "assistant"} <= sides and all(words.side_of(name) is not None for name in self.names)

    def is_opened_by(self, opener: TurnOpener) -> bool:
        """Whether this opener begins a turn."""
        return opener.name in self.names and opener.shape == self.levels.get(opener.name, self.shape)


def verdict_of(shapes: TranscriptShapes) -> ShapeVerdict | None:
    """The shape with the highest confidence."""
    verdicts = [
        verdict
        for shape, seen in shapes.by_shape.items()
        for verdict in (_score_assistant_chat(shape, seen, shapes), _score_people_chat(shape, seen, shapes))
        if verdict is not None
    ]
    if (mixed := _score_mixed_headings(shapes)) is not None:
        verdicts.append(mixed)
    return max(verdicts, key=lambda verdict: (verdict.score, verdict.lines), default=None)


# --- chats with assistants ----------------------------------------------------------------------------


def _score_assistant_chat(shape: str, seen: ShapeStatistics, shapes: TranscriptShapes) -> ShapeVerdict | None:
    """The confidence that the shape is that of a conversation with an assistant."""
    names = _sides(shape, seen)
    order = [side for name in seen.order if (side := names.get(name)) in ("user", "assistant")]
    if len(set(order)) < 2:
        return None
    pairs = sum(pair == ("user", "assistant") for pair in pairwise(order))
    score = DOCUMENT_CONFIDENCE
    if pairs >= 2:
        score = 0.85
    elif pairs == 1 and len(order) > 2:
        score = 0.7
    elif pairs == 1 and shape != "plain" and shapes.end[1] == seen.first[1]:
        score = 0.65
    labels = sum(seen.names.values()) - sum(seen.names[name] for name in names)
    # With many other labels this is a list of settings, one of which has the name of a speaker.
    if (shape == "plain" and labels > 2 * len(order)) or _is_example(seen, shapes):
        score = min(score, DOCUMENT_CONFIDENCE)
    return ShapeVerdict(score, shape, names, seen.lines)


def _sides(shape: str, seen: ShapeStatistics) -> dict[str, Side | None]:
    """The speakers of a conversation with an assistant. An ambiguous word counts only if its side has no
    better one: "Response" may be a heading within an answer."""
    names: dict[str, Side | None] = {}
    sides: tuple[Side, ...] = ("user", "assistant")
    for side in sides:
        candidates = [name for name, _ in seen.names.most_common() if words.side_of(name) == side]
        certain = [name for name in candidates if not words.is_loose(name)]
        names |= dict.fromkeys(certain or candidates[:1], side)
    if "user" not in names.values():
        # The user may appear under a personal name.
        people = [name for name in seen.names if words.side_of(name) is None and (_is_name(name) or _is_handle(name))]
        answers = max((seen.names[name] for name in names), default=0)
        if people and 2 * max(seen.names[name] for name in people) > answers:
            names[max(people, key=lambda name: seen.names[name])] = "user"
    for name in seen.names:
        side_of_name = words.side_of(name)
        is_prompt = side_of_name == "system" and (shape.startswith("heading") or seen.order[0] == name)
        if is_prompt or (side_of_name == "tool" and shape.startswith(("heading", "bold alone"))):
            names[name] = side_of_name
    return names


def _score_mixed_headings(shapes: TranscriptShapes) -> ShapeVerdict | None:
    """The confidence that headings of several levels are the turns of one conversation; None if one level has both
    sides and the system's prompt, so that headings of other levels are parts of its turns."""
    by_name: dict[str, Counter[str]] = {}
    for opener, _ in shapes.headings:
        by_name.setdefault(opener.name, Counter())[opener.shape] += 1
    levels = {name: counts.most_common(1)[0][0] for name, counts in by_name.items()}
    complete = {shape for shape in set(levels.values()) if _has_both_sides(shape, shapes)}
    if complete:
        # Another level can only add the prompt above the first turn.
        opening = shapes.headings[0][0]
        if words.side_of(opening.name) != "system" or opening.shape in complete:
            return None
        main = max(complete, key=lambda shape: shapes.by_shape[shape].lines)
        levels = dict.fromkeys(shapes.by_shape[main].names, main) | {opening.name: opening.shape}
    seen = ShapeStatistics()
    for opener, place in shapes.headings:
        if levels.get(opener.name) == opener.shape:
            seen.add(opener, place)
    verdict = _score_assistant_chat("heading", seen, shapes)
    if verdict is None or len({levels[name] for name in verdict.names}) < 2:
        return None
    order = [verdict.names[name] for name in seen.order if name in verdict.names]
    turns = sum(side in ("user", "assistant") for side in order)
    score = verdict.score if order[0] == "system" or turns > 2 else min(verdict.score, DOCUMENT_CONFIDENCE)
    return ShapeVerdict(score, MIXED_HEADINGS, verdict.names, seen.lines, levels)


def _has_both_sides(shape: str, shapes: TranscriptShapes) -> bool:
    sides = set(_sides(shape, shapes.by_shape[shape]).values())
    return {"user", "assistant"} <= sides


# --- chats among people -------------------------------------------------------------------------------


def _score_people_chat(shape: str, seen: ShapeStatistics, shapes: TranscriptShapes) -> ShapeVerdict | None:
    """The confidence that the shape is that of a chat among people."""
    if shape == "said" or (shape.startswith(("heading", "bold alone")) and not any(map(_is_numbered, seen.names))):
        return None
    people = {name for name in seen.names if _is_name(name) or _is_handle(name)}
    loose = {name for name in seen.names.keys() - people if _may_be_name(name)}
    talk = _TALK_TIMED if shape in TIMED else _TALK if people else _TALK_OF_STRANGERS
    if shape in DATED or seen.conversational_lines >= talk * seen.lines:
        people, loose = people | loose, set()
    if shape in DATED:
        # Behind a name and a date, even the word of a label is an account ("Support").
        loose = seen.names.keys() - people
    turns = [name for name in seen.order if name in people]
    # What may be a name says neither that this is a chat nor that it is none, unless it is most of the lines.
    others = sum(name not in people and name not in loose for name in seen.order)
    if 2 * len(turns) < len(seen.order):
        others = len(seen.order) - len(turns)
    # Someone speaks again after someone else: this distinguishes a chat from a list with labels.
    alternates = any(name in turns[: n - 1] and turns[n - 1] != name for n, name in enumerate(turns) if n > 1)
    labels = words.LEVELS | words.ELEMENTS if shape == "nick" else words.LEVELS
    is_log = any(name.casefold() in labels for name in seen.names)
    score = 0.35
    if is_log or len(set(turns)) < 2 or len(turns) < 0.7 * (len(turns) + others) or _is_example(seen, shapes):
        score = 0.3
    elif shape in DATED or shape == "bold (time)":
        score = 0.85 if alternates and len(turns) > 2 else 0.6
    elif shape in TIMED:
        score = 0.8 if alternates else DOCUMENT_CONFIDENCE
    elif shape == "nick":
        score = 0.5 if alternates and len(turns) > max(3, 0.6 * shapes.end[0]) else 0.3
    elif alternates and (_is_recorded(turns, seen) or (shape == "bold" and _is_bold_chat(turns, seen, shapes))):
        score = 0.7
    names: dict[str, Side | None] = {name: None for name in seen.names if name in people}
    if shape == "plain" and score > 0.35:
        names = {name: None for name in names if _is_numbered(name) or name in _roles(seen) or seen.names[name] > 1}
    elif shape in TIMED or shape == "nick":
        names |= dict.fromkeys(loose)
    else:
        names |= {name: None for name in loose if seen.names[name] > 1 or name in seen.conversational_names}
    return ShapeVerdict(score, shape, names or dict.fromkeys(seen.names), seen.lines)


def _is_bold_chat(turns: list[str], seen: ShapeStatistics, shapes: TranscriptShapes) -> bool:
    """Whether bold names without times are a chat: the file begins with them, several people return, and they talk as
    people do. The fewer turns there are, the more of them must."""
    if shapes.end[1] != seen.first[1] or all(
        name == name.upper() and not any(map(str.isdigit, name)) for name in turns
    ):
        return False
    repeated = sum(count > 1 for name, count in seen.names.items() if name in turns)
    if len(turns) == 3 or repeated == 1:
        return 2 * seen.conversational_lines > seen.lines
    are_full_names = sum(" " in name for name in turns) > len(turns) / 2
    return are_full_names or seen.conversational_lines * 4 >= seen.lines


def _is_recorded(turns: list[str], seen: ShapeStatistics) -> bool:
    """Whether the speakers are numbered, or named by their parts, as in a recording that was written down."""
    roles = _roles(seen)
    known = [name for name in turns if _is_numbered(name) or name in roles]
    is_recording = any(_is_numbered(name) for name in known) or any(
        name.casefold() in words.INTERVIEWERS for name in known
    )
    return is_recording and len(set(known)) > 1 and len(known) >= 0.7 * len(seen.order) and len(known) > 2


def _roles(seen: ShapeStatistics) -> set[str]:
    return {name for name in seen.names if name.casefold() in words.RECORDED_ROLES and name != name.upper()}


# --- names --------------------------------------------------------------------------------------------


def _is_name(name: str) -> bool:
    """Whether this may be a person's name rather than the label of a line."""
    if name.startswith(("@", "+", "~")):
        return True
    parts = name.split()
    if not 0 < len(parts) <= _MAX_NAME_WORDS or not name[0].isalpha() or any(map(str.isdigit, name)):
        return False
    if any(part.islower() and part not in words.PARTICLES for part in parts[1:]):
        return False
    return parts[-1].casefold() == "bot" or parts[0].strip("'’.").casefold() not in words.LABELS


def _is_handle(name: str) -> bool:
    """Whether this is a name with digits: a numbered speaker, or one word of letters and digits ("user42")."""
    return _is_numbered(name) or (words.HANDLE.fullmatch(name) is not None and not _is_label(name))


def _is_numbered(name: str) -> bool:
    return words.is_numbered_speaker(name)


def _may_be_name(name: str) -> bool:
    """Whether this may be a name although it has digits, or words in lower case ("bob the builder")."""
    parts = name.split()
    if not 0 < len(parts) <= _MAX_NAME_WORDS or len(name) > _MAX_LOOSE_NAME_CHARACTERS or not name[0].isalnum():
        return False
    return not name.isdigit() and not _is_label(name)


def _is_label(name: str) -> bool:
    """Whether the first word is that of a label, also with a number: "Step 1", "step-2", "Q3"."""
    first = re.split(r"[\s\d_.'’-]", name, maxsplit=1)[0].casefold()
    return first in words.LABELS or first in ("q", "v")


def _is_example(seen: ShapeStatistics, shapes: TranscriptShapes) -> bool:
    """Whether the turns are only a part of the file, such as an example within a document."""
    if seen.first[0] > _MAX_PREAMBLE_LINES or seen.first[1] > 2:
        return True
    filled, headings = shapes.end[0] - seen.last[0], shapes.end[1] - seen.last[1]
    return headings > 1 and filled > shapes.end[0] / 2
