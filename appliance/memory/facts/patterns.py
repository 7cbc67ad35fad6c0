"""The patterns of the rules, each compiled when it is first needed.

There are a thousand of them, and all together take half a second: most commands need none, what reads a message only
those few whose opening words are in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

_SPACES = r"(?:[ \t]+)"
_SPACE_OR_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.| ")


class Pattern:
    """A regular expression with the methods of ``re.Pattern``."""

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    sub: Callable[..., str]

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not there yet: from then on these are found like any attribute.
        compiled = re.compile(self._text)
        for method in ("search", "match", "fullmatch", "finditer", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: str) -> Pattern:
    """A pattern, in which each space stands for any white space on a line."""
    return Pattern(
        _SPACE_OR_CLASS.sub(lambda found: _SPACES if found.group() == " " else found.group(), text)
    )
