"""The transcript of a conversation of any length. Only the messages on the screen and some around it are rendered.

Other messages have heights estimated from the outline. When a message is rendered its height is corrected, and what is
on the screen stays in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from appliance.errors import ApplianceError
from appliance_tui.author_colours import NO_NAMES, readable_colours
from appliance_tui.widgets.conversation_layout import ConversationLayout, HeightIndex
from appliance_tui.widgets.match_highlights import FoundPassage, find_match, highlight_row, passage_pattern
from appliance_tui.widgets.message_cache import (
    RenderedBody,
    RenderedBodyCache,
    RenderRequest,
    RenderResult,
    missing_requests,
    render_messages,
    request_batch,
)
from appliance_tui.widgets.text_rendering import TextStyle, text_style
from appliance_tui.widgets.turn_headers import GUTTER, fold_hint_line, gutter, line_above, match_mark
from appliance_tui.workers import begin, error_text

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

MAX_TEXT_COLUMNS = 110
"""Columns of a text at most: longer lines are hard to read."""

SIDE_COLUMNS = 2
"""Columns right of a text: the marks of matches, and the scrollbar."""

PREFETCH_SCREENS = 2
"""Screens above and below the visible one that are rendered in advance."""


class TranscriptView(ScrollView, can_focus=True, inherit_bindings=False):
    """The messages of a conversation, one of them selected."""

    ALLOW_SELECT = False  # messages are copied as written, not as rendered

    mark: reactive[int] = reactive(0)

    class Moved(Message):
        """Another message is selected."""

    class LoadFailed(Message):
        """The memory could not read the texts."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.conversation_layout: ConversationLayout | None = None
        self.body_cache = RenderedBodyCache()
        self.search_pattern: re.Pattern[str] | None = None
        self.match_indices: Sequence[int] = ()
        """The messages with matches, in order; they are marked along the scrollbar."""
        self.name_keys = self.person_names = NO_NAMES
        self._passage: FoundPassage | None = None
        self.markdown = True
        self._heights = HeightIndex.empty()
        self._unfolded: set[str] = set()
        self._pins: dict[str, bool] = {}
        self._generation = 0
        self._is_drawing = False
        self._pending_jump: tuple[str, float] | None = None
        self._seek_id: str | None = None
        self._text_style: TextStyle | None = None
        self._palette = readable_colours(self.app.theme_variables)
        self._base_style = Style()
        self._laid_out_rows = 0

    @property
    def _conversation(self) -> ConversationLayout:
        """The layout, where it is known that there is one."""
        assert self.conversation_layout is not None
        return self.conversation_layout

    @property
    def _is_empty(self) -> bool:
        return self.conversation_layout is None or not len(self.conversation_layout)

    # --- content --------------------------------------------------------------------------------------

    def show(self, conversation_layout: ConversationLayout, at: str | None = None) -> None:
        """Show a conversation from its start, or with the message ``at`` in the middle."""
        self.conversation_layout, self._generation = conversation_layout, self._generation + 1
        self._pins.clear()
        self._passage = None
        self.body_cache.clear()
        if at is not None and at in conversation_layout.index_by_id:
            self._pending_jump = (at, 0.5)
        self.lay_out()

    def replace_layout(self, conversation_layout: ConversationLayout) -> None:
        """Show the changed conversation; what is on the screen stays in its place and is rendered again."""
        previous = self.conversation_layout
        if previous is None or not len(previous) or not len(conversation_layout):
            self.show(conversation_layout)
            return
        index, piece, row, screen_row = self._anchor()
        mark = conversation_layout.nearest_index(previous.outline.ids[self.mark], previous)
        index = conversation_layout.nearest_index(previous.outline.ids[index], previous)
        self.conversation_layout, self._generation = conversation_layout, self._generation + 1
        self._pins.clear()
        self._measure_heights()
        self.set_reactive(TranscriptView.mark, mark)
        self._restore_anchor((index, piece, row, screen_row))
        self.post_message(self.Moved())

    def set_pinned(self, id: str, pinned: bool) -> None:
        """Show a message as pinned or not."""
        self._pins[id] = pinned
        self.refresh()

    def is_pinned(self, index: int) -> bool:
        outline = self._conversation.outline
        return self._pins.get(outline.ids[index], bool(outline.pinned[index]))

    @property
    def marked_id(self) -> str | None:
        """The id of the selected message."""
        return None if self._is_empty else self._conversation.outline.ids[self.mark]

    def set_markdown(self, *, markdown: bool) -> None:
        """Show texts as formatted Markdown, or as written."""
        self.markdown = markdown
        self.lay_out()

    def lay_out(self) -> None:
        """Measure again after a change of width, colours or conversation."""
        layout = self.conversation_layout
        if layout is None or not self.size.width:
            return
        anchor = None
        if len(self._heights) == len(layout) > 0:
            top, (start, end) = self.scroll_offset.y, self._marked_lines()
            before, now = top + self._laid_out_rows, top + self._visible_rows
            if top <= start < before and (now <= start or now < end <= before):  # fewer rows are visible now
                self._pending_jump = (layout.outline.ids[self.mark], 0.5)
            anchor = self._anchor()
        self._laid_out_rows = self._visible_rows
        width = max(10, min(MAX_TEXT_COLUMNS, self.size.width - GUTTER - SIDE_COLUMNS))
        theme = self.app.theme_variables
        style, self._palette = text_style(width, theme, markdown=self.markdown), readable_colours(theme)
        if style != self._text_style:
            self._text_style = style
            self.body_cache.clear()
        self._measure_heights()
        pending, self._pending_jump = self._pending_jump, None
        if pending is not None and pending[0] in layout.index_by_id:
            self.jump(layout.index_by_id[pending[0]], pending[1])
        elif anchor is not None:
            self._restore_anchor(anchor)
        else:
            self.mark = 0
            self._scroll_at(0)
        self.refresh()
        self.post_message(self.Moved())

    def _measure_heights(self) -> None:
        layout = self._conversation
        self._heights = HeightIndex(
            layout.estimate_heights(self._text_style.width if self._text_style else MAX_TEXT_COLUMNS)
        )
        cached = ((layout.index_by_id.get(id), self.body_cache.get(id)) for id in list(self.body_cache))
        self._heights.update(
            {
                index: layout.lines_above(index) + body.line_count
                for index, body in cached
                if index is not None and body is not None
            }
        )
        self.virtual_size = Size(self.size.width, self._heights.total)

    # --- position -------------------------------------------------------------------------------------

    @property
    def _visible_rows(self) -> int:
        return max(1, self.size.height)

    def _locate_line(self, line: int) -> tuple[int, int, int]:
        """Message, piece and row at a line. Above the text the piece is -1."""
        index = self._heights.index_at(line)
        row = line - self._heights.top(index)
        above = self._conversation.lines_above(index)
        if row < above:
            return index, -1, row
        body = self._body(index)
        piece, row = body.locate(row - above) if body else (0, row - above)
        return index, piece, row

    def _body(self, index: int) -> RenderedBody | None:
        return self.body_cache.get(self._conversation.outline.ids[index])

    def _line_of(self, index: int, piece: int, row: int) -> int:
        top = self._heights.top(index)
        if piece < 0:
            return top + row
        body = self._body(index)
        within = body.piece_top(piece) + row if body else row
        return top + min(self._conversation.lines_above(index) + within, self._heights[index] - 1)

    def _anchor(self) -> tuple[int, int, int, int]:
        """What stays in its place when heights change, as message, piece and row, and its row on the screen: the start
        of the selected message, else of the first message that begins on the screen, else the topmost line."""
        top, rows = self.scroll_offset.y, self._visible_rows
        mark = self._heights.top(self.mark)
        if top <= mark < top + rows:
            return self.mark, -1, 0, mark - top
        first = self._heights.index_at(top)
        below = first + 1
        if self._heights.top(first) < top and below < len(self._heights) and self._heights.top(below) < top + rows:
            return below, -1, 0, self._heights.top(below) - top
        return (*self._locate_line(top), 0)

    def _restore_anchor(self, anchor: tuple[int, int, int, int]) -> None:
        *place, screen_row = anchor
        self._scroll_at(self._line_of(*place) - screen_row)
        self.refresh()

    def _scroll_at(self, line: int) -> None:
        self.scroll_target_y = self.scroll_y = max(0, min(line, self.max_scroll_y))
        self._schedule_drawing()

    def scroll_to(self, *where: Any, **how: Any) -> None:
        """As any widget, but without animation, during which heights might be corrected."""
        super().scroll_to(*where, **{**how, "animate": False})

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_empty:
            top = self.scroll_offset.y
            first, last = self._heights.index_at(top), self._heights.index_at(top + self._visible_rows - 1)
            if self.mark < first:
                cut_off = self._heights.top(first) < top and first < last
                self.mark = first + cut_off
            elif self.mark > last:
                self.mark = last
            self._schedule_drawing()

    def watch_mark(self) -> None:
        self.post_message(self.Moved())

    def on_resize(self, event: events.Resize) -> None:
        self.lay_out()

    # --- movement -------------------------------------------------------------------------------------

    def jump(self, index: int, share: float = 0.0) -> None:
        """Select a message and scroll it to a share of the screen's height: 0 is the top, 1 the bottom."""
        if self._is_empty:
            return
        if not self.size.height:
            self._pending_jump = (self._conversation.outline.ids[index], share)
            return
        self.mark = index
        height = self._heights[index]
        if height > self._visible_rows and share < 1.0:
            height = self._visible_rows // 2  # keep some of the previous message in view
        spare = max(0, self._visible_rows - height)
        self._scroll_at(self._heights.top(index) - int(spare * share))

    def action_step(self, by: int) -> None:
        """Select the next message (``by`` 1) or the previous one (-1); scroll through a tall one first."""
        if self._is_empty:
            return
        top, rows = self.scroll_offset.y, self._visible_rows
        start, end = self._marked_lines()
        if (by > 0 and end - start > rows and end > top + rows) or (by < 0 and start < top < end):
            self._scroll_at(min(top + rows - 2, end - rows) if by > 0 else max(top - rows + 2, start))
            return
        self.mark = max(0, min(self.mark + by, len(self._conversation) - 1))
        start, end = self._marked_lines()
        if start < top:
            self._scroll_at(max(start, end - rows) if by < 0 and end - start > rows else start)
        elif end > top + rows:
            self._scroll_at(min(start, end - rows))

    def _marked_lines(self) -> tuple[int, int]:
        """The first line of the selected message, and the line after its last."""
        start = self._heights.top(self.mark)
        return start, start + self._heights[self.mark]

    def action_page(self, by: float) -> None:
        """Scroll by so many screens and select the message at the same row."""
        if self._is_empty:
            return
        top = self.scroll_offset.y
        row = max(0, min(self._heights.top(self.mark) - top, self._visible_rows - 1))
        self._scroll_at(top + round(by * (self._visible_rows - 1)))
        if self.scroll_offset.y == top:
            self.mark = len(self._conversation) - 1 if by > 0 else 0
        else:
            self.mark = self._heights.index_at(self.scroll_offset.y + row)

    def action_end(self, last: bool) -> None:
        """Go to the first message or the last one."""
        if not self._is_empty:
            self.jump(len(self._conversation) - 1 if last else 0, float(last))

    def jump_day(self, by: int) -> bool:
        """Go to the next day (``by`` 1) or back (-1); False if there is none."""
        index = self.conversation_layout.adjacent_day(self.mark, by) if self.conversation_layout else None
        if index is not None:
            self.jump(index)
        return index is not None

    @property
    def is_long(self) -> bool:
        """Whether the selected message can be folded; known when it has been rendered."""
        body = None if self._is_empty else self._body(self.mark)
        return body is not None and body.is_long

    def toggle_fold(self) -> None:
        """Unfold or fold the selected message."""
        id = self.marked_id
        if id is None or not self.is_long:
            return
        if id in self._unfolded:
            self._unfolded.discard(id)
            if self._heights.top(self.mark) < self.scroll_offset.y:
                self.jump(self.mark)
        else:
            self._unfolded.add(id)
        self._schedule_drawing()

    def on_click(self, event: events.Click) -> None:
        line = self.scroll_offset.y + event.y
        if self._is_empty or line >= self._heights.total:
            return
        self.mark, piece, _ = self._locate_line(line)
        body = self._body(self.mark)
        if body is not None and piece == len(body.heights):
            self.toggle_fold()

    # --- search ---------------------------------------------------------------------------------------

    def seek(self, index: int) -> None:
        """Go to the first match of the search pattern in a message, unfolding it if necessary."""
        self.jump(index, 0.5)
        if not self._is_empty:
            self._seek_id = self._conversation.outline.ids[index]
            if self.mark == index:  # else it is shown as soon as there is room
                self._seek()

    def land(self, index: int, passage: str) -> None:
        """Go to a passage of a message, which is unfolded, and have it glow."""
        if not self._is_empty and (pattern := passage_pattern(passage)) is not None:
            id = self._conversation.outline.ids[index]
            self._passage = FoundPassage(id, pattern)
            self._unfolded.add(id)
        self.seek(index)
        self.refresh()

    def _seek(self) -> None:
        id = self._seek_id
        body = self.body_cache.get(id) if id else None
        if id is None or id != self.marked_id:
            self._seek_id = None
            return
        if body is None or (body.is_long and body.is_folded != (id not in self._unfolded)):
            return  # it is being rendered
        passage = self._passage if self._passage is not None and self._passage.message_id == id else None
        patterns = (passage.pattern if passage is not None else None, self.search_pattern)
        found = next(filter(None, (find_match(body, pattern) for pattern in patterns if pattern is not None)), None)
        if found is not None:
            piece, row = found
            line = self._line_of(self._conversation.index_by_id[id], piece, row or 0)
            if row is None:
                self._scroll_at(line)  # it is rendered next
                return
            if not self.scroll_offset.y <= line < self.scroll_offset.y + self._visible_rows:
                self._scroll_at(line - self._visible_rows // 2)
        elif body.is_folded and body.is_long:
            self._unfolded.add(id)
            self._schedule_drawing()
            return
        self._seek_id = None

    # --- rendering ------------------------------------------------------------------------------------

    def _schedule_drawing(self) -> None:
        """Render what is missing, a batch at a time, what is on the screen first."""
        if not self._is_drawing and self.is_mounted and self._text_style is not None:
            self._is_drawing = True
            begin(self, self._draw_missing, "fill")

    async def _draw_missing(self) -> None:
        memory_worker = cast("ApplianceApp", self.app).memory_worker
        try:
            while self._text_style is not None and (requests := self._missing_requests()):
                style, generation = self._text_style, self._generation
                drawn = await memory_worker.run_query(partial(render_messages, requests=requests, style=style))
                if style == self._text_style:
                    self._apply_drawn(drawn, generation)
        except ApplianceError as error:
            self.post_message(self.LoadFailed(error_text(error)))
        finally:
            self._is_drawing = False

    def _missing_requests(self) -> list[RenderRequest]:
        if self._is_empty:
            return []
        top, rows = self.scroll_offset.y, self._visible_rows
        start, end = top - PREFETCH_SCREENS * rows, top + (1 + PREFETCH_SCREENS) * rows
        index_at = self._heights.index_at
        first, last = index_at(top), index_at(top + rows - 1)
        around = [*range(last + 1, index_at(end) + 1), *range(first - 1, index_at(start) - 1, -1)]
        state = (self._conversation, self._heights, self.body_cache, self._unfolded, self._generation)
        visible = request_batch(missing_requests(*state, range(first, last + 1), top, top + rows))
        return visible or request_batch(missing_requests(*state, around, start, end))

    def _apply_drawn(self, drawn: Sequence[RenderResult], generation: int) -> None:
        """Store rendered texts and correct heights. What is on the screen stays in its place."""
        if self._is_empty:
            return
        layout = self._conversation
        *place, screen_row = self._anchor()
        changed: dict[int, int] = {}
        for request, result in drawn:
            index = layout.index_by_id.get(request.id)
            if index is None:
                continue
            if isinstance(result, RenderedBody):
                result.generation = generation
                self.body_cache.put(request.id, result)
            else:
                body = self.body_cache.get(request.id)
                if body is None or body.sources is not request.sources:
                    continue
                self.body_cache.add_pieces(request.id, body, result)
            cached = self.body_cache.get(request.id)
            assert cached is not None
            changed[index] = layout.lines_above(index) + cached.line_count
        self._heights.update(changed)
        self.virtual_size = Size(self.size.width, self._heights.total)
        self.scroll_target_y = self.scroll_y = max(0, min(self._line_of(*place) - screen_row, self.max_scroll_y))
        self.refresh()
        if self._seek_id:
            self._seek()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base_style = self.rich_style  # computed at each access, so once for all lines
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self.scroll_offset.y + y
        base = self._base_style
        if self.conversation_layout is None or self._text_style is None or line >= self._heights.total:
            return Strip.blank(width, base)
        index, piece, row = self._locate_line(line)
        layout, colours = self.conversation_layout, dict(self._text_style.colours)
        if piece < 0:
            people = (self.name_keys, self.person_names)
            text = line_above(layout, index, row, self._text_style.width, colours, self._palette, *people)
            left = gutter(row == layout.lines_above(index) - 1 and index == self.mark, False, colours)
        else:
            text = self._text_strip(index, piece, row, colours)
            first = piece == 0 and row == 0
            left = gutter(index == self.mark, first and self.is_pinned(index), colours)
        strip = Strip.join([left, text])
        if self._heights.begins_in_row(self.match_indices, y, self._visible_rows):
            beside = self.scrollable_content_region.width - 1
            strip = Strip.join([strip.adjust_cell_length(beside), match_mark(colours)])
        return strip.adjust_cell_length(width).apply_style(base)

    def _text_strip(self, index: int, piece: int, row: int, colours: dict[str, str]) -> Strip:
        body = self._body(index)
        if body is not None and piece == len(body.heights):
            return fold_hint_line(body, colours)
        strips = body.strips.get(piece) if body is not None else None
        if strips is None or row >= len(strips):
            return Strip([Segment("…", Style(color=colours["muted"]))]) if row == 0 else Strip([])
        is_found = self._passage is not None and self._passage.message_id == self._conversation.outline.ids[index]
        found = self._passage if is_found else None
        return highlight_row(strips, row, found, self.search_pattern, self._palette.glow)
