"""What messages were worth: the person is asked, and what is answered can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.undo import give_feedback
from appliance_tui.widgets.display_text import pluralize

if TYPE_CHECKING:
    from appliance.types import FeedbackKind
    from appliance_tui.app import ApplianceApp

FEEDBACK_OPTIONS = (
    PickerOption("helpful", "it helps to answer"),
    PickerOption("used", "an answer rests on it"),
    PickerOption("wrong", "it is not true"),
    PickerOption("outdated", "it is no longer true"),
)
"""What a memory can be worth."""


async def ask_worth(app: ApplianceApp, ids: Sequence[str]) -> bool:
    """Ask what messages were worth, and note it; False if the dialog was closed or the memory refuses it."""
    what = "this message" if len(ids) == 1 else f"these {pluralize(len(ids), 'message')}"
    chosen = await app.push_screen_wait(PickerScreen(f"What is {what} worth?", FEEDBACK_OPTIONS))
    if chosen is None:
        return False
    with app.report_errors():
        await app.make_change(partial(give_feedback, ids=tuple(ids), kind=cast("FeedbackKind", chosen.name)))
        return True
    return False
