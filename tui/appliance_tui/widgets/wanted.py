"""Which messages are drawn next, and how: read and drawn on a thread, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

GONE = "(This message is not there any more.)"


@dataclass(frozen=True, slots=True)
class Want:
    """A message that is to be drawn: folded or not, and which pieces of a long one; ``sources`` are those, once the
    text was read."""

    id: str
    folded: bool
    pieces: tuple[int, ...] = (0,)
    sources: tuple[str, ...] = ()


Drawn = tuple[Want, "Body | dict[int, Sequence[Strip]]"]


def draw(memory: Appliance, wants: Sequence[Want], look: Look) -> list[Drawn]:
    """Read and draw some messages; on a thread."""
    unread = [want.id for want in wants if not want.sources]
    texts = {message.id: message.text for message in memory.browsing.messages(unread)} if unread else {}
    return [
        (want, drawn_pieces(want.sources, look, want.pieces))
        if want.sources
        else (want, body(texts.get(want.id, GONE), look, folded=want.folded, wanted=want.pieces))
        for want in wants
    ]
