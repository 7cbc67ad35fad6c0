"""``sessions private``: a conversation over pipes that is written nowhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from appliance.cli import options, out
from appliance.errors import InputError

ASSISTANT = "assistant:"
"""What a line of the assistant begins with."""


def private(
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="TOKENS", help="At most so many tokens a context.", show_default=False
        ),
    ] = None,
    user: options.User = None,
    namespace: Annotated[
        str,
        typer.Option("--namespace", metavar="N", help="In this namespace of the user.", show_default=False),
    ] = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Hold a conversation that is kept in memory only: nothing of it is written, and it is gone at the end.

    Each line on stdin is what you say, and answered by the context that an assistant would be given: what your
    memory knows, and this conversation. A line that begins with "assistant:" is the assistant's turn.

    \b
    Examples:
      appliance sessions private
      echo "what did the doctor say?" | appliance sessions private --budget 800
    """
    with options.reading(home, "sessions private") as memory:
        session = memory.sessions.create(user_id=user, namespace=namespace, private=True)
        if out.on_terminal(sys.stdin):
            out.say("Nothing of this is kept. One line a turn; end with Ctrl-D.")
        contexts = []
        for line in _lines():
            if line.startswith(ASSISTANT):
                if said := line.removeprefix(ASSISTANT).strip():
                    session.add("assistant", said)
                continue
            session.add("user", line)
            built = session.context(line, budget=budget)
            if json:
                contexts.append(built)
            else:
                out.line(built.text)
                out.line()
                out.notes(built.notes)
    if json:
        out.document({"contexts": contexts})


def _lines() -> Iterator[str]:
    """The lines of stdin that say something, as they come."""
    for number, data in enumerate(sys.stdin.buffer, 1):
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8 text at byte {error.start}",
                where=f"stdin, line {number}",
                hint="convert it first",
            ) from error
        if line:
            yield line
