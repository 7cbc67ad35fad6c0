"""What all tests of the screen have."""

from __future__ import annotations

from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet


@pytest.fixture(autouse=True)
def _asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types while a test waits for what nobody asked for."""
    monkeypatch.setattr("appliance_tui.app.STARTUP_DELAY_SECONDS", 0.0)


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
