"""What comes into a context and drops out of it when its options change, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types import Context, ContextItem

ItemKey = tuple[str, str]
"""The layer and the id of an item."""

GONE_REASON = "no longer considered"
"""Of an item that the new context does not name at all: a smaller budget considers fewer neighbours of what matches."""


@dataclass(frozen=True, slots=True)
class RemovedItem:
    """An item that dropped out. ``after`` is the id of the item of its layer behind which it stood and that is still
    there, "" for the first."""

    layer: str
    item: ContextItem
    reason: str
    after: str


@dataclass(frozen=True, slots=True)
class ContextChange:
    """The difference of two contexts: the items that came in, each with what kept it out before ("" if it was no
    candidate), and those that dropped out, in their order."""

    added: Mapping[ItemKey, str] = field(default_factory=dict)
    removed: Sequence[RemovedItem] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    @property
    def text(self) -> str:
        """The change in words; "" without one. What is no longer considered is not among what is left out."""
        gone = sum(one.reason == GONE_REASON for one in self.removed)
        counts = {"now left out": len(self.removed) - gone, GONE_REASON: gone, "now included": len(self.added)}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def compare_contexts(previous: Context, current: Context) -> ContextChange:
    """What came in and dropped out between two contexts for the same message."""
    left_out_before = {dropped.message_id: dropped.reason for dropped in previous.dropped}
    left_out = {dropped.message_id: dropped.reason for dropped in current.dropped}
    before, after = _items(previous), _items(current)
    ids_before, ids_after = ({id for _, id in items} for items in (before, after))
    # What is in another layer now neither came in nor dropped out.
    added = {key: left_out_before.get(key[1], "") for key in after if key[1] not in ids_before}
    removed: list[RemovedItem] = []
    last_kept: dict[str, str] = {}
    for (layer, id), item in before.items():
        if (layer, id) in after:
            last_kept[layer] = id
        elif id not in ids_after:
            reason = left_out.get(id) or GONE_REASON
            removed.append(RemovedItem(layer, item, reason, last_kept.get(layer, "")))
    return ContextChange(added, removed)


def _items(context: Context) -> dict[ItemKey, ContextItem]:
    return {(layer.name, item.message_id): item for layer in context.layers for item in layer.items}
