"""What a person sees whose memory is empty: how to begin, in three lines, and sample chats to look around in."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Button, Static

from appliance_tui.widgets.words import from_home, one_line
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance_tui.app import ApplianceApp

DEMO = "demo"
"""The user whose the samples are: nothing of them mixes with the person's own."""

TOLD = (
    "These chats are made up, and belong to the user 'demo'. F9 goes back to your own memory;"
    " 'appliance forget --user demo --everything' erases them."
)
STAYS = 15.0
"""Seconds that this stands there."""


class FirstRun(Vertical):
    """How to begin. It asks by itself where the inbox is."""

    def compose(self) -> ComposeResult:
        yield Static(
            "Nothing is remembered yet. To begin, do one of these:", id="welcome-title", markup=False
        )
        yield Static("", id="welcome-lines", markup=False)
        yield Button("Look around in sample chats first (F9)", id="welcome-demo", compact=True)
        yield Static(
            "They are made up, and kept apart from your own as the user 'demo'.",
            id="welcome-note",
            markup=False,
        )

    def on_mount(self) -> None:
        self._write("the inbox folder in the home")
        begin(self, self._ask)

    async def _ask(self) -> None:
        from appliance.errors import ApplianceError

        try:
            folders = await cast("ApplianceApp", self.app).link.ask(lambda memory: memory.browsing.folders())
        except ApplianceError:
            return  # the app says so
        self._write(folders[0])

    def _write(self, inbox: str) -> None:
        ways = (
            ("put", "exports of your chats into ", one_line(from_home(inbox)), ""),
            ("drop", "one on this window, or paste its path; to type it: ", "F5", ", then a"),
            ("run", "", "appliance ingest PATH", " in a shell"),
        )
        self.query_one("#welcome-lines", Static).update(
            Content("\n").join(
                Content.assemble((f" {verb:<5}", "bold $text-accent"), before, (what, "bold"), after)
                for verb, before, what, after in ways
            )
        )

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await self.app.run_action("app.demo")


async def show_demo(app: ApplianceApp) -> None:
    """Read the samples as another user, unless they are there, and look at that one's memory."""
    from appliance import demo
    from appliance.errors import ApplianceError

    def is_there(memory: Appliance) -> bool:
        return any(one.messages for one in memory.browsing.activity(user_id=DEMO))

    try:
        if not await app.link.ask(is_there):
            outcome = await app.intake.read(demo.samples(), DEMO)
            if outcome.error:
                app.notify(one_line(outcome.error), severity="error", markup=False)
                return
    except ApplianceError as error:
        app.notify(one_line(str(error)), severity="error", markup=False)
        return
    app.user = DEMO
    app.notify(TOLD, title="Sample chats", timeout=STAYS, markup=False)
