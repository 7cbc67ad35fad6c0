"""Tells the service manager how the daemon is (systemd's sd_notify protocol). Without one, nothing happens.

The protocol: https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress


def notify(*lines: str) -> bool:
    """Send some states ("READY=1"); whether there was somebody to tell."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    name = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto("\n".join(lines).encode(), name)
        return True
    return False


def reloading() -> bool:
    """Say that the settings are read anew."""
    return notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")


def watchdog() -> float | None:
    """Seconds between two signs of life: half of what the manager allows; None if it wants none of this process."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        return int(os.environ["WATCHDOG_USEC"]) / 2_000_000
    except (KeyError, ValueError):
        return None
