"""Where a home is, what a home that can't be used says, and files that are whole or not there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from appliance import paths
from appliance.errors import HomeError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_home_given_goes_over_the_variable_and_that_over_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "named"))
    assert paths.find_home(tmp_path / "given").root == tmp_path / "given"
    assert paths.find_home().root == tmp_path / "named"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("APPLIANCE_HOME")
    assert paths.find_home().root.is_absolute()
    assert paths.find_home().root.name == "appliance"


def test_a_home_is_absolute_and_knows_the_user_s_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.find_home("here").root == tmp_path / "here"
    assert paths.find_home("~/there").root == tmp_path / "there"


def test_finding_makes_nothing_and_making_makes_it_private(home: Path) -> None:
    found = paths.find_home(home)
    assert not home.exists()
    old = os.umask(0)
    try:
        paths.create_home(found)
    finally:
        os.umask(old)
    assert {path.name for path in home.iterdir()} == {"vectors", "index", "models", "inbox"}
    assert {mode(path) for path in (home, *home.iterdir())} == {0o700}
    assert paths.create_home(found) == found


def loose_home(root: Path) -> paths.Home:
    """A home as another program restored it: open to all users of the machine."""
    found = paths.create_home(paths.find_home(root))
    found.database.write_text("x")
    (found.index / "g1").mkdir()
    (found.index / "g1" / "segment").write_text("x")
    found.token.write_text("x")
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return found


def test_an_existing_home_is_closed_to_other_users_and_said_once(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = loose_home(home)
    paths.create_home(found)
    assert {mode(path) for path in home.rglob("*") if path.is_dir()} | {mode(home)} == {0o700}
    assert {mode(path) for path in home.rglob("*") if path.is_file()} == {0o600}
    assert caplog.messages == [f"Other users of this machine could open {home}. It is private now."]
    caplog.clear()
    paths.require_home(found)
    assert not caplog.messages


def test_a_folder_with_other_files_and_what_links_lead_to_keep_their_modes(home: Path, tmp_path: Path) -> None:
    found = loose_home(home)
    (home / "letter.txt").write_text("x")
    (outside := tmp_path / "models").mkdir()
    found.models.rmdir()
    found.models.symlink_to(outside)
    for path, before in ((home / "letter.txt", 0o644), (outside, 0o755)):
        path.chmod(before)
    paths.create_home(found)
    assert (mode(home), mode(home / "letter.txt"), mode(outside)) == (0o755, 0o644, 0o755)
    assert (mode(found.database), mode(found.token), mode(found.index)) == (0o600, 0o600, 0o700)


def test_every_place_lies_in_the_home(home: Path) -> None:
    places = paths.find_home(home).locations()
    assert places.pop("home") == home
    assert all(place.is_relative_to(home) and place != home for place in places.values())
    assert len(set(places.values())) == len(places)


def test_a_home_that_can_t_be_made_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for named in (tmp_path / "file", tmp_path / "file" / "home"):
        with pytest.raises(HomeError) as refused:
            paths.create_home(paths.find_home(named))
        assert str(tmp_path / "file") in str(refused.value) and refused.value.exit_code == 3
        assert "--home" in str(refused.value.hint)


def test_a_folder_without_a_memory_is_told_apart_from_none(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="There is no memory in this folder"):
        paths.require_home(paths.find_home(tmp_path))
    with pytest.raises(HomeError, match="There is no such folder"):
        paths.require_home(paths.find_home(tmp_path / "gone"))


def test_a_small_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "note"
    paths.write_file_atomically(path, b"first")
    assert path.read_bytes() == b"first" and mode(path) == 0o600

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        paths.write_file_atomically(path, b"second, and longer")
    monkeypatch.undo()
    assert path.read_bytes() == b"first"
    paths.write_file_atomically(path, b"third")
    assert path.read_bytes() == b"third"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("note")] == ["note"]


def test_folders_that_go_while_they_are_looked_through_are_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_bytes(b"12345")
    measured = paths.file_stats(tmp_path)
    first = next(measured)
    shutil.rmtree(tmp_path / "a", ignore_errors=True)
    shutil.rmtree(tmp_path / "b", ignore_errors=True)
    rest = [one.st_size for one in measured]
    assert first.st_size == 5 and set(rest) <= {5} and len(rest) <= 2
    assert paths.files(tmp_path) == sorted(tmp_path.glob("*/deep/file"))


def test_a_file_has_one_absolute_path_however_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "disk" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "exports").mkdir()
    for path in (tmp_path / "exports" / "a.jsonl", tmp_path / "disk" / "b.jsonl"):
        path.touch()
    (tmp_path / "link").symlink_to(inner)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "exports" / "a.jsonl"
    for typed in ("exports/a.jsonl", "./exports//a.jsonl", "disk/../exports/a.jsonl", "~/exports/a.jsonl"):
        assert [*paths.absolute_paths(typed)] == [file]
    assert [*paths.absolute_paths(["exports", "exports/"])] == [tmp_path / "exports"]
    assert [*paths.absolute_paths("link/")] == [tmp_path / "link"], "a link keeps its name"
    assert [*paths.absolute_paths("link/../b.jsonl")] == [tmp_path / "disk" / "b.jsonl"], "it leads out of the link"
    assert [*paths.absolute_paths("gone/../nothing")] == [tmp_path / "nothing"]
    assert [*paths.absolute_paths("~nobody-of-this-name/a")] == [tmp_path / "~nobody-of-this-name" / "a"]
