"""Where the words of a query stand in a message, and the sentence that is shown for them."""

from __future__ import annotations

import pytest

from appliance.engine.query_matches import query_matches
from appliance.retrieval.word_places import word_places
from appliance.store.lexical import query_words


def places(query: str, text: str) -> list[str]:
    return [text[start:end] for start, end in word_places(text, query_words(query))]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("allergic to nuts", "Allergies to nuts, and to dust.", ["Allergies", "nuts"]),
        ("to be or not", "To be, or not.", ["To", "be", "or", "not"]),  # it has no others
        ("strasse", "Die STRASSE und die Straße.", ["STRASSE", "Straße"]),
        ("oeuvre bœuf", "Ses œuvres, un boeuf.", ["œuvres", "boeuf"]),
        ("cafe résumé", "Im Café, cafe\u0301: a resume.", ["Café", "cafe\u0301", "resume"]),
        ("東京都", "私は東京都に住む", ["東京都"]),
        ("猫 2025", "黒い猫, 2025 and 20251", ["猫", "2025"]),
        ("a.b (c", "nothing", []),
    ],
)
def test_words_are_found_by_stem_and_without_stop_words(query: str, text: str, found: list[str]) -> None:
    assert places(query, text) == found


def test_the_sentence_has_the_most_different_words() -> None:
    text = "The ferry is white. Ferry, ferry, ferry!\nThe ferry leaves the harbour at nine. A harbour is near."
    matches = query_matches("m1", text, query_words("ferry harbour"))
    assert matches is not None
    assert matches.sentence == "The ferry leaves the harbour at nine."
    assert matches.words == ("ferry", "harbour")


def test_in_code_the_line_stands_for_the_sentence() -> None:
    text = "Look:\n\n```\nfirst = 1\nferry_time = harbour(9)\n```\n"
    matches = query_matches("m1", text, query_words("harbour"))
    assert matches is not None and matches.sentence == "ferry_time = harbour(9)"


def test_a_secret_is_no_match() -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    matches = query_matches("m1", f"The token is {secret} for now.", query_words("token ghp_16C7e42F"))
    assert matches is not None
    assert (
        "token" in matches.words
        and not any(word in secret for word in matches.words)
        and secret[10:] not in matches.sentence
    )


def test_nothing_matches() -> None:
    assert query_matches("m1", "The ferry leaves.", query_words("bread")) is None
