"""``demo``: ingest, search and build a context on the bundled sample exports."""

from __future__ import annotations

import shlex
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.cli import options, output
from appliance.demo import samples as sample_exports
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Context, Hits, IngestReport


@dataclass(frozen=True, slots=True)
class DemoSearch:
    """A search of the demo and what it shows."""

    query: str
    purpose: str
    since: str | None = None

    @property
    def command(self) -> str:
        """The command line of the search."""
        since_option = f" --since {self.since}" if self.since else ""
        return f'appliance search "{self.query}"{since_option} -k {HIT_LIMIT} --explain'


HIT_LIMIT = 2

SEARCHES = (
    DemoSearch("which food is dangerous for Ben", 'by meaning: the answer contains neither "food" nor "dangerous"'),
    DemoSearch("KLP-512", "by an exact name: a ticket and its outcome"),
    DemoSearch("when are the slides due", "by time: the date changed, and only the new one matters", "2026-02-20"),
)

QUESTION = "what can I cook for Mara and Ben?"
TOKEN_BUDGET = 400


def demo(profile: options.MachineProfile = None, home: options.Home = None, json: options.Json = False) -> None:
    """Try it on sample exports: ingest, search, build a context.

    The demo needs no network. Its memory is deleted at the end unless --home names a folder for it.

    \b
    Examples:
      appliance demo
      appliance demo --home /tmp/demo && appliance search wifi --home /tmp/demo
    """
    started = time.perf_counter()
    with ExitStack() as stack:
        # Never the configured home: samples must not mix with the user's own messages.
        folder = home or stack.enter_context(tempfile.TemporaryDirectory(prefix="appliance-demo-"))
        memory = stack.enter_context(options.open_or_create(folder, "demo"))
        samples = sample_exports()
        if home:
            _check_only_samples(memory, samples)
        with output.progress() as (on_file, on_embedded):
            report = memory.ingest(list(samples), on_file=on_file, on_embedded=on_embedded)
        if not json:
            _print_ingest(report, samples)
        found = []
        for search in SEARCHES:
            hits = memory.search(search.query, limit=HIT_LIMIT, since=search.since)
            found.append(hits)
            if not json:
                _print_search(search, hits)
        context = memory.context(QUESTION, budget=TOKEN_BUDGET)
    seconds = time.perf_counter() - started
    if json:
        output.print_json(_demo_shape(report, found, context, seconds))
        return
    _print_context(context)
    _print_end(home, seconds)


def _demo_shape(report: IngestReport, found: list[Hits], context: Context, seconds: float) -> dict[str, Any]:
    """The document of ``demo --json``; its parts have the shapes of their own verbs."""
    from appliance.server.http import responses

    return {
        "ingest": responses.ingest_shape(report),
        "searches": [
            {"point": search.purpose, "command": search.command, **responses.search_shape(hits)}
            for search, hits in zip(SEARCHES, found, strict=True)
        ],
        "context": responses.context_shape(context),
        "seconds": seconds,
    }


def _check_only_samples(memory: Appliance, samples: tuple[Path, ...]) -> None:
    """Allow a second run in the same home, but no home with other messages."""
    stored_count = memory.status()["counts"]["messages"]
    if stored_count and memory.ingest(list(samples), dry_run=True).total("duplicates") != stored_count:
        raise UsageError(
            "This folder already has a memory; the demo would add its samples to it.",
            where=output.display_path(memory.home.root),
            hint="Name a new folder, or leave --home out.",
        )


def _print_ingest(report: IngestReport, samples: tuple[Path, ...]) -> None:
    _print_title(
        "Ingest: four exports from four programs",
        "appliance ingest " + " ".join(_sample_name(path) for path in samples),
    )
    rows = [
        (_sample_name(Path(file.path)), file.format or "-", f"{file.conversations}", f"{file.messages}")
        for file in report.files
    ]
    output.print_table(("file", "format", "chats", "messages"), rows, right=("chats", "messages"))
    new, duplicates = report.total("new"), report.total("duplicates")
    output.print_line(
        f"{output.plural(new, 'new message')}"
        + (f" ({duplicates} already known)" if duplicates else "")
        + f" in {output.plural(report.chunks, 'chunk')}, {report.embedded} embedded on this machine,"
        f" in {report.seconds:.1f} s."
    )


def _print_search(search: DemoSearch, found: Hits) -> None:
    from appliance.cli import rendering

    _print_title(f"Search {search.purpose}", search.command)
    rendering.print_hits(found, explain=True)
    output.say_notes(found.notes)
    output.print_line(f"{found.took_ms:.0f} ms.")


def _print_context(context: Context) -> None:
    _print_title("Context: what an assistant is given", f'appliance context "{QUESTION}" --budget {TOKEN_BUDGET}')
    output.print_line(context.text)
    output.print_line()
    item_count = sum(len(layer.items) for layer in context.layers)
    output.print_line(
        f"{context.tokens} of {context.budget} tokens: {output.plural(item_count, 'memory')} in chronological order;"
        f" {len(context.dropped)} more were found and left out."
    )


def _print_end(home: str | None, seconds: float) -> None:
    kept = (
        f"Its memory is kept: appliance sessions --home {shlex.quote(home)}"
        if home
        else "The demo memory has been deleted."
    )
    output.print_line()
    output.print_line(f"Done in {seconds:.1f} s, entirely offline. {kept}")
    output.print_line("Start your own: appliance ingest PATH")


def _print_title(text: str, command: str) -> None:
    output.print_line()
    if not output.is_terminal():
        output.print_line(f"== {text}")
        output.print_line(f"$ {command}")
        output.print_line()
        return
    output.print_styled(text, "bold magenta")
    output.print_styled(f"$ {command}", "dim")
    output.print_line()


def _sample_name(path: Path) -> str:
    """The name of a sample with its folder, which names the program that it comes from."""
    return shlex.quote(f"{path.parent.name}/{path.name}")
