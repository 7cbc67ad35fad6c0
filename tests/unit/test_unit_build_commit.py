"""The commit of a program, from a wheel or from a clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import __version__
from appliance.build_commit import build_commit, build_version

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "appliance").mkdir()
    return tmp_path / "appliance"


def test_a_wheel_says_what_it_was_built_from(package: Path) -> None:
    (package / "COMMIT").write_text(COMMIT + "\n")
    assert build_commit(package) == COMMIT
    assert build_version(package) == f"{__version__}+0123456789", "two builds of a version do not work together"


@pytest.mark.parametrize(
    "files",
    [
        {"HEAD": COMMIT + "\n"},
        {"HEAD": "ref: refs/heads/main\n", "refs/heads/main": COMMIT + "\n"},
        {
            "HEAD": "ref: refs/heads/main\n",
            "packed-refs": f"# sorted\n{'f' * 40} refs/x/main\n{COMMIT} refs/heads/main\n",
        },
    ],
)
def test_a_clone_says_where_it_stands(package: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = package.parent / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert build_commit(package) == COMMIT
    assert build_version(package) == __version__, "its files change under what runs"


@pytest.mark.parametrize("head", [None, "ref: refs/heads/none"])
def test_elsewhere_nothing_is_known(package: Path, head: str | None) -> None:
    if head is not None:
        (package.parent / ".git").mkdir()
        (package.parent / ".git/HEAD").write_text(head)
    assert build_commit(package) is None
