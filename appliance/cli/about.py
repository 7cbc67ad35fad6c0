"""``config``, ``path`` and ``version``: what is set, where things lie, what this is. None opens a memory."""

from __future__ import annotations

import sys

from appliance import __version__
from appliance.cli import options, out

SECRET = ("llm.api_key",)
HIDDEN = "(set)"
"""Stands for what others must not read over a shoulder, or in a report of a problem."""

LIBRARIES = ("qdrant-edge-py", "onnxruntime")
"""The two that hold native code which reads and writes the home's files or makes its vectors."""


def config(home: options.Home = None, json: options.Json = False) -> None:
    """List every setting with its value and where it came from.

    Settings are read from config.toml in the home, then from APPLIANCE_* variables.

    \b
    Examples:
      appliance config
      APPLIANCE_CONTEXT_BUDGET=4000 appliance config --json
    """
    import msgspec

    from appliance import config as settings
    from appliance.paths import find_home

    found = find_home(home)
    effective, origins = settings.load_with_origins(found)
    values = settings.flatten(msgspec.to_builtins(effective))
    values |= {name: HIDDEN for name in SECRET if values[name]}
    if json:
        listed = {name: {"value": value, "origin": origins[name]} for name, value in values.items()}
        out.document({"file": out.path(found.config), "settings": listed})
        return
    out.columns([[name, _shown(value), origins[name]] for name, value in values.items()])
    out.say(f"set them in {out.path(found.config)} or by APPLIANCE_* variables")


def path(home: options.Home = None, json: options.Json = False) -> None:
    """List where everything lies.

    \b
    Examples:
      appliance path
      cd "$(appliance path --json | jq -r .home)"
    """
    from appliance.paths import find_home

    places = {name: out.path(place) for name, place in find_home(home).places().items()}
    if json:
        out.document(places)
    else:
        out.fields(places)


def version(home: options.Home = None, json: options.Json = False) -> None:
    """Print the versions of the program and of what it stands on.

    \b
    Examples:
      appliance version
      appliance version --json
    """
    versions = {"appliance": __version__, "python": sys.version.split()[0], "sqlite": _sqlite()}
    versions |= {library: _installed(library) for library in LIBRARIES}
    if json:
        out.document(versions)
    else:
        out.fields(versions)


def _shown(value: object) -> str:
    return '""' if value == "" else str(value)


def _sqlite() -> str:
    import sqlite3

    return sqlite3.sqlite_version


def _installed(library: str) -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(library)
    except PackageNotFoundError:
        return "not installed"
