"""The panel for an empty memory: what lies on this machine, how to import chats, and sample chats to explore."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
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

NOTHING_FOUND = "F8 imports the histories on this machine. None is left to import. F5 imports any file."

DEMO_NOTICE = (
    "These chats are fictional and belong to the user 'demo'. F9 returns to your own memory;"
    " To erase them: F12, Everything, while they are shown."
)
NOTICE_SECONDS = 15.0
"""Seconds for which the notice is shown."""


class HistoryList(RowList[FoundHistory]):
    """Histories on this machine. ``OPENS`` is the id of the action that Enter does."""

    OPENS = "offer.read"


class FirstRunPanel(VerticalScroll, can_focus=False):
    """Instructions for the first import."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", show=False),
        Binding("up,k", "step(-1)", show=False),
        Binding("escape", "leave", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Static("Nothing imported yet.", id="welcome-title", markup=False)
        yield Static("", id="welcome-found-title", markup=False)
        yield HistoryList(_render_history, key=lambda one: one.path, id="welcome-found")
        yield Button("Import all, and watch these places for more (F8)", id="welcome-watch", compact=True)
        yield Static("", id="welcome-lines", markup=False)
        yield Button("Explore sample chats first (F9)", id="welcome-demo", compact=True)
        yield Static("They are fictional and belong to a separate user, 'demo'.", id="welcome-note", markup=False)

    def on_mount(self) -> None:
        self.found: Sequence[FoundHistory] = ()
        self._has_looked = False
        self._inbox = "the inbox folder in the home"
        self._show_found()

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

    def submits(self, typed: str) -> str:
        """The id of the action that Enter does in the search line; "" for none of the footer."""
        return "" if self.found and typed else "offer.read"

    def submit(self, typed: str) -> None:
        """Do what Enter does in the search line: import the selected history, or ask for a file if there is none."""
        if not self.found:
            cast("ApplianceApp", self.app).offer_import()
        elif typed:  # who has typed wants to search, and there is nothing yet
            self.enter()
        else:
            self.query_one("#welcome-found", RowList).action_select()

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
        count = "1 history" if len(self.found) == 1 else f"{len(self.found):,} histories"
        more = " (↓ shows more)" if len(self.found) > MAX_HISTORY_ROWS else ""
        self.query_one("#welcome-found-title", Static).update(f"{count} on this machine{more}. Enter imports one:")
        rows.show(self.found)
        self._show_instructions()
        cast("ApplianceApp", self.app).histories_left = len(self.found)
        self.screen.refresh_bindings()

    async def _load_inbox(self) -> None:
        worker = cast("ApplianceApp", self.app).memory_worker
        with suppress(ApplianceError):  # the app reports it
            self._inbox = (await worker.run_query(lambda memory: memory.overview.folders()))[0]
            self._show_instructions()

    def _show_instructions(self) -> None:
        ways = [
            Content.assemble((f" {program:<10}", "bold $text-accent"), (where, "$foreground-muted"))
            for program, where in EXPORTS
        ]
        folder = (one_line(abbreviate_home(self._inbox)), "bold")
        command = ("appliance ingest PATH", "bold")
        asks = (("F5 and a", "bold"), " ask") if self.found else (("Enter", "bold"), " (or F5 and a) asks")
        ways_in = Content.assemble(*asks, " for its path. Or drop it on this window,")
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
            begin(app, partial(import_found, app, chosen), "import-found")


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


async def import_found(app: ApplianceApp, one: FoundHistory) -> None:
    """Import a history, once: nothing is watched. Then say how many others there are."""
    from appliance_tui.screens.import_preview import import_and_notify

    if app.import_queue.has(path := Path(one.path)):
        return
    app.notify(f"Importing {one.tool}. F5 shows the files.", timeout=4, markup=False)
    if await import_and_notify(app, [path]):
        for panel in app.query(FirstRunPanel):
            panel.drop_found([one.path])
        if count := len(unimported(app)):
            others = "1 other history is" if count == 1 else f"{count:,} other histories are"
            app.notify(f"{others} on this machine. F8 imports all, and watches their places for more.", timeout=10)


def unimported(app: ApplianceApp) -> list[FoundHistory]:
    """The histories that were found on this machine, and neither imported nor watched."""
    return [one for panel in app.screen_stack[0].query(FirstRunPanel) for one in panel.found]


def _find_unimported(memory: Appliance) -> list[FoundHistory]:
    """What lies on this machine, and is neither imported nor watched. Call it on a thread."""
    return [
        one
        for one in memory.discover(seconds=COUNT_SECONDS)
        if not one.problem and not one.watched and not memory.overview.imported_files(one.path, limit=1)
    ]


async def watch_found(app: ApplianceApp) -> None:
    """Add what was found on this machine to the watched folders, and read it now. Of what was downloaded the folder of
    downloads is watched, in which the next export arrives. Where nothing is listed, look again and ask."""
    from appliance_tui.screens.picker import PickerOption, PickerScreen

    if not (found := unimported(app)):
        app.notify("Looking for histories on this machine …", timeout=3)
        with app.report_errors():
            found = await app.memory_worker.run_query(_find_unimported)
        if not found:
            app.notify(NOTHING_FOUND, timeout=6)
            return
        everything = PickerOption("", "Import all, and watch their places for more", f"{len(found):,} found")
        options = {
            PickerOption("", _history_line(one), one_line(abbreviate_home(one.path))): one for one in found
        }  # each as the panel of an empty memory lists it
        chosen = await app.push_screen_wait(PickerScreen("Histories on this machine", [everything, *options]))
        if chosen is None:
            return
        if (one := options.get(chosen)) is not None:
            await import_found(app, one)
            return

    paths = list(dict.fromkeys(one.watch_path or one.path for one in found))
    with app.report_errors():
        # The watcher of the home's owner follows the setting: this screen's, or a daemon's.
        await app.memory_worker.run_command(lambda memory: memory.watching.add(paths))
        name = found[0].tool if len(found) == 1 else f"{len(found):,} histories"
        places = ", ".join(abbreviate_home(one_line(path)) for path in paths)
        app.notify(f"Importing {name}. F5 shows the files. Watched from now on: {places}", timeout=8, markup=False)
        for panel in app.screen_stack[0].query(FirstRunPanel):
            panel.drop_found([one.path for one in found])


async def show_demo(app: ApplianceApp) -> None:
    """Import the samples as the user 'demo' unless they are there, and show that user's memory. Where there are other
    messages, ask before they are imported."""
    from appliance import demo
    from appliance_tui.screens.picker import PickerOption, PickerScreen

    def look(memory: Appliance) -> tuple[bool, bool]:
        has_samples = any(entry.messages for entry in memory.overview.activity(user_id=DEMO_USER))
        return has_samples, bool(memory.overview.counts()["messages"])

    with app.report_errors():
        has_samples, has_messages = await app.memory_worker.run_query(look)
        if not has_samples:
            if has_messages:
                yes = PickerOption("", "Import them and show them", "as the user 'demo', apart from your own")
                no = PickerOption("", "Stay", "nothing is imported")
                if (
                    await app.push_screen_wait(
                        PickerScreen("Import the fictional sample chats?", [no, yes], is_question=True)
                    )
                    is not yes
                ):
                    return
            # They may have been erased before, and are asked for now.
            outcome = await app.import_queue.import_files(demo.samples(), DEMO_USER, again=True)
            if outcome.error:
                app.notify_error(one_line(outcome.error))
                return
        app.user = DEMO_USER
        app.notify(DEMO_NOTICE, title="Sample chats", timeout=NOTICE_SECONDS, markup=False)
