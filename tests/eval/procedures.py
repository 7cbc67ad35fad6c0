"""How well procedures are found in invented conversations, half of which only look as if they held one.

    python -m tests.eval.procedures

``precision`` counts a procedure as right where the conversation holds one with that question and so many steps;
``wrong`` and ``missed`` name the conversations. ``questions`` is about telling how-to questions from others. The set is
also what the rules were made with: it says what they do, not how they fare on what nobody thought of.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from appliance.memory import how_to, procedures
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


def measured() -> dict[str, Any]:
    labelled = questions()
    told = {text: how_to.is_how_to(text) for text in labelled}
    return {
        **scored(talks()),
        "questions": {
            "count": len(told),
            "taken for one": [text for text, said in told.items() if said and not labelled[text]],
            "not known": [text for text, said in told.items() if labelled[text] and not said],
        },
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(json.dumps(measured(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
