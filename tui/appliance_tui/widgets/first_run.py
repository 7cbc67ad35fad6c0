"""The panel for an empty memory: how to import chats, and sample chats to explore."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from appliance.errors import ApplianceError
from appliance_tui.widgets.display_text import abbreviate_home, one_line
from appliance_tui.workers import begin

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

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
        yield Button("Explore sample chats first (F9)", id="welcome-demo", compact=True)
        yield Static("They are fictional and belong to a separate user, 'demo'.", id="welcome-note", markup=False)

    def on_mount(self) -> None:
        self._show_instructions("the inbox folder in the home")
        begin(self, self._load_inbox)

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
        await self.app.run_action("app.demo")


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
