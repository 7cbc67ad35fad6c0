"""The parent and the branches of a conversation, as options to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance_tui.screens.picker import PickerOption
from appliance_tui.widgets.display_text import day, one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionInfo


def related_sessions(memory: Appliance, info: SessionInfo) -> list[SessionInfo]:
    """A conversation's parent and its branches."""
    parents = [memory.sessions.info(info.branch_of)] if info.branch_of else []
    local_sessions = memory.sessions.list(user_id=info.user_id, namespace=info.namespace, sources=("local",))
    return [*parents, *(branch for branch in local_sessions if branch.branch_of == info.id)]


def branch_option(info: SessionInfo, other: SessionInfo) -> PickerOption:
    """An option for a conversation that is related to another."""
    return PickerOption(
        "parent" if other.id == info.branch_of else "branch",
        one_line(other.title or other.external_id),
        f"{other.id} · {pluralize(other.messages, 'own message')} · {day(other.last_at)}",
    )
