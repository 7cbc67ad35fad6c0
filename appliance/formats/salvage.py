"""Reading damaged JSON: intact values are kept, damaged containers are marked.

This parser is for the rare records that a decoder rejects: cut off, broken inside, or nested too deeply. It never
raises and does not recurse. Every object and list that was open at a damaged place has ``whole`` set to False.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Chat exports nest about twenty levels deep; deeper than this is abuse, which would break later stages.
MAX_DEPTH = 200

_TOKEN = re.compile(
    r'(?P<text>"(?>(?:[^"\\]++|\\.)*)")|(?P<mark>[{}\[\]:,])|(?P<space>\s++)|(?P<atom>[^\s"{}\[\]:,]++)|(?P<cut>")',
    re.DOTALL,
)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "NaN": None}
_MISSING = object()


class SalvagedDict(dict[str, Any]):
    """An object from damaged JSON; ``whole`` is False if part of it was lost."""

    whole = True


class SalvagedList(list[Any]):
    """A list from damaged JSON; ``whole`` is False if part of it was lost."""

    whole = True


def is_whole(value: Any) -> bool:
    """Whether no part of ``value`` was lost to damage. Plain values are whole."""
    return getattr(value, "whole", True) is True


def salvage(text: str, max_depth: int = MAX_DEPTH) -> Any:
    """The first JSON value of ``text``, as far as it can be read; None if there is none.

    Values nested deeper than ``max_depth`` become None."""
    top = SalvagedList()
    stack: list[SalvagedDict | SalvagedList] = [top]
    keys: list[Any] = [_MISSING]
    too_deep = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "space":
            continue
        if too_deep:
            if kind == "mark":
                too_deep += (token[0] in "{[") - (token[0] in "}]")
            continue
        if kind == "mark":
            mark = token[0]
            if mark in "{[":
                if len(stack) > max_depth:
                    _put(stack, keys, None)
                    too_deep = 1
                    continue
                inner = SalvagedDict() if mark == "{" else SalvagedList()
                _put(stack, keys, inner)
                stack.append(inner)
                keys.append(_MISSING)
            elif mark in "}]":
                _close(stack, keys, SalvagedDict if mark == "}" else SalvagedList)
                if len(stack) == 1 and top:
                    return top[0]
            elif mark == "," and keys[-1] is not _MISSING:
                _mark_damaged(stack)
                keys[-1] = _MISSING
        elif kind == "text":
            _put_text(stack, keys, token[0])
        elif kind == "atom":
            _put_atom(stack, keys, token[0])
        else:
            break
        if len(stack) == 1 and top:
            return top[0]
    _mark_damaged(stack)
    return top[0] if top else None


def _put(stack: list[SalvagedDict | SalvagedList], keys: list[Any], value: Any) -> None:
    inner = stack[-1]
    if isinstance(inner, SalvagedList):
        inner.append(value)
    elif keys[-1] is _MISSING:
        _mark_damaged(stack)
    else:
        inner[keys[-1]] = value
        keys[-1] = _MISSING


def _put_text(stack: list[SalvagedDict | SalvagedList], keys: list[Any], token: str) -> None:
    try:
        value = json.loads(token, strict=False)
    except ValueError:
        _mark_damaged(stack)
        value = token[1:-1]
    if isinstance(stack[-1], SalvagedDict) and keys[-1] is _MISSING:
        keys[-1] = value
    else:
        _put(stack, keys, value)


def _put_atom(stack: list[SalvagedDict | SalvagedList], keys: list[Any], token: str) -> None:
    try:
        value = _WORDS[token] if token in _WORDS else json.loads(token)
    except ValueError:
        _mark_damaged(stack)
        return
    _put(stack, keys, value)


def _close(stack: list[SalvagedDict | SalvagedList], keys: list[Any], kind: type) -> None:
    """Close the innermost container of this kind; a closing mark without one is skipped."""
    if keys[-1] is not _MISSING:
        _mark_damaged(stack)
    at = next((n for n in range(len(stack) - 1, 0, -1) if isinstance(stack[n], kind)), 0)
    if at != len(stack) - 1:
        _mark_damaged(stack)
    if at:
        del stack[at:], keys[at:]


def _mark_damaged(stack: list[SalvagedDict | SalvagedList]) -> None:
    for inner in stack:
        inner.whole = False
