"""A list of one-line items of any length, of which only the visible ones are drawn."""

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

from appliance_tui.selection import SelectableRows

Item = TypeVar("Item")

MUTED = "$foreground-muted"
"""The colour of secondary text: "$text-muted" is for style sheets only, and comes out white in content."""

MARK, NO_MARK = "▸ ", "  "
"""Prefixes of the selected and of other lines; the selection is visible without colours."""


class RowList(SelectableRows, ScrollView, Generic[Item], can_focus=True, inherit_bindings=False):
    """A list of items, one of them selected.

    Args:
        render: draws an item on one line of so many cells.
        key: identifies an item when the list is reloaded.
        is_head: whether an item is a heading, which can't be selected.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", show=False)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--row", "rows--marked"}
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        background: $background;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .rows--marked { background: $block-cursor-blurred-background; }
        &:focus > .rows--marked {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
    }
    """

    marked: reactive[int | None] = reactive(None, repaint=False)
    """The index of the selected item."""

    class _RowMessage(Message):
        def __init__(self, rows: RowList[Item]) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> RowList[Item]:
            return cast("RowList[Item]", self.rows)

    class Moved(_RowMessage):
        """Another item is selected, or none."""

    class Opened(_RowMessage):
        """The selected item is to be opened."""

    def __init__(
        self,
        render: Callable[[Item, int], Content],
        *,
        key: Callable[[Item], Hashable],
        is_head: Callable[[Item], bool] = lambda item: False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.items: Sequence[Item] = ()
        self.empty_text = ""
        """What stands in the list while there is no item."""
        self._render_item = render
        self._key = key
        self._is_head = is_head

    @property
    def chosen(self) -> Item | None:
        """The selected item."""
        return self.items[self.marked] if self.marked is not None and self.marked < len(self.items) else None

    rows_selectable = False

    def row_ids(self) -> Sequence[str | None]:
        keys = [None if self._is_head(item) else self._key(item) for item in self.items]
        return [key if isinstance(key, str) else None for key in keys]

    def current_row(self) -> int | None:
        return self.marked

    def step_row(self, by: int) -> None:
        self.action_step(by)

    def row_at(self, line: int) -> int | None:
        return line if line < len(self.items) else None

    def row_marked_on(self, line: int) -> int | None:
        return self.row_at(line)

    def show(self, items: Sequence[Item], *, first: bool = False) -> None:
        """Show other items. The same item stays selected if it is still there, unless ``first`` selects the first."""
        previous: int | None = self.marked
        selected = self.chosen
        self.items = items
        self.virtual_size = Size(self.scrollable_content_region.width, len(items))
        index = None if selected is None or first else self._index_of(self._key(selected))
        if index is None:
            index = self._nearest_markable(0 if first or previous is None else min(previous, len(items) - 1), 1)
        self.set_reactive(RowList.marked, index)
        self._scroll_to_mark()
        self.refresh()
        self.post_message(self.Moved(self))

    def mark(self, key: Hashable) -> None:
        """Select the item with a key, if it is in the list."""
        if (index := self._index_of(key)) is not None:
            self.marked = index

    def _index_of(self, key: Hashable) -> int | None:
        return next((index for index, item in enumerate(self.items) if self._key(item) == key), None)

    def watch_marked(self, before: int | None, after: int | None) -> None:
        self._scroll_to_mark()
        for line in (before, after):  # the others stay as they are, or all are drawn because the list scrolls
            if line is not None:
                self.refresh_line(line)
        self.post_message(self.Moved(self))

    def _scroll_to_mark(self) -> None:
        if self.marked is not None:
            # The heading above the first item scrolls into view with it.
            top = 0 if self.marked <= 1 else self.marked
            region = Region(0, top, 1, self.marked - top + 1)
            self.scroll_to_region(region, animate=False, force=True, x_axis=False)

    def _nearest_markable(self, start: int, step: int) -> int | None:
        """The nearest item to ``start`` that can be selected, first in the direction of ``step``, then in the other."""
        indices = range(len(self.items))
        candidates = chain(indices[max(0, start) :: step], indices[max(0, start) :: -step]) if indices else iter(())
        return next((line for line in candidates if not self._is_head(self.items[line])), None)

    def action_step(self, by: int) -> None:
        """Move the selection by so many lines."""
        if self.items:
            index = 0 if self.marked is None else min(max(self.marked + by, 0), len(self.items) - 1)
            self.marked = self._nearest_markable(index, 1 if by > 0 else -1)

    def action_page(self, by: int) -> None:
        """Move the selection by so many screens."""
        self.action_step(by * max(1, self.scrollable_content_region.height - 1))

    def action_end(self, last: bool) -> None:
        """Select the first or the last item."""
        if self.items:
            self.marked = self._nearest_markable(len(self.items) - 1, -1) if last else self._nearest_markable(0, 1)

    def action_select(self) -> None:
        """Open the selected item."""
        if self.chosen is not None:
            self.post_message(self.Opened(self))

    def on_click(self, event: events.Click) -> None:
        if self.select_by_mouse(event):
            return
        offset = event.get_content_offset(self)
        line = offset.y + round(self.scroll_y) if offset is not None else len(self.items)
        if line >= len(self.items) or self._is_head(self.items[line]):
            return
        if line == self.marked:
            self.action_select()
        else:
            self.marked = line

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.items))
        self._scroll_to_mark()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = self.scroll_offset.y + y
        if not self.items and self.empty_text and width > len(MARK):
            return self._render_empty(y, width)
        if line >= len(self.items) or width <= len(MARK):
            return Strip.blank(width, self.get_visual_style("rows--row").rich_style)
        marked = line == self.marked
        names = ("rows--row", "rows--marked") if marked else ("rows--row",)
        style = self.get_visual_style(*names)
        content = Content.assemble(MARK if marked else NO_MARK, self._render_item(self.items[line], width - len(MARK)))
        strip = Visual.to_strips(self, content, width, 1, style)[0]
        return self.checked(strip.extend_cell_length(width, style.rich_style).crop(0, width), y)

    def _render_empty(self, y: int, width: int) -> Strip:
        """Say in the list itself why there is nothing in it, and what to do."""
        style = self.get_visual_style("rows--row")
        text = Content.styled(self.empty_text, MUTED)
        strips = Visual.to_strips(self, text, width - len(NO_MARK), None, style)
        blank = Strip.blank(width, style.rich_style)
        if y >= len(strips):
            return blank
        return Strip.join([Strip.blank(len(NO_MARK), style.rich_style), strips[y]]).adjust_cell_length(
            width, style.rich_style
        )


class ActionRows(RowList[Item]):
    """A list in which Enter is left to an action of the screen, which the footer names. A click opens all the same."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "select" else super().check_action(action, parameters)
