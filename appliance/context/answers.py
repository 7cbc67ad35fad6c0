"""Answers of assistants as a context shows them: without the reasoning that was stored with some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from appliance.context.materials import ContextMaterial
from appliance.types import Hit, Message
from appliance.types.reasoning import without_reasoning

Shown = TypeVar("Shown", Message, Hit)


def without_reasoning_of_answers(material: ContextMaterial) -> ContextMaterial:
    """The material without reasoning. An answer of which nothing is left goes."""
    window = material.window
    return replace(
        material,
        turns=_stripped(material.turns),
        window=None if window is None else replace(window, turns=tuple(_stripped(window.turns))),
        hits=_stripped(material.hits),
        neighbours={
            id: (_stripped_turn(before), _stripped_turn(after)) for id, (before, after) in material.neighbours.items()
        },
    )


def _stripped(shown: Iterable[Shown]) -> list[Shown]:
    return [stripped for one in shown if (stripped := _stripped_turn(one)) is not None]


def _stripped_turn(one: Shown | None) -> Shown | None:
    if one is None or one.role != "assistant":
        return one
    text = without_reasoning(one.text)
    if text is one.text:
        return one
    return replace(one, text=text) if text else None
