"""Power: what feeds the machine, and what waits while that is a battery."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.cli.maintenance import power_text
from appliance.cli.watch import PauseNotes
from appliance.runtime import power, workers
from appliance.runtime.power import Power, PowerGate, power_of_linux, power_of_pmset, power_of_windows
from appliance.runtime.workers import WakeableWorker
from appliance_models import HashEmbedder
from tests.waits import until

Supplies = Mapping[str, Mapping[str, str]]

BATTERY = {"type": "Battery", "scope": "System", "present": "1"}
OUT, IN = {"type": "Mains", "online": "0"}, {"type": "Mains", "online": "1"}
DISCHARGING = {**BATTERY, "status": "Discharging", "capacity": "40"}


def write_supplies(folder: Path, supplies: Supplies) -> Path:
    for name, values in supplies.items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for key, value in values.items():
            (place / key).write_text(value + "\n")
    return folder


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ({}, Power()),  # a desktop
        ({"AC": IN}, Power()),
        ({"AC": OUT, "BAT0": DISCHARGING}, Power(True, 40)),
        ({"AC": IN, "BAT0": {**BATTERY, "status": "Charging", "capacity": "40"}}, Power(False, 40)),
        ({"AC": IN, "BAT0": DISCHARGING}, Power(False, 40)),  # a weak charger
        ({"AC": IN, "BAT0": {**BATTERY, "status": "Full", "capacity": "100"}}, Power(False, 100)),
        ({"BAT0": DISCHARGING}, Power(True, 40)),  # no supply says whether it is plugged in
        ({"BAT0": {**BATTERY, "status": "Not charging", "capacity": "80"}}, Power(False, 80)),
        ({"AC": OUT, "BAT0": {**BATTERY, "status": "Unknown", "capacity": "55"}}, Power(True, 55)),
        ({"BAT0": {**BATTERY, "status": "Unknown", "capacity": "55"}}, Power(False, 55)),
        # Two batteries count by what they hold: one waits while the other one feeds.
        (
            {
                "AC": OUT,
                "BAT0": {**BATTERY, "status": "Not charging", "energy_now": "10", "energy_full": "20"},
                "BAT1": {**BATTERY, "status": "Discharging", "energy_now": "20", "energy_full": "80"},
            },
            Power(True, 30),
        ),
        ({"AC": OUT, "BAT0": DISCHARGING, "BAT1": {**BATTERY, "present": "0"}}, Power(True, 40)),
        # A mouse, a headset and a tablet's pen feed only themselves.
        ({"AC": IN, "hid-mouse": {**DISCHARGING, "scope": "Device", "capacity": "3"}}, Power()),
        ({"hid-mouse": {**DISCHARGING, "scope": "Device"}}, Power()),
        # A cable with USB-C, of which one of two ports is used.
        ({"ucsi0": {"type": "USB", "online": "1"}, "ucsi1": {"type": "USB", "online": "0"}, "B": DISCHARGING},
         Power(False, 40)),
        ({"ups": {"type": "UPS", "status": "Discharging", "capacity": "70"}}, Power(True, 70)),
        ({"ups": {"type": "UPS", "status": "Charging", "capacity": "70"}}, Power(False, 70)),
        ({"AC": OUT, "BAT0": {**DISCHARGING, "capacity": "much"}}, Power(True, None)),
        ({"AC": OUT, "BAT0": {**DISCHARGING, "charge_now": "5", "charge_full": "0"}}, Power(True, 40)),
    ],
)  # fmt: skip
def test_linux_says_what_feeds_the_machine(tmp_path: Path, supplies: Supplies, expected: Power) -> None:
    assert power_of_linux(write_supplies(tmp_path / "power_supply", supplies)) == expected


def test_what_can_not_be_read_counts_as_plugged_in(tmp_path: Path) -> None:
    assert power_of_linux(tmp_path / "none") == Power()
    place = write_supplies(tmp_path, {"BAT0": {"type": "Battery"}}) / "BAT0" / "status"
    place.write_bytes(b"\xff\xfe")
    assert power_of_linux(tmp_path) == Power()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Now drawing from 'AC Power'\n", Power()),
        (
            "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t63%; discharging; 3:12 remaining",
            Power(True, 63),
        ),
        ("Now drawing from 'AC Power'\n -InternalBattery-0 (id=46)\t100%; charged; 0:00", Power(False, 100)),
        ("Now drawing from 'UPS Power'\n -Smart-UPS\t80%; discharging", Power(True, 80)),
        ("", Power()),
    ],
)  # fmt: skip
def test_macos_says_what_feeds_the_machine(text: str, expected: Power) -> None:
    assert power_of_pmset(text) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ((0, 1, 80), Power(True, 80)),
        ((1, 8, 80), Power(False, 80)),
        ((1, 128, 255), Power()),
        ((0, 128, 255), Power()),
        ((255, 255, 255), Power()),
        ((0, 2, 255), Power(True, None)),
    ],
)
def test_windows_says_what_feeds_the_machine(status: tuple[int, int, int], expected: Power) -> None:
    assert power_of_windows(*status) == expected


@pytest.mark.parametrize(
    ("on_battery", "low", "found", "is_paused"),
    [
        ("pause", 15, Power(True, 90), True),
        ("pause", 15, Power(False, 5), False),
        ("run", 15, Power(True, 90), False),
        ("run", 15, Power(True, 15), False),
        ("run", 15, Power(True, 14), True),
        ("run", 0, Power(True, 1), False),
        ("run", 15, Power(True, None), False),
    ],
)
def test_the_settings_say_when_heavy_work_waits(
    on_battery: power.OnBattery, low: int, found: Power, is_paused: bool
) -> None:
    assert PowerGate(on_battery, low, read=lambda: found).is_paused == is_paused


def test_power_is_read_once_in_some_seconds_and_stops_a_job_between_its_steps() -> None:
    now, readings = [0.0], [Power(False), Power(True), Power(False)]
    gate = PowerGate("pause", 15, lambda: readings.pop(0), lambda: now[0])
    steps = []

    def job(should_continue: workers.ShouldContinue) -> int:
        while should_continue() and len(steps) < 9:
            steps.append(now[0])
            now[0] += 1
        return len(steps)

    assert gate.heavy(job)(lambda: True) == 5 and len(readings) == 1  # the second reading, after five seconds
    assert gate.heavy(job)(lambda: True) == 0
    now[0] += power.READ_SECONDS
    assert gate.heavy(job)(lambda: True) == 9


def test_a_worker_goes_on_by_itself_when_the_plug_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PAUSED_SECONDS", 0.001)
    is_paused, runs, asked = [True], threading.Semaphore(0), threading.Semaphore(0)

    def look() -> bool:
        asked.release()
        return is_paused[0]

    worker = WakeableWorker("test", lambda should_continue: runs.release(), is_paused=look)
    worker.wake()
    try:
        assert runs.acquire(timeout=60)
        for _ in range(5):
            assert asked.acquire(timeout=60)
        assert not runs.acquire(blocking=False)  # it looks, and does not run
        is_paused[0] = False
        assert runs.acquire(timeout=60)
    finally:
        worker.stop()


@pytest.mark.slow
def test_a_backlog_waits_for_mains_power_and_is_found_by_its_words(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supplies = write_supplies(tmp_path / "power", {"AC": OUT, "BAT0": DISCHARGING})
    monkeypatch.setattr(power, "SUPPLIES", supplies)
    monkeypatch.setattr(power.sys, "platform", "linux")
    monkeypatch.setattr(power, "READ_SECONDS", 0.0)
    monkeypatch.setattr(workers, "PAUSED_SECONDS", 0.001)
    export = tmp_path / "notes.jsonl"
    line = '{{"session_id":"s","message_id":"{0}","role":"user","content":"the parcel {0} is in the shed"}}\n'
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        session = memory.sessions.create()
        session.add("user", "one message by itself")
        until(lambda: memory.status()["counts"]["pending"] == 0)  # too little to wait
        export.write_text("".join(line.format(number) for number in range(90)))
        memory.ingest(export, wait=False)
        status = memory.status()
        assert status["power"] == {"on_battery": True, "percent": 40, "paused": True}
        assert status["counts"]["pending"] == 90 and status["health"] == "ok"
        assert power_text(status["power"]).startswith("on battery, 40 %; embedding")
        assert memory.search("parcel 77").hits[0].text.startswith("the parcel 77")
        write_supplies(supplies, {"AC": IN})
        until(lambda: memory.status()["counts"]["pending"] == 0)
        assert not memory.status()["power"]["paused"]


def test_what_a_person_asks_for_does_not_wait(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "read_power", lambda: Power(True, 40))
    export = tmp_path / "notes.jsonl"
    line = '{{"session_id":"s","message_id":"{0}","role":"user","content":"the parcel {0} is in the shed"}}\n'
    export.write_text("".join(line.format(number) for number in range(90)))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.ingest(export).pending == 0


def test_watch_says_once_that_embedding_waits_and_once_that_it_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(power, "READ_SECONDS", 0.0)
    found = [Power(True, 63), Power(True, 62), Power(False, 62), Power(False, 63)]
    monkeypatch.setattr(power, "read_power", lambda: found[0])
    notes = PauseNotes(str(home))
    while found:
        notes.say()
        found.pop(0) if len(found) > 1 else found.clear()
    assert capsys.readouterr().err.splitlines() == [
        "On battery (63 %): messages are found by their words; embedding waits for mains power.",
        "Mains power is back: embedding goes on.",
    ]
