"""``sessions private``: a conversation over stdin and stdout that is never stored."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from appliance.cli import options, output

ASSISTANT_PREFIX = "assistant:"
"""The beginning of a line that the assistant says."""


def private(
    budget: options.Budget = None,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Hold a conversation in memory only: nothing is written to disk, and it is gone at the end.

    Each line on stdin is a turn of yours; the answer is the context that an assistant would be given, from your
    memory and this conversation. A line that begins with "assistant:" is a turn of the assistant.

    \b
    Examples:
      appliance sessions private
      echo "what did the doctor say?" | appliance sessions private --budget 800
    """
    with options.open_existing(home, "sessions private") as memory:
        session = memory.sessions.create(user_id=user, namespace=namespace, private=True)
        if output.is_terminal(sys.stdin):
            output.say("This conversation is not stored. Write one turn per line; end with Ctrl-D.")
        contexts = []
        for line in _stdin_lines():
            if line.startswith(ASSISTANT_PREFIX):
                if content := line.removeprefix(ASSISTANT_PREFIX).strip():
                    session.add("assistant", content)
                continue
            session.add("user", line)
            built = session.context(line, budget=budget)
            if json:
                contexts.append(built)
            else:
                output.print_line(built.text)
                output.print_line()
                output.say_notes(built.notes)
    if json:
        output.print_json({"contexts": contexts})


def _stdin_lines() -> Iterator[str]:
    """The lines of stdin that are not blank, as they arrive."""
    for number, data in enumerate(sys.stdin.buffer, 1):
        if line := options.decode_stdin(data, f"stdin, line {number}", is_start=number == 1).strip():
            yield line
