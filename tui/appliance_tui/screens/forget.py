"""Forgetting: a request, a preview, a confirmation that can't happen by mistake, and the receipt."""

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
from textual.widgets import Checkbox, Input, ProgressBar, Static

from appliance.errors import ApplianceError
from appliance_tui.actions import bindings
from appliance_tui.erasure import (
    ErasureRequest,
    ErasureSummary,
    author_note,
    echo_note,
    kept_file_notes,
    place_note,
    preview_erasure,
    receipt_fields,
)
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.widgets.display_text import abbreviate_home, minute, one_line, pluralize
from appliance_tui.widgets.rows import MUTED, RowList
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, error_text, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Message, Receipt
    from appliance_tui.app import ApplianceApp

TYPING_PAUSE_SECONDS = 0.15
"""Seconds without a key before the preview: words may occur in many messages."""

MAX_LINE_CHARACTERS = 400
"""Characters of a message that a line is made from."""

FIELDS = {
    "words": ("Words", "messages that contain this text"),
    "title": ("Title", "of conversations"),
    "author": ("Author", "a whole name, or an id (p3)"),
    "since": ("Since", "2025-12-31"),
    "until": ("Until", "2025-12-31"),
    "source": ("Source", "a format (whatsapp) or the path of a file"),
    "ids": ("Ids", "messages (m345) and conversations (s12)"),
}

FIELD_ROWS = (("words",), ("title", "author"), ("since", "until"), ("source",), ("ids",))

NOTHING_NAMED_HINT = "Enter what to forget. The fields narrow each other."

Stage = Literal["naming", "erasing", "done"]


class ErasureProgress(TextualMessage):
    """The progress of an erasure in steps."""

    def __init__(self, done: int, pending: int) -> None:
        super().__init__()
        self.done, self.pending = done, pending

    def can_replace(self, message: TextualMessage) -> bool:
        return isinstance(message, ErasureProgress)


class CheckMark(Checkbox):
    """A checkbox that shows no cross when it is off: a faint one could be taken for a set one."""

    def render(self) -> Content:
        self.BUTTON_INNER = "X" if self.value else " "
        return super().render()


class ForgetScreen(ListScreen["Receipt | None"], ModalScreen["Receipt | None"]):
    """Returns the receipt, None if nothing was erased."""

    CSS_PATH = "forget.tcss"
    PLACE: ClassVar[str] = "forget"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("forget")]

    def __init__(self, ids: Sequence[str] = ()) -> None:
        super().__init__()
        self._ids = tuple(ids)
        self._stage: Stage = "naming"
        self._summary: ErasureSummary | None = None
        self._receipt: Receipt | None = None
        self._receipts_shown = False
        self._is_ready = False
        self._focus_confirmation = bool(ids)  # the request is complete: only the number is missing

    def compose(self) -> ComposeResult:
        with Vertical(id="forgetting", classes="dialog"):
            with Vertical(id="forget-request"):
                for names in FIELD_ROWS:
                    with Horizontal(classes="forget-fields"):
                        for name in names:
                            label, example = FIELDS[name]
                            value = " ".join(self._ids) if name == "ids" else ""
                            yield Static(label)
                            yield Input(value, placeholder=example, compact=True, id=f"forget-{name}")
                with Horizontal(id="forget-marks"):
                    yield CheckMark("Everything", id="forget-everything", compact=True)
                    yield CheckMark("Also what repeats it", id="forget-echoes", compact=True)
            yield Static("", id="forget-text", markup=False)
            yield RowList["Message"](_message_line, key=lambda item: item.id, id="forget-sample")
            yield RowList["Receipt"](_receipt_line, key=lambda item: item.id, id="forget-receipts")
            yield ProgressBar(id="forget-progress", show_eta=False)
            with Horizontal(id="forget-confirm"):
                yield Static("", id="forget-prompt", markup=False)
                yield Input(id="forget-count", compact=True)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        dialog = self.query_one("#forgetting")
        dialog.border_title = "Forget"
        dialog.border_subtitle = f"user {one_line(self.appliance.active_user)}"
        for name in ("#forget-progress", "#forget-confirm", "#forget-receipts"):
            self.query_one(name).display = False
        self.query_one("#forget-ids" if self._ids else "#forget-words", Input).focus()
        self._is_ready = True
        self._schedule_preview()

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

    def _build_request(self) -> ErasureRequest:
        values = {name: self.query_one(f"#forget-{name}", Input).value.strip() for name in FIELDS}
        return ErasureRequest(
            tuple(values.pop("ids").replace(",", " ").split()),
            **values,
            everything=self.query_one("#forget-everything", Checkbox).value,
            with_echoes=self.query_one("#forget-echoes", Checkbox).value,
        )

    @on(Input.Changed)
    @on(Checkbox.Changed)
    def _field_changed(self, event: Input.Changed | Checkbox.Changed) -> None:
        event.stop()
        if isinstance(event, Checkbox.Changed) or event.input.id != "forget-count":
            self._schedule_preview()

    def _schedule_preview(self) -> None:
        """Preview the request. Nothing can be erased before the preview is shown."""
        if self._stage != "naming" or not self._is_ready:
            return
        self._summary = None
        self.query_one("#forget-confirm").display = False
        begin(self, partial(self._load_preview, self._build_request()), "preview", exclusive=True)

    async def _load_preview(self, request: ErasureRequest) -> None:
        if not request or (request.everything and request.is_narrowed):
            self._sample_rows.show([])
            self._show_text("Everything can't be combined: clear the fields above." if request else NOTHING_NAMED_HINT)
            return
        self._show_text("Searching…")
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        user = self.appliance.user
        try:
            summary = await self._queries.run_query(lambda memory: preview_erasure(memory, request, user))
        except ApplianceError as error:
            self._sample_rows.show([])
            self._show_text(error_text(error))
        else:
            self._show(summary)

    def _show(self, summary: ErasureSummary) -> None:
        self._sample_rows.show(summary.sample)
        if not summary.count:
            self._show_text(f"No matches: nothing to forget. {author_note(summary.preview)}".rstrip())
            return
        self._summary = summary
        paths = [one_line(abbreviate_home(path)) for path in summary.preview.files]
        files = "".join(f"\n{note}" for note in kept_file_notes(paths))
        is_partial = len(summary.preview.messages) > len(summary.sample)
        first = f"\nThe first {len(summary.sample):,} of them:" if is_partial else ""
        included = self.query_one("#forget-echoes", Checkbox).value
        notes = (
            author_note(summary.preview),
            place_note(summary.preview),
            echo_note(summary.preview, included=included),
        )
        places = "".join(f"\n{note}" for note in notes if note)
        self._show_text(f"This erases {summary.description}. It can't be undone.{places}{files}{first}")
        self.query_one("#forget-prompt", Static).update(
            f"Type {summary.count} and enter to erase {summary.count_label}:"
        )
        self.query_one("#forget-confirm").display = True
        if self._focus_confirmation:
            self._focus_confirmation = False
            self.query_one("#forget-count", Input).focus()

    def _show_text(self, text: str | Content) -> None:
        self.query_one("#forget-text", Static).update(text)

    @property
    def _sample_rows(self) -> RowList[Message]:
        return self.query_one("#forget-sample", RowList)

    @on(RowList.Opened, "#forget-sample")
    def _open_marked(self) -> None:
        if (message := self._sample_rows.chosen) is not None:
            self.appliance.read(message.session_id, message.id)

    def on_memory_changed(self, message: MemoryChanged) -> None:
        """Preview again: more messages may match."""
        if message.kind in ("ingested", "deleted"):
            self._schedule_preview()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "forget-count":
            self._confirm(event.value)
        elif self._summary is not None:
            self.query_one("#forget-count", Input).focus()

    def _confirm(self, typed: str) -> None:
        summary = self._summary
        if summary is None or self._stage != "naming":
            return
        if typed.strip().replace(",", "") != str(summary.count):
            self.notify(f"That doesn't match. Type {summary.count} to erase {summary.count_label}.")
            return
        self._stage = "erasing"
        self.query_one("#forget-request").disabled = True
        self.query_one("#forget-confirm").display = False
        self.query_one("#forget-progress").display = True
        self._show_text(f"Erasing {summary.description} …")
        begin(self, partial(self._erase, summary, self._build_request()), "erase")

    async def _erase(self, summary: ErasureSummary, request: ErasureRequest) -> None:
        user = self.appliance.user

        def work(memory: Appliance) -> Receipt | None:
            current = preview_erasure(memory, request, user)
            # New messages of a conversation would be erased unseen.
            if current.keys != summary.keys:
                return None
            return memory.erasure.forget(current.preview, self._report_progress)

        try:
            receipt = await self.appliance.memory_worker.run_command(work)
        except ApplianceError as error:
            self._restart()
            self.appliance.notify_error(error_text(error), timeout=10)
        else:
            if receipt is None:
                self._restart()
                self.notify("Nothing was erased: the matching messages have changed. Check them again.", timeout=6)
            else:
                self._finish(receipt, summary.preview.files)

    def _report_progress(self, done: int, pending: int) -> None:
        self.post_message(ErasureProgress(done, pending))

    def on_erasure_progress(self, message: ErasureProgress) -> None:
        total = message.done + message.pending
        self.query_one(ProgressBar).update(total=total or None, progress=message.done)

    def _restart(self) -> None:
        """Return to the request; the new preview shows what is left."""
        self._stage = "naming"
        self.query_one("#forget-request").disabled = False
        self.query_one("#forget-progress").display = False
        self.query_one("#forget-count", Input).value = ""
        self._schedule_preview()

    def _finish(self, receipt: Receipt, files: Sequence[str]) -> None:
        self._stage, self._receipt = "done", receipt
        self.query_one("#forget-request").display = False
        self.query_one("#forget-progress").display = False
        self._sample_rows.display = False
        self.query_one("#forgetting").border_title = "Forgotten"
        self._show_text(_receipt_content(receipt, files))
        self.set_focus(None)

    def action_close(self) -> None:
        """Close the dialog, or the receipts. A running erasure can't be stopped."""
        if self._receipts_shown:
            self.action_receipts()
        elif self._stage == "erasing":
            self.notify("The erasure is running and can't be stopped.", timeout=3)
        else:
            self.dismiss(self._receipt)

    def action_receipts(self) -> None:
        """Show the receipts of earlier erasures, or hide them."""
        if self._stage == "erasing":
            return
        self._receipts_shown = not self._receipts_shown
        naming = self._stage == "naming" and not self._receipts_shown
        rows = self.query_one("#forget-receipts", RowList)
        rows.display = self._receipts_shown
        self.query_one("#forget-request").display = self._sample_rows.display = naming
        self.query_one("#forget-confirm").display = naming and self._summary is not None
        if self._receipts_shown:
            rows.focus()
            self._show_text("")
            begin(self, self._load_receipts, "receipts", exclusive=True)
        elif self._receipt is not None:
            self._show_text(_receipt_content(self._receipt, ()))
        else:
            self.query_one("#forget-words").focus()
            self._schedule_preview()

    async def _load_receipts(self) -> None:
        with show_errors(self._show_text):
            receipts = await self.appliance.memory_worker.run_query(lambda memory: memory.erasure.receipts())
            self.query_one("#forget-receipts", RowList).show(receipts, first=True)
            if not receipts:
                self._show_text("No receipts: nothing has been forgotten yet.")

    @on(RowList.Moved, "#forget-receipts")
    def _show_receipt(self) -> None:
        rows = cast("RowList[Receipt]", self.query_one("#forget-receipts", RowList))
        if self._receipts_shown and rows.chosen is not None:
            self._show_text(_receipt_content(rows.chosen, ()))


def _receipt_content(receipt: Receipt, files: Sequence[str]) -> Content:
    traces = receipt.proof.traces
    return Content("\n").join(
        Content.assemble((f"{name:<10}", MUTED), (one_line(text), "bold $error" if name == "traces" and traces else ""))
        for name, text in receipt_fields(receipt, files)
    )


def _message_line(message: Message, width: int) -> Content:
    return Content.assemble(
        (f"{message.id:<7}", MUTED),
        (f"{minute(message.timestamp)[:10]:<11}", MUTED),
        (f"{one_line(message.who)[:20]}: ", "bold"),
        one_line(message.text[:MAX_LINE_CHARACTERS]),
    )


def _receipt_line(receipt: Receipt, width: int) -> Content:
    traces = len(receipt.proof.traces)
    found = pluralize(traces, "trace") if receipt.proof.searched else "not searched"
    return Content.assemble(
        (f"{receipt.id:<6}", MUTED),
        f"{minute(receipt.at)}  ",
        (f"{pluralize(receipt.messages, 'message'):<18}", "bold"),
        f"{pluralize(receipt.sessions, 'session'):<14}",
        (f"{receipt.state}, {found}", "bold $error" if traces else MUTED),
    )
