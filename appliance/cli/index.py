"""``index``: where the index is, moving it, and settling whose it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag
from appliance.errors import StoreError

if TYPE_CHECKING:
    from appliance.types import IndexStatus

verbs = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@verbs.callback()
def index(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Show where the index is, and move it to a Qdrant server or back.

    The index finds messages by their meaning. It is made of the stored vectors, and can always be made again.

    \b
    Examples:
      appliance index status
      appliance index move https://qdrant.example:6333
      appliance index move embedded
    """
    if context.invoked_subcommand is None:
        status(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command()
def status(home: options.Home = None, json: options.Json = False) -> None:
    """Show where the index is, how many points it has, and whether it can be used.

    The exit code is 3 if it can't be used.

    \b
    Examples:
      appliance index status
      appliance index status --json | jq .points
    """
    with options.open_existing(home, "index") as memory:
        found = memory.index.status()
    _print(found, json)
    if found.trouble:
        raise typer.Exit(StoreError.exit_code)


@verbs.command()
def move(
    target: Annotated[str, argument("URL|embedded", "A Qdrant server (several nodes: with commas), or 'embedded'.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Move the index to a Qdrant server, or back into the memory's folder, while it is in use.

    Nothing is embedded again: the points are made from the stored vectors. When all are there, index.url is written
    into the settings, and the old index is removed. After an interruption the old index still serves. The server's
    key is index.api_key, best set as APPLIANCE_INDEX_API_KEY.

    \b
    Examples:
      APPLIANCE_INDEX_API_KEY=… appliance index move https://qdrant.example:6333
      appliance index move https://node1:6333,https://node2:6333,https://node3:6333
      appliance index move embedded
    """  # fmt: skip
    with options.open_existing(home, "index") as memory, output.step_progress() as step:
        found = memory.index.move(target, progress=lambda done, left: step("copying points", done, done + left))
    _print(found, json)


@verbs.command()
def claim(
    new: Annotated[
        bool, flag("--new", "Leave the collection to the other copy; this copy gets one of its own.")
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Decide which of two copies of a memory uses the collection on the server.

    A restored backup or a copied folder has the same collection as the original, and is refused when the other one
    has used it since. This copy takes the collection over: it is made anew from this copy's vectors, and the other
    copy is refused from then on.

    \b
    Examples:
      appliance index claim
      appliance index claim --new
    """  # fmt: skip
    with options.open_existing(home, "index") as memory:
        found = memory.index.claim(new=new)
    _print(found, json)


def _print(found: IndexStatus, json: bool) -> None:
    if json:
        output.print_json(asdict(found))
        return
    estimated = "about " if found.collection else ""
    points = "" if found.points is None else f"{estimated}{found.points:,} of {found.expected:,}"
    output.print_fields(
        {
            "index": found.place,
            **({"collection": found.collection} if found.collection else {}),
            "points": points or f"{found.expected:,} expected",
            **({"pending": f"{output.plural(found.pending, 'chunk')} not in the index yet"} if found.pending else {}),
            "state": found.trouble or "ok",
        }
    )
    for warning in found.warnings:
        output.say(f"warning: {warning}")
    for unused in found.unused:
        output.say(f"note: The collection {unused} is not in use; 'appliance forget' and 'index move' drop it.")
