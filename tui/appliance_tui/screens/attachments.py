"""A dialog with the files of a conversation, or of all: open one, or read its message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance_tui.actions import bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.path_input import open_file
from appliance_tui.pending_rows import PendingRowsScreen
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.display_text import fit_width, minute, one_line, pluralize
from appliance_tui.widgets.rows import MUTED, ActionRows, RowList
from appliance_tui.workers import SerialWorker, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Attachment, AttachmentKind, AttachmentPage, Role, SessionInfo
    from appliance_tui.app import ApplianceApp

PAGE_SIZE = 200
"""Files that are loaded at once: some screens full."""

ALL_ROLES: Sequence[Role] = ("user", "assistant", "system", "tool")

KIND_LABELS: Mapping[AttachmentKind, str] = {
    "image": "images",
    "audio": "audio",
    "video": "videos",
    "file": "other files",
}


class AttachmentsScreen(PendingRowsScreen[None], ModalScreen[None]):
    """The files of a conversation; without one, or at a key, those of all conversations."""

    CSS_PATH = "attachments.tcss"
    PLACE: ClassVar[str] = "attachments"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("attachments")]

    def __init__(self, session: SessionInfo | None, go_to_message: Callable[[str], None] | None = None) -> None:
        """``go_to_message`` goes to a message of the conversation, where that is read already."""
        super().__init__()
        self._session = session
        self._go_to_message = go_to_message
        self._is_of_all = session is None
        self._kind: AttachmentKind | None = None
        self._total = 0

    def compose(self) -> ComposeResult:
        with Vertical(id="attachments"):
            yield ActionRows["Attachment"](_attachment_line, key=lambda file: file.id, id="attachment-rows")
            yield Static("", id="attachments-note", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self._load()

    @property
    def appliance(self) -> ApplianceApp:
        return cast("ApplianceApp", self.app)

    @property
    def _rows(self) -> RowList[Attachment]:
        return self.query_one(RowList)

    def available(self, id: str) -> bool:
        """As ``ListScreen``: what acts on a file needs one. Those of all are another list beside a conversation's."""
        if id in ("attachments.open", "attachments.read"):
            return self._rows.chosen is not None
        if id == "attachments.all":
            return self._session is not None
        return id != "attachments.kind" or self._kind is not None or bool(self._rows.items)

    def why_not(self, id: str) -> str:
        """As ``ListScreen``."""
        if id == "attachments.all" and self._session is None:
            return "These are the files of all conversations."
        is_for_file = id in ("attachments.open", "attachments.read")
        return "No file is listed." if is_for_file and not self.rows_pending and self._rows.chosen is None else ""

    def _load(self) -> None:
        session = None if self._is_of_all else self._session
        place = "all conversations" if session is None else one_line(session.title or session.external_id)
        title = f"Files of {place}"
        self.query_one("#attachments").border_title = title + (f" · {KIND_LABELS[self._kind]}" if self._kind else "")
        self.rows_pending = True
        begin(self, partial(self._load_page, [], first=True), "attachments", exclusive=True)

    async def _load_page(self, before: list[Attachment], *, first: bool) -> None:
        session = self._session.id if self._session is not None and not self._is_of_all else None
        kinds: list[AttachmentKind] = [self._kind] if self._kind is not None else []
        user = self.appliance.user

        def load(memory: Appliance) -> AttachmentPage:
            return memory.attachments.list(
                kinds, user_id=user, session_id=session, roles=ALL_ROLES, limit=PAGE_SIZE, offset=len(before)
            )

        with show_errors(self._show_note):
            page = await self._queries.run_query(load)
            self._total = page.total
            self._rows.show([*before, *page], first=first)
            self.refresh_bindings()
            self._show_note(self._count_text(len(before) + len(page)))
        self.rows_arrived()

    def _count_text(self, count: int) -> str:
        if not count:
            where = "" if self._is_of_all or self._session is None else " in this conversation; a lists those of all"
            return f"No {KIND_LABELS[self._kind] if self._kind else 'files'}{where}"
        if count < self._total:
            return f"{count:,} of {pluralize(self._total, 'file')}, more as you scroll"
        return pluralize(count, "file")

    def _show_note(self, text: str) -> None:
        self.query_one("#attachments-note", Static).update(text)

    @on(RowList.Moved)
    def _load_more(self) -> None:
        """Load the next page when the selection comes near the end."""
        rows = self._rows
        if rows.marked is not None and len(rows.items) - rows.marked < PAGE_SIZE // 4 and len(rows.items) < self._total:
            begin(self, partial(self._load_page, list(rows.items), first=False), "attachments", exclusive=True)

    def action_all(self) -> None:
        if self._session is not None:
            self._is_of_all = not self._is_of_all
            self._load()

    def action_kind(self) -> None:
        kinds: list[AttachmentKind | None] = [None, *KIND_LABELS]
        self._kind = kinds[(kinds.index(self._kind) + 1) % len(kinds)]
        self._load()

    @on(RowList.Opened)
    def action_open(self) -> None:
        if (file := self._rows.chosen) is not None:
            begin(self, partial(open_attachment, self.appliance, file), "open", exclusive=True)

    def action_read(self) -> None:
        if (file := self._rows.chosen) is None:
            return
        app, go_to_message = self.appliance, self._go_to_message
        self.dismiss()
        if go_to_message is not None and self._session is not None and file.session_id == self._session.id:
            go_to_message(file.message_id)
        else:
            app.read(file.session_id, file.message_id)

    def action_close(self) -> None:
        self.dismiss()


async def open_attachment(app: ApplianceApp, file: Attachment) -> None:
    """Open the file of an attachment with the system's program for it, and say what became of it."""
    with app.report_errors():
        path = Path(await app.memory_worker.run_query(lambda memory: memory.attachments.file(file.id)))
        if await asyncio.to_thread(open_file, path):
            app.notify(f"Opened {one_line(file.name)}.", timeout=2, markup=False)
        else:
            app.notify(f"The file is {one_line(str(path))}.", title="No program opens files here", markup=False)


def _attachment_line(file: Attachment, width: int) -> Content:
    """A file: when, from whom, what it is, how large, its name, and its conversation."""
    who = one_line(file.author or file.role)
    size = format_bytes(file.size) if file.size is not None else ""
    name_width = max(16, min(40, (width - 50) * 2 // 3))
    return Content.assemble(
        (f"{minute(file.timestamp) or 'no time':<17}", MUTED),
        (fit_width(file.kind, 6), "$text-accent"),
        (f"{size:>9}  ", MUTED),
        (fit_width(file.name, name_width), "bold"),
        (f"  {fit_width(who, min(len(who), 16))} · {one_line(file.session_title or file.session_id)}", MUTED),
    )
