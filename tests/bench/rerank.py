"""What reranking costs: a search without it, within the limit of the settings, and with all the time it takes.

    python -m tests.bench.rerank [locomo|beam] [--questions 20]

The reranker is the shipped model with a mean for its logit: a cross-encoder of the common small kind (six layers of
384) costs as much, and the hits mean nothing. The home holds the first chat of the set.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from statistics import median

from appliance import Appliance
from appliance.bench.recall import write_jsonl
from appliance.settings import RerankSettings
from appliance_models import import_pack
from tests.bench import measure
from tests.eval.datasets import BenchmarkCorpus
from tests.eval.runner import SETS
from tests.tiny_models import trunk_folder

NO_LIMIT = 600_000.0
WARM_UP = 3


def run(chat: BenchmarkCorpus, questions: int) -> measure.Document:
    default = RerankSettings().budget_ms
    settings = {"off": ("", default), "in time": ("trunk", default), "to the end": ("trunk", NO_LIMIT)}
    found: measure.Document = {"benchmark": "rerank", "machine": measure.machine(), "limit ms": default}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        home.mkdir(mode=0o700)
        import_pack(trunk_folder(Path(folder, "trunk")), home / "models")
        for name, (model, budget) in settings.items():
            (home / "config.toml").write_text(f'[rerank]\nmodel = "{model}"\nbudget_ms = {budget}\n')
            with Appliance.open(home) as memory:
                memory.ingest(write_jsonl(chat, Path(folder))[0])
                found[name] = _searched(memory, [question.text for question in chat.questions[:questions]])
    return found


def _searched(memory: Appliance, questions: list[str]) -> measure.Document:
    for question in questions[:WARM_UP]:
        memory.search(question)
    answers = [memory.search(question) for question in questions]
    read = [int(count[1]) for hits in answers for note in hits.notes if (count := re.match(r"(\d+) of", note))]
    took = [hits.took_ms for hits in answers]
    return {
        "search ms p50": round(median(took), 1),
        "search ms max": round(max(took), 1),
        "reranked, median": median(read) if read else None,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS, nargs="?", default="locomo")
    parser.add_argument("--questions", type=int, default=20)
    given = parser.parse_args()
    measure.show(run(next(iter(SETS[given.set]())), given.questions))
