"""The kit's installer: beside what is there, tried before it is used, never over what is another's, away without a
trace."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from kit.installer import contents, installing, main
from kit.installer.kit_file import Kit
from kit.installer.place import MARK, Place

from tests.kit.kits import write_kit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person."""
    folder = tmp_path / "person with space"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def run(kit: Path, *arguments: str) -> int:
    return main.main(arguments, kit)


def version_of(person: Path) -> str:
    return answer(person, "--version")


def answer(person: Path, argument: str) -> str:
    command = person / ".local/bin/appliance"
    return subprocess.run([command, argument], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_install_upgrade_rollback_and_uninstall(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = write_kit(tmp_path, "1.0"), write_kit(tmp_path, "2.0")
    assert run(first, "install") == 0
    assert "is not in PATH" in capsys.readouterr().out
    assert version_of(person) == "appliance 1.0"
    assert answer(person, "command") == str(person / ".local/bin/appliance")
    prefix = person / ".local/lib/memory-appliance"
    (folder,) = (prefix / "versions").iterdir()
    assert (folder / "share/doc/memory-appliance/README.md").read_text() == "how it works"
    page, completion = person / ".local/share/man/man1/appliance.1", person / ".local/share/fish/vendor_completions.d"
    assert page.read_text() == "of 1.0" and [one.name for one in completion.iterdir()] == ["appliance-1.0.fish"]
    assert not [*folder.rglob("*.whl")]
    assert run(first, "install") == 0
    said = capsys.readouterr().out
    assert "files are as in the kit" in said and "installed already" in said
    (module,) = folder.rglob("appliance/paths.py")
    module.write_text(module.read_text().replace("memory", "menory"))
    (folder / "bin/python").unlink()
    page.unlink()
    (folder / "share/man/man1/appliance.1").unlink()
    command = person / ".local/bin/appliance"
    broken = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert (broken.returncode, broken.stderr.count("\n")) == (1, 1) and "Install the kit again" in broken.stderr
    assert run(first, "install") == 0
    said = capsys.readouterr().out
    assert "3 files were damaged or missing, now as in the kit:" in said and "appliance/paths.py\n" in said
    assert version_of(person) == "appliance 1.0" and page.exists() and "memory" in module.read_text()

    memory = person / "memory"
    memory.mkdir()
    (memory / "recall.db").write_bytes(b"ten years")
    older = command.read_text().splitlines()
    command.write_text("\n".join([*older[:2], older[2].replace("'", '"'), "exit 7"]) + "\n")  # as of an older kit
    service = person / "service"
    service.touch()
    assert run(second, "install") == 0
    assert version_of(person) == "appliance 2.0"
    assert service.read_text() == f"2.0 by {command}", "the service is restarted with the new version"
    assert page.read_text() == "of 2.0" and [one.name for one in completion.iterdir()] == ["appliance-2.0.fish"]
    assert (person / "memory-backups/by-1.0").read_bytes() == b"ten years", "by the version that wrote it"
    assert run(second, "rollback") == 0
    assert version_of(person) == "appliance 1.0" and page.read_text() == "of 1.0"
    capsys.readouterr()
    assert run(second, "rollback") == 1
    assert "No version before the one in use is kept" in (said := capsys.readouterr().err) and "To use 2.0-" in said
    assert run(second, "install", "--no-backup") == 0
    (python,) = (prefix / "versions").glob("2.0-*/bin/python")
    python.unlink()
    assert subprocess.run([command, "rollback"]).returncode == 0, "without the kit, by the Python of the other version"
    assert version_of(person) == "appliance 1.0"
    assert run(second, "install", "--no-backup") == 0
    assert version_of(person) == "appliance 2.0"
    (prefix / "versions/1.5-0123abcd").mkdir()  # an installation that was killed
    for number in ("3.0", "4.0"):
        assert run(write_kit(tmp_path, number), "install") == 0
    assert [path.name.partition("-")[0] for path in sorted((prefix / "versions").iterdir())] == ["3.0", "4.0"]

    assert subprocess.run([command, "uninstall"]).returncode == 0
    assert not prefix.exists() and not (person / ".local/bin/appliance").exists() and not service.exists()
    assert not [*(person / ".local/share").iterdir()], "no link is left"
    assert (memory / "recall.db").read_bytes() == b"ten years"
    assert run(first, "uninstall") == 1
    assert "Nothing is installed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("failing", ["demo_exit", "backup_exit"])
def test_an_upgrade_that_fails_leaves_the_version_before_in_use(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    assert run(write_kit(tmp_path, "1.0", backup_exit=int(failing == "backup_exit")), "install") == 0
    (person / "memory").mkdir()
    (person / "memory/recall.db").touch()
    second = write_kit(tmp_path, "2.0", demo_exit=int(failing == "demo_exit"))
    assert run(second, "install") == 1
    said = capsys.readouterr().err
    assert ("Could not run its demo" if failing == "demo_exit" else "Could not back the memory up") in said
    assert version_of(person) == "appliance 1.0"
    if failing == "demo_exit":
        assert len([*(person / ".local/lib/memory-appliance/versions").iterdir()]) == 1, "nothing is left of it"


@pytest.mark.slow
def test_a_version_that_is_gone_back_to_and_cannot_read_the_memory_names_the_backup(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (person / "memory").mkdir()
    (person / "memory/recall.db").touch()
    first, second = write_kit(tmp_path, "1.0", status_exit=3), write_kit(tmp_path, "2.0")
    assert run(first, "install") == 0
    assert run(second, "install") == 0
    kit_with_failing_backup(person, "1.0")
    capsys.readouterr()
    assert run(second, "rollback") == 0
    said = capsys.readouterr().out
    assert "It can't read the memory" in said
    assert f"appliance restore '{person / 'memory-backups'}' --home NEW_FOLDER" in said
    assert run(second, "install") == 0, "the newer version, which can read it, makes the backup"
    assert sorted(one.name for one in (person / "memory-backups").iterdir()) == ["by-1.0", "by-2.0"]


def kit_with_failing_backup(person: Path, version: str) -> None:
    """Let the backup of an installed version fail, as where the memory is too new for it."""
    (program,) = (person / ".local/lib/memory-appliance/versions").glob(
        f"{version}-*/lib/python*/site-packages/appliance/__main__.py"
    )
    program.write_text(program.read_text().replace("target.mkdir(exist_ok=True)", "sys.exit(3)"))


def test_what_another_has_put_there_is_not_overwritten(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = person / ".local/bin/appliance"
    command.parent.mkdir(parents=True)
    command.write_text("mine")
    assert run(write_kit(tmp_path, "1.0"), "install") == 1
    assert "is not of this kit" in capsys.readouterr().err
    assert command.read_text() == "mine" and not (person / ".local/lib/memory-appliance").exists()


@pytest.mark.parametrize("name", ["notes.txt", "versions/keep/x", "versions/mine.txt", "current"])
def test_a_folder_of_another_program_is_refused(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    mine = tmp_path / "tools" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    before = sorted((tmp_path / "tools").rglob("*"))
    assert run(write_kit(tmp_path, "1.0"), "install", "--prefix", str(tmp_path / "tools")) == 1
    assert "is not of this program. Name an empty folder" in capsys.readouterr().err
    assert mine.read_text() == "mine" and sorted((tmp_path / "tools").rglob("*")) == before


def test_a_place_whose_versions_were_removed_by_hand_is_installed_into_again(tmp_path: Path) -> None:
    place = Place(tmp_path / "place", tmp_path / "bin")
    place.prefix.mkdir()
    place.switch("1.0-0123abcd")
    place.check_prefix()


def test_where_the_name_of_the_version_in_use_is_damaged_the_latest_is(tmp_path: Path) -> None:
    place = Place(tmp_path / "place", tmp_path / "bin")
    latest = place.versions / "1.0-0123abcd"
    latest.mkdir(parents=True)
    (latest / "installed").touch()
    for damaged in ("", "junk", "../../elsewhere"):
        place.switch(damaged)
        place.check_prefix()
        assert place.current() == latest
    (place.prefix / "current").unlink()
    assert place.current() == latest


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"python": "3.99"}, "This kit is for Python 3.99, and this is Python"),
        ({"platform": "linux-riscv64"}, "This kit is for linux-riscv64, and this machine is"),
        pytest.param({"glibc": "2.999"}, "needs glibc 2.999 or later", marks=ON_LINUX),
    ],
)  # fmt: skip
def test_another_machine_is_refused(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], target: dict[str, str], said: str
) -> None:
    assert run(write_kit(tmp_path, "1.0", **target), "install") == 1
    assert said in capsys.readouterr().err
    assert not [*person.iterdir()]


def test_a_damaged_kit_is_refused(tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kit = write_kit(tmp_path, "1.0")
    assert run(kit, "verify") == 0
    with zipfile.ZipFile(kit) as archive:
        at = archive.getinfo("wheels/memory_appliance-1.0-py3-none-any.whl").header_offset
    data = bytearray(kit.read_bytes())
    data[at + 100] ^= 1
    kit.write_bytes(data)
    place = Place(person / ".local/lib/memory-appliance", person / ".local/bin")
    installed = place.versions / Kit(kit).label  # also where the version is installed already
    installed.mkdir(parents=True)
    (installed / MARK).touch()
    place.switch(installed.name)
    for verb in ("verify", "install"):
        assert run(kit, verb) == 1
        assert "wheels/memory_appliance-1.0-py3-none-any.whl is damaged" in capsys.readouterr().err
    with zipfile.ZipFile(kit, "a") as archive:
        archive.writestr("wheels/another.whl", b"")
    assert run(kit, "verify") == 1
    assert "another.whl is not listed in this kit" in capsys.readouterr().err


def test_what_is_no_kit_is_said(tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "part.pyz"
    part.write_bytes(write_kit(tmp_path, "1.0").read_bytes()[:-100])
    assert run(part, "verify") == 1
    assert "part.pyz is damaged, or no kit. Copy the kit again." in capsys.readouterr().err
    part.write_bytes(part.read_bytes()[:5000])  # and without an installer in it, Python says it
    ran = subprocess.run([sys.executable, part, "install"], capture_output=True, text=True)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1 and "this-file-is-incomplete-copy-it-again" in ran.stderr


def test_two_installers_do_not_work_at_once(tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = person / ".local/lib/memory-appliance"
    with Place(prefix, person / ".local/bin").locked():
        assert run(write_kit(tmp_path, "1.0"), "install") == 1
        assert f"Another installer is at work in {prefix}" in capsys.readouterr().err
    assert not prefix.exists()


def test_without_room_nothing_begins(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "needed_bytes", lambda files: 1 << 60)
    assert run(write_kit(tmp_path, "1.0"), "install") == 1
    assert "Make room, or name another folder with --prefix" in capsys.readouterr().err


def test_everything_in_it_can_be_unpacked(tmp_path: Path, person: Path) -> None:
    assert run(write_kit(tmp_path, "1.0"), "unpack", str(tmp_path / "all")) == 0
    assert (tmp_path / "all/share/doc/memory-appliance/README.md").read_text() == "how it works"
    assert (tmp_path / "all/SHA256SUMS").exists()


def test_a_disk_that_gets_full_leaves_nothing_behind(
    tmp_path: Path, person: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: contents.File, folder: Path) -> None:
        if file.path.endswith("METADATA"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / file.path))
        write(file, folder)

    write = contents.File.write
    monkeypatch.setattr(contents.File, "write", full)
    assert run(write_kit(tmp_path, "1.0"), "install") == 1
    said = capsys.readouterr().err
    assert "METADATA. Make room" in said and "Nothing was installed." in said
    assert not (person / ".local/lib/memory-appliance").exists()


def test_the_room_that_is_needed_follows_from_the_files(tmp_path: Path) -> None:
    files = [*contents.files_of(Kit(write_kit(tmp_path, "1.0")))]
    modules = sum(file.size for file in files if file.path.endswith(".py"))
    assert contents.needed_bytes(files) - modules == 4096 * sum(-(-file.size // 4096) for file in files)
