"""What a failing disk, or a hand, does to a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

PAGE = 4096

FRAME_OR_DICTIONARY = re.compile(rb"\x28\xb5\x2f\xfd|\x37\xa4\x30\xec", re.DOTALL)
"""How archived texts and their dictionaries begin."""


def flip_bits(data: bytearray, chance: Random) -> None:
    for _ in range(chance.choice((1, 1, 10, 100))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def tear_pages(data: bytearray, chance: Random) -> None:
    """Some pages lose their end, or hold something else there."""
    for _ in range(chance.choice((1, 1, 5, 25))):
        page = chance.randrange(0, len(data), PAGE)
        end = min(page + PAGE, len(data))
        at = chance.randrange(page, end)
        other = chance.randrange(len(data) - (end - at) + 1)
        data[at:end] = chance.choice((bytes(end - at), chance.randbytes(end - at), data[other : other + end - at]))


def truncate(data: bytearray, chance: Random) -> None:
    del data[chance.randrange(len(data)) :]


def zero(data: bytearray, chance: Random) -> None:
    data[:] = bytes(len(data))


def empty(data: bytearray, chance: Random) -> None:
    data.clear()


def append(data: bytearray, chance: Random) -> None:
    data += chance.randbytes(chance.choice((1, 100, 10_000)))


def damage_frames(data: bytearray, chance: Random) -> None:
    """Change bytes of archived texts, or of the dictionary that they need."""
    starts = [match.start() for match in FRAME_OR_DICTIONARY.finditer(data)]
    for _ in range(chance.choice((1, 5, 25))):
        at = min(chance.choice(starts) + chance.randrange(60), len(data) - 1)
        data[at] ^= 1 << chance.randrange(8)


CONTENT_DAMAGES: tuple[Callable[[bytearray, Random], None], ...] = (
    flip_bits, flip_bits, tear_pages, tear_pages, truncate, zero, empty, append,
)  # fmt: skip


def damage(path: Path, chance: Random, kind: str = "") -> str:
    """Damage a file at random, and return how. ``kind`` "frames" damages archived texts only."""
    if kind == "frames":
        how = damage_frames
    else:
        place = chance.random()
        if place < 0.1:
            path.unlink()
            return "deleted"
        if place < 0.15:
            path.unlink()
            path.mkdir()
            return "a folder"
        how = chance.choice(CONTENT_DAMAGES)
    data = bytearray(path.read_bytes())
    if not data:
        how = append
    how(data, chance)
    # Holes stay holes: a damaged file takes no more room than it did.
    with path.open("wb") as file:
        for at in range(0, len(data), PAGE):
            if any(page := data[at : at + PAGE]):
                file.seek(at)
                file.write(page)
        file.truncate(len(data))
    return how.__name__
