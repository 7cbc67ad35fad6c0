"""The lexicon: the pieces of the shipped tokenizer, which are alike, and how rare each is."""

from __future__ import annotations

import numpy as np
import pytest

import appliance_models
from appliance_models import lexicon as module
from appliance_models.lexicon import Lexicon
from appliance_models.wordpieces import encode_ids
from tests.waits import spent

LEXICON = appliance_models.load_lexicon()
TOKENIZER = appliance_models.load().tokenizer


@pytest.mark.parametrize(
    "text", ["", "a dog", "Dogs,  don't\nbark!", "漢字かな 한국어", "x" * 40, "[image: a lake]", "\ud800 half"]
)
def test_pieces_are_those_of_the_tokenizer(text: str) -> None:
    (pieces,) = LEXICON.pieces([text])
    assert pieces == encode_ids(TOKENIZER, [text])[0][1:-1]


def test_a_lookup_does_not_go_through_the_cached_words() -> None:
    lexicon = Lexicon(TOKENIZER, np.zeros((30_522, 64), np.int8))

    def look_up() -> None:
        for _ in range(20):
            lexicon.pieces(["when did we talk about the garden"])

    look_up()
    few = min(spent(look_up) for _ in range(5))
    lexicon._piece_cache.update((f"{number}", (1,)) for number in range(50_000))
    assert min(spent(look_up) for _ in range(5)) < 20 * few + 0.001  # by going through them, 200 times


def test_a_run_without_spaces_counts_by_its_beginning() -> None:
    (pieces,) = LEXICON.pieces(["b" * 1_000_000])
    assert len(pieces) <= module.MAX_WORD_CHARACTERS


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CACHED_WORDS", 50)
    lexicon = module.Lexicon(TOKENIZER, np.load(module.TABLE_FILE))
    for start in range(0, 1_000, 10):
        lexicon.pieces([f"word{n}" for n in range(start, start + 10)])
        assert len(lexicon._piece_cache) <= 60


def test_words_of_like_meaning_are_alike() -> None:
    dog, cat, tax = (pieces[0] for pieces in LEXICON.pieces(["dog", "cat", "tax"]))
    (row,) = LEXICON.similarities([dog], [dog, cat, tax, dog])
    assert row[0] == pytest.approx(1) == pytest.approx(row[3])
    assert row[1] > row[2] + 0.1


def test_rarity_grows_from_the_commonest_word_on() -> None:
    the, house, zoology = (LEXICON.rarity(pieces)[0] for pieces in LEXICON.pieces(["the", "house", "zoology"]))
    assert 0 == the < house < zoology <= 1
    (signs,) = LEXICON.pieces(["?!..."])
    assert not LEXICON.rarity(signs).any()


def test_vectors_of_texts_are_of_length_one_and_closer_where_they_say_the_like() -> None:
    dogs, puppies, tax, empty = LEXICON.vectors(
        ["My dogs sleep in the garden.", "The puppy sleeps on the lawn.", "Income tax rates rose by law.", " ?! "]
    )
    assert np.allclose(np.linalg.norm([dogs, puppies, tax], axis=1), 1.0, atol=1e-5)
    assert not empty.any()
    assert dogs @ puppies > dogs @ tax + 0.1


def test_a_texts_vector_does_not_depend_on_those_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Sentence {n} is about the {word}." for n, word in enumerate(["sea", "", "law", "cat", "tea"] * 3)]
    together = LEXICON.vectors(texts)
    monkeypatch.setattr(module, "BATCH_SIZE", 2)
    assert np.allclose(LEXICON.vectors(texts), together, atol=1e-6)
    assert np.allclose([LEXICON.vectors([text])[0] for text in texts], together, atol=1e-6)
    assert LEXICON.vectors([]).shape == (0, 64)
