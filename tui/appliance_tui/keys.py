"""The keys of a person's settings, checked before the screen starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual.keys import KEY_TO_UNICODE_NAME, Keys, _character_to_key

from appliance.errors import ConfigError
from appliance_tui.actions import ACTIONS

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_KNOWN_KEYS = {key.value for key in Keys if not key.value.startswith("<")} | KEY_TO_UNICODE_NAME.keys()


def resolve_keymap(configured: Mapping[str, str | Mapping[str, str]], file: str) -> dict[str, str]:
    """Keys by action id, as Textual takes them.

    Args:
        configured: keys by action id; ids may be nested, as TOML reads ``recall.pin``.
        file: the settings file, for messages.

    Raises:
        ConfigError: an action or a key does not exist, or two actions of a screen share a key.
    """
    ids = [action.id for action in ACTIONS]
    keymap: dict[str, str] = {}
    for id, keys in _flatten(configured):
        where = f"{file}: tui.keys.{id}"
        if id not in ids:
            raise ConfigError("There is no such action.", where=where, hint=f"The actions are {', '.join(ids)}.")
        names = []
        for key in map(str.strip, keys.split(",")):
            if not (name := _canonical_key(key)):
                raise ConfigError(
                    f"{key!r} is not a key." if key else "A key is missing.",
                    where=where,
                    hint='Use keys such as "b", "ctrl+b", "f7", "shift+up" or "slash", separated by commas.',
                )
            names.append(name)
        keymap[id] = ",".join(names)
    _check_conflicts(keymap, file)
    return keymap


def _flatten(configured: Mapping[str, str | Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for name, keys in configured.items():
        if isinstance(keys, str):
            yield name, keys
        else:
            yield from ((f"{name}.{rest}", each) for rest, each in keys.items())


def _canonical_key(key: str) -> str:
    """Textual's name for a key; "" if there is none."""
    *modifiers, last = key.split("+") if key != "+" else ["+"]
    if not _MODIFIERS.issuperset(modifiers) or not last:
        return ""
    if len(last) == 1:
        last = _character_to_key(last)
    elif last not in _KNOWN_KEYS:
        return ""
    return "+".join([*modifiers, last])


def _check_conflicts(keymap: Mapping[str, str], file: str) -> None:
    owners: dict[tuple[str, str], str] = {}
    for action in ACTIONS:
        for key in keymap.get(action.id, action.keys).split(","):
            owner = owners.setdefault((action.place, key), action.id)
            if owner != action.id and (action.id in keymap or owner in keymap):
                changed, conflicting = (action.id, owner) if action.id in keymap else (owner, action.id)
                raise _conflict(key, changed, conflicting, file)
    # The keys of lists act on every screen: a new one must be free on all.
    for moved in (action for action in ACTIONS if action.place == "list" and action.id in keymap):
        for key in set(keymap[moved.id].split(",")) - set(moved.keys.split(",")):
            taken = next((id for (_, other), id in owners.items() if other == key and id != moved.id), None)
            if taken is not None:
                raise _conflict(key, moved.id, taken, file)


def _conflict(key: str, changed: str, conflicting: str, file: str) -> ConfigError:
    return ConfigError(
        f"{key!r} is already the key of {conflicting}.",
        where=f"{file}: tui.keys.{changed}",
        hint=f"Choose another key, or give {conflicting} a different one.",
    )
