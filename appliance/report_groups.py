"""The files of an import, grouped for people: thousands of equal outcomes are one line with a count."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal

from appliance.lazy_dataclasses import dataclass
from appliance.types import FileReport

Outcome = Literal["messages", "read with", "without messages", "skipped", "partial", "failed"]

MAX_EXPORT_GROUPS = 12
"""Groups of files without messages; where more would be shown, those of different exports are one."""

_ITS = re.compile(r"\bits (\w+)$")


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with the same outcome, for the same ``reason``; ``detail`` is what is known of a single file besides."""

    outcome: Outcome
    reason: str
    files: tuple[FileReport, ...]
    detail: str = ""


def outcome_of(file: FileReport) -> Outcome:
    """What became of a file. "read with" are files that were read together with another one, or are attached to its
    messages."""
    if file.status in ("partial", "failed"):
        return "partial" if file.status == "partial" else "failed"
    if file.messages or file.conversations:
        return "messages"
    if file.read_with:
        return "read with"
    return "skipped" if file.status == "skipped" else "without messages"


def quiet_groups(files: Sequence[FileReport]) -> list[FileGroup]:
    """The files without messages and without errors, grouped by outcome, reason and export."""
    quiet = [file for file in files if outcome_of(file) in ("read with", "without messages", "skipped")]
    folder = common_folder([file.path for file in files])
    found = _grouped(quiet, folder)
    return found if len(found) <= MAX_EXPORT_GROUPS else _grouped(quiet, None)


def _grouped(files: Sequence[FileReport], folder: str | None) -> list[FileGroup]:
    """The groups; those of one file or folder in ``folder`` each, if that is given."""
    groups: dict[tuple[Outcome, str, str], list[FileReport]] = {}
    for file in files:
        export = "" if folder is None else relative_to(file.path, folder).partition("/")[0]
        # Files directly in the common folder are of one export.
        export = "" if folder is not None and export == relative_to(file.path, folder) else export
        groups.setdefault((outcome_of(file), _reason(file), export), []).append(file)
    order: list[Outcome] = ["read with", "without messages", "skipped"]
    listed = sorted(groups.items(), key=lambda item: order.index(item[0][0]))
    return [_group(outcome, reason, tuple(group)) for (outcome, reason, _), group in listed]


def _group(outcome: Outcome, reason: str, files: tuple[FileReport, ...]) -> FileGroup:
    if len(files) == 1 and files[0].notes:
        return FileGroup(outcome, reason, files, files[0].notes[0].message.removeprefix(reason).removeprefix(": "))
    return FileGroup(outcome, _ITS.sub(r"their \1s", reason), files)


def _reason(file: FileReport) -> str:
    """Why a file has no messages. The text before a colon is the kind of the reason; the rest concerns one file."""
    return file.notes[0].message.split(":")[0] if file.notes else "no messages"


def folded(files: Sequence[FileReport], limit: int) -> list[tuple[str, tuple[FileReport, ...]]]:
    """The files as at most ``limit`` rows if possible: as they are if they are few, else by folder and format, from as
    deep a folder as possible on. A row has the path of its file or folder.

    Files that could be read only in part are rows of their own.
    """
    root = common_folder([file.path for file in files])
    depth = max((len(_parts(file.path, root)) for file in files), default=0)
    while True:
        rows: dict[tuple[str, str | None], list[FileReport]] = {}
        for file in files:
            parts = _parts(file.path, root)
            is_whole = len(parts) <= depth or file.status != "ok"
            name = file.path if is_whole else os.path.join(root, *parts[:depth]).rstrip("/")
            rows.setdefault((name, None if is_whole else file.format), []).append(file)
        if len(rows) <= limit or depth <= 0:
            return [(group[0].path if len(group) == 1 else name, tuple(group)) for (name, _), group in rows.items()]
        depth -= 1


def _parts(path: str, root: str) -> list[str]:
    return relative_to(path, root).split("/")


def relative_to(path: str, folder: str) -> str:
    """A path without the folder at its beginning."""
    return path.removeprefix(folder).lstrip("/") if folder else path


def common_folder(paths: Sequence[str]) -> str:
    """The folder that contains all paths; empty if that is the root or there is none."""
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # none, or some are absolute and some are not
        return ""
    return "" if folder == os.path.sep else folder
