"""Notices over the screen go with the next key, once there was time to read them; warnings and errors stay."""

from __future__ import annotations

from typing import Any

from textual.app import App

READING_SHARE = 0.4
"""The share of the time of a notice after which a key ends it: two seconds of the usual five."""


def drop_read_notices(app: App[Any]) -> None:
    """End the notices that have been read: the person has gone on, and they cover what is below."""
    for notice in list(app._notifications):
        if notice.severity == "information" and notice.time_left < (1 - READING_SHARE) * notice.timeout:
            app._unnotify(notice)
