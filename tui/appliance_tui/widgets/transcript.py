"""A conversation to read: of a hundred thousand messages those that are on the screen, and some around them, are there.

What is not drawn yet has the height that the outline lets expect. When it is drawn the height is corrected, and what is
on the screen stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from appliance_tui.widgets.bodies import Bodies, Body
from appliance_tui.widgets.drawing import Look, look
from appliance_tui.widgets.heights import Heights
from appliance_tui.widgets.talk import Talk
from appliance_tui.widgets.turns import GUTTER, day_line, gutter, head_line, hint_line, lit
from appliance_tui.widgets.wanted import AT_ONCE, CHARACTERS_AT_ONCE, PIECES_AT_ONCE, Drawn, Want, draw
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

MEASURE = 110
"""Columns of a text at most: longer lines are hard to follow."""

AHEAD = 2
"""Screens above and below the present one that are drawn before anybody scrolls there."""


class Transcript(ScrollView, can_focus=True, inherit_bindings=False):
    """The messages, one of them marked."""

    ALLOW_SELECT = False  # a message is copied as it was written, not as it is drawn

    mark: reactive[int] = reactive(0)

    class Moved(Message):
        """Another message is marked."""

    class Trouble(Message):
        """The memory refused the texts."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.talk: Talk | None = None
        self.bodies = Bodies()
        self.found: re.Pattern[str] | None = None
        self.markdown = True
        self._heights = Heights.none()
        self._unfolded: set[str] = set()
        self._pins: dict[str, bool] = {}
        self._turn = 0
        self._filling = False
        self._pending: tuple[str, float] | None = None
        self._seeking: str | None = None
        self._look: Look | None = None

    # --- what is shown --------------------------------------------------------------------------------

    def show(self, talk: Talk, at: str | None = None) -> None:
        """Show a conversation, with a message of it in the middle; from its beginning without one."""
        self.talk, self._turn = talk, self._turn + 1
        self._pins.clear()
        self.bodies.clear()
        if at is not None and at in talk.places:
            self._pending = (at, 0.5)
        self._lay_out()

    def renew(self, talk: Talk) -> None:
        """Show what has become of the conversation; what is on the screen stays there, and is drawn anew."""
        before = self.talk
        if before is None or not len(before) or not len(talk):
            self.show(talk)
            return
        index, piece, row, at = self._anchor()
        mark = talk.nearest(before.outline.ids[self.mark], before)
        index = talk.nearest(before.outline.ids[index], before)
        self.talk, self._turn = talk, self._turn + 1
        self._pins.clear()
        self._measure()
        self.set_reactive(Transcript.mark, mark)
        self._place((index, piece, row, at))
        self.post_message(self.Moved())

    def note_pinned(self, id: str, pinned: bool) -> None:
        """Show that a message was pinned, or let go."""
        self._pins[id] = pinned
        self.refresh()

    def is_pinned(self, index: int) -> bool:
        """Whether a message is pinned, as far as is known."""
        assert self.talk is not None
        return self._pins.get(self.talk.outline.ids[index], bool(self.talk.outline.pinned[index]))

    @property
    def current(self) -> str | None:
        """The id of the marked message."""
        return self.talk.outline.ids[self.mark] if self.talk is not None and len(self.talk) else None

    def show_as(self, *, markdown: bool) -> None:
        """Show texts as Markdown, or as they were written."""
        self.markdown = markdown
        self._lay_out()

    def restyle(self) -> None:
        """Draw anew in other colours."""
        self._lay_out()

    def _wanted_look(self) -> Look:
        width = max(10, min(MEASURE, self.size.width - GUTTER - 1))
        return look(width, self.app.theme_variables, markdown=self.markdown)

    def _lay_out(self) -> None:
        """Measure anew where the width, the colours or all of it have changed."""
        if self.talk is None or not self.size.width:
            return
        anchor = self._anchor() if len(self._heights) == len(self.talk) and len(self.talk) else None
        wished = self._wanted_look()
        if wished != self._look:
            self._look = wished
            self.bodies.clear()
        self._measure()
        pending, self._pending = self._pending, None
        if pending is not None and pending[0] in self.talk.places:
            self.jump(self.talk.places[pending[0]], pending[1])
        elif anchor is not None:
            self._place(anchor)
        else:
            self.mark = 0
            self._scroll_at(0)
        self.refresh()
        self.post_message(self.Moved())

    def _measure(self) -> None:
        assert self.talk is not None
        width = self._look.width if self._look else MEASURE
        self._heights = Heights(self.talk.heights(width))
        kept = ((self.talk.places.get(id), self.bodies.get(id)) for id in list(self.bodies))
        self._heights.correct(
            {
                place: self.talk.above(place) + one.lines
                for place, one in kept
                if place is not None and one is not None
            }
        )
        self.virtual_size = Size(self.size.width, self._heights.total)

    # --- where one is ---------------------------------------------------------------------------------

    @property
    def _rows(self) -> int:
        return max(1, self.size.height)

    def _spot(self, line: int) -> tuple[int, int, int]:
        """Message, piece and row of a line. Above the text the piece is -1."""
        assert self.talk is not None
        index = self._heights.at(line)
        row = line - self._heights.top(index)
        above = self.talk.above(index)
        if row < above:
            return index, -1, row
        known = self.bodies.get(self.talk.outline.ids[index])
        piece, row = known.find(row - above) if known else (0, row - above)
        return index, piece, row

    def _line(self, index: int, piece: int, row: int) -> int:
        assert self.talk is not None
        top = self._heights.top(index)
        if piece < 0:
            return top + row
        known = self.bodies.get(self.talk.outline.ids[index])
        within = known.top(piece) + row if known else row
        return top + min(self.talk.above(index) + within, self._heights[index] - 1)

    def _anchor(self) -> tuple[int, int, int, int]:
        """A spot that stays where it is when heights change, and its row on the screen: the marked message, or else
        the first one that begins on the screen, or else what is on the topmost line."""
        top, rows = self.scroll_offset.y, self._rows
        mark = self._heights.top(self.mark)
        if top <= mark < top + rows:
            return self.mark, -1, 0, mark - top
        first = self._heights.at(top)
        below = first + 1
        if (
            self._heights.top(first) < top
            and below < len(self._heights)
            and self._heights.top(below) < top + rows
        ):
            return below, -1, 0, self._heights.top(below) - top
        return (*self._spot(top), 0)

    def _place(self, anchor: tuple[int, int, int, int]) -> None:
        index, piece, row, at = anchor
        self._scroll_at(self._line(index, piece, row) - at)
        self.refresh()

    def _scroll_at(self, line: int) -> None:
        self.scroll_target_y = self.scroll_y = max(0, min(line, self.max_scroll_y))
        self._fill()

    def scroll_to(self, *where: Any, **how: Any) -> None:
        """As of any widget, at once: an animation would not know of heights that are corrected on its way."""
        super().scroll_to(*where, **{**how, "animate": False})

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.talk is not None and len(self.talk):
            top = self.scroll_offset.y
            first, last = self._heights.at(top), self._heights.at(top + self._rows - 1)
            if self.mark < first:
                cut_off = self._heights.top(first) < top and first < last
                self.mark = first + cut_off
            elif self.mark > last:
                self.mark = last
            self._fill()

    def watch_mark(self) -> None:
        self.post_message(self.Moved())

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    # --- moved about ----------------------------------------------------------------------------------

    def jump(self, index: int, share: float = 0.0) -> None:
        """Mark a message and scroll it to a share of the screen's height: 0 its top, 0.5 the middle."""
        if self.talk is None or not len(self.talk):
            return
        if not self.size.height:
            self._pending = (self.talk.outline.ids[index], share)
            return
        self.mark = index
        spare = max(0, self._rows - self._heights[index])
        self._scroll_at(self._heights.top(index) - int(spare * share))

    def move(self, by: int) -> None:
        """Mark the next message, or that before; one that is higher than the screen is scrolled through first."""
        if self.talk is None or not len(self.talk):
            return
        top, rows = self.scroll_offset.y, self._rows
        begin, end = self._heights.top(self.mark), self._heights.top(self.mark) + self._heights[self.mark]
        if (by > 0 and end > top + rows and begin <= top) or (by < 0 and begin < top and end > top):
            self._scroll_at(min(top + rows - 2, end - rows) if by > 0 else max(top - rows + 2, begin))
            return
        self.mark = max(0, min(self.mark + by, len(self.talk) - 1))
        begin, end = self._heights.top(self.mark), self._heights.top(self.mark) + self._heights[self.mark]
        if begin < top:
            self._scroll_at(max(begin, end - rows) if by < 0 and end - begin > rows else begin)
        elif end > top + rows:
            self._scroll_at(min(begin, end - rows))

    def page(self, by: float) -> None:
        """Scroll by screens; the mark stays on its row."""
        if self.talk is None or not len(self.talk):
            return
        top = self.scroll_offset.y
        row = max(0, min(self._heights.top(self.mark) - top, self._rows - 1))
        self._scroll_at(top + round(by * (self._rows - 1)))
        if self.scroll_offset.y == top:
            self.mark = len(self.talk) - 1 if by > 0 else 0
        else:
            self.mark = self._heights.at(self.scroll_offset.y + row)

    def day(self, by: int) -> bool:
        """Go to the next day, or back; whether there is one."""
        place = self.talk.day_beside(self.mark, by) if self.talk else None
        if place is not None:
            self.jump(place)
        return place is not None

    def toggle_fold(self) -> None:
        """Unfold the marked message, or fold it again."""
        id = self.current
        known = self.bodies.get(id) if id else None
        if id is None or known is None or not known.long:
            return
        if id in self._unfolded:
            self._unfolded.discard(id)
            if self._heights.top(self.mark) < self.scroll_offset.y:
                self.jump(self.mark)
        else:
            self._unfolded.add(id)
        self._fill()

    def on_click(self, event: events.Click) -> None:
        line = self.scroll_offset.y + event.y
        if self.talk is None or not len(self.talk) or line >= self._heights.total:
            return
        index, piece, _ = self._spot(line)
        self.mark = index
        known = self.bodies.get(self.talk.outline.ids[index])
        if known is not None and piece == len(known.heights):
            self.toggle_fold()

    # --- looked for -----------------------------------------------------------------------------------

    def seek(self, index: int) -> None:
        """Go to where ``found`` stands in a message, unfolding it if it must be."""
        self.jump(index, 0.5)
        self._seeking = self.current
        self._seek()

    def _seek(self) -> None:
        id, pattern = self._seeking, self.found
        known = self.bodies.get(id) if id else None
        if id is None or pattern is None or self.talk is None or id != self.current:
            self._seeking = None
            return
        if known is None or known.folded != (id not in self._unfolded):
            return  # it is being drawn
        index = self.talk.places[id]
        for piece in range(len(known.heights)):
            if piece not in known.strips:
                if pattern.search(known.sources[piece]):
                    self._scroll_at(self._line(index, piece, 0))
                    return  # it is drawn next
                continue
            row = next((n for n, one in enumerate(known.strips[piece]) if pattern.search(one.text)), None)
            if row is not None:
                self._seeking = None
                line = self._line(index, piece, row)
                if not self.scroll_offset.y <= line < self.scroll_offset.y + self._rows:
                    self._scroll_at(line - self._rows // 2)
                return
        if known.folded and known.long:
            self._unfolded.add(id)
            self._fill()
            return
        self._seeking = None

    # --- drawn ----------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Draw what is missing; one answer at a time, what is on the screen first."""
        if not self._filling and self.is_mounted and self._look is not None:
            self._filling = True
            begin(self, self._filled, "fill")

    async def _filled(self) -> None:
        from appliance.errors import ApplianceError

        link = cast("ApplianceApp", self.app).link
        try:
            while self._look is not None and (wants := self._missing()):
                wished, turn = self._look, self._turn
                done = await link.ask(lambda memory, wants=wants, wished=wished: draw(memory, wants, wished))  # type: ignore[misc]
                if wished == self._look:
                    self._take(done, turn)
        except ApplianceError as error:
            self.post_message(self.Trouble(str(error)))
        finally:
            self._filling = False

    def _missing(self) -> list[Want]:
        if self.talk is None or not len(self.talk):
            return []
        top, rows = self.scroll_offset.y, self._rows
        at = self._heights.at
        first, last = at(top), at(top + rows - 1)
        below = range(last + 1, at(top + (1 + AHEAD) * rows) + 1)
        above = range(first - 1, at(top - AHEAD * rows) - 1, -1)
        on_screen = self._some(range(first, last + 1), top, top + rows)
        return on_screen or self._some([*below, *above], top - AHEAD * rows, top + (1 + AHEAD) * rows)

    def _some(self, indices: Iterable[int], begin: int, end: int) -> list[Want]:
        assert self.talk is not None
        wants: list[Want] = []
        characters = 0
        for want, size in self._wants(indices, begin, end):
            if wants and characters + size > CHARACTERS_AT_ONCE:
                break
            wants.append(want)
            characters += size
            if len(wants) == AT_ONCE:
                break
        return wants

    def _wants(self, indices: Iterable[int], begin: int, end: int) -> Iterator[tuple[Want, int]]:
        """What is to be drawn of some messages between two lines, and how many characters are read for it."""
        assert self.talk is not None
        outline = self.talk.outline
        for index in indices:
            id = outline.ids[index]
            known = self.bodies.get(id)
            folded = id not in self._unfolded
            if known is None or known.turn < self._turn or (known.long and known.folded != folded):
                yield Want(id, folded), outline.characters[index]
                continue
            if len(known.heights) > 1:
                row = self._heights.top(index) + self.talk.above(index)
                undrawn: list[int] = []
                for piece, height in enumerate(known.heights):
                    if row < end and row + height > begin and piece not in known.strips:
                        undrawn.append(piece)
                    row += height
                if undrawn:
                    yield Want(id, folded, tuple(undrawn[:PIECES_AT_ONCE]), known.sources), 0

    def _take(self, done: Sequence[Drawn], turn: int) -> None:
        """Put in what was drawn."""
        talk = self.talk
        if talk is None or not len(talk):
            return
        anchor = self._anchor()
        changed: dict[int, int] = {}
        for want, got in done:
            place = talk.places.get(want.id)
            if place is None:
                continue
            if isinstance(got, Body):
                got.turn = turn
                self.bodies.put(want.id, got)
            else:
                known = self.bodies.get(want.id)
                if known is None or known.sources is not want.sources:
                    continue
                self.bodies.add(want.id, known, got)
            kept = self.bodies.get(want.id)
            assert kept is not None
            changed[place] = talk.above(place) + kept.lines
        self._heights.correct(changed)
        self.virtual_size = Size(self.size.width, self._heights.total)
        index, piece, row, at = anchor
        self.scroll_target_y = self.scroll_y = max(
            0, min(self._line(index, piece, row) - at, self.max_scroll_y)
        )
        self.refresh()
        if self._seeking:
            self._seek()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self.scroll_offset.y + y
        base = self.rich_style
        if self.talk is None or self._look is None or line >= self._heights.total:
            return Strip.blank(width, base)
        index, piece, row = self._spot(line)
        id, colours = self.talk.outline.ids[index], dict(self._look.colours)
        if piece < 0:
            day = bool(self.talk.days[index])
            text = Strip([])
            if row == self.talk.above(index) - 1:
                text = head_line(self.talk.outline, index, colours)
            elif day and row == 1:
                text = day_line(self.talk.outline.times[index], self._look.width, colours)
            marked = index == self.mark and row == self.talk.above(index) - 1
            left = gutter(marked, False, colours)
        else:
            known = self.bodies.get(id)
            text = self._text(known, piece, row, colours)
            first = piece == 0 and row == 0
            left = gutter(index == self.mark, first and self.is_pinned(index), colours)
        return Strip.join([left, text]).adjust_cell_length(width).apply_style(base)

    def _text(self, known: Body | None, piece: int, row: int, colours: dict[str, str]) -> Strip:
        if known is not None and piece == len(known.heights):
            return hint_line(known, colours)
        strips = known.strips.get(piece) if known is not None else None
        if strips is None or row >= len(strips):
            return Strip([Segment("…", Style(color=colours["muted"]))]) if row == 0 else Strip([])
        return lit(strips[row], self.found) if self.found is not None else strips[row]
