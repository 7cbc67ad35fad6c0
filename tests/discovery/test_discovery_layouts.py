"""Each tool's layout is found and counted, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from appliance.engine import discovery
from appliance.ingest.discovery.places import Machine
from appliance.paths import Home
from appliance.requests import DiscoverRequest
from appliance.types import FoundHistory
from tests.discovery import layouts
from tests.discovery.layouts import LAYOUTS, Layout, tree


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home; this machine is that of nobody else."""
    made = tmp_path / "ines"
    made.mkdir()
    monkeypatch.setattr(discovery, "this_machine", lambda: Machine(made, "linux", {}))
    return made


def found(tmp_path: Path, seconds: float = 60.0) -> list[FoundHistory]:
    return list(discovery.discover(DiscoverRequest(seconds=seconds), Home(tmp_path / "memory"), ""))


@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.tool for layout in LAYOUTS])
def test_the_layout_of_a_tool_is_found_and_counted(tmp_path: Path, person: Path, layout: Layout) -> None:
    path = layout.build(person)
    before = tree(tmp_path)
    (one,) = found(tmp_path)
    assert (one.tool, one.format, one.path) == (layout.tool, layout.format, str(path))
    assert (one.conversations, one.estimated, one.watched, one.problem) == (1, False, False, "")
    assert one.first is not None and one.last is not None
    assert (one.first[:16], one.last[:13]) == ("2026-01-05T08:00", "2026-01-05T08")
    assert one.bytes > 0
    assert tree(tmp_path) == before


def test_all_of_them_beside_each_other(tmp_path: Path, person: Path) -> None:
    paths = {str(layout.build(person)) for layout in LAYOUTS}
    before = tree(tmp_path)
    assert {one.path for one in found(tmp_path)} == paths
    assert tree(tmp_path) == before


def test_a_home_without_any(tmp_path: Path, person: Path) -> None:
    assert found(tmp_path) == []


def test_what_is_encrypted_is_named_with_what_to_do(tmp_path: Path, person: Path) -> None:
    path = person / ".config/Signal/sql/db.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(os.urandom(4096))
    (one,) = found(tmp_path)
    assert (one.tool, one.conversations, one.bytes) == ("Signal", None, 4096)
    assert "encrypted" in one.problem and "signal-export" in one.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path, person: Path) -> None:
    folder = layouts.claude_code(person)
    folder.chmod(0)
    try:
        (one,) = found(tmp_path)
    finally:
        folder.chmod(0o700)
    assert "denied" in one.problem and one.hint


def test_links_and_loops_are_not_counted_twice(tmp_path: Path, person: Path) -> None:
    projects = layouts.claude_code(person)
    (projects / "loop").symlink_to(projects, target_is_directory=True)
    (person / ".config").mkdir()
    (person / ".config/claude").symlink_to(person / ".claude", target_is_directory=True)
    (person / "Downloads").symlink_to(person, target_is_directory=True)
    (one,) = found(tmp_path)
    assert one.conversations == 1


def test_names_that_are_not_utf8(tmp_path: Path, person: Path) -> None:
    (person / "Downloads").mkdir()
    name = os.fsencode(person / "Downloads") + b"/WhatsApp Chat with Zo\xeb.txt"
    with open(name, "wb") as file:
        file.write(b"05/01/2026, 08:00 - Ana: Which pier?\n05/01/2026, 08:01 - Ben: The northern one.\n")
    (one,) = found(tmp_path)
    assert one.conversations == 1 and one.path.endswith("Zo\ufffd.txt")
    assert "UTF-8" in one.problem and one.hint


def test_a_flatpak_and_a_moved_folder(tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layouts.copilot_chat(person)
    (person / ".var/app/com.visualstudio.code").mkdir(parents=True)
    (person / ".config").rename(person / ".var/app/com.visualstudio.code/config")
    layouts.codex(person)
    (person / ".codex").rename(tmp_path / "moved")
    machine = Machine(person, "linux", {"CODEX_HOME": str(tmp_path / "moved")})
    monkeypatch.setattr(discovery, "this_machine", lambda: machine)
    assert sorted(one.tool for one in found(tmp_path)) == ["Codex", "Copilot Chat"]


@pytest.mark.parametrize(
    ("platform", "moved"), [("mac", "Library/Application Support"), ("windows", "AppData/Roaming")]
)
def test_the_places_of_other_platforms(
    tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch, platform: str, moved: str
) -> None:
    layouts.cursor(person)
    (person / moved).parent.mkdir(parents=True)
    (person / ".config").rename(person / moved)
    monkeypatch.setattr(discovery, "this_machine", lambda: Machine(person, platform, {}))  # type: ignore[arg-type]
    (one,) = found(tmp_path)
    assert (one.tool, one.conversations) == ("Cursor", 1)


def test_without_time_the_size_is_known_and_the_count_is_open(tmp_path: Path, person: Path) -> None:
    layouts.claude_code(person)
    (one,) = found(tmp_path, seconds=0.0)
    assert (one.conversations, one.estimated) == (None, True) and one.bytes > 0
