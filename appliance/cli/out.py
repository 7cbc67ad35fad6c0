"""What goes where, and how: data to stdout, narration to stderr, JSON as one document.

rich draws on a terminal only; in a pipe the same values are aligned lines without colour or cuts.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from appliance.types import OnFile, OnProgress

# Chats come from anywhere: an escape sequence in one must not steer the reader's terminal. U+2400 and
# after are pictures of the control characters.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_PICTURES |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)

GAP = "  "
"""Between two columns."""

BAR = 10
"""A full bar's width, in characters."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def prepare() -> None:
    """Let neither a closed stream nor a character that a terminal's encoding lacks end the program."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def let_go() -> None:
    """Give up stdout: what is still in its buffer has nowhere to go, and must not fail at the end again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def on_terminal(stream: TextIO | None = None) -> bool:
    """Whether a person looks at stdout (or at another stream)."""
    return (stream or sys.stdout).isatty()


def console() -> Console:
    """A rich console on stdout; it honours NO_COLOR and COLUMNS, and marks up nothing by itself."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def document(value: object) -> None:
    """Print one JSON document."""
    import msgspec

    write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def document_line(value: object) -> None:
    """Print one JSON document on a line of its own, for whoever reads along."""
    import msgspec

    write(msgspec.json.encode(value) + b"\n")


def write(data: bytes) -> None:
    """Put bytes on stdout as they are, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_piece(data: bytes) -> None:
    """Put a piece of a long stream on stdout, flushed when the buffer is full."""
    sys.stdout.buffer.write(data)


def line(text: str = "") -> None:
    """Print a line of data."""
    print(_fitted(clean(text), sys.stdout))


def say(text: str) -> None:
    """Tell the person something that is not data."""
    sys.stdout.flush()  # a terminal shows both streams: keep the order
    print(_fitted(clean(text), sys.stderr), file=sys.stderr, flush=True)


def _fitted(text: str, stream: TextIO) -> str:
    """On a terminal, lines broken between words, set in like their beginning; else as it is."""
    if not on_terminal(stream):
        return text
    wide = shutil.get_terminal_size().columns
    lines = []
    for row in text.split("\n"):
        indent = row[: len(row) - len(row.lstrip())]
        wrapped = textwrap.wrap(
            row, wide, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += wrapped or [""]
    return "\n".join(lines)


def clean(text: str) -> str:
    """The text with control characters as pictures of themselves, line ends and tabs kept."""
    return text.replace("\r\n", "\n").translate(_PICTURES)


def one_line(text: str) -> str:
    """The text on one line: every run of white space is one space."""
    return clean(" ".join(text.split()))


def path(value: str | os.PathLike[str]) -> str:
    """A path as text that can be printed: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(value).decode("utf-8", "replace")


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> None:
    """Print rows as aligned columns, nothing cut; those whose number is in ``right`` to the right."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for number, (cell, wide) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (wide - width(cell))
            cells.append(gap + cell if number in right else cell + gap)
        print(GAP.join(cells).rstrip())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print rows under ``heads``: drawn on a terminal, as ``columns`` in a pipe. ``right`` names the
    columns of numbers."""
    if not on_terminal():
        numbers = [number for number, head in enumerate(heads) if head in right]
        columns([[head.upper() for head in heads], *rows], numbers)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, expand=False)
    for head in heads:
        drawn.add_column(head, justify="right" if head in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    console().print(drawn)


def width(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    flat = sum(unicodedata.combining(c) != 0 or unicodedata.category(c) in ("Mn", "Cf") for c in text)
    return len(text) + wide - flat


def bar(value: float, full: float) -> str:
    """``value`` as a bar, where ``full`` fills it; empty for nothing and for less than nothing."""
    eighths = round(max(0.0, min(1.0, value / full if full else 0.0)) * BAR * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()) or "·"


def size(number: int) -> str:
    """Bytes as a person says them."""
    amount, unit = float(number), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"


def plural(number: int, noun: str) -> str:
    """ "1 message", "12,345 messages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def moment(timestamp: str | None) -> str:
    """A stored timestamp to the minute, for a narrow screen: "Z" where it is UTC, nothing where the
    source gave no zone."""
    if timestamp is None:
        return "no time"
    return timestamp[:16].replace("T", " ") + ("Z" if timestamp.endswith("+00:00") else "")


def notes(said: Sequence[str]) -> None:
    """Tell what an answer has to say about itself."""
    for note in said:
        say(f"note: {note}")


@contextmanager
def progress() -> Iterator[tuple[OnFile, OnProgress]]:
    """Two callbacks for the engine, drawn on stderr if it is a terminal, silent if not."""
    if not on_terminal(sys.stderr):
        yield (lambda file, messages: None), (lambda done, pending: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    drawn = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False),
        transient=True,
    )
    with drawn:
        task = drawn.add_task("reading", total=None, count="")

        def on_file(file: str, messages: int) -> None:
            name = os.path.basename(file)
            drawn.update(task, description=f"reading {clean(name)[:30]}", count=plural(messages, "message"))

        def on_embedded(done: int, pending: int) -> None:
            total = done + pending
            drawn.update(
                task, description="embedding", completed=done, total=total, count=f"{done:,} of {total:,}"
            )

        yield on_file, on_embedded


@contextmanager
def steps(what: str) -> Iterator[Callable[[int, int], None]]:
    """A callback for steps done of all there are, drawn on stderr if it is a terminal, silent if not."""
    if not on_terminal(sys.stderr):
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False),
        transient=True,
    ) as drawn:
        task = drawn.add_task(what, total=None)
        yield lambda done, of: drawn.update(task, completed=done, total=of)


def fields(pairs: Mapping[str, Any]) -> None:
    """Print names and values as two columns."""
    columns([[name, str(value)] for name, value in pairs.items()])
