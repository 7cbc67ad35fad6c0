"""Names of code, beginnings of hashes, numbers and emoji are found as they stand, and come first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import literals
from appliance.types import Hits

SAID = [
    "Set MAX_RETRIES to 5, or the job fails",
    "Max retries the trick",
    "The http_parser module breaks on empty headers",
    "A parser for http by Max",
    "See src/engine/http_parser.py, line 40",
    "The fix is commit 9f3ac41d77be02",
    "The rent is 1.850 € a month",
    "The bike was 1,850.50 dollars, or 1850,5 euros",
    "1850 people came",
    "Pizza tonight 🍕 at mine?",
    "Pizza again, without anything",
    "I ❤ this 👍🏽",
    "It is net.Socket::connect, with --save-dev typescript@5.4",
]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    lines = [
        {
            "session_id": f"chat-{number % 3}",
            "message_id": str(number),
            "role": "user",
            "timestamp": "2020-01-01T10:00:00Z",
            "content": text,
        }
        for number, text in enumerate([*SAID, *(f"Max retries day {day}" for day in range(30))])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


QUERIES = [
    ("MAX_RETRIES", {0}),
    ("where do we set max_retries?", {0}),
    ("http_parser", {2, 4}),
    ("what is wrong with src/engine/http_parser.py", {4}),
    ("MAX_RETRIES http_parser", {0, 2, 4}),
    ("src/engine/http_parser.py MAX_RETRIES http_parser", {4}),
    ("9f3ac", {5}),
    ("9F3AC41d", {5}),
    ("1850", {6, 8}),
    ("1.850 €", {6, 8}),
    ("who paid 1,850.50?", {7}),
    ("🍕", {9}),
    ("pizza 🍕", {9}),
    ("❤️", {11}),
    ("👍", {11}),
    ("net.Socket", {12}),
    ("typescript@5.4", {12}),
    ("--save-dev", {12}),
]


def _holding(hits: Hits) -> set[int]:
    return {int(hit.external_id) for hit in hits if hit.why["score"]["quoted"]}


@pytest.mark.parametrize("wait", [True, False])
def test_who_holds_a_literal_comes_first(memory: Appliance, said: Path, wait: bool) -> None:
    memory.ingest(said, wait=wait)
    for query, expected in QUERIES:
        hits = memory.search(query, mode="hybrid" if query == "9f3ac" else "lexical")
        assert _holding(hits) == expected == {int(hit.external_id) for hit in hits[: len(expected)]}, query
    assert not _holding(memory.search("MAX_RETRIES", session_id="chat-1"))
    assert not memory.search("MAX_RETRIES 🍕 1850", user_id="ben")


def test_an_archived_message_is_found_by_its_literal(memory: Appliance, said: Path) -> None:
    memory.ingest(said)
    memory.pin("m5")
    assert memory.archive.run(importance=1.0).archived > 30
    for query, expected in (("MAX_RETRIES", {0}), ("http_parser", {2, 4}), ("1850", {6, 8})):
        assert _holding(memory.search(query, include_archived=True, mode="lexical")) == expected


@pytest.mark.parametrize(
    "query",
    [
        *(
            "when do we meet in 2022?",
            "what was on 16.03.2024 or 2023-05-08?",
            "e.g. at 5 p.m. in the U.S.",
            "3.5 or 5,5",
        ),
        *("and/or", "24/7", "his/her", "the decade", "e-mail", "well... yes", "Ana's", "😊 when do we meet?", "#1", ""),
        *("a" * 5_000, "_", "...", "/", "--", "@ana", "what?!", "\x00", "ﬀ"),
    ],
    ids=repr,
)
def test_ordinary_words_are_no_literals(query: str) -> None:
    assert literals.find_literals(query) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("(see `foo_bar`)", ["foo_bar"]),
        ("__init__ in ./run.sh, ~/notes and /usr/bin?", ["__init__", "./run.sh", "~/notes", "/usr/bin"]),
        ("C:\\Users\\ana\\x.txt", ["C:\\Users\\ana\\x.txt"]),
        ("v2.3.1 of std::vector", ["v2.3.1", "std::vector"]),
        ("10 000 steps", ["10 000"]),
        ("👩‍👩‍👧 🇩🇪", ["👩‍👩‍👧", "🇩🇪"]),
        ("a_a b_b c_c d_d e_e", ["a_a", "b_b", "c_c", "d_d"]),
    ],
)
def test_literals(query: str, found: list[str]) -> None:
    assert [literal.text for literal in literals.find_literals(query)] == found


def test_no_literal_is_syntax(memory: Appliance, said: Path) -> None:
    memory.ingest(said, wait=False)
    for query in ('a_"b', 'a_b"*', "a_b* OR c_d", "NEAR(a_b c_d)", "-a_b", "text:a_b", "a_\ud800", "/a\x00b/c/d"):
        memory.search(query)


def test_a_literal_within_a_time_is_none() -> None:
    assert literals.find_literals("in 1850 men", without=["in 1850"]) == []


def test_a_bounded_search_for_an_emoji_says_so(memory: Appliance, said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.ingest(said, wait=False)
    monkeypatch.setattr(literals, "MAX_SCANNED_MESSAGES", 20)
    hits = memory.search("🍕", mode="lexical")
    assert "Only the newest 20 messages were searched for the emoji." in hits.notes and not hits
