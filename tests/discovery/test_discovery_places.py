"""Where discovery looks: folders in the user's language, sandboxes, other platforms; and what it leaves alone."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.ingest.discovery import search
from appliance.ingest.discovery.places import PLACES, Machine, Platform, existing
from appliance.ingest.discovery.remote_places import is_in_the_cloud, is_remote, linux_mounts, mac_mounts
from appliance.ingest.discovery.search import Search
from tests.discovery import layouts


@pytest.fixture
def person(tmp_path: Path) -> Path:
    made = tmp_path / "ines"
    made.mkdir()
    return made


def user_dirs(person: Path, *lines: str) -> list[Path]:
    (person / ".config").mkdir(exist_ok=True)
    (person / ".config/user-dirs.dirs").write_text("# a comment\n" + "\n".join(lines) + "\n", "utf-8")
    return Machine(person, "linux", {}).export_folders()


@pytest.mark.parametrize("name", ["Téléchargements", "Transferências", "Pobrane", "下载", 'Mes \\"choses\\"'])
def test_downloads_in_the_users_language(person: Path, name: str) -> None:
    folders = user_dirs(person, f'XDG_DOWNLOAD_DIR="$HOME/{name}"', 'XDG_DESKTOP_DIR="$HOME/Bureau/"')
    assert folders == [person / name.replace("\\", ""), person / "Bureau", person / "Documents"]


def test_user_folders_elsewhere_and_switched_off(person: Path, tmp_path: Path) -> None:
    folders = user_dirs(
        person, f'XDG_DOWNLOAD_DIR="{tmp_path}/data/loads"', 'XDG_DESKTOP_DIR="$HOME"', 'XDG_DOCUMENTS_DIR="$HOME/"'
    )
    assert folders == [tmp_path / "data/loads"]


def test_documents_that_onedrive_has_taken_over(person: Path) -> None:
    machine = Machine(person, "windows", {"OneDrive": f"{person}/OneDrive", "OneDriveConsumer": f"{person}/OneDrive"})
    assert machine.export_folders() == [
        person / "Downloads", person / "Desktop", person / "OneDrive/Desktop", person / "Documents",
        person / "OneDrive/Documents",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "tool", "path"),
    [
        ("linux", "Signal", ".var/app/org.signal.Signal/config/Signal/sql/db.sqlite"),
        ("linux", "Signal", "snap/signal-desktop/current/.config/Signal/sql/db.sqlite"),
        ("mac", "Signal", "Library/Application Support/Signal/sql/db.sqlite"),
        ("windows", "Signal", "AppData/Roaming/Signal/sql/db.sqlite"),
        ("linux", "Thunderbird", ".var/app/org.mozilla.Thunderbird/.thunderbird"),
        ("linux", "Thunderbird", ".var/app/net.thunderbird.Thunderbird/.thunderbird"),
        ("linux", "Thunderbird", "snap/thunderbird/common/.thunderbird"),
        ("mac", "Thunderbird", "Library/Thunderbird/Profiles"),
        ("windows", "Thunderbird", "AppData/Roaming/Thunderbird/Profiles"),
        ("windows", "LM Studio", ".lmstudio/conversations"),
        ("linux", "Jan", ".var/app/ai.jan.Jan/data/Jan/data/threads"),
        ("mac", "Jan", "Library/Application Support/Jan/data/threads"),
        ("windows", "Jan", "AppData/Roaming/Jan/data/threads"),
        ("mac", "Apple Mail", "Library/Mail"),
        ("linux", "Hermes", ".hermes/state.db"),
        ("windows", "Goose", "AppData/Roaming/Block/goose/data/sessions"),
        ("windows", "Cursor", "AppData/Roaming/Cursor/User/globalStorage/state.vscdb"),
        ("mac", "Zed", "Library/Application Support/Zed/threads/threads.db"),
    ],
)
def test_a_place_is_looked_at(person: Path, platform: Platform, tool: str, path: str) -> None:
    (person / path).parent.mkdir(parents=True)
    (person / path).touch()
    machine = Machine(person, platform, {})
    patterns = [pattern for place in PLACES if place.tool == tool for pattern in machine.paths(place.path)]
    assert (person / path) in [found for pattern in patterns for found, _ in existing(pattern)]


def test_network_mounts_are_told_from_the_tables() -> None:
    linux = (
        "/dev/sda1 / ext4 rw 0 0\nnas:/x /mnt/nas\\040two nfs4 rw 0 0\n//s/share /media/share cifs rw 0 0\n"
        "host: /home/ines/far fuse.sshfs rw 0 0\nsystemd-1 /auto autofs rw 0 0\nportal /run/doc fuse.portal rw 0 0\n"
    )
    assert linux_mounts(linux) == {"/mnt/nas two", "/media/share", "/home/ines/far", "/auto"}
    mac = (
        "/dev/disk3s1s1 on / (apfs, sealed, local)\nmap auto_home on /System/Volumes/Data/home (autofs, automounted)\n"
        "//ines@nas/My Share on /Volumes/My Share (smbfs, nodev)\n"
    )
    assert mac_mounts(mac) == {"/System/Volumes/Data/home", "/Volumes/My Share"}


def test_a_path_on_a_network_drive_is_known_also_by_links(tmp_path: Path) -> None:
    far = tmp_path / "far"
    (tmp_path / "link").symlink_to("far/exports")
    (tmp_path / "loop").symlink_to("loop")
    for path, remote in {
        "far": True,
        "far/x": True,
        "link/y": True,
        "near": False,
        "farther": False,
        "loop": False,
    }.items():
        assert is_remote(tmp_path / path, {str(far)}) is remote, path
    assert is_remote(Path("//server/share/x"), ())


def test_a_network_drive_is_not_looked_at(person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = tmp_path / "far"
    layouts.whatsapp(far)
    layouts.claude_code(person)
    (person / "Downloads").symlink_to(far / "Documents")
    (person / "Documents").mkdir()
    (person / "Documents/far").mkdir()
    layouts.chatgpt_zip(person / "Documents/far")
    monkeypatch.setattr(search, "network_folders", lambda *_: frozenset({str(far), str(person / "Documents/far")}))
    listed = os.scandir

    def watched(path: Any) -> Any:
        assert "far" not in str(path), "looked at a network drive"
        return listed(path)

    monkeypatch.setattr(os, "scandir", watched)
    looked = Search(Machine(person, "linux", {}))
    assert [one.tool for one in looked.run()] == ["Claude Code"]
    assert looked.notes == [
        f"Not looked at, because it is on a network drive: {person}/Downloads. 'appliance ingest' reads it."
    ]


def test_a_file_that_only_the_cloud_has_is_not_fetched(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_in_the_cloud(SimpleNamespace(st_file_attributes=0x400020, st_mode=0o100600))  # type: ignore[arg-type]
    assert is_in_the_cloud(SimpleNamespace(st_flags=0x40000040, st_mode=0o100600))  # type: ignore[arg-type]
    layouts.whatsapp(person)
    assert not is_in_the_cloud(os.stat(layouts.chatgpt_zip(person)))
    monkeypatch.setattr(search, "is_in_the_cloud", lambda info: True)
    looked = Search(Machine(person, "linux", {}))
    assert list(looked.run()) == []
    assert "1 file in" in looked.notes[0] and "fetched from a cloud" in looked.notes[0]


def test_a_place_with_very_many_files_is_listed_in_bounds(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    projects = layouts.claude_code(person)
    for number in range(300):
        (projects / f"tool-result-{number}.txt").touch()
    monkeypatch.setattr(search, "MAX_LISTED", 100)
    looked = Search(Machine(person, "linux", {}))
    assert all(not one.complete for one in looked.run())
    assert f"Of {projects} the first 100 files were looked at." in looked.notes
