"""Names in the screen's style sheets are its own: Textual finds a widget's rules by the name of its class alone."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

import textual.widgets
from textual.dom import DOMNode

import appliance_tui


def styled(package: ModuleType) -> set[str]:
    """The names of what can be styled that a package makes."""
    names = set()
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        names |= {
            name
            for name, one in vars(import_module(module.name)).items()
            if isinstance(one, type) and issubclass(one, DOMNode) and one.__module__.startswith(package.__name__)
        }
    return names


def test_no_widget_is_called_as_one_of_textual() -> None:
    ours = styled(appliance_tui)
    assert {"HitList", "ScreenBar"} <= ours
    assert not ours & styled(textual.widgets)
