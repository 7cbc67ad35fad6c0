"""Messages by month as a small plot of text, for details that have no room for a chart."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from appliance_tui.widgets.display_text import pluralize
from appliance_tui.widgets.rows import MUTED

MAX_BARS = 48
"""Bars side by side: more months than that are summed up in groups. Half as many are twice as wide."""

HEIGHT = 2
"""Lines of the plot: sixteen steps."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def render_months(months: Mapping[str, int]) -> Content | None:
    """A bar for each month from the first to the last, with these two and the largest number below. A single month is
    a sentence: a plot needs two.

    Args:
        months: The number of messages by month ("2025-03"); the empty month is left out.
    """
    dated = {_number(month): count for month, count in months.items() if month and count}
    if not dated:
        return None
    first, last = min(dated), max(dated)
    if first == last:
        return Content.styled(f"{pluralize(dated[first], 'message')}, all in {_name(first)}", MUTED)
    group = -(-(last - first + 1) // MAX_BARS)
    bars = [
        sum(dated.get(month, 0) for month in range(start, min(start + group, last + 1)))
        for start in range(first, last + 1, group)
    ]
    top = max(bars)
    cells = 2 if len(bars) <= MAX_BARS // 2 else 1
    lines = ["".join(_EIGHTHS[_step(count, top, HEIGHT - 1 - row)] * cells for count in bars) for row in range(HEIGHT)]
    span = "month" if group == 1 else f"{group} months"
    best = first + bars.index(top) * group
    axis = f"{_name(first)} to {_name(last)} · at most {top:,} in a {span} ({_name(best)})"
    if group > 1:
        axis = axis.replace("in a", "in", 1)
    return Content.assemble(("\n".join(lines), "$text-primary"), ("\n" + axis, MUTED))


def _step(count: int, top: int, row: int) -> int:
    """Eighths of a bar in a row, the lowest of which is 0; whatever is there shows at least one."""
    eighths = max(1, round(count / top * HEIGHT * 8)) if count else 0
    return max(0, min(8, eighths - row * 8))


def _number(month: str) -> int:
    year, _, rest = month.partition("-")
    return int(year) * 12 + int(rest) - 1


def _name(number: int) -> str:
    return f"{number // 12:04}-{number % 12 + 1:02}"
