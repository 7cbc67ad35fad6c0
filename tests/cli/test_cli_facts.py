"""``facts`` and ``show --what-you-know``."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Run, document, line, write


@pytest.fixture
def known(run: Run, home: Path, tmp_path: Path) -> Path:
    """A memory of somebody who told of themselves."""
    said = [
        "I live in Berlin.",
        "We moved to Madrid. My wife is called Julia.",
        "My birthday is May 3. Always answer in metric.",
        "My birthday is June 4. We use Postgres 16.",
        "I love jazz, \x1b[2J.",
    ]
    run("ingest", write(tmp_path / "a.jsonl", [line("a", n, text) for n, text in enumerate(said)]), "--no-wait")
    run("facts", "add", "I live in Oslo", "--user", "ana")
    return home


def test_facts_lists_what_holds(run: Run, known: Path) -> None:
    result = run("facts")
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["ID", "FACT", "HOLDS", "CONFIDENCE", "EVIDENCE"]
    assert any("lives in Madrid  " in row and "since 2026-02-02" in row and row.endswith("m2") for row in rows)
    assert "Berlin" not in result.stdout and "Oslo" not in result.stdout
    assert run("facts", "list").stdout == result.stdout
    assert "lives in Oslo" in run("facts", "--user", "ana").stdout
    assert "to review: 'appliance facts review'" in result.stderr


def test_facts_are_listed_by_kind_state_and_time(run: Run, known: Path) -> None:
    assert [f["value"] for f in document(run("facts", "--kind", "tool", "--json"))["facts"]] == ["Postgres 16"]
    assert [f["value"] for f in document(run("facts", "--state", "superseded", "--json"))["facts"]] == ["Berlin"]
    then = document(run("facts", "list", "--as-of", "2026-02-01", "--json"))["facts"]
    assert [f["value"] for f in then] == ["Berlin", "05-03"]  # a birthday does not begin on the day it is said
    assert run("facts", "--kind", "nonsense").exit_code == 2
    assert run("facts", "--as-of", "someday").exit_code == 2


def test_a_fact_is_shown_with_its_words(run: Run, known: Path) -> None:
    fact = next(f for f in document(run("facts", "--json"))["facts"] if f["attribute"] == "home")
    shown = run("facts", "show", fact["id"]).stdout
    assert shown.startswith("lives in Madrid\n") and "“We moved to Madrid”" in shown and "m2  2026-02-02" in shown
    assert document(run("facts", "show", fact["id"], "--json"))["fact"] == fact
    assert run("facts", "show", "f99").exit_code == 4


def test_history_names_what_came_before(run: Run, known: Path) -> None:
    shown = run("facts", "history", "me", "home").stdout
    assert "lives in Berlin" in shown and "superseded" in shown and "2026-02-01 to 2026-02-02" in shown
    fact = document(run("facts", "history", "me", "home", "--json"))["facts"][1]
    assert run("facts", "history", fact["id"]).stdout == shown


def test_the_person_decides(run: Run, known: Path) -> None:
    (asked,) = document(run("facts", "review", "--json"))["review"]
    assert [fact["value"] for fact in asked["held"]] == ["05-03"]
    assert "current: birthday: 3 May" in run("facts", "review").stdout
    assert run("facts", "confirm", asked["fact"]["id"]).stdout.endswith("held: birthday: 4 June\n")
    assert "No conflicting facts to review." in run("facts", "review").stderr
    corrected = document(run("facts", "correct", asked["fact"]["id"], "06-05", "--json"))["fact"]
    assert (corrected["value"], corrected["made_by"]) == ("06-05", "person")
    assert "rejected: birthday: 5 June" in run("facts", "reject", corrected["id"]).stdout
    assert "birthday: 4 June" in run("facts").stdout, "what was confirmed before"


def test_the_person_tells(run: Run, home: Path) -> None:
    assert run("facts", "add", "I have a dog named Rex").stdout == "f1 held: has a dog called Rex\n"
    assert run("facts", "add", "--attribute", "shoe size", "--value", "43").stdout == "f2 held: shoe size is 43\n"
    assert run("facts", "add").exit_code == 2
    assert "--attribute NAME --value VALUE" in run("facts", "add", "dentist", "Dr. Lopez").stderr
    assert "'appliance facts history me dog'" in run("facts", "history", "dog").stderr
    run("facts", "add", "I live in Linz")
    run("add", "I live in Salzburg.")
    assert "f4 (lives in Salzburg) waited for your review" in run("facts", "add", "I live in Bad Ischl").stderr


def test_the_profile_has_its_evidence(run: Run, known: Path) -> None:
    shown = run("show", "--what-you-know").stdout
    assert shown.index("Standing instructions") < shown.index("Your people")
    assert "  lives in Madrid  " in shown and "    m2  2026-02-02 10:00  “We moved to Madrid”" in shown
    assert "\x1b" not in shown and "likes" in shown
    profile = document(run("show", "--what-you-know", "--json"))["profile"]
    assert profile[0]["kind"] == "instruction"
    assert "Oslo" in run("show", "--what-you-know", "--user", "ana").stdout


@pytest.mark.parametrize("arguments", [[], ["s1", "--what-you-know"], ["s1", "--user", "ana"]])
def test_show_asks_for_one_thing(run: Run, known: Path, arguments: list[str]) -> None:
    assert run("show", *arguments).exit_code == 2


def test_nothing_known_is_told(run: Run, home: Path) -> None:
    run("sessions", "new", "x")
    for arguments in (["facts"], ["show", "--what-you-know"]):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "No facts about user 'me'." in result.stderr


def test_who_is_unknown_has_no_facts_and_is_told_why(run: Run, tmp_path: Path) -> None:
    run("ingest", write(tmp_path / "a.jsonl", [line("a", 1, "I live in Berlin.", author="Nina")]), "--no-wait")
    for arguments in (["facts"], ["show", "--what-you-know"]):
        assert "don't say who you are" in run(*arguments).stderr
    assert "don't say who you are" not in run("facts", "--user", "ana").stderr
