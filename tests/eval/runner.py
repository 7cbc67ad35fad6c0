"""Measures retrieval through the public API, as a user would call it; prints JSON.

python -m tests.eval.runner [locomo|beam|mixed] [--profile NAME]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from appliance.bench import recall
from appliance.bench.datasets import BenchmarkCorpus
from appliance.retrieval.weights import BUILT_IN
from appliance_models import load
from tests.eval.datasets import beam, locomo, mixed

SETS = {"locomo": locomo, "beam": beam}
"""What the weights are fitted on."""

MEASURED = {**SETS, "mixed": mixed}


def run(conversations: Iterable[BenchmarkCorpus], profile: str = "evidence") -> dict[str, object]:
    """What ``appliance bench recall`` says of one system."""
    return recall.run(conversations, [profile], embedder=load()).figures(profile)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=MEASURED, nargs="?", default="locomo")
    parser.add_argument("--profile", default="evidence", choices=tuple(BUILT_IN))
    given = parser.parse_args()
    figures = run(MEASURED[given.set](), given.profile)
    print(json.dumps({"set": given.set, "profile": given.profile, **figures}, indent=1))
