"""A run asks each system the same, in homes that go again, and says what it could not measure."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from appliance.bench import datasets, recall
from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion
from appliance.bench.systems import SYSTEMS
from appliance.errors import InputError, UsageError
from appliance_models import HashEmbedder
from tests.eval import invented
from tests.eval.invented import written


def run(path: Path, *systems: str) -> recall.RecallReport:
    conversations = datasets.read_benchmark(path, "test", Counter())[1]
    return recall.run(conversations, systems or SYSTEMS, embedder=HashEmbedder())


def test_every_system_is_asked_every_question(tmp_path: Path) -> None:
    outcome = run(written(tmp_path / "x.json", invented.locomo()))
    assert (outcome.conversations, outcome.messages, outcome.questions) == (1, 5, 3)
    assert outcome.unknown_citations == 1
    for system in SYSTEMS:
        figures = outcome.figures(system)
        overall, by_category = figures["overall"], figures["by_category"]
        assert overall["questions"] == 3 and by_category.keys() == {"1", "2", "4"}
        if system != "bm25":  # which finds only what shares a word with the question
            assert overall["recall@20"] == pytest.approx((1 + 1 + 0.5) / 3, abs=1e-4)
        assert overall["recall@10"] == pytest.approx(
            sum(by_category[kind]["recall@10"] for kind in "124") / 3, abs=1e-4
        )
        assert set(figures["latency_ms"]) == {"p50", "p95", "p99"}
        assert all(time > 0 for time in figures["latency_ms"].values())


def test_words_find_what_they_stand_in(tmp_path: Path) -> None:
    overall = run(invented.beir(tmp_path / "set"), "bm25").figures("bm25")["overall"]
    # q1 finds its document first; q2 finds one of two, and the other does not exist.
    assert overall["recall@1"] == pytest.approx((1 + 0.5) / 2)
    assert overall["mrr"] == 1
    assert "any@5" not in overall


def test_a_question_without_marked_turns_is_measured_by_session(tmp_path: Path) -> None:
    outcome = run(written(tmp_path / "x.json", invented.longmemeval()), "evidence")
    figures = outcome.figures("evidence")["by_category"]
    assert figures["multi-session"].keys() == {"questions", "any@5", "all@5"}
    assert figures["single-session-user"]["recall@20"] == 1


def test_no_folder_is_left_behind_and_no_home_touched(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    modes = []

    def look(what: str, done: int, total: int) -> None:
        modes.extend(folder.stat().st_mode & 0o777 for folder in (tmp_path / "temporary").iterdir())

    conversation = BenchmarkCorpus(
        "c", [{"session_id": "s", "message_id": "m", "role": "user", "content": "an otter"}],
        (BenchmarkQuestion("otter", frozenset({"m"}), "k"),),
    )  # fmt: skip
    recall.run([conversation], ["evidence"], embedder=HashEmbedder(), on_step=look)
    assert set(modes) == {0o700}
    assert not list((tmp_path / "temporary").iterdir())
    assert not home.exists()
    bad = BenchmarkCorpus("c", [{"session_id": "s", "message_id": "m", "role": "king", "content": "x"}],
                       conversation.questions)  # fmt: skip
    with pytest.raises(InputError, match="king"):
        recall.run([bad], ["evidence"], embedder=HashEmbedder())
    assert not list((tmp_path / "temporary").iterdir())


def test_the_configured_server_is_not_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_INDEX_URL", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"index\.url"):
        run(written(tmp_path / "x.json", invented.beam()))


def test_ids_that_come_twice_are_counted(tmp_path: Path) -> None:
    corpus = '{"_id": "d1", "text": "otters sleep"}\n{"_id": "d1", "text": "otters sleep"}\n'
    outcome = run(invented.beir(tmp_path / "set", corpus=corpus, test="q1\td1\t1\n"), "bm25")
    assert (outcome.messages, outcome.duplicate_ids) == (1, 1)


def test_what_searches_say_of_themselves_is_counted_without_the_questions(tmp_path: Path) -> None:
    data = invented.locomo()
    for asked in data[0]["qa"]:
        asked["question"] = " ".join(f"{asked['question']} {n}" for n in range(200))
    notes = run(written(tmp_path / "x.json", data), "bm25").notes
    assert list(notes.values()) == [3] and all("ferret" not in note for note in notes)


def test_settings_that_narrow_a_search_change_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.json", invented.locomo())
    plain = run(path).figures("bm25")["by_category"]
    monkeypatch.setenv("APPLIANCE_SEARCH_PER_SESSION", "1")
    monkeypatch.setenv("APPLIANCE_SEARCH_PROFILE", "dense")
    assert run(path).figures("bm25")["by_category"] == plain
