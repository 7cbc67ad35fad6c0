"""Vitals: health, counts, speed and size of the memory, as charts or as tables."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from appliance_tui.frame import FrameScreen
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.charts import BarChart, Chart, LineSeries
from appliance_tui.widgets.display_text import one_line, pluralize
from appliance_tui.workers import CoalescingRefresh, MemoryChanged, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Activity

POLL_INTERVAL_SECONDS = 2.0
"""Seconds between two snapshots while the screen is shown."""

MAX_SNAPSHOTS = 1_800
"""Snapshots (time and status) in the charts over time: an hour."""

MAX_SOURCE_LINES = 4
"""Sources with a line of their own; the others share one."""

QUEUE_LABELS = {
    "chunks": "vectors",
    "points_to_drop": "index",
    "files": "files",
    "sessions": "summaries",
    "facts": "facts",
}
"""The queues of the memory, by what they produce."""

STORED = "Stored, of all users"
STORED_LABELS = {
    "messages": "messages",
    "chunks": "chunks",
    "sessions": "all conversations",
    "sources": "imported files",
    "facts": "facts",
    "summaries": "summaries",
    "variants": "repeated",
    "pending": "being indexed",
}
"""The counts of a status, in the words of the other screens; they also count conversations of tools alone."""

WORTH_SHARES = ("usefulness", "consistency")
"""The shares of recalled memories that were of use, and of feedback that calls none wrong or outdated."""

PERCENTILES = ("p50", "p95", "p99")
LATENCY_LABELS = {
    "search": ("Search, ms", "no searches since the start"),
    "context": ("Context, ms", "no contexts since the start"),
    "embedding": ("Embedding, ms a step", "nothing embedded since the start"),
}
"""The title of each chart of latency, and what is said in place of an empty one: what the program, or the daemon, did
before it was started is not measured."""


class StatusScreen(FrameScreen):
    """Charts and tables of the memory's status."""

    CSS_PATH = "status.tcss"
    PLACE = "vitals"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (170, "-huge")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012

    plain: var[bool] = var(False)
    """Whether tables are shown instead of charts."""
    cumulative: var[bool] = var(False)
    """Whether the chart of months shows running totals."""

    def body(self) -> ComposeResult:
        # As attributes: an answer may come while the screen is being removed, when queries find nothing.
        self._status_text = Static("", id="vitals-status", markup=False)
        self._table = Static("", id="vitals-table", markup=False)
        self._month_chart = Chart("vitals-months", "Messages by month", "no dated messages")
        self._source_chart = BarChart("vitals-sources", "Messages by source", "no messages yet")
        self._latency_charts = {
            step: Chart(f"vitals-{step}", title, empty) for step, (title, empty) in LATENCY_LABELS.items()
        }
        self._worth_chart = Chart("vitals-worth", "Worth of recalled memories by month, %", "no feedback yet")
        self._queue_chart = Chart("vitals-queues", "Queues", "all queues are empty")
        self._disk_chart = BarChart("vitals-disk", "Disk usage", "nothing stored yet")
        self._count_chart = BarChart("vitals-counts", STORED, "nothing stored yet")
        yield self._status_text
        with VerticalScroll(id="vitals"):
            with Container(id="vitals-plots"):
                yield from (self._month_chart, self._source_chart, *self._latency_charts.values(), self._worth_chart)
                yield from (self._queue_chart, self._disk_chart, self._count_chart)
            yield self._table

    @property
    def _of_user(self) -> str:
        """In whose memory the charts of months and sources count messages; the person wrote only some of them."""
        return f"user {one_line(self.appliance.active_user)}"

    def on_mount(self) -> None:
        super().on_mount()
        self._poll, self._with_activity = CoalescingRefresh(self, self._take_snapshot), True
        self._snapshots: deque[tuple[float, dict[str, Any]]] = deque(maxlen=MAX_SNAPSHOTS)
        self._activity: Sequence[Activity] = ()

        self._poll_timer = self.set_interval(POLL_INTERVAL_SECONDS, self._poll, pause=True)
        self.query_one("#vitals").focus()
        self.watch(self.app, "user", self._user_changed, init=False)

    def on_screen_resume(self) -> None:
        self._poll_timer.resume()
        self._poll_with_activity()

    def on_screen_suspend(self) -> None:
        self._poll_timer.pause()

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "forgotten", "deleted"):
            self._poll_with_activity()

    def _user_changed(self) -> None:
        self._with_activity = True
        if self.is_current:
            self._poll()

    def _poll_with_activity(self) -> None:
        """Load the messages by month, too. That is slower, and needed only after changes."""
        self._with_activity = True
        self._poll()

    async def _take_snapshot(self) -> None:
        user, activity, self._with_activity = self.appliance.user, self._with_activity, False

        def load(memory: Appliance) -> tuple[dict[str, Any], Sequence[Activity] | None]:
            status = {**memory.status(), "encoding": memory.settings.context.encoding}
            return status, memory.overview.activity(user_id=user) if activity else None

        with show_errors(self._status_text.update):
            status, loaded = await self.appliance.memory_worker.run_query(load)
            self._snapshots.append((time.time(), status))
            if loaded is not None:
                self._activity = loaded
            self._write()

    def watch_plain(self, plain: bool) -> None:
        self.set_class(plain, "-plain")
        self._write()

    def watch_cumulative(self) -> None:
        self._write()

    def _write(self) -> None:
        if not self._snapshots:
            return
        _, status = self._snapshots[-1]
        if self.plain:
            self._status_text.update(_status_line(status))
            self._table.update(self._tables(status))
            return
        months = "up to each month" if self.cumulative else "by month"
        self._month_chart.title = f"Messages {months} · {self._of_user}"
        self._source_chart.border_title = f"Messages by source · {self._of_user}"
        self._month_chart.show(*_month_lines(self._activity, self.cumulative))
        sources = _messages_by_source(self._activity).most_common()
        self._source_chart.show([(name, count, f"{count:,}") for name, count in sources])
        ticks = self._time_ticks()
        for step, chart in self._latency_charts.items():
            calls = status["latency"].get(step, {}).get("calls", 0)
            chart.title = f"{LATENCY_LABELS[step][0]} · {pluralize(calls, 'call')}"
            chart.show(self._latency_lines(step), ticks)
        self._worth_chart.show(*_worth_lines(status["recall"]["months"]))
        self._queue_chart.show(self._queue_lines(), ticks)
        disk = sorted(status["disk_bytes"].items(), key=lambda item: -item[1])
        self._disk_chart.border_title = f"Disk usage (apparent size {_apparent_size(status)})"
        self._disk_chart.show([(name, size, format_bytes(size)) for name, size in disk])
        self._count_chart.show(self._stored_counts(status))
        self._status_text.update(Content("\n").join([_status_line(status), *self._collapse_idle()]))

    def _collapse_idle(self) -> list[Content]:
        """Hide the charts over time that have nothing to show, and name them on a line."""
        charts = (*self._latency_charts.values(), self._worth_chart, self._queue_chart)
        for chart in charts:
            chart.display = not chart.is_empty
        idle = [chart.empty for chart in charts if chart.is_empty]
        return [Content.styled(f"Idle: {', '.join(idle)}", "$foreground-muted")] if idle else []

    def _time_ticks(self) -> list[tuple[float, str]]:
        first, last = self._snapshots[0][0], self._snapshots[-1][0]
        ends = [(at, time.strftime("%H:%M:%S", time.localtime(at))) for at in (first, last)]
        return ends if last > first else ends[:1]

    def _latency_lines(self, step: str) -> LineSeries:
        """The latency of a step at each snapshot, in milliseconds, by percentile."""
        latencies = [(at, status["latency"].get(step)) for at, status in self._snapshots]
        return {
            name: [(at, latency[name]) for at, latency in latencies if latency and latency.get(name) is not None]
            for name in PERCENTILES
        }

    def _queue_lines(self) -> LineSeries:
        lines = {
            label: [(at, status["queues"].get(name, 0)) for at, status in self._snapshots]
            for name, label in QUEUE_LABELS.items()
        }
        return {label: points for label, points in lines.items() if any(value for _, value in points)}

    def _tables(self, status: dict[str, Any]) -> Content:
        """The charts as text, a value a line."""
        latency = [
            (step, ", ".join(f"{name} {value:g}" for name, value in status["latency"][step].items()))
            for step in LATENCY_LABELS
            if step in status["latency"]
        ]
        sources = _messages_by_source(self._activity).most_common()
        parts = (
            (STORED, [(name, text) for name, _, text in self._stored_counts(status)]),
            (f"Messages by source · {self._of_user}", [(name, f"{count:,}") for name, count in sources]),
            (f"Messages by month · {self._of_user}", _month_rows(self._activity)),
            (
                "Disk usage",
                [
                    *((name, format_bytes(size)) for name, size in status["disk_bytes"].items()),
                    ("apparent size", _apparent_size(status)),
                ],
            ),
            ("Latency, milliseconds", latency),
            ("Recalled memories", _recall_rows(status["recall"])),
            ("Queues", [(label, f"{status['queues'].get(name, 0):,}") for name, label in QUEUE_LABELS.items()]),
        )
        lines: list[Content] = []
        for title, rows in parts:
            lines += [Content(""), Content.styled(title, "bold $text-accent")]
            lines += [Content(f"  {one_line(name):<24} {text}") for name, text in rows or [("none", "")]]
        return Content("\n").join(lines[1:])

    def _stored_counts(self, status: dict[str, Any]) -> list[tuple[str, float, str]]:
        """The counts of all users; of the messages also how many are of the one that is shown, where others have
        some."""
        counts = status["counts"]
        rows = [(label, counts[name], f"{counts[name]:,}") for name, label in STORED_LABELS.items()]
        own = sum(_messages_by_source(self._activity).values())
        if own != counts["messages"]:
            rows.insert(1, (self._of_user, own, f"{own:,}"))
        return rows

    def action_table(self) -> None:
        self.plain = not self.plain

    def action_months(self) -> None:
        self.cumulative = not self.cumulative

    def action_refresh(self) -> None:
        self._poll_with_activity()


def _status_line(status: dict[str, Any]) -> Content:
    """The first line: health, age of the latest backup, model, and memory of the process."""
    healthy = status["health"] == "ok"
    model, resident = status["model"], (status["memory"] or {}).get("anonymous")
    about = [_backup_age(status["backup"])]
    about += [model["name"], f"{model['dimension']} dimensions" if model["dimension"] else "nothing embedded yet"]
    about += [f"tokens counted by {status['encoding']}"]
    about += [f"{format_bytes(resident)} of RAM"] if resident else []
    about += ["daemon"] if status["daemon"] else []
    power = status["power"]
    charge = "" if power["percent"] is None else f" ({power['percent']} %)"
    about += [f"on battery{charge}, heavy work waits for mains power"] if power["paused"] else []
    more = f" (and {others} more)" if (others := len(status["troubles"]) - 1) > 0 else ""
    trouble = f"! {one_line(status['health'])}{more}"
    found = "no trouble found" + (", the database checked in part" if status["unchecked_tables"] else "")
    health = (f"✓ {found}", "bold $text-success") if healthy else (trouble, "$text-warning")
    return Content.assemble(health, ("   " + " · ".join(map(one_line, about)), "$foreground-muted"))


def _backup_age(backup: dict[str, Any] | None) -> str:
    """How old the latest backup is that is there."""
    if backup is None:
        return "no backup yet"
    found = backup if backup["is_there"] else backup["other"]
    if found is None:
        return "the last backup is not there any more"
    age = datetime.now(UTC) - datetime.fromisoformat(found["at"])
    hours, days = age // timedelta(hours=1), age.days
    if not hours:
        return "last backup within the hour"
    return f"last backup {pluralize(days, 'day') if days else pluralize(hours, 'hour')} ago"


def _apparent_size(status: dict[str, Any]) -> str:
    """The size of all files with their holes: what a copy without holes would take."""
    return format_bytes(sum(status["apparent_bytes"].values()))


def _recall_rows(recall: dict[str, Any]) -> list[tuple[str, str]]:
    """How much was recalled, and what it was worth, in all and by month."""
    if not recall["messages"] and not recall["months"]:
        return []
    return [
        ("recalled", f"{pluralize(recall['messages'], 'message')}, {pluralize(recall['times'], 'time')}"),
        *((kind, f"{count:,}") for kind, count in recall["feedback"].items() if count),
        *((month, _worth_text(worth)) for month, worth in recall["months"].items()),
    ]


def _worth_text(worth: dict[str, Any]) -> str:
    """What the recalls of a month were worth, in a line."""
    counts = {"recalled": worth["recalled"], **worth["feedback"]}
    shares = [f"{name} {worth[name]:.0%}" for name in WORTH_SHARES if worth[name] is not None]
    return ", ".join([*(f"{name} {count:,}" for name, count in counts.items()), *shares])


def _worth_lines(months: dict[str, Any]) -> tuple[LineSeries, list[tuple[float, str]]]:
    """The usefulness and the consistency of each month in percent, and the ticks of the months."""
    numbers = {month: _month_number(month) for month in months}
    lines = {
        name: [
            (float(number), 100 * months[month][name])
            for month, number in numbers.items()
            if months[month][name] is not None
        ]
        for name in WORTH_SHARES
    }
    return lines, [(float(number), month) for month, number in numbers.items()]


def _messages_by_source(activity: Sequence[Activity]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for entry in activity:
        counts[entry.source] += entry.messages
    return counts


def _month_rows(activity: Sequence[Activity]) -> list[tuple[str, str]]:
    counts: Counter[str] = Counter()
    for entry in activity:
        counts[entry.month or "no date"] += entry.messages
    return [(month, f"{count:,}") for month, count in sorted(counts.items())]


def _month_lines(activity: Sequence[Activity], cumulative: bool) -> tuple[LineSeries, list[tuple[float, str]]]:
    """A line for each source over all months from the first to the last, and the ticks of the months."""
    dated = [entry for entry in activity if entry.month]
    if not dated:
        return {}, []
    numbers = [_month_number(entry.month) for entry in dated]
    first, last = min(numbers), max(numbers)
    top_sources = [name for name, _ in _messages_by_source(dated).most_common(MAX_SOURCE_LINES)]
    counts: dict[str, list[int]] = {}
    for entry in dated:
        name = entry.source if entry.source in top_sources else "others"
        counts.setdefault(name, [0] * (last - first + 1))[_month_number(entry.month) - first] += entry.messages
    lines = {name: _own_months(counts[name], first, cumulative) for name in [*top_sources, "others"] if name in counts}
    ticks = [(float(month), f"{month // 12:04}-{month % 12 + 1:02}") for month in range(first, last + 1)]
    return lines, ticks


def _own_months(counts: Sequence[int], first: int, cumulative: bool) -> list[tuple[float, float]]:
    """The points of a source, from the month before its first messages to the one after its last: many lines at zero
    would hide each other. Running totals go on to the end."""
    used = [place for place, count in enumerate(counts) if count]
    start, stop = max(0, used[0] - 1), len(counts) if cumulative else used[-1] + 2
    values = list(accumulate(counts)) if cumulative else list(counts)
    return [(float(first + place), float(values[place])) for place in range(start, min(stop, len(counts)))]


def _month_number(text: str) -> int:
    year, month = text.split("-")
    return int(year) * 12 + int(month) - 1
