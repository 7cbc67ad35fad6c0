"""The scenes of the screen: what is pressed until a screen, a dialog or a state of one can be looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest
from screens import Scene, fill, opened, until
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from appliance import Appliance
from appliance_tui.app import DAEMON_LOST_MESSAGE, ApplianceApp
from appliance_tui.screens.context import ContextScreen
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.search_line import SearchInput

NOW = int(datetime(2025, 6, 1, 12, tzinfo=UTC).timestamp() * 1e9)


async def searched(app: ApplianceApp, pilot: Pilot[None]) -> None:
    app.query_one(SearchInput).insert_text_at_cursor("walnuts in the bread")
    await until(pilot, lambda: app.screen.answered_query == "walnuts in the bread")  # type: ignore[attr-defined]


async def begun(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.query_one(SearchInput).completions)


async def narrowed(app: ApplianceApp, pilot: Pilot[None]) -> None:
    app.query_one(SearchInput).insert_text_at_cursor("source:native since:2025-04 ")
    await until(pilot, lambda: not app.query_one(SearchInput).value)
    await searched(app, pilot)


async def why(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await searched(app, pilot)
    await pilot.press("tab", "w")


async def help(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("tab", "question_mark")


async def going(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("tab", "colon", *"ana")
    await until(pilot, lambda: getattr(app.screen, "_listed_text", "") == "ana")


async def choosing(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("tab", "f")
    await until(pilot, lambda: app.screen.query("OptionList"))


async def gone(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await searched(app, pilot)
    app.banner = DAEMON_LOST_MESSAGE


async def still(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """Return when no work of the app is left, and all that it came to is drawn: also on a screen under a dialog."""
    drawn: list[list[Strip]] = []

    def is_still() -> bool:
        nonlocal drawn
        nodes = chain([app], *(screen.walk_children(with_self=True) for screen in app.screen_stack))
        dialogs = [call for screen in app.screen_stack for call in screen._result_callbacks if call.future]
        working = len(app.workers) > len(dialogs)  # a worker waits for the answer to each dialog
        idle = not working and not any(node.message_queue_size for node in nodes)
        before, drawn = drawn, []
        for line in app.screen.query(Input):
            line.cursor_blink = False
        for screen in app.screen_stack:
            screen._on_timer_update()  # ``pause`` does so for the uppermost alone
            drawn.append(screen._compositor.render_strips())
        return idle and drawn == before

    await until(pilot, is_still)


def words(app: ApplianceApp) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def of(key: str) -> Scene:
    """The screen of a key."""

    async def go(app: ApplianceApp, pilot: Pilot[None]) -> None:
        await begun(app, pilot)
        await pilot.press(key)
        await still(app, pilot)

    return go


async def reading(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await searched(app, pilot)
    await pilot.press("enter")
    await still(app, pilot)
    # A text that begins to be drawn in this moment is no work yet.
    await until(pilot, lambda: all(row.strip("▌ ") != "…" for row in words(app).splitlines()))
    await still(app, pilot)


async def context(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await pilot.press("f3")
    app.screen.query(Input).first().insert_text_at_cursor("what is Ana allergic to?")
    await until(pilot, lambda: "left out" in words(app))
    await still(app, pilot)


async def review(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await of("f4")(app, pilot)
    await pilot.press("2")
    await still(app, pilot)


async def disputed(app: ApplianceApp, pilot: Pilot[None]) -> None:
    app.user = "maria"
    await review(app, pilot)
    await until(pilot, lambda: app.screen.query_one("#conflicts").display)
    await still(app, pilot)


async def offered(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    app.offer_import(Path("~/Downloads/WhatsApp Chat with Ana.zip"), Path("~/Downloads/conversations.json"))
    await until(pilot, lambda: app.screen.query("#offer-text"))
    await still(app, pilot)


async def present(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await of("f3")(app, pilot)
    await pilot.press("tab", "s")
    await until(pilot, lambda: app.screen.query("#present-rows") and app.screen.query_one(RowList).items)
    await still(app, pilot)


async def receipts(app: ApplianceApp, pilot: Pilot[None]) -> None:
    # How many files it has been looked through in, and their sizes, are the machine's.
    memory = app.memory_worker.memory()
    found = [replace(one, proof=replace(one.proof, files=97, bytes=12_400_000)) for one in memory.erasure.receipts()]
    memory.erasure.receipts = lambda: found  # type: ignore[method-assign]
    await of("f4")(app, pilot)
    await pilot.press("4", "d")
    await until(pilot, lambda: app.screen.query("#forgetting"))
    await pilot.press("ctrl+r")
    await until(pilot, lambda: app.screen.query_one("#forget-receipts", RowList).items)
    await still(app, pilot)


async def forgetting(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await searched(app, pilot)
    await pilot.press("tab", "d")
    await until(pilot, lambda: app.screen.query_one("#forget-confirm").display)
    await still(app, pilot)


async def repeats(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """What is to be forgotten, and what else says it."""
    await begun(app, pilot)
    app.action_forget()
    await until(pilot, lambda: app.screen.query("#forget-words"))
    app.screen.query_one("#forget-words", Input).value = "My deadline for the ledger"
    await until(pilot, lambda: "May still say it" in words(app))
    await still(app, pilot)


def changed(*budgets: tuple[int, str]) -> Scene:
    """A context after its budget has changed, to some numbers of tokens with what the screen then says."""

    async def go(app: ApplianceApp, pilot: Pilot[None]) -> None:
        await context(app, pilot)
        screen = app.screen
        assert isinstance(screen, ContextScreen)
        for budget, mark in budgets:
            screen.options = replace(screen.options, budget=budget)
            await until(pilot, lambda mark=mark: mark in words(app))  # type: ignore[misc]
        assert screen._change_timer is not None
        screen._change_timer.pause()  # the moment lasts as long as it is looked at
        await still(app, pilot)

    return go


async def vitals(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    memory = app.memory_worker.memory()
    real = memory.status
    measured = {"calls": 40, "p50": 12.0, "p95": 21.0, "p99": 30.0}
    # What differs from run to run and from machine to machine.
    memory.status = lambda: {  # type: ignore[method-assign]
        **real(),
        "latency": {"search": measured, "context": measured, "embedding": measured},
        "disk_bytes": {"database": 500_000, "vectors": 150_000, "index": 1_300_000},
        "apparent_bytes": {"database": 500_000, "vectors": 150_000, "index": 330_000_000},
        "memory": {"anonymous": 60_000_000, "files": 60_000_000},
        "backup": {
            "path": "/media/usb/memory",
            "is_there": True,
            "other": None,
            "at": (datetime.now(UTC) - timedelta(days=3)).isoformat(),
        },
    }
    await pilot.press("f6")
    await still(app, pilot)


async def calendar(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    await pilot.press("ctrl+y")
    await still(app, pilot)


async def files(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await of("f2")(app, pilot)
    await pilot.press("A")
    await still(app, pilot)


async def welcome(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    app.user = "nobody"
    await until(pilot, lambda: app.screen.query_one("FirstRunPanel").display)
    await still(app, pilot)


async def listed(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await searched(app, pilot)
    await pilot.press("tab")


async def completed(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    app.query_one(SearchInput).insert_text_at_cursor("role:ass")
    await until(pilot, lambda: app.query_one(SearchInput)._suggestion)


async def palette(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    await pilot.press("ctrl+p", "p", "i", "n")
    await until(pilot, lambda: app.screen.query("OptionList") and app.screen.query_one("OptionList").option_count)  # type: ignore[attr-defined]


async def notified(app: ApplianceApp, pilot: Pilot[None]) -> None:
    await begun(app, pilot)
    app.notify("Pinned", title="Done", timeout=3600)
    app.notify("The file no longer exists", severity="warning", timeout=3600)
    app.notify_error("The index can't be opened", timeout=3600)
    await until(pilot, lambda: len(app.screen.query("Toast")) == 3)


async def found_in(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """A conversation with words that are searched in it."""
    app.query_one(SearchInput).insert_text_at_cursor("Mira moved to Lisbon")
    await until(pilot, lambda: app.screen.answered_query == "Mira moved to Lisbon")  # type: ignore[attr-defined]
    await pilot.press("enter")
    await still(app, pilot)
    await pilot.press("slash", *"Lisbon", "enter")
    await still(app, pilot)


def then(scene: Scene, *keys: str) -> Scene:
    """A scene, and what comes of further keys."""

    async def go(app: ApplianceApp, pilot: Pilot[None]) -> None:
        await scene(app, pilot)
        await pilot.press(*keys)
        await still(app, pilot)

    return go


SCENES: dict[str, Scene] = {
    "recall-begun": begun,
    "recall-found": searched,
    "recall-start": then(begun, "down", "down"),
    "recall-narrowed": narrowed,
    "recall-gone": gone,
    "why": why,
    "help": help,
    "choosing": choosing,
    "going": going,
    "welcome": welcome,
    "conversations": of("f2"),
    "reading": reading,
    "context": context,
    "memory": of("f4"),
    "review": review,
    "review-disputed": disputed,
    "present": present,
    "inbox": of("f5"),
    "offer": offered,
    "forgetting": forgetting,
    "receipts": receipts,
    "vitals": vitals,
    "people": of("f7"),
    "calendar": calendar,
    "files": files,
    "recall-list": listed,
    "recall-completed": completed,
    "palette": palette,
    "notified": notified,
    "reading-found": found_in,
    "context-rows": then(context, "tab", "down", "down"),
    "memory-details": then(of("f4"), "tab"),
    "picker": then(of("f2"), "f"),
    "import": then(of("f5"), "a"),
    "proposals": then(of("f7"), "2"),
}


MOMENTS: dict[str, Scene] = {
    "repeats": repeats,
    "context-smaller": changed((60, "now left out")),
    "context-larger": changed((60, "now left out"), (8_000, "now included")),
}
"""Scenes that are looked at for what they say, and not drawn."""


def about_herself(memory: Appliance) -> None:
    """What another user said of herself, two things of which contradict each other; and one that is forgotten."""
    gone = memory.sessions.create(user_id="maria").add("user", "Nobody needs to know this.")
    memory.embed_pending()
    memory.erasure.forget(memory.erasure.preview(gone.id, user_id="maria"))
    session = memory.sessions.create(title="About me", user_id="maria")
    for text in ("My birthday is on 3 May.", "My birthday is on 4 May."):
        session.add("user", text)
    memory.run_pending_jobs()


@contextmanager
def looked_at_home(folder: Path) -> Iterator[Path]:
    """A home whose clock stands still. No scene changes what is in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("TZ", "UTC")
        time.tzset()
        patch.setattr(time, "time_ns", lambda: NOW)
        patch.setattr(time, "time", lambda: NOW / 1e9)
        patch.setattr("appliance_tui.screens.status.POLL_INTERVAL_SECONDS", 3600.0)
        home = fill(folder / "home", folder)
        with opened(home)() as memory:
            about_herself(memory)
        yield home
    time.tzset()
