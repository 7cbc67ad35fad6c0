"""Files as lists show them: what became of each, by a mark and a word, how large it is, and when it was read."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from appliance_tui.rates import amount
from appliance_tui.widgets.words import fitted, minute, one_line, shown

if TYPE_CHECKING:
    from appliance.types import FileReport, WatchedFile
    from appliance_tui.intake import Outcome

STATES = {
    "queued": ("…", "waits", "$foreground-muted"),
    "read": ("✓", "read", "$text-success"),
    "ok": ("✓", "read", "$text-success"),
    "partial": ("◐", "partly", "$text-warning"),
    "skipped": ("–", "passed", "$foreground-muted"),
    "failed": ("✗", "failed", "$text-error"),
}
"""Mark, word and colour of what became of a file."""

TROUBLES = 200
"""Errors of a report that are listed; it counts all."""

_WHEN, _SIZE, _STATE = 16, 8, 9


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a list: the file's ``path`` as it is, what is told in short, and what is told of it below the list."""

    path: str
    state: str
    facts: Sequence[str]
    reason: str
    told: Content


class FileList(OptionList):
    """Files, one a line, fitted to the width."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__(id=id, markup=False)
        self.border_title = title
        self._empty = empty
        self._rows: Sequence[Row] = ()

    def on_mount(self) -> None:
        self._write()

    def show(self, rows: Sequence[Row]) -> None:
        """Show other rows; the marked file stays marked. Nothing is drawn anew when nothing has changed."""
        if list(rows) == list(self._rows):
            return
        marked = self.chosen
        self._rows = rows
        self._write()
        again = next((at for at, row in enumerate(rows) if marked and row.path == marked.path), None)
        self.highlighted = (0 if rows else None) if again is None else again

    def on_resize(self, event: Resize) -> None:
        at = self.highlighted
        self._write()
        self.highlighted = at

    def _write(self) -> None:
        with self.app.batch_update():
            self.clear_options()
            width = max(20, self.size.width - 3)
            self.add_options(Option(_line(row, width)) for row in self._rows)
            if not self._rows:
                self.add_option(Option(Content.styled(self._empty, "$foreground-muted"), disabled=True))

    @property
    def chosen(self) -> Row | None:
        """The row that is marked."""
        at = self.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None


def _line(row: Row, width: int) -> Content:
    mark, word, colour = STATES[row.state]
    facts = "  ".join(row.facts)
    name = os.path.basename(row.path.rstrip("/")) or row.path
    left = width - _STATE - 2 - len(facts)
    # Where there is room, the reason stands beside the name: it has a line of its own below the list anyway.
    reason = one_line(row.reason)
    about = min(len(reason), max(0, left - 24)) if reason and left > 44 else 0
    return Content.assemble(
        (f"{mark} {word:<{_STATE - 2}}", colour),
        fitted(name, max(8, left - about - (2 if about else 0))),
        "  ",
        (fitted(reason, about) + "  " if about else "", "$foreground-muted"),
        (facts, "$foreground-muted"),
    )


def file_row(file: WatchedFile, since: FileReport | None) -> Row:
    """A file of a watched folder; ``since`` is what became of it when it was read again from this screen."""
    state, reason = (file.state, file.reason) if since is None else (since.status, _first(since))
    told = Content.assemble(
        (one_line(file.path), "bold"),
        (f"\n{amount(file.size)} · in {one_line(file.folder)}", "$foreground-muted"),
        (f" · read {minute(file.read_at)}" if file.read_at else "", "$foreground-muted"),
        f"\n{shown(reason)}" if reason else "",
        Content("\n").join([Content(""), report_told(since)]) if since is not None else "",
    )
    facts = (f"{amount(file.size):>{_SIZE}}", f"{minute(file.read_at):<{_WHEN}}")
    return Row(file.path, state, facts, reason, told)


def outcome_rows(outcome: Outcome) -> list[Row]:
    """What was read since the start, a row a file."""
    when = datetime.fromtimestamp(outcome.at).strftime("%H:%M")
    if outcome.error:
        told = Content(f"{when}\n{shown(outcome.error)}")
        return [Row("", "failed", (when,), outcome.error, told)]
    return [
        Row(
            report.path,
            report.status,
            (f"{report.new:,} new", when),
            _first(report),
            Content("\n").join([Content.styled(one_line(report.path), "bold"), report_told(report)]),
        )
        for report in outcome.files
    ]


def report_told(report: FileReport) -> Content:
    """What became of a file: its counts, and every error with its place."""
    counts = (
        f"{report.format or 'no known format'} · {report.conversations:,} conversations · {report.messages:,} messages:"
        f" {report.new:,} new, {report.updated:,} updated, {report.duplicates:,} known already"
    )
    lines = [Content.styled(counts, "$foreground-muted")]
    for problem in (*report.errors[:TROUBLES], *report.notes[:TROUBLES]):
        place = f"{one_line(problem.where)}: " if problem.where else ""
        lines.append(
            Content.assemble(
                (
                    "note  " if problem.harmless else "error ",
                    "$foreground-muted" if problem.harmless else "$text-error",
                ),
                (place, "bold"),
                shown(problem.message),
            )
        )
    if len(report.errors) > TROUBLES:
        lines.append(Content(f"and {len(report.errors) - TROUBLES:,} more"))
    return Content("\n").join(lines)


def _first(report: FileReport) -> str:
    """The first reason why not all of it was read."""
    problems = report.errors or (report.notes if report.status == "skipped" else ())
    if not problems:
        return ""
    place = f"{problems[0].where}: " if problems[0].where else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}{problems[0].message}{more}"
