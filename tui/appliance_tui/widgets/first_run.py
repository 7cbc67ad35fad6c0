"""The panel for an empty memory: what lies on this machine, how to import chats, and sample chats to explore."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from appliance.errors import ApplianceError
from appliance_tui.widgets.display_text import abbreviate_home, one_line, pluralize
from appliance_tui.workers import begin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appliance.client import Appliance
    from appliance.types import FoundHistory
    from appliance_tui.app import ApplianceApp

MAX_SHOWN_HISTORIES = 4
"""Histories that are listed, so that the panel fits a small terminal."""

COUNT_SECONDS = 5.0
"""How long their conversations are counted; the rest is estimated."""

DEMO_USER = "demo"
"""The user who owns the samples, so that they stay apart from the person's own messages."""

DEMO_NOTICE = (
    "These chats are fictional and belong to the user 'demo'. F9 returns to your own memory;"
    " 'appliance forget --user demo --everything' erases them."
)
NOTICE_SECONDS = 15.0
"""Seconds for which the notice is shown."""


class FirstRunPanel(Vertical):
    """Instructions for the first import."""

    def compose(self) -> ComposeResult:
        yield Static("Nothing imported yet. To begin, do one of these:", id="welcome-title", markup=False)
        yield Static("", id="welcome-lines", markup=False)
        yield Static("", id="welcome-found", markup=False)
        yield Button("Import them, and follow what is added (F8)", id="welcome-watch", compact=True)
        yield Button("Explore sample chats first (F9)", id="welcome-demo", compact=True)
        yield Static("They are fictional and belong to a separate user, 'demo'.", id="welcome-note", markup=False)

    def on_mount(self) -> None:
        self.found: Sequence[FoundHistory] = ()
        self._has_looked = False
        self._show_found()
        self._show_instructions("the inbox folder in the home")

    def set_shown(self, shown: bool) -> None:
        """Show or hide the panel. When it is first shown, it looks what lies on this machine: a memory with messages
        never does."""
        self.display = shown
        if shown and not self._has_looked:
            self._has_looked = True
            begin(self, self._load_inbox)
            begin(self, self._discover, "discover")

    async def _discover(self) -> None:
        worker = cast("ApplianceApp", self.app).memory_worker
        with suppress(ApplianceError):  # the app reports it
            discovery = await worker.run_query(lambda memory: memory.discover(seconds=COUNT_SECONDS))
            self.found = [one for one in discovery if not one.problem and not one.watched]
            self._show_found()

    def _show_found(self) -> None:
        lines = [_history_line(one) for one in self.found[:MAX_SHOWN_HISTORIES]]
        if len(self.found) > MAX_SHOWN_HISTORIES:
            lines.append(f" and {len(self.found) - MAX_SHOWN_HISTORIES} more: 'appliance discover' lists them")
        self.query_one("#welcome-found", Static).update("\n".join(["On this machine:", *lines]))
        for selector in ("#welcome-found", "#welcome-watch"):
            self.query_one(selector).display = bool(self.found)

    async def _load_inbox(self) -> None:
        worker = cast("ApplianceApp", self.app).memory_worker
        with suppress(ApplianceError):  # the app reports it
            self._show_instructions((await worker.run_query(lambda memory: memory.overview.folders()))[0])

    def _show_instructions(self, inbox: str) -> None:
        instructions = (
            ("put", "exports of your chats into ", one_line(abbreviate_home(inbox)), ""),
            ("drop", "one on this window, or paste its path; or type it: ", "F5", ", then a"),
            ("run", "", "appliance ingest PATH", " in a shell"),
        )
        self.query_one("#welcome-lines", Static).update(
            Content("\n").join(
                Content.assemble((f" {verb:<5}", "bold $text-accent"), before, (target, "bold"), after)
                for verb, before, target, after in instructions
            )
        )

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await self.app.run_action("app.watch_found" if event.button.id == "welcome-watch" else "app.demo")


def _history_line(one: FoundHistory) -> str:
    """A history in a line: " Claude Code: ~120 conversations, 2025-03-01 to 2026-01-05"."""
    size = (
        ""
        if one.conversations is None
        else f" {'~' if one.estimated else ''}{pluralize(one.conversations, 'conversation')}"
    )
    span = " to ".join(dict.fromkeys(moment[:10] for moment in (one.first, one.last) if moment))
    return f" {one.tool}:{size}{', ' if size and span else ' ' if span else ''}{span}"


async def watch_found(app: ApplianceApp) -> None:
    """Add what was found on this machine to the watched folders, and read it now."""
    paths = [one.path for panel in app.query(FirstRunPanel) for one in panel.found]
    if not paths:
        app.notify("No histories were found on this machine. F5 imports any file.", timeout=4)
        return

    with app.report_errors():
        # The watcher of the home's owner follows the setting: this screen's, or a daemon's.
        await app.memory_worker.run_command(lambda memory: memory.watching.add(paths))
        count = "1 history" if len(paths) == 1 else f"{len(paths):,} histories"
        app.notify(f"Reading {count}; F5 shows the files.", timeout=4)


async def show_demo(app: ApplianceApp) -> None:
    """Import the samples as the user 'demo' unless they are there, and show that user's memory."""
    from appliance import demo

    def has_samples(memory: Appliance) -> bool:
        return any(entry.messages for entry in memory.overview.activity(user_id=DEMO_USER))

    with app.report_errors():
        if not await app.memory_worker.run_query(has_samples):
            outcome = await app.import_queue.import_files(demo.samples(), DEMO_USER)
            if outcome.error:
                app.notify_error(one_line(outcome.error))
                return
        app.user = DEMO_USER
        app.notify(DEMO_NOTICE, title="Sample chats", timeout=NOTICE_SECONDS, markup=False)
