"""Which messages are drawn next, and how: read and drawn on a thread, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from appliance_tui.widgets.bodies import Body, body, drawn_pieces
from appliance_tui.widgets.drawing import PIECE, Look

if TYPE_CHECKING:
    from textual.strip import Strip

    from appliance.server.client import Appliance

AT_ONCE = 24
"""Messages that are drawn for one answer: some 50 ms of a thread, so that what is looked at next does not wait long."""

PIECES_AT_ONCE = 6
"""Pieces of long texts that are drawn for one answer."""

CHARACTERS_AT_ONCE = 24 * PIECE
"""Characters that are read for one answer; one message may have more."""

MARKDOWN = frozenset({"user", "assistant"})
"""Roles that write Markdown. What a tool puts out is shown as it stands: its spaces say something."""

GONE = "(This message is not there any more.)"


@dataclass(frozen=True, slots=True)
class Want:
    """A message that is to be drawn: folded or not, and which pieces of a long one; ``sources`` are those, once the
    text was read."""

    id: str
    role: str
    folded: bool
    pieces: tuple[int, ...] = (0,)
    sources: tuple[str, ...] = ()


Drawn = tuple[Want, "Body | dict[int, Sequence[Strip]]"]


def draw(memory: Appliance, wants: Sequence[Want], look: Look) -> list[Drawn]:
    """Read and draw some messages; on a thread."""
    unread = [want.id for want in wants if not want.sources]
    found = {message.id: message for message in memory.browsing.messages(unread)} if unread else {}
    as_written = replace(look, markdown=False)
    return [
        (want, drawn_pieces(want.sources, look if want.role in MARKDOWN else as_written, want.pieces))
        if want.sources
        else (
            want,
            body(
                found[want.id].text if want.id in found else GONE,
                look if want.role in MARKDOWN else as_written,
                folded=want.folded,
                wanted=want.pieces,
            ),
        )
        for want in wants
    ]
