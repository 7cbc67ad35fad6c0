"""Whether the machine runs on its battery, and whether heavy work waits for mains power.

A machine whose power can't be told counts as plugged in: a desktop has no battery.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from appliance.runtime.workers import Job, ShouldContinue

OnBattery = Literal["pause", "run"]

SUPPLIES = Path("/sys/class/power_supply")
"""Where Linux says what feeds the machine."""

READ_SECONDS = 5.0
"""How long a reading counts: work asks between its steps, several times a second."""

_PMSET_SECONDS = 5.0
_LINE_TYPES = ("Mains", "USB", "Wireless")
_STORE_TYPES = ("Battery", "UPS")
_UNKNOWN_PERCENT = 255  # from the documentation of GetSystemPowerStatus
_OFFLINE = 0
_NO_BATTERY_FLAG = 128


@dataclass(frozen=True, slots=True)
class Power:
    """What feeds the machine.

    Attributes:
        on_battery: Whether a battery, or a UPS, feeds it.
        percent: How full the batteries are together; None if that is not known, or there are none.
    """

    on_battery: bool = False
    percent: int | None = None


def read_power() -> Power:
    """What feeds this machine now."""
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        if sys.platform == "darwin":
            found = subprocess.run(
                ["pmset", "-g", "batt"], capture_output=True, text=True, timeout=_PMSET_SECONDS, check=True
            )
            return power_of_pmset(found.stdout)
        if sys.platform == "win32":
            return power_of_windows(*_windows_status())
        return power_of_linux(SUPPLIES)
    return Power()


# --- Linux ------------------------------------------------------------------------------------------------


def power_of_linux(folder: Path) -> Power:
    """What the files under ``/sys/class/power_supply`` say. A mouse's battery feeds the mouse, and is left out."""
    supplies = [one for one in _supplies(folder) if one.get("scope") != "Device" and one.get("present") != "0"]
    lines = [one for one in supplies if one.get("type") in _LINE_TYPES]
    stores = [one for one in supplies if one.get("type") in _STORE_TYPES]
    states = {one.get("status", "Unknown") for one in stores}
    is_plugged_in = any(one.get("online", "0") != "0" for one in lines) or "Charging" in states
    # Some batteries don't say what they do; then a cable that is out says it.
    is_feeding = "Discharging" in states or (states == {"Unknown"} and bool(lines))
    return Power(bool(stores) and is_feeding and not is_plugged_in, _percent(stores))


def _supplies(folder: Path) -> Iterator[Mapping[str, str]]:
    names = (
        "type", "scope", "present", "online", "status", "capacity",
        "energy_now", "energy_full", "charge_now", "charge_full",
    )  # fmt: skip
    with suppress(OSError):  # a supply may be unplugged meanwhile
        for place in sorted(folder.iterdir()):
            found = {}
            for name in names:
                with suppress(OSError, UnicodeDecodeError):
                    found[name] = (place / name).read_text().strip()
            yield found


def _percent(stores: Sequence[Mapping[str, str]]) -> int | None:
    """How full batteries are together: by what they hold, else the mean of what each says."""
    for now, full in (("energy_now", "energy_full"), ("charge_now", "charge_full")):
        pairs = [(_number(one.get(now)), _number(one.get(full))) for one in stores]
        if pairs and all(have is not None and most for have, most in pairs):
            return min(100, round(100 * sum(have or 0 for have, _ in pairs) / sum(most or 0 for _, most in pairs)))
    each = [percent for one in stores if (percent := _number(one.get("capacity"))) is not None]
    return round(sum(each) / len(each)) if each else None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


# --- macOS and Windows ------------------------------------------------------------------------------------


def power_of_pmset(text: str) -> Power:
    """What ``pmset -g batt`` prints."""
    each = [int(found) for found in re.findall(r"(\d{1,3})%", text)]
    source = re.search(r"drawing from '([^']+)'", text)
    on_battery = source is not None and source[1] in ("Battery Power", "UPS Power")
    return Power(on_battery and bool(each), round(sum(each) / len(each)) if each else None)


def power_of_windows(line: int, flag: int, percent: int) -> Power:
    """What ``GetSystemPowerStatus`` says: ACLineStatus, BatteryFlag and BatteryLifePercent, a byte each."""
    has_battery = not flag & _NO_BATTERY_FLAG
    return Power(has_battery and line == _OFFLINE, percent if has_battery and percent != _UNKNOWN_PERCENT else None)


def _windows_status() -> tuple[int, int, int]:
    import ctypes

    status = (ctypes.c_ubyte * 12)()  # four bytes and two numbers of four
    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - elsewhere, ctypes has none
    if not kernel.GetSystemPowerStatus(status):
        return 1, _NO_BATTERY_FLAG, _UNKNOWN_PERCENT
    return status[0], status[1], status[2]


# --- what waits -------------------------------------------------------------------------------------------


class PowerGate:
    """Says whether heavy work of the background waits for mains power. Safe to use from several threads."""

    def __init__(
        self,
        on_battery: OnBattery = "pause",
        low: int = 0,
        read: Callable[[], Power] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            on_battery: Whether it waits while the machine runs on its battery.
            low: The percent of the battery below which it waits in any case.
            read: What feeds the machine; ``read_power`` by default.
            clock: Seconds that never go back.
        """
        self._on_battery = on_battery
        self._low = low
        self._read = read or read_power
        self._clock = clock
        self._lock = threading.Lock()
        self._power = Power()
        self._read_at: float | None = None

    @property
    def power(self) -> Power:
        """What feeds the machine, as it was read in the last seconds."""
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at >= READ_SECONDS:
                self._power, self._read_at = self._read(), now
            return self._power

    @property
    def is_paused(self) -> bool:
        """Whether heavy work waits now."""
        power = self.power
        if not power.on_battery:
            return False
        return self._on_battery == "pause" or (power.percent is not None and power.percent < self._low)

    def heavy(self, job: Job) -> Job:
        """A job that does nothing while heavy work waits, and stops between its steps when the plug is pulled."""

        def run(should_continue: ShouldContinue) -> int:
            return 0 if self.is_paused else job(lambda: not self.is_paused and should_continue())

        return run
