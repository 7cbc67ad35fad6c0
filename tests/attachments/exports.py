"""Exports with files beside them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PHOTO = "00000012-PHOTO-2025-03-05.jpg"
CHAT = f"""[05/03/2025, 10:15:02] Ana: Look at the roses
[05/03/2025, 10:16:10] Ana: \u200e<attached: {PHOTO}>
[05/03/2025, 10:17:00] Ben: Lovely, see https://example.org/roses for more
[13/03/2025, 11:17:00] Ben: \u200e<attached: plan.pdf>
"""
FILES = {PHOTO: b"\xff\xd8 roses", "plan.pdf": b"%PDF beds and paths"}


def whatsapp(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A folder with a chat and its files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "_chat.txt").write_text(CHAT, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def zipped(folder: Path, target: Path, within: str = "") -> Path:
    """The files of a folder as a zip."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, within + path.relative_to(folder).as_posix())
    return target


def native(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    """Native JSONL; every line is a user's unless it says otherwise."""
    whole = ({"session_id": "s", "role": "user", "content": "words", **line} for line in lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in whole), encoding="utf-8")
    return path
