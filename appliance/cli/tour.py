"""``demo``: the main job on the sample exports that come with the program."""

from __future__ import annotations

import shlex
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.cli import options, out
from appliance.demo import samples as sample_exports
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Context, Hits, IngestReport


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the demo, and what is worth seeing in it."""

    query: str
    point: str
    since: str | None = None

    @property
    def command(self) -> str:
        """The same on the command line."""
        narrowed = f" --since {self.since}" if self.since else ""
        return f'appliance search "{self.query}"{narrowed} -k {HITS} --explain'


HITS = 2

SEARCHES = (
    Search("which food is dangerous for Ben", "by meaning: the answer says neither food nor dangerous"),
    Search("KLP-512", "by an exact name: the ticket, and what became of it"),
    Search("when are the slides due", "in time: the date moved, and only the new one counts", "2026-02-20"),
)

QUESTION = "what can I cook for Mara and Ben?"
BUDGET = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """What the demo did."""

    report: IngestReport
    found: tuple[Hits, ...]
    context: Context


def demo(home: options.Home = None, json: options.Json = False) -> None:
    """Show the main job on sample exports: read, search, build a context.

    Needs no network. The memory it makes is thrown away, unless --home keeps it in a folder of its own.

    \b
    Examples:
      appliance demo
      appliance demo --home /tmp/demo && appliance search wifi --home /tmp/demo
    """
    began = time.perf_counter()
    with ExitStack() as stack:
        # Never the home of the settings: samples have no place among somebody's own memories.
        folder = home or stack.enter_context(tempfile.TemporaryDirectory(prefix="appliance-demo-"))
        memory = stack.enter_context(options.writing(folder, "demo"))
        samples = sample_exports()
        if home:
            _only_samples(memory, samples)
        with out.progress() as (on_file, on_embedded):
            report = memory.ingest(list(samples), on_file=on_file, on_embedded=on_embedded)
        if not json:
            _tell_ingest(report, samples)
        found = []
        for search in SEARCHES:
            hits = memory.search(search.query, limit=HITS, since=search.since)
            found.append(hits)
            if not json:
                _tell_search(search, hits)
        context = memory.context(QUESTION, budget=BUDGET)
    shown = Shown(report, tuple(found), context)
    seconds = time.perf_counter() - began
    if json:
        out.document(shape(shown, seconds))
        return
    _tell_context(context)
    _tell_end(home, seconds)


def shape(shown: Shown, seconds: float) -> dict[str, Any]:
    """The demo as ``demo --json`` prints it; its parts have the shapes of their own verbs."""
    from appliance.server import shapes

    return {
        "ingest": shapes.ingest_shape(shown.report),
        "searches": [
            {"point": search.point, "command": search.command, **shapes.shape(found)}
            for search, found in zip(SEARCHES, shown.found, strict=True)
        ],
        "context": shapes.context_shape(shown.context),
        "seconds": seconds,
    }


def _only_samples(memory: Appliance, samples: tuple[Path, ...]) -> None:
    """A second run in the same home is welcome; a home with anything else in it is not."""
    there = memory.status()["counts"]["messages"]
    if there and memory.ingest(list(samples), dry_run=True).total("duplicates") != there:
        raise UsageError(
            "this home holds a memory already, and the samples would be mixed into it",
            where=out.path(memory.home.root),
            hint="name a new folder, or leave --home out",
        )


def _tell_ingest(report: IngestReport, samples: tuple[Path, ...]) -> None:
    _title(
        "Four exports, from four programs", "appliance ingest " + " ".join(_name(path) for path in samples)
    )
    rows = [
        (_name(Path(file.path)), file.format or "-", f"{file.conversations}", f"{file.messages}")
        for file in report.files
    ]
    out.table(("file", "format", "chats", "messages"), rows, right=("chats", "messages"))
    new, known = report.total("new"), report.total("duplicates")
    out.line(
        f"{out.plural(new, 'new message')}"
        + (f" ({known} known already)" if known else "")
        + f" in {out.plural(report.chunks, 'chunk')}, {report.embedded} embedded on this machine:"
        f" {report.seconds:.1f} s."
    )


def _tell_search(search: Search, found: Hits) -> None:
    from appliance.cli import hits

    _title(f"A search {search.point}", search.command)
    hits.show(found, explain=True)
    out.notes(found.notes)
    out.line(f"{found.took_ms:.0f} ms.")


def _tell_context(context: Context) -> None:
    _title("What an assistant would be given", f'appliance context "{QUESTION}" --budget {BUDGET}')
    out.line(context.text)
    out.line()
    kept = sum(len(layer.items) for layer in context.layers)
    out.line(
        f"{context.tokens} of {context.budget} tokens: {out.plural(kept, 'memory').replace('memorys', 'memories')},"
        f" in the order of time; {len(context.dropped)} more were found and left out."
    )


def _tell_end(home: str | None, seconds: float) -> None:
    kept = (
        f"The memory is kept: appliance sessions --home {shlex.quote(home)}"
        if home
        else "The memory of the demo is gone again."
    )
    out.line()
    out.line(f"All of it took {seconds:.1f} s, on this machine alone. {kept}")
    out.line("Begin your own: appliance ingest PATH")


def _title(text: str, command: str) -> None:
    out.line()
    if not out.on_terminal():
        out.line(f"== {text}")
        out.line(f"$ {command}")
        out.line()
        return
    from rich.text import Text

    console = out.console()
    console.print(Text(text, style="bold magenta"))
    console.print(Text(f"$ {command}", style="dim"))
    console.print()


def _name(path: Path) -> str:
    """A sample's name with its folder's, which says the program it is from."""
    return shlex.quote(f"{path.parent.name}/{path.name}")
