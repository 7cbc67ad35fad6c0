"""Vitals: the numbers as plots and as tables, looked at every two seconds while the screen is shown."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from screens import until
from textual.widgets import Static

from appliance import Appliance
from appliance.types import Activity
from appliance_models import HashEmbedder
from appliance_tui.app import ApplianceApp
from appliance_tui.screens.status import StatusScreen, _month_lines, _status_line, _worth_lines
from appliance_tui.widgets import charts
from appliance_tui.widgets.charts import Chart, PlotSpec, format_compact, render_plot
from tests.homes import copied

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Conversations of two sources over some months, and a search that was measured."""
    lines = "".join(
        f'{{"session_id": "s", "message_id": "m{at}", "role": "user", "timestamp": "2026-{at % 5 + 1:02}-03T10:00:00Z",'
        f' "content": "the otter number {at}"}}\n'
        for at in range(40)
    )
    home = tmp_path_factory.mktemp("built") / "home"
    file = home.parent / "chat.jsonl"
    file.write_text(lines)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(file)
        memory.sessions.create().add("user", "said here")
    return home


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


@asynccontextmanager
async def shown(home: Path, size: tuple[int, int] = (120, 40), theme: str = "") -> Any:
    app = ApplianceApp(lambda: Appliance.open(home, worker=False, embedder=HashEmbedder()), theme=theme, motion=False)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(app.status_text))
        app.memory_worker.memory().search("otter")
        app.memory_worker.memory().context("otter")
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, StatusScreen) and bool(app.screen._snapshots))
        yield app, pilot


def said(app: ApplianceApp, selector: str) -> str:
    return str(app.screen.query_one(selector, Static).visual)


def run(body: Awaitable[None]) -> None:
    async def go() -> None:
        await body

    asyncio.run(go())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["dark", pytest.param("plain", marks=pytest.mark.slow)])
def test_all_is_there_and_within_the_screen(filled: Path, size: tuple[int, int], theme: str) -> None:
    async def body() -> None:
        async with shown(filled, size, theme) as (app, pilot):
            await until(pilot, lambda: "2026-01" in said(app, "#vitals-months"))
            assert "no trouble found" in said(app, "#vitals-status")
            assert "40" in said(app, "#vitals-sources") and "native" in said(app, "#vitals-sources")
            assert "database" in said(app, "#vitals-disk")
            await until(pilot, lambda: bool(said(app, "#vitals-search").strip()))
            search = app.screen.query_one("#vitals-search", Chart)
            assert "p95" in said(app, "#vitals-search") + str(search.border_subtitle)
            assert "tokens counted by o200k_base" in said(app, "#vitals-status")
            plots = [*app.screen.query(Chart)]
            assert all(plot.region.right <= size[0] for plot in plots)
            if size == (80, 24):  # the rest is reached by scrolling
                assert app.screen.query_one("#vitals").max_scroll_y > 0
                await pilot.press("end")
                await until(pilot, lambda: app.screen.query_one("#vitals").scroll_y > 0)
            else:
                assert app.screen.query_one("#vitals").max_scroll_y == 0
                assert max(plot.region.bottom for plot in app.screen.query("#vitals-plots > *")) >= size[1] - 3

    run(body())


def test_the_age_of_the_latest_backup_is_shown(filled: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            assert "no backup yet" in said(app, "#vitals-status")
            app.memory_worker.memory().backup(tmp_path / "backups")
            await pilot.press("r")
            await until(pilot, lambda: "last backup within the hour" in said(app, "#vitals-status"))

    run(body())


def test_the_same_stands_in_tables(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            assert "no feedback yet" in said(app, "#vitals-status")
            app.memory_worker.memory().feedback("m1", "outdated")
            await pilot.press("r")
            await until(pilot, lambda: "consistency" in said(app, "#vitals-worth"))  # one month: numbers
            assert "no feedback yet" not in said(app, "#vitals-status")
            await pilot.press("t")
            await until(pilot, lambda: "outdated 1, usefulness 0%, consistency 0%" in said(app, "#vitals-table"))
            table = said(app, "#vitals-table")
            for words in ("messages", "41", "2026-03", "native", "database", "search", "p95", "vectors"):
                assert words in table, words
            assert app.screen.query_one("#vitals-table").display and not app.screen.query_one("#vitals-plots").display
            await pilot.press("t")
            assert app.screen.query_one("#vitals-plots").display

    run(body())


def test_usefulness_and_consistency_are_lines_with_gaps_where_nothing_is_known() -> None:
    known = {"recalled": 8, "feedback": {"used": 2}, "usefulness": 0.25, "consistency": 1.0}
    unknown = {"recalled": 3, "feedback": {}, "usefulness": None, "consistency": None}
    months = {"2025-12": known, "2026-01": unknown, "2026-02": known | {"usefulness": None}}
    lines, ticks = _worth_lines(months)
    first = ticks[0][0]
    assert lines == {"usefulness": [(first, 25)], "consistency": [(first, 100), (first + 2, 100)]}
    assert [label for _, label in ticks] == list(months)
    assert ticks[-1][0] == first + 2
    assert _worth_lines({}) == ({"usefulness": [], "consistency": []}, [])


def test_months_are_summed_by_a_key(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            chart = app.screen.query_one("#vitals-months", Chart)
            assert max(value for _, value in chart._lines["native"]) == 8
            await pilot.press("m")
            await until(pilot, lambda: chart.border_title == "Messages up to each month · user me")
            assert chart._lines["native"][-1][1] == 40
            await pilot.press("m")
            await until(pilot, lambda: chart.border_title == "Messages by month · user me")

    run(body())


@pytest.mark.slow
def test_it_looks_again_while_it_is_shown_and_not_when_it_is_not(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance_tui.screens.status.POLL_INTERVAL_SECONDS", 0.05)

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            vitals = app.screen
            await until(pilot, lambda: len(vitals._snapshots) > 3)
            count = len(vitals._snapshots)
            await pilot.press("r")
            await until(pilot, lambda: len(vitals._snapshots) > count)
            await pilot.press("f1")
            ticks: list[None] = []
            app.set_interval(0.05, lambda: ticks.append(None))
            await until(pilot, lambda: len(ticks) > 2 and not [*app.workers])  # a look may be under way
            seen = len(vitals._snapshots)
            await until(pilot, lambda: len(ticks) > 8)
            assert len(vitals._snapshots) == seen
            await pilot.press("f6")
            await until(pilot, lambda: len(vitals._snapshots) > seen)

    run(body())


def test_another_users_messages_are_counted_when_that_one_is_looked_at(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            app.user = "nobody"
            await until(pilot, lambda: "no messages yet" in said(app, "#vitals-sources"))

    run(body())


def test_a_theme_redraws_the_plots(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            chart = app.screen.query_one("#vitals-months", Chart)
            await until(pilot, lambda: "2026-01" in said(app, "#vitals-months"))
            before = chart.visual
            await pilot.press("ctrl+t")
            await until(pilot, lambda: chart.visual is not before)

    run(body())


@pytest.mark.slow
def test_no_frame_waits_for_a_plot(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing: list[threading.Thread] = []

    def draws(what: PlotSpec) -> Text:
        drawing.append(threading.current_thread())
        return render_plot(what)

    monkeypatch.setattr(charts, "render_plot", draws)

    async def body() -> None:
        async with shown(filled, (200, 60)) as (app, pilot):
            chart = app.screen.query_one("#vitals-queues", Chart)
            points = [(float(at), float(at % 17)) for at in range(1800)]
            drawn = chart.visual
            chart.show({"a": points, "b": points[::-1], "c": points}, [])
            await until(pilot, lambda: chart.visual is not drawn)
            assert drawing and threading.current_thread() not in drawing

    run(body())


def test_months_without_messages_are_there_and_small_sources_go_together() -> None:
    activity = [Activity("2026-01", "a", 5), Activity("2026-04", "a", 7), Activity("", "a", 100)]
    activity += [Activity("2026-02", name, 1) for name in "bcdefg"]
    lines, ticks = _month_lines(activity, cumulative=False)
    assert [value for _, value in lines["a"]] == [5, 0, 0, 7]
    assert sum(value for _, value in lines["others"]) == 3 and len(lines) == 5
    assert [word for _, word in ticks] == ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert _month_lines([], cumulative=True) == ({}, [])


@pytest.mark.slow
def test_charts_with_nothing_to_show_are_named_on_a_line(built: Path, home: Path) -> None:
    async def body() -> None:
        copied(built, home)
        app = ApplianceApp(lambda: Appliance.open(home, worker=False, embedder=HashEmbedder()), motion=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: bool(app.status_text))
            await pilot.press("f6")
            await until(pilot, lambda: isinstance(app.screen, StatusScreen) and bool(app.screen._snapshots))
            assert "no contexts since the start" in said(app, "#vitals-status")
            assert not app.screen.query_one("#vitals-context").display
            assert app.screen.query_one("#vitals-months").display
            app.memory_worker.memory().context("otter")
            await pilot.press("r")
            await until(pilot, lambda: app.screen.query_one("#vitals-context").display)
            assert "no contexts since the start" not in said(app, "#vitals-status")

    run(body())


def test_nothing_is_said_to_be_embedded_only_since_the_start(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, _):
            assert app.screen._snapshots[-1][1]["counts"]["chunks"]
            app.screen._latency_charts["embedding"].show({}, ())
            (line,) = (text.plain for text in app.screen._collapse_idle())
            assert "nothing embedded since the start" in line and "embedded yet" not in line

    run(body())


@pytest.mark.slow
def test_a_line_of_one_point_is_a_number(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            chart = app.screen.query_one("#vitals-search", Chart)
            chart.show({"p50": [(1.0, 12.5)], "p95": [(1.0, 1234.0)]}, [(1.0, "now")])
            await until(pilot, lambda: "1,234" in said(app, "#vitals-search"))
            assert [line.split() for line in said(app, "#vitals-search").splitlines()] == [
                ["now"], ["p50", "12.5"], ["p95", "1,234"],
            ]  # fmt: skip
            chart.show({"p50": [(1.0, 12.5), (2.0, 14.0)]}, [(1.0, "then"), (2.0, "now")])
            await until(pilot, lambda: "then" in said(app, "#vitals-search"))

    run(body())


def test_lines_of_months_end_where_a_source_ends() -> None:
    activity = [Activity(f"2026-{month:02}", "a", 5) for month in range(1, 13)] + [Activity("2026-06", "b", 2)]
    lines, _ = _month_lines(activity, cumulative=False)
    assert [value for _, value in lines["b"]] == [0, 2, 0] and len(lines["a"]) == 12
    lines, _ = _month_lines(activity, cumulative=True)
    assert [value for _, value in lines["b"]] == [0, 2, 2, 2, 2, 2, 2, 2]


def test_a_plot_of_one_point_and_of_nothing_but_zeros_is_drawn() -> None:
    for points in ([(1.0, 0.0)], [(1.0, 3.0)], [(float(at), 0.0) for at in range(5)]):
        colours = [(255, 0, 0)] * 5
        text = render_plot(PlotSpec({"x": points}, [(1.0, "now")], 40, 10, colours, (9, 9, 9), (0, 0, 0)))
        assert "now" in text.plain and len(text.plain.splitlines()) == 10


def test_numbers_are_short() -> None:
    assert [format_compact(value) for value in (0, 7.25, 950, 1200, 15_000, 3.4e6)] == [
        "0",
        "7.2",
        "950",
        "1.2k",
        "15k",
        "3.4M",
    ]


def test_the_first_line_says_that_heavy_work_waits_for_mains_power() -> None:
    status: dict[str, Any] = {
        "health": "ok", "troubles": [], "model": {"name": "hash", "dimension": 64}, "memory": None, "backup": None,
        "encoding": "o200k_base", "daemon": None, "unchecked_tables": [],
        "power": {"on_battery": True, "percent": 63, "paused": True},
    }  # fmt: skip
    assert "on battery (63 %), heavy work waits for mains power" in _status_line(status).plain
    status["power"] = {"on_battery": True, "percent": 63, "paused": False}
    assert "battery" not in _status_line(status).plain
