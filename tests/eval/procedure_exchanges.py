"""Ordinary exchanges, some of which teach a procedure: a question or a problem, steps, and the word that they worked.

``procedure_exchanges.jsonl`` has one a line. ``why`` says why one is no procedure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from appliance.types import Message, Role

FILE = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange between a person and an assistant, as turns of role and text."""

    id: str
    language: str
    is_procedure: bool
    turns: tuple[tuple[Role, str], ...]

    def messages(self) -> list[Message]:
        return [
            Message(f"m{number}", "s1", f"x{number}", role, None, None, text, None, {})
            for number, (role, text) in enumerate(self.turns, 1)
        ]


def exchanges() -> list[Exchange]:
    lines = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    return [
        Exchange(
            line["id"], line["language"], line["procedure"],
            tuple((turn["role"], turn["text"]) for turn in line["turns"]),
        )
        for line in lines
    ]  # fmt: skip
