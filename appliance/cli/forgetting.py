"""``forget``: what is to be gone is gone, with a receipt."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, out
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.types import Doomed, Receipt


def forget(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]…", help="Messages (m345) and sessions (s12), or external ids."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="FORMAT|PATH",
            help="What came from this kind of export, or from this file.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query", metavar="WORDS", help="What holds these words as they stand.", show_default=False
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All of the user's memory.", show_default=False)
    ] = False,
    user: options.User = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go; change nothing.", show_default=False)
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.", show_default=False)] = False,
    receipts: Annotated[
        bool, typer.Option("--receipts", help="List what was forgotten so far.", show_default=False)
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Erase messages for good, and prove it.

    Out of the database, its log and its free pages, the full text, the vectors and the index; then every file of
    the memory is searched for what was said. Ids, --source and --query together narrow each other. Files outside
    that hold it are named and left alone; reading them again does not bring it back ('ingest --again' does).

    \b
    Examples:
      appliance forget m345 m346
      appliance forget s12 --dry-run
      appliance forget --query "blue envelope" --user ana
      appliance forget --source whatsapp --yes --json
      appliance forget --receipts
    """  # fmt: skip
    if receipts:
        with options.reading(home, "forget") as memory:
            _list(memory.forgetting.receipts(), json)
        return
    with options.reading(home, "forget") as memory:
        doomed = memory.forgetting.preview(
            *(ids or ()), source=source, query=query, everything=everything, user_id=user
        )
        if dry_run or not (doomed.messages or doomed.sessions or doomed.facts):
            _tell(doomed, json, dry_run)
            return
        _confirm(doomed, yes)
        with out.progress() as (_, on_embedded):
            receipt = memory.forgetting.forget(doomed, on_embedded)
    if json:
        out.document({"receipt": asdict(receipt), "files": doomed.files})
    else:
        _show(receipt, doomed)
    if receipt.proof.traces:
        raise typer.Exit(1)


def _words(doomed: Doomed) -> str:
    where = "".join(f"; {count:,} from {format}" for format, count in doomed.formats.items())
    parts = [
        f"{out.plural(len(doomed.messages), 'message')} ({doomed.characters:,} characters{where})",
        *([out.plural(len(doomed.sessions), "whole session")] if doomed.sessions else []),
        *([out.plural(doomed.facts, "fact")] if doomed.facts else []),
    ]
    return ", ".join(parts)


def _confirm(doomed: Doomed, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"this would erase {_words(doomed)}", hint="--yes does it without asking, --dry-run only tells"
        )
    out.say(f"This erases {_words(doomed)}. It can't be taken back.")
    typer.confirm("Erase?", abort=True, err=True)


def _tell(doomed: Doomed, json: bool, dry_run: bool) -> None:
    if json:
        from appliance.server.shapes import doomed_shape

        out.document({"would_forget" if dry_run else "forgotten": doomed_shape(doomed)})
    elif doomed.messages or doomed.sessions or doomed.facts:
        out.line(f"would erase {_words(doomed)}")
        _tell_files(doomed)
    else:
        out.line("nothing to forget")


def _show(receipt: Receipt, doomed: Doomed) -> None:
    proof = receipt.proof
    out.fields(
        {
            "receipt": f"{receipt.id} · {receipt.at}",
            "erased": _words(doomed),
            "vectors": f"{receipt.vectors:,} erased",
            "searched": f"{proof.files:,} files ({out.size(proof.bytes)}) for {out.plural(proof.texts, 'text')}",
            "traces": ", ".join(proof.traces) or "none found",
        }
    )
    for path in proof.yours:
        out.say(f"note: {path}, an export of yours, still holds it")
    _tell_files(doomed)


def _tell_files(doomed: Doomed) -> None:
    for path in doomed.files:
        out.say(f"note: read from {path}, which is left alone")


def _list(receipts: list[Receipt], json: bool) -> None:
    if json:
        out.document({"receipts": [asdict(receipt) for receipt in receipts]})
        return
    rows = [
        (one.id, one.at, f"{one.messages:,}", f"{one.sessions:,}", one.state, str(len(one.proof.traces)))
        for one in receipts
    ]
    out.table(
        ("receipt", "when", "messages", "sessions", "state", "traces"), rows, right=("messages", "sessions")
    )
