"""Notices over the screen: one at a time, above the footer and the line with the counts. They go with the next key,
once there was time to read them; warnings and errors stay."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.notifications import Notification

READING_SHARE = 0.4
"""The share of the time of a notice after which a key ends it: two seconds of the usual five."""


def drop_read_notices(app: App[Any]) -> None:
    """End the notices that have been read: the person has gone on, and they cover what is below."""
    for notice in list(app._notifications):
        if notice.severity == "information" and notice.time_left < (1 - READING_SHARE) * notice.timeout:
            app._unnotify(notice)


def drop_older_notices(app: App[Any], notice: Notification) -> None:
    """End the notices before another one that is no warning: it says what has just happened, and a stack of them would
    hide the list."""
    if notice.severity != "information":
        return
    for older in list(app._notifications):
        if older is not notice and older.severity == "information":
            app._unnotify(older, refresh=False)
