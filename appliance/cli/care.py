"""``status``, ``verify`` and ``reindex``: how the memory is, and making it whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from appliance.cli import options, out
from appliance.errors import StoreError, UsageError

TOLD = 10
"""How many files that could not be read are named on a screen."""


def status(home: options.Home = None, json: options.Json = False) -> None:
    """Counts, model, disk use and health.

    \b
    Examples:
      appliance status
      appliance status --json | jq .counts
    """
    with options.reading(home, "status") as memory:
        facts = memory.status()
        root = out.path(memory.home.root)
    from appliance.server.shapes import NOT_YET_KEPT, status_shape

    shape = status_shape(facts, root)
    if json:
        out.document(shape)
        return
    model = shape["model"]
    made = (
        f", {model['dimension']} dimensions, generation {model['generation']}" if model["generation"] else ""
    )
    disk = ", ".join(f"{name} {out.size(number)}" for name, number in shape["disk_bytes"].items())
    out.fields(
        {
            "health": shape["health"],
            "home": root,
            **({"daemon": f"{found['url']}, process {found['pid']}"} if (found := shape["daemon"]) else {}),
            **{name: f"{count:,}" for name, count in shape["counts"].items() if name not in NOT_YET_KEPT},
            "summaries": "; ".join([f"{shape['counts']['summaries']:,}", *_waiting(shape["summaries"])]),
            "facts": "; ".join([f"{shape['counts']['facts']:,}", *_unread(shape["facts"])]),
            "model": model["name"] + made,
            "disk": disk,
            **dict(_working(shape)),
            **({"watched files": watched} if (watched := _watched(shape["files"])) else {}),
        }
    )
    for trouble in shape["files"]["troubles"][:TOLD]:
        out.line(f"  {trouble['path']}: {trouble['reason']}")


def _working(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the process that serves has measured of itself: nothing of one that was started for this answer."""
    for name, told in shape["latency"].items():
        yield f"{name} time", f"{told['p50']:,} ms, p95 {told['p95']:,} ms, p99 {told['p99']:,} ms"
    if shape["latency"] and shape["memory"]:
        own, files = (out.size(shape["memory"][kind]) for kind in ("anonymous", "files"))
        yield "memory", f"{own} its own, {files} mapped from files"


def _unread(facts: dict[str, Any]) -> Iterator[str]:
    if due := facts["due"]:
        yield f"{out.plural(due, 'message')} {'waits' if due == 1 else 'wait'} to be read"
    if facts["trouble"]:
        yield f"{facts['model']} does not read them: {facts['trouble']}"


def _waiting(summaries: dict[str, Any]) -> Iterator[str]:
    if due := summaries["due"]:
        yield f"{out.plural(due, 'session')} {'waits' if due == 1 else 'wait'}: 'appliance summaries make'"
    if summaries["fallback"]:
        yield f"{summaries['model']} does not write them: {summaries['fallback']}"


def _watched(files: dict[str, Any]) -> str:
    counted = {state: count for state, count in files.items() if state != "troubles" and count}
    return ", ".join(f"{count:,} {state}" for state, count in counted.items())


def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Count each chunk's tokens, too: minutes.", show_default=False)
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Check every character and every row; changes nothing.

    Every character of every message of every source lies in a chunk; chunks, vectors, index and full text
    agree. Ends with 3 when something does not, and names it. --deep sees that no chunk is longer than the
    model reads. --json has the books of each source.

    \b
    Examples:
      appliance verify
      appliance verify --json | jq .sources
    """  # fmt: skip
    began = time.perf_counter()
    with options.reading(home, "verify") as memory:
        findings = memory.verify(deep=deep)
    seconds = time.perf_counter() - began
    if json:
        out.document(
            {
                "ok": not findings.problems,
                "checked": findings.checked,
                "sources": [{"path": path, **asdict(book)} for path, book in findings.sources.items()],
                "problems": [{"where": p.where, "message": p.message} for p in findings.problems],
                "seconds": seconds,
            }
        )
    else:
        out.fields({name: f"{count:,}" for name, count in findings.checked.items()})
        out.columns(
            [["problem", problem.where, problem.message] for problem in findings.problems] or [["all agree"]]
        )
    if findings.problems:
        out.say(f"{out.plural(len(findings.problems), 'problem')} found in {seconds:.1f} s")
        raise typer.Exit(StoreError.exit_code)
    out.say(f"checked in {seconds:.1f} s")


def reindex(
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Move to this embedding model; the old one serves meanwhile.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        bool,
        typer.Option("--vectors", help="Compute all vectors again with the same model.", show_default=False),
    ] = False,
    pending: Annotated[
        bool, typer.Option("--pending", help="Only go on with what waits for its vector.", show_default=False)
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Rebuild what is derived: full text, index, vectors.

    Without an option: full text and index, from the messages and the vectors that are there. Interrupted,
    it leaves a memory that works; --pending goes on.

    \b
    Examples:
      appliance reindex
      appliance reindex --pending
      appliance reindex --model bge-small-en
    """  # fmt: skip
    if (model is not None) + vectors + pending > 1:
        raise UsageError(
            "--model, --vectors and --pending don't go together", hint="--model computes all vectors anyway"
        )
    began = time.perf_counter()
    with options.reading(home, "reindex") as memory:
        with out.progress() as (_, on_embedded):
            if pending:
                done = memory.embed_pending(on_embedded)
            else:
                done = memory.reindex(model=model, vectors=vectors, progress=on_embedded)
        facts = memory.status()
        configured = memory.settings.model.name
    seconds = time.perf_counter() - began
    used = facts["model"]
    if json:
        out.document(
            {"chunks": done, "pending": facts["counts"]["pending"], "model": used, "seconds": seconds}
        )
    else:
        out.line(
            f"{out.plural(done, 'chunk')} put into the index with {used['name']}"
            f" in {seconds:.1f} s, {facts['counts']['pending']:,} waiting"
        )
    if model is not None and model != configured:
        out.say(
            f"note: the settings still name {configured}: "
            f'write name = "{model}" under [model] in {out.path(memory.home.config)}'
        )
