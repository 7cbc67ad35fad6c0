"""How fast messages are read for facts, in turns with another checkout; prints JSON.

    python -m tests.bench.facts_speed [--against CHECKOUT] [--turns 7]

The texts are LoCoMo's and BEAM's messages (EVAL_DATA, or ../shared/eval), and the labelled statements. Each turn is a
process of its own, and each figure is that of the best turn: messages for a second of processor time. A ``ratio`` above
1 says that this checkout is faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
ROUNDS = 3  # of all texts in a turn


def texts() -> dict[str, list[str]]:
    """The texts of each kind."""
    from tests.eval import facts, observations

    found = {"labelled": [line["text"] for part in facts.PARTS for line in facts.lines(part)]}
    if observations.DATA.is_dir():
        found["locomo"] = [message.text for part in observations.PARTS for message in observations.locomo(part)[0]]
        found["beam"] = [message.text for part in observations.PARTS for message in observations.beam(part)]
    return found


# Runs in either checkout, which need not have this module.
_TURN = f"""
import json, sys, time
from datetime import date
from appliance.memory.facts.rule_extractor import extract_statements
said, found = date(2024, 2, 10), {{}}
for kind, texts in json.load(sys.stdin).items():
    for text in texts:
        extract_statements(text, said)
    best = None
    for _ in range({ROUNDS}):
        began = time.process_time()
        facts = sum(len(extract_statements(text, said)) for text in texts)
        spent = time.process_time() - began
        best = spent if best is None else min(best, spent)
    found[kind] = [best, facts]
print(json.dumps(found))
"""


def turn(checkout: Path, given: str) -> dict[str, list[float]]:
    """Seconds and facts of each kind of text, as a checkout reads it."""
    # "-P" and no PYTHONPATH: the checkout's own package is the only one of its name.
    paths = f"import sys; sys.path[:0] = [{str(checkout)!r}, {str(checkout / 'models')!r}]\n"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", paths + _TURN], input=given, capture_output=True, text=True, check=True
    )
    found: dict[str, list[float]] = json.loads(ended.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="another checkout of the project")
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    read = texts()
    checkouts = {"here": HERE, **({"against": arguments.against} if arguments.against else {})}
    turns: dict[str, list[dict[str, list[float]]]] = {name: [] for name in checkouts}
    began = time.monotonic()
    for _ in range(arguments.turns):
        for name, checkout in checkouts.items():
            turns[name].append(turn(checkout, json.dumps(read)))
    figures: dict[str, Any] = {}
    for kind, messages in read.items():
        best = {name: min(one[kind][0] for one in done) for name, done in turns.items()}
        figures[kind] = {
            "messages": len(messages),
            **{f"{name}_facts": int(done[0][kind][1]) for name, done in turns.items()},
            **{f"{name}_per_second": round(len(messages) / seconds) for name, seconds in best.items()},
        }
        if "against" in best:
            figures[kind]["ratio"] = round(best["against"] / best["here"], 2)
    sums = {name: sum(min(one[kind][0] for one in done) for kind in read) for name, done in turns.items()}
    if "against" in sums:
        figures["ratio_of_all"] = round(sums["against"] / sums["here"], 2)
    print(json.dumps({"turns": arguments.turns, "seconds": round(time.monotonic() - began), **figures}, indent=1))


if __name__ == "__main__":
    main()
