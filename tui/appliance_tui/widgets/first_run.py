"""The panel for an empty memory: what lies on this machine, how to import chats, and sample chats to explore."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from appliance.errors import ApplianceError
from appliance.types import FoundHistory
from appliance_tui.widgets.display_text import abbreviate_home, one_line, pluralize
from appliance_tui.widgets.rows import MUTED, RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import begin

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

MAX_HISTORY_ROWS = 4
"""Histories that are seen at once, so that the panel fits a small terminal; others scroll."""

EXPORTS = (
    ("ChatGPT", "Settings → Data controls → Export data"),
    ("Claude", "Settings → Privacy → Export data"),
    ("WhatsApp", "in a chat: ⋮ (or its name) → More → Export chat"),
    ("Slack", "workspace settings → Import/Export data (admins)"),
    ("Telegram", "Desktop: Settings → Advanced → Export data (JSON)"),
)
"""Where exports come from, as the programs call it."""

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


class FirstRunPanel(VerticalScroll, can_focus=False):
    """Instructions for the first import."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", show=False),
        Binding("up,k", "step(-1)", show=False),
        Binding("escape", "leave", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Static("Nothing imported yet.", id="welcome-title", markup=False)
        yield Static("On this machine; Enter imports one:", id="welcome-found-title", markup=False)
        yield RowList[FoundHistory](_render_history, key=lambda one: one.path, id="welcome-found")
        yield Button("Import all, and follow what is added (F8)", id="welcome-watch", compact=True)
        yield Static("", id="welcome-lines", markup=False)
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
        if not shown and self.has_focus_within:
            self.action_leave()
        self.display = shown
        if shown and not self._has_looked:
            self._has_looked = True
            begin(self, self._load_inbox)
            begin(self, self._discover, "discover")

    def enter(self) -> None:
        """Move the focus into the panel."""
        first = next((widget for widget in self.query("RowList, Button") if widget.display and widget.focusable), None)
        if first is not None:
            first.focus()

    def action_step(self, by: int) -> None:
        """Move in the list, and from its ends to what is above and below it."""
        rows = self.query_one("#welcome-found", RowList)
        if rows.has_focus and rows.marked is not None and 0 <= rows.marked + by < len(rows.items):
            rows.action_step(by)
        else:
            self.screen.focus_next() if by > 0 else self.screen.focus_previous()

    def action_leave(self) -> None:
        """Go back to the search line."""
        self.screen.query_one(SearchInput).focus()

    async def _discover(self) -> None:
        worker = cast("ApplianceApp", self.app).memory_worker
        with suppress(ApplianceError):  # the app reports it
            discovery = await worker.run_query(lambda memory: memory.discover(seconds=COUNT_SECONDS))
            self.found = [one for one in discovery if not one.problem and not one.watched]
            self._show_found()

    def drop_found(self, paths: Collection[str]) -> None:
        """List the histories with these paths no longer: they are followed now."""
        self.found = [one for one in self.found if one.path not in paths]
        self._show_found()

    def _show_found(self) -> None:
        rows = cast("RowList[FoundHistory]", self.query_one("#welcome-found", RowList))
        rows.styles.height = min(len(self.found), MAX_HISTORY_ROWS)
        for widget in (rows, self.query_one("#welcome-found-title"), self.query_one("#welcome-watch")):
            widget.display = bool(self.found)
        rows.show(self.found)

    async def _load_inbox(self) -> None:
        worker = cast("ApplianceApp", self.app).memory_worker
        with suppress(ApplianceError):  # the app reports it
            self._show_instructions((await worker.run_query(lambda memory: memory.overview.folders()))[0])

    def _show_instructions(self, inbox: str) -> None:
        ways = [
            Content.assemble((f" {program:<10}", "bold $text-accent"), (where, "$foreground-muted"))
            for program, where in EXPORTS
        ]
        folder = (one_line(abbreviate_home(inbox)), "bold")
        key, command = ("Enter", "bold"), ("appliance ingest PATH", "bold")
        ways_in = Content.assemble(key, " (or F5 and a) asks for its path. Or drop it on this window,")
        end = Content.assemble("put it into ", folder, ", or run ", command, ".")
        lines = [Content.styled("How to get an export:", "bold"), *ways, ways_in, end]
        self.query_one("#welcome-lines", Static).update(Content("\n").join(lines))

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await self.app.run_action("app.watch_found" if event.button.id == "welcome-watch" else "app.demo")

    @on(RowList.Opened, "#welcome-found")
    def _import_one(self, event: RowList.Opened) -> None:
        event.stop()
        if (chosen := cast("FoundHistory | None", event.rows.chosen)) is not None:
            app = cast("ApplianceApp", self.app)
            begin(app, partial(watch_found, app, [chosen]), "discover")


def _render_history(one: FoundHistory, width: int) -> Content:
    line = one_line(_history_line(one))
    return Content.assemble(line, (f"  {abbreviate_home(one_line(one.path))}", MUTED)).truncate(width, ellipsis=True)


def _history_line(one: FoundHistory) -> str:
    """A history in a line: "Claude Code: ~120 conversations, 2025-03-01 to 2026-01-05"."""
    size = (
        ""
        if one.conversations is None
        else f" {'~' if one.estimated else ''}{pluralize(one.conversations, 'conversation')}"
    )
    span = " to ".join(dict.fromkeys(moment[:10] for moment in (one.first, one.last) if moment))
    return f"{one.tool}:{size}{', ' if size and span else ' ' if span else ''}{span}"


async def watch_found(app: ApplianceApp, found: Sequence[FoundHistory] | None = None) -> None:
    """Add what was found on this machine to the watched folders, and read it now: all of it, or only ``found``."""
    panels = list(app.query(FirstRunPanel))
    if found is None:
        found = [one for panel in panels for one in panel.found]
    if not found:
        app.notify("No histories were found on this machine. F5 imports any file.", timeout=4)
        return

    paths = [one.path for one in found]
    with app.report_errors():
        # The watcher of the home's owner follows the setting: this screen's, or a daemon's.
        await app.memory_worker.run_command(lambda memory: memory.watching.add(paths))
        name = found[0].tool if len(found) == 1 else f"{len(found):,} histories"
        app.notify(f"Importing {name}. F5 shows the files.", timeout=4, markup=False)
        for panel in panels:
            panel.drop_found(paths)


async def show_demo(app: ApplianceApp) -> None:
    """Import the samples as the user 'demo' unless they are there, and show that user's memory."""
    from appliance import demo

    def has_samples(memory: Appliance) -> bool:
        return any(entry.messages for entry in memory.overview.activity(user_id=DEMO_USER))

    with app.report_errors():
        if not await app.memory_worker.run_query(has_samples):
            # They may have been erased before, and are asked for now.
            outcome = await app.import_queue.import_files(demo.samples(), DEMO_USER, again=True)
            if outcome.error:
                app.notify_error(one_line(outcome.error))
                return
        app.user = DEMO_USER
        app.notify(DEMO_NOTICE, title="Sample chats", timeout=NOTICE_SECONDS, markup=False)
