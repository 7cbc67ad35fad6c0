"""The entries of the start page under their headings, and how each is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.content import Content

from appliance.lazy_dataclasses import dataclass
from appliance.types import LOCAL
from appliance.types.labels import waiting_heading, waiting_labels
from appliance_tui.author_colours import ReadableColours
from appliance_tui.widgets.display_text import fit_width, one_line, pluralize

if TYPE_CHECKING:
    from appliance.types import Anniversary, Message, RecentSession, StartPage

MAX_TEXT_CHARACTERS = 400
"""Characters of a message that a line is made from; no window is wider."""

MAX_TITLE_SHARE = 0.5
"""How much of a line a title may take where what was said last follows it."""

MIN_PREVIEW_COLUMNS = 12
"""Columns below which what was said last is left out."""


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One of the last conversations."""

    recent: RecentSession


@dataclass(frozen=True, slots=True)
class DayEntry:
    """What was said on this day of an earlier year."""

    anniversary: Anniversary


@dataclass(frozen=True, slots=True)
class PinnedEntry:
    message: Message


@dataclass(frozen=True, slots=True)
class WaitingEntry:
    """What waits for the person; ``kind`` is its name in ``waiting_labels``."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ExampleEntry:
    """A search to try."""

    query: str


Density = Literal["airy", "roomy", "dense"]
"""How much room entries have: two lines and a blank one for a message or a conversation, two, or one."""

StartEntry = SessionEntry | DayEntry | PinnedEntry | WaitingEntry | ExampleEntry


@dataclass(frozen=True, slots=True)
class Section:
    """Entries under a heading: ``label`` where the heading stands beside them. In a small window there are at least
    ``least`` of them, if there are so many."""

    name: str
    label: str
    entries: Sequence[StartEntry]
    least: int


@dataclass(frozen=True, slots=True)
class Look:
    """How entries are drawn: the colours, what stands for a person by each name (``ReadableColours.of_author``),
    the day that is today, and how authors and titles are shown."""

    colours: ReadableColours
    people: Mapping[str, str]
    today: date
    name_of: Callable[[str], str] = one_line
    title_of: Callable[[str], str] = one_line

    def author(self, message: Message) -> tuple[str, str]:
        return self.name_of(message.who), self.colours.of_author(message.author, message.role, self.people)


UNNAMED = ("native", LOCAL)
"""The formats that say nothing of where a conversation was held."""

MAX_PINNED, MAX_DAYS = 3, 3


def start_sections(page: StartPage) -> list[Section]:
    """The sections of a page that have entries."""
    waiting = [WaitingEntry(kind, text) for kind, text in waiting_labels(page.waiting).items()]
    sections = (
        Section("Recent conversations", "Recent", [SessionEntry(one) for one in page.recent], 3),
        Section("On this day", "On this day", [DayEntry(one) for one in page.on_this_day[:MAX_DAYS]], 1),
        Section("Pinned", "Pinned", [PinnedEntry(one) for one in page.pinned[:MAX_PINNED]], 1),
        Section(waiting_heading(page.waiting), waiting_heading(page.waiting), waiting, 2),
        Section("Searches to try", "Try", [ExampleEntry(query) for query in page.examples], 1),
    )
    return [section for section in sections if section.entries]


def entry_key(entry: StartEntry) -> Hashable:
    """What identifies an entry when the page is read again."""
    match entry:
        case SessionEntry(recent):
            return "session", recent.session.id
        case DayEntry(anniversary):
            return "day", anniversary.day, anniversary.session.id
        case PinnedEntry(message):
            return "pinned", message.id
        case WaitingEntry(kind):
            return "waiting", kind
        case ExampleEntry(query):
            return "example", query


def entry_lines(entry: StartEntry, density: Density) -> int:
    """How many lines an entry takes."""
    is_tall = density != "dense" and isinstance(entry, (SessionEntry, DayEntry, PinnedEntry))
    return (3 if density == "airy" else 2) if is_tall else 1


def render_entry(entry: StartEntry, width: int, look: Look, density: Density) -> Iterator[Content]:
    """The lines of an entry, each of ``width`` cells at most; in an airy column without the blank one."""
    colours, roomy = look.colours, density != "dense"
    match entry:
        case SessionEntry(recent):
            info, last = recent.session, recent.last
            title = look.title_of(info.title or info.external_id)
            when = friendly_time(info.last_at, look.today)
            if roomy:
                about = " · ".join(filter(None, ("" if info.format in UNNAMED else one_line(info.format), when)))
                yield _with_right(Content.styled(_cut(title, width - cell_len(about) - 2), "bold"), about, width, look)
                yield _said(last, width, look) if last else Content.styled(pluralize(info.messages, "message"))
                return
            room = width - cell_len(when) - 2
            head = _cut(title, room if last is None else max(MIN_PREVIEW_COLUMNS, int(room * MAX_TITLE_SHARE)))
            left = Content.styled(head, "bold")
            if last is not None and (rest := room - cell_len(head) - 2) >= MIN_PREVIEW_COLUMNS:
                left = Content.assemble(left, "  ", _said(last, rest, look))
            yield _with_right(left, when, width, look)
        case DayEntry(one):
            message, title = one.messages[0], look.title_of(one.session.title or one.session.external_id)
            years = look.today.year - int(one.day[:4])
            if roomy:
                ago = "a year ago" if years == 1 else f"{years} years ago"
                many = pluralize(one.count, "message")
                title = _cut(title, width - len(ago) - len(many) - 5)
                left = Content.assemble((ago, f"bold {colours.meter}"), " · " if title else "", (title, "bold"))
                yield _with_right(left, many, width, look)
                yield _said(message, width, look)
                return
            yield Content.assemble((one.day[:4], f"bold {colours.meter}"), "  ", _said(message, width - 6, look))
        case PinnedEntry(message):
            when = friendly_time(message.timestamp, look.today)
            if roomy:
                author, colour = look.author(message)
                yield Content.assemble(("★ ", colours.star), _cut(message.text, width - 2))
                author = _cut(author, width - 5 - cell_len(when))
                yield Content.assemble("  ", (author, colour), (f" · {when}" if when else "", colours.muted))
                return
            said = _said(message, width - 4 - cell_len(when), look)
            yield _with_right(Content.assemble(("★ ", colours.star), said), when, width, look)
        case WaitingEntry(_, text):
            number, _, what = text.partition(" ")
            yield Content.assemble((number, f"bold {colours.match}"), " ", _cut(what, width - len(number) - 1))
        case ExampleEntry(query):
            yield Content.assemble(("› ", colours.meter), _cut(query, width - 2))


def _cut(text: str, width: int) -> str:
    """A text on one line of at most ``width`` cells."""
    line = one_line(text[:MAX_TEXT_CHARACTERS])
    return line if cell_len(line) <= width else fit_width(line, max(0, width))


def _said(message: Message, width: int, look: Look) -> Content:
    """Who said what."""
    name, colour = look.author(message)
    name = _cut(name, max(4, width // 3))
    return Content.assemble(
        (name, colour), "  ", (_cut(message.text, max(0, width - cell_len(name) - 2)), look.colours.muted)
    )


def _with_right(left: Content, right: str, width: int, look: Look) -> Content:
    gap = max(1, width - left.cell_length - cell_len(right))
    return Content.assemble(left, " " * gap, (right, look.colours.muted)) if right else left


def local_today() -> date:
    """The day on this machine's clock."""
    return datetime.fromtimestamp(time.time_ns() / 1e9).date()


def friendly_time(timestamp: str | None, today: date) -> str:
    """A time as a person says it: the minute of today, the weekday of this week, else the day; "" without one."""
    if not timestamp:
        return ""
    moment = datetime.fromisoformat(timestamp)
    if moment.tzinfo is not None:
        moment = moment.astimezone()
    days = (today - moment.date()).days
    if days == 0:
        return f"{moment:%H:%M}"
    if days == 1:
        return "yesterday"
    if 1 < days < 7:
        return f"{moment:%a}"
    return f"{moment.day} {moment:%b}" if moment.year == today.year else f"{moment.day} {moment:%b %Y}"


def page_heading(page: StartPage, today: date, width: int) -> Content:
    """The day, and how much there is since when."""
    known = pluralize(page.sessions, "conversation") + (f" since {page.since[:4]}" if page.since else "")
    name = f"{today:%A}, {today.day} {today:%B}"
    rest = f" · {known}"
    return Content.assemble((name, "bold"), (rest, "$foreground-muted") if len(name) + len(rest) <= width else "")
