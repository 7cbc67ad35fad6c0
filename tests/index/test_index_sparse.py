"""Which texts meet as sparse vectors, and how scripts without spaces are folded."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.store.index import sparse
from appliance.store.scripts import UNSPACED, single_characters, split_unspaced


def terms(text: str) -> set[int]:
    return set(sparse.encode_query(text).indices)


def found(query: str, document: str) -> bool:
    return bool(terms(query) & set(sparse.encode_document(document, "own").indices))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "CAFE"), ("cafe\u0301", "café"), ("naïve", "naive"), ("ångström", "Angstrom"),
        ("straße", "STRASSE"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("İstanbul", "istanbul"), ("ｆｕｌｌ", "full"),
        ("running", "runs"), ("Ana's", "Ana"), ("don’t", "don't"), ("snake_case", "snake case"),
        ("/usr/bin/x.py", "usr bin x py"), ("v1.2.3", "v1 2 3"), ("2026-02-06", "2026 02 06"),
    ],
)  # fmt: skip
def test_these_are_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other) != set()


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("東京", "昨日東京都へ行きました"), ("猫", "黒い猫です"), ("カタカナ", "これはカタカナです"),
        ("학교", "우리학교에서"), ("ภาษาไทย", "เขาพูดภาษาไทยได้"), ("ລາວ", "ພາສາລາວ"),
        ("ភាសាខ្មែរ", "ខ្ញុំនិយាយភាសាខ្មែរ"),
        ("မြန်မာ", "မြန်မာစကား"), ("iPhone", "新しいiPhoneを買った"),
    ],
)  # fmt: skip
def test_words_are_found_within_scripts_without_spaces(query: str, document: str) -> None:
    assert found(query, document)
    assert not found(query, "something else")


@pytest.mark.parametrize("text", ["", "?!", "…", "🙂", "\n\t", "。、"])
def test_no_word_no_terms(text: str) -> None:
    assert not sparse.encode_query(text).indices
    assert sparse.encode_document_fields(text, text) == {}


def test_stop_words_are_dropped_unless_alone() -> None:
    assert terms("who is the cat") == terms("cat")
    assert terms("who am I")
    assert found("to be or not to be", "to be, or not to be")


def test_longer_documents_weigh_each_term_less() -> None:
    (short,) = sparse.encode_document("cat", "own").values
    long = sparse.encode_document("cat " + "dog " * 99, "own")
    assert min(long.values) < short


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    sparse.encode_document_fields(text, text)
    for vector in (sparse.encode_query(text), sparse.encode_document(text, "window")):
        assert len(vector.indices) == len(set(vector.indices)) == len(vector.values)
        assert all(value > 0 for value in vector.values)


def test_runs_become_overlapping_pairs() -> None:
    assert split_unspaced("plain text") == "plain text"
    assert split_unspaced("élan наука") == "élan наука"
    assert split_unspaced("東京都へ").split() == ["東京", "京都", "都へ"]
    assert split_unspaced("a猫b").split() == ["a", "猫", "b"]
    assert split_unspaced("東京。大阪").split() == ["東京", "。", "大阪"]
    assert single_characters("黒い猫 and dog") == "黒 い 猫"
    assert single_characters("dog") == single_characters("наука") == ""


@given(st.text(alphabet=st.sampled_from("東京都へ猫ไทย한국어 a1é。")))
def test_pairs_lose_no_character(text: str) -> None:
    """Each pair without its last character, and each run's last one, make up the text again."""
    assert set(split_unspaced(text)) - {" "} == set(text) - {" "}
    for word in split_unspaced(text).split():
        assert word in text


def test_no_letter_of_an_unspaced_script_is_passed_over() -> None:
    letters = re.compile(f"[{UNSPACED}]")
    for code in range(0x80, sys.maxunicode + 1):
        if letters.match(letter := chr(code)):
            assert single_characters(f"a{letter}") == letter
