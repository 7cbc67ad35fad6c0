"""The footer shows the keys that do something now, and always those of Help and Quit; keys and names can be clicked."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from screens import fill, run, shown, type_in, until
from test_tui_keys import GETS_THERE
from textual.pilot import Pilot
from textual.widgets import Input

from appliance_tui.app import ApplianceApp
from appliance_tui.frame import KeyFooter, ScreenBar
from appliance_tui.screens.help import HelpScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.transcript import TranscriptView

FRAMES = ("recall", "conversations", "reading", "context", "memory", "inbox", "vitals")
DIALOGS = ("offer", "forget")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("footer")
    return fill(folder / "home", folder)


def footer(app: ApplianceApp) -> str:
    """The words of the footer."""
    return "".join(part.content.plain for part in app.screen.query_one(KeyFooter).parts)


async def settled(app: ApplianceApp, pilot: Pilot[None]) -> None:
    """The footer is that of the present focus and size."""
    app.screen.refresh_bindings()
    await pilot.pause(0)
    await until(pilot, lambda: cell_len(footer(app)) == app.screen.query_one(KeyFooter).size.width)


@pytest.mark.slow
@pytest.mark.parametrize("place", [*FRAMES, *DIALOGS])
def test_the_footer_fits_at_every_width_and_keeps_help_and_quit(place: str, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await GETS_THERE[place](app, pilot)
            for width in (140, 100, 80):
                await pilot.resize_terminal(width, 30)
                await until(pilot, lambda width=width: app.screen.size.width == width)  # type: ignore[misc]
                for widget in [None, *app.screen.focus_chain]:
                    app.screen.set_focus(widget)
                    await settled(app, pilot)
                    text = footer(app)
                    assert cell_len(text) == app.screen.query_one(KeyFooter).size.width
                    assert text.rstrip().endswith("Help  ^q Quit"), (width, widget, text)
                    assert "esc" in text or place not in ("reading", *DIALOGS)
            await pilot.press("f10")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("f10")
            await until(pilot, lambda: getattr(app.screen, "PLACE", "") == place)

    run(body)


def test_the_footer_shows_what_works_now(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 30)) as (app, pilot):
            await settled(app, pilot)
            assert ": Go to" in footer(app)  # on the empty line, it is no text
            assert "Search" not in footer(app)
            assert "Why" not in footer(app)
            await type_in(pilot, "ferry")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await settled(app, pilot)
            assert footer(app).split()[:4] == ["⏎", "Open", "tab", "Commands"]
            assert "Why" not in footer(app)  # a letter would be typed
            assert "f10 Help" in footer(app) and "Forget" not in footer(app)
            await pilot.press("tab")
            await settled(app, pilot)
            assert {"w Why", "p Pin", "/ Search", "f10 Help"} <= {
                part.content.plain.strip() for part in app.screen.query_one(KeyFooter).parts
            }
            await pilot.press("p")
            await until(pilot, lambda: "p Unpin" in footer(app))
            await pilot.press("p")
            await until(pilot, lambda: "p Pin" in footer(app))
            app.query_one(HitList).show(None)
            await settled(app, pilot)
            assert "Why" not in footer(app)  # there is no hit to explain
            assert "Search" in footer(app)

    run(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "always", "gone"),
    [
        ("conversations", {"Pin", "Forget", "Titles"}, None),
        ("memory", {"Accept", "Reject", "Add"}, "2"),
        ("inbox", {"Add"}, None),
    ],
)
def test_the_footer_follows_the_selection(place: str, always: set[str], gone: str | None, filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 30)) as (app, pilot):
            await GETS_THERE[place](app, pilot)
            await settled(app, pilot)
            await until(pilot, lambda: always <= set(footer(app).split()))
            assert "Stop" not in footer(app)  # no import runs
            if gone is not None:  # a view without a fact
                await pilot.press(gone)
                await until(pilot, lambda: "Accept" not in footer(app))
                assert "Add" in footer(app)

    run(body)


@pytest.mark.slow
def test_the_keys_of_the_footer_and_the_names_of_the_bar_can_be_clicked(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (100, 30)) as (app, pilot):
            await GETS_THERE["recall"](app, pilot)
            await settled(app, pilot)
            before = footer(app)
            await pilot.hover(KeyFooter, (before.index("Open"), 0))
            bar = app.screen.query_one(KeyFooter)
            assert bar.hovered is not None
            assert bar.tooltip == "Open the message in its conversation."
            assert footer(app) == before  # a highlight, no other text
            await pilot.click(KeyFooter, (before.index("Open"), 0))
            await until(pilot, lambda: app.screen.query(TranscriptView))
            await settled(app, pilot)
            names = "".join(part.content.plain for part in app.screen.query_one(ScreenBar).parts)
            await pilot.click(ScreenBar, (names.index("Memory"), 0))
            await until(pilot, lambda: app.screen.PLACE == "memory")  # type: ignore[attr-defined]
            await pilot.click(ScreenBar, (names.index("Recall"), 0))
            await until(pilot, lambda: app.screen.PLACE == "reading")  # type: ignore[attr-defined]
            await pilot.click(ScreenBar, (names.index("Recall"), 0))  # again: what lies on it is closed
            await until(pilot, lambda: app.screen.PLACE == "recall")  # type: ignore[attr-defined]

    run(body)


@pytest.mark.slow
def test_a_newcomer_finds_reads_pins_and_leaves_by_what_the_footer_says(filled: Path) -> None:
    """Each key is read off the footer, by the name beside it."""

    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):

            async def press(name: str) -> None:
                """Press the key that stands before a name."""
                await settled(app, pilot)
                shown_keys = [part.content.plain.split(maxsplit=1) for part in app.screen.query_one(KeyFooter).parts]
                (key,) = {words[0] for words in shown_keys if len(words) == 2 and words[1].strip() == name}
                await pilot.press(*{"⏎": ["enter"], "esc": ["escape"], "^q": ["ctrl+q"]}.get(key, [key]))

            assert isinstance(app.focused, Input)  # where one types
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: app.query_one(HitList).hits)
            await press("Open")
            await until(pilot, lambda: app.screen.query(TranscriptView))
            view = app.screen.query_one(TranscriptView)
            await until(pilot, lambda: view.marked_id)
            found = view.mark
            await pilot.press("up")
            await until(pilot, lambda: view.mark == found - 1)
            await pilot.press("down")
            await until(pilot, lambda: view.mark == found)
            await press("Pin")
            await until(pilot, lambda: view.is_pinned(found))
            await press("Back")
            await until(pilot, lambda: app.screen.PLACE == "recall")  # type: ignore[attr-defined]
            await press("Quit")
            await until(pilot, lambda: not app.is_running)

    run(body)


@pytest.mark.slow
def test_the_bar_and_the_footer_name_keys_that_nothing_else_shows(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (80, 24)) as (app, pilot):
            bar = app.screen.query_one(ScreenBar)
            assert "".join(part.content.plain for part in bar.parts).startswith(" F1Recall F2Conversations")
            await settled(app, pilot)
            assert "Forget" not in footer(app)  # nothing is listed that d would forget
            await GETS_THERE["recall"](app, pilot)
            await pilot.resize_terminal(200, 30)
            await until(pilot, lambda: app.screen.size.width == 200)
            await settled(app, pilot)
            assert " d Forget" in footer(app) and "f12 Forget" not in footer(app)

    run(body)
