"""Printing: data goes to stdout, narration to stderr, JSON is one document.

rich draws on terminals only; in a pipe the same values are aligned columns, neither coloured nor shortened.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

from appliance.paths import display_path as display_path

if TYPE_CHECKING:
    from rich.console import Console

    from appliance.types import Hit, Message, OnEmbedded, OnFile

# Chats come from anywhere: an escape sequence in a chat must not control the reader's terminal, and nothing in it may
# turn round the rest of the line. From U+2400 on there are pictures of the control characters. The marks U+200E and
# U+200F stay: texts of right-to-left scripts need them, and they turn nothing round.
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_CONTROL_PICTURES |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_CONTROL_PICTURES |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)

# The same characters in UTF-8, as far as JSON leaves them as they are.
_CONTROLS_IN_JSON = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")

COLUMN_GAP = "  "
"""The gap between two columns."""

BAR_WIDTH = 10
"""Characters of a full bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def prepare_streams() -> None:
    """Replace closed streams, and let no stream fail on a character that its encoding lacks."""
    sys.stdout = sys.stdout or _open_null_device()
    sys.stderr = sys.stderr or _open_null_device()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Send stdout to nowhere, so that flushing the rest of its buffer at exit does not fail again."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
    os.close(null_device)


def _open_null_device() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether a stream (by default stdout) is a terminal."""
    return (stream or sys.stdout).isatty()


def console(stream: TextIO | None = None) -> Console:
    """A rich console on stdout or another stream. It honours NO_COLOR and COLUMNS, and reads no markup."""
    from rich.console import Console

    return Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)


def print_json(value: object) -> None:
    """Print one JSON document."""
    import msgspec

    write(escape_controls(msgspec.json.format(msgspec.json.encode(value), indent=2)) + b"\n")


def print_json_line(value: object) -> None:
    """Print one JSON document on one line, for a reader of a stream."""
    import msgspec

    write(escape_controls(msgspec.json.encode(value)) + b"\n")


def escape_controls(document: bytes) -> bytes:
    """A JSON document with the same value, in which the characters that a terminal acts on are escaped."""
    return _CONTROLS_IN_JSON.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), document)


def write(data: bytes) -> None:
    """Write bytes to stdout unchanged, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_line(text: str = "", flush: bool = False) -> None:
    """Print a line of data. With ``flush`` a file or a pipe gets it at once, too, from a command that goes on."""
    print(_wrap(clean(text), sys.stdout), flush=flush)


def print_styled(text: str, style: str, dim_text: str = "") -> None:
    """Print a line of data, with a rich style on a terminal; ``dim_text`` follows on the line."""
    if not is_terminal():
        print_line(text + dim_text)
        return
    from rich.text import Text

    console().print(Text(clean(text), style=style).append(clean(dim_text), style="dim not bold"), soft_wrap=True)


def say(text: str) -> None:
    """Print narration to stderr."""
    sys.stdout.flush()  # a terminal shows both streams: keep their order
    print(_wrap(clean(text), sys.stderr), file=sys.stderr, flush=True)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes to stderr."""
    for note in notes:
        say(f"note: {note}")


def say_error(message: str, hint: str | None) -> None:
    """Print an error and, if there is a hint, what to do next."""
    say(f"error: {message}" + (f"\n  {hint}" if hint else ""))


_TO_COPY = "    "


def _wrap(text: str, stream: TextIO) -> str:
    """Break lines between words on a terminal, and indent them like their beginning. One that begins with four blanks
    is to be copied, and stays whole."""
    if not is_terminal(stream):
        return text
    terminal_width = shutil.get_terminal_size().columns
    lines = []
    for row in text.split("\n"):
        if row.startswith(_TO_COPY):
            lines.append(row)
            continue
        indent = row[: len(row) - len(row.lstrip())]
        wrapped = textwrap.wrap(
            row, terminal_width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += wrapped or [""]
    return "\n".join(lines)


def clean(text: str) -> str:
    """The text with pictures of its control characters, except line ends and tabs."""
    return text.replace("\r\n", "\n").translate(_CONTROL_PICTURES)


def one_line(text: str) -> str:
    """The text on one line: every run of white space becomes one space."""
    return clean(" ".join(text.split()))


def print_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> None:
    """Print rows as aligned columns, not shortened; columns whose index is in ``right`` are aligned to the right."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for number, (cell, column_width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (column_width - cell_width(cell))
            cells.append(gap + cell if number in right else cell + gap)
        print(COLUMN_GAP.join(cells).rstrip())


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print rows under ``heads``: a drawn table on a terminal, plain columns in a pipe. ``right`` names the columns of
    numbers."""
    if not is_terminal():
        numbers = [number for number, head in enumerate(heads) if head in right]
        print_columns([[head.upper() for head in heads], *rows], numbers)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, expand=False)
    for head in heads:
        rich_table.add_column(head, justify="right" if head in right else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*(Text(one_line(cell)) for cell in row))
    console().print(rich_table)


def cell_width(text: str) -> int:
    """How many cells of a terminal a text occupies."""
    if text.isascii():
        return len(text)
    wide_count = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    zero_width_count = sum(unicodedata.combining(c) != 0 or unicodedata.category(c) in ("Mn", "Cf") for c in text)
    return len(text) + wide_count - zero_width_count


def format_bar(value: float, maximum: float) -> str:
    """``value`` as a bar that ``maximum`` fills; a dot for zero and below."""
    eighths = round(max(0.0, min(1.0, value / maximum if maximum else 0.0)) * BAR_WIDTH * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()) or "·"


def format_size(number: int) -> str:
    """A number of bytes for people to read."""
    amount, unit = float(number), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"


def plural(number: int, noun: str) -> str:
    """ "1 message", "12,345 messages", "2 memories"."""
    if number != 1:
        noun = noun[:-1] + "ies" if noun.endswith(("ry", "ty")) else noun + "s"
    return f"{number:,} {noun}"


FIRST_PADDED_YEAR = 1000
"""``strftime`` writes the years before without zeros on some systems."""


def format_timestamp(timestamp: str | None) -> str:
    """A stored timestamp to the minute, in the time of this machine; as the source gave it where that has no zone."""
    if timestamp is None:
        return "no time"
    try:
        moment = datetime.fromisoformat(timestamp)
        local = moment.astimezone() if moment.tzinfo else moment
    except (ValueError, OverflowError, OSError):  # a year that the operating system does not know
        return timestamp[:16].replace("T", " ")
    return f"{local:%Y-%m-%d %H:%M}" if local.year >= FIRST_PADDED_YEAR else local.isoformat(" ", "minutes")


def time_of(shown: Hit | Message) -> str:
    """The timestamp of a message as ``format_timestamp`` shows it, with a word if it is its conversation's, and that
    the person corrected the text."""
    corrected = f" (corrected by you on {shown.corrected[:10]})" if shown.corrected else ""
    return format_timestamp(shown.timestamp) + (" (conversation)" if shown.time == "conversation" else "") + corrected


def format_span(since: str | None, until: str | None) -> str:
    """Two timestamps as "A to B", on one day "A to 14:30"; one alone if they show the same or the other is unknown."""
    first, *others = dict.fromkeys(format_timestamp(moment) for moment in (since, until) if moment) or ["no time"]
    day, _, _ = first.partition(" ")
    return " to ".join([first, *(last.removeprefix(f"{day} ") for last in others)])


@contextmanager
def progress() -> Iterator[tuple[OnFile, OnEmbedded]]:
    """Two callbacks that show the progress of reading and of embedding on stderr if it is a terminal."""
    with step_progress() as step:

        def on_file(file: str, messages: int) -> None:
            step(f"reading {os.path.basename(file)[:30]}", messages, 0)

        yield on_file, lambda done, pending: step("embedding", done, done + pending)


@contextmanager
def step_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A callback (description, done, total) that shows progress on stderr if it is a terminal; total 0 is unknown."""
    if not is_terminal(sys.stderr):
        yield lambda description, done, total: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    description, count = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[count]"))
    columns = SpinnerColumn(), description, BarColumn(), count, TimeElapsedColumn()
    with Progress(*columns, console=console(sys.stderr), transient=True) as display:
        task = display.add_task("reading", total=None, count="")

        def step(description: str, done: int, total: int) -> None:
            count = f"{done:,} of {total:,}" if total else plural(done, "message") if done else ""
            display.update(task, description=one_line(description), completed=done, total=total or None, count=count)

        yield step


def print_fields(pairs: Mapping[str, Any]) -> None:
    """Print names and values as two columns; each value of a list has a line of its own."""
    rows = []
    for name, value in pairs.items():
        values = value if isinstance(value, list) else [value]
        rows += [[name if number == 0 else "", str(one)] for number, one in enumerate(values)]
    print_columns(rows)
