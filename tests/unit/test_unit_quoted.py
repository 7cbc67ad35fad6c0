"""What stands in quotation marks in a question is found as it stands, and comes first."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import lexical

SAID = [
    "The connection pool was the problem",
    "Several connections pooled at the harbour",
    "A pool, and then a connection",
    "It was the CONNECTION\n  pool again, said Ana",
    "黒い猫が好きです",
    "Ana, connection, pool, problem: all of the words and no phrase",
]


def stored(memory: Appliance, tmp_path: Path, texts: list[str], wait: bool = True) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(
            json.dumps({"session_id": f"chat-{n % 3}", "message_id": str(n), "role": "user", "content": text}) + "\n"
            for n, text in enumerate(texts)
        )
    )
    memory.ingest(path, wait=wait)


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_it_comes_first_and_says_why(memory: Appliance, tmp_path: Path, wait: bool, mode: str) -> None:
    stored(memory, tmp_path, SAID, wait)
    hits = memory.search('Ana on the "connection pool" problem', mode=mode)  # type: ignore[arg-type]
    assert {hit.external_id for hit in hits[:2]} == {"0", "3"}
    assert [hit.why["score"]["quoted"] > 0 for hit in hits] == [True, True, *[False] * (len(hits) - 2)]
    for hit in hits:
        assert 0 <= hit.score <= 1


def test_it_is_found_where_no_other_leg_proposes_it(memory: Appliance, tmp_path: Path) -> None:
    said = "I will, said the old lighthouse keeper of Finisterre, whose words were many and whose evenings were long"
    stored(memory, tmp_path, [f"lighthouse keeper {n}" for n in range(300)] + [said])
    (first, *_) = memory.search('lighthouse keeper "whose words were many"')
    assert first.text == said


def test_filters_and_owners_hold(memory: Appliance, tmp_path: Path) -> None:
    stored(memory, tmp_path, SAID)
    query = '"connection pool"'
    assert not memory.search(query, user_id="ben")
    assert {hit.external_id for hit in memory.search(query, session_id="chat-0", limit=1)} <= {"0", "3"}
    assert not any(hit.why["score"]["quoted"] for hit in memory.search(query, session_id="chat-1"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"a b" and "c"', ["a b", "c"]),
        ("“one” „two“ «three»", ["one", "two", "three"]),
        ('"" "?" an "open end', []),
        ("it's 5\" wide", []),
        ('"\ufc5e" and "x"', ["x"]),  # a letter that is only a mark once it is composed
        ('"a" "b" "c" "d" "e"', ["a", "b", "c", "d"]),
    ],
)
def test_quotation_marks(query: str, found: list[str]) -> None:
    assert lexical.phrases(query) == found


@pytest.mark.parametrize(
    "query", ['"*"', '"a" OR "', '"NEAR(a b)"', '"text: pool"', '"\'; DROP"', '"\x00"', '"黒い猫"']
)
def test_nothing_quoted_is_syntax(memory: Appliance, tmp_path: Path, query: str) -> None:
    stored(memory, tmp_path, SAID)
    hits = memory.search(query)
    if "猫" in query:
        assert hits[0].text == SAID[4] and hits[0].why["score"]["quoted"] > 0


def test_frequent_words_alone_are_not_looked_for(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(memory, tmp_path, SAID)
    monkeypatch.setattr(lexical, "MAX_POSTINGS", 1)
    hits = memory.search('"connection pool"')
    assert hits and any("frequent" in note for note in hits.notes)


@pytest.mark.parametrize("mark", ["“", "„", "«", '"', "“„«", "„ “"])
def test_marks_that_nothing_closes_cost_nothing(mark: str) -> None:
    """Each would otherwise be looked for to the end of the query: seconds for a page of them."""
    began = time.process_time()
    lexical.phrases(mark * 20_001)
    assert time.process_time() - began < 0.5


def test_the_innermost_of_nested_marks_is_quoted() -> None:
    assert lexical.phrases("«a «harbour project» b»") == ["harbour project"]
