"""``tokens``: who else may ask over HTTP, each for one user's memory. Works without opening the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, out
from appliance.paths import create_home, find_home

if TYPE_CHECKING:
    from appliance.server.tokens import Given

verbs = typer.Typer()

_Name = Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")]


@verbs.callback(invoke_without_command=True)
def tokens(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Give out, list and take back tokens for HTTP.

    \b
    Examples:
      appliance tokens
      appliance tokens new kitchen --user ana --read-only
      appliance tokens revoke kitchen
    """
    if context.invoked_subcommand is None:
        list_tokens(home, json)
    else:
        options.hand_down(context, home, json)


@verbs.command("new")
def new(
    name: _Name,
    user: Annotated[str, typer.Option("--user", metavar="U", help="Whose memory it opens.")],
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="N", help="The one that it opens.", show_default=False)
    ] = "",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="It changes nothing.", show_default=False)
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Give out a token for one user's memory in one namespace. It is shown once and kept nowhere.

    \b
    Examples:
      appliance tokens new kitchen --user ana
      appliance tokens new wall --user ana --namespace house --read-only
    """
    from appliance.server import tokens

    token, made = tokens.new(
        create_home(find_home(home)), name, user_id=user, namespace=namespace, read_only=read_only
    )
    if json:
        out.document({"token": token, **_shape(made)})
        return
    out.line(token)
    out.say(f"{name} opens {_what(made)}; this is the only time that the token is shown")


@verbs.command("list")
def list_tokens(home: options.Home = None, json: options.Json = False) -> None:
    """List the tokens that were given out, without the tokens themselves.

    \b
    Examples:
      appliance tokens list
      appliance tokens list --json
    """
    from appliance.server import tokens

    found = tokens.given(find_home(home))
    if json:
        out.document({"tokens": [_shape(one) for one in found]})
        return
    if not found:
        out.say("no tokens were given out; 'appliance tokens new NAME --user U' does it")
        return
    rows = [
        (one.name, one.user_id, one.namespace or "-", "reads" if one.read_only else "writes", one.created)
        for one in found
    ]
    out.table(("name", "user", "namespace", "may", "created"), rows)


@verbs.command("revoke")
def revoke(name: _Name, home: options.Home = None, json: options.Json = False) -> None:
    """Take a token back: a running server refuses it from its next request on.

    \b
    Examples:
      appliance tokens revoke kitchen
    """
    from appliance.server import tokens

    gone = tokens.revoke(find_home(home), name)
    if json:
        out.document({"revoked": _shape(gone)})
    else:
        out.line(f"{name} opens nothing any more; it opened {_what(gone)}")


def _shape(one: Given) -> dict[str, object]:
    """A token as JSON has it: all that is known of it, but its digest."""
    return {
        "name": one.name,
        "user_id": one.user_id,
        "namespace": one.namespace,
        "read_only": one.read_only,
        "created": one.created,
    }


def _what(one: Given) -> str:
    where = f" in {one.namespace}" if one.namespace else ""
    return f"the memory of {one.user_id}{where}{', to read' if one.read_only else ''}"
