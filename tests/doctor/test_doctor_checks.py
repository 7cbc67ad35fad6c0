"""What the checks of ``appliance doctor`` make of what they are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.cli.doctor import lines_of
from appliance.doctor import airgap, folder, machine, program, running, settings, stored, surroundings
from appliance.doctor.checks import Check, Fault, judged
from appliance.errors import ConfigError
from appliance.paths import Home
from appliance.runtime.network import NetworkUse
from appliance.server.service.plan import ServiceState
from appliance.types import Owner

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
LLM = NetworkUse("language model", "http://10.1.2.3:11434/v1", "llm.base_url")

PYTHON = program.PythonFacts((3, 11, 7), 64, "/usr/bin/python3", "3.40.1", True)
MODELS = program.ModelFacts(("minilm", "bge"), {"minilm": "model.name"}, {}, frozenset({"minilm"}), 12)
PROCESSOR = machine.ProcessorFacts(frozenset({"avx2", "sse4_1"}), 8, 8, None)
MEMORY = machine.MemoryFacts(16_000_000_000, 8_000_000_000, None, None)
CLOCK = machine.ClockFacts(NOW, NOW - timedelta(days=1), "Europe/Berlin", True)
LOCALE = surroundings.LocaleFacts("utf-8", "UTF-8", "utf-8", "de_DE.UTF-8")
TERMINAL = surroundings.TerminalFacts(True, "xterm-256color", "truecolor", 120, 40, False, False)
FOLDER = folder.FolderFacts(
    Path("/h"), True, folder.Mount("/", "ext4", False), False, 50_000_000_000, 1_000_000, False, ()
)
PERMISSIONS = folder.PermissionFacts(Path("/h"), True, True, 1000, 1000, False)
STORED = stored.StoredFacts("read", schema=39)
OWNER = running.OwnerFacts(
    Owner(7, "appliance serve"), 7, True, False, "python -m appliance serve", 1000.0, "1.0", 900.0, True
)
SERVICE = ServiceState("systemd", True, True, True, (), "active (running)")
WATCHES = settings.WatchFacts(8192, 128, 100, 3, 20, (), 600.0)


def of_settings(error: ConfigError | None = None, *beyond: NetworkUse) -> Check:
    return settings.check_settings(error, ["llm.base_url"] if beyond else [], beyond, ())


def of_database(facts: stored.StoredFacts) -> Check:
    return stored.check_database(facts, Home(Path("/h")), latest=39)


FINE = [
    program.check_python(PYTHON),
    program.check_command(["/opt/a/bin/appliance"], ["/opt/a/bin/appliance", "/usr/bin/appliance"]),
    program.check_command(["/opt/a/bin/appliance"], []),
    program.check_models(MODELS),
    machine.check_processor(replace(PROCESSOR, features=frozenset({"sse4_1"}), usable=1, quota=0.5)),
    machine.check_memory(MEMORY),
    machine.check_memory(machine.MemoryFacts(None, None, None, None)),
    machine.check_clock(CLOCK),
    machine.check_clock(replace(CLOCK, changed=None, zone="")),
    surroundings.check_locale(LOCALE),
    surroundings.check_terminal(TERMINAL),
    surroundings.check_terminal(replace(TERMINAL, is_terminal=False, kind="")),
    surroundings.check_terminal(replace(TERMINAL, in_tmux=True, kind="tmux-256color", columns=60)),
    folder.check_file_system(FOLDER),
    folder.check_file_system(replace(FOLDER, mount=folder.Mount("/tmp", "tmpfs", False), has_memory=False)),
    folder.check_room(replace(FOLDER, free_files=None)),
    folder.check_permissions(PERMISSIONS),
    folder.check_permissions(replace(PERMISSIONS, exists=False)),
    of_settings(),
    of_settings(None, LLM),
    of_database(STORED),
    of_database(replace(STORED, schema=20)),
    of_database(stored.StoredFacts("none")),
    running.check_owner(OWNER, "1.0"),
    running.check_owner(running.OwnerFacts(None, 0)),
    running.check_owner(replace(OWNER, holder=running.HIDDEN)),
    running.check_owner(replace(OWNER, holder=0, is_running=False, version="0.9"), "1.0"),
    running.check_service(None),
    running.check_service(SERVICE),
    running.check_leftovers(running.LeftoverFacts(False, ("socket",))),
    running.check_leftovers(running.LeftoverFacts(True, imports=("a.zip",))),
    settings.check_watches(WATCHES),
    airgap.check_settings(()),
]

WRONG = [
    (program.check_python(replace(PYTHON, version=(3, 10, 2))), "3.10.2 is too old", "3.11 or later"),
    (program.check_python(replace(PYTHON, bits=32)), "32-bit", "64-bit"),
    (program.check_python(replace(PYTHON, has_full_text=False)), "FTS5", "FTS5"),
    (
        program.check_command(["/opt/a/bin/appliance"], ["/usr/bin/appliance", "/opt/a/bin/appliance"]),
        "'appliance' starts /usr/bin/appliance",
        "/opt/a/bin before /usr/bin",
    ),
    (program.check_models(replace(MODELS, needed={"e5": "model.name"})), "e5 is not installed", "models import"),
    (program.check_models(replace(MODELS, damaged={"minilm": "/p/model.onnx has 3"})), "minilm: /p/mod", "again"),
    (program.check_models(replace(MODELS, damaged={"bge": "bge has 3"})), "bge has 3", "models import"),
    (machine.check_memory(replace(MEMORY, available=90_000_000)), "90 MB are available", "Close"),
    (machine.check_memory(replace(MEMORY, granted=90_000_000)), "control group", "MemoryMax"),
    (machine.check_memory(replace(MEMORY, address_space=90_000_000)), "address space", "ulimit"),
    (machine.check_clock(replace(CLOCK, now=datetime(1970, 1, 2, tzinfo=UTC))), "1970-01-02", "timedatectl"),
    (machine.check_clock(replace(CLOCK, changed=NOW + timedelta(days=2))), "gone back", "timedatectl"),
    (machine.check_clock(replace(CLOCK, is_zone_known=False, zone="Mars/Base")), "'Mars/Base' is unknown", "TZ"),
    (surroundings.check_locale(replace(LOCALE, file_names="iso8859-1")), "file names in iso8859-1", "C.UTF-8"),
    (surroundings.check_terminal(replace(TERMINAL, kind="dumb")), "TERM is dumb", "xterm-256color"),
    (surroundings.check_terminal(replace(TERMINAL, in_tmux=True)), "within tmux", "default-terminal"),
    (folder.check_file_system(replace(FOLDER, mount=folder.Mount("/n", "nfs4", False))), "nfs4", "restore"),
    (folder.check_file_system(replace(FOLDER, mount=folder.Mount("/n", "tmpfs", False))), "restarts", "restore"),
    (folder.check_file_system(replace(FOLDER, is_read_only=True)), "read-only", "dmesg"),
    (folder.check_file_system(replace(FOLDER, lacks=("locks (flock)",))), "can't do: locks", "restore"),
    (folder.check_room(replace(FOLDER, free_bytes=5_000_000)), "5 MB free", "Make room"),
    (folder.check_room(replace(FOLDER, free_files=3)), "3 more files only", "df -i"),
    (folder.check_permissions(replace(PERMISSIONS, owner=77)), "belongs to user 77", "chown -R 1000 /h"),
    (folder.check_permissions(replace(PERMISSIONS, owner=77, user=0)), "this is root", "Run the program as that user"),
    (folder.check_permissions(replace(PERMISSIONS, can_use=False)), "may not read", "u+rwX /h"),
    (folder.check_permissions(replace(PERMISSIONS, open_files=("recall.db",))), "recall.db", "go= /h"),
    (folder.check_permissions(replace(PERMISSIONS, foreign_files=tuple("abcde"))), "a, b, c and 2 more", "chown"),
    (folder.check_permissions(replace(PERMISSIONS, exists=False, can_use=False)), "can't be made", "--home"),
    (of_settings(ConfigError("Unknown setting x.", where="c.toml")), "c.toml: Unknown setting x.", "config"),
    (of_database(replace(STORED, schema=99)), "schema 99", "Update the program"),
    (of_database(stored.StoredFacts("unreadable", "it is empty")), "it is empty", "appliance recover"),
    (
        stored.check_imports(stored.StoredFacts("read", problems=("/a", "/b", "/c", "/d"))),
        "/a, /b, /c and 1 more were not read completely",
        "appliance sources problems",
    ),
    (of_database(stored.StoredFacts("empty", has_others=True)), "is missing", "appliance recover /h --home NEW"),
    (running.check_owner(replace(OWNER, is_suspended=True), "1.0"), "is stopped", "kill -CONT 7"),
    (running.check_owner(replace(OWNER, answers=False), "1.0"), "does not answer", "kill 7"),
    (running.check_owner(OWNER, "1.1"), "is version 1.0, and this is 1.1", "Restart it"),
    (running.check_owner(replace(OWNER, installed_at=1500.0), "1.0"), "installed anew later", "Restart it"),
    (running.check_service(replace(SERVICE, current=False)), "would be written now", "service install"),
    (running.check_service(replace(SERVICE, running=False, detail="failed")), "does not run: failed", "journalctl"),
    (running.check_leftovers(running.LeftoverFacts(False, imports=("a", "b"))), "a and 1 more", "--resume"),
    (running.check_leftovers(running.LeftoverFacts(False, erasures=1)), "erasure", "reindex --pending"),
    (settings.check_watches(replace(WATCHES, needed=9000)), "9,000 folders", "max_user_watches=16384"),
    (settings.check_watches(replace(WATCHES, used_instances=128)), "all 128", "max_user_instances=256"),
    (settings.check_watches(replace(WATCHES, missing=("/mnt/usb",))), "/mnt/usb", "watch remove"),
    (airgap.check_settings((LLM,)), "http://10.1.2.3:11434/v1 (llm.base_url)", "Remove llm.base_url"),
]


@pytest.mark.parametrize("check", FINE, ids=lambda check: check.detail)
def test_what_is_fine_or_does_not_apply_passes_and_asks_for_nothing(check: Check) -> None:
    assert check.ok and check.fix is None and check.detail, check


@pytest.mark.parametrize(("check", "detail", "fix"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_is_named_with_what_to_do(check: Check, detail: str, fix: str) -> None:
    assert not check.ok
    assert detail in check.detail and fix in (check.fix or ""), check


def test_a_remote_endpoint_is_told_and_is_a_fault_only_where_silence_is_asked_for() -> None:
    assert "asked over the network" in of_settings(None, LLM).detail


def test_the_lines_of_a_check_fit_and_break_no_command() -> None:
    long = "/a/path/that/is/longer/than/a/line/" + "x" * 80
    check = judged("disk", (), [Fault("full " * 40, "Remove files."), Fault("slow", f"rm {long}")])
    lines = list(lines_of(check, 80))
    assert lines[0].startswith("!!  disk ") and lines[-3].strip() == "fix: Remove files."
    assert all(len(line) <= 80 for line in lines if long not in line) and any(line.strip() == long for line in lines)


# --- reading what the system says -------------------------------------------------------------------------------


def test_the_mount_of_a_folder_is_the_deepest_that_holds_it() -> None:
    mountinfo = (
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /mnt/my\\040nas rw - fuse.sshfs host:/x rw\n"
        "31 22 8:2 / /mnt/old ro - ext4 /dev/sdb1 rw\n"
    )
    assert folder.find_mount(mountinfo, "/mnt/my nas/memory") == folder.Mount("/mnt/my nas", "fuse.sshfs", False)
    assert folder.find_mount(mountinfo, "/mnt/my") == folder.Mount("/", "ext4", False)
    assert folder.find_mount(mountinfo, "/mnt/old") == folder.Mount("/mnt/old", "ext4", True)


def test_the_holder_of_a_lock_is_read_from_the_systems_list() -> None:
    lines = ["1: POSIX  ADVISORY  WRITE 11 08:01:7 0 EOF", "2: FLOCK  ADVISORY  WRITE 42 08:01:7 0 EOF"]
    assert running.find_holder(lines, "08:01", "7") == 42
    assert running.find_holder(lines, "08:01", "8") == 0
    assert running.find_holder(lines, "00:2a", "7") == 0  # as btrfs has it
    assert running.find_holder(lines, "00:2a", "7", noted=42) == 42
    assert running.find_holder(["1: FLOCK  ADVISORY  WRITE 0 08:01:7 0 EOF"], "08:01", "7") == running.HIDDEN


def test_the_tightest_control_group_counts() -> None:
    assert machine.cpu_quota(["max 100000", "150000 100000\n", "400000 100000"]) == 1.5
    assert machine.cpu_quota(["max 100000", ""]) is None


def test_what_a_run_reports_becomes_its_check() -> None:
    clean = {
        "name": "mcp", "detail": "handshake", "asked": [], "unrouted": 0, "datagrams": None, "trouble": "", "fix": ""
    }  # fmt: skip
    assert airgap.check_of(clean) == Check("mcp", True, "handshake")
    line = {"event": "socket.connect", "target": "192.0.2.1:443", "asked_by": "telemetry:7", "pid": 1}
    caught = airgap.check_of({**clean, "asked": [line, line], "unrouted": 2, "datagrams": 1})
    assert caught.detail.startswith("telemetry:7 tried connect 192.0.2.1:443; the kernel counted 2 attempts")
    assert "1 datagram," in caught.detail and not caught.ok
    assert airgap.check_of({**clean, "trouble": "it ended with 3", "fix": "Look."}).fix == "Look."
