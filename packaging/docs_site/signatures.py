"""Signatures as they are written in Python, the same in every version of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def signature_parts(function: Callable[..., Any]) -> tuple[list[str], str]:
    """The parameters of a function, with ``*`` where only named ones follow, and `` -> `` with what it returns."""
    shape = inspect.signature(function)
    parts: list[str] = []
    last = None
    for one in shape.parameters.values():
        if one.kind is one.KEYWORD_ONLY and last not in (one.KEYWORD_ONLY, one.VAR_POSITIONAL):
            parts.append("*")
        stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
        hint = "" if one.annotation is one.empty else f": {annotation_text(one.annotation)}"
        parts.append(f"{stars}{one.name}{hint}{_default(one)}")
        last = one.kind
    return parts, "" if shape.return_annotation is shape.empty else f" -> {annotation_text(shape.return_annotation)}"


def property_type(member: property) -> str:
    """What a property returns."""
    assert member.fget is not None
    return annotation_text(inspect.signature(member.fget).return_annotation)


def annotation_text(annotation: Any) -> str:
    """An annotation as it is written."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    return " = …" if inspect.isroutine(parameter.default) else f" = {parameter.default!r}"
