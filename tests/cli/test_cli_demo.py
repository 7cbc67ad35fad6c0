"""``demo``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from cli_runs import Run, document

from appliance.cli import demo
from appliance.types.labels import FEATURE_LABELS


def test_the_demo_finds_what_it_promises_and_leaves_nothing(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    report = document(run("demo", "--json"))
    assert list(report) == ["ingest", "searches", "context", "seconds"]
    assert {file["format"] for file in report["ingest"]["files"]} == {"chatgpt", "claude", "native", "whatsapp"}
    assert all(file["status"] == "ok" for file in report["ingest"]["files"])
    by_meaning, by_name, in_time = [search["hits"][0]["text"] for search in report["searches"]]
    assert "cashews" in by_meaning
    assert "food" not in by_meaning
    assert "connection pool" in by_name
    assert "13 March" in in_time
    context = report["context"]
    assert context["tokens"] <= context["budget"] == demo.TOKEN_BUDGET
    assert "cashews" in context["text"]
    assert "salmon" in context["text"]
    assert list(tmp_path.iterdir()) == []
    assert not home.exists()


@pytest.mark.slow
def test_the_demo_can_be_kept_and_run_again(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = run("demo", "--home", kept)
    assert first.exit_code == 0
    assert "Its memory is kept" in first.stdout
    again = run("demo", "--home", kept)
    assert again.exit_code == 0
    assert "0 new messages" in again.stdout
    assert "Pirineos" in run("sessions", "--home", kept).stdout


def test_the_demo_does_not_mix_with_a_memory(run: Run, kept: Path) -> None:
    result = run("demo", "--home", kept)
    assert result.exit_code == 2
    assert document(run("status", "--json"))["counts"]["messages"] == 10


@pytest.mark.slow
def test_every_hit_of_the_demo_is_explained(run: Run) -> None:
    report = document(run("demo", "--json"))
    hits = [hit for search in report["searches"] for hit in search["hits"]]
    assert len(hits) == 2 * len(report["searches"])
    for hit in hits:
        why = hit["why"]
        assert 0.01 < hit["score"] <= 1 and why["score"]
        assert {*why["score"], *why["legs"]} <= FEATURE_LABELS.keys(), "each part can be told in words"
        assert any(leg["rank"] for leg in why["legs"].values()), "some leg proposed it"
