"""Opening an editor from the screen: to read messages, or to change a block of core memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import ApplianceError
from appliance_tui import editor
from appliance_tui.core_blocks import write_block
from appliance_tui.workers import error_text

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import CoreBlock
    from appliance_tui.app import ApplianceApp


async def read_in_editor(app: ApplianceApp, ids: Sequence[str], at: int | None) -> None:
    """Show messages and conversations in an editor, as a copy; ``at`` is the index of a message of the only
    conversation."""
    command = _command(app, editor.FALLBACKS, "x exports to a file", editor.introduction)
    if command is None:
        return
    try:
        with app.report_errors(), app.input_queue.held(), editor.private_folder() as folder:
            write = partial(editor.write_reading, ids=ids, folder=folder, at=at)
            path, line = await app.memory_worker.run_query(write)
            with app.suspend():
                editor.edit(command, path, line)
    except OSError as error:
        app.notify_error(f"{command[0]} could not show the file: {error.strerror or error}.")


async def edit_block(app: ApplianceApp, label: str) -> None:
    """Let the person change a block in an editor, and store what is saved. What can't be stored is kept in a file, from
    which the next call goes on."""
    how = partial(editor.introduction, saves=True)
    command = _command(app, editor.WRITING_FALLBACKS, "c changes a block of one line", how)
    if command is None:
        return
    user = app.user
    kept = app.unsaved_blocks.get((app.active_user, label))
    try:
        with app.report_errors(), app.input_queue.held(), editor.private_folder() as folder:
            block = await app.memory_worker.run_query(lambda memory: _find(memory, label, user))
            path = folder / f"{label}.txt"
            path.write_bytes(kept.read_bytes() if kept is not None and kept.is_file() else f"{block.value}\n".encode())
            with app.suspend():
                code = editor.edit(command, path, 1)
            if code:
                app.notify(f"{command[0]} ended with exit code {code}; nothing was changed.", severity="warning")
                return
            await _store(app, block, path, kept)
    except OSError as error:
        app.notify_error(f"{command[0]} could not show the file: {error.strerror or error}.")


async def _store(app: ApplianceApp, block: CoreBlock, path: Path, kept: Path | None) -> None:
    """Store what an editor has saved as the text of a block; ``kept`` is the file of an attempt before."""
    key = (app.active_user, block.label)
    try:
        value = path.read_text("utf-8").removesuffix("\n")
        if value == block.value:
            app.notify("Nothing was changed.", timeout=3)
        else:
            change = partial(write_block, label=block.label, value=value, user=app.user, revision=block.revision)
            await app.make_change(change)
    except (ApplianceError, UnicodeDecodeError) as error:
        app.unsaved_blocks[key] = editor.keep(path, kept)
        reason = error_text(error) if isinstance(error, ApplianceError) else "The editor saved what is not UTF-8 text."
        what = f"What you wrote is kept in {app.unsaved_blocks[key]}; the same key opens it again."
        app.notify_error(f"{reason} {what}", timeout=20)
        return
    if kept is not None:
        kept.unlink(missing_ok=True)
        app.unsaved_blocks.pop(key, None)


def _find(memory: Appliance, label: str, user: str | None) -> CoreBlock:
    return memory.core.get(label, user_id=user)


def _command(
    app: ApplianceApp, fallbacks: Sequence[str], instead: str, introduction: editor.Introduction
) -> list[str] | None:
    """The editor, None if it is not to be opened: a notice says why. The first time, it says what opens the next time,
    and how to come back."""
    if app._driver is None or not app._driver.can_suspend:
        app.notify(f"An editor can't be opened here; {instead}.", title="No terminal", timeout=5)
        return None
    if (command := editor.editor_command(os.environ, fallbacks)) is None:
        app.notify("No editor was found. Set $EDITOR to one.", severity="warning", timeout=5)
        return None
    if not app.knows_editor:
        app.knows_editor = True
        app.notify(introduction(command), timeout=8, markup=False)
        return None
    return command
