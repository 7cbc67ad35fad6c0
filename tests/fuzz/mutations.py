"""Mutations of exports: those that leave the words in place, and those that damage the bytes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.samples import Sample, encoded, marks

Change = Callable[[Any, random.Random], Any]


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(inner)


def _is_optional(value: Any) -> bool:
    return not marks(json.dumps(value))


def optional_keys(value: Any) -> list[str]:
    """The keys that hold no words, wherever they stand."""
    return sorted({key for item in _objects(value) for key, inner in item.items() if _is_optional(inner)})


def without_key(value: Any, key: str) -> Any:
    """The value without an optional key in any of its objects."""
    if isinstance(value, dict):
        return {k: without_key(v, key) for k, v in value.items() if k != key or not _is_optional(v)}
    return [without_key(item, key) for item in value] if isinstance(value, list) else value


def drop_key(value: Any, rng: random.Random) -> Any:
    keys = optional_keys(value)
    return without_key(value, rng.choice(keys)) if keys else value


def drop_key_once(value: Any, rng: random.Random) -> Any:
    places = [(o, k) for o in _objects(value) for k, v in o.items() if _is_optional(v)]
    if places:
        item, key = rng.choice(places)
        del item[key]
    return value


def null_key(value: Any, rng: random.Random) -> Any:
    places = [(o, k) for o in _objects(value) for k, v in o.items() if _is_optional(v)]
    if places:
        item, key = rng.choice(places)
        item[key] = None
    return value


def reorder_keys(value: Any, rng: random.Random) -> Any:
    for item in list(_objects(value)):
        entries = list(item.items())
        rng.shuffle(entries)
        item.clear()
        item.update(entries)
    return value


def reorder_records(value: Any, rng: random.Random) -> Any:
    lists = [items for items in _lists(value) if len(items) > 1 and all(isinstance(item, dict) for item in items)]
    if lists:
        rng.shuffle(rng.choice(lists))
    return value


def extra_keys(value: Any, rng: random.Random) -> Any:
    for item in list(_objects(value)):
        if rng.random() < 0.5:
            item[rng.choice(("x_new", "featureFlags", "debug", "schemaRev"))] = rng.choice(
                (1, None, True, [], {"a": 1})
            )
    return value


def extra_records(value: Any, rng: random.Random) -> Any:
    lists = [items for items in _lists(value) if items and all(isinstance(item, dict) for item in items)]
    if lists:
        items = rng.choice(lists)
        items.insert(rng.randrange(len(items) + 1), rng.choice(({}, {"x_new": 1}, None, {"note": None})))
    return value


def wrap_words(value: Any, rng: random.Random) -> Any:
    """One text in another shape: an object, a list, a block of an unknown type, under an unknown key."""
    places = [(o, k) for o in _objects(value) for k, v in o.items() if isinstance(v, str) and marks(v)]
    if places:
        item, key = rng.choice(places)
        text = item[key]
        shape = rng.randrange(6)
        if shape == 5:
            del item[key]
            item["utterance"] = text
        else:
            block = {"type": "new_block", "body": text}
            item[key] = ({"value": text}, [text], {"text": text}, [block], {"parts": [{"v": text}]})[shape]
    return value


def rename_type(value: Any, rng: random.Random) -> Any:
    places = [o for o in _objects(value) if isinstance(o.get("type"), str) and marks(json.dumps(o))]
    if places:
        rng.choice(places)["type"] = "new_type"
    return value


def stringify_numbers(value: Any, rng: random.Random) -> Any:
    for item in list(_objects(value)):
        for key, inner in item.items():
            if isinstance(inner, int | float) and not isinstance(inner, bool) and rng.random() < 0.5:
                item[key] = str(inner)
    return value


GENTLE: dict[str, Change] = {
    change.__name__: change
    for change in (drop_key, drop_key_once, null_key, reorder_keys, reorder_records, extra_keys, extra_records,
                   stringify_numbers)
}  # fmt: skip
"""Changes of a decoded value that another version of a program could make."""

SHAPES: dict[str, Change] = {change.__name__: change for change in (wrap_words, rename_type)}
"""Changes after which the words stand in a shape that no parser need know."""

ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")


def spelled(value: Any, is_log: bool, rng: random.Random) -> bytes:
    """The value as JSON in one of the spellings that programs use."""
    if is_log and rng.random() < 0.7:
        return encoded(value, is_log)
    return encoded(
        value, False, indent=rng.choice((None, 1, 4, "\t")), ensure_ascii=rng.random() < 0.5,
        separators=rng.choice((None, (",", ":"), (" , ", " : "))),
    )  # fmt: skip


def recoded(data: bytes, rng: random.Random) -> bytes:
    """The text with other line ends, blank space around it, or in another encoding."""
    text = data.decode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.2:
        text = "\n" + text + " \n\n"
    if rng.random() < 0.3:
        return text.encode(rng.choice(ENCODINGS), "replace")
    return text.encode("utf-8", "surrogatepass")


_CLASS = re.compile(r'class="([^"]*)"')


def renamed_classes(page: str) -> str:
    """A page with generated names for all of its classes."""
    names: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        return 'class="' + " ".join(names.setdefault(name, f"c{len(names)}x") for name in found[1].split()) + '"'

    return _CLASS.sub(rename, page)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few of them cut, flipped, doubled or exchanged."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not raw:
            break
        at = rng.randrange(len(raw))
        kind = rng.randrange(6)
        if kind == 0:
            del raw[at:]
        elif kind == 1:
            raw[at] = rng.randrange(256)
        elif kind == 2:
            del raw[at : at + rng.randint(1, 60)]
        elif kind == 3:
            raw[at:at] = rng.choice(
                (b'"', b"{", b"}", b"]", b"\\", b"\xff\xfe", b"\x00", b"null", b",", b"\n", b"<div>")
            )
        elif kind == 4:
            raw[at:at] = raw[at : at + rng.randint(1, 200)]
        else:
            raw[at : at + 1] = bytes((raw[at] ^ (1 << rng.randrange(8)),))
    return bytes(raw)


def gentle(sample: Sample, rng: random.Random) -> tuple[bytes, list[str], bool]:
    """A mutant that leaves the words in place: its bytes, the changes, and whether a shape became unknown."""
    if sample.value is None:
        text = sample.text
        return recoded(text.encode(), rng), ["recoded"], False
    value = _copy(sample.value)
    names = [rng.choice(list(GENTLE)) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    is_odd = rng.random() < 0.25
    if is_odd:
        names.append(rng.choice(list(SHAPES)))
    for name in names:
        value = (GENTLE | SHAPES)[name](value, rng)
    return recoded(spelled(value, sample.is_log, rng), rng), names, is_odd
