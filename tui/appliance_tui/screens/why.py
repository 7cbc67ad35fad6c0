"""Why a message was found, or why not: each part of its score as a bar, and what each leg said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance_tui.actions import bindings
from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.words import one_line

WIDTH = 20
"""Cells of a bar."""

NOTHING = 0.005
"""A part of a score that shows as 0.00 says nothing."""


class Why(ModalScreen[None]):
    """Shows the reasons of one message. ``words`` say what became of it; ``why`` is as in a hit, or None."""

    CSS_PATH = "why.tcss"
    PLACE = "why"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("why")]

    def __init__(self, title: str, words: str, why: Mapping[str, Any] | None, score: float | None) -> None:
        super().__init__()
        self._called = title
        self._words = words
        self._why = why
        self._score = score

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="why"):
            yield Static(self._words, markup=False, id="why-words")
            if self._why is not None:
                yield Static(Content("\n").join(list(_lines(self._why, self._score))), id="why-parts")

    def on_mount(self) -> None:
        self.query_one("#why").border_title = one_line(self._called)


def _lines(why: Mapping[str, Any], score: float | None) -> Iterator[Content]:
    from appliance.reasons import MEANINGS

    parts: Mapping[str, float] = why.get("score", {})
    legs: Mapping[str, Mapping[str, Any]] = why.get("legs", {})
    full = max((abs(part) for part in parts.values()), default=0.0)
    yield Content.styled(f"{'what it adds to the score':<{WIDTH + 9}}", "bold")
    for name, part in sorted(parts.items(), key=lambda item: -item[1]):
        if abs(part) < NOTHING:
            continue
        colour = "$accent" if part > 0 else "$error"
        yield Content.assemble(
            (bar(abs(part) / full, WIDTH), colour),
            f" {part:>6.2f}  ",
            (f"{name:<9}", "bold"),
            (MEANINGS.get(name, ""), "$foreground-muted"),
        )
    if score is not None:
        yield Content.assemble(" " * WIDTH, (f" {score:>6.2f}  in all", "bold"))
    if legs:
        yield Content("")
        yield Content.styled("what each leg says", "bold")
    for name, leg in legs.items():
        yield Content.assemble(
            (f"{name:<9}", "bold"), _leg(name, leg), ("  " + MEANINGS.get(name, ""), "$foreground-muted")
        )
    if folded := why.get("folded"):
        yield Content("")
        yield Content(f"{len(folded)} more say the same: {', '.join(folded)}")


def _leg(name: str, leg: Mapping[str, Any]) -> str:
    from appliance.reasons import RAW_SCORES

    rank, score = leg.get("rank"), leg.get("score")
    place = f"rank {rank}" if rank is not None else "scored, not proposed"
    return place if score is None else f"{RAW_SCORES.get(name, 'score')} {score:.2f}, {place}"
