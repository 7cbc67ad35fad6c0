"""``discover``: where histories lie on this machine, and watching them."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.cli.watch import say_change
from appliance.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appliance.types import Discovery, FoundHistory, WatchChange

COLUMN_TITLES = ("", "tool", "chats", "first", "last", "size", "path")


def discover(
    paths: Annotated[
        list[str] | None, argument("[PATH|TOOL]…", "With --watch: only these paths, or those of these programs.")
    ] = None,
    watch: Annotated[
        bool, flag("--watch", "Watch what was found: on a terminal after a question, else all or what is named.")
    ] = False,
    seconds: Annotated[
        float, option("--seconds", "N", "Count for at most so long; the rest is estimated.", min=0.0)
    ] = 20.0,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show where histories of chats lie on this machine, and what each holds.

    It looks at the places of coding agents, programs for local models, messengers and mail, and for exports in
    Downloads, Desktop and Documents. It only reads. Nothing is imported before you accept it with --watch, which adds
    the path to the setting watch.folders: 'appliance watch' and 'appliance serve' read it then, and what comes later.

    \b
    Examples:
      appliance discover
      appliance discover --watch "Claude Code" codex
      appliance discover --watch ~/Downloads/chatgpt-export.zip
    """  # fmt: skip
    began = time.monotonic()
    discovery = _look(home, seconds)
    took = time.monotonic() - began
    named = _named(discovery, paths or [])
    open_to_watch = [one for one in named if not one.watched and not one.problem]
    if json:
        added = _watch(home, open_to_watch).paths if watch else ()
        shape = {"found": discovery.found, "notes": discovery.notes}
        output.print_json(shape | ({"added": added} if watch else {}))
        return
    _print_found(discovery.found if watch or not paths else named)
    output.say_notes(discovery.notes)
    output.say(f"Looked for {took:.1f} s.")
    if watch and not paths and sys.stdin.isatty():
        open_to_watch = _asked(open_to_watch)
    if watch:
        say_change(_watch(home, open_to_watch))
    elif open_to_watch:
        output.say("'appliance discover --watch' watches all of it; name paths or programs to watch only these.")


def _look(home: str | None, seconds: float) -> Discovery:
    """What was found. Where there is no memory yet, none is created."""
    from appliance.client import discover_without_memory
    from appliance.paths import find_home

    with output.step_progress() as step:

        def on_place(path: str, done: int, left: int) -> None:
            step(f"looking into {path}", done, done + left)

        if not (found := find_home(home)).database.is_file():
            return discover_without_memory(found, seconds=seconds, on_place=on_place)
        with options.open_existing(home, "discover") as memory:
            return memory.discover(seconds=seconds, on_place=on_place)


def _watch(home: str | None, accepted: Sequence[FoundHistory]) -> WatchChange:
    with options.open_or_create(home, "discover") as memory:
        return memory.watching.add([one.path for one in accepted])


def _named(discovery: Discovery, names: Sequence[str]) -> list[FoundHistory]:
    """What was found at the named paths and of the named programs; all of it without names."""
    if not names:
        return list(discovery.found)
    chosen: list[FoundHistory] = []
    for name in names:
        path = os.path.abspath(os.path.expanduser(name))
        matching = [one for one in discovery.found if one.path == path or one.tool.lower() == name.lower()]
        if not matching:
            if os.path.exists(path):
                message = f"No history was found at {name!r}."
                hint = f"'appliance watch add {name}' watches it nevertheless; 'appliance ingest {name}' imports it."
            else:
                message = f"{name!r} is neither a path that exists nor the name of a program whose history was found."
                hint = "'appliance discover' lists what there is, by the paths and programs to name."
            raise NotFound(message, hint=hint)
        chosen += [one for one in matching if one not in chosen]
    return chosen


def _asked(found: Sequence[FoundHistory]) -> list[FoundHistory]:
    """Those that the person accepts, asked one by one."""
    return [
        one
        for one in found
        if typer.confirm(f"Watch {one.tool} ({_conversations(one)} chats) at {output.clean(one.path)}?", err=True)
    ]


def _print_found(found: Sequence[FoundHistory]) -> None:
    if not found:
        output.print_line("No histories were found. 'appliance ingest PATH' imports an export from any place.")
        return
    rows = [
        (
            "watched" if one.watched else "",
            one.tool,
            _conversations(one),
            _day(one.first),
            _day(one.last),
            output.format_size(one.bytes),
            output.display_path(one.path),
        )
        for one in found
    ]
    output.print_table(COLUMN_TITLES, rows, right=("chats", "size"))
    if any(one.estimated for one in found):
        output.say("~ is an estimate, and the dates are those of the part that was read; --seconds N counts longer.")
    for one in found:
        if one.problem:
            output.say(f"{one.tool}: {output.display_path(one.path)}: {one.problem}. To read it: {one.hint}.")


def _conversations(one: FoundHistory) -> str:
    if one.conversations is None:
        return "?"
    return f"{'~' if one.estimated else ''}{one.conversations:,}"


def _day(timestamp: str | None) -> str:
    return timestamp[:10] if timestamp else "-"
