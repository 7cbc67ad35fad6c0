"""The files that a text names, by a known suffix. The rules are simple, and prefer no file to a wrong one."""

from __future__ import annotations

import re
from functools import lru_cache

_SUFFIX = re.compile(
    r"\.(?:py|pyi|ipynb|js|jsx|ts|tsx|mjs|css|scss|html?|json|ya?ml|toml|ini|cfg|conf|md|rst|txt|csv|tsv|sql|sh|bash|ps1|rs"
    r"|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|jl|exs?|vue|svelte|xml|lock|log|env|pdf|docx?|xlsx?|pptx?|png|jpe?g"
    r"|gif|svg|zip|gz|db|sqlite)(?![\w/@-]|\.\w)"
)
_PATH_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/~")
# Libraries with the name of a file, and what programs call a part of something: console.log, but not app.py.
_NOT_A_FILE = re.compile(
    r"(?:[a-z]+\.)*(?:node|next|vue|nuxt|express|three|d3|react|angular|chart|discord|socket)\.(?:js|ts)"
    r"|(?:request|response|res|req|self|this|np|pd|os|sys|app|plt|math|logger|logging|console|window|document|process|module"
    r"|import\.meta)\.(?:json|log|env|db|lock|c|xml|sql|go|zip)",
    re.IGNORECASE,
)

SCAN_CHARACTERS = 20_000  # of a message that are searched for files

MAX_PATH_CHARACTERS = 120


def paths(message: str) -> tuple[str, ...]:
    """Return the files that a message names, by a known suffix; web addresses are none."""
    return _paths(message[:SCAN_CHARACTERS])


@lru_cache(maxsize=2_048)
def _paths(text: str) -> tuple[str, ...]:
    return tuple(path for suffix in _SUFFIX.finditer(text) if (path := _path_before(text, suffix)))


def _path_before(text: str, suffix: re.Match[str]) -> str | None:
    start = suffix.start()
    first = max(0, start - MAX_PATH_CHARACTERS)
    while start > first and text[start - 1] in _PATH_CHARACTERS:
        start -= 1
    path = text[start : suffix.end()].removeprefix("./")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    is_address = text[start - 1 : start] in tuple(":@") or path.startswith("//")
    return None if is_address or not any(map(str.isalnum, stem)) or _NOT_A_FILE.fullmatch(path) else path
