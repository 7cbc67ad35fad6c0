"""A list of any length, a line each: only the lines that are seen are drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import ClassVar, Generic, TypeVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

Item = TypeVar("Item")

MUTED = "$foreground 60%"
"""What is said beside: "$text-muted" is a colour for style sheets, and comes out white in content."""

MARK, NO_MARK = "▸ ", "  "
"""What stands before the marked line, so that no colour is needed to see it."""


class Rows(ScrollView, Generic[Item], can_focus=True):
    """Items, each drawn on one line by ``draw(item, cells)``. Where ``heads`` says so of one it stands between the
    others and is passed over by the mark. ``key`` tells by what an item is known when the list is shown anew."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "end(False)", show=False),
        Binding("end", "end(True)", show=False),
        Binding("enter", "select", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--row", "rows--marked"}
    DEFAULT_CSS = """
    Rows {
        height: 1fr;
        background: $background;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .rows--marked { background: $panel; }
        &:focus > .rows--marked {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
        }
    }
    """

    marked: reactive[int | None] = reactive(None)
    """The line of the mark."""

    class Moved(Message):
        """Another item is marked, or none."""

        def __init__(self, rows: Rows[Item]) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> Rows[Item]:
            return cast("Rows[Item]", self.rows)

    class Opened(Message):
        """The marked item is to be opened."""

        def __init__(self, rows: Rows[Item]) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> Rows[Item]:
            return cast("Rows[Item]", self.rows)

    def __init__(
        self,
        draw: Callable[[Item, int], Content],
        *,
        key: Callable[[Item], Hashable],
        heads: Callable[[Item], bool] = lambda item: False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.items: Sequence[Item] = ()
        self._draw = draw
        self._key = key
        self._heads = heads

    @property
    def chosen(self) -> Item | None:
        """The marked item."""
        return self.items[self.marked] if self.marked is not None and self.marked < len(self.items) else None

    def show(self, items: Sequence[Item], *, first: bool = False) -> None:
        """Show other items; the mark stays on the one that it was on if that is still there, unless the ``first`` is
        to have it."""
        before: int | None = self.marked
        chosen = self.chosen
        self.items = items
        self.virtual_size = Size(self.scrollable_content_region.width, len(items))
        at: int | None = None
        if chosen is not None and not first:
            known = self._key(chosen)
            at = next((i for i, item in enumerate(items) if self._key(item) == known), None)
        if at is None:
            at = self._nearest(0 if first or before is None else min(before, len(items) - 1), 1)
        self.set_reactive(Rows.marked, at)
        self._see()
        self.refresh()
        self.post_message(self.Moved(self))

    def mark(self, key: Hashable) -> None:
        """Mark the item that is known by a key, if it is there."""
        found = next((i for i, item in enumerate(self.items) if self._key(item) == key), None)
        if found is not None:
            self.marked = found

    def watch_marked(self) -> None:
        self._see()
        self.refresh()
        self.post_message(self.Moved(self))

    def _see(self) -> None:
        if self.marked is not None:
            # The head above the first item is seen with it.
            top = 0 if self.marked <= 1 else self.marked
            region = Region(0, top, 1, self.marked - top + 1)
            self.scroll_to_region(region, animate=False, force=True, x_axis=False)

    def _nearest(self, at: int, by: int) -> int | None:
        """The nearest line to ``at`` that can be marked, first in the direction of ``by``, then in the other."""
        there = range(len(self.items))
        onwards = chain(there[max(0, at) :: by], there[max(0, at) :: -by]) if there else iter(())
        return next((line for line in onwards if not self._heads(self.items[line])), None)

    # --- keys and mouse -------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        """Move the mark by a line."""
        if self.items:
            at = 0 if self.marked is None else min(max(self.marked + by, 0), len(self.items) - 1)
            self.marked = self._nearest(at, 1 if by > 0 else -1)

    def action_page(self, by: int) -> None:
        """Move the mark by a screenful."""
        self.action_step(by * max(1, self.scrollable_content_region.height - 1))

    def action_end(self, last: bool) -> None:
        """Mark the first or the last."""
        if self.items:
            self.marked = self._nearest(len(self.items) - 1, -1) if last else self._nearest(0, 1)

    def action_select(self) -> None:
        """Open what is marked."""
        if self.chosen is not None:
            self.post_message(self.Opened(self))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        line = offset.y + round(self.scroll_y) if offset is not None else len(self.items)
        if line >= len(self.items) or self._heads(self.items[line]):
            return
        if line == self.marked:
            self.action_select()
        else:
            self.marked = line

    # --- drawing --------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.items))
        self._see()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = self.scroll_offset.y + y
        if line >= len(self.items) or width <= len(MARK):
            return Strip.blank(width, self.get_visual_style("rows--row").rich_style)
        marked = line == self.marked
        names = ("rows--row", "rows--marked") if marked else ("rows--row",)
        style = self.get_visual_style(*names)
        content = Content.assemble(
            MARK if marked else NO_MARK, self._draw(self.items[line], width - len(MARK))
        )
        if marked and self.has_focus:
            content = Content(content.plain)  # colours of parts would not be read on the mark's own
        strip = Visual.to_strips(self, content, width, 1, style)[0]
        return strip.extend_cell_length(width, style.rich_style).crop(0, width)
