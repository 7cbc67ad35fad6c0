"""``bench``: a benchmark's file measured from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import Run, document, line, write

from tests.eval import invented
from tests.eval.invented import written


def test_recall_prints_one_document(run: Run, tmp_path: Path, home: Path) -> None:
    path = written(tmp_path / "x.json", invented.locomo())
    result = run("bench", "recall", path, "--json")
    assert result.exit_code == 0, result.stderr
    shape = document(result)
    assert (shape["format"], shape["messages"], shape["questions"], shape["cite_unknown"]) == ("LoCoMo", 5, 3, 1)
    assert list(shape["systems"]) == ["evidence", "bm25", "dense"]
    overall = shape["systems"]["evidence"]["overall"]
    assert {"recall@1", "recall@5", "recall@10", "recall@20", "ndcg@10", "mrr", "any@5", "all@5"} < set(overall)
    assert overall["any@5"] == 1
    assert sum(shape["left_out"].values()) == 1
    found = shape["systems"]["evidence"]["found"]
    assert set(found) == {"answerable", "unanswerable", "auroc"} and set(found["auroc"]) == {"overall", "5"}
    assert 0 <= found["answerable"] <= 1 and 0 <= found["auroc"]["overall"] <= 1
    assert not home.exists()


def test_recall_prints_a_table(run: Run, tmp_path: Path) -> None:
    result = run("bench", "recall", invented.beir(tmp_path / "set"), "-k", "3", "--profile", "bm25")
    assert result.exit_code == 0, result.stderr
    heads, row, *_ = (line.split() for line in result.stdout.splitlines())
    assert heads[:5] == ["SYSTEM", "QUESTIONS", "OF", "COUNT", "RECALL@3"]
    assert row[:4] == ["bm25", "all", "2", "0.750"]
    assert "P95 MS" in result.stdout
    assert "2 questions about 3 messages" in result.stderr
    assert "empty documents: 1" in result.stderr


def test_recall_asks_as_many_as_wished(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", invented.locomo())
    asked = [
        document(run("bench", "recall", path, "--questions", "1", "--profile", "bm25", "--json")) for _ in range(2)
    ]
    assert asked[0]["questions"] == 1
    assert asked[0]["systems"]["bm25"]["by_category"] == asked[1]["systems"]["bm25"]["by_category"]


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        ('[{"sample_id": "c", "conversation": {}, "qa": [{}]}]', 1, "object 1 (line 1)"),
        ("hello", 1, "x.json"),
        ('[{"sample_id": "c", "conversation": {}, "qa": []}]', 2, "The file has no question"),
    ],
)
def test_recall_names_what_is_wrong(run: Run, tmp_path: Path, data: str, code: int, said: str) -> None:
    (tmp_path / "x.json").write_text(data)
    result = run("bench", "recall", tmp_path / "x.json", "--json")
    assert result.exit_code == code
    assert said in result.stderr
    assert json.loads(result.stdout)["error"]


def test_a_profile_of_ones_own_is_measured(run: Run, tmp_path: Path, home: Path) -> None:
    path = written(tmp_path / "x.json", invented.locomo())
    home.mkdir()
    (home / "config.toml").write_text('[profiles.mine]\nlike = "bm25"\n')
    result = run("bench", "recall", path, "--profile", "mine", "--profile", "bm25", "--json")
    assert result.exit_code == 0, result.stderr
    systems = document(result)["systems"]
    assert systems["mine"]["by_category"] == systems["bm25"]["by_category"]
    assert [entry.name for entry in home.iterdir()] == ["config.toml"]


def test_recall_refuses_what_can_not_be(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", invented.beam())
    assert run("bench", "recall", path, "--profile", "psychic").exit_code == 2
    assert run("bench", "recall", path, "-k", "0").exit_code == 2
    assert run("bench", "recall", tmp_path / "gone").exit_code == 4
    assert run("bench").exit_code == 2


CHAT = [
    ("user", "Where did we put the spare greenhouse thermometer?"),
    ("assistant", "The spare thermometer hangs behind the tomato trellis, next to the copper watering can."),
    ("user", "Which seedlings need repotting before the weekend storm arrives?"),
    ("assistant", "Basil and fennel: their roots already circle the bottom of those little peat pots."),
]


def test_mine_measures_and_compares_with_the_run_before(run: Run, tmp_path: Path, home: Path) -> None:
    chat = [line("garden", number, text, role=role) for number, (role, text) in enumerate(CHAT)]
    assert run("ingest", write(tmp_path / "garden.jsonl", chat)).exit_code == 0
    first = run("bench", "mine", "--questions", "4")
    assert first.exit_code == 0, first.stderr
    assert first.stdout.splitlines()[0].split()[:3] == ["SYSTEM", "QUESTIONS", "OF"]
    assert "The same" not in first.stdout
    assert "4 questions about 4 messages" in first.stderr
    again = run("bench", "mine", "--questions", "4")
    assert "The same 4 questions on" in again.stdout and "→" in again.stdout
    shape = document(run("bench", "mine", "--questions", "4", "--json"))
    assert shape["before"]["same_questions"] == 4
    assert shape["systems"]["evidence"]["overall"]["recall@20"] == 1
    assert len((next((home / "bench").iterdir()) / "runs.jsonl").read_text().splitlines()) == 3


def test_mine_needs_a_memory_with_something_in_it(run: Run, home: Path) -> None:
    assert run("bench", "mine").exit_code == 3
    assert run("add", "Hello").exit_code == 0
    result = run("bench", "mine", "--json")
    assert result.exit_code == 2
    assert "No question can be made" in json.loads(result.stdout)["error"]["message"]
    assert run("bench", "mine", "--questions", "0").exit_code == 2
