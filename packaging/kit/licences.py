"""The licences of everything in a kit, as its wheels carry them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from kit.wheels import Wheel

_TEXT = re.compile(r"[^/]+\.dist-info/(?:licenses/.+|(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*)", re.IGNORECASE)
_CLASSIFIER = "License :: OSI Approved :: "
_MAX_EXPRESSION = 80
"""Some packages put the whole text of their licence where its name belongs."""


def expression(wheel: Wheel) -> str:
    """What the metadata of a wheel say of its licence: an SPDX expression or a name; "see its texts" if nothing."""
    if stated := wheel.metadata.get("License-Expression"):
        return str(stated)
    named = str(wheel.metadata.get("License") or "").strip()
    if named and len(named) <= _MAX_EXPRESSION and "\n" not in named:
        return named
    classifiers = [str(one) for one in wheel.metadata.get_all("Classifier", [])]
    return (
        " or ".join(one.removeprefix(_CLASSIFIER) for one in classifiers if one.startswith(_CLASSIFIER))
        or "see its texts"
    )


def texts(wheel: Wheel) -> Iterator[tuple[str, bytes]]:
    """The licence files of a wheel: their names and contents."""
    with zipfile.ZipFile(wheel.path) as archive:
        for name in sorted(archive.namelist()):
            if _TEXT.fullmatch(name) and not name.endswith("/"):
                yield name.partition("/")[2].removeprefix("licenses/"), archive.read(name)


def entries(wheels: Sequence[Wheel]) -> Mapping[str, bytes]:
    """The entries of a kit that hold the licences: a list of all, and the texts of each package."""
    found: dict[str, bytes] = {}
    lines = [
        "Everything in this kit, with its licence. The texts that came with a package stand in the folder of its name.",
        "",
    ]
    for wheel in wheels:
        own = {f"licences/{wheel.name}/{name}": text for name, text in texts(wheel)}
        lines.append(f"{wheel.name} {wheel.version}: {expression(wheel)}" + ("" if own else " (no text in its wheel)"))
        found |= own
    return {"licences/README.txt": ("\n".join(lines) + "\n").encode()} | found
