"""The screens that stand in the README are those that the program shows."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "docs" / "screens"


def words(svg: str) -> list[str]:
    """What stands on a screen, without bars and numbers: those differ a little with the processor's arithmetic."""
    said = (html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return sorted(word for text in said for word in re.findall(r"[^\W\d_]{2,}", text))


@pytest.mark.longest
def test_the_screens_of_the_readme_are_those_of_the_program(tmp_path: Path) -> None:
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "screenshots.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        timeout=240,
    )
    drawn = {path.name: words(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.svg")}
    kept = {path.name: words(path.read_text(encoding="utf-8")) for path in SCREENS.glob("*.svg")}
    assert drawn == kept, "draw them anew: packaging/screenshots.py docs/screens"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/screens/{name}" in readme for name in ("recall.svg", "reading.svg", "context.svg"))
    assert not any("@font-face" in path.read_text(encoding="utf-8") for path in SCREENS.glob("*.svg"))
