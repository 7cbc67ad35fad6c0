"""What is known of one thing, part by part; the parts that are from a message can be marked and lead there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


@dataclass(frozen=True, slots=True)
class Part:
    """``message`` is the id of the one that it is from, "" for what is only read."""

    content: Content
    message: str = ""


class Detail(OptionList):
    """Some parts, one under the other."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.parts: Sequence[Part] = ()

    def show(self, parts: Sequence[Part]) -> None:
        """Show other parts, the first that leads anywhere marked."""
        same = [part.message for part in parts] == [part.message for part in self.parts]
        before = self.highlighted if same else None
        self.parts = parts
        with self.app.batch_update():
            self.clear_options()
            self.add_options(Option(part.content, disabled=not part.message) for part in parts)
            first = next((i for i, part in enumerate(parts) if part.message), None)
            self.highlighted = first if before is None else before
            if before is None:
                self.scroll_home(animate=False)

    @property
    def message(self) -> str:
        """The message of the marked part, "" without one."""
        at = self.highlighted
        return self.parts[at].message if at is not None and at < len(self.parts) else ""
