"""What all tests of the screen have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

REAL_HOME = os.environ.get("HOME")


@pytest.fixture(autouse=True)
def _asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types while a test waits for what nobody asked for."""
    monkeypatch.setattr("appliance_tui.app.STARTUP_DELAY_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def _nothing_lies_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen of an empty memory lists what is found in the person's home, which is not that of who tests."""
    if os.environ.get("HOME") == REAL_HOME:
        monkeypatch.setenv("HOME", str(tmp_path / "person"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "DATA_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose clock stands still, for the scenes."""
    from scenes import looked_at_home

    with looked_at_home(tmp_path_factory.mktemp("looked-at")) as home:
        yield home


_parse_rules = Stylesheet._parse_rules
_parsed: dict[object, Any] = {}


def _parse_rules_once(self: Stylesheet, *source: Any, **about: Any) -> Any:
    key = (source, tuple(about.items()), tuple(sorted(self._variables.items())))
    if key not in _parsed:
        _parsed[key] = _parse_rules(self, *source, **about)
    return _parsed[key]


@pytest.fixture(autouse=True)
def _style_sheets_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each app parses the same style sheets three times: a tenth of the time of all tests of the screen."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parse_rules_once)
