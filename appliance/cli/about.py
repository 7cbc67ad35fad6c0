"""``config``, ``path``, ``docs`` and ``version``: settings, locations, documentation. None of them opens a memory."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from appliance import __version__
from appliance.cli import options, output
from appliance.errors import UsageError
from appliance.near_names import did_you_mean

SECRET_SETTINGS = ("llm.api_key", "index.api_key")
MASKED_VALUE = "(set)"
"""Printed in place of a secret, which must not show on a screen or in a bug report."""

LIBRARIES = ("qdrant-edge-py", "onnxruntime")
"""The libraries whose native code writes the files of the home or computes its vectors."""


def config(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Describe these settings or groups: search.limit, index."),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List every setting with its value and origin, or say what some of them do.

    APPLIANCE_* variables override config.toml in the home.

    \b
    Examples:
      appliance config
      appliance config index search.limit
      APPLIANCE_CONTEXT_BUDGET=4000 appliance config --json
    """
    import msgspec

    from appliance import config as settings
    from appliance.paths import find_home

    home_paths = find_home(home)
    effective, origins = settings.load_with_origins(home_paths)
    values = settings.flatten(msgspec.to_builtins(effective))
    values |= {name: MASKED_VALUE for name in SECRET_SETTINGS if values[name]}
    if names:
        _describe(names, values, origins, output.display_path(home_paths.config), as_json=json)
        return
    if json:
        listed = {name: {"value": value, "origin": origins[name]} for name, value in values.items()}
        output.print_json({"file": output.display_path(home_paths.config), "settings": listed})
        return
    output.print_columns([[name, _shown(value), origins[name]] for name, value in values.items()])
    output.say(f"Change them in {output.display_path(home_paths.config)} or with APPLIANCE_* variables.")


_CHANGES = ("set", "get", "edit", "unset", "add")


def _how_to_change(file: str) -> str:
    return (
        f"'config' only shows settings. Change them in {file}, as in a line 'limit = 20' below '[search]', or with"
        " a variable, as in APPLIANCE_SEARCH_LIMIT=20."
    )


def _near(name: str, known: list[str]) -> str:
    groups = {one.split(".")[0] for one in known}
    return did_you_mean(name, [*known, *groups]) + "'appliance config' lists every setting with its value."


def _describe(names: list[str], values: dict[str, Any], origins: dict[str, str], file: str, *, as_json: bool) -> None:
    """Say what the named settings, and those of the named groups, do."""
    from appliance.setting_descriptions import describe

    known = describe()
    for name in names:
        if not any(_is_meant(name, one.name) for one in known):
            raise UsageError(
                f"There is no setting or group of settings named '{name}'.",
                hint=_how_to_change(file) if name in _CHANGES else _near(name, [one.name for one in known]),
            )
    meant = [one for one in known if any(_is_meant(name, one.name) for name in names)]
    if as_json:
        listed = {
            one.name: {
                "value": values.get(one.name, one.default), "origin": origins.get(one.name, "default"),
                "default": one.default, "values": one.values, "variable": one.variable or None, "text": one.text,
            }
            for one in meant
        }  # fmt: skip
        output.print_json({"settings": listed})
        return
    for number, one in enumerate(meant):
        value, origin = values.get(one.name, one.default), origins.get(one.name, "default")
        output.print_line(("\n" if number else "") + f"{one.name} = {_shown(value)}  ({origin})")
        if one.text:
            output.print_line(f"  {one.text}")
        default = "" if value == one.default else f" Default: {_shown(one.default)}."
        variable = f" Variable: {one.variable}." if one.variable else ""
        output.print_line(f"  Values: {one.values}.{default}{variable}")


def _is_meant(name: str, setting: str) -> bool:
    return setting == name or setting.startswith(f"{name}.")


def _shown(value: Any) -> str:
    """A value as TOML has it, which knows no "not set"."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(_shown(one) for one in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


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


def docs(
    page: Annotated[
        str,
        typer.Argument(metavar="[PAGE]", help="A verb or a page: search, backup, tutorial. Default: the start page."),
    ] = "",
    print_only: Annotated[bool, typer.Option("--print", help="Print the path instead of opening it.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Open the documentation in the browser. It is on this machine and needs no network.

    Over SSH, or without a browser, it prints the path, and how to read it in a terminal. --json prints the path too.

    \b
    Examples:
      appliance docs
      appliance docs search
      appliance docs --print
    """
    from appliance import documentation

    found = documentation.find(page)
    if json:
        output.print_json({"page": output.display_path(found)})
    elif print_only:
        output.print_line(output.display_path(found))
    elif not documentation.open_in_browser(found):
        output.say("No browser can be opened from here. The page is this file, which any browser shows:")
        output.print_line(output.display_path(found))
        output.say("\n".join(["In a terminal:", *(f"    {way}" for way in documentation.ways_in_terminal(found))]))
    else:
        output.say(f"Opened {output.display_path(found)}.")
        if documentation.may_be_hidden(found):
            output.say(
                "If the browser may not read it, as one from a snap, copy the folder to a place that is not hidden."
            )


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
