"""Tags of several conversations: chosen out of those that there are, or typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.undo import tag_sessions
from appliance_tui.widgets.display_text import pluralize
from appliance_tui.workers import MemoryChanged

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

NEW, GIVEN = "new tag", "remove"


async def choose_tags(app: ApplianceApp, session_ids: Sequence[str]) -> None:
    """Ask for a tag, and give it to conversations, or take it from them if all have it."""
    user = app.user
    with app.report_errors():
        with app.input_queue.held():
            options = await app.memory_worker.run_query(partial(tag_options, session_ids=session_ids, user=user))
        title = f"Tag {pluralize(len(session_ids), 'conversation')}"
        chosen = await app.push_screen_wait(
            PickerScreen(title, options, partial(_typed_options, options), "Type a tag, or several with commas")
        )
        if chosen is None:
            return
        tags = _tags(chosen.value)
        add, remove = ([], tags) if chosen.name == GIVEN else (tags, [])
        await app.make_change(partial(tag_sessions, ids=session_ids, add=add, remove=remove))
        app.post_message(MemoryChanged("undone"))


def tag_options(memory: Appliance, session_ids: Sequence[str], user: str | None) -> list[PickerOption]:
    """The tags that there are, those of the conversations first. What all of these have is offered to be removed."""
    given = Counter(tag for id in session_ids for tag in memory.sessions.info(id).tags)
    others = [count for count in memory.sessions.tags(user_id=user) if count.tag not in given]
    return [
        *(
            PickerOption(GIVEN if count == len(session_ids) else "", tag, f"of {count} of {len(session_ids)}")
            for tag, count in sorted(given.items())
        ),
        *(PickerOption("", other.tag, pluralize(other.sessions, "conversation")) for other in others),
    ]


def _typed_options(options: Sequence[PickerOption], text: str) -> list[PickerOption]:
    tags = _tags(text)
    known = {option.value for option in options}
    is_new = len(tags) > 1 or any(tag not in known for tag in tags)
    return [PickerOption(NEW, ", ".join(tags), "as typed")] if is_new else []


def _tags(text: str) -> list[str]:
    return [tag for part in text.split(",") if (tag := part.strip())]
