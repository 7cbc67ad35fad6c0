"""Where vectors are missing, a message is as likely as its own words say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance

SAID = [
    ("a", "The locker code word is axolotl-77, and only Ana knows it."),
    ("a", "Null bytes and lone surrogates are odd."),
    ("b", "My grandmother bakes bread on Sundays."),
    ("b", "The axolotl sensor needs a new battery."),
]
FILLER = [("c", f"The ladder stands beside the mirror, and the train is late on day {day}.") for day in range(300)]
"""More than a search puts into the index by itself."""


@pytest.mark.slow
def test_what_stands_beside_a_message_with_the_words_is_unlikely(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    lines = [
        {"session_id": session, "message_id": f"{number}", "role": "user", "content": text}
        for number, (session, text) in enumerate([*SAID, *FILLER])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with Appliance.open(tmp_path / "home", worker=False) as memory:
        memory.ingest(path, wait=False)
        for query, answer in (("what is the locker code word", "0"), ("axolotl-77", "0"), ("sensor battery", "3")):
            scores = {hit.external_id: hit.score for hit in memory.search(query, min_score=0)}
            assert memory.status()["counts"]["pending"], "words alone find them"
            assert scores.pop(answer) >= 0.8
            beside = {id: score for id, score in scores.items() if id in "12"}
            assert beside and max(beside.values()) < 0.25, (query, beside)
