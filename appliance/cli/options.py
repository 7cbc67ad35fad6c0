"""The options that several verbs share, and the ways in which a verb opens a memory."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from appliance import machine_profiles
from appliance.errors import InputError, NotFound, UsageError
from appliance.types import SecretPolicy
from appliance.types.attachments import Contained

if TYPE_CHECKING:
    from appliance import paths
    from appliance.client import Appliance
    from appliance.types import SessionInfo

MAX_LISTED_USERS = 8

SESSION_ID = re.compile(r"s[1-9]\d*")


def argument(metavar: str, help: str) -> Any:
    """An argument; its help does not show the default."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def named_path(text: str) -> str:
    """A path as it was typed; a ``Path`` could not tell an empty one from the present folder.

    Raises:
        UsageError: It is empty.
    """
    from appliance.paths import check_path

    check_path(text)
    return text


def path_argument(metavar: str, help: str) -> Any:
    """An argument that is a path, or several; its type is ``str``."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, parser=named_path)


def option(names: str, metavar: str, help: str, **more: Any) -> Any:
    """An option with a value; its help does not show the default. ``names`` are separated by spaces."""
    return typer.Option(*names.split(), metavar=metavar, help=help, show_default=False, **more)


def flag(names: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(*names.split(), help=help, show_default=False)


def refuse_empty(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """The callback of an option whose value may not be empty: an unset variable of a shell must not quietly mean
    another memory, another user or another model."""
    if value is not None and not value.strip():
        name = parameter.opts[0] if parameter.param_type_name == "option" else (parameter.metavar or parameter.name)
        raise UsageError(f"{name} is empty.", hint=f"Give it a value, or leave {name} out.")
    return value


def _check_budget(value: int | None) -> int | None:
    if value is not None and value < 1:
        raise UsageError("--budget must be at least 1.")
    return value


def _choose_machine_profile(value: str | None) -> str | None:
    if value is not None:
        if value not in (*machine_profiles.NAMES, "auto"):
            raise UsageError(f"--profile must be {', '.join(machine_profiles.NAMES)} or auto, not '{value}'.")
        os.environ[machine_profiles.PROFILE_VARIABLE] = value  # the processes that this one starts follow it
    return value


Home = Annotated[
    str | None,
    option(
        "--home", "DIR", "Folder of the memory. Default: APPLIANCE_HOME, else the platform's data folder.",
        callback=refuse_empty,
    ),
]  # fmt: skip
MachineProfile = Annotated[
    str | None,
    option(
        "--profile", "tiny|laptop|workstation",
        "Settings for a small or a large machine. Default: the setting 'profile', else by memory and processors.",
        callback=_choose_machine_profile,
    ),
]  # fmt: skip
"""For verbs whose process owns a memory for long. A daemon that runs keeps its own."""
Json = Annotated[bool, flag("--json", "Print one JSON document.")]
User = Annotated[
    str | None, option("--user", "U", "Whose memory to use. Default: the configured user's.", callback=refuse_empty)
]
TargetUser = Annotated[
    str | None, option("--user", "U", "Whose memory to add to. Default: the configured user's.", callback=refuse_empty)
]
Namespace = Annotated[str, option("--namespace", "N", "Use this namespace of the user.")]
Reveal = Annotated[bool, flag("--reveal", "Show secrets as they are: keys, tokens, card numbers, passwords.")]
Profile = Annotated[
    str | None, option("--profile", "NAME", "How to rank: evidence, balanced, items, or a profile of the settings.")
]
Limit = Annotated[int | None, option("--limit -k", "N", "At most this many.", min=1)]
Budget = Annotated[
    int | None, option("--budget", "TOKENS", "Most tokens of a context; never exceeded.", callback=_check_budget)
]
InSession = Annotated[str | None, option("--session", "ID", "Only this session, by id or external id.")]
Roles = Annotated[
    list[str] | None,
    option("--role", "user|assistant|system|tool", "Filter by role (repeatable). Default: user and assistant."),
]
Sources = Annotated[list[str] | None, option("--source", "FORMAT", "Filter by export format (repeatable).")]
Authors = Annotated[
    list[str] | None,
    option(
        "--author", "NAME", "Only messages by this person: an id, any name or a part of one, an address (repeatable)."
    ),
]
Since = Annotated[str | None, option("--since", "WHEN", "Only messages from this date, time or period (last week) on.")]
Until = Annotated[str | None, option("--until", "WHEN", "Only messages until this date or period (inclusive) or time.")]
Has = Annotated[
    list[str] | None,
    option(
        "--has", "|".join(get_args(Contained)),
        "Only messages that have one of these, or are pages of a document (repeatable).",
    ),
]  # fmt: skip
Tag = Annotated[list[str] | None, option("--tag", "TAG", "Only conversations with this tag (repeatable).")]
Tools = Annotated[
    list[str] | None, option("--tool", "NAME", "Only messages about a call of this tool, as bash (repeatable).")
]
Files = Annotated[
    list[str] | None,
    option("--file", "NAME", "Only messages about this file, by its name or the end of its path (repeatable)."),
]
Participants = Annotated[
    list[str] | None,
    option("--with", "PERSON", "Only conversations in which this person wrote (repeatable: all of them)."),
]
Entities = Annotated[
    list[str] | None, option("--entity", "NAME", "Only messages that name this person, place or product (repeatable).")
]
Topics = Annotated[list[str] | None, option("--topic", "WORDS", "Only conversations about this topic (repeatable).")]
DryRun = Annotated[bool, flag("--dry-run", "Show what would be removed; change nothing.")]


def parse_shares(values: Sequence[str]) -> dict[str, float]:
    """Parse shares such as "retrieved=0.6".

    Raises:
        UsageError: a share has another form.
    """
    result: dict[str, float] = {}
    for value in values:
        layer, _, number = value.partition("=")
        try:
            result[layer.strip()] = float(number)
        except ValueError as error:
            raise UsageError(
                f"Invalid share {value!r}.", hint="Use LAYER=NUMBER, as in --share retrieved=0.6."
            ) from error
    return result


def check_secret_policy(policy: str | None) -> SecretPolicy | None:
    """Return a policy for secrets as such.

    Raises:
        UsageError: There is no such policy.
    """
    if policy is None or policy in get_args(SecretPolicy):
        return cast("SecretPolicy | None", policy)
    raise UsageError(f"There is no policy {policy!r}.", hint="Use keep, mask or drop.")


def inherit_options(context: typer.Context, home: str | None, json: bool) -> None:
    """Let options before a subcommand ("sessions --json new") count for the subcommand."""
    context.default_map = {context.invoked_subcommand or "": {"home": home, "json": json}}


def open_existing(home: str | None, verb: str) -> Appliance:
    """Open an existing memory, as a context manager.

    Raises:
        HomeError: there is no memory.
    """
    return _opened(home, verb, create=False, worker=False)


def open_to_read(home: str | None, verb: str, reveal: bool = False) -> Appliance:
    """Open an existing memory to show what it holds, as a context manager. Secrets are hidden unless ``reveal``."""
    memory = open_existing(home, verb)
    return memory if reveal else memory.masked()


@contextmanager
def open_for_search(home: str | None, verb: str, reveal: bool = False) -> Iterator[Appliance]:
    """Open an existing memory as ``open_to_read`` does, and read its index ahead while the program is still loading."""
    from appliance.paths import find_home

    with prefetch_index(find_home(home)), open_to_read(home, verb, reveal) as memory:
        yield memory


def prefetch_index(home: paths.Home) -> AbstractContextManager[None]:
    """Read the index ahead within this context, unless a daemon has it open."""
    from appliance.store.index import readahead

    return nullcontext() if home.daemon.exists() else readahead.reading_ahead(home.index)


def open_or_create(home: str | None, verb: str, *, worker: bool = False) -> Appliance:
    """Open the memory, or create it, as a context manager. ``worker`` embeds in the background."""
    return _opened(home, verb, create=True, worker=worker)


def _opened(home: str | None, verb: str, *, create: bool, worker: bool) -> Appliance:
    from appliance.cli import owner_settings
    from appliance.client import Appliance

    memory = Appliance.open(home, create=create, worker=worker, purpose=f"appliance {verb}")
    owner_settings.say_ignored(memory)
    return memory


def author_notes(memory: Appliance, names: Sequence[str] | None, user: str | None, namespace: str) -> tuple[str, ...]:
    """What there is to say about names of authors with which nothing was found."""
    return memory.statistics(authors=names, user_id=user, namespace=namespace).notes if names else ()


def other_users(memory: Appliance, user: str | None) -> str | None:
    """Whose memory may be meant in place of a user's for whom nothing is stored; None if there is something, or no
    other user. Only the owner of a memory learns it.

    Args:
        user: None for the configured one.
    """
    from appliance.near_names import near_names

    users = memory.overview.filter_choices().users
    name = memory.settings.user if user is None else user
    if not users or name in users:
        return None
    if similar := near_names(name, users):
        return f"Did you mean --user {similar[0]}?"
    more = f" and {len(users) - MAX_LISTED_USERS} more" if len(users) > MAX_LISTED_USERS else ""
    names = ", ".join(islice(users, MAX_LISTED_USERS))
    nothing = f"Nothing is stored for user '{name}'. " if user is None else ""
    return f"{nothing}--user names another: {names}{more}."


def own_session(memory: Appliance, reference: str, user: str | None) -> SessionInfo | None:
    """The user's session with this id ("s12") or external id; None if the user has none with this external id.

    Raises:
        NotFound: there is no such id, or it belongs to another user.
        UsageError: several sources use this external id.
    """
    try:
        return memory.sessions.info(reference, user_id=memory.settings.user if user is None else user)
    except NotFound:
        if SESSION_ID.fullmatch(reference):
            raise
        return None


def decode_stdin(data: bytes, where: str = "stdin", *, is_start: bool = True) -> str:
    """Decode text from stdin; a byte order mark at its start is dropped.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig" if is_start else "utf-8")
    except UnicodeDecodeError as error:
        hint = "Convert it to UTF-8 first, for instance with iconv."
        raise InputError(f"Not UTF-8 text at byte {error.start}.", where=where, hint=hint) from error


def read_text(text: str) -> str:
    """The text of an argument, or with "-" that of stdin without its last line end."""
    if text != "-":
        return text
    return decode_stdin(sys.stdin.buffer.read()).removesuffix("\n").removesuffix("\r")
