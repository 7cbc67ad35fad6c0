"""``watch``: folders that are read by themselves."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import intake, options, out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from appliance.types import FileReport


def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Folders, beside the inbox and the configured ones."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Read what is there, embed it, and end.", show_default=False)
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", metavar="U", help="Whose memory they go into.", show_default=False)
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read exports by themselves as they land in a folder, until stopped.

    The inbox in the home is always watched ('appliance path'), and the folders of the setting watch.folders.
    Files are read where they are, and never changed. One that can't be read is named, also by 'appliance
    status', and tried again when it changes. With --json each file is a document on a line of its own, and
    with --once all are one document.

    \b
    Examples:
      appliance watch ~/Downloads
      appliance watch ~/Downloads --once
    """  # fmt: skip
    from appliance.server import shapes

    reports: list[FileReport] = []
    with ExitStack() as stack:
        memory = stack.enter_context(options.writing(home, "watch", worker=not once))

        def told(report: FileReport) -> None:
            reports.append(report)
            if json and not once:
                out.document_line(shapes.file_shape(report))
            elif not json:
                _tell(report)

        watcher = memory.watcher(
            paths or (), user_id=user, on_read=told, on_trouble=lambda words: out.say(f"note: {words}")
        )
        if not once:
            places = ", ".join(out.path(folder) for folder in watcher.folders)
            out.say(f"watching {places}; Ctrl-C ends it")
        with _stopped_by_signals(watcher.stop):
            watcher.run(once=once)
        if once:
            _, on_embedded = stack.enter_context(out.progress())
            memory.embed_pending(on_embedded)
    if once and json:
        out.document({"files": [shapes.file_shape(report) for report in reports]})
    if once and any(report.status in ("partial", "failed") for report in reports):
        raise typer.Exit(intake.PARTLY)


def _tell(report: FileReport) -> None:
    if report.status == "skipped":
        return
    out.line(
        f"{report.status}  {report.path}  {report.format or '-'}  {report.new:,} new, {report.updated:,} updated,"
        f" {report.duplicates:,} known"
    )
    for problem in report.errors[: intake.TOLD]:
        out.say(f"  {problem.where}: {problem.message}" if problem.where else f"  {problem.message}")


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within, an interrupt and a request to end let the file under way be finished."""
    saved = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)
