"""How long a conversation takes to summarise at all levels, and how much of a search looks for summaries; prints JSON.

python -m tests.bench.summaries [--messages N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from appliance import Appliance
from tests.eval.datasets import locomo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000)
    wanted: int = parser.parse_args().messages
    lines = [
        line | {"session_id": "all", "message_id": f"{chat.name}-{line['message_id']}"}
        for chat in locomo()
        for line in chat.records
    ][:wanted]
    questions = [question.text for question in next(iter(locomo())).questions][:100]
    with tempfile.TemporaryDirectory() as folder, Appliance.open(folder, worker=False) as memory:
        path = Path(folder, "lines.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        memory.ingest(path)
        memory.search("warm")
        without = _searches(memory, questions)
        (info,) = memory.sessions.list()
        began = time.perf_counter()
        memory.summaries._refresh(int(info.id[1:]), rewrite=False, should_continue=lambda: True)
        made = time.perf_counter() - began
        began = time.perf_counter()
        memory.embed_pending()
        embedded = time.perf_counter() - began
        session = memory.sessions.get("all")
        for number in range(memory.settings.summaries.every):
            session.add("user", f"And {number} more: the crane in the harbour needs oil, and so does the winch.")
        memory.embed_pending()
        began = time.perf_counter()
        memory.summaries._refresh(int(info.id[1:]), rewrite=False, should_continue=lambda: True)
        again = time.perf_counter() - began
        memory.embed_pending()
        figures = {
            "messages": len(lines),
            "summaries": len(memory.summaries.list()),
            "seconds to make": round(made, 3),
            "seconds to embed them": round(embedded, 3),
            "seconds after twelve messages more": round(again, 3),
            "search p50 ms without summaries": without,
            "search p50 ms with summaries": _searches(memory, questions),
        }
    print(json.dumps(figures, indent=1))


def _searches(memory: Appliance, questions: list[str]) -> float:
    took = sorted(memory.search(question).took_ms for question in questions)
    return round(took[len(took) // 2], 2)


if __name__ == "__main__":
    main()
