"""``config``, ``path`` and ``version``: settings, locations and versions. None of them opens a memory."""

from __future__ import annotations

import sys

from appliance import __version__
from appliance.cli import options, output

SECRET_SETTINGS = ("llm.api_key", "index.api_key")
MASKED_VALUE = "(set)"
"""Printed in place of a secret, which must not show on a screen or in a bug report."""

LIBRARIES = ("qdrant-edge-py", "onnxruntime")
"""The libraries whose native code writes the files of the home or computes its vectors."""


def config(home: options.Home = None, json: options.Json = False) -> None:
    """List every setting with its value and origin.

    APPLIANCE_* variables override config.toml in the home.

    \b
    Examples:
      appliance config
      APPLIANCE_CONTEXT_BUDGET=4000 appliance config --json
    """
    import msgspec

    from appliance import config as settings
    from appliance.paths import find_home

    home_paths = find_home(home)
    effective, origins = settings.load_with_origins(home_paths)
    values = settings.flatten(msgspec.to_builtins(effective))
    values |= {name: MASKED_VALUE for name in SECRET_SETTINGS if values[name]}
    if json:
        listed = {name: {"value": value, "origin": origins[name]} for name, value in values.items()}
        output.print_json({"file": output.display_path(home_paths.config), "settings": listed})
        return
    output.print_columns([[name, '""' if value == "" else str(value), origins[name]] for name, value in values.items()])
    output.say(f"Change them in {output.display_path(home_paths.config)} or with APPLIANCE_* variables.")


def path(home: options.Home = None, json: options.Json = False) -> None:
    """List the locations of all files of the memory.

    \b
    Examples:
      appliance path
      cd "$(appliance path --json | jq -r .home)"
    """
    from appliance.paths import find_home

    locations = {name: output.display_path(place) for name, place in find_home(home).locations().items()}
    if json:
        output.print_json(locations)
    else:
        output.print_fields(locations)


def version(home: options.Home = None, json: options.Json = False) -> None:
    """Print the versions of the program and of the libraries that it uses.

    \b
    Examples:
      appliance version
      appliance version --json
    """
    import sqlite3

    from appliance.build_commit import build_commit

    versions = {
        "appliance": __version__,
        "commit": build_commit() or "unknown",
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
    }
    versions |= {library: _library_version(library) for library in LIBRARIES}
    if json:
        output.print_json(versions)
    else:
        output.print_fields(versions)


def _library_version(library: str) -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(library)
    except PackageNotFoundError:
        return "not installed"
