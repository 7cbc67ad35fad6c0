"""``watch``: read exports automatically as they land in a folder."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import import_report, ingest, options, output
from appliance.cli.options import flag, path_argument
from appliance.cli.verb_group import near_command
from appliance.errors import DaemonGone, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from appliance.client import Appliance
    from appliance.runtime.power import PowerGate
    from appliance.types import FileReport, InputProblem, WatchChange, WatchedFolder

MIN_PATH = 16
"""Columns that a path has at least."""

DAEMON_RESTART_SECONDS = 10.0
"""Seconds in which a daemon that has ended is started again, as a service manager does."""

DAEMON_CHECK_SECONDS = 0.5

_CHANGES = ("add", "remove")
_LIST = "list"


def watch(
    paths: Annotated[
        list[str] | None,
        path_argument(
            "[PATH]…", "Folders to watch besides the inbox and the configured ones; or list, or add|remove and PATHs."
        ),
    ] = None,
    once: Annotated[bool, flag("--once", "Read and embed what is there, then exit.")] = False,
    user: options.TargetUser = None,
    profile: options.MachineProfile = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Import exports automatically as they land in a folder, until stopped.

    It always watches the inbox in the home ('appliance path') and the folders of the setting watch.folders. It never
    changes a file. A file that can't be read is reported, also by 'appliance status', and tried again when it changes.
    With --json each file is one document on its own line; with --once, too, all files are one document.

    'add' and 'remove' change the setting watch.folders instead, and exit; a watcher that runs follows at once. 'list'
    shows what is watched, and what became of the files there. A folder of such a name is given as ./list.

    \b
    Examples:
      appliance watch ~/Downloads
      appliance watch ~/Downloads --once
      appliance watch add ~/Downloads
      appliance watch list
    """  # fmt: skip
    if paths and paths[0] == _LIST:
        if once or user or len(paths) > 1:
            raise UsageError("'watch list' takes no paths, no --once and no --user.")
        _list_watched(home, json=json)
        return
    _refuse_misspelt(paths or ())
    if paths and paths[0] in _CHANGES:
        if once or user:
            raise UsageError(f"'watch {paths[0]}' takes no --once and no --user.")
        _change_setting(paths[0], paths[1:], home, json=json)
        return
    from appliance.server.http import responses

    reports: list[FileReport] = []
    narrator, pauses = Narrator(), PauseNotes(home)
    with ExitStack() as stack:
        memory = stack.enter_context(options.open_or_create(home, "watch", worker=not once))

        def on_file_read(report: FileReport) -> None:
            reports.append(report)
            if not once:
                pauses.say()
            if json and not once:
                output.print_json_line(responses.file_shape(report))
            elif not json:
                narrator.say(report, with_problems=not once)

        while True:
            try:
                watcher = memory.watcher(
                    paths or (), user_id=user, on_read=on_file_read, on_trouble=lambda note: output.say_notes([note])
                )
                with _stop_on_signals(watcher.stop):
                    if not once:
                        folder_list = ", ".join(output.display_path(folder) for folder in watcher.folders)
                        output.say(f"Watching {folder_list}. Press Ctrl-C to stop.")
                        pauses.say()
                    watcher.run(once=once)
                break
            except DaemonGone:
                if once:
                    raise
            narrator.end()
            output.say(
                f"The daemon has ended. If it is not back in {DAEMON_RESTART_SECONDS:.0f} s, watching goes on here."
            )
            _wait_for_daemon(memory)
            stack.pop_all().close()
            memory = stack.enter_context(options.open_or_create(home, "watch", worker=True))
        narrator.end()
        if once:
            _, on_embedded = stack.enter_context(output.progress())
            memory.embed_pending(on_embedded)
    if once and json:
        output.print_json({"files": [responses.file_shape(report) for report in reports]})
    if once:
        if not json:
            import_report.say_notes(reports)
        import_report.say_errors(reports)
    if once and any(report.status in ("partial", "failed") for report in reports):
        raise typer.Exit(ingest.PARTIAL_EXIT_CODE)


def _wait_for_daemon(memory: Appliance) -> None:
    """Wait until the daemon answers again, but no longer than it takes to start it: who owns the home keeps it out."""
    end = time.monotonic() + DAEMON_RESTART_SECONDS
    while time.monotonic() < end:
        time.sleep(DAEMON_CHECK_SECONDS)
        with suppress(DaemonGone):
            memory.overview.folders()
            return


def _refuse_misspelt(paths: Sequence[str]) -> None:
    """
    Raises:
        UsageError: The first path is not there, and is nearly the name of a command.
    """
    if paths and (meant := near_command(paths[0], (*_CHANGES, _LIST))):
        raise UsageError(
            f"There is no folder {paths[0]!r}.",
            hint=f"Did you mean 'watch {meant}'? A folder is given as ./{paths[0]}.",
        )


def _list_watched(home: str | None, *, json: bool) -> None:
    """Print the folders that are watched, with what became of their files."""
    with options.open_existing(home, "watch") as memory:
        found = memory.watching.list()
    if json:
        output.print_json({"watched": found})
        return
    rows = [
        (
            output.display_path(one.path), _WHY[one.why], _state(one),
            ", ".join(f"{count:,} {state}" for state, count in one.files.items()) or "no files yet",
            output.format_timestamp(one.read_at) if one.read_at else "-",
        )
        for one in found
    ]  # fmt: skip
    output.print_table(("folder", "from", "state", "files", "last read"), rows)
    if problems := sum(one.problems for one in found):
        verb = "was" if problems == 1 else "were"
        output.say(f"{output.plural(problems, 'file')} {verb} not read completely: 'appliance sources problems'.")
    if not any(one.is_followed for one in found):
        output.say(
            "No watcher runs: 'appliance watch' or 'appliance serve' follows these; 'watch --once' reads them now."
        )


_WHY = {"inbox": "inbox", "setting": "watch.folders", "command": "a running watch"}


def _state(one: WatchedFolder) -> str:
    if not one.is_there:
        return "not there"
    return "followed" if one.is_followed else "not followed now"


def _change_setting(change: str, paths: Sequence[str], home: str | None, *, json: bool) -> None:
    """Add paths to the setting ``watch.folders``, or remove them."""
    if not paths:
        raise UsageError(f"'watch {change}' needs a path.", hint=f"To watch a folder of this name, write ./{change}.")
    absolute = [os.path.abspath(os.path.expanduser(path)) for path in paths]
    with options.open_or_create(home, "watch") as memory:
        done = memory.watching.add(absolute) if change == "add" else memory.watching.remove(absolute)
        watched = memory.watching.list() if change == "remove" else []
    if change == "remove":
        changed = {os.path.abspath(os.path.expanduser(path)) for path in done.paths}
        _refuse_unwatched([path for path in absolute if path not in changed], watched, bool(done.paths))
    if json:
        output.print_json(done)
        return
    say_change(done, removed=change == "remove")


def _refuse_unwatched(paths: Sequence[str], watched: Sequence[WatchedFolder], is_some_removed: bool) -> None:
    """Say which paths could not be removed, and what there is.

    Raises:
        NotFound: Nothing was removed.
    """
    if not paths:
        return
    inbox = next(one.path for one in watched if one.why == "inbox")
    named = [output.display_path(one.path) for one in watched if one.why == "setting"]
    rest = f"watch.folders has {', '.join(named)}." if named else "watch.folders is empty."
    if inbox in paths:
        rest = f"The inbox is always watched. {rest}"
    wrong = ", ".join(map(output.display_path, paths))
    if is_some_removed:
        output.say(f"Not in watch.folders: {wrong}. {rest}")
    else:
        raise NotFound("It is not in watch.folders; nothing was removed.", where=wrong, hint=rest)


def say_change(change: WatchChange, *, removed: bool = False) -> None:
    """Print what was added to the setting ``watch.folders`` or removed from it, and who follows."""
    if not change.paths:
        output.say("It is in watch.folders already." if not removed else "Nothing was removed from watch.folders.")
        return
    for path in change.paths:
        output.print_line(f"{'no longer watching' if removed else 'watching'} {output.display_path(path)}")
    if change.is_followed:
        output.say("The watcher that runs follows at once.")
    elif not removed:
        output.say("'appliance watch --once' reads it now; 'appliance serve' and 'appliance watch' follow it.")


class PauseNotes:
    """Says once when heavy work begins to wait for mains power, and when it no longer does. The owner of the memory
    runs on the same machine by the same settings."""

    def __init__(self, home: str | None) -> None:
        self._home = home
        self._gate: PowerGate | None = None
        self._is_paused = False

    def say(self) -> None:
        from appliance import config
        from appliance.paths import find_home
        from appliance.runtime.power import PowerGate

        if self._gate is None:
            settings = config.load(find_home(self._home)).power
            self._gate = PowerGate(settings.on_battery, settings.low)
        was_paused, self._is_paused = self._is_paused, self._gate.is_paused
        if self._is_paused and not was_paused:
            percent = self._gate.power.percent
            charge = "" if percent is None else f" ({percent} %)"
            output.say(f"On battery{charge}: messages are found by their words; embedding waits for mains power.")
        elif was_paused and not self._is_paused:
            output.say("Mains power is back: embedding goes on.")


class Narrator:
    """Prints a line for each file with messages. Files without any are lines with a count, printed before the next
    file with messages and at the end."""

    def __init__(self) -> None:
        self._quiet: list[FileReport] = []
        self._notes: dict[str, tuple[InputProblem, ...]] = {}

    def say(self, report: FileReport, *, with_problems: bool) -> None:
        from appliance.report_groups import outcome_of

        if outcome_of(report) in ("read with", "without messages", "skipped"):
            self._quiet.append(report)
            return
        self.end()
        rest = f"  {report.format or '-'}  {report.new:,} new, {report.updated:,} updated, {report.duplicates:,} known"
        room = import_report.width() - len(report.status) - len(rest) - 2
        path = import_report.shorten_path(report.path, max(room, MIN_PATH))
        output.print_line(f"{report.status}  {path}{rest}", flush=True)
        if with_problems:
            import_report.say_problems(report.errors)
            if report.notes != self._notes.get(report.path):  # a log that grows has the same ones again and again
                import_report.say_problems(report.notes)
            self._notes[report.path] = report.notes

    def end(self) -> None:
        """Print the files without messages that were not printed yet."""
        import_report.print_quiet(self._quiet)
        self._quiet.clear()


@contextmanager
def _stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the watcher after the current file."""
    saved = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
