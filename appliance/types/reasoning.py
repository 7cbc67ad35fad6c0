"""Reasoning that a model writes into its answer, between tags of its own, before what it says.

This is the one place that knows the tags. Tags in a fenced block or in the middle of a line are a part of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = ("think", "thinking", "thought", "thoughts", "reason", "reasoning", "seed:think")

_CLOSING_MARKS: Mapping[str, tuple[str, ...]] = {
    "[think]": ("[/think]",),  # Magistral
    "◁think▷": ("◁/think▷",),  # Kimi
    "<|begin_of_thought|>": ("<|end_of_thought|>",),
    "<|start_thinking|>": ("<|end_thinking|>",),  # Command
    # gpt-oss; the answer is in the channel "final"
    "<|channel|>analysis<|message|>": (
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>final<|message|>",
        "<|end|>",
    ),
    '<details type="reasoning"': ("</details>",),  # Open WebUI's display
    ":::thinking": ("\n:::",),  # LibreChat's display
    **{f"<{name}": (f"</{name}>",) for name in _NAMES},
}

_TAG = (
    r"(?:<(?P<name>" + "|".join(_NAMES) + r")(?:[ \t][^<>\n]{0,200})?>"
    r"|(?P<mark>\[think\]|◁think▷|<\|begin_of_thought\|>|<\|start_thinking\|>|<\|channel\|>analysis<\|message\|>"
    r'|:::thinking(?=[ \t]*$)|<details type="reasoning"))'
)
_OPENING = re.compile(rf"^[ \t]*{_TAG}", re.IGNORECASE | re.MULTILINE)
_DIRECTLY = re.compile(rf"\s*{_TAG}", re.IGNORECASE | re.MULTILINE)
"""At the very beginning, or directly behind other reasoning."""

_ORPHAN = re.compile(r"(?<!`)(?:</(?:think|thinking|seed:think)>|\[/think\]|◁/think▷)[ \t]*(?=\n|\Z)", re.IGNORECASE)
"""The end of reasoning whose beginning the model's template holds, which is not a part of the answer."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_HINT = re.compile(r"think|thought|reason|<\|channel\|>", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """An answer without its reasoning; the same text if there is none.

    Reasoning that begins the answer and has no end was cut off, and is all of it.
    """
    if not _HINT.search(text):
        return text
    orphan = _ORPHAN.search(text)
    if orphan is not None and _opening(text[: orphan.start()], 0) is None and not _fences(text[: orphan.start()]) % 2:
        return without_reasoning(text[orphan.end() :].lstrip())
    kept: list[str] = []
    at = fences = 0
    while (opening := _opening(text, at, fences)) is not None:
        end = _end(text, opening)
        if end is None:
            if not "".join(kept).strip() and not text[at : opening.start()].strip():
                return ""
            break
        kept.append(text[at : opening.start()])
        fences += _fences(kept[-1])
        at = end
    if at == 0:
        return text
    before, after = "".join(kept).strip(), text[at:].strip()
    return "\n\n".join(filter(None, (before, after)))


def _opening(text: str, start: int, fences: int = 0) -> re.Match[str] | None:
    """The first opening tag from a place on that is not in a fenced block; ``fences`` are those before the place."""
    directly = _DIRECTLY.match(text, start)
    if directly is not None and not fences % 2:
        return directly
    at = start
    for found in _OPENING.finditer(text, start):
        fences += _fences(text[at : found.start()])
        at = found.start()
        if not fences % 2:
            return found
    return None


def _end(text: str, opening: re.Match[str]) -> int | None:
    """The place after the closing tag; None if there is none."""
    mark = (opening["mark"] or f"<{opening['name']}").lower()
    for closing in _CLOSING_MARKS[mark]:
        found = re.compile(re.escape(closing), re.IGNORECASE).search(text, opening.end())
        if found is not None:
            return found.end()
    return None


def _fences(text: str) -> int:
    """The fences in a text; after an odd number of them a block is open."""
    return len(_FENCE.findall(text))
