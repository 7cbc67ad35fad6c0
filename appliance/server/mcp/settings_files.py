"""Other programs' settings files, changed in one place and kept in all others.

What can't be kept is not touched: a file with comments or with anything that is not understood is refused, by its name
and the place in it. A change is written whole or not at all, with a copy of the file as it was beside it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from appliance.errors import StoreError, UsageError
from appliance.paths import FILE_MODE, sync_folder

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file: whether it was changed, and where the copy of the old one is (None if there was none)."""

    path: Path
    changed: bool
    backup: Path | None


def shown(path: Path, keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    """An entry as the file has it, to be put in by hand."""
    if path.suffix == ".toml":
        return _toml_table((*keys, name), entry)
    whole: dict[str, Any] = {name: dict(entry)}
    for key in reversed(keys):
        whole = {key: whole}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def put(path: Path, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None) -> Change:
    """Set the entry of a name, or take it out (None); everything else in the file stays.

    Raises:
        UsageError: the file is broken, has comments that would be lost, or another shape than expected.
        StoreError: it can't be read or written.
    """
    path = Path(os.path.realpath(path))  # a link stays one: the file that it leads to is changed
    try:
        old = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise StoreError(f"can't be read ({error.strerror})", where=str(path)) from error
    try:
        text = "" if old is None else old.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"is no UTF-8 text (byte {error.start})", where=str(path)) from error
    new = (_toml if path.suffix == ".toml" else _json)(path, text, keys, name, entry)
    if new is None or (old is None and entry is None):
        return Change(path, False, None)
    if "\r\n" in text:
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return Change(path, True, _write(path, old, new.encode("utf-8")))


# --- JSON ---------------------------------------------------------------------------------------------------


def _json(
    path: Path, text: str, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None
) -> str | None:
    """The changed text; None when there is nothing to change."""
    bare = text.removeprefix(BOM)
    whole = _read_json(path, bare) if bare.strip() else {}
    place = whole
    for depth, key in enumerate(keys):
        if key not in place and entry is None:
            return None
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise UsageError(
                f"{'.'.join(keys[: depth + 1])} is not an object there",
                where=str(path),
                hint="put it right in the file, or put the entry in by hand",
            )
    if (entry is None and name not in place) or (entry is not None and place.get(name) == entry):
        return None
    if entry is None:
        del place[name]
    else:
        place[name] = dict(entry)
    written = json.dumps(whole, indent=_indent(bare), ensure_ascii=_has_halves(whole)) + "\n"
    return (BOM if text.startswith(BOM) else "") + written


def _has_halves(whole: Mapping[str, Any]) -> bool:
    """Whether a text in it has half of a pair of characters, which JSON can say and UTF-8 can't."""
    try:
        json.dumps(whole, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_json(path: Path, text: str) -> dict[str, Any]:
    by_hand = "put the entry in by hand: without --write it is printed"

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise UsageError("has a key twice, and one would be lost", where=str(path), hint=by_hand)
        return found

    try:
        whole = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        try:
            json.loads(_without_comments(text))
        except json.JSONDecodeError:
            where = f"{path}, line {error.lineno}, column {error.colno}"
            raise UsageError(
                f"is no JSON: {error.msg}", where=where, hint="put it right there; nothing was changed"
            ) from error
        raise UsageError(
            "has comments or trailing commas, which would be lost", where=str(path), hint=by_hand
        ) from error
    if not isinstance(whole, dict):
        raise UsageError("is no object at its beginning", where=str(path), hint=by_hand)
    return whole


_TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', re.DOTALL
)


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda found: found.group() if found.group()[0] == '"' else "", text)


def _indent(text: str) -> int | str:
    """As the file has it; two spaces where it has none."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found.group(1) if found else 2


# --- TOML ---------------------------------------------------------------------------------------------------

_HEADER = re.compile(r"^\s*\[\[?(?P<keys>[^\[\]]+)\]\]?\s*(?:#.*)?$")
_LONG_TEXTS = ("'''", '"""')
"""What begins and ends a text of several lines, in which a line may look like a table's head."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _toml(
    path: Path, text: str, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None
) -> str | None:
    """The changed text; None when there is nothing to change. The tables of the entry are lines of their own, and the
    result is read again: it has to hold what was there before, and nothing but the entry more."""
    old = _read_toml(path, text)
    place: Any = old
    for key in keys:
        place = place.get(key, {}) if isinstance(place, dict) else {}
    known = place.get(name) if isinstance(place, dict) else None
    if known == (None if entry is None else dict(entry)):
        return None
    rest = _without_table(text, (*keys, name))
    new = rest.rstrip("\n") + "\n" if rest.strip() else ""
    if entry is not None:
        gap = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
        new = rest + gap + _toml_table((*keys, name), entry)
    expected = _replaced(old, keys, name, entry)
    try:
        kept = _pruned(tomllib.loads(new), keys) == _pruned(expected, keys)
    except tomllib.TOMLDecodeError:
        kept = False
    if not kept:
        raise UsageError(
            f"names {'.'.join((*keys, name))} in a form that can't be changed safely",
            where=str(path),
            hint="change it by hand: without --write the entry is printed",
        )
    return new


def _read_toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"is no TOML: {error}", where=str(path), hint="put it right there; nothing was changed"
        ) from error


def _without_table(text: str, keys: tuple[str, ...]) -> str:
    """The text without a table and the tables in it. Comments before the next table belong to that one."""
    kept: list[str] = []
    held: list[str] = []
    inside, quoted = False, ""
    for line in text.splitlines(keepends=True):
        header = None if quoted else _HEADER.match(line)
        if quoted:
            quoted = "" if quoted in line else quoted
        else:
            quoted = next((mark for mark in _LONG_TEXTS if line.count(mark) % 2), "")
        if header:
            inside = _header_keys(header.group("keys"))[: len(keys)] == keys
            kept += [] if inside else held
            held = []
        if not inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            held = []
        else:
            held.append(line)
    return "".join(kept + [line for line in held if line.strip()])


def _header_keys(text: str) -> tuple[str, ...]:
    try:
        parsed: Any = tomllib.loads(f"[{text}]")
    except tomllib.TOMLDecodeError:
        return ()
    keys: list[str] = []
    while parsed:
        ((key, parsed),) = parsed.items()
        keys.append(key)
    return tuple(keys)


def _toml_table(keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """A table with its values, and a table below it for each mapping in it."""
    lines = [f"[{'.'.join(map(_key, keys))}]"]
    lines += [
        f"{_key(name)} = {_value(value)}" for name, value in entry.items() if not isinstance(value, Mapping)
    ]
    text = "\n".join(lines) + "\n"
    for name, value in entry.items():
        if isinstance(value, Mapping) and value:
            text += "\n" + _toml_table((*keys, name), value)
    return text


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    # A JSON string is a basic string of TOML too, but for DEL.
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)


def _replaced(
    whole: Mapping[str, Any], keys: Sequence[str], name: str, entry: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A tree with an entry set or taken out, as a copy."""
    copy = dict(whole)
    if keys:
        inner = copy.get(keys[0], {})
        copy[keys[0]] = _replaced(inner if isinstance(inner, Mapping) else {}, keys[1:], name, entry)
    elif entry is None:
        copy.pop(name, None)
    else:
        copy[name] = {key: value for key, value in entry.items() if value != {}}
    return copy


def _pruned(whole: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A tree without the empty table that may be left at the end of ``keys``."""
    copy = dict(whole)
    if keys and isinstance(copy.get(keys[0]), Mapping):
        inner = _pruned(copy[keys[0]], keys[1:])
        if inner:
            copy[keys[0]] = inner
        else:
            del copy[keys[0]]
    return copy


# --- written ------------------------------------------------------------------------------------------------


def _write(path: Path, old: bytes | None, new: bytes) -> Path | None:
    """Replace a file whole, after a copy of it was made; where the copy is.

    Raises:
        StoreError: it can't be written.
        UsageError: it was changed by another program meanwhile.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    backup = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if old is not None:
            stamp = datetime.now().strftime("%Y%m%dT%H%M%S%f")
            backup = path.with_name(f"{path.name}.{stamp}.bak")
            shutil.copy2(path, backup)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            shutil.copymode(path, temporary)
            if path.read_bytes() != old:
                raise UsageError(
                    "was changed by another program meanwhile", where=str(path), hint="try again"
                )
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"can't be written ({error.strerror})", where=str(error.filename or path)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return backup
