"""Opening a file that is attached to a message."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from appliance_tui.path_input import open_file
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.display_text import one_line

if TYPE_CHECKING:
    from appliance.types import Attachment
    from appliance_tui.app import ApplianceApp


async def open_attachment(app: ApplianceApp, message_id: str) -> None:
    """Open an attachment of a message, after a choice if there are several.

    Raises:
        ApplianceError: as the memory says.
    """
    with app.input_queue.held():
        files = await app.memory_worker.run_query(lambda memory: memory.attachments.of_message(message_id))
    if not files:
        app.notify("No file is attached to this message.", timeout=3)
        return
    options = [PickerOption("", one_line(file.name), _file_note(file)) for file in files]
    chosen = await app.push_screen_wait(PickerScreen("Open a file", options)) if files[1:] else options[0]
    if chosen is None:
        return
    file = files[next(number for number, option in enumerate(options) if option is chosen)]
    path = Path(await app.memory_worker.run_query(lambda memory: memory.attachments.file(file.id)))
    if open_file(path):
        app.notify(f"Opened {one_line(file.name)}.", timeout=2, markup=False)
    else:
        app.notify(f"The file is {one_line(str(path))}.", title="No program opens files here", markup=False)


def _file_note(file: Attachment) -> str:
    size = "" if file.size is None else f" · {format_bytes(file.size)}"
    return file.kind + size + ("" if file.path else " · not on this machine")
