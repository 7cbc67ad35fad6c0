"""Counting word by word comes to what the tokenizer counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appliance_models
from appliance_models import wordpieces
from appliance_models.wordpieces import WordpieceCounter, encode_ids, load_tokenizer, replace_surrogates
from tests.eval import datasets
from tests.examples import examples

PACK = appliance_models.load()

words = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["[SEP]", "x[MASK]y", "a\x00b", "\x1c", "a\x85b", "\u2028", "\xa0", "\u200b", "漢字かな",
         "한국어", "สวัสดี", "e\u0301", "Ünï",
         "snake_case", "https://example.org/a?b=c&d=" + "e" * 90, "x" * 150, "don't", "…",
         "👩‍👩‍👧", "\ud800", "\t", "\r\n", "  "]
    ),
)  # fmt: skip
texts = st.lists(words, max_size=12).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), "".join(parts), "\n".join(parts)])
)


def exact(given: list[str]) -> list[int]:
    return [len(ids) for ids in encode_ids(PACK.tokenizer, [replace_surrogates(text) for text in given])]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(texts, max_size=6))
def test_any_text(given: list[str]) -> None:
    assert PACK.count_tokens(given) == exact(given)


@pytest.mark.slow
@pytest.mark.skipif(not datasets.FOLDER.exists(), reason="the conversations are not here")
def test_real_chats() -> None:
    said = [record["content"] for talk in datasets.locomo() for record in talk.records]
    said += [record["content"] for talk in datasets.beam() for record in talk.records][:1500]
    assert PACK.count_tokens(said) == exact(said)


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpieces, "MAX_CACHED_WORDS", 50)
    counter = WordpieceCounter(PACK.tokenizer)
    given = [f"word{n} and number {n * 7}" for n in range(300)] + ["long" * 30]
    for start in range(0, len(given), 10):
        assert counter.count(given[start : start + 10]) == exact(given[start : start + 10])
        assert len(counter._word_counts) <= 50 + 40


def test_a_tokenizer_of_another_family_is_asked_for_every_text(tmp_path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"a b": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(",", "removed")
    made.save(str(tmp_path / "tokenizer.json"))
    assert WordpieceCounter(load_tokenizer(tmp_path / "tokenizer.json")).count(["a b,a b", "a b"]) == [2, 1]
