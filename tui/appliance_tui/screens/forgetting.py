"""Forgetting: what is meant, a look at what goes, a yes that can't be said by mistake, and the receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Footer, Input, ProgressBar, Static

from appliance_tui.actions import bindings
from appliance_tui.forgets import Doomed, Wish, look, of_doomed, of_receipt, plural
from appliance_tui.messages import Happened
from appliance_tui.widgets.rows import MUTED, Rows
from appliance_tui.widgets.words import from_home, minute, one_line
from appliance_tui.working import OneAtATime, begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Message, Receipt
    from appliance_tui.app import ApplianceApp

PAUSE = 0.15
"""Seconds without a key before it is looked what would go: words may be in a great many messages."""

DRAWN = 400
"""Characters of a message that a line is made of."""

FIELDS = {
    "words": ("Words", "what holds them as they stand"),
    "source": ("Source", "a kind of export (whatsapp), or a file's path"),
    "ids": ("Ids", "messages (m345) and conversations (s12)"),
}

NOTHING_NAMED = "Name what is to be forgotten: together, words, a source and ids narrow each other."

Stage = Literal["naming", "erasing", "done"]


class Progressed(TextualMessage):
    """So much of what has to be made anew is done."""

    def __init__(self, done: int, pending: int) -> None:
        super().__init__()
        self.done, self.pending = done, pending

    def can_replace(self, message: TextualMessage) -> bool:
        return isinstance(message, Progressed)


class Tick(Checkbox):
    """A box whose cross is only there when it is set: a fainter one is not seen to be none."""

    def render(self) -> Content:
        self.BUTTON_INNER = "X" if self.value else " "
        return super().render()


class Forgetting(ModalScreen["Receipt | None"]):
    """Gives back the receipt; None where nothing was erased."""

    CSS_PATH = "forgetting.tcss"
    PLACE: ClassVar[str] = "forget"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("forget")]

    def __init__(self, ids: Sequence[str] = ()) -> None:
        super().__init__()
        self._ids = tuple(ids)
        self._stage: Stage = "naming"
        self._doomed: Doomed | None = None
        self._receipt: Receipt | None = None
        self._receipts_shown = False
        self._begun = False
        self._to_yes = bool(ids)  # what is meant is clear: only the number is still to be typed

    def compose(self) -> ComposeResult:
        with Vertical(id="forgetting", classes="dialog"):
            with Vertical(id="forget-wish"):
                for name, (label, example) in FIELDS.items():
                    with Horizontal(classes="forget-field"):
                        yield Static(label)
                        yield Input(
                            " ".join(self._ids) if name == "ids" else "",
                            placeholder=example,
                            compact=True,
                            id=f"forget-{name}",
                        )
                yield Tick("Everything", id="forget-everything", compact=True)
            yield Static("", id="forget-told", markup=False)
            yield Rows["Message"](_drawn, key=lambda one: one.id, id="forget-some")
            yield Rows["Receipt"](_drawn_receipt, key=lambda one: one.id, id="forget-receipts")
            yield ProgressBar(id="forget-progress", show_eta=False)
            with Horizontal(id="forget-yes"):
                yield Static("", id="forget-ask", markup=False)
                yield Input(id="forget-count", compact=True)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._questions = OneAtATime(self, self.appliance.link)
        box = self.query_one("#forgetting")
        box.border_title = "Forget"
        box.border_subtitle = f"the memory of {one_line(self.appliance.whose)}"
        for name in ("#forget-progress", "#forget-yes", "#forget-receipts"):
            self.query_one(name).display = False
        self.query_one("#forget-ids" if self._ids else "#forget-words", Input).focus()
        self._begun = True
        self._look()

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

    # --- what is meant --------------------------------------------------------------------------------

    def _wish(self) -> Wish:
        values = {name: self.query_one(f"#forget-{name}", Input).value.strip() for name in FIELDS}
        return Wish(
            tuple(values["ids"].replace(",", " ").split()),
            values["source"],
            values["words"],
            self.query_one("#forget-everything", Checkbox).value,
        )

    @on(Input.Changed)
    @on(Checkbox.Changed)
    def _changed(self, event: Input.Changed | Checkbox.Changed) -> None:
        event.stop()
        if isinstance(event, Checkbox.Changed) or event.input.id != "forget-count":
            self._look()

    def _look(self) -> None:
        """Look anew what would go. Until it is known nothing can be erased."""
        if self._stage != "naming" or not self._begun:
            return
        self._doomed = None
        self.query_one("#forget-yes").display = False
        begin(self, partial(self._preview, self._wish()), "preview", anew=True)

    async def _preview(self, wish: Wish) -> None:
        from appliance.errors import ApplianceError

        if not wish or wish.contradicts:
            self._some.show([])
            self._tell("Everything stands alone: empty the fields above it." if wish else NOTHING_NAMED)
            return
        self._tell("Looking…")
        await asyncio.sleep(PAUSE)
        user = self.appliance.user
        try:
            doomed = await self._questions.ask(lambda memory: look(memory, wish, user))
        except ApplianceError as error:
            self._some.show([])
            self._tell(". ".join(filter(None, [str(error), error.hint])))
            return
        self._show(doomed)

    def _show(self, doomed: Doomed) -> None:
        self._some.show(doomed.some)
        if not doomed.count:
            self._tell("Nothing is like that: nothing to forget.")
            return
        self._doomed = doomed
        more = doomed.messages - len(doomed.some)
        files = "".join(f"\n{_left_alone(path)}" for path in doomed.files)
        first = f"\nThe first {len(doomed.some):,} of them:" if more > 0 else ""
        self._tell(f"This erases {of_doomed(doomed)}. It can't be taken back.{files}{first}")
        self.query_one("#forget-ask", Static).update(
            f"Type {doomed.count} and enter to erase {doomed.counted}:"
        )
        self.query_one("#forget-yes").display = True
        if self._to_yes:
            self._to_yes = False
            self.query_one("#forget-count", Input).focus()

    def _tell(self, words: str | Content) -> None:
        self.query_one("#forget-told", Static).update(words)

    @property
    def _some(self) -> Rows[Message]:
        return self.query_one("#forget-some", Rows)

    @on(Rows.Opened, "#forget-some")
    def _read(self) -> None:
        if (message := self._some.chosen) is not None:
            self.appliance.read(message.session_id, message.id)

    def on_happened(self, message: Happened) -> None:
        """More of it may have come meanwhile."""
        if message.kind in ("ingested", "deleted"):
            self._look()

    # --- the yes --------------------------------------------------------------------------------------

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "forget-count":
            self._said_yes(event.value)
        elif self._doomed is not None:
            self.query_one("#forget-count", Input).focus()

    def _said_yes(self, typed: str) -> None:
        doomed = self._doomed
        if doomed is None or self._stage != "naming":
            return
        if typed.strip().replace(",", "") != str(doomed.count):
            self.notify(f"Nothing is erased: {doomed.counted} would go, and the number is {doomed.count}.")
            return
        self._stage = "erasing"
        self.query_one("#forget-wish").disabled = True
        self.query_one("#forget-yes").display = False
        self.query_one("#forget-progress").display = True
        self._tell(f"Erasing {of_doomed(doomed)} …")
        begin(self, partial(self._erase, doomed, self._wish()), "erase")

    async def _erase(self, doomed: Doomed, wish: Wish) -> None:
        from appliance.errors import ApplianceError

        user = self.appliance.user

        def work(memory: Appliance) -> Receipt | Doomed:
            now = look(memory, wish, user)
            # What came in since would go unseen with its conversation.
            if now.keys != doomed.keys:
                return now
            return now.erase(memory, lambda done, pending: self._progress(done, pending))

        try:
            found = await self.appliance.link.do(work)
        except ApplianceError as error:
            self._begin_again(". ".join(filter(None, [str(error), error.hint])))
            return
        if isinstance(found, Doomed):
            self._begin_again("")
            self.notify("Nothing is erased: meanwhile it is not the same any more. Look again.", timeout=6)
            return
        self._finish(found, doomed.files)

    def _progress(self, done: int, pending: int) -> None:
        self.post_message(Progressed(done, pending))

    def on_progressed(self, message: Progressed) -> None:
        total = message.done + message.pending
        self.query_one(ProgressBar).update(total=total or None, progress=message.done)

    def _begin_again(self, words: str) -> None:
        """Back to what is meant; whether anything went is seen by what is there now."""
        self._stage = "naming"
        self.query_one("#forget-wish").disabled = False
        self.query_one("#forget-progress").display = False
        self.query_one("#forget-count", Input).value = ""
        if words:
            self.notify(words, severity="error", timeout=10, markup=False)
        self._look()

    def _finish(self, receipt: Receipt, files: Sequence[str]) -> None:
        self._stage, self._receipt = "done", receipt
        self.query_one("#forget-wish").display = False
        self.query_one("#forget-progress").display = False
        self._some.display = False
        self.query_one("#forgetting").border_title = "Forgotten"
        self._tell(_fields(receipt, files))
        self.set_focus(None)

    # --- actions --------------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Leave. Before the yes nothing is changed by it; while it is erased it goes on."""
        if self._receipts_shown:
            self.action_receipts()
        elif self._stage == "erasing":
            self.notify("It is being erased: that can't be broken off any more.", timeout=3)
        else:
            self.dismiss(self._receipt)

    def action_receipts(self) -> None:
        """Show what was forgotten so far, or what stood here before."""
        if self._stage == "erasing":
            return
        self._receipts_shown = not self._receipts_shown
        naming = self._stage == "naming"
        rows = self.query_one("#forget-receipts", Rows)
        rows.display = self._receipts_shown
        self.query_one("#forget-wish").display = naming and not self._receipts_shown
        self._some.display = naming and not self._receipts_shown
        self.query_one("#forget-yes").display = (
            naming and not self._receipts_shown and self._doomed is not None
        )
        if self._receipts_shown:
            rows.focus()
            self._tell("")
            begin(self, self._list_receipts, "receipts", anew=True)
        elif self._receipt is not None:
            self._tell(_fields(self._receipt, ()))
        else:
            self.query_one("#forget-words").focus()
            self._look()

    async def _list_receipts(self) -> None:
        from appliance.errors import ApplianceError

        try:
            receipts = await self.appliance.link.ask(lambda memory: memory.forgetting.receipts())
        except ApplianceError as error:
            self._tell(str(error))
            return
        self.query_one("#forget-receipts", Rows).show(receipts, first=True)
        if not receipts:
            self._tell("Nothing was forgotten so far.")

    @on(Rows.Moved, "#forget-receipts")
    def _tell_receipt(self) -> None:
        rows = cast("Rows[Receipt]", self.query_one("#forget-receipts", Rows))
        if self._receipts_shown and rows.chosen is not None:
            self._tell(_fields(rows.chosen, ()))


def _left_alone(path: str) -> str:
    return f"note: read from {one_line(from_home(path))}, which is left alone"


def _fields(receipt: Receipt, files: Sequence[str]) -> Content:
    found = receipt.proof.traces
    return Content("\n").join(
        Content.assemble(
            (f"{name:<10}", MUTED), (one_line(said), "bold $error" if name == "traces" and found else "")
        )
        for name, said in of_receipt(receipt, files)
    )


def _drawn(message: Message, width: int) -> Content:
    return Content.assemble(
        (f"{message.id:<7}", MUTED),
        (f"{minute(message.timestamp)[:10]:<11}", MUTED),
        (f"{one_line(message.author or message.role)[:20]}: ", "bold"),
        one_line(message.text[:DRAWN]),
    )


def _drawn_receipt(receipt: Receipt, width: int) -> Content:
    traces = len(receipt.proof.traces)
    return Content.assemble(
        (f"{receipt.id:<6}", MUTED),
        f"{minute(receipt.at)}  ",
        (f"{plural(receipt.messages, 'message'):<18}", "bold"),
        f"{plural(receipt.sessions, 'session'):<14}",
        (f"{receipt.state}, {plural(traces, 'trace')}", "bold $error" if traces else MUTED),
    )
