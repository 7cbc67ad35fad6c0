"""How well procedures are found in invented conversations, half of which only look as if they held one.

    python -m tests.eval.procedures

``precision`` counts a procedure as right where the conversation holds one with that question and so many steps;
``wrong`` and ``missed`` name the conversations. ``questions`` is about telling how-to questions from others. The set is
also what the rules were made with: it says what they do, not how they fare on what nobody thought of.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from appliance.memory import procedures
from tests.eval.procedure_talks import QUESTIONS, TRAPS, WORKED, Talk


def as_labelled(talk: Talk) -> tuple[bool, int]:
    """Whether what is found is what the label says, and how many procedures were found."""
    found = procedures.find(talk.messages())
    if talk.goal is None:
        return not found, len(found)
    right = [one for one in found if one.goal.text.startswith(talk.goal) and len(one.steps) == talk.steps]
    return len(found) == len(right) == 1, len(found)


def measured() -> dict[str, Any]:
    outcomes = {talk: as_labelled(talk) for talk in (*WORKED, *TRAPS)}
    found = sum(count for _, count in outcomes.values())
    right = sum(outcomes[talk][0] for talk in WORKED)
    told = {(text, label): procedures.is_how_to(text) for label, texts in QUESTIONS.items() for text in texts}
    return {
        "conversations": len(outcomes),
        "traps": len(TRAPS),
        "precision": round(right / found, 3),
        "recall": round(right / len(WORKED), 3),
        "wrong": [talk.name for talk in (*TRAPS, *WORKED) if outcomes[talk][1] and not outcomes[talk][0]],
        "missed": [talk.name for talk in WORKED if not outcomes[talk][1]],
        "questions": {
            "count": len(told),
            "taken for one": [text for (text, label), said in told.items() if said and not label],
            "not known": [text for (text, label), said in told.items() if label and not said],
        },
    }


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print(json.dumps(measured(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
