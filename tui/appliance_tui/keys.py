"""Keys of a person's own, checked before the screen shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual.keys import KEY_TO_UNICODE_NAME, Keys, _character_to_key

from appliance_tui.actions import ACTIONS

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_KNOWN = {key.value for key in Keys if not key.value.startswith("<")} | KEY_TO_UNICODE_NAME.keys()


def remapped(given: Mapping[str, str | Mapping[str, str]], file: str) -> dict[str, str]:
    """Keys by action, as Textual takes them. ``given`` may name actions in groups, as TOML reads ``recall.pin``;
    ``file`` is where they stand.

    Raises:
        ConfigError: there is no such action or key, or two actions of a place have the same one.
    """
    from appliance.errors import ConfigError

    known = {action.id: action for action in ACTIONS}
    found: dict[str, str] = {}
    for id, keys in _flat(given):
        where = f"{file}: tui.keys.{id}"
        if id not in known:
            raise ConfigError("there is no such action", where=where, hint="there are " + ", ".join(known))
        every = [_named(key) for key in keys.split(",")]
        wrong = [key for key, name in zip(keys.split(","), every, strict=True) if not name]
        if wrong:
            raise ConfigError(
                f"{wrong[0].strip()!r} is no key" if wrong[0].strip() else "a key is missing",
                where=where,
                hint='such as "b", "ctrl+b", "f7", "shift+up" or "slash", several separated by commas',
            )
        found[id] = ",".join(every)
    _check_apart(found, file)
    return found


def _flat(given: Mapping[str, str | Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for name, keys in given.items():
        if isinstance(keys, str):
            yield name, keys
        else:
            yield from ((f"{name}.{rest}", each) for rest, each in keys.items())


def _named(key: str) -> str:
    """A key by the name that Textual has for it; "" if there is none."""
    *modifiers, last = key.strip().split("+") if key.strip() != "+" else ["+"]
    if not _MODIFIERS.issuperset(modifiers) or not last:
        return ""
    if len(last) == 1:
        last = _character_to_key(last)
    elif last not in _KNOWN:
        return ""
    return "+".join([*modifiers, last])


def _check_apart(found: Mapping[str, str], file: str) -> None:
    """
    Raises:
        ConfigError: two actions that are there at once have the same key, so that one of them has none.
    """
    from appliance.errors import ConfigError

    taken: dict[tuple[str, str], str] = {}
    for action in ACTIONS:
        for key in found.get(action.id, action.keys).split(","):
            other = taken.setdefault((action.place, key), action.id)
            if other != action.id and (action.id in found or other in found):
                mine, theirs = (action.id, other) if action.id in found else (other, action.id)
                raise ConfigError(
                    f"{key!r} is the key of {theirs}, too",
                    where=f"{file}: tui.keys.{mine}",
                    hint=f"take another one, or give {theirs} one of its own",
                )
