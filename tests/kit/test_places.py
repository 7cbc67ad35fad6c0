"""Where an installation puts what others look for, and what runs of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kit.installer import machine, place, running, shared_files
from kit.installer.kit_file import KitError
from kit.installer.place import Place

from tests.waits import until

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows processes as files")


def test_links_are_of_the_version_in_use_and_leave_the_files_of_others(tmp_path: Path) -> None:
    here = Place(tmp_path / "lib/memory-appliance", tmp_path / "bin")
    for version, names in (("1-0123abcd", ("appliance.1", "old.1")), ("2-0123abcd", ("appliance.1",))):
        pages = here.versions / version / "share/man/man1"
        pages.mkdir(parents=True)
        for name in names:
            (pages / name).write_text(version)
    mine = tmp_path / "share/man/man1"
    here.switch("1-0123abcd")
    assert shared_files.link(here) == [] and (mine / "old.1").read_text() == "1-0123abcd"
    here.switch("2-0123abcd")
    assert shared_files.link(here) == [] and [one.name for one in mine.iterdir()] == ["appliance.1"]
    (mine / "appliance.1").unlink()
    (mine / "appliance.1").write_text("of another")
    (mine / "other.1").symlink_to(tmp_path)
    assert shared_files.link(here) == [mine / "appliance.1"]
    shared_files.unlink(here)
    assert sorted(one.name for one in mine.iterdir()) == ["appliance.1", "other.1"]


def test_a_folder_of_commands_that_is_no_bin_has_no_share(tmp_path: Path) -> None:
    assert shared_files.share_of(Place(tmp_path, tmp_path / "commands")) is None


def test_the_command_on_windows_names_nothing_that_a_code_page_could_change() -> None:
    text = place.windows_command(Place(Path("C:/Users/Müller/p"), Path("C:/Users/Müller/p/bin")))
    assert text.isascii() and "\r\n" in text
    assert '"%~dp0..\\versions\\%version%\\Scripts\\python.exe" -I -m appliance %*' in text
    with pytest.raises(KitError, match="no letters beyond ASCII"):
        place.windows_command(Place(Path("C:/Users/Müller/p"), Path("C:/bin")))
    with pytest.raises(KitError, match="on the same drive"):
        place.windows_command(Place(Path("C:/p"), Path("D:/bin")))


@pytest.mark.parametrize(
    ("system", "machine_name", "python", "expected"),
    [
        ("linux", "x86_64", "linux-x86_64", "linux-x86_64"),
        ("darwin", "arm64", "macosx-11.0-universal2", "macos-arm64"),
        ("win32", "AMD64", "win-amd64", "windows-x86_64"),
        ("win32", "ARM64", "win-amd64", "windows-x86_64"),  # under emulation
        ("win32", "ARM64", "win-arm64", "windows-arm64"),
    ],
)
def test_the_platform_is_that_of_python(
    monkeypatch: pytest.MonkeyPatch, system: str, machine_name: str, python: str, expected: str
) -> None:
    monkeypatch.setattr(machine.sys, "platform", system)
    monkeypatch.setattr(machine.platform, "machine", lambda: machine_name)
    monkeypatch.setattr(machine.sysconfig, "get_platform", lambda: python)
    assert machine.this_platform() == expected


def test_an_older_macos_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.platform, "mac_ver", lambda: ("13.7.1", ("", "", ""), ""))
    target = {"platform": machine.this_platform(), "python": f"3.{sys.version_info[1]}"}
    machine.check_machine(target | {"macos": "13.3"})
    with pytest.raises(KitError, match=r"needs macOS 14\.0 or later, and this is macOS 13\.7\.1"):
        machine.check_machine(target | {"macos": "14.0"})


@ON_LINUX
def test_what_runs_of_an_installation_is_named(tmp_path: Path) -> None:
    here = Place(tmp_path / "a folder", tmp_path / "bin")
    python = here.versions / "1/bin/python"
    assert running.processes(here) == []
    script = "import sys; sys.stdin.read()"
    words = [str(python), "-c", script, "-m", "appliance", "tui"]
    with subprocess.Popen(words, executable=sys.executable, stdin=subprocess.PIPE) as process:
        (found,) = until(lambda: running.processes(here))  # its words are there a moment after it has begun
        assert (found.number, found.version) == (process.pid, here.versions / "1")
        assert str(found) == f"process {process.pid}: appliance tui"
        process.communicate()


@ON_LINUX
def test_a_system_without_a_library_that_the_kit_needs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    machine.check_libraries()
    monkeypatch.setitem(machine._SYSTEM_LIBRARIES, "libabsent.so.1", "libabsent1")
    with pytest.raises(
        KitError, match=r"lacks libabsent\.so\.1\. Install it first, .*\(Debian and Ubuntu: libabsent1\)"
    ):
        machine.check_libraries()
