"""Text as the screen shows it: free of control characters, fitted to a width, and bars."""

from __future__ import annotations

import os
import re
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from appliance.types import Hit, Message

# Control characters other than tab and line feed, and marks that change the direction of the rest of the line.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What joins emoji into one, and what changes the one before: joiners (but those of Arabic and Indian scripts, whose
# letters need them), the emoji variation, skin tones and the tags of flags.
_EMOJI_PART = re.compile("(?<![\u0600-\u0dff])\u200d|\ufe0f|(?<=\\S)[\U0001f3fb-\U0001f3ff]|[\U000e0020-\U000e007f]")
_EIGHTHS = " ▏▎▍▌▋▊▉"


def sanitize(text: str) -> str:
    """A text without the characters that a terminal acts on: an export may hold anything. Joined emoji become single
    ones: terminals do not agree on the width of joined ones, and a line that is drawn too short leaves stray cells."""
    text = _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).expandtabs(4)
    return text if text.isascii() else _EMOJI_PART.sub("", text)


def one_line(text: str) -> str:
    """A sanitized text on one line."""
    return " ".join(sanitize(text).split())


def fit_width(text: str, width: int) -> str:
    """A text on one line of exactly ``width`` cells, with an ellipsis where it is cut. Wide letters take two cells."""
    line = one_line(text)
    return set_cell_size(line, width) if cell_len(line) <= width else set_cell_size(line, max(0, width - 1)) + "…"


def abbreviate_home(path: str) -> str:
    """A path with "~" for the person's home folder."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def pluralize(count: int, noun: str) -> str:
    """ "1 message", "12,345 messages"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def render_bar(share: float, width: int) -> str:
    """A bar of ``width`` cells, filled by a share from 0 to 1 in eighths of a cell."""
    whole, part = divmod(round(max(0.0, min(1.0, share)) * width * 8), 8)
    return ("█" * whole + (_EIGHTHS[part] if part else "")).ljust(width)


def day(timestamp: str | None) -> str:
    """The day of an ISO 8601 timestamp; "" without one."""
    return (timestamp or "")[:10]


def time_of(shown: Hit | Message) -> str:
    """The minute of a message, with a word if it is its conversation's; "" without one."""
    return minute(shown.timestamp) + (" (conversation)" if shown.time == "conversation" else "")


def minute(timestamp: str | None) -> str:
    """Day and minute of an ISO 8601 timestamp; "" without one."""
    return (timestamp or "")[:16].replace("T", " ")


def local_minute(timestamp: str | None) -> str:
    """Day and minute of an ISO 8601 timestamp of this program, by this machine's clock; "" without one."""
    return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M") if timestamp else ""


def short_time(timestamp: str | None) -> str:
    """The minute of a timestamp of this program if it is of today, else its day; "" without one."""
    at = local_minute(timestamp)
    return at[11:] if at[:10] == f"{datetime.now():%Y-%m-%d}" else at[:10]
