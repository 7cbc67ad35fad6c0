"""Inbox: watched folders, the result of each file, what every imported file gave, and the running import."""

from __future__ import annotations

import asyncio
import os.path
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from appliance_tui.actions import Action
from appliance_tui.frame import FrameScreen
from appliance_tui.path_input import source_file
from appliance_tui.screens.import_preview import import_and_notify, preview_content
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.throughput import format_bytes, format_duration
from appliance_tui.widgets.display_text import abbreviate_home, day, fit_width, one_line, pluralize, render_bar
from appliance_tui.widgets.files import (
    STATES,
    FileList,
    FileRow,
    file_row,
    files_in,
    imported_row,
    outcome_rows,
    sentence,
    unfinished_row,
)
from appliance_tui.widgets.prompt_line import PromptLine
from appliance_tui.workers import CoalescingRefresh, ImportProgressed, MemoryChanged, begin

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import FileReport, ImportedFile, ImportedSession, UnfinishedImport, WatchedFile

MAX_LISTED_FILES = 500
"""Files that are listed, first the queue and then the latest; the others are counted."""

CLOCK_INTERVAL_SECONDS = 0.5
"""Seconds between two updates of speed and remaining time."""

BAR_WIDTH = 20

RETRIABLE = ("partial", "skipped", "failed")
"""States of files for which the footer offers to import them again."""

FILES_TITLE = "Watched files, and others with problems"
EMPTY_HINT = "No files yet. Put an export into a watched folder, drop it on this window, or press a to type its path."
NO_MATCH_HINT = "No files match. Press esc to clear the filter."
NONE_READ_HINT = "No imported files yet."

REFRESH_INTERVAL_SECONDS = 0.5
"""Seconds between two refreshes at least, however many files are read: each counts the messages of many files."""

MAX_LISTED_CONVERSATIONS = 1_000
"""Conversations of a file that can be chosen."""


class InboxScreen(FrameScreen):
    """Watched files and others with problems, and all files that were imported, also by a daemon or another program."""

    CSS_PATH = "inbox.tcss"
    PLACE = "inbox"
    rows_pending = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def body(self) -> ComposeResult:
        # As attributes: an answer may come while the screen is being removed, when queries find nothing.
        self._folder_text = Static("", id="inbox-folders", markup=False)
        self._progress_text = Static("", id="inbox-progress", markup=False)
        self._file_list = FileList("inbox-files", FILES_TITLE, "")
        self._import_list = FileList("inbox-imports", "Imported files, the latest first", "")
        self._detail_text = Static("", id="inbox-text", markup=False)
        yield self._folder_text
        yield self._progress_text
        with Container(id="inbox-lists"):
            yield self._file_list
            yield self._import_list
        yield PromptLine(id="inbox-filter")
        with VerticalScroll(id="inbox-detail", can_focus=False) as self._detail_pane:
            yield self._detail_text

    def on_mount(self) -> None:
        super().on_mount()
        self._refresh_soon = CoalescingRefresh(self, self._reload)
        self._shown_preview = ("", Content(""))
        self._watched_files: list[WatchedFile] = []
        self._imported_files: list[ImportedFile] = []
        self._unfinished: list[UnfinishedImport] = []
        self._begun: dict[str, UnfinishedImport] = {}
        """The imports that were not read to their end, by path: those that were broken off, and those that run."""
        self._filter = ""
        self._file_list.focus()
        self.watch(self.app, "user", lambda user: self._refresh_soon(), init=False)
        self._clock_timer = self.set_interval(CLOCK_INTERVAL_SECONDS, self._tick, pause=True)

    def on_screen_resume(self) -> None:
        self._clock_timer.resume()
        self._refresh_soon()

    def on_screen_suspend(self) -> None:
        self._clock_timer.pause()

    def _tick(self) -> None:
        self._show_progress()
        stopped = {str(path) for one in self.appliance.import_queue.outcomes if one.stopped for path in one.paths}
        if any(one.is_running and one.path in stopped for one in self._begun.values()):  # it has not noticed yet
            self._refresh_soon()

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "embedded"):
            self._refresh_soon()

    def on_import_progressed(self, message: ImportProgressed) -> None:
        self.refresh_bindings()
        self._show_progress()
        self._show_imports()
        if self.appliance.import_queue.current is None:
            self._refresh_soon()

    async def _reload(self) -> None:
        with self.appliance.report_errors():
            contents = await self.appliance.memory_worker.run_query(
                partial(_load_contents, user=self.appliance.active_user)
            )
            self._watched_files, self._imported_files = contents.watched, contents.imported
            imports = self.appliance.import_queue
            self._begun = {one.path: one for one in contents.unfinished}
            self._unfinished = [
                one for one in contents.unfinished if not one.is_running and not imports.has(Path(one.path))
            ]
            self.appliance.import_queue.pending = contents.pending
            self._file_list.empty = NO_MATCH_HINT if self._filter else EMPTY_HINT
            self._import_list.empty = NONE_READ_HINT
            self._show_folders(contents.folders, contents.states)
            self._show_progress()
            self._show_imports()
        self.rows_arrived()
        await asyncio.sleep(REFRESH_INTERVAL_SECONDS)

    def _show_folders(self, folders: list[str], counts: dict[str, int]) -> None:
        states = ("queued", "read", "partial", "skipped", "failed", "gone")
        parts = [f"{counts[state]:,} {STATES[state][1]}" for state in states if counts.get(state)]
        total = sum(counts.get(state, 0) for state in states)
        if total > MAX_LISTED_FILES:
            parts.append(f"the latest {MAX_LISTED_FILES} of {total:,} are listed")
        lines = [Content.assemble(("Watched  ", "bold"), one_line(abbreviate_home(folder))) for folder in folders]
        lines += [
            Content.assemble(("Problem  ", "$text-warning"), one_line(problem))
            for problem in self.appliance.import_queue.problems
        ]
        if parts:
            lines.append(Content.assemble(("Files    ", "bold"), ", ".join(parts)))
        self._folder_text.update(Content("\n").join(lines))

    def _show_progress(self) -> None:
        """Show what is being imported and embedded, the speed and the remaining time."""
        imports, width = self.appliance.import_queue, self.size.width
        lines = []
        if (current := imports.current) is not None:
            speed = imports.throughput.per_second
            facts = [pluralize(current.total, "message")]
            facts += [f"{speed:,.0f}/s"] if speed else []
            facts += [f"for {format_duration(time.monotonic() - current.started_at)}"]
            facts += [f"of {format_bytes(current.total_bytes)}"] if current.total_bytes else []
            facts += [f"{len(imports.queue)} more queued"] if imports.queue else []
            text = " · ".join(facts)
            name = fit_width(os.path.basename(current.file or str(current.paths[0])), max(12, width - len(text) - 16))
            verb = "Preview " if current.dry_run else "Reading "
            lines.append(Content.assemble((f"▶ {verb} ", "bold $text-accent"), name, "  ", text))
        if imports.pending:
            speed = imports.embedding_throughput.per_second
            seconds_left = imports.embedding_throughput.seconds_left(imports.pending)
            share = imports.embedded / (imports.embedded + imports.pending)
            facts = [f"{pluralize(imports.pending, 'chunk')} to embed"]
            facts += [f"{speed:,.0f}/s"] if speed else []
            facts += [f"about {format_duration(seconds_left)} left"] if seconds_left else []
            bar = (render_bar(share, BAR_WIDTH) + "▏", "$accent")
            lines.append(
                Content.assemble(("▶ Embedding ", "bold $text-accent"), bar, f" {share:4.0%}  " + " · ".join(facts))
            )
        self._progress_text.update(Content("\n").join(lines))
        self._progress_text.display = bool(lines)

    def _show_imports(self) -> None:
        owner, user = self.appliance.owner, self.appliance.active_user
        outcomes = [one for one in self.appliance.import_queue.outcomes if (one.user or owner) == user]
        reports: dict[str, FileReport] = {
            report.path: report for outcome in reversed(outcomes) if outcome.requested for report in outcome.files
        }
        given = files_in(self._imported_files, {file.path for file in self._watched_files})
        self._file_list.show(
            self._filtered(
                file_row(file, reports.get(file.path), given.get(file.path, ())) for file in self._watched_files
            )
        )
        rows: list[FileRow] = []
        told: set[str] = set()
        for outcome in outcomes:
            found = outcome_rows(outcome, latest_first=True)
            if outcome.stopped is not None:  # not told any more once its files were read, by then or by another import
                found = [row for row in found if row.path not in told and self._is_left(row.path)]
            rows += found
            told |= {row.path for row in found}
            told |= set() if outcome.error else {str(path) for path in outcome.paths}
        listed = {row.path for row in rows}
        begun = [one for one in self._unfinished if one.path not in listed]
        read = files_in(self._imported_files, {one.path for one in begun})
        rows = [*(unfinished_row(one, read.get(one.path, ())) for one in begun), *rows]
        listed |= {one.path for one in begun}
        current = self.appliance.import_queue.current
        being_read = current.file if current is not None and not current.dry_run else ""
        rows += [
            imported_row(file, is_being_read=file.path == being_read)
            for file in self._imported_files
            if file.path not in listed
        ]
        # The latest ones are seen, unless the person is at another place of the list.
        self._import_list.show(self._filtered(rows)[:MAX_LISTED_FILES], from_top=not self._import_list.has_focus)

    def _is_left(self, path: str) -> bool:
        """Whether something of a path of an import that was stopped is left to read, as the memory knows."""
        read = next((file for file in self._imported_files if file.path == path), None)
        return path in self._begun or (read is not None and not read.complete)

    def _filtered(self, rows: Iterable[FileRow]) -> list[FileRow]:
        """The rows with all words of the filter in their path or reason."""
        words = self._filter.casefold().split()
        return [row for row in rows if all(word in f"{row.path} {row.reason}".casefold() for word in words)]

    def action_filter(self) -> None:
        self.query_one(PromptLine).ask("filter", "Filter", self._filter)

    def action_clear(self) -> None:
        self._set_filter("")

    def _set_filter(self, text: str) -> None:
        self._filter = text
        self._file_list.border_title = Content(FILES_TITLE + (f" · filter: {one_line(text)}" if text else ""))
        self._file_list.empty = NO_MATCH_HINT if text else EMPTY_HINT
        self._show_imports()

    @on(PromptLine.Changed)
    def _filter_typed(self, event: PromptLine.Changed) -> None:
        self._set_filter(event.text)

    @on(PromptLine.Submitted)
    def _filter_entered(self) -> None:
        self.query_one(PromptLine).finish()

    @on(PromptLine.Closed)
    def _focus_files(self) -> None:
        self._file_list.focus()

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        self.refresh_bindings()
        row = self._marked_row
        if row is None or row.path != self._shown_preview[0]:
            self._shown_preview = ("", Content(""))
        content = self._shown_preview[1] or (Content("") if row is None else row.details)
        self._detail_text.update(content)
        self._detail_pane.display = bool(content)

    def available(self, id: str) -> bool:
        """As ``ListScreen``: what acts on a file needs one, and only an import that runs can be stopped."""
        match id:
            case "inbox.retry":
                return bool(self._marked_paths())
            case "inbox.contents":  # where Enter imports again, else it is what Enter does
                return self._is_retriable
            case "inbox.preview" | "inbox.copy":
                return bool(self._marked_paths())
            case "inbox.retry_all":
                return any(file.state in ("failed", "partial") for file in self._watched_files)
            case "inbox.resume":
                return bool(self._unfinished)
            case "inbox.give_up":
                return self._marked_unfinished is not None
            case "inbox.clear":
                return bool(self._filter)
            case "inbox.stop":
                return self.appliance.import_queue.current is not None
        return True

    def why_not(self, id: str) -> str:
        """As ``ListScreen``."""
        match id:
            case "inbox.resume" if not self.rows_pending and not self._unfinished:
                return "No import was broken off."
            case "inbox.retry" | "inbox.contents" | "inbox.preview" | "inbox.copy" | "inbox.give_up":
                if not self.rows_pending and self._marked_row is None:
                    return "No file is listed."
                if id == "inbox.give_up" and self._marked_unfinished is None:
                    return "This import was not broken off."
        return ""

    def label(self, action: Action) -> str:
        """As ``ListScreen``: Enter imports again what was not read completely, and lists what any other file gave."""
        return "Contents" if action.id == "inbox.retry" and not self._is_retriable else super().label(action)

    @property
    def _is_retriable(self) -> bool:
        return (row := self._marked_row) is not None and bool(row.path) and row.state in RETRIABLE

    def action_other_list(self) -> None:
        """Go to the other list of files."""
        (self._file_list if self._import_list.has_focus else self._import_list).focus()

    @property
    def _marked_row(self) -> FileRow | None:
        focused = self.focused
        file_list = focused if isinstance(focused, FileList) else self._file_list
        return file_list.chosen

    def on_descendant_focus(self) -> None:
        self._show_detail()

    def _marked_paths(self) -> list[Path]:
        """The selected file; for a member of a zip, the zip."""
        if (row := self._marked_row) is None or not row.path:
            return []
        return [source_file(row.path)]

    @on(OptionList.OptionSelected)
    def action_retry(self) -> None:
        if not self._is_retriable:
            self.action_contents()
        elif paths := self._marked_paths():
            self._import_paths(paths, self._begun_with(str(paths[0])))

    def action_retry_all(self) -> None:
        paths = [Path(file.path) for file in self._watched_files if file.state in ("failed", "partial")]
        if paths:
            self._import_paths(paths)
        else:
            self.notify("No files have failed.", timeout=3)

    def action_resume(self) -> None:
        unfinished, self._unfinished = self._unfinished, []
        for one in unfinished:
            self._import_paths([Path(one.path)], one.options)

    def _import_paths(self, paths: list[Path], options: Mapping[str, Any] | None = None) -> None:
        begin(self.appliance, partial(import_and_notify, self.appliance, paths, options))

    def _begun_with(self, path: str) -> Mapping[str, Any] | None:
        """The arguments of the import that was broken off of a path, or of a folder that it lies in."""
        return next((one.options for one in self._unfinished if f"{path}/".startswith(f"{one.path}/")), None)

    @property
    def _marked_unfinished(self) -> UnfinishedImport | None:
        row = self._marked_row
        return None if row is None else next((one for one in self._unfinished if one.path == row.path), None)

    @work
    async def action_give_up(self) -> None:
        """Forget that the selected import was broken off."""
        if (one := self._marked_unfinished) is None:
            return
        with self.appliance.report_errors():
            await self.appliance.memory_worker.run_command(
                lambda memory: memory.overview.give_up_import(one.path, user_id=one.user_id, namespace=one.namespace)
            )
            self.notify("What was read of it stays.", title="Given up", timeout=3)
            self._refresh_soon()

    def action_show_unfinished(self) -> None:
        """Select the first import that was broken off."""
        self._import_list.focus()
        self._import_list.highlighted = 0 if self._import_list.option_count else None

    def action_add(self) -> None:
        self.appliance.offer_import()

    def action_preview(self) -> None:
        if paths := self._marked_paths():
            begin(self, partial(self._load_preview, paths), "preview", exclusive=True)

    async def _load_preview(self, paths: list[Path]) -> None:
        row = self._marked_row
        assert row is not None
        self._shown_preview = (row.path, Content("Reading …"))
        self._show_detail()
        outcome = await self.appliance.import_queue.import_files(paths, self.appliance.user, dry_run=True)
        self._shown_preview = (row.path, preview_content(outcome))
        self._show_detail()

    @work(exclusive=True, group="contents")
    async def action_contents(self) -> None:
        """Choose among the conversations of the selected file, and read one."""
        if (row := self._marked_row) is None or not row.path:
            return
        path, user = row.path, self.appliance.active_user
        with self.appliance.report_errors():
            with self.appliance.input_queue.held():
                sessions = await self.appliance.memory_worker.run_query(
                    lambda memory: memory.overview.imported_sessions(path, limit=MAX_LISTED_CONVERSATIONS, user_id=user)
                )
            if not sessions:
                reason = f" {one_line(sentence(row.reason))}" if row.reason else ""
                self.notify(f"No conversation came from this file.{reason}", timeout=4, markup=False)
                return
            options = [_conversation_option(session) for session in sessions]
            title = f"{len(sessions):,} from {one_line(os.path.basename(path.rstrip('/')))}"
            chosen = await self.app.push_screen_wait(PickerScreen(title, options))
            if chosen is not None:
                self.appliance.read(sessions[options.index(chosen)].session_id)

    def action_stop(self) -> None:
        if not self.appliance.import_queue.stop():
            self.notify("No import is running.", timeout=3)

    def action_copy(self) -> None:
        if (row := self._marked_row) is not None and row.path:
            self.app.copy_to_clipboard(row.path)
            self.notify("Copied the path.", timeout=2)


@dataclass(frozen=True, slots=True)
class _InboxContents:
    """What the screen shows: ``unfinished`` are also the imports that run, ``states`` counts watched files by state,
    ``pending`` the chunks that wait to be embedded."""

    folders: list[str]
    watched: list[WatchedFile]
    imported: list[ImportedFile]
    unfinished: list[UnfinishedImport]
    states: dict[str, int]
    pending: int


def _load_contents(memory: Appliance, user: str) -> _InboxContents:
    status = memory.status()
    return _InboxContents(
        memory.overview.folders(),
        memory.overview.files(limit=MAX_LISTED_FILES),
        memory.overview.imported_files(limit=MAX_LISTED_FILES, user_id=user),
        memory.overview.unfinished_imports(user_id=user, running=True),
        status["files"],
        status["queues"]["chunks"],
    )


def _conversation_option(session: ImportedSession) -> PickerOption:
    first, last = day(session.first_at), day(session.last_at)
    about = [
        pluralize(session.messages, "message") if session.messages else "all known from another file",
        first if first == last else f"{first} – {last}",
        session.session_id,
    ]
    return PickerOption("", one_line(session.title or session.session_id), " · ".join(filter(None, about)))
