"""Vitals: how the memory is, in numbers, as plots and as plain tables."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.rates import amount
from appliance_tui.widgets.charts import Bars, Chart, Lines
from appliance_tui.widgets.words import one_line
from appliance_tui.working import Looking

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Activity

EVERY = 2.0
"""Seconds between two looks while the screen is shown."""

KEPT = 1_800
"""Looks that the plots over time go back: an hour."""

SOURCES = 4
"""Sources with a line of their own; the others have one together."""

QUEUES = {
    "chunks": "vectors",
    "points_to_drop": "index",
    "files": "files",
    "sessions": "summaries",
    "facts": "facts",
}
"""What waits, by what it waits for."""

SPREADS = ("p50", "p95", "p99")
STEPS = ("search", "context", "embedding")


@dataclass(frozen=True, slots=True)
class Look:
    """The memory at a moment."""

    at: float
    status: dict[str, Any]


class Vitals(Frame):
    """The numbers."""

    CSS_PATH = "vitals.tcss"
    PLACE = "vitals"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (170, "-huge")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012

    plain: var[bool] = var(False)
    """Whether tables stand in place of plots."""
    summed: var[bool] = var(False)
    """Whether a month shows all until then."""

    def body(self) -> ComposeResult:
        # Kept by name: an answer may come when the screen is being left, and nothing can be found on it any more.
        self._facts = Static("", id="vitals-facts", markup=False)
        self._table = Static("", id="vitals-table", markup=False)
        self._months = Chart("vitals-months", "Messages by month", "no message has a time")
        self._sources = Bars("vitals-sources", "Messages by source", "no message yet")
        self._steps = {
            "search": Chart("vitals-search", "Search, ms", "nothing was searched yet"),
            "context": Chart("vitals-context", "Context, ms", "no context was built yet"),
            "embedding": Chart("vitals-embedding", "Embedding, ms a step", "nothing was embedded yet"),
        }
        self._queues = Chart("vitals-queues", "Waiting", "nothing waits")
        self._disk = Bars("vitals-disk", "On the disk", "nothing is stored yet")
        self._kept = Bars("vitals-kept", "Kept", "nothing is stored yet")
        yield self._facts
        with VerticalScroll(id="vitals"):
            with Container(id="vitals-plots"):
                yield from (self._months, self._sources, *self._steps.values())
                yield from (self._queues, self._disk, self._kept)
            yield self._table

    def on_mount(self) -> None:
        super().on_mount()
        self._look, self._all = Looking(self, self._ask), True
        self._looks: deque[Look] = deque(maxlen=KEPT)
        self._activity: Sequence[Activity] = ()

        self._looking = self.set_interval(EVERY, self._look, pause=True)
        self.query_one("#vitals").focus()
        self.watch(self.app, "user", self._turned, init=False)

    def on_screen_resume(self) -> None:
        self._looking.resume()
        self._look_at_all()

    def on_screen_suspend(self) -> None:
        self._looking.pause()

    def on_happened(self, message: Happened) -> None:
        if message.kind in ("ingested", "forgotten", "deleted"):
            self._look_at_all()

    def _turned(self) -> None:
        """Another's memory is looked at."""
        self._all = True
        if self.is_current:
            self._look()

    # --- looking --------------------------------------------------------------------------------------

    def _look_at_all(self) -> None:
        """Look at what was said when, too: that takes longer, and does not change by itself."""
        self._all = True
        self._look()

    async def _ask(self) -> None:
        from appliance.errors import ApplianceError

        user, activity, self._all = self.appliance.user, self._all, False

        def look(memory: Appliance) -> tuple[dict[str, Any], Sequence[Activity] | None]:
            return memory.status(), memory.browsing.activity(user_id=user) if activity else None

        try:
            status, found = await self.appliance.link.ask(look)
        except ApplianceError as error:
            self._facts.update(one_line(str(error)))
            return
        self._looks.append(Look(time.time(), status))
        if found is not None:
            self._activity = found
        self._write()

    # --- showing --------------------------------------------------------------------------------------

    def watch_plain(self, plain: bool) -> None:
        self.set_class(plain, "-plain")
        self._write()

    def watch_summed(self) -> None:
        self._write()

    def _write(self) -> None:
        if not self._looks:
            return
        status = self._looks[-1].status
        self._facts.update(_facts(status))
        if self.plain:
            self._table.update(self._in_words(status))
            return
        self._months.title = "Messages until each month" if self.summed else "Messages by month"
        self._months.show(*_months(self._activity, self.summed))
        self._sources.show(
            [(name, count, f"{count:,}") for name, count in _sources(self._activity).most_common()]
        )
        ticks = self._times()
        for step, chart in self._steps.items():
            chart.show(self._spreads(step), ticks)
        self._queues.show(self._waiting(), ticks)
        disk = status["disk_bytes"]
        self._disk.show(
            [(name, size, amount(size)) for name, size in sorted(disk.items(), key=lambda one: -one[1])]
        )
        self._kept.show(_kept(status))

    def _times(self) -> list[tuple[float, str]]:
        first, last = self._looks[0].at, self._looks[-1].at
        ends = [(at, time.strftime("%H:%M:%S", time.localtime(at))) for at in (first, last)]
        return ends if last > first else ends[:1]

    def _spreads(self, step: str) -> Lines:
        """The latency of a step at each look; the latest calls are what it is taken over."""
        found = [(look.at, look.status["latency"].get(step)) for look in self._looks]
        return {
            name: [(at, spread[name]) for at, spread in found if spread and spread.get(name) is not None]
            for name in SPREADS
        }

    def _waiting(self) -> Lines:
        lines = {
            word: [(look.at, look.status["queues"].get(name, 0)) for look in self._looks]
            for name, word in QUEUES.items()
        }
        return {word: points for word, points in lines.items() if any(value for _, value in points)}

    def _in_words(self, status: dict[str, Any]) -> Content:
        """The same in words, a fact a line."""
        latency = [
            (step, ", ".join(f"{name} {value:g}" for name, value in status["latency"][step].items()))
            for step in STEPS
            if step in status["latency"]
        ]
        parts = (
            ("Kept", [(name, words) for name, _, words in _kept(status)]),
            (
                "Messages by source",
                [(name, f"{count:,}") for name, count in _sources(self._activity).most_common()],
            ),
            ("Messages by month", _month_rows(self._activity)),
            ("On the disk", [(name, amount(size)) for name, size in status["disk_bytes"].items()]),
            ("Latency, milliseconds", latency),
            ("Waiting", [(word, f"{status['queues'].get(name, 0):,}") for name, word in QUEUES.items()]),
        )
        lines: list[Content] = []
        for title, rows in parts:
            lines += [Content(""), Content.styled(title, "bold $text-accent")]
            lines += [Content(f"  {one_line(name):<24} {words}") for name, words in rows or [("nothing", "")]]
        return Content("\n").join(lines[1:])

    # --- actions --------------------------------------------------------------------------------------

    def action_table(self) -> None:
        """Tables in place of plots, and back."""
        self.plain = not self.plain

    def action_months(self) -> None:
        """Each month by itself, or all until then."""
        self.summed = not self.summed

    def action_refresh(self) -> None:
        """Look again."""
        self._look_at_all()


def _facts(status: dict[str, Any]) -> Content:
    """The line on top: health, model, what the process takes."""
    healthy = status["health"] == "ok"
    model, memory = status["model"], status["memory"]
    resident = (memory or {}).get("anonymous")
    about = [
        model["name"],
        f"{model['dimension']} dimensions" if model["dimension"] else "nothing embedded yet",
    ]
    about += [f"{amount(resident)} of memory"] if resident else []
    about += ["a daemon"] if status["daemon"] else []
    return Content.assemble(
        (
            "✓ healthy" if healthy else f"! {one_line(status['health'])}",
            "bold $text-success" if healthy else "$text-warning",
        ),
        ("   " + " · ".join(map(one_line, about)), "$foreground-muted"),
    )


def _kept(status: dict[str, Any]) -> list[tuple[str, float, str]]:
    counts = status["counts"]
    names = ("messages", "chunks", "sessions", "sources", "facts", "summaries", "variants", "pending")
    return [(name, counts[name], f"{counts[name]:,}") for name in names]


def _sources(activity: Sequence[Activity]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for one in activity:
        counts[one.source] += one.messages
    return counts


def _month_rows(activity: Sequence[Activity]) -> list[tuple[str, str]]:
    counts: Counter[str] = Counter()
    for one in activity:
        counts[one.month or "without a time"] += one.messages
    return [(month, f"{count:,}") for month, count in sorted(counts.items())]


def _months(activity: Sequence[Activity], summed: bool) -> tuple[Lines, list[tuple[float, str]]]:
    """A line a source over all months between the first and the last, those without messages too."""
    dated = [one for one in activity if one.month]
    if not dated:
        return {}, []
    first, last = min(_month(one) for one in dated), max(_month(one) for one in dated)
    leading = [name for name, _ in _sources(dated).most_common(SOURCES)]
    counts: dict[str, list[int]] = {}
    for one in dated:
        name = one.source if one.source in leading else "others"
        counts.setdefault(name, [0] * (last - first + 1))[_month(one) - first] += one.messages
    order = sorted(counts, key=lambda name: [*leading, "others"].index(name))
    lines = {
        name: [
            (float(first + at), float(count))
            for at, count in enumerate(accumulate(counts[name]) if summed else counts[name])
        ]
        for name in order
    }
    ticks = [(float(month), f"{month // 12:04}-{month % 12 + 1:02}") for month in range(first, last + 1)]
    return lines, ticks


def _month(one: Activity) -> int:
    year, month = one.month.split("-")
    return int(year) * 12 + int(month) - 1
