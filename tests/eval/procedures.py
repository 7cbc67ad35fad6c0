"""How well procedures are found in invented conversations, half of which only look as if they held one.

    python -m tests.eval.procedures
    python -m tests.eval.procedures --threads CLONE

``precision`` counts a procedure as right where the conversation holds one with that question and so many steps;
``wrong`` and ``missed`` name the conversations. ``questions`` is about telling how-to questions from others. The set is
also what the rules were made with: it says what they do, not how they fare on other conversations. ``everyday`` is a
set of ordinary exchanges that was written before the rules were fitted to it.

With ``--threads``, conversations by other hands are searched instead: the threads of ``procedure_threads``, from a
clone of their repository, and the two sets of ``datasets`` where they are. Of what is found there, ``right`` and
``wrong`` were read and judged; ``unread`` was not.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from appliance.bench.datasets import BenchmarkCorpus
from appliance.memory import how_to, procedures
from appliance.types import Message
from tests.eval import datasets, procedure_threads
from tests.eval.procedure_exchanges import Exchange, exchanges
from tests.eval.procedure_talks import Talk, questions, talks


def as_labelled(talk: Talk) -> tuple[int, int]:
    """How many procedures were found in a conversation, and how many of them are what the label says."""
    found = procedures.find(talk.messages())
    if talk.goal is None:
        return len(found), 0
    right = [one for one in found if one.goal.text.startswith(talk.goal) and len(one.steps) == talk.steps]
    return len(found), min(1, len(right))


def scored(talks: Sequence[Talk]) -> dict[str, Any]:
    outcomes = [as_labelled(talk) for talk in talks]
    found, right = (sum(column) for column in zip(*outcomes, strict=True))
    worked = sum(talk.goal is not None for talk in talks)
    return {
        "conversations": len(talks),
        "traps": len(talks) - worked,
        "precision": round(right / found, 3),
        "recall": round(right / worked, 3),
        "wrong": [talk.name for talk, (all_, good) in zip(talks, outcomes, strict=True) if all_ > good],
        "missed": [talk.name for talk, (all_, _) in zip(talks, outcomes, strict=True) if talk.goal and not all_],
    }


def scored_exchanges(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    """How well ordinary exchanges that teach something are told from others, by language too."""
    found = {one.id: bool(procedures.find(one.messages())) for one in exchanges}
    right = sum(found[one.id] and one.is_procedure for one in exchanges)
    languages = sorted({one.language for one in exchanges})
    of_language = {name: [one for one in exchanges if one.is_procedure and one.language == name] for name in languages}
    return {
        "exchanges": len(exchanges),
        "precision": round(right / max(1, sum(found.values())), 3),
        "recall": round(right / sum(one.is_procedure for one in exchanges), 3),
        "recall by language": {
            name: f"{sum(found[one.id] for one in some)} of {len(some)}" for name, some in of_language.items()
        },
        "wrong": [one.id for one in exchanges if found[one.id] and not one.is_procedure],
        "missed": [one.id for one in exchanges if one.is_procedure and not found[one.id]],
    }


def measured() -> dict[str, Any]:
    labelled = questions()
    told = {text: how_to.is_how_to(text) for text in labelled}
    return {
        **scored(talks()),
        "everyday": scored_exchanges(exchanges()),
        "questions": {
            "count": len(told),
            "taken for one": [text for text, said in told.items() if said and not labelled[text]],
            "not known": [text for text, said in told.items() if labelled[text] and not said],
        },
    }


def measured_by_other_hands(clone: Path) -> dict[str, Any]:
    """What is found in conversations that were written by others, by set: how many there are, and what was judged."""
    return {
        "threads": _judged((thread.name, thread.messages) for thread in procedure_threads.threads(clone)),
        **{
            name: _judged(
                (f"{corpus.name}/{session}", messages)
                for corpus in corpora()
                for session, messages in _sessions(corpus).items()
            )
            for name, corpora in (("locomo", datasets.locomo), ("beam", datasets.beam))
            if datasets.FOLDER.is_dir()
        },
    }


def _judged(conversations: Iterable[tuple[str, Sequence[Message]]]) -> dict[str, Any]:
    count = turns = 0
    found: list[str] = []
    for name, messages in conversations:
        count += 1
        turns += len(messages)
        found += [f"{name} {one.first}-{one.last}" for one in procedures.find(messages)]
    right = procedure_threads.RIGHT.intersection(found)
    wrong = procedure_threads.WRONG.intersection(found)
    return {
        "conversations": count,
        "turns": turns,
        "found": len(found),
        "precision": round(len(right) / len(right | wrong), 3) if right | wrong else None,
        "right": sorted(right),
        "wrong": sorted(wrong),
        "unread": sorted({*found} - right - wrong),
    }


def _sessions(corpus: BenchmarkCorpus) -> dict[str, list[Message]]:
    """The messages of a corpus by session. In a chat of two, who begins is the user."""
    sessions: dict[str, list[Message]] = defaultdict(list)
    begun_by: dict[str, str | None] = {}
    for record in corpus.records:
        name, author, role = str(record["session_id"]), record.get("author"), record["role"]
        session = sessions[name]
        if author is not None:
            role = "user" if author == begun_by.setdefault(name, author) else "assistant"
        number = len(session) + 1
        session.append(Message(f"m{number}", "s1", f"x{number}", role, None, None, record["content"], None, {}))
    return sessions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=Path, metavar="CLONE", help="a clone of jkkummerfeld/irc-disentanglement")
    clone = parser.parse_args().threads
    found = measured() if clone is None else measured_by_other_hands(clone)
    print(json.dumps(found, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
