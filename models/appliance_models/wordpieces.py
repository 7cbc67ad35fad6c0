"""Word pieces: the `tokenizers` library without truncation and padding, windows over long texts, and fast counts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from appliance_models.errors import ModelCorrupt

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_SURROGATES = re.compile("[\ud800-\udfff]")

BATCH_SIZE = 1_000
"""Texts in one call of the library, which holds the pieces of all of them."""

MAX_CACHED_WORDS = 200_000
MAX_WORD_CHARACTERS = 48
"""A longer run without a space is a link or a key, which hardly occurs twice."""

# White space for Python that a tokenizer may read as a control character or as part of a word.
_OTHER_SPACE = re.compile(r"[^\S \t\n\r]")


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`, with truncation and padding off. Raises ModelCorrupt."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ModelCorrupt(f"{path} is not a readable tokenizer ({error}). Import the model again.") from error
    # The file may contain the limits of a training script (128 for the shipped model).
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def replace_surrogates(text: str) -> str:
    """The text with each lone surrogate, which has no UTF-8, replaced by U+FFFD, so that offsets stay the same."""
    return text if text.isascii() else _SURROGATES.sub("�", text)


def encode_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, special tokens included."""
    return [item.ids for item in tokenizer.encode_batch_fast([replace_surrogates(text) for text in texts])]


def encode_spans(tokenizer: Tokenizer, text: str) -> Encoding:
    """One text with the character offsets of its tokens."""
    return tokenizer.encode(replace_surrogates(text))


def token_windows(tokenizer: Tokenizer, text: str, limit: int) -> list[str]:
    """Split `text` completely into consecutive windows of at most `limit` tokens each, special tokens included.

    Windows are about equally long and end at word ends, unless a single word is too long. A tokenizer may see other
    pieces in a part than in the whole, so a part that comes out too long is split again.
    """
    encoding = encode_spans(tokenizer, text)
    if len(encoding.ids) <= limit or len(text) < 2:
        return [text]
    inner = [
        (span[0], word)
        for span, word, special in zip(encoding.offsets, encoding.word_ids, encoding.special_tokens_mask, strict=True)
        if not special
    ]
    text_limit = max(1, limit - tokenizer.num_special_tokens_to_add(is_pair=False))
    tokens_per_window = -(-len(inner) // -(-len(inner) // text_limit))
    cuts = [0]
    position = 0
    while position + tokens_per_window < len(inner):
        end = position + tokens_per_window
        word_start = end
        while word_start > position and inner[word_start][1] == inner[word_start - 1][1]:
            word_start -= 1
        position = word_start if word_start > position else end
        cuts.append(inner[position][0])
    # Tokens may share a character's offset (bytes of an emoji), where a cut would make an empty part.
    edges = sorted({*cuts, len(text)})
    parts = [text[start:end] for start, end in pairwise(edges)]
    if len(parts) == 1:
        half = len(text) // 2
        parts = [text[:half], text[half:]]
    return [window for part in parts for window in token_windows(tokenizer, part, limit)]


class WordpieceCounter:
    """Counts tokens as the tokenizer does, special tokens included. Thread-safe.

    Chunking needs the length of every text several times, and the tokenizer takes 1.1 microseconds a token for each.
    Adding up the counts of known words takes a sixth of that; the sum is exact where pieces never cross white space.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.num_special_tokens_to_add(is_pair=False)
        self._is_word_based = _is_word_based(tokenizer)
        self._word_counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def count(self, texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), BATCH_SIZE):
            counts += self._count(texts[start : start + BATCH_SIZE])
        return counts

    def _count(self, texts: Sequence[str]) -> list[int]:
        with self._lock:
            known = self._word_counts
        counts: list[int | None] = [self._sum_word_counts(text, known) for text in texts]
        unknown = [number for number, count in enumerate(counts) if count is None]
        if unknown and self._is_word_based:
            with self._lock:
                known = self._cache_words(chain.from_iterable(texts[number].split() for number in unknown))
            for number in unknown:
                counts[number] = self._sum_word_counts(texts[number], known)
            unknown = [number for number in unknown if counts[number] is None]
        exact = self._count_with_tokenizer([texts[number] for number in unknown])
        for number, count in zip(unknown, exact, strict=True):
            counts[number] = count
        return [count for count in counts if count is not None]

    def _sum_word_counts(self, text: str, known: Mapping[str, int]) -> int | None:
        """A text's tokens, if the counts of its words are known and add up to them."""
        if not self._is_word_based or _OTHER_SPACE.search(text):
            return None
        try:
            return self._special_tokens + sum(map(known.__getitem__, text.split()))
        except KeyError:
            return None

    def _cache_words(self, words: Iterable[str]) -> dict[str, int]:
        """Add the counts of words, except very long ones, and return all that are cached."""
        missing = sorted({word for word in words if len(word) <= MAX_WORD_CHARACTERS}.difference(self._word_counts))
        # A new dict each time, because other threads may be reading the old one.
        base = self._word_counts if len(self._word_counts) <= MAX_CACHED_WORDS else {}
        pieces = (count - self._special_tokens for count in self._count_with_tokenizer(missing))
        self._word_counts = base | dict(zip(missing, pieces, strict=True))
        return self._word_counts

    def _count_with_tokenizer(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in encode_ids(self._tokenizer, texts)]


def _is_word_based(tokenizer: Tokenizer) -> bool:
    """Whether a text's pieces are those of its words, as in the BERT family."""
    config = json.loads(tokenizer.to_str())
    component_types = [
        config[part]["type"] if config.get(part) else None for part in ("pre_tokenizer", "normalizer", "model")
    ]
    has_plain_added_tokens = not any(
        token["lstrip"] or token["rstrip"] or token["single_word"] or any(map(str.isspace, token["content"]))
        for token in config["added_tokens"]
    )
    return component_types == ["BertPreTokenizer", "BertNormalizer", "WordPiece"] and has_plain_added_tokens
