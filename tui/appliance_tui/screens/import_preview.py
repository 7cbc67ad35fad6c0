"""The import dialog: files that a person named, dropped or pasted, a preview of what they would add, and the import."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from appliance.paths import absolute_paths
from appliance_tui.actions import Action, bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.ingestion import ALL_READ
from appliance_tui.list_keys import ListScreen
from appliance_tui.path_input import parse_paths, source_file
from appliance_tui.widgets.display_text import abbreviate_home, one_line, pluralize, sanitize
from appliance_tui.widgets.files import outcome_rows
from appliance_tui.widgets.path_line import PathInput
from appliance_tui.workers import begin

if TYPE_CHECKING:
    from appliance.types import FileReport
    from appliance_tui.app import ApplianceApp
    from appliance_tui.ingestion import ImportOutcome

MAX_LISTED_PATHS = 12
"""Paths that the dialog lists."""

MAX_LISTED_NAMES = 40
"""Names that the dialog lists where a path can be completed in several ways."""

PATH_HINT = "The path of a chat export: a file, a zip or a folder.  tab or → completes the path, enter continues."


class ImportPreviewScreen(ListScreen[None], ModalScreen[None]):
    """Previews and starts an import."""

    CSS_PATH = "import_preview.tcss"
    PLACE = "offer"
    SUBMITS = "offer.read"
    BINDINGS = [*bindings("offer")]  # noqa: RUF012

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        super().__init__()
        self._paths = list(paths)
        self._shows_preview = False

    def compose(self) -> ComposeResult:
        with Vertical(id="offer"):
            yield PathInput("~/Downloads/export.zip", id="offer-path")
            with VerticalScroll(id="offer-content", can_focus=True):
                yield Static("", id="offer-text", markup=False)
            yield KeyFooter()

    def on_mount(self) -> None:
        dialog = self.query_one("#offer")
        dialog.border_title = "Import"
        dialog.border_subtitle = f"user {one_line(self._app.active_user)}"
        self._show_paths()

    @property
    def _app(self) -> ApplianceApp:
        return cast("ApplianceApp", self.app)

    def _show_paths(self) -> None:
        line = self.query_one(PathInput)
        line.display = not self._paths
        if not self._paths:
            self._show_text(Content.styled(PATH_HINT, "$foreground-muted"))
            line.focus()
            return
        self.query_one("#offer-content").focus()
        lines = [Content.styled(one_line(str(path)), "bold") for path in self._paths[:MAX_LISTED_PATHS]]
        if len(self._paths) > MAX_LISTED_PATHS:
            lines.append(Content(f"and {len(self._paths) - MAX_LISTED_PATHS} more"))
        note = "\nThe files are not moved or changed. Messages that are already known are skipped."
        self._show_text(Content("\n").join([*lines, Content.styled(note, "$foreground-muted")]))

    def _show_text(self, text: Content) -> None:
        self.query_one("#offer-text", Static).update(text)

    @on(Input.Submitted)
    def _path_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        if not typed:
            return
        path = os.path.expanduser(typed)  # not Path.exists, which raises for a name that is too long
        if paths := parse_paths(typed) or ([Path(path)] if os.path.exists(path) else []):
            self._paths = list(absolute_paths(paths))
            self._show_paths()
            self.refresh_bindings()
        else:
            self._show_text(Content(f"There is no such file: {sanitize(typed)}"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Import and preview need a path; before there is one, it is typed and completed."""
        if action == "complete":
            return not self._paths
        return action not in ("read", "preview") or bool(self._paths)

    async def action_complete(self) -> None:
        """Complete the path that is typed."""
        line = self.query_one(PathInput)
        names = await line.complete()
        if not names and not line.value.endswith("/") and not os.path.exists(os.path.expanduser(line.value)):
            self._show_text(Content(f"No file or folder begins with {sanitize(line.value)}"))
            return
        more = f"  … {len(names) - MAX_LISTED_NAMES:,} more" if len(names) > MAX_LISTED_NAMES else ""
        listed = "  ".join(map(one_line, names[:MAX_LISTED_NAMES])) + more
        self._show_text(Content(listed) if names else Content.styled(PATH_HINT, "$foreground-muted"))

    def action_read(self) -> None:
        """Import the files; the inbox shows the progress."""
        app, paths = self._app, self._paths
        self.dismiss()
        begin(app, partial(import_and_notify, app, paths))

    def label(self, action: Action) -> str:
        """As ``ListScreen``: from a preview, escape leads back to the files."""
        if action.id == "offer.read" and not self._paths:
            return "Continue"
        return "Back" if action.id == "offer.close" and self._shows_preview else super().label(action)

    def action_close(self) -> None:
        """Go back from a preview to the files; close the dialog if there is none."""
        if not self._shows_preview:
            self.dismiss()
            return
        self._shows_preview = False
        self.workers.cancel_group(self, "preview")
        self._show_paths()
        self.refresh_bindings()

    def action_preview(self) -> None:
        self._shows_preview = True
        self.refresh_bindings()
        begin(self, self._load_preview, "preview", exclusive=True)

    async def _load_preview(self) -> None:
        self._show_text(Content(f"Reading {pluralize(len(self._paths), 'path')} …"))
        outcome = await self._app.import_queue.import_files(self._paths, self._app.user, dry_run=True)
        self._show_text(preview_content(outcome))


def preview_content(outcome: ImportOutcome) -> Content:
    """What an import would add."""
    if outcome.error:
        return Content(sanitize(outcome.error))
    new, known = (sum(getattr(file, name) for file in outcome.files) for name in ("new", "duplicates"))
    twice = " What several of the files hold is counted for each." if new and len(outcome.files) > 1 else ""
    head = Content(f"Would add {pluralize(new, 'message')}; {known:,} already known. Nothing was changed.{twice}")
    rows: list[Content] = []
    zips: dict[Path, list[FileReport]] = {}
    for report in outcome.files:
        if (file := source_file(report.path)) != Path(report.path):
            zips.setdefault(file, []).append(report)
    for path, reports in zips.items():
        if len(reports) > 1 and not any(report.errors for report in reports):
            rows.append(_zip_content(path, reports))
        else:
            zips[path] = []
    told = {report.path for reports in zips.values() for report in reports}
    others = replace(outcome, files=[report for report in outcome.files if report.path not in told])
    return Content("\n\n").join([head, *rows, *(row.details for row in outcome_rows(others))])


def _zip_content(path: Path, reports: Sequence[FileReport]) -> Content:
    """What a zip would give: its files together, because a chat has one for each day."""
    formats = ", ".join(sorted({report.format for report in reports if report.format}))
    counts = (sum(getattr(report, name) for report in reports) for name in ("messages", "new", "duplicates"))
    messages, new, known = counts
    about = f"{formats} · {pluralize(len(reports), 'file')} in it · {pluralize(messages, 'message')}"
    return Content.assemble(
        (one_line(abbreviate_home(str(path))), "bold"),
        (f"\n{about}: {new:,} new, {known:,} already known", "$foreground-muted"),
    )


async def import_and_notify(app: ApplianceApp, paths: Sequence[Path], options: Mapping[str, Any] | None = None) -> bool:
    """Import files and report the result as a notification; False if they were not imported. ``options`` are the
    arguments of an import that was broken off, and say whose memory it is for."""
    user = app.user if options is None else options.get("user_id")
    outcome = await app.import_queue.import_files(paths, user, options=options)
    if outcome.stopped is not None:
        is_read = outcome.error == ALL_READ
        app.notify(one_line(outcome.error), title="Imported" if is_read else "Import stopped", markup=False)
        return is_read
    if outcome.error:
        app.notify(one_line(outcome.error), title="Not imported", severity="error", markup=False)
        return False
    new = sum(file.new for file in outcome.files)
    failed = len({source_file(file.path) for file in outcome.files if file.errors})
    read = len({source_file(file.path) for file in outcome.files})
    text = f"{pluralize(new, 'new message')} from {pluralize(read, 'file')}"
    if failed:
        where = "the list" if app.current_mode == "inbox" else "F5"
        one = "it" if failed == 1 else "one"
        text += f"; {pluralize(failed, 'file')} could not be read completely. Select {one} in {where} (tab) to see why"
    title = "Imported" if new or not failed else "Nothing imported"
    app.notify(f"{text}.", title=title, severity="warning" if failed else "information", markup=False)
    return True
