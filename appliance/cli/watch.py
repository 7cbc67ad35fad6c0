"""``watch``: read exports automatically as they land in a folder."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import ingest, options, output
from appliance.cli.options import argument, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from appliance.types import FileReport


def watch(
    paths: Annotated[
        list[Path] | None, argument("PATH", "Folders to watch besides the inbox and the configured ones.")
    ] = None,
    once: Annotated[bool, flag("--once", "Read and embed what is there, then exit.")] = False,
    user: options.TargetUser = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Import exports automatically as they land in a folder, until stopped.

    It always watches the inbox in the home ('appliance path') and the folders of the setting watch.folders. It never
    changes a file. A file that can't be read is reported, also by 'appliance status', and tried again when it changes.
    With --json each file is one document on its own line; with --once, too, all files are one document.

    \b
    Examples:
      appliance watch ~/Downloads
      appliance watch ~/Downloads --once
    """  # fmt: skip
    from appliance.server.http import responses

    reports: list[FileReport] = []
    with ExitStack() as stack:
        memory = stack.enter_context(options.open_or_create(home, "watch", worker=not once))

        def on_file_read(report: FileReport) -> None:
            reports.append(report)
            if json and not once:
                output.print_json_line(responses.file_shape(report))
            elif not json:
                _print_report(report)

        watcher = memory.watcher(
            paths or (), user_id=user, on_read=on_file_read, on_trouble=lambda note: output.say_notes([note])
        )
        with _stop_on_signals(watcher.stop):
            if not once:
                folder_list = ", ".join(output.display_path(folder) for folder in watcher.folders)
                output.say(f"Watching {folder_list}. Press Ctrl-C to stop.")
            watcher.run(once=once)
        if once:
            _, on_embedded = stack.enter_context(output.progress())
            memory.embed_pending(on_embedded)
    if once and json:
        output.print_json({"files": [responses.file_shape(report) for report in reports]})
    if once and any(report.status in ("partial", "failed") for report in reports):
        raise typer.Exit(ingest.PARTIAL_EXIT_CODE)


def _print_report(report: FileReport) -> None:
    if report.status == "skipped":
        return
    output.print_line(
        f"{report.status}  {report.path}  {report.format or '-'}  {report.new:,} new, {report.updated:,} updated,"
        f" {report.duplicates:,} known"
    )
    ingest.say_problems(report.errors)


@contextmanager
def _stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop the watcher after the current file."""
    saved = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
