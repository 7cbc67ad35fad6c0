"""Short questions in the middle of a talk, and what is found for them with the turns before them and without.

    python -m tests.eval.followups [--homes DIR] [--turns 760]

The questions are the project's own (followups.txt), in English, German and Spanish: one memory in two is for fitting,
the others are held out. All memories lie in one home, so that each is in the way of the others. Then LoCoMo's
questions, each behind two turns of its chat that have nothing to do with it: none of them may be taken for a follow-up,
nor lose by the turns. ``--turns`` says for how many of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean

from appliance import Appliance
from appliance.bench.ir_metrics import mean, recall, reciprocal_rank
from appliance.retrieval import followups
from appliance.types import Hits, Message
from tests.eval.datasets import locomo
from tests.eval.fit import home_of

FILE = Path(__file__).with_suffix(".txt")
LIMIT = 200
PROFILE = "balanced"
SEED = 5
GRID = tuple(product((0.0, 0.2, 0.3, 0.4, 0.5, 1.0), (0.0, 0.25, 0.5)))
"""What ``OWN_WEIGHT`` and ``REPETITION_PENALTY`` are chosen from, by the questions for fitting alone."""

_TURN = re.compile(r"([ua])(?: @(\w+))?: (.+)")


@dataclass
class Asked:
    """A question at the end of a talk, and the labels of the messages that answer it."""

    leans: bool
    answers: frozenset[str]
    turns: list[str] = field(default_factory=list)
    text: str = ""


@dataclass
class Memory:
    """An invented memory: lines for an ingest, and what is asked."""

    name: str
    language: str
    records: list[dict[str, str]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def memories() -> list[Memory]:
    """What followups.txt holds; its head says how."""
    found: list[Memory] = []
    day = title = ""
    asking = False
    for line in FILE.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("", "#"):
            continue
        if mark == "==":
            found.append(Memory(*rest.split()))
        elif mark == "--":
            day, _, title = rest.partition(" ")
            asking = False
        elif mark in (">>", "!!"):
            found[-1].asked.append(Asked(mark == ">>", frozenset(rest.split())))
            asking = True
        elif (turn := _TURN.fullmatch(line)) is None:
            raise ValueError(f"{FILE.name}: {line!r} is no turn")
        elif asking:
            found[-1].asked[-1].turns.append(turn[3])
        else:
            memory, number = found[-1], len(found[-1].records)
            memory.records.append(
                {
                    "session_id": f"{memory.name} {title}",
                    "session_title": title,
                    "message_id": turn[2] or f"{memory.name}-{number}",
                    "role": {"u": "user", "a": "assistant"}[turn[1]],
                    "timestamp": f"{day}T10:{number:02}:00Z",
                    "content": turn[3],
                }
            )
    for asked in (asked for memory in found for asked in memory.asked):
        asked.text = asked.turns.pop()
    return found


@dataclass(frozen=True)
class Found:
    """What was found for a question: as it stands, and with the words of the turns before it."""

    question: Asked
    plain: Hits
    wider: Hits

    def blended(self) -> Hits:
        return followups.blend(self.plain, self.wider, self.question.turns)

    def served(self) -> Hits:
        """As a context has it: the turns are looked at where the question leans on them."""
        return self.blended() if followups.is_follow_up(self.question.text) else self.plain


def search(memory: Appliance, question: Asked) -> Found:
    def hits(text: str) -> Hits:
        return memory.search(text, limit=LIMIT, profile=PROFILE, per_session=0)

    return Found(question, hits(question.text), hits(followups.augment(question.text, question.turns)))


def measured(question: Asked, hits: Hits) -> dict[str, float]:
    ids = [hit.external_id for hit in hits]
    depths = {f"recall@{depth}": recall(ids, question.answers, depth) for depth in (1, 5, 10)}
    return {**depths, "mrr": reciprocal_rank(ids, question.answers)}


def compared(found: Sequence[Found]) -> dict[str, object]:
    return {
        "questions": len(found),
        "taken for follow-ups": sum(followups.is_follow_up(one.question.text) for one in found),
        "plain": mean(measured(one.question, one.plain) for one in found),
        "the turns' words always added": mean(measured(one.question, one.wider) for one in found),
        "both, whatever its form": mean(measured(one.question, one.blended()) for one in found),
        "served": mean(measured(one.question, one.served()) for one in found),
    }


def fitted(found: Sequence[Found]) -> dict[str, object]:
    """The mean reciprocal rank of each choice of the grid, and the best one."""
    shipped = followups.OWN_WEIGHT, followups.REPETITION_PENALTY
    scores: dict[tuple[float, float], float] = {}
    try:
        for choice in GRID:
            followups.OWN_WEIGHT, followups.REPETITION_PENALTY = choice
            scores[choice] = fmean(measured(one.question, one.blended())["mrr"] for one in found)
    finally:
        followups.OWN_WEIGHT, followups.REPETITION_PENALTY = shipped
    best = max(scores, key=lambda choice: scores[choice])
    return {
        "best": dict(zip(("OWN_WEIGHT", "REPETITION_PENALTY"), best, strict=True)),
        "mrr": {f"own {own}, repetition {new}": round(score, 4) for (own, new), score in scores.items()},
    }


def invented(homes: Path) -> dict[str, object]:
    known = memories()
    path = homes / "followups.jsonl"
    home = homes / "followups"
    with Appliance.open(home, worker=False) as memory:
        records = [record for one in known for record in one.records]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        memory.ingest(path)
        each = {(one.name, one.language): [search(memory, asked) for asked in one.asked] for one in known}
    halves: dict[str, list[Found]] = {"fit": [], "held out": []}
    for number, found in enumerate(each.values()):
        halves["held out" if number % 2 else "fit"] += found
    leaning = {half: [one for one in found if one.question.leans] for half, found in halves.items()}
    by_language: dict[str, list[Found]] = {}
    for (_, language), found in list(each.items())[1::2]:
        by_language.setdefault(language, []).extend(one for one in found if one.question.leans)
    return {
        "memories": len(known),
        "follow-ups": {half: compared(found) for half, found in leaning.items()},
        "follow-ups, held out, by language": {name: compared(found) for name, found in by_language.items()},
        "questions that stand by themselves": {
            half: compared([one for one in found if not one.question.leans]) for half, found in halves.items()
        },
        "fitting": fitted(leaning["fit"]),
    }


def behind_turns(homes: Path, most: int) -> dict[str, object]:
    """LoCoMo's questions behind turns that have nothing to do with them."""
    chance = random.Random(SEED)
    found: list[Found] = []
    for conversation in locomo():
        with Appliance.open(home_of(conversation, homes), worker=False) as memory:
            talk = [message for info in memory.sessions.list() for message in memory.sessions.messages(info.id)]
            for question in conversation.questions[: most - len(found)]:
                asked = Asked(False, question.relevant, _turns(talk, question.relevant, chance), question.text)
                found.append(search(memory, asked))
    return compared(found)


def _turns(talk: Sequence[Message], cited: frozenset[str], chance: random.Random) -> list[str]:
    """Two turns in a row, neither of them cited."""
    while True:
        at = chance.randrange(len(talk) - 1)
        if cited.isdisjoint(message.external_id for message in talk[at : at + 2]):
            return [message.text for message in talk[at : at + 2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--turns", type=int, default=760)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = given.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        print(json.dumps({**invented(homes), "LoCoMo behind other turns": behind_turns(homes, given.turns)}, indent=1))


if __name__ == "__main__":
    main()
