"""Benchmarks are recognised by their shape, read as their authors mean them, and refused when damaged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from appliance.bench import datasets
from appliance.bench.datasets import BenchmarkCorpus, SkippedCounts
from appliance.errors import InputError, NotFound, UsageError
from tests.eval import invented
from tests.eval.invented import written


def read(path: Path, split: str = "test") -> tuple[str, list[BenchmarkCorpus], SkippedCounts]:
    left_out: SkippedCounts = Counter()
    name, conversations = datasets.read_benchmark(path, split, left_out)
    found = list(conversations)
    for conversation in found:
        list(conversation.records)  # what a corpus leaves out is known when it has been read
    return name, found, left_out


def test_locomo_is_dialogue_with_captions_and_cited_lines(tmp_path: Path) -> None:
    name, (conversation,), left_out = read(written(tmp_path / "x.json", invented.locomo()))
    assert name == "LoCoMo"
    records = list(conversation.records)
    assert [r["message_id"] for r in records] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]
    assert records[2] == {
        "session_id": "conv-1-2",
        "message_id": "D1:3",
        "role": "user",
        "author": "Mira",
        "timestamp": "2023-05-08T13:56:00",
        "content": "Here\n[image: a ferret in a red hammock]",
    }
    asked = {q.kind: q for q in conversation.questions}
    assert asked.keys() == {"4", "1", "2"}
    assert asked["1"].relevant == {"D2:1", "D2:2", "D1:1"}
    assert asked["1"].sessions == {"conv-1-10", "conv-1-2"}
    assert asked["2"].relevant == {"D1:3", "D9:9"} and asked["2"].sessions == {"conv-1-2"}
    assert [q.kind for q in conversation.unanswerable] == ["5"] and not conversation.unanswerable[0].relevant
    assert list(left_out.values()) == [1]


def test_longmemeval_gives_each_question_its_history(tmp_path: Path) -> None:
    name, conversations, left_out = read(written(tmp_path / "x.json", invented.longmemeval()))
    assert name == "LongMemEval"
    assert [c.name for c in conversations] == ["q1", "q3"]
    records = list(conversations[0].records)
    assert [r["message_id"] for r in records] == ["s_bread:1", "s_ferry:1", "s_ferry:2", "s_bread:2"]
    assert [r["timestamp"] for r in records][:2] == ["2023-05-20T02:21:00", "2023-05-21T10:00:00"]
    (marked,), (unmarked,) = (c.questions for c in conversations)
    assert (marked.relevant, marked.sessions) == ({"s_ferry:1"}, {"s_ferry"})
    assert marked.asked_at == "2023-05-30T23:40:00"
    assert (unmarked.relevant, unmarked.sessions) == (frozenset(), {"s_ferry"})
    assert left_out == {"questions without an answer (_abs)": 1, "empty turns": 2}


def test_a_longmemeval_question_is_never_asked_before_its_history_ends(tmp_path: Path) -> None:
    early = [each | {"question_date": "2023/05/21 (Sun) 09:00"} for each in invented.longmemeval()]
    _, conversations, _ = read(written(tmp_path / "x.json", early))
    assert conversations[0].questions[0].asked_at == "2023-05-22T11:00:00"


def test_longmemeval_reads_lines_of_objects_too(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in invented.longmemeval()))
    assert [c.name for c in read(path)[1]] == ["q1", "q3"]


def test_beam_keeps_batches_and_dates(tmp_path: Path) -> None:
    name, (conversation,), left_out = read(written(tmp_path / "x.json", invented.beam()))
    assert name == "BEAM"
    assert [(r["session_id"], r["timestamp"]) for r in conversation.records] == [
        ("beam7-0", "2024-03-15T00:00:00"),
        ("beam7-0", "2024-03-15T00:00:00"),
        ("beam7-1", "2024-03-15T00:00:00"),
    ]
    (question,) = conversation.questions
    assert (question.relevant, question.sessions, question.kind) == ({"2"}, {"beam7-1"}, "facts")
    assert left_out == {"questions that cite nothing": 1}


def test_a_beir_document_is_a_message_in_a_session_of_its_own(tmp_path: Path) -> None:
    name, (conversation,), left_out = read(invented.beir(tmp_path / "set"))
    assert (name, conversation.name) == ("BEIR", "set")
    assert {r["message_id"]: r["content"] for r in conversation.records} == {
        "d1": "Otters\nOtters hold hands while they sleep.",
        "d2": "Bees dance to tell where the flowers are.",
        "d3": "Ravens hide food, and remember who was watching.",
    }
    assert all(r["session_id"] == r["message_id"] for r in conversation.records)
    assert [(q.text, q.relevant, q.sessions) for q in conversation.questions] == [
        ("how do otters sleep", {"d1"}, None),
        ("which animals dance", {"d2", "d9"}, None),
    ]
    assert sorted(left_out.values()) == [1, 1, 1]


def test_a_few_questions_are_the_same_each_time_and_from_all_over(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", [*invented.locomo(), invented.locomo()[0] | {"sample_id": "conv-2"}])
    chosen = datasets.sample_questions(path, "test", 3)
    assert chosen == datasets.sample_questions(path, "test", 3)
    assert len(chosen) == 3
    assert chosen < datasets.sample_questions(path, "test", 5)
    assert len(datasets.sample_questions(path, "test", 100)) == 6
    kept = list(datasets.filter_questions(datasets.read_benchmark(path, "test", Counter())[1], chosen))
    assert sum(len(c.questions) for c in kept) == 3
    with pytest.raises(UsageError):
        datasets.sample_questions(path, "test", 0)


Change = Callable[[Any], None]


def changed(data: Any, change: Change) -> Any:
    change(data[0])
    return data


@pytest.mark.parametrize(
    ("data", "change", "where", "what"),
    [
        (invented.locomo, lambda s: s["qa"][1].pop("question"), "object 1", r"question.*qa\[1\]"),
        (invented.locomo, lambda s: s.update(qa={}), "object 1", "qa"),
        (invented.locomo, lambda s: s["conversation"].pop("session_2_date_time"), "session_2_date_time", "None"),
        (
            invented.locomo,
            lambda s: s["conversation"]["session_2"].insert(1, "Hi"),
            "object 1 .*session_2",
            r"\$\[1\]",
        ),
        (invented.longmemeval, lambda s: s["haystack_dates"].pop(), "object 1", "the numbers must be equal"),
        (
            invented.longmemeval,
            lambda s: s["haystack_dates"].__setitem__(1, "2023/13/20 (Sat) 02:21"),
            r"haystack_dates\[1\]",
            "2023/13/20",
        ),
        (
            invented.longmemeval,
            lambda s: s["haystack_sessions"][1][0].update(role="oracle"),
            "object 1",
            r"oracle.*haystack_sessions\[...\]\[...\]\.role|haystack_sessions",
        ),
        (invented.beam, lambda s: s["messages"][0].update(time_anchor="soon"), r"messages\[0\]", "soon"),
        (invented.beam, lambda s: s["messages"][2].update(content=None), "object 1", r"messages\[2?"),
    ],
)  # fmt: skip
def test_a_malformed_object_is_refused_by_file_and_place(
    tmp_path: Path, data: Callable[[], Any], change: Change, where: str, what: str
) -> None:
    path = written(tmp_path / "x.json", changed(data(), change))
    with pytest.raises(InputError, match=what) as refused:
        read(path)
    assert str(path) in str(refused.value.where)
    assert refused.match(where)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, kept: float) -> None:
    text = json.dumps(invented.longmemeval())
    path = tmp_path / "x.json"
    path.write_text(text[: int(len(text) * kept)])
    with pytest.raises(InputError, match=r"x\.json"):
        read(path)


def test_a_list_that_is_cut_off_between_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(invented.beam())[:-1])
    with pytest.raises(InputError, match="cut off"):
        read(path)


@pytest.mark.parametrize("text", ["", "[]", "hello", '{"a": 1}', "[1, 2]", '[{"conversation": {}}]', "{" * 50])
def test_what_is_no_benchmark_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"x\.json") as refused:
        read(path)
    if text in ("", "hello"):
        assert "LoCoMo" in str(refused.value.hint)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"test": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1 d2 1\n"}, r"test\.tsv, line 3"),
        ({"test": "q1\td1\tgood\n"}, r"test\.tsv, line 1"),
        ({"test": b"q1\td1\t\xff\n".decode("latin-1")}, r"test\.tsv, line 1"),
        ({"corpus": '{"_id": "d1", "text": "x"}\n{"_id": 4, "text": "x"}\n'}, r"corpus\.jsonl, object 2 \(line 2\)"),
        ({"corpus": '{"_id": "d1", "text": "x"}\n{"_id": "d2", "te'}, r"corpus\.jsonl, line 2"),
        ({"queries": '{"_id": "q1"}\n'}, r"queries\.jsonl, object 1"),
    ],
)  # fmt: skip
def test_a_malformed_beir_folder_is_refused_by_file_and_place(
    tmp_path: Path, files: dict[str, str], where: str
) -> None:
    with pytest.raises(InputError, match=where):
        read(invented.beir(tmp_path / "set", **files))


def test_a_beir_folder_lacks_nothing(tmp_path: Path) -> None:
    folder = invented.beir(tmp_path / "set")
    with pytest.raises(InputError, match="dev") as refused:
        read(folder, "dev")
    assert "test" in str(refused.value.hint)
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        read(folder)
