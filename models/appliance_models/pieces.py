"""Word pieces: the `tokenizers` library with truncation and padding off, and windows over long texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from appliance_models.errors import ModelCorrupt

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_SURROGATES = re.compile("[\ud800-\udfff]")


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`, cutting nothing and padding nothing. Raises ModelCorrupt."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ModelCorrupt(f"{path} is not a readable tokenizer ({error}): import the model again") from error
    # The file may carry the limits of some training script (this model's says 128).
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def readable(text: str) -> str:
    """The text with lone surrogates, which have no UTF-8, as U+FFFD: one for one, so offsets hold."""
    return text if text.isascii() else _SURROGATES.sub("�", text)


def encode_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, special tokens included."""
    return [item.ids for item in tokenizer.encode_batch_fast([readable(text) for text in texts])]


def encode_spans(tokenizer: Tokenizer, text: str) -> Encoding:
    """One text with the character offsets of its tokens."""
    return tokenizer.encode(readable(text))


def token_windows(tokenizer: Tokenizer, text: str, limit: int) -> list[str]:
    """`text` in consecutive parts of at most `limit` tokens each (special tokens included), nothing left out.

    Parts are about equally long and end at word ends, unless one word alone is too long. Cutting can make a
    tokenizer see other pieces than it saw in the whole, so a part that came out too long is cut again.
    """
    encoding = encode_spans(tokenizer, text)
    if len(encoding.ids) <= limit or len(text) < 2:
        return [text]
    inner = [
        (span[0], word)
        for span, word, special in zip(
            encoding.offsets, encoding.word_ids, encoding.special_tokens_mask, strict=True
        )
        if not special
    ]
    room = max(1, limit - tokenizer.num_special_tokens_to_add(is_pair=False))
    share = -(-len(inner) // -(-len(inner) // room))
    cuts = [0]
    position = 0
    while position + share < len(inner):
        end = position + share
        word_start = end
        while word_start > position and inner[word_start][1] == inner[word_start - 1][1]:
            word_start -= 1
        position = word_start if word_start > position else end
        cuts.append(inner[position][0])
    # Tokens may share one character's offset (bytes of an emoji): such a cut would make an empty part.
    edges = sorted({*cuts, len(text)})
    parts = [text[start:end] for start, end in pairwise(edges)]
    if len(parts) == 1:
        half = len(text) // 2
        parts = [text[:half], text[half:]]
    return [window for part in parts for window in token_windows(tokenizer, part, limit)]
