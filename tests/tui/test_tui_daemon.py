"""The screen on a daemon's memory: one that goes away takes nothing along."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
from screens import run, type_in, until
from textual.widgets import Static

from appliance import Appliance, config
from appliance_tui.app import ApplianceApp
from appliance_tui.widgets.first_run import FirstRunPanel
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.search_line import SearchInput
from tests.discovery import layouts
from tests.server.daemons import end, filled, start

pytestmark = pytest.mark.slow


@pytest.mark.enable_socket
def test_a_daemon_that_is_killed_is_told_of_and_waited_for_and_nothing_typed_is_lost(home: Path) -> None:
    daemon = start(filled(home))

    async def body() -> None:
        nonlocal daemon
        app = ApplianceApp(lambda: Appliance.open(home))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.status_text)
            assert app.memory_worker.memory().is_attached
            hits, banner = app.query_one(HitList), app.query_one("#banner", Static)
            assert not banner.display
            await type_in(pilot, "spelt")
            await until(pilot, lambda: hits.hits)
            daemon.process.send_signal(signal.SIGKILL)
            daemon.process.communicate()
            await type_in(pilot, " flour")
            await until(pilot, lambda: banner.display)
            assert "daemon has stopped" in str(banner.render())
            await type_in(pilot, " grams")
            assert app.query_one(SearchInput).value == "spelt flour grams"
            daemon = start(home)
            await until(pilot, lambda: not banner.display)
            await until(pilot, lambda: app.screen.answered_query == "spelt flour grams")  # type: ignore[attr-defined]
            assert "500 grams" in hits.hits[0].text

    try:
        run(body)
    finally:
        end(daemon)


def test_every_screen_shows_what_the_daemon_has(home: Path) -> None:
    daemon = start(filled(home))

    async def body() -> None:
        app = ApplianceApp(lambda: Appliance.open(home))
        async with app.run_test(size=(140, 40)) as pilot:

            async def sees(*words: str) -> None:
                await until(pilot, lambda: all(one in words_of(app) for one in words))

            await until(pilot, lambda: app.status_text)
            await type_in(pilot, "spelt flour")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await pilot.press("enter")
            await sees("500 grams", "2 of 4")
            await pilot.press("escape")
            await until(pilot, lambda: app.screen.query(HitList))
            await pilot.press("tab", "d")
            await sees("This erases 1 message")
            await pilot.press("escape", "w")
            await sees("by which the hits are ordered")
            await pilot.press("escape", "f2")
            await sees("Kitchen", "2 conversations")
            await pilot.press("f3")
            await type_in(pilot, "spelt flour")
            await sees("Memories from earlier conversations", "500 grams")
            await pilot.press("f4")
            await sees("Naples")
            await pilot.press("f5")
            await sees(str(home / "inbox")[-20:])
            await pilot.press("f6", "t")
            await sees("no trouble found")

    try:
        run(body)
    finally:
        end(daemon)


def words_of(app: ApplianceApp) -> str:
    """What stands on the screen, as a person reads it."""
    return "\n".join("".join(piece.text for piece in line) for line in app.screen._compositor.render_strips())


def test_a_pin_is_not_set_twice_when_nobody_knows_whether_it_was_set(home: Path) -> None:
    daemon = start(filled(home))

    async def body() -> None:
        app = ApplianceApp(lambda: Appliance.open(home))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: app.status_text)
            await type_in(pilot, "spelt")
            await until(pilot, lambda: app.query_one(HitList).hits)
            end(daemon)
            await pilot.press("tab", "p")
            await until(pilot, lambda: any("daemon" in one.message for one in app._notifications))
            assert "★" not in str(app.query_one(HitList).get_option_at_index(0).prompt)

    run(body)


def test_f8_beside_a_daemon_asks_it_to_watch_and_starts_no_second_watcher(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = tmp_path / "ines"
    projects = layouts.claude_code(person)
    monkeypatch.setenv("HOME", str(person))
    daemon = start(filled(home, []), APPLIANCE_WATCH_SETTLE="0.1")

    async def body() -> None:
        app = ApplianceApp(lambda: Appliance.open(home))
        async with app.run_test(size=(80, 24)) as pilot:
            found = app.screen.query_one(FirstRunPanel).query_one("#welcome-found", RowList)
            await until(pilot, lambda: found.display and [one.tool for one in found.items] == ["Claude Code"])
            await pilot.press("f8")
            memory = app.memory_worker.memory()
            assert memory.is_attached_to_daemon
            await until(pilot, lambda: memory.overview.counts()["messages"] == 2)
            assert config.load(memory.home).watch.folders == (str(projects),)
            assert not [thread for thread in threading.enumerate() if thread.name == "appliance-screen-watch"]
            layouts.claude_code(person, "0d5e2c8a-4a0c-4e55-8a5e-7f1f0a6b1c02")
            await until(pilot, lambda: memory.overview.counts()["messages"] == 4)

    try:
        run(body)
    finally:
        end(daemon)
    log = "".join(path.read_text() for path in (home / "logs").glob("*"))
    assert log.count('"read a file"') == 2, "each file once"
