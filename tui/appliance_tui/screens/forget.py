"""Forgetting: a request, a preview, a confirmation that can't happen by mistake, and the receipt.

The erasure itself is the app's (``running_erasure``): the dialog can be closed, and shows it when it is opened again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from textual import on
from textual._time import get_time
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus, Key
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Input, ProgressBar, Static

from appliance.errors import ApplianceError
from appliance_tui.actions import Action, bindings
from appliance_tui.erasure import (
    ErasureRequest,
    ErasureSummary,
    author_note,
    everything_hint,
    kept_file_notes,
    place_note,
    preview_erasure,
    receipt_text,
    save_receipt,
    source_file_note,
    title_note,
)
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.running_erasure import RunningErasure, start_erasure
from appliance_tui.widgets.display_text import abbreviate_home, one_line
from appliance_tui.widgets.erasure_rows import (
    EchoRow,
    ErasureRow,
    Heading,
    erasure_rows,
    first_message,
    is_heading,
    receipt_content,
    render_receipt,
    render_row,
    row_key,
)
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.rows import RowList
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, error_text, show_errors

if TYPE_CHECKING:
    from appliance.types import Receipt
    from appliance_tui.app import ApplianceApp

TYPING_PAUSE_SECONDS = 0.15
"""Seconds without a key before the preview: words may occur in many messages."""

FIELDS = {
    "words": ("Words", "in a text, author, title, file name, metadata or fact"),
    "title": ("Title", "whole words of it"),
    "author": ("Author", "a whole name, or an id (p3)"),
    "since": ("Since", "e.g. 2025-12-31"),
    "until": ("Until", "e.g. 2025-12-31"),
    "source": ("Source", "a format (whatsapp), or the path of a file, zip or folder"),
    "ids": ("Ids", "messages (m345) and conversations (s12)"),
}

FIELD_ROWS = (("words",), ("title", "author"), ("since", "until"), ("source",), ("ids",))

NOTHING_NAMED_HINT = "Enter what to forget. The fields narrow each other."

Stage = Literal["naming", "erasing", "done"]


class CheckMark(Checkbox):
    """A checkbox that shows no cross when it is off: a faint one could be taken for a set one."""

    def render(self) -> Content:
        self.BUTTON_INNER = "X" if self.value else " "
        return super().render()


class ForgetScreen(ListScreen["Receipt | None"], ModalScreen["Receipt | None"]):
    """Returns the receipt, None if nothing was erased."""

    CSS_PATH = "forget.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # it would be a checkbox, which a space typed too early would tick
    PLACE: ClassVar[str] = "forget"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("forget")]

    def __init__(self, ids: Sequence[str] = ()) -> None:
        super().__init__()
        self._ids = tuple(ids)
        self._stage: Stage = "naming"
        self._summary: ErasureSummary | None = None
        self._receipt: Receipt | None = None
        self._files: Sequence[str] = ()
        self._chosen_echoes: set[str] = set()
        self._receipts_shown = False
        self._is_ready = False
        self._drawn_at: float | None = None
        self._focus_confirmation = bool(ids)  # the request is complete: only the number is missing

    def compose(self) -> ComposeResult:
        with Vertical(id="forgetting", classes="dialog"):
            with Vertical(id="forget-request", classes="-given" if self._ids else ""):
                for names in FIELD_ROWS:
                    with Horizontal(classes="forget-fields"):
                        for name in names:
                            label, example = FIELDS[name]
                            value = " ".join(self._ids) if name == "ids" else ""
                            yield Static(label)
                            line = Input(value, placeholder=example, compact=True, id=f"forget-{name}")
                            line.can_focus = not self._ids  # what was selected is the request
                            yield line
                with Horizontal(id="forget-marks"):
                    if not self._ids:
                        yield CheckMark("Everything", id="forget-everything", compact=True)
                    yield CheckMark("Also what repeats it (ctrl+o)", id="forget-echoes", compact=True)
            yield Static("", id="forget-text", markup=False)
            yield RowList[ErasureRow](
                partial(render_row, name_of=self.appliance.name_of), key=row_key, is_head=is_heading, id="forget-sample"
            )
            yield RowList["Receipt"](render_receipt, key=lambda item: item.id, id="forget-receipts")
            yield ProgressBar(id="forget-progress", show_eta=False)
            with Horizontal(id="forget-confirm"):
                yield Static("", id="forget-prompt", markup=False)
                yield Input(id="forget-count", compact=True, select_on_focus=False)
            yield QuestionLine(id="forget-path")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        dialog = self.query_one("#forgetting")
        dialog.border_title = "Forget"
        self._show_user()
        for name in ("#forget-progress", "#forget-confirm", "#forget-receipts"):
            self.query_one(name).display = False
        if not self._ids:
            self.query_one("#forget-words", Input).focus()
        self._is_ready = True
        self._schedule_preview()
        self.call_after_refresh(self._note_drawn)
        self.watch(self.app, "erasure", self._show_erasure)

    def _note_drawn(self) -> None:
        self._drawn_at = get_time()

    def ignores(self, event: Key) -> bool:
        """Whether a key was pressed before the dialog could be seen: it was meant for something else, except the one
        that closes the dialog. Where words are named, they may be typed behind the key that opens it, as in any line.
        """
        if not self._ids or event.key in self.app._keymap.get("forget.close", "escape").split(","):
            return False
        return self._drawn_at is None or event.time < self._drawn_at

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

    def _build_request(self) -> ErasureRequest:
        values = {name: self.query_one(f"#forget-{name}", Input).value.strip() for name in FIELDS}
        return ErasureRequest(
            tuple(values.pop("ids").replace(",", " ").split()),
            **values,
            everything=any(box.value for box in self.query("#forget-everything").results(Checkbox)),
            with_echoes=self._takes_all_echoes or bool(self._chosen_echoes),
            echo_ids=() if self._takes_all_echoes else tuple(sorted(self._chosen_echoes)),
        )

    @property
    def _takes_all_echoes(self) -> bool:
        return self.query_one("#forget-echoes", Checkbox).value

    @on(Input.Changed)
    @on(Checkbox.Changed)
    def _field_changed(self, event: Input.Changed | Checkbox.Changed) -> None:
        event.stop()
        if isinstance(event, Checkbox.Changed) or event.input.id not in ("forget-count", "forget-path"):
            if isinstance(event, Input.Changed):
                self._chosen_echoes.clear()  # what repeats something else is something else
            self._schedule_preview()
        else:
            self.refresh_bindings()

    def _schedule_preview(self) -> None:
        """Preview the request. Nothing can be erased before the preview is shown."""
        if self._stage != "naming" or not self._is_ready:
            return
        self._summary = None
        self._focus_confirmation |= self.query_one("#forget-count").has_focus
        self.query_one("#forget-confirm").display = False
        begin(self, partial(self._load_preview, self._build_request()), "preview", exclusive=True)

    async def _load_preview(self, request: ErasureRequest) -> None:
        if not request or (request.everything and request.is_narrowed):
            self._sample_rows.show([])
            used = [FIELDS[name][0] for name in FIELDS if self.query_one(f"#forget-{name}", Input).value.strip()]
            self._show_text(everything_hint(used) if request else NOTHING_NAMED_HINT)
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
        all_echoes = {echo.id for echo in summary.preview.echoes}
        chosen = all_echoes if self._takes_all_echoes else self._chosen_echoes
        self._sample_rows.show(list(erasure_rows(summary, chosen)))
        if not summary.count:
            self._show_text(f"No matches: nothing to forget. {author_note(summary.preview)}".rstrip())
            return
        self._summary = summary
        preview = summary.preview
        paths = [one_line(abbreviate_home(path)) for path in preview.files]
        notes = [
            place_note(preview),
            first_message(summary, self.appliance.name_of) if self._ids else "",
            f"This erases {summary.description}. It can't be undone.",
            source_file_note([one_line(abbreviate_home(path)) for path in preview.source_files]),
            title_note(preview),
            author_note(preview),
            *kept_file_notes(paths),
        ]
        self._show_text("\n".join(filter(None, notes)))
        self._ask_for_number(summary)
        self.query_one("#forget-confirm").display = True
        if self._focus_confirmation:
            self._focus_confirmation = False
            self.query_one("#forget-count", Input).focus()

    def _ask_for_number(self, summary: ErasureSummary, mismatch: str = "") -> None:
        """Ask for the number; in another line, where a digit is text, first for the key that leads here."""
        focused = self.focused
        is_elsewhere = isinstance(focused, Input) and focused.id != "forget-count"
        keys = f"enter, then {summary.count} and enter," if is_elsewhere else f"{summary.count} and enter"
        prompt = f"{mismatch}{'Press' if is_elsewhere else 'Type'} {keys} to erase {summary.count_label}:"
        self.query_one("#forget-prompt", Static).update(prompt)
        self.refresh_bindings()

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        if self._summary is not None:
            self._ask_for_number(self._summary)

    def on_key(self, event: Key) -> None:
        """Digits that no other line takes are of the number that is asked for."""
        line = self.query_one("#forget-count", Input)
        digit = event.character or ""
        if digit.isdecimal() and self.query_one("#forget-confirm").display and not isinstance(self.focused, Input):
            event.stop()
            line.focus()
            line.value += digit
            line.cursor_position = len(line.value)

    def _show_text(self, text: str | Content) -> None:
        self.query_one("#forget-text", Static).update(text)

    @property
    def _sample_rows(self) -> RowList[ErasureRow]:
        return self.query_one("#forget-sample", RowList)

    @on(RowList.Opened, "#forget-sample")
    def _open_marked(self) -> None:
        match self._sample_rows.chosen:
            case None | Heading():
                return
            case EchoRow(echo):
                if echo.kind not in ("summary", "fact", "block"):
                    begin(self, partial(self._open_message, echo.id), "open", exclusive=True)
            case message:
                self.appliance.read(message.session_id, message.id)

    async def _open_message(self, id: str) -> None:
        with self.appliance.report_errors():
            message = await self.appliance.memory_worker.run_query(lambda memory: memory.message(id))
            self.appliance.read(message.session_id, message.id)

    def action_echoes(self) -> None:
        """Erase also all that repeats the messages, or nothing of it."""
        self._chosen_echoes.clear()
        self.query_one("#forget-echoes", Checkbox).toggle()

    def action_choose(self) -> None:
        """Erase also the selected item that repeats the messages, or not."""
        rows = self._sample_rows
        if not isinstance(row := rows.chosen, EchoRow):
            return
        box = self.query_one("#forget-echoes", Checkbox)
        if box.value:
            self._chosen_echoes = {other.echo.id for other in rows.items if isinstance(other, EchoRow)}
            with box.prevent(Checkbox.Changed):
                box.value = False
        self._chosen_echoes ^= {row.echo.id}
        self._schedule_preview()

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
            self._ask_for_number(summary, "That doesn't match. ")  # a notification would hide the line
            return
        start_erasure(self.appliance, summary, self._build_request())

    def _show_erasure(self, erasure: RunningErasure | None) -> None:
        """Show how far the app's erasure is, or how it ended."""
        if erasure is None:
            return
        if erasure.receipt is not None:
            self.appliance.erasure = None
            self._finish(erasure.receipt, erasure.summary.preview.files)
        elif erasure.error:
            self.appliance.erasure = None
            self._restart()
            self.appliance.notify_error(erasure.error, timeout=10)
        else:
            if self._stage != "erasing":
                self._stage = "erasing"
                self.query_one("#forget-request").display = self._sample_rows.display = False
                self.query_one("#forget-confirm").display = False
                self.query_one("#forget-progress").display = True
                self.workers.cancel_group(self, "preview")
                self.set_focus(None)
                self.refresh_bindings()
            total = erasure.done + erasure.pending
            self.query_one(ProgressBar).update(total=total or None, progress=erasure.done)
            self._show_text(f"{erasure.progress_text}\nYou can leave: it goes on, and Forget shows it again.")

    def _restart(self) -> None:
        """Return to the request; the new preview shows what is left."""
        self._stage = "naming"
        self.query_one("#forget-request").display = self._sample_rows.display = True
        self.query_one("#forget-progress").display = False
        self.query_one("#forget-count", Input).value = ""
        self._focus_confirmation = True
        self.refresh_bindings()
        self._schedule_preview()

    def _finish(self, receipt: Receipt, files: Sequence[str]) -> None:
        self._stage, self._receipt, self._files = "done", receipt, files
        for name in ("#forget-request", "#forget-progress", "#forget-confirm", "#forget-sample"):
            self.query_one(name).display = False
        self.workers.cancel_group(self, "preview")
        self.query_one("#forgetting").border_title = "Forgotten"
        self.query_one("#forget-text").add_class("-alone")
        self._show_text(receipt_content(receipt, files))
        self.set_focus(None)
        self.refresh_bindings()

    def action_close(self) -> None:
        """Close the dialog, or the receipts. A running erasure goes on."""
        if self._receipts_shown:
            self.action_receipts()
            return
        if self._stage == "erasing":
            self.notify("The erasure goes on. Forget (f12) shows it.", timeout=4)
        self.dismiss(self._receipt)

    @property
    def _shown_receipt(self) -> tuple[Receipt, Sequence[str]] | None:
        """The receipt that is shown, and the files that still hold what was erased, as far as they are known."""
        if self._receipts_shown:
            rows = cast("RowList[Receipt]", self.query_one("#forget-receipts", RowList))
            return None if rows.chosen is None else (rows.chosen, ())
        return None if self._receipt is None else (self._receipt, self._files)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A receipt can be copied and saved while it is shown; echoes are chosen before."""
        if action in ("copy", "save"):
            return self.is_mounted and self._shown_receipt is not None
        if action == "receipts":
            return self._stage != "erasing"
        return action not in ("echoes", "choose") or (self._stage == "naming" and not self._receipts_shown)

    def action_copy(self) -> None:
        if (shown := self._shown_receipt) is not None:
            self.app.copy_to_clipboard(receipt_text(*shown))
            self.notify(f"Copied the receipt {shown[0].id}.", timeout=2)

    def action_save(self) -> None:
        """Ask for the path of a file, and save the receipt to it."""
        if (shown := self._shown_receipt) is not None:
            path = f"~/appliance-receipt-{shown[0].id}.txt"
            self.query_one(
                "#forgetting"
            ).border_subtitle = "The path of a new file; enter saves the receipt, esc doesn't"
            self.query_one(QuestionLine).ask("save", "Path of a new file", path, checked=True)

    @property
    def submits(self) -> str:
        """As ``ListScreen``."""
        if self.query_one(QuestionLine).has_focus:
            return "forget.save"
        return "forget.erase" if self._summary is not None and self._stage == "naming" else ""

    def available(self, id: str) -> bool:
        """As ``ListScreen``: there is nowhere to go on from a receipt."""
        if id == "forget.erase":
            return self._stage == "naming" and not self._receipts_shown
        return super().available(id)

    def label(self, action: Action) -> str:
        """As ``ListScreen``; with the number in its line, enter erases."""
        summary, line = self._summary, self.query_one("#forget-count", Input)
        is_complete = (
            summary is not None and line.has_focus and line.value.strip().replace(",", "") == str(summary.count)
        )
        return "Erase" if action.id == "forget.erase" and is_complete else super().label(action)

    @on(QuestionLine.Cancelled)
    def _show_user(self) -> None:
        self.query_one("#forgetting").border_subtitle = f"user {one_line(self.appliance.active_user)}"

    @on(QuestionLine.Answered)
    def _save_receipt(self, event: QuestionLine.Answered) -> None:
        event.stop()
        if (shown := self._shown_receipt) is not None:
            begin(self, partial(self._save, event.text, receipt_text(*shown)), "save")

    async def _save(self, path: str, text: str) -> None:
        with self.appliance.report_errors():
            saved = await asyncio.to_thread(save_receipt, path, text)
            self.query_one(QuestionLine).finish()
            self._show_user()
            self.notify(f"Saved to {one_line(abbreviate_home(str(saved)))}.", timeout=4, markup=False)

    def action_receipts(self) -> None:
        """Show the receipts of earlier erasures, or hide them."""
        if self._stage == "erasing":
            return
        self._receipts_shown = not self._receipts_shown
        naming = self._stage == "naming" and not self._receipts_shown
        rows = self.query_one("#forget-receipts", RowList)
        rows.display = self._receipts_shown
        self.query_one("#forget-text").set_class(not naming and not self._receipts_shown, "-alone")
        self.query_one("#forget-request").display = self._sample_rows.display = naming
        self.query_one("#forget-confirm").display = naming and self._summary is not None
        if self._receipts_shown:
            rows.focus()
            self._show_text("")
            self.query_one("#forgetting").border_title = "Receipts"
            begin(self, self._load_receipts, "receipts", exclusive=True)
        elif self._receipt is not None:
            self.query_one("#forgetting").border_title = "Forgotten"
            self._show_text(receipt_content(self._receipt, self._files))
            self.set_focus(None)
        else:
            self.query_one("#forgetting").border_title = "Forget"
            if self._ids:
                self._focus_confirmation = True
                self.set_focus(None)
            else:
                self.query_one("#forget-words").focus()
            self._schedule_preview()
        self.refresh_bindings()

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
            self._show_text(receipt_content(rows.chosen, ()))
            self.refresh_bindings()
