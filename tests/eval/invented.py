"""Small invented benchmarks in each of the four shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def locomo() -> list[dict[str, Any]]:
    """Two people, two sessions; one question a category, one that cites nothing and one what is not there."""
    first = [
        {"speaker": "Mira", "dia_id": "D1:1", "text": "I adopted a ferret called Biscuit"},
        {"speaker": "Tom", "dia_id": "D1:2", "text": "Show me!"},
        {"speaker": "Mira", "dia_id": "D1:3", "text": "Here", "blip_caption": "a ferret in a red hammock"},
    ]
    second = [
        {"speaker": "Tom", "dia_id": "D2:1", "text": "My pottery course begins on Monday"},
        {"speaker": "Mira", "dia_id": "D2:2", "text": "Bring me a bowl for Biscuit"},
    ]
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Mira",
                "speaker_b": "Tom",
                # Session 10 stands before session 2 as text, and behind it as a number.
                "session_10_date_time": "9:05 am on 3 June, 2023",
                "session_10": second,
                "session_2_date_time": "1:56 pm on 8 May, 2023",
                "session_2": first,
                "session_11_date_time": "9:05 am on 9 June, 2023",
            },
            "qa": [
                {"question": "What is the ferret called?", "category": 4, "evidence": ["D1:1"], "answer": "B."},
                {"question": "What does Tom bring?", "category": 1, "evidence": ["D2:1; D2:2", "D1:1"]},
                {"question": "Which hammock?", "category": 2, "evidence": ["D1:3", "D9:9"], "answer": 2023},
                {"question": "Who knows?", "category": 3, "evidence": []},
                {"question": "What is the cat called?", "category": 5, "adversarial_answer": "x", "evidence": []},
            ],
        }
    ]


def longmemeval() -> list[dict[str, Any]]:
    """Three questions: one that marks its turn, one without an answer, one that marks none."""
    ferry = [
        {"role": "user", "content": "I booked the night ferry to Gotland", "has_answer": True},
        {"role": "assistant", "content": "Take a blanket along."},
        {"role": "user", "content": ""},
    ]
    bread = [{"role": "user", "content": "How long does rye bread bake?"}]

    def asked(number: str, **more: Any) -> dict[str, Any]:
        return {
            "question_id": number,
            "question_type": "single-session-user",
            "question": "Which ferry did I book?",
            "answer": 7,
            "question_date": "2023/05/30 (Tue) 23:40",
            "haystack_session_ids": ["s_bread", "s_ferry", "s_bread"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00", "2023/05/22 (Mon) 11:00"],
            "haystack_sessions": [bread, ferry, bread],
            "answer_session_ids": ["s_ferry"],
            **more,
        }

    unmarked = [[{"role": turn["role"], "content": turn["content"]} for turn in ferry], bread, bread]
    return [
        asked("q1"),
        asked("q2_abs", answer_session_ids=[]),
        asked("q3", question_type="multi-session", haystack_sessions=[bread, unmarked[0], bread]),
    ]


def beam() -> list[dict[str, Any]]:
    """One chat of two batches, with a date in the first that holds on."""
    messages = [
        {"id": 0, "role": "user", "time_anchor": "March-15-2024", "content": "I need a parser", "batch": 0},
        {"id": 1, "role": "assistant", "time_anchor": None, "content": "Use a table of states.", "batch": 0},
        {"id": 2, "role": "user", "time_anchor": None, "content": "The budget is 900 crowns", "batch": 1},
    ]
    questions = [
        {"type": "facts", "question": "What is the budget?", "evidence": [2]},
        {"type": "silence", "question": "What is the weather?", "evidence": []},
    ]
    return [{"id": 7, "messages": messages, "questions": questions}]


CORPUS = [
    {"_id": "d1", "title": "Otters", "text": "Otters hold hands while they sleep."},
    {"_id": "d2", "title": "", "text": "Bees dance to tell where the flowers are."},
    {"_id": "d3", "text": "Ravens hide food, and remember who was watching."},
    {"_id": "d4", "title": "", "text": " "},
]
QUERIES = [
    {"_id": "q1", "text": "how do otters sleep"},
    {"_id": "q2", "text": "which animals dance"},
    {"_id": "q3", "text": "nobody judged this"},
]
JUDGED = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq2\td9\t1\nq2\td3\t0\nq9\td1\t1\n"


def beir(folder: Path, **files: str) -> Path:
    """A BEIR folder; ``files`` are contents in place of the invented ones, by name without its ending."""
    (folder / "qrels").mkdir(parents=True)
    for name, lines in (("corpus", CORPUS), ("queries", QUERIES)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(files.get(name, text), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(files.get("test", JUDGED), encoding="utf-8")
    return folder


def written(path: Path, data: Any) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
