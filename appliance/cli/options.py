"""The options that several verbs share, and what every verb does to reach a memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.errors import NotFound, UsageError

if TYPE_CHECKING:
    from appliance import paths
    from appliance.server.client import Appliance
    from appliance.types import SessionInfo


def _not_empty(value: str | None) -> str | None:
    # An unset shell variable must not quietly mean another memory.
    if value == "":
        raise UsageError("--home is empty", hint="name a folder, or leave --home out")
    return value


Home = Annotated[
    str | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="The folder of the memory; else APPLIANCE_HOME, else the platform's data folder.",
        callback=_not_empty,
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.", show_default=False)]
User = Annotated[
    str | None,
    typer.Option(
        "--user", metavar="U", help="Whose memory; the configured user's unless named.", show_default=False
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Rank by evidence, balanced, or weights of your own.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", "-k", metavar="N", min=1, help="How many at most.", show_default=False),
]


def shares(given: Sequence[str]) -> dict[str, float]:
    """Shares as they stand on a command line, "retrieved=0.6".

    Raises:
        UsageError: one is not so.
    """
    found: dict[str, float] = {}
    for one in given:
        layer, _, number = one.partition("=")
        try:
            found[layer.strip()] = float(number)
        except ValueError as error:
            raise UsageError(f"--share {one!r} is no share", hint="such as --share retrieved=0.6") from error
    return found


def hand_down(context: typer.Context, home: str | None, json: bool) -> None:
    """Let options that stand before a verb's own verb ("sessions --json new") count for it."""
    context.default_map = {context.invoked_subcommand or "": {"home": home, "json": json}}


_SESSION_ID = re.compile(r"s[1-9]\d*")


def reading(home: str | None, verb: str) -> Appliance:
    """Open the memory that is there; a context manager.

    Raises:
        HomeError: there is none.
    """
    from appliance.server.client import Appliance

    return Appliance.open(home, create=False, worker=False, purpose=f"appliance {verb}")


@contextmanager
def searching(home: str | None, verb: str) -> Iterator[Appliance]:
    """As ``reading``, for what is going to look into the index: it is read while the program is being loaded."""
    from appliance.paths import find_home

    with read_ahead(find_home(home)), reading(home, verb) as memory:
        yield memory


def read_ahead(home: paths.Home) -> AbstractContextManager[None]:
    """Within, the index of a memory is read that this process is going to open."""
    from appliance.store.index import ahead

    return nullcontext() if home.daemon.exists() else ahead.begun(home.index)


def writing(home: str | None, verb: str, *, worker: bool = False) -> Appliance:
    """Open the memory, begin it if there is none; a context manager. ``worker`` embeds in the background."""
    from appliance.server.client import Appliance

    return Appliance.open(home, create=True, worker=worker, purpose=f"appliance {verb}")


def own_session(memory: Appliance, reference: str, user: str | None) -> SessionInfo | None:
    """The session that a user means by an id ("s12") or an external id; None for an external id that the
    user has no session of. Never another user's.

    Raises:
        NotFound: no such id, or another user's.
        UsageError: several sources use this external id.
    """
    try:
        return memory.sessions.info(reference, user_id=memory.settings.user if user is None else user)
    except NotFound:
        if _SESSION_ID.fullmatch(reference):
            raise
        return None
