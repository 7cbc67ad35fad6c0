"""The way from a conversation to its parent and to its branches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.widgets.display_text import day, one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionInfo
    from appliance_tui.app import ApplianceApp


async def choose_branch(app: ApplianceApp, info: SessionInfo) -> None:
    """Ask for the parent or a branch of a conversation, and read it from where both part.

    Raises:
        ApplianceError: as the memory says.
    """
    with app.input_queue.held():
        related = await app.memory_worker.run_query(partial(related_sessions, info=info))
    if not related:
        app.notify("No branches", timeout=3)
        return
    options = [
        PickerOption(
            "parent" if other.id == info.branch_of else "branch",
            one_line(other.title or other.external_id),
            f"{other.id} · {pluralize(other.messages, 'own message')} · {day(other.last_at)}",
        )
        for other in related
    ]
    chosen = await app.push_screen_wait(PickerScreen("Branches", options))
    if chosen is not None:
        other = related[options.index(chosen)]
        app.read(other.id, other.branch_at if other.branch_of == info.id else info.branch_at)


def related_sessions(memory: Appliance, info: SessionInfo) -> list[SessionInfo]:
    """A conversation's parent and its branches."""
    parents = [memory.sessions.info(info.branch_of)] if info.branch_of else []
    local_sessions = memory.sessions.list(user_id=info.user_id, namespace=info.namespace, sources=("local",))
    return [*parents, *(branch for branch in local_sessions if branch.branch_of == info.id)]
