"""The settings: defaults, then the machine profile, then ``config.toml`` in the home, then ``APPLIANCE_*`` variables.

An unknown setting or a wrong type is an error that names the setting and where it came from; no setting is ignored
silently. Only the composition root reads the settings; stages get what they need. msgspec validates them: its import
costs 30 ms, that of pydantic-settings 300.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_type_hints

import msgspec

from appliance import machine_profiles
from appliance.errors import ConfigError
from appliance.near_names import did_you_mean
from appliance.paths import BACKUP_PASSPHRASE_VARIABLE, HOME_VARIABLE, Home, write_file_atomically
from appliance.settings import Settings

ENVIRONMENT_PREFIX = "APPLIANCE_"
NOT_SETTINGS = frozenset((HOME_VARIABLE, BACKUP_PASSPHRASE_VARIABLE))
"""Variables with the prefix that are no settings."""


def load(home: Home, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the effective settings of a home.

    Args:
        environment: The variables to read; by default those of this process.

    Raises:
        ConfigError: A file is not TOML, or a setting is unknown or out of range.
    """
    return load_with_origins(home, environment)[0]


def load_with_origins(home: Home, environment: Mapping[str, str] | None = None) -> tuple[Settings, dict[str, str]]:
    """Return the effective settings, and the origin of each ("model.name"): a file, a variable, "profile tiny", or
    "default"."""
    environment = os.environ if environment is None else environment
    layers: list[tuple[str, Mapping[str, Any]]]
    layers = [(str(home.config), _from_file(home)), ("environment", _from_environment(environment))]
    named = Settings().profile
    for origin, layer in layers:
        validated = _validate(layer, origin, strict=origin != "environment")
        named = validated.profile if "profile" in layer else named
    values: dict[str, Any] = {}
    origins = dict.fromkeys(flatten(msgspec.to_builtins(Settings())), "default")
    profile = machine_profiles.resolve(named)
    for origin, layer in [(f"profile {profile}", machine_profiles.PROFILES[profile]), *layers]:
        for name in flatten(layer):
            origins[name] = origin if origin != "environment" else environment_variable(name)
        _merge(values, layer)
    return _validate(values, "settings", strict=False), origins


def write_setting(home: Home, table: str, name: str, value: str | Sequence[str]) -> None:
    """Set one text, or a list of texts, in ``config.toml``; everything else in the file stays as it is written.

    Raises:
        ConfigError: The file, or the new value, is invalid. Nothing was changed.
    """
    _from_file(home)
    text = home.config.read_text(encoding="utf-8") if home.config.exists() else ""
    line = f"{name} = {_as_json(value)}"
    header = re.search(rf"(?m)^[ \t]*\[[ \t]*{table}[ \t]*\][^\n]*\n?", text)
    if header is None:
        separator = "\n" if text and not text.endswith("\n") else ""
        text = f"{text}{separator}{chr(10) if text else ''}[{table}]\n{line}\n"
    else:
        end = re.compile(r"(?m)^[ \t]*\[").search(text, header.end())
        body = text[header.end() : end.start() if end else len(text)]
        present = re.search(rf"(?m)^[ \t]*{name}[ \t]*=", body)
        new = f"{line}\n{body}" if present is None else _replaced(body, present.start(), line)
        head = header[0] if header[0].endswith("\n") else f"{header[0]}\n"
        text = text[: header.start()] + head + new + text[header.end() + len(body) :]
    try:
        _validate(tomllib.loads(text), str(home.config), strict=True)
    except tomllib.TOMLDecodeError as error:
        hint = f"Set {table}.{name} in the file yourself."
        raise ConfigError(f"The setting can't be written ({error}).", where=str(home.config), hint=hint) from error
    write_file_atomically(home.config, text.encode())


def _replaced(body: str, start: int, line: str) -> str:
    """The text with the setting that begins at ``start`` replaced; a list may take several lines."""
    end = start
    while (end := body.find("\n", end + 1)) >= 0:
        try:
            tomllib.loads(body[start:end])
        except tomllib.TOMLDecodeError:
            continue
        return body[:start] + line + body[end:]
    return f"{body[:start]}{line}\n"


def add_watched(home: Home, paths: Iterable[str]) -> list[str]:
    """Add folders and files to ``watch.folders`` in ``config.toml``. Returns those that were not there.

    Raises:
        ConfigError: The file is invalid. Nothing was changed.
    """
    present = _watched(home)
    added = [path for path in dict.fromkeys(paths) if path not in present]
    if added:
        write_setting(home, "watch", "folders", [*present, *added])
    return added


def remove_watched(home: Home, paths: Iterable[str]) -> list[str]:
    """Remove folders and files from ``watch.folders`` in ``config.toml``, whatever way they are spelled. Returns those
    that were there.

    Raises:
        ConfigError: The file is invalid. Nothing was changed.
    """
    present = _watched(home)
    meant = {_absolute(path) for path in paths}
    removed = [path for path in present if _absolute(path) in meant]
    if removed:
        write_setting(home, "watch", "folders", [path for path in present if path not in removed])
    return removed


def _watched(home: Home) -> list[str]:
    watch = _from_file(home).get("watch", {})
    return list(_validate({"watch": watch}, str(home.config), strict=True).watch.folders)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"model": {"name": "x"}}`` as ``{"model.name": "x"}``."""
    return {".".join(path): value for path, value in _leaves(tree)}


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def _from_file(home: Home) -> dict[str, Any]:
    try:
        text = home.config.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file can't be read ({error}).", where=str(home.config)) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"Invalid TOML: {error}.", where=str(home.config)) from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    defaults = flatten(msgspec.to_builtins(Settings()))
    known = {environment_variable(name): name for name in defaults}
    tree: dict[str, Any] = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in known:
            hint = (
                did_you_mean(variable, known)
                + "'appliance config' lists every setting; 'appliance config NAME' its variable."
            )
            raise ConfigError("Unknown setting.", where=variable, hint=hint)
        is_list = isinstance(defaults[known[variable]], list | tuple)
        single = _nested(tuple(known[variable].split(".")), value.split(os.pathsep) if is_list else value)
        _validate(single, variable, strict=False)
        _merge(tree, single)
    return tree


def environment_variable(name: str) -> str:
    """The variable that sets a setting: APPLIANCE_MODEL_NAME for "model.name"."""
    return ENVIRONMENT_PREFIX + name.replace(".", "_").upper()


def _validate(values: Mapping[str, Any], origin: str, *, strict: bool) -> Settings:
    """Convert values to settings; ``strict=False`` reads numbers from text, which is all that the environment has."""
    try:
        return msgspec.convert(values, Settings, strict=strict)
    except msgspec.ValidationError as error:
        message = _find_wrong_setting(values, strict) or str(error).partition(" - at ")[0]
        unknown = message.removeprefix(_UNKNOWN) if message.startswith(_UNKNOWN) else ""
        near = did_you_mean(unknown, flatten(msgspec.to_builtins(Settings()))) if unknown else ""
        hint = f"{near}'appliance config' lists every setting with its value."
        raise ConfigError(f"{message}.", where=origin, hint=hint) from error


_KINDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "a table",
}  # fmt: skip
_LIMITS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}

_UNKNOWN = "Unknown setting "
_WRONG_TYPE = re.compile(r"Expected `([^`]+)`, got ")
_OUT_OF_RANGE = re.compile(r"Expected `[^`]+` ([<>]=?) (\S+)")
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `|Invalid enum value .* - at `key` in")
_LIST_ITEM = re.compile(r"\[\d+\]`$")


def _find_wrong_setting(values: Mapping[str, Any], strict: bool) -> str | None:
    """Say which setting is wrong and why, by converting each alone; None if only their combination is wrong.

    msgspec's own message names neither the value nor the key of a dict.
    """
    for path, value in _leaves(values):
        try:
            msgspec.convert(_nested(path, value), Settings, strict=strict)
        except msgspec.ValidationError as error:
            name, shown = ".".join(path), _as_json(value)
            text = str(error)
            if _UNKNOWN_FIELD.match(text):
                return f"{_UNKNOWN}{name}"
            if match := _WRONG_TYPE.match(text):
                kind = " or ".join(_KINDS.get(part, part) for part in match[1].split(" | "))
                return f"{name} must be {'a list of ' if _LIST_ITEM.search(text) else ''}{kind}, not {shown}"
            if match := _OUT_OF_RANGE.match(text):
                return f"{name} must be {_LIMITS[match[1]]} {match[2].removesuffix('.0')}, not {shown}"
            if text.startswith("Invalid enum value "):
                *choices, last = map(_as_json, _choices(path))
                return f"{name} must be {', '.join(choices)} or {last}, not {shown}"
    return None


def _as_json(value: Any) -> str:
    # JSON has no NaN.
    return str(value) if isinstance(value, float) else msgspec.json.encode(value).decode()


def _choices(path: tuple[str, ...]) -> tuple[Any, ...]:
    kind: Any = Settings
    for name in path:
        kind = get_type_hints(kind)[name]
    return get_args(kind)


def _merge(target: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        if isinstance(value, Mapping):
            _merge(target.setdefault(name, {}), value)
        else:
            target[name] = value
