"""Screens whose modules are loaded when they are first shown, so that the first screen appears at once."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from textual.screen import Screen


def lazy_screen(module: str, name: str) -> Callable[[], Screen[None]]:
    """What makes the screen ``name`` of a module of ``appliance_tui.screens``."""

    def load() -> Screen[None]:
        instance: Screen[None] = getattr(import_module(f"appliance_tui.screens.{module}"), name)()
        return instance

    return load
