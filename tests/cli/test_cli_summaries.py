"""``appliance summaries``: listed, read, made; and where else they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_runs import Process, Run, document

from appliance import Appliance
from tests.summary_talk import chat, write


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summaries")
    with Appliance.open(folder / "home", worker=False) as memory:
        memory.ingest(write(folder / "a.jsonl", chat("harbour", 40)))
        memory.ingest(write(folder / "b.jsonl", chat("ben's", 20)), user_id="ben")
    return folder / "home"


@pytest.mark.slow
def test_made_then_listed_then_read(filled: Path, run: Run) -> None:
    waiting = run("summaries")
    assert waiting.exit_code == 0 and waiting.stdout == ""
    assert "2 sessions without current summaries" in waiting.stderr
    assert re.search(r"^summaries +0; 2 sessions due", run("status").stdout, re.M)
    made = document(run("summaries", "make", "--json"))
    assert made["sessions"] == 2 and made["due"] == 0 and made["fallback"] is None
    assert made["made"]["session"] == 2 and made["made"]["topic"] > 2
    assert document(run("status", "--json"))["counts"]["summaries"] == sum(made["made"].values())
    assert "nothing new" in run("summaries", "make").stdout

    listed = document(run("summaries", "--json"))["summaries"]
    assert {one["session_id"] for one in listed} == {"s1"}, "the configured user's"
    topics = document(run("summaries", "harbour", "--level", "topic", "--json"))["summaries"]
    assert topics == [one for one in listed if one["level"] == "topic"]
    assert document(run("summaries", "list", "--user", "ben", "-k", "1", "--json"))["summaries"][0]["level"] == (
        "session"
    )
    assert listed[0]["id"] in run("summaries", "s1").stdout

    whole = document(run("summaries", "show", listed[0]["id"], "--json"))["summary"]
    assert whole == listed[0]
    text = run("summaries", "show", whole["id"]).stdout
    assert whole["text"].splitlines()[0] in text and "supported by" in text
    assert all(quote["message_id"] in text for quote in whole["quotes"])


def test_a_transcript_has_its_summary_on_top(filled: Path, run: Run) -> None:
    assert document(run("show", "harbour", "--json"))["summary"] is None
    assert "summary" not in run("show", "harbour").stdout
    one = run("summaries", "make", "harbour")
    assert one.exit_code == 0 and "1 session checked" in one.stdout
    found = document(run("show", "harbour", "--json"))["summary"]
    assert found["level"] == "session"
    lines = run("show", "harbour").stdout.splitlines()
    assert next(line for line in lines if "summary" in line).startswith(f"summary  {found['id']}")


def test_a_search_brings_summaries_beside_its_hits(filled: Path, run: Run) -> None:
    assert document(run("search", "tomato", "--json"))["summaries"] == []
    run("summaries", "make")
    found = document(run("search", "watering the tomato in the greenhouse", "--json"))
    best = found["summaries"][0]
    assert best["rank"] == 1 and best["id"].startswith("sum") and best["session_id"] == "s1"
    assert best["score"] == pytest.approx(sum(best["why"].values())) and "tomato" in best["text"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("summaries", "show", "sum999"), 4, "There is no summary 'sum999'."),
        (("summaries", "nowhere"), 4, "no session 'nowhere'"),
        (("summaries", "make", "s999"), 4, "no session 's999'"),
        (("summaries", "--level", "chapter"), 2, "no level 'chapter'"),
        (("summaries", "show"), 2, "ID"),
    ],
)
def test_bad_requests(filled: Path, run: Run, arguments: tuple[str, ...], code: int, says: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == code and says in ended.stderr and ended.stdout == ""


@pytest.mark.slow
def test_a_model_without_a_name_is_a_config_error(filled: Path, process: Process) -> None:
    (filled / "config.toml").write_text('[llm]\nbase_url = "http://127.0.0.1:1/v1"\n')
    ended = process("summaries", "make")
    assert ended.returncode == 2 and b"llm.model" in ended.stderr


@pytest.mark.slow
def test_a_model_that_is_not_there_is_said(filled: Path, process: Process) -> None:
    (filled / "config.toml").write_text('[llm]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "tiny"\n')
    ended = process("summaries", "make")
    assert ended.returncode == 0
    assert b"made without the model" in ended.stderr and b"can't be reached" in ended.stderr
    status = process("status")
    assert b"made without tiny: " in status.stdout and b"can't be reached" in status.stdout
