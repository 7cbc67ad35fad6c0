"""What a release consists of: a version that everything agrees on, and files that two builds make alike."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import time
from functools import partial
from pathlib import Path

import pytest
import release
from hatchling.builders.sdist import SdistBuilder

import appliance

ROOT = Path(release.ROOT)


def test_the_version_is_the_same_everywhere_and_stands_in_the_changelog_with_its_date() -> None:
    assert release.version() == appliance.__version__
    assert json.loads((ROOT / "clients/typescript/package.json").read_text())["version"] == appliance.__version__
    assert not [problem for problem in release.problems() if "CHANGELOG" in problem]


@pytest.mark.slow
def test_two_sdists_are_equal_whatever_the_machine_they_are_built_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    monkeypatch.setattr(gzip, "GzipFile", partial(gzip.GzipFile, compresslevel=1))  # how well it packs is no question
    built = []
    for mask, zone in ((0o022, "UTC"), (0o077, "Asia/Tokyo")):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        before = os.umask(mask)
        try:
            (path,) = SdistBuilder(str(ROOT)).build(
                directory=str(tmp_path / zone.replace("/", "-")), versions=["standard"]
            )
        finally:
            os.umask(before)
        built.append(Path(path))
    monkeypatch.undo()
    time.tzset()
    assert built[0].read_bytes() == built[1].read_bytes()
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"appliance/COMMIT", "README.md", "constraints.txt", "packaging/build_kit.py", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/")) or "__pycache__" in name]
