"""Hides secrets in texts, and in all texts of a value.

A hidden secret keeps its length, so that places in the text stay right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from appliance.secrets.detector import find_in_texts, find_secrets
from appliance.secrets.personal import SecretSpan

T = TypeVar("T")

MASK = "•"

MIN_PART_CHARACTERS = 5
"""The least characters of a secret that are hidden where a text is cut within it."""

_WITHOUT_TEXT = {int, float, bool, type(None)}

_ELLIPSIS = "… \n"


def mask(text: str, spans: Sequence[SecretSpan]) -> str:
    """Return a text with dots in place of its secrets."""
    return _replace(text, spans, lambda kind, length: MASK * length)


def drop(text: str, spans: Sequence[SecretSpan]) -> str:
    """Return a text with the names of its secrets' kinds in their place, for good: "[secret: password]"."""
    return _replace(text, spans, lambda kind, length: f"[secret: {kind}]")


def mask_texts(texts: Sequence[str]) -> list[str]:
    """Return texts with their secrets hidden, also where one of them repeats a secret of another, or is cut within it.

    What is made of texts, such as the names in them, is made of these: a part of a secret is not recognised any more
    where it stands alone."""
    found = find_in_texts(texts)
    secrets = {texts[number][start:end] for number, spans in found.items() for _, start, end in spans}
    masked = []
    for number, text in enumerate(texts):
        hidden = mask(text, found.get(number, ()))
        for secret in secrets:
            hidden = _mask_parts(hidden.replace(secret, MASK * len(secret)), secret)
        masked.append(hidden)
    return masked


def shares_secret(value: str, text: str) -> bool:
    """Whether a value that was taken out of a text has a part of one of its secrets."""
    secrets = [text[start:end] for _, start, end in find_secrets(text)]
    last = len(value) - MIN_PART_CHARACTERS
    parts = {value[at : at + MIN_PART_CHARACTERS] for at in range(last + 1)}
    return value in secrets or any(part in secret for secret in secrets for part in parts)


def drop_secrets(value: T) -> T:
    """Return a value with the secrets of all its texts dropped."""
    texts = list(_texts(value))
    found = find_in_texts(texts)
    dropped = {texts[number]: drop(texts[number], spans) for number, spans in found.items()}
    return cast(T, _with_texts(value, dropped)) if dropped else value


def mask_secrets(value: T) -> T:
    """Return a value with the secrets of all its texts hidden: in dataclasses, mappings and sequences, at any depth.

    A secret is also hidden where another text of the value repeats it, or is cut within it, as an excerpt may be. Ids
    stay as they are, since requests name them.
    """
    texts = list(dict.fromkeys(_texts(value)))
    masked = {text: hidden for text, hidden in zip(texts, mask_texts(texts), strict=True) if text != hidden}
    return cast(T, _with_texts(value, masked)) if masked else value


def _replace(text: str, spans: Sequence[SecretSpan], instead: Callable[[str, int], str]) -> str:
    parts, at = [], 0
    for kind, start, end in spans:
        parts += [text[at:start], instead(kind, end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _mask_parts(text: str, secret: str) -> str:
    """Hide the end of a secret at the beginning of a text, and the beginning of one at its end."""
    begin, end = len(text) - len(text.lstrip(_ELLIPSIS)), len(text.rstrip(_ELLIPSIS))
    for length in range(min(len(secret) - 1, end - begin), MIN_PART_CHARACTERS - 1, -1):
        if text.startswith(secret[-length:], begin):
            text = text[:begin] + MASK * length + text[begin + length :]
            break
    for length in range(min(len(secret) - 1, end - begin), MIN_PART_CHARACTERS - 1, -1):
        if text.endswith(secret[:length], begin, end):
            return text[: end - length] + MASK * length + text[end:]
    return text


def _is_id(name: object) -> bool:
    return isinstance(name, str) and (name.endswith("id") or name in ("cursor", "next_cursor", "path"))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a value that may have texts, by the names or numbers that they have in it."""
    if is_dataclass(value):
        yield from ((one.name, getattr(value, one.name)) for one in fields(value) if not _is_id(one.name))
    elif isinstance(value, Mapping):
        yield from ((name, part) for name, part in value.items() if not _is_id(name))
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif type(value) not in _WITHOUT_TEXT:
        for _, part in _members(value):
            yield from _texts(part)


def _with_texts(value: Any, instead: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return instead.get(value, value)
    if type(value) in _WITHOUT_TEXT:
        return value
    changed = {name: new for name, part in _members(value) if (new := _with_texts(part, instead)) is not part}
    if not changed:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **changed)
    if isinstance(value, Mapping):
        return {**value, **changed}
    return type(value)(changed.get(number, part) for number, part in enumerate(value))
