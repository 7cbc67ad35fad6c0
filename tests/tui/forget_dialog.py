"""The dialog to forget messages, under test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from screens import until
from textual.pilot import Pilot
from textual.widgets import Static

from appliance import Appliance
from appliance.types import Receipt
from appliance_tui.app import ApplianceApp
from appliance_tui.screens.forget import ForgetScreen

Body = Callable[[Pilot[None], ForgetScreen, list[Receipt | None]], Awaitable[None]]


def two_conversations(memory: Appliance) -> list[str]:
    """Fill a memory with two conversations; returns the ids of their messages."""
    first, second = memory.sessions.create(title="Envelopes"), memory.sessions.create(title="Tea")
    ids = [
        first.add("user", "The blue envelope lies under the stairs.").id,
        first.add("user", "Nobody knows of the blue envelope but me.").id,
        second.add("user", "I like green tea in the morning.").id,
    ]
    memory.embed_pending()
    return ids


def run(memory: Appliance, ids: tuple[str, ...], body: Body, size: tuple[int, int] = (120, 40)) -> None:
    """Run the body of a test with the dialog open."""

    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        given: list[Receipt | None] = []
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.status_text)
            screen = ForgetScreen(ids)
            app.push_screen(screen, given.append)
            await until(pilot, lambda: screen.is_mounted and app.screen is screen)
            await body(pilot, screen, given)

    asyncio.run(go())


def told(screen: ForgetScreen) -> str:
    return str(screen.query_one("#forget-text", Static).render())


def asks(screen: ForgetScreen) -> bool:
    return bool(screen.query_one("#forget-confirm").display)


async def done(pilot: Pilot[None], screen: ForgetScreen) -> None:
    await until(pilot, lambda: screen._stage == "done")
