"""Notifications to the service manager (systemd's sd_notify protocol); without one they do nothing.

A module of its own because it is one protocol: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress


def notify(*lines: str) -> bool:
    """Send states ("READY=1"). Returns whether they were sent."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto("\n".join(lines).encode(), name)
        return True
    return False


def notify_reloading() -> bool:
    """Notify that the settings are being reloaded."""
    return notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog_interval() -> float | None:
    """Seconds between watchdog pings: half of the manager's timeout; None if it expects none of this process."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        return int(os.environ["WATCHDOG_USEC"]) / 2_000_000
    except (KeyError, ValueError):
        return None
