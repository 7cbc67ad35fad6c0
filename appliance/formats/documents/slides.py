"""PowerPoint files (pptx): each slide with its tables, diagrams and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.formats.documents import DocumentUnreadable
from appliance.formats.documents.packages import Package, local_name, walk
from appliance.types.documents import PageText

_SKIPPED = frozenset({"Fallback"})
_BESIDE = ("notesSlide", "diagramData", "chart", "comments")
# In the notes of a slide stand its number and its date, too.
_PLACEHOLDERS = frozenset({"sldNum", "dt", "hdr", "ftr", "sldImg"})
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read(data: bytes) -> Iterator[PageText]:
    """Yield the slides of a presentation."""
    package = Package(data)
    main = next(
        (path for kind, path in package.targets("").values() if kind == "officeDocument"), "ppt/presentation.xml"
    )
    targets = package.targets(main)
    slides = [
        targets[one.get(_ID)][1]
        for one in package.parse(main).iter()
        if local_name(one) == "sldId" and one.get(_ID) in targets
    ]
    damaged: list[str] = []
    for number, slide in enumerate(slides, 1):
        texts = []
        try:
            texts.append(_text(package.parse(slide)))
            for kind, path in package.targets(slide).values():
                if kind in _BESIDE:
                    texts.append(_text(package.parse(path)))
        except DocumentUnreadable:
            damaged.append(f"slide {number}")
        yield PageText(f"slide {number}", "\n\n".join(filter(None, texts)))
    if damaged:
        raise DocumentUnreadable(f"{', '.join(damaged[:5])}{' …' if len(damaged) > 5 else ''} can't be read")


def _text(root: Any) -> str:
    pieces: list[str] = []
    hidden = 0
    for event, element, name in walk(root, _SKIPPED):
        if name == "sp" and _is_placeholder(element):
            hidden += 1 if event == "start" else -1
        elif hidden:
            continue
        elif event == "start" and name in ("t", "v", "text"):
            pieces.append(element.text or "")
        elif (event == "start" and name == "br") or (event == "end" and name in ("p", "pt", "tr")):
            pieces.append("\n")
        elif event == "end" and name == "tc":
            while pieces and pieces[-1] == "\n":
                pieces.pop()
            pieces.append("\t")
    return "\n".join(line.rstrip() for line in "".join(pieces).split("\n") if line.strip())


def _is_placeholder(shape: Any) -> bool:
    return any(local_name(one) == "ph" and one.get("type") in _PLACEHOLDERS for one in shape.iter())
