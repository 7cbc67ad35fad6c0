"""``kill -9`` while a backup is made or restored: earlier backups stay whole, and half a home is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from crash_runs import chat, moments, open_memory, run, write

from appliance import Appliance, Backups
from appliance.errors import HomeError

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

FEW, MANY = 2, 40


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, and a folder with a backup of its first half."""
    folder = tmp_path_factory.mktemp("built")
    run("ingest", folder / "home", [write(folder / "ana.jsonl", chat("ana", 600))])
    run("backup", folder / "home", [folder / "backups"])
    run("ingest", folder / "home", [write(folder / "ben.jsonl", chat("ben", 600))])
    return folder


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_backs_up(built: Path, tmp_path: Path, count: int) -> None:
    home, backups = tmp_path / "home", tmp_path / "backups"
    shutil.copytree(built / "home", home)
    shutil.copytree(built / "backups", tmp_path / "before")
    shutil.copytree(built / "backups", tmp_path / "whole")
    whole = run("backup", home, [tmp_path / "whole"])
    kills = 0
    for moment in moments(whole, count, seed=count):
        shutil.rmtree(backups, ignore_errors=True)
        shutil.copytree(tmp_path / "before", backups)
        kills += run("backup", home, [backups], moment).killed
        assert Backups.list(backups)
        assert not Backups.verify(backups, read_data=True).problems
        run("backup", home, [backups])
        checked = Backups.verify(backups, read_data=True)
        assert not checked.problems and checked.packs == len(list((backups / "packs").iterdir()))
        assert [one.messages for one in Backups.list(backups)] == [1_200]
    assert kills > count / 3, "some moments fell within the run"
    Appliance.restore(backups, tmp_path / "new")
    with open_memory(home) as memory, open_memory(tmp_path / "new") as other:
        assert not (home / "backup.tmp").exists()
        assert list(other.export()) == list(memory.export())


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_restores(built: Path, tmp_path: Path, count: int) -> None:
    backups, new = built / "backups", tmp_path / "new"
    whole = run("restore", tmp_path / "whole", [backups])
    kills = 0
    for moment in moments(whole, count, seed=count):
        shutil.rmtree(new, ignore_errors=True)
        killed = run("restore", new, [backups], moment).killed
        kills += killed
        if killed and not new.exists():
            with pytest.raises(HomeError):
                Appliance.open(new, create=False)
            Appliance.restore(backups, new)
        with open_memory(new) as memory:
            assert memory.overview.counts()["messages"] == 600
            memory.embed_pending()
            assert not memory.verify().problems
        assert not list(tmp_path.glob(".new*"))
    assert kills > count / 3, "some moments fell within the run"
