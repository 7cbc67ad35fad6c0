"""Inbox: the folders that are watched, what became of each file, and what is being read now."""

from __future__ import annotations

import os.path
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from appliance_tui.frame import Frame
from appliance_tui.messages import Happened, Read
from appliance_tui.rates import amount, spoken
from appliance_tui.screens.offer import preview_told, taken_in
from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.files import FileList, Row, file_row, outcome_rows
from appliance_tui.widgets.words import fitted, from_home, one_line
from appliance_tui.working import Looking, begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import FileReport, WatchedFile

SHOWN = 500
"""Files in the list, those first that wait and then the latest: the rest is counted."""

EVERY = 0.5
"""Seconds between two looks at the clock while something is read: the speed and the time left go on."""

BAR = 20

EMPTY = "No file has landed here yet. Put an export into a watched folder, drop it on this window, or type its path: a."
NONE_READ = "Nothing was read since the start."


class Inbox(Frame):
    """The files."""

    CSS_PATH = "inbox.tcss"
    PLACE = "inbox"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def body(self) -> ComposeResult:
        # Kept by name: an answer may come when the screen is being left, and nothing can be found on it any more.
        self._folders = Static("", id="inbox-folders", markup=False)
        self._now = Static("", id="inbox-now", markup=False)
        self._files = FileList("inbox-files", "Files in watched folders", EMPTY)
        self._read = FileList("inbox-read", "Read since the start", NONE_READ)
        self._said = Static("", id="inbox-told", markup=False)
        yield self._folders
        yield self._now
        with Container(id="inbox-lists"):
            yield self._files
            yield self._read
        with VerticalScroll(id="inbox-detail", can_focus=False) as self._detail:
            yield self._said

    def on_mount(self) -> None:
        super().on_mount()
        self._look = Looking(self, self._ask)
        self._previewed = ("", Content(""))
        self._found: list[WatchedFile] = []
        self._counts: dict[str, Any] = {}
        self._files.focus()
        self._ticking = self.set_interval(EVERY, self._write_now, pause=True)

    def on_screen_resume(self) -> None:
        self._ticking.resume()
        self._look()

    def on_screen_suspend(self) -> None:
        self._ticking.pause()

    def on_happened(self, message: Happened) -> None:
        if message.kind in ("ingested", "embedded"):
            self._look()

    def on_read(self, message: Read) -> None:
        self._write_now()
        self._write_read()
        if self.appliance.intake.now is None:
            self._look()

    # --- what is shown --------------------------------------------------------------------------------

    async def _ask(self) -> None:
        from appliance.errors import ApplianceError

        def look(memory: Appliance) -> tuple[list[str], list[WatchedFile], dict[str, Any]]:
            return memory.browsing.folders(), memory.browsing.files(limit=SHOWN), memory.status()

        try:
            folders, self._found, status = await self.appliance.link.ask(look)
        except ApplianceError as error:
            self.notify(one_line(str(error)), severity="error", markup=False)
            return
        self._counts = status["files"]
        self.appliance.intake.pending = status["queues"]["chunks"]
        self._write_folders(folders)
        self._write_now()
        self._write_read()

    def _write_folders(self, folders: list[str]) -> None:
        counts = self._counts
        words = {
            "queued": "wait",
            "read": "read",
            "partial": "in part",
            "skipped": "passed over",
            "failed": "failed",
        }
        told = [f"{counts[state]:,} {word}" for state, word in words.items() if counts.get(state)]
        every = sum(counts.get(state, 0) for state in words)
        if every > SHOWN:
            told.append(f"the latest {SHOWN} of {every:,} are listed")
        lines = [Content.assemble(("Watched  ", "bold"), one_line(from_home(folder))) for folder in folders]
        lines += [
            Content.assemble(("Trouble  ", "$text-warning"), one_line(one))
            for one in self.appliance.intake.troubles
        ]
        if told:
            lines.append(Content.assemble(("Files    ", "bold"), ", ".join(told)))
        self._folders.update(Content("\n").join(lines))

    def _write_now(self) -> None:
        """What is being read and embedded, how fast, and how long it takes yet."""
        intake, width = self.appliance.intake, self.size.width
        lines = []
        if (now := intake.now) is not None:
            speed = intake.speed.a_second
            named = one_line(os.path.basename(now.file or str(now.paths[0])))
            facts = [f"{now.total:,} messages"]
            if speed:
                facts.append(f"{speed:,.0f}/s")
            facts.append(f"for {spoken(time.monotonic() - now.began)}")
            if now.size:
                facts.append(f"of {amount(now.size)}")
            if intake.waiting:
                facts.append(f"{len(intake.waiting)} more wait")
            told = " · ".join(facts)
            verb = "Looking " if now.dry else "Reading "
            lines.append(
                Content.assemble(
                    (f"▶ {verb} ", "bold $text-accent"),
                    fitted(named, max(12, width - len(told) - 16)),
                    "  ",
                    told,
                )
            )
        if intake.pending:
            speed, left = intake.embedding.a_second, intake.embedding.left(intake.pending)
            share = intake.embedded / (intake.embedded + intake.pending)
            facts = [f"{intake.pending:,} pieces wait for their vectors"]
            facts += [f"{speed:,.0f}/s"] if speed else []
            facts += [f"{spoken(left)} left"] if left else []
            lines.append(
                Content.assemble(
                    ("▶ Embedding ", "bold $text-accent"),
                    (bar(share, BAR) + "▏", "$accent"),
                    f" {share:4.0%}  " + " · ".join(facts),
                )
            )
        self._now.update(Content("\n").join(lines))
        self._now.display = bool(lines)

    def _write_read(self) -> None:
        outcomes = self.appliance.intake.outcomes
        since: dict[str, FileReport] = {
            report.path: report for outcome in reversed(outcomes) if outcome.asked for report in outcome.files
        }
        self._files.show([file_row(file, since.get(file.path)) for file in self._found])
        self._read.show([row for one in outcomes for row in outcome_rows(one)][:SHOWN])

    @on(OptionList.OptionHighlighted)
    def _tell(self) -> None:
        row = self._row
        if row is None or row.path != self._previewed[0]:
            self._previewed = ("", Content(""))
        self._told(self._previewed[1] or (Content("") if row is None else row.told))

    def _told(self, words: Content) -> None:
        self._said.update(words)
        self._detail.display = bool(words)

    @property
    def _row(self) -> Row | None:
        focused = self.focused
        chosen = focused if isinstance(focused, FileList) else self._files
        return chosen.chosen

    def on_descendant_focus(self) -> None:
        self._tell()

    # --- actions --------------------------------------------------------------------------------------

    def _paths(self) -> list[Path]:
        """The file that is marked; a document in a zip is its zip."""
        if (row := self._row) is None or not row.path:
            return []
        path = Path(row.path)
        return [path if path.exists() else Path(row.path.partition("!")[0])]

    @on(OptionList.OptionSelected)
    def action_retry(self) -> None:
        """Read the marked file again."""
        if paths := self._paths():
            self._take(paths)

    def action_retry_all(self) -> None:
        """Read all again that failed."""
        paths = [Path(file.path) for file in self._found if file.state in ("failed", "partial")]
        if paths:
            self._take(paths)
        else:
            self.notify("No file has failed.", timeout=3)

    def _take(self, paths: list[Path]) -> None:
        begin(self.appliance, partial(taken_in, self.appliance, paths))

    def action_add(self) -> None:
        """Read a file whose path the person types."""
        self.appliance.offer()

    def action_preview(self) -> None:
        """Look what reading the marked file would bring."""
        if paths := self._paths():
            begin(self, partial(self._preview, paths), "preview", anew=True)

    async def _preview(self, paths: list[Path]) -> None:
        row = self._row
        assert row is not None
        self._previewed = (row.path, Content("Looking …"))
        self._tell()
        outcome = await self.appliance.intake.read(paths, self.appliance.user, dry=True)
        self._previewed = (row.path, preview_told(outcome))
        self._tell()

    def action_stop(self) -> None:
        """Break off what is being read."""
        if not self.appliance.intake.stop():
            self.notify("Nothing is being read.", timeout=3)

    def action_copy(self) -> None:
        """Copy the marked file's path."""
        if (row := self._row) is not None and row.path:
            self.app.copy_to_clipboard(row.path)
            self.notify("The path is copied.", timeout=2)
