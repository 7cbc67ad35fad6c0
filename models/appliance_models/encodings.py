"""Exact token counts for budgets: tiktoken, with the tables of both encodings in this package.

A table is a zstd frame: the length of each token in bytes, a byte each, in the order of the ranks; then the tokens, one
after the other. ``packaging/token_tables/build_tables.py`` makes it from a published table. tiktoken's own loaders are
not used: they copy tables to temporary folders and download missing ones.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from appliance_models.errors import ModelCorrupt, ModelMissing
from appliance_models.wordpieces import replace_surrogates

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "cl100k_base"
TABLES_FOLDER = Path(__file__).parent / "packs" / "encodings"


@dataclass(frozen=True, slots=True)
class EncodingTable:
    """A published encoding: its number of tokens, the SHA-256 of its published .tiktoken file and of the file shipped
    here, and the pattern that cuts texts before tokens are merged."""

    tokens: int
    published_sha256: str
    sha256: str
    pattern: str


# Patterns and checksums of the published tables as in tiktoken 0.14 (tiktoken_ext/openai_public.py, MIT).
TABLES = {
    "cl100k_base": EncodingTable(
        100_256,
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "d97f69751a07c83a16ac8650f4387ece9a0f33e622370450b0847f14937759ae",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": EncodingTable(
        199_998,
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "ca432b4460881646fca5683bcbd506fdd5d5982ab886f2f60f3b0166bbfabf91",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
# The same table and pattern with further special tokens, which are ordinary text here.
_ALIASES = {"o200k_harmony": "o200k_base"}

# The encodings of models, for any version of tiktoken: GPT-4o and later ones, then those before. Names may continue
# with a date, a size or a kind ("gpt-4o-mini-2024-07-18", "gpt-oss:20b"); "ft:" marks a fine-tuned model.
_MODELS = (
    (
        "o200k_base",
        re.compile(r"(?:ft:)?(?:(?:chat)?gpt-4o|gpt-4\.[15]|gpt-[5-9](?:\.\d+)?|gpt-oss|o[1-9]|codex-mini)(?![\w.])"),
    ),
    ("cl100k_base", re.compile(r"(?:ft:)?(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-(?:3|ada-002))(?![\w.])")),
)
_PROVIDER = re.compile(r"(?:(?:openai|azure|openrouter|models)/)+")


class TokenCounter:
    """Counts tokens in one encoding. Thread-safe.

    `name` is the encoding in use; `note` says so in words if another one was requested, else it is empty.
    """

    def __init__(self, encoding: Encoding, note: str = "") -> None:
        self._encoding = encoding
        self.name: str = encoding.name
        self.note = note

    def count(self, text: str) -> int:
        """Tokens in `text`; text that looks like a special token counts as ordinary text.

        Linear in practice: 100,000 times the same character takes about 50 ms. Lone surrogates count as U+FFFD.
        """
        return len(self._encoding.encode_ordinary(replace_surrogates(text)))

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD. Raises KeyError or OverflowError for tokens that
        the encoding does not have."""
        return self._encoding.decode([*tokens], errors="replace")


def encoding_for(model_or_encoding: str = DEFAULT_ENCODING) -> TokenCounter:
    """The counter for a model ("gpt-4o") or an encoding ("o200k_base").

    For an unknown model, cl100k_base is used, and the counter's `note` says so. The first call loads the encoding,
    which takes 0.1 to 0.2 s. Raises ModelMissing or ModelCorrupt if its table is.
    """
    name, note = _encoding_name(model_or_encoding)
    return TokenCounter(_load_encoding(name), note)


def _encoding_name(requested: str) -> tuple[str, str]:
    import tiktoken

    if requested in TABLES:
        return requested, ""
    model = _PROVIDER.sub("", requested.strip().lower())
    for encoding, models in _MODELS:
        if models.match(model):
            return encoding, ""
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return DEFAULT_ENCODING, f"no encoding known for {requested}; approximated with {DEFAULT_ENCODING}"
    name = _ALIASES.get(name, name)
    if name not in TABLES:
        return DEFAULT_ENCODING, f"no table of {name}; approximated with {DEFAULT_ENCODING}"
    return name, ""


@lru_cache(maxsize=2)
def _load_encoding(name: str) -> Encoding:
    import tiktoken

    ranks = read_ranks(name)
    return tiktoken.Encoding(name, pat_str=TABLES[name].pattern, mergeable_ranks=ranks, special_tokens={})


def read_ranks(name: str, folder: Path = TABLES_FOLDER) -> dict[bytes, int]:
    """The tokens of an encoding with their ranks, in order. Raises ModelMissing or ModelCorrupt."""
    import zstandard

    table, path = TABLES[name], table_path(name, folder)
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise ModelMissing(f"The token table {path} is missing. Reinstall the program.") from error
    if hashlib.sha256(packed).hexdigest() != table.sha256:
        raise ModelCorrupt(f"{path} is not the token table of {name} (wrong SHA-256). Reinstall the program.")
    content = zstandard.ZstdDecompressor().decompress(packed)
    ends = list(accumulate(content[: table.tokens], initial=table.tokens))
    # A collection in the midst of 200,000 new objects would double the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return dict(zip(map(content.__getitem__, map(slice, ends, ends[1:])), range(table.tokens), strict=True))
    finally:
        if was_enabled:
            gc.enable()


def table_path(name: str, folder: Path = TABLES_FOLDER) -> Path:
    """The file of an encoding's table."""
    return folder / f"{name}.ranks.zst"
