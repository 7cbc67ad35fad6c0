"""``tokens``: access over HTTP for others, each to one user's memory. Needs no open memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from appliance import config
from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError
from appliance.paths import create_home, find_home

if TYPE_CHECKING:
    from appliance.server.access.tokens import IssuedToken

verbs = typer.Typer()

_Name = Annotated[str, argument("NAME", "Name of the token.")]


@verbs.callback(invoke_without_command=True)
def tokens(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Create, list and revoke tokens for HTTP.

    \b
    Examples:
      appliance tokens
      appliance tokens new kitchen --user ana --read-only
      appliance tokens revoke kitchen
    """
    if context.invoked_subcommand is None:
        list_tokens(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("new")
def new(
    name: _Name,
    user: Annotated[
        str | None,
        option(
            "--user",
            "U",
            "The user whose memory it opens. Default: the only one there is.",
            callback=options.refuse_empty,
        ),
    ] = None,
    namespace: Annotated[str, option("--namespace", "N", "The namespace that it opens.")] = "",
    read_only: Annotated[bool, flag("--read-only", "Allow reading only.")] = False,
    any_user: Annotated[
        bool, flag("--any-user", "For a front end of several users: chats name their user in a header.")
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Create a token for one user's memory in one namespace. It is shown once and not stored.

    \b
    Examples:
      appliance tokens new kitchen
      appliance tokens new wall --user ana --namespace house --read-only
      appliance tokens new webui --user webui --any-user
    """
    from appliance.server.access import tokens

    user = user or _only_user(home)
    token, record = tokens.issue(
        create_home(find_home(home)), name, user_id=user, namespace=namespace, read_only=read_only, any_user=any_user
    )
    if json:
        output.print_json({"token": token, **_token_document(record)})
        return
    output.print_line(token)
    output.say(f"'{name}' opens {_scope_text(record)}. This is the only time that the token is shown.")


@verbs.command("list")
def list_tokens(home: options.Home = None, json: options.Json = False) -> None:
    """List the tokens by name, without their secrets.

    \b
    Examples:
      appliance tokens list
      appliance tokens list --json
    """
    from appliance.server.access import tokens

    found = tokens.issued_tokens(find_home(home))
    if json:
        output.print_json({"tokens": [_token_document(record) for record in found]})
        return
    if not found:
        output.say("No tokens. Create one with 'appliance tokens new NAME'.")
        return
    rows = [
        (
            record.name,
            f"{record.user_id}{' and others' if record.any_user else ''}",
            record.namespace or "-",
            "read" if record.read_only else "write",
            record.created,
        )
        for record in found
    ]
    output.print_table(("name", "user", "namespace", "may", "created"), rows)


@verbs.command("revoke")
def revoke(name: _Name, home: options.Home = None, json: options.Json = False) -> None:
    """Revoke a token; a running server refuses its next request.

    \b
    Examples:
      appliance tokens revoke kitchen
    """
    from appliance.server.access import tokens

    revoked = tokens.revoke(find_home(home), name)
    if json:
        output.print_json({"revoked": _token_document(revoked)})
    else:
        output.print_line(f"Revoked '{name}', which opened {_scope_text(revoked)}.")


def _only_user(home: str | None) -> str:
    """The user whose memory a token opens that names none.

    Raises:
        UsageError: The memory has conversations of several users.
    """
    found = find_home(home)
    if not found.database.exists():
        return config.load(found).user
    with options.open_existing(home, "tokens") as memory:
        users, own = sorted(memory.overview.filter_choices().users), memory.settings.user
    if len(users) > 1:
        raise UsageError(f"--user is needed: the memory is of {', '.join(users)}.", hint="Name one of them.")
    return users[0] if users else own


def _token_document(record: IssuedToken) -> dict[str, object]:
    """A token as JSON: everything that is stored of it, except its digest."""
    import msgspec

    return {name: value for name, value in msgspec.structs.asdict(record).items() if name != "digest"}


def _scope_text(record: IssuedToken) -> str:
    where = f" in {record.namespace}" if record.namespace else ""
    others = "; in chats, that of the user whom a header names" if record.any_user else ""
    return f"the memory of {record.user_id}{where}{' (read-only)' if record.read_only else ''}{others}"
