"""Invented conversations in which something was done that worked, others that look like it, and questions.

``procedures.jsonl`` has a conversation a line. A turn begins with who it is: U the person, A the assistant, B another
person, C a command that an agent runs, R what it printed. ``goal`` is how the question begins and ``steps`` how many
there are; a line without them is a trap. The five batches were written one after the other, each before the rules
were tried on it. The other lines are questions, with whether they ask how something is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.types import Message

FILE = Path(__file__).with_suffix("").with_name("procedures.jsonl")

BATCHES = 5


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation and the procedure that it holds; a ``goal`` of None for none."""

    batch: int
    turns: tuple[str, ...]
    goal: str | None
    steps: int

    @property
    def name(self) -> str:
        return f"{self.batch}: {self.turns[0][:60]} … {self.turns[-1][:80]}"

    def messages(self) -> list[Message]:
        return list(_messages(self.turns))


def talks() -> list[Talk]:
    return [
        Talk(line["batch"], tuple(line["turns"]), line.get("goal"), line.get("steps", 0))
        for line in _lines()
        if "turns" in line
    ]


def questions() -> dict[str, bool]:
    """Whether each asks how something is done."""
    return {line["question"]: line["how_to"] for line in _lines() if "question" in line}


def _lines() -> Iterator[dict[str, object]]:
    for line in FILE.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _messages(turns: tuple[str, ...]) -> Iterator[Message]:
    among_people = any(turn.startswith("B ") for turn in turns)
    call: str | None = None
    for number, turn in enumerate(turns, 1):
        who, text = turn[0], turn[2:]
        metadata: dict[str, object] = {}
        reply = author = None
        if who == "C":
            metadata = {"tools": [{"kind": "call", "name": "Bash"}]}
            call, text = f"x{number}", f"Bash\ncommand: {text}"
        elif who == "R":
            metadata, reply = {"tools": [{"kind": "result", "name": "Bash"}]}, call
        elif among_people:
            author = {"U": "Ana", "B": "Ben"}[who]
        role = {"U": "user", "B": "user", "A": "assistant"}.get(who, "tool")
        yield Message(f"m{number}", "s1", f"x{number}", role, author, None, text, reply, metadata)
