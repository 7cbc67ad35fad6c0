"""Measures what the rules find in the labelled statements; prints JSON.

python -m tests.eval.facts [--misses]

A fact that was found is right when it is one that was expected: the subject, the attribute, whether it ended, and the
value. An expected value that begins with "~" must be within the one found; "|" stands between answers that are as
good."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from appliance.memory.facts import phrasing
from appliance.memory.facts.grammar import CHANGE
from appliance.memory.facts.rule_extractor import FactMention, extract_statements

FOLDER = Path(__file__).parents[1] / "facts"
PARTS = ("dev", "heldout", "unseen", "fresh", "everyday")
SAID = date(2024, 2, 10)
"""When all of it was said: a Saturday."""


@dataclass(slots=True)
class Count:
    """How many facts were found rightly, found wrongly, and missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    slips: list[dict[str, Any]] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        found, there = self.right + self.wrong, self.right + self.missed
        return {
            "facts": there,
            "found": found,
            "precision": round(self.right / found, 3) if found else None,
            "recall": round(self.right / there, 3) if there else None,
        }


def lines(part: str) -> list[dict[str, Any]]:
    """The statements of a part."""
    text = (FOLDER / f"{part}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def is_it(found: FactMention, expected: Sequence[str]) -> bool:
    """Whether a fact is the expected one."""
    subject, attribute, value, *mode = expected
    if (found.mode == "ended") != (mode == ["ended"]) or found.subject.casefold() != subject.casefold():
        return False
    if found.attribute.casefold() not in attribute.casefold().split("|"):
        return False
    values = value.split("|")
    if value.startswith("~"):
        return value[1:].casefold() in found.value.casefold()
    return any(phrasing.normalize_value(found.value) == phrasing.normalize_value(one) for one in values)


def count(line: dict[str, Any], *into: Count) -> None:
    """Read one statement and count what came of it."""
    left = [tuple(fact) for fact in line["facts"]]
    for found in extract_statements(line["text"], SAID):
        if found.attribute == CHANGE:  # takes something back, and is no fact by itself
            continue
        hit = next((fact for fact in left if is_it(found, fact)), None)
        if hit is not None:
            left.remove(hit)
        for one in into:
            one.right += hit is not None
            one.wrong += hit is None
        if hit is None:
            what = [found.subject, found.attribute, found.value, found.mode, found.rule]
            into[0].slips.append({"wrong": what, "text": line["text"]})
    for one in into:
        one.missed += len(left)
    into[0].slips += [{"missed": fact, "text": line["text"]} for fact in left]


def measure(statements: Iterable[dict[str, Any]]) -> tuple[Count, dict[str, Any]]:
    """The counts of all, and the figures by language and by kind of trap."""
    whole, apart = Count(), {}
    for line in statements:
        groups = (line["lang"], f"trap: {line['trap']}" if line["trap"] else "statements")
        count(line, whole, *(apart.setdefault(group, Count()) for group in groups))
    return whole, {"all": whole.figures(), **{name: one.figures() for name, one in sorted(apart.items())}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", choices=PARTS, help="list what went wrong in a part instead")
    given = parser.parse_args()
    if given.misses:
        for slip in measure(lines(given.misses))[0].slips:
            print(json.dumps(slip, ensure_ascii=False))
    else:
        print(json.dumps({part: measure(lines(part))[1] for part in PARTS}, indent=1))
