"""The export dialog: messages and conversations are saved as Markdown, HTML or JSONL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from appliance.errors import ApplianceError
from appliance.export_files import FORMATS, ReadableChunks, export_chunks, write_export
from appliance_tui.actions import bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.display_text import abbreviate_home, one_line, pluralize
from appliance_tui.widgets.path_line import PathInput
from appliance_tui.widgets.prompt_line import prefill
from appliance_tui.workers import begin, error_text

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

LABELS = {"markdown": "Markdown", "html": "HTML", "jsonl": "JSONL"}
"""The formats in the order in which they are offered."""

NOTES = {
    "markdown": "To read, and for notes programs.",
    "html": "One page to read, to print or to send; without scripts, it loads nothing.",
    "jsonl": "To import again: 'appliance ingest' reads it.",
}

MAX_NAME_CHARACTERS = 60

_UNUSUAL = re.compile(r"[^\w\-.,+ ]+")


class FormatLabel(Static):
    """A format that a click chooses."""

    class Chosen(Message):
        def __init__(self, format: str) -> None:
            super().__init__()
            self.format = format

    def __init__(self, format: str) -> None:
        super().__init__(id=f"export-{format}", markup=False)
        self.format = format

    def show(self, chosen: bool) -> None:
        mark, style = ("●", "bold $text-accent") if chosen else ("○", "$foreground-muted")
        self.update(Content.styled(f"{mark} {LABELS[self.format]}", style))

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Chosen(self.format))


class ExportScreen(ListScreen[None], ModalScreen[None]):
    """Asks for a format and a path, and saves the file. An existing file is overwritten only after a second enter."""

    CSS_PATH = "export.tcss"
    PLACE: ClassVar[str] = "export"
    SUBMITS = "export.save"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("export")]

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__()
        self._ids = tuple(ids)
        self._format = next(iter(LABELS))
        self._file_name = "messages"
        self._confirmed: Path | None = None
        self._is_saving = False

    def compose(self) -> ComposeResult:
        with Vertical(id="exporting", classes="dialog"):
            with Horizontal(id="export-formats"):
                for format in LABELS:
                    yield FormatLabel(format)
            yield PathInput(id="export-path")
            yield Static("", id="export-note", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        dialog = self.query_one("#exporting")
        dialog.border_title = f"Export {describe_ids(self._ids)}"
        self._show_format()
        self.query_one(PathInput).focus()
        begin(self, self._propose_path)

    @property
    def _app(self) -> ApplianceApp:
        return cast("ApplianceApp", self.app)

    async def _propose_path(self) -> None:
        with self._app.report_errors():
            self._file_name = await self._app.memory_worker.run_query(partial(file_name, ids=self._ids))
            path = await asyncio.to_thread(free_path, default_folder(), self._file_name, FORMATS[self._format].suffix)
            line = self.query_one(PathInput)
            if not line.value:  # else the person was faster
                prefill(line, abbreviate_home(str(path)))

    def _show_format(self) -> None:
        for label in self.query(FormatLabel):
            label.show(label.format == self._format)
        self._show_note(f"{NOTES[self._format]} Enter saves.")

    def _show_note(self, text: str) -> None:
        self.query_one("#export-note", Static).update(text)

    @on(FormatLabel.Chosen)
    def _format_chosen(self, event: FormatLabel.Chosen) -> None:
        self._set_format(event.format)

    def action_format(self, by: int) -> None:
        names = list(LABELS)
        self._set_format(names[(names.index(self._format) + by) % len(names)])

    def _set_format(self, format: str) -> None:
        """Choose a format; a file name with the ending of another format gets that of this one."""
        line = self.query_one(PathInput)
        former, self._format = FORMATS[self._format].suffix, format
        if line.value.endswith(former):
            is_edited = line.selected_text != line.value
            prefill(line, line.value.removesuffix(former) + FORMATS[format].suffix, extends=is_edited)
        self._show_format()

    @on(Input.Changed)
    def _path_changed(self) -> None:
        self._confirmed = None

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._is_saving and event.value.strip():
            self._is_saving = True
            begin(self, partial(self._save, event.value.strip()), "save")

    async def _save(self, typed: str) -> None:
        format = FORMATS[self._format]
        path = Path(typed).expanduser().absolute()
        if await asyncio.to_thread(path.is_dir):
            path = path / f"{self._file_name}{format.suffix}"
        save = partial(save_export, ids=self._ids, format=format.name, path=path, overwrite=self._confirmed == path)
        shown = one_line(abbreviate_home(str(path)))
        try:
            size, problem = await self._app.memory_worker.run_query(save)
        except FileExistsError:
            self._confirmed = path
            self._show_note(f"{shown} exists. Press enter again to overwrite it.")
        except OSError as error:
            self._show_note(f"{shown} can't be written: {error.strerror or error}.")
        except ApplianceError as error:
            self._show_note(f"Nothing was saved: {error_text(error)}")
        else:
            self.dismiss()
            self._app.notify(f"{shown} ({format_bytes(size)})", title="Saved", timeout=6, markup=False)
            if problem:
                self._app.notify_error(problem)
        finally:
            self._is_saving = False


def describe_ids(ids: Sequence[str]) -> str:
    """How many messages and conversations the ids name: "3 messages"."""
    messages = sum(id.startswith("m") for id in ids)
    parts = [(messages, "message"), (len(ids) - messages, "conversation")]
    return " and ".join(pluralize(count, noun) for count, noun in parts if count)


def file_name(memory: Appliance, ids: Sequence[str]) -> str:
    """A name for a file with these: the title of the conversation they are of, "messages" if they are of several.

    Raises:
        ApplianceError: as the memory says.
    """
    messages = [id for id in ids if id.startswith("m")]
    sessions = {id for id in ids if id not in messages}
    sessions |= (
        {message.session_id for message in memory.overview.messages(messages[:MAX_NAMED])} if messages else set()
    )
    if len(sessions) != 1 or len(messages) > MAX_NAMED:
        return "messages" if messages else "conversations"
    info = memory.sessions.info(next(iter(sessions)))
    name = " ".join(_UNUSUAL.sub(" ", info.title or info.external_id).split())[:MAX_NAME_CHARACTERS].strip(" .")
    return name or info.id


MAX_NAMED = 500
"""Messages that are looked at for the name of a file: as many as the memory returns at once."""


def default_folder() -> Path:
    """The folder for downloads, else the person's own."""
    downloads = Path.home() / "Downloads"
    return downloads if downloads.is_dir() else Path.home()


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """A path in a folder that is not taken: with a number behind the name if necessary."""
    path, number = folder / f"{name}{suffix}", 2
    while path.exists():
        path, number = folder / f"{name} {number}{suffix}", number + 1
    return path


def save_export(memory: Appliance, ids: Sequence[str], format: str, path: Path, *, overwrite: bool) -> tuple[int, str]:
    """Save an export. Call it on a thread.

    Returns:
        The size of the file in bytes, and which messages are damaged, "" if none are.

    Raises:
        FileExistsError: the file exists and may not be overwritten.
        OSError: it can't be written.
        ApplianceError: as the memory says.
    """
    chunks = ReadableChunks(export_chunks(memory, format, None, ids=ids))
    size = write_export(path, chunks, overwrite=overwrite)
    return size, error_text(chunks.error) if chunks.error is not None else ""
