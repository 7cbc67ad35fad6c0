"""Other programs' settings files, changed in one place and kept in all others.

What can't be kept is not touched: JSON with comments, or a file with anything that is not understood, is refused by its
name and the place in it. tomlkit edits TOML, whose comments stay. A change is written whole or not at all, with a copy
of the file as it was beside it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, Table, Whitespace

from appliance.errors import StoreError, UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.paths import FILE_MODE, sync_folder

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The result for a file: whether it was changed, and the copy of the old one (None if there was none)."""

    path: Path
    changed: bool
    backup: Path | None


def shown(path: Path, keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> str:
    """An entry in the file's format, to be added by hand."""
    if path.suffix == ".toml":
        return _toml_table((*keys, name), entry)
    whole: dict[str, Any] = {name: dict(entry)}
    for key in reversed(keys):
        whole = {key: whole}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def put(path: Path, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None) -> SettingsChange:
    """Set the entry of a name, or remove it (None); everything else in the file stays.

    Raises:
        UsageError: The file is invalid, has comments that would be lost, or an unexpected structure.
        StoreError: The file can't be read or written.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays one; its target is changed
    try:
        old = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise StoreError(f"The file can't be read ({error.strerror}).", where=str(path)) from error
    try:
        text = "" if old is None else old.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"The file is not UTF-8 text (byte {error.start}).", where=str(path)) from error
    new = (_toml if path.suffix == ".toml" else _json)(path, text, keys, name, entry)
    if new is None or (old is None and entry is None):
        return SettingsChange(path, False, None)
    if "\r\n" in text:
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return SettingsChange(path, True, _write(path, old, new.encode("utf-8")))


# --- JSON ---------------------------------------------------------------------------------------------------


def _json(path: Path, text: str, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None) -> str | None:
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
                f"{'.'.join(keys[: depth + 1])} is not an object.",
                where=str(path),
                hint="Correct the file, or add the entry by hand.",
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
    """Whether a string has an unpaired surrogate, which JSON can express and UTF-8 can't."""
    try:
        json.dumps(whole, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_json(path: Path, text: str) -> dict[str, Any]:
    by_hand = "Add the entry by hand; without --write it is printed."

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise UsageError("The file has a duplicate key, which would be lost.", where=str(path), hint=by_hand)
        return found

    try:
        whole = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        try:
            json.loads(_without_comments(text))
        except json.JSONDecodeError:
            where = f"{path}, line {error.lineno}, column {error.colno}"
            raise UsageError(
                f"The file is not JSON: {error.msg}.", where=where, hint="Correct it; nothing was changed."
            ) from error
        raise UsageError(
            "The file has comments or trailing commas, which would be lost.", where=str(path), hint=by_hand
        ) from error
    if not isinstance(whole, dict):
        raise UsageError("The file is not an object at its top level.", where=str(path), hint=by_hand)
    return whole


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', re.DOTALL)


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda found: found.group() if found.group()[0] == '"' else "", text)


def _indent(text: str) -> int | str:
    """The file's indentation; two spaces if it has none."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found.group(1) if found else 2


# --- TOML ---------------------------------------------------------------------------------------------------


def _toml(path: Path, text: str, keys: Sequence[str], name: str, entry: Mapping[str, Any] | None) -> str | None:
    """The changed text; None when there is nothing to change. Another parser reads the result again, to compare it."""
    old = _read_toml(path, text)
    wanted = None if entry is None else _without_empty(entry)
    place: Any = old
    for key in keys:
        place = place.get(key, {}) if isinstance(place, dict) else {}
    if (place.get(name) if isinstance(place, dict) else None) == wanted:
        return None
    try:
        document = tomlkit.parse(text)
        # tomlkit joins tables that are separated by an array of tables, so such a file is only appended to.
        whole = tomlkit.dumps(document) == text
        found = list(_tables(document, (*keys, name)))
        if wanted is None:
            for container, index in found:
                _remove(container, index)
            new = tomlkit.dumps(document).rstrip("\r\n")
            new += "\n" if new else ""
        elif found:
            for container, index in found[1:]:
                _remove(container, index)
            container, index = found[0]
            _update(cast("Table", container.body[index][1]), wanted)
            new = tomlkit.dumps(document)
        else:
            gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
            new = text + gap + _toml_table((*keys, name), wanted)
            if whole and tomlkit.dumps(tomlkit.parse(new)) != new:
                _add(document, keys, name, wanted)
                new = tomlkit.dumps(document)
            whole = True
        kept = whole and _pruned(tomllib.loads(new), keys) == _pruned(_replaced(old, keys, name, wanted), keys)
    except (TOMLKitError, tomllib.TOMLDecodeError):
        kept = False
    if not kept:
        raise UsageError(
            f"The file has {'.'.join((*keys, name))} in a form that can't be changed safely.",
            where=str(path),
            hint="Change it by hand; without --write the entry is printed.",
        )
    return new


def _read_toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"The file is not TOML: {error}.", where=str(path), hint="Correct it; nothing was changed."
        ) from error


def _toml_table(keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """A table with its values, and a subtable for each mapping in it."""
    whole = _without_empty(entry)
    for key in reversed(keys):
        whole = {key: whole}
    return tomlkit.dumps(whole)


def _without_empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value != {}}


def _tables(container: Container, keys: Sequence[str]) -> Iterator[tuple[Container, int]]:
    """The positions of a table, as container and index; several if other tables stand in between."""
    for index, (key, item) in enumerate(container.body):
        if key is not None and key.key == keys[0] and not key.is_dotted() and isinstance(item, Table):
            if len(keys) == 1:
                yield container, index
            else:
                yield from _tables(item.value, keys[1:])


def _remove(container: Container, index: int) -> None:
    """Remove a table, but not the comments below it, which belong to the next table."""
    # As a Comment item they would give the table around them a header of its own.
    container.body[index] = (None, Whitespace(_take_end(cast("Table", container.body[index][1]))))


def _update(table: AbstractTable, entry: Mapping[str, Any]) -> None:
    """Set the values of a table. Comments stay, those after a value with that value."""
    end = _take_end(table)
    for key in [key for key in table if key not in entry]:
        table.remove(key)
    between = _take_end(table)
    if between.strip():  # comments stay; the blank line before a removed table goes
        _put_end(table, between)
    for key, value in entry.items():
        inner = table.get(key)
        if isinstance(inner, AbstractTable) and isinstance(value, Mapping):
            _update(inner, value)
        elif inner != value:
            table[key] = value
    _put_end(table, end)


def _add(document: Container, keys: Sequence[str], name: str, entry: Mapping[str, Any]) -> None:
    """Add a table below the last of its siblings."""
    *_, (container, index) = _tables(document, keys)
    around = cast("Table", container.body[index][1])
    end = _take_end(around)
    body = around.value.body
    old = len(body)
    around.add(name, entry)
    # Without blank lines of its own, so that removing it leaves the file as it was.
    body[old:] = [(key, item) for key, item in body[old:] if key is not None]
    body[-1][1].trivia.indent = ""
    _put_end(around, end)


def _take_end(table: AbstractTable) -> str:
    """Remove and return the comments and blank lines between a table's last value and the next table."""
    body, end = table.value.body, ""
    while body and body[-1][0] is None:
        end = body.pop()[1].as_string() + end
    if not end and body and isinstance(body[-1][1], Table):
        return _take_end(body[-1][1])
    return end


def _put_end(table: AbstractTable, end: str) -> None:
    body = table.value.body
    if body and isinstance(body[-1][1], Table):
        _put_end(body[-1][1], end)
    else:
        body.append((None, Whitespace(end)))


def _replaced(
    whole: Mapping[str, Any], keys: Sequence[str], name: str, entry: Mapping[str, Any] | None
) -> dict[str, Any]:
    """A copy of a tree with an entry set or removed."""
    copy = dict(whole)
    if keys:
        inner = copy.get(keys[0], {})
        copy[keys[0]] = _replaced(inner if isinstance(inner, Mapping) else {}, keys[1:], name, entry)
    elif entry is None:
        copy.pop(name, None)
    else:
        copy[name] = entry
    return copy


def _pruned(whole: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A copy of a tree without an empty table at the end of ``keys``."""
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
    """Copy a file and replace it atomically. Returns the path of the copy.

    Raises:
        StoreError: The file can't be written.
        UsageError: Another program has changed the file meanwhile.
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
                raise UsageError("Another program has changed the file meanwhile.", where=str(path), hint="Try again.")
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"The file can't be written ({error.strerror}).", where=str(error.filename or path)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return backup
