"""``secrets``: keys, tokens, card numbers and passwords in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from appliance import config
from appliance.cli import options, output
from appliance.cli.options import argument
from appliance.paths import create_home, find_home
from appliance.types import SecretMark

verbs = typer.Typer()

_MEANINGS = {
    "keep": "stored and shown to all callers",
    "mask": "stored, hidden from assistants, shown on request (--reveal)",
    "drop": "not stored from now on; what was stored before stays ('appliance forget' erases it)",
}


@verbs.callback(invoke_without_command=True)
def secrets(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Find keys, tokens, card numbers and passwords in messages, and say who may see them.

    \b
    Examples:
      appliance secrets
      appliance secrets scan
      appliance secrets policy drop
    """
    if context.invoked_subcommand is None:
        list_secrets(None, home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("scan")
def scan(home: options.Home = None, json: options.Json = False) -> None:
    """Look for secrets in all stored messages, and mark them.

    What you import is searched by itself; this finds what an earlier version stored.

    \b
    Examples:
      appliance secrets scan
      appliance secrets scan --json | jq -r '.found[].message_id'
    """
    with options.open_existing(home, "secrets scan") as memory, output.step_progress() as step:
        report = memory.secrets.scan(progress=lambda done, left: step("scanning", done, done + left))
    if json:
        output.print_json(report)
        return
    _print_counts(report.found)
    output.say(f"Scanned {output.plural(report.scanned, 'message')}: {output.plural(len(report.found), 'secret')}.")


@verbs.command("list")
def list_secrets(user: options.User = None, home: options.Home = None, json: options.Json = False) -> None:
    """List the messages with secrets, without showing them.

    \b
    Examples:
      appliance secrets list
      appliance show m345 --reveal
    """
    with options.open_existing(home, "secrets list") as memory:
        marks = memory.secrets.list(user_id=user)
    if json:
        output.print_json({"found": marks})
    elif marks:
        rows = [[mark.message_id, mark.kind, f"{mark.start}-{mark.end}"] for mark in marks]
        output.print_columns([["message", "kind", "characters"], *rows])
    else:
        output.say("No secrets are marked. 'appliance secrets scan' looks for them in all messages.")


@verbs.command("policy")
def policy(
    name: Annotated[
        str | None, argument("keep|mask|drop", "The new policy. Without one, show the present one.")
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show or set what becomes of secrets.

    keep shows them to all callers. mask, the default, hides them from assistants, HTTP and MCP, and shows them to you
    on request. drop leaves them out of what is stored from now on.

    \b
    Examples:
      appliance secrets policy
      appliance secrets policy drop
    """
    location = find_home(home)
    if (new := options.check_secret_policy(name)) is not None:
        location = create_home(location)
        config.write_setting(location, "secrets", "policy", new)
        if location.daemon.exists():
            output.say("A running daemon follows when it reads its settings: 'kill -HUP' it, or restart it.")
    settings, origins = config.load_with_origins(location)
    found = settings.secrets.policy
    if json:
        output.print_json({"policy": found, "origin": origins["secrets.policy"]})
    else:
        output.print_fields({"policy": found, "secrets are": _MEANINGS[found], "set by": origins["secrets.policy"]})


def _print_counts(marks: Sequence[SecretMark]) -> None:
    messages: dict[str, set[str]] = {}
    for mark in marks:
        messages.setdefault(mark.kind, set()).add(mark.message_id)
    rows = [
        [kind, str(count), str(len(messages[kind]))]
        for kind, count in Counter(mark.kind for mark in marks).most_common()
    ]
    if rows:
        output.print_columns([["kind", "secrets", "messages"], *rows], right={1, 2})
