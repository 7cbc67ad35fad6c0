"""The report of an import for people: fits the width, folds what is equal, and ends with what was lost."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from appliance.cli import output

if TYPE_CHECKING:
    from appliance.report_groups import FileGroup, Outcome
    from appliance.types import FileReport, IngestReport, InputProblem

COLUMN_TITLES = ("file", "format", "status", "chats", "new", "updated", "known")

PIPE_COLUMNS = 100
"""The width of a report in a pipe, unless COLUMNS says another one."""

MAX_ROWS = 40
"""Rows of the table; more files than this are shown by folder."""

MAX_REPORTED_PROBLEMS = 20
"""How many problems of one file are listed, and the notes of how many files."""

MAX_NAMES = 3
"""Names and places that are listed of what is alike; more are counted."""

MIN_NAMED_SECONDS = 1.0
"""From how many seconds on it is said that they were for summaries and facts."""

_MIN_NAME_WIDTH = 16
_COLUMN_GAP = 3
"""The widest gap between two columns: that of a drawn table."""

_TABLE_EDGES = 2
"""The columns beside a drawn table."""

_HEADINGS: dict[Outcome, str] = {
    "read with": "Read with other files",
    "without messages": "Without messages",
    "skipped": "Skipped",
}


def width() -> int:
    """The columns that a line may have."""
    return shutil.get_terminal_size((PIPE_COLUMNS, 0)).columns


def print_report(report: IngestReport, dry_run: bool, summarising: float = 0.0) -> None:
    """Print what was imported: the files with messages, those without, and the counts. Of its seconds, ``summarising``
    were for summaries and facts."""
    from appliance.report_groups import common_folder, outcome_of, quiet_groups

    folder = common_folder([file.path for file in report.files]) if len(report.files) > 1 else ""
    with_messages = [file for file in report.files if outcome_of(file) in ("messages", "partial", "failed")]
    if with_messages:
        _print_table(with_messages, folder)
    _print_groups(quiet_groups(report.files), folder)
    if folder:
        output.say(f"All files are in {folder}.")
    new = "would be new" if dry_run else "new"
    _print_wrapped(
        f"{output.plural(report.total('messages'), 'message')} in"
        f" {output.plural(report.total('conversations'), 'conversation')}:"
        f" {report.total('new'):,} {new}, {report.total('updated'):,} updated,"
        f" {report.total('duplicates'):,} already known"
    )
    if documents := report.total("documents"):
        pages = output.plural(report.total("pages"), "page")
        _print_wrapped(f"{output.plural(documents, 'attached document')} with {pages} can be searched")
    if kept := report.total("kept"):
        _print_wrapped(f"{output.plural(kept, 'attachment')} copied into the memory")
    if report.pending:
        state = f"{output.plural(report.pending, 'passage')} can be searched by words only so far"
    elif dry_run:
        twice = report.total("new") and len(report.files) > 1
        state = f"nothing was stored{'; what several of the files hold is counted for each' if twice else ''}"
    elif documents or any(map(report.total, ("new", "updated", "duplicates"))):
        state = "all of it can be searched by words and by meaning"
    else:
        state = "no message was stored"
    of_it = f", {summarising:.1f} s of it for summaries and facts" if summarising >= MIN_NAMED_SECONDS else ""
    _print_wrapped(f"{state}; {report.seconds:.1f} s{of_it}")
    if report.pending and report.pending_reason:
        output.say(f"note: {report.pending_reason}")
    if report.pending and not dry_run:
        output.say("'appliance reindex --pending' makes them searchable by meaning too.")


def _print_table(files: Sequence[FileReport], folder: str) -> None:
    """Print the files without their common folder, and without columns that are empty or "ok" in every row."""
    from appliance.report_groups import folded, relative_to

    rows = [_row(relative_to(name, folder) or name, group) for name, group in folded(files, MAX_ROWS)]
    rows.sort(key=lambda row: row[2] != "ok")  # what is incomplete stands last
    columns = [1, *(i for i in range(2, len(COLUMN_TITLES)) if {row[i] for row in rows} - {"ok", "0"})]

    def name_width() -> int:
        taken = (max(len(COLUMN_TITLES[i]), *(output.cell_width(row[i]) for row in rows)) for i in columns)
        return width() - _TABLE_EDGES - sum(size + _COLUMN_GAP for size in taken)

    if name_width() < _MIN_NAME_WIDTH:  # the numbers matter more
        columns.remove(1)
    names = [shorten_path(row[0], max(name_width(), _MIN_NAME_WIDTH)) for row in rows]
    output.print_table(
        ("file", *(COLUMN_TITLES[i] for i in columns)),
        [(name, *(row[i] for i in columns)) for name, row in zip(names, rows, strict=True)],
        right=COLUMN_TITLES[3:],
    )


def _row(name: str, files: Sequence[FileReport]) -> tuple[str, ...]:
    counts = (
        f"{sum(getattr(file, count) for file in files):,}"
        for count in ("conversations", "new", "updated", "duplicates")
    )
    name = name if len(files) == 1 else f"{name} ({len(files):,} files)"
    return (name, files[0].format or "-", files[0].status, *counts)


def _print_groups(groups: Sequence[FileGroup], folder: str) -> None:
    for outcome, heading in _HEADINGS.items():
        found = [group for group in groups if group.outcome == outcome]
        if found:
            print(f"{heading}: {output.plural(sum(len(group.files) for group in found), 'file')}")
        for group in found:
            _print_wrapped(_group_line(group, folder), "  ")


def print_quiet(files: Sequence[FileReport]) -> None:
    """Print files without messages, a line for each reason."""
    from appliance.report_groups import quiet_groups

    for group in quiet_groups(files):
        status = "skipped" if group.outcome == "skipped" else "ok"
        _print_wrapped(f"{status}  {_group_line(group, '')}")


def _group_line(group: FileGroup, folder: str) -> str:
    from appliance.report_groups import common_folder, relative_to

    reason = f"{group.reason}: {group.detail}" if group.detail else group.reason
    room = width() // 2
    if len(group.files) <= MAX_NAMES:
        names = ", ".join(shorten_path(relative_to(file.path, folder), room) for file in group.files)
        return f"{names}: {reason}"
    inside = relative_to(common_folder([file.path for file in group.files]), folder)
    where = f" in {shorten_path(inside, room)}" if inside else ""
    return f"{len(group.files):,} files{where}: {reason}"


def _print_wrapped(text: str, indent: str = "") -> None:
    lines = textwrap.wrap(
        output.clean(text), width(), initial_indent=indent, subsequent_indent=indent * 2 or "  ",
        break_on_hyphens=False,
    )  # fmt: skip
    print("\n".join(lines))


def say_notes(files: Sequence[FileReport]) -> None:
    """Print the notes on files with messages."""
    from appliance.report_groups import outcome_of

    noted = [file for file in files if file.notes and outcome_of(file) in ("messages", "partial", "failed")]
    for file in noted[:MAX_REPORTED_PROBLEMS]:
        output.say(f"note: {file.path}")
        say_problems(file.notes)
    if len(noted) > MAX_REPORTED_PROBLEMS:
        output.say(f"notes on {len(noted) - MAX_REPORTED_PROBLEMS:,} more files; --json lists all notes")


def say_errors(files: Sequence[FileReport], missing: Sequence[str] = ()) -> None:
    """Print what failed or was read only in part. Files with the same single error are one entry."""
    alike: dict[tuple[str, str, str], list[FileReport]] = {}
    for file in files:
        if file.path in missing:
            output.say(f"failed: {file.path} does not exist")
        elif len(file.errors) == 1:
            problem = file.errors[0]
            alike.setdefault((file.status, problem.where, problem.message), []).append(file)
        elif file.errors:
            output.say(f"{file.status}: {file.path}")
            say_problems(file.errors)
    for (status, _, _), group in alike.items():
        if len(group) == 1:
            output.say(f"{status}: {group[0].path}")
        else:
            output.say(f"{status}: {output.plural(len(group), 'file')}: {_listed(file.path for file in group)}")
        say_problems(group[0].errors)


def say_problems(problems: Sequence[InputProblem]) -> None:
    """Print the problems of one file, the first ones if there are many; the places of equal ones are one line."""
    places: dict[str, list[str]] = {}
    for problem in problems:
        places.setdefault(problem.message, []).append(problem.where)
    for message, where in list(places.items())[:MAX_REPORTED_PROBLEMS]:
        named = [place for place in where if place]
        if named:
            output.say(f"  {_listed(named)}: {message}")
        else:
            output.say(f"  {message}" if len(where) == 1 else f"  {message} ({len(where):,} times)")
    if left := sum(len(where) for where in list(places.values())[MAX_REPORTED_PROBLEMS:]):
        output.say(f"  and {left:,} more; --json lists all errors")


def _listed(names: Iterable[str]) -> str:
    """Names or places, the first ones if there are many."""
    every = list(names)
    more = f" and {len(every) - MAX_NAMES:,} more" if len(every) > MAX_NAMES else ""
    return ", ".join(every[:MAX_NAMES]) + more


def shorten_path(path: str, room: int) -> str:
    """A path in at most ``room`` cells: where it is too long, folders in its middle are left out, and then letters."""
    path = output.one_line(path)
    if output.cell_width(path) <= room:
        return path
    root = "/" if path.startswith("/") else ""
    parts = path.removeprefix("/").split("/")
    head, *middle, tail = (root + parts[0], *parts[1:]) if len(parts) > 1 else ("", path)
    while middle and head:
        middle.pop(0 if len(middle) > 1 else -1)
        shorter = "/".join([head, "…", *middle, tail])
        if output.cell_width(shorter) <= room:
            return shorter
    last = f"…/{tail}" if head or middle else tail
    return last if output.cell_width(last) <= room else _cut(tail, room)


def _cut(text: str, room: int) -> str:
    """A text without its middle, in at most ``room`` cells."""
    front, back = text[: len(text) // 2], text[len(text) // 2 :]
    while front and output.cell_width(front) + 1 + output.cell_width(back) > room:
        if len(front) >= len(back):
            front = front[:-1]
        else:
            back = back[1:]
    return f"{front}…{back}"
