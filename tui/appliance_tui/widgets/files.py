"""Lists of files: name, result, size and time of each."""

from __future__ import annotations

import os.path
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.events import Resize
from textual.strip import Strip
from textual.widgets.option_list import Option

from appliance.report_groups import common_folder, outcome_of, quiet_groups
from appliance_tui.author_colours import readable_colours
from appliance_tui.list_keys import OptionRows
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.display_text import fit_width, local_minute, one_line, pluralize, sanitize, short_time

if TYPE_CHECKING:
    from appliance.report_groups import FileGroup
    from appliance.types import FileReport, ImportedFile, UnfinishedImport, WatchedFile
    from appliance_tui.ingestion import ImportOutcome, ImportProgress

STATES = {
    "queued": ("…", "queued", "$foreground-muted"),
    "read": ("✓", "read", "$text-success"),
    "ok": ("✓", "read", "$text-success"),
    "empty": ("–", "empty", "$foreground-muted"),
    "reading": ("▶", "reading", "$text-accent"),
    "partial": ("◐", "partly", "$text-warning"),
    "skipped": ("–", "skipped", "$foreground-muted"),
    "failed": ("✗", "failed", "$text-error"),
    "gone": ("–", "gone", "$foreground-muted"),
}
"""Symbol, label and colour of each state of a file."""

NOT_BEGUN = "Not read: the import was stopped. Retry imports it."

UNFINISHED = "Broken off; r reads the rest."

INCOMPLETE = "Some of it could not be read, or is not yet; enter reads it again."

MAX_LISTED_PROBLEMS = 200
"""Errors and notes of a report that are listed."""

_STATE_WIDTH = 10


@dataclass(frozen=True, slots=True)
class FileRow:
    """A line of a list. ``facts`` are its right-hand columns; ``details`` are shown below the list; ``name`` stands
    for the file, by default the last part of its path."""

    path: str
    state: str
    facts: Sequence[str]
    reason: str
    details: Content
    name: str = ""


class FileList(OptionRows):
    """Files, one a line, fitted to the width. ``empty`` is shown in place of an empty list."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__(id=id, markup=False)
        self.border_title = title
        self.empty = empty
        self._shown_empty = empty
        self._rows: Sequence[FileRow] = ()

    def on_mount(self) -> None:
        self._show_rows()

    def show(self, rows: Sequence[FileRow], *, from_top: bool = False) -> None:
        """Show other rows, with the same file selected, or the first one if ``from_top``. Unchanged rows are not
        redrawn."""
        if list(rows) == list(self._rows) and self._shown_empty == self.empty:
            return
        selected = self.chosen
        self._rows = rows
        self._show_rows()
        index = next((index for index, row in enumerate(rows) if selected and row.path == selected.path), None)
        self.highlighted = (0 if rows else None) if index is None or from_top else index

    def render_line(self, y: int) -> Strip:
        """As OptionList, with a bar at the left of the selected file, which is seen without colours too."""
        strip, line = super().render_line(y), self.scroll_offset.y + y
        if not self._rows or line >= len(self._lines) or self._lines[line][0] != self.highlighted:
            return strip
        background = next((segment.style.bgcolor for segment in strip if segment.style), None)
        colour = readable_colours(self.app.theme_variables).meter
        return Strip([Segment("▌", Style(color=colour, bgcolor=background)), *strip.crop(1)], strip.cell_length)

    def on_resize(self, event: Resize) -> None:
        index = self.highlighted
        self._show_rows()
        self.highlighted = index

    def _show_rows(self) -> None:
        with self.app.batch_update():
            self.clear_options()
            self._shown_empty = self.empty
            width = max(20, self.size.width - 4)
            columns = [
                max(map(cell_len, column)) for column in zip_longest(*(row.facts for row in self._rows), fillvalue="")
            ]
            named = tell_apart(self._rows)
            self.add_options(Option(_row_content(row, width, columns)) for row in named)
            if not self._rows:
                self.add_option(Option(Content.styled(self.empty, "$foreground-muted"), disabled=True))

    @property
    def chosen(self) -> FileRow | None:
        """The selected row."""
        index = self.highlighted
        return self._rows[index] if index is not None and index < len(self._rows) else None


def tell_apart(rows: Sequence[FileRow]) -> list[FileRow]:
    """The rows; where several files have one name, each also has those of its last folders by which it differs."""
    paths_by_name: dict[str, set[str]] = {}
    for row in rows:
        paths_by_name.setdefault(_name_of(row), set()).add(row.path)
    folders: dict[str, str] = {}
    for paths in paths_by_name.values():
        parts = {path: path.rstrip("/").split("/")[:-1] for path in paths}
        uses = Counter((*one[-n:],) for one in parts.values() for n in range(1, len(one) + 1))
        for path, one in parts.items() if len(paths) > 1 else ():
            ends = ((*one[-n:],) for n in range(1, len(one)))
            folders[path] = "/".join(next((end for end in ends if uses[end] == 1), one))
    return [
        replace(row, name=f"{_name_of(row)} · {folders[row.path]}") if folders.get(row.path) else row for row in rows
    ]


def _name_of(row: FileRow) -> str:
    return row.name or os.path.basename(row.path.rstrip("/")) or row.path


def _row_content(row: FileRow, width: int, columns: Sequence[int]) -> Content:
    """A row in ``width`` cells; ``columns`` are the widths of the facts."""
    symbol, label, colour = STATES[row.state]
    facts = "  ".join(f"{fact:>{cells}}" for fact, cells in zip_longest(row.facts, columns, fillvalue=""))
    name = _name_of(row)
    name_width = width - _STATE_WIDTH - 2 - len(facts)
    # The reason is always shown below the list, and beside the name where there is room.
    reason = one_line(row.reason)
    reason_width = min(len(reason), max(0, name_width - 24)) if reason and name_width > 44 else 0
    return Content.assemble(
        (f"{symbol} {label:<{_STATE_WIDTH - 2}}", colour),
        fit_width(name, max(8, name_width - reason_width - (2 if reason_width else 0))),
        "  ",
        (fit_width(reason, reason_width) + "  " if reason_width else "", "$foreground-muted"),
        (facts, "$foreground-muted"),
    )


def file_row(file: WatchedFile, reread: FileReport | None, given: Sequence[ImportedFile] = ()) -> FileRow:
    """The row of a file in a watched folder. ``reread`` is the report of a later import from the screen, ``given`` what
    the memory has from the file, or from each of those in it if it is a zip."""
    state: str = file.state if reread is None else reread.status
    reason = file.reason if reread is None else _first_problem(reread)
    if state in ("read", "ok") and not file.size:
        state = "empty"
    details = Content.assemble(
        (one_line(file.path), "bold"),
        (
            f"\n{format_bytes(file.size)} · {f'in {one_line(file.folder)}' if file.folder else 'imported by hand'}",
            "$foreground-muted",
        ),
        (f" · read {local_minute(file.read_at)}" if file.read_at else "", "$foreground-muted"),
        f"\n{describe_given(given)}" if given else "",
        f"\n{sanitize(sentence(reason))}" if reason and reread is None else "",
        Content("\n").join([Content(""), report_content(reread)]) if reread is not None else "",
    )
    messages = sum(one.messages for one in given)
    # A queued file has given nothing yet: its size says how much there is to read.
    about = _count_given(messages) if given else format_bytes(file.size)
    facts = (about, short_time(file.read_at))
    return FileRow(file.path, state, facts, reason, details)


def imported_row(file: ImportedFile, *, is_being_read: bool = False) -> FileRow:
    """The row of a file that was imported before, or by another program."""
    reason = "" if file.complete or is_being_read else INCOMPLETE
    details = Content.assemble(
        (one_line(file.path), "bold"),
        (f"\n{file.format} · {format_bytes(file.size)} · read {local_minute(file.read_at)}", "$foreground-muted"),
        f"\n{describe_given([file])}",
        f"\n{reason}" if reason else "",
    )
    facts = (_count_given(file.messages), short_time(file.read_at))
    state = "reading" if is_being_read else "ok" if file.complete else "partial"
    return FileRow(file.path, state, facts, reason, details, _name_in_zip(file.path))


def unfinished_row(one: UnfinishedImport, given: Sequence[ImportedFile]) -> FileRow:
    """The row of an import that was broken off. ``given`` are the imported files that it is of."""
    messages = sum(file.messages for file in given)
    details = Content.assemble(
        (one_line(one.path), "bold"),
        (f"\nThe import began {local_minute(one.begun_at)} and was broken off.", "$foreground-muted"),
        f"\n{describe_given(given)}" if given else "",
        "\nr reads the rest; X gives it up, and what was read stays.",
    )
    facts = (pluralize(messages, "message"), short_time(one.begun_at))
    return FileRow(one.path, "partial", facts, UNFINISHED, details)


def _count_given(messages: int) -> str:
    return pluralize(messages, "message") if messages else "all known"


def _name_in_zip(path: str) -> str:
    """The path from the zip on, because files in zips often have equal names; "" for any other file."""
    parts = path.split("/")
    zip_at = next((at for at, part in enumerate(parts[:-1]) if part.lower().endswith(".zip")), None)
    return "" if zip_at is None else "/".join(parts[zip_at:])


def describe_given(given: Sequence[ImportedFile]) -> str:
    """What the memory has from files, in words."""
    messages, sessions = sum(one.messages for one in given), sum(one.sessions for one in given)
    if not messages:
        return "All of its messages were known from another file." if sessions else "Gave no messages."
    return f"Gave {pluralize(messages, 'message')} in {pluralize(sessions, 'conversation')}."


def files_in(imported: Iterable[ImportedFile], paths: Collection[str]) -> dict[str, list[ImportedFile]]:
    """The imported files by the path of the watched file that they are, or that they are in if it is a zip."""
    found: dict[str, list[ImportedFile]] = {}
    for file in imported:
        path = file.path
        while path not in paths and path.strip("/"):
            path = os.path.dirname(path)
        if path in paths:
            found.setdefault(path, []).append(file)
    return found


def outcome_rows(outcome: ImportOutcome, *, latest_first: bool = False) -> list[FileRow]:
    """The rows of an import: those with errors first, then one a file, then files without messages, folded."""
    when = datetime.fromtimestamp(outcome.at).strftime("%H:%M")
    if outcome.stopped is not None:
        return _stopped_rows(outcome.stopped, outcome.error, when)
    if outcome.error:
        details = Content(f"{when}\n{sanitize(outcome.error)}")
        return [FileRow("", "failed", ("", when), outcome.error, details)]
    told = [report for report in outcome.files if outcome_of(report) in ("messages", "partial", "failed")]
    if latest_first:
        told.reverse()
    told.sort(key=lambda report: not report.errors)
    rows = [
        FileRow(
            report.path,
            report.status,
            (f"{report.new:,} new", when),
            _first_problem(report),
            Content("\n").join([Content.styled(one_line(report.path), "bold"), report_content(report)]),
        )
        for report in told
    ]
    return rows + [_group_row(group, when) for group in quiet_groups(outcome.files)]


def _stopped_rows(stopped: ImportProgress, reason: str, when: str) -> list[FileRow]:
    """The rows of an import that a person stopped: what was read in part, and paths that were not begun. Those before
    were read completely."""
    names = [str(path) for path in stopped.paths]
    at = next((at for at, name in enumerate(names) if f"{stopped.file}/".startswith(f"{name.rstrip('/')}/")), 0)
    read = dict.fromkeys(filter(None, (names[at], stopped.file)))
    rows = [(name, "partial", reason) for name in read] + [(name, "skipped", NOT_BEGUN) for name in names[at + 1 :]]
    return [
        FileRow(name, state, ("", when), reason, Content.assemble((one_line(name), "bold"), f"\n{reason}"))
        for name, state, reason in rows
    ]


def _group_row(group: FileGroup, when: str) -> FileRow:
    """Files without messages that have the same reason, as one row."""
    reason = f"{group.reason}: {group.detail}" if group.detail else group.reason
    # A document without content has no format, another one may have contacts.
    is_empty = group.outcome == "without messages" and all(report.format is None for report in group.files)
    state = "skipped" if group.outcome == "skipped" else "empty" if is_empty else "ok"
    paths = [report.path for report in group.files]
    head = paths[0] if len(paths) == 1 else f"{pluralize(len(paths), 'file')} in {common_folder(paths)}"
    details = [
        Content.styled(one_line(head), "bold"), Content(sanitize(sentence(reason))),
        *(Content.styled(one_line(path), "$foreground-muted") for path in paths[1:MAX_LISTED_PROBLEMS]),
    ]  # fmt: skip
    count = "" if len(paths) == 1 else pluralize(len(paths), "file")
    return FileRow(
        paths[0] if len(paths) == 1 else common_folder(paths), state, (count, when), reason, Content("\n").join(details)
    )


def report_content(report: FileReport) -> Content:
    """A report: counts, errors and notes."""
    counts = (
        f"{report.format or 'unknown format'} · {pluralize(report.conversations, 'conversation')}"
        f" · {pluralize(report.messages, 'message')}: {report.new:,} new, {report.updated:,} updated,"
        f" {report.duplicates:,} already known"
    )
    lines = [Content.styled(counts, "$foreground-muted")]
    for problem in (*report.errors[:MAX_LISTED_PROBLEMS], *report.notes[:MAX_LISTED_PROBLEMS]):
        kind = ("note  ", "$foreground-muted") if problem.harmless else ("error ", "$text-error")
        where = f"{one_line(problem.where)}: " if problem.where else ""
        lines.append(Content.assemble(kind, (where, "bold"), sanitize(problem.message)))
    if len(report.errors) > MAX_LISTED_PROBLEMS:
        lines.append(Content(f"and {len(report.errors) - MAX_LISTED_PROBLEMS:,} more"))
    return Content("\n").join(lines)


def sentence(reason: str) -> str:
    """A reason that stands by itself. A name or a place at its beginning stays as it is."""
    return reason[:1].upper() + reason[1:] if re.match(r"[a-z]+ [a-z]", reason) else reason


def _first_problem(report: FileReport) -> str:
    """The first reason why a file was not read completely."""
    problems = report.errors or (report.notes if report.status == "skipped" else ())
    if not problems:
        return ""
    where = f"{problems[0].where}: " if problems[0].where else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}{problems[0].message}{more}"
