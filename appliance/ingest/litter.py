"""What is no chat by its name alone: files of the operating system, unfinished downloads, caches, keys; and folders
that a file in them tells to be a program's own.

A leading dot is no reason: coding agents keep their sessions in hidden folders (``.claude``, ``.codex``, ``.gemini``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from appliance.paths import DATABASE, LOCK

_SYSTEM = "a file of the operating system"
_UNFINISHED = "still being written by a program"
_PROGRAM = "a folder of a program's own files"
_CACHE = "a cache"
_BIN = "a folder of deleted files"
_KEYS = "keys and passwords are not read"

_FOLDERS = {
    **dict.fromkeys(("__macosx", ".spotlight-v100", ".fseventsd", "system volume information"), _SYSTEM),
    **dict.fromkeys((".git", ".hg", ".svn", ".bzr", "node_modules", "bower_components", "site-packages"), _PROGRAM),
    **dict.fromkeys((".venv", "venv", ".tox", ".nox", ".cargo", ".rustup", ".gradle", ".m2", ".npm", ".nvm"), _PROGRAM),
    **dict.fromkeys(("__pycache__", ".cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".thumbnails"), _CACHE),
    **dict.fromkeys((".trash", ".trashes", ".trash-1000", "$recycle.bin"), _BIN),
    **dict.fromkeys((".ssh", ".gnupg", ".aws", ".kube", ".password-store"), _KEYS),
}
_FILES = {
    **dict.fromkeys((".ds_store", ".localized", "thumbs.db", "desktop.ini", "icon\r"), _SYSTEM),
    **dict.fromkeys((".env", ".netrc", ".pgpass", ".credentials.json", "auth.json", "oauth_creds.json"), _KEYS),
}
_UNFINISHED_NAME = re.compile(
    r"~\$.*|\.~lock\..*|\.nfs\w+|\.(?:com\.google\.chrome|org\.chromium|goutputstream|syncthing)[.-].*"
    r"|.*\.(?:part|crdownload|opdownload|aria2|filepart|tmp|partial|download|swp|bak~|icloud)",
    re.IGNORECASE | re.DOTALL,
)
_UNFINISHED_FOLDER = re.compile(r".+\.\w+\.download", re.IGNORECASE | re.DOTALL)
"""Safari's downloads are folders until they are complete: "export.zip.download"."""

UNFINISHED_ENDINGS = (".part", ".crdownload", ".aria2")
"""The endings of files beside one that is still being downloaded: Firefox writes an empty file first, and aria2 one of
full size."""
_COMPANION = "._"


def litter_reason(name: str, *, is_folder: bool) -> str:
    """Why a file or a folder that the user did not name is not read, by its name; empty if it is read."""
    lowered = name.lower()
    if is_folder:
        return _FOLDERS.get(lowered, "") or (_UNFINISHED if _UNFINISHED_FOLDER.fullmatch(name) else "")
    if lowered in _FILES:
        return _FILES[lowered]
    if name.startswith(_COMPANION):
        return _SYSTEM
    return _UNFINISHED if _UNFINISHED_NAME.fullmatch(name) else ""


def folder_reason(folder: Path) -> str:
    """Why a folder that the user did not name is not read, by what is in it; empty if it is read."""
    if _has_file(folder, "pyvenv.cfg"):
        return "a virtual environment of Python"
    if is_memory(folder):
        return "a memory's own files: 'appliance export' writes its messages"
    if _has_file(folder, "current") and any(one.is_dir() for one in folder.glob("versions/*/bin")):
        return "an installation of a program"
    return ""


def is_memory(folder: Path) -> bool:
    """Whether a folder is the home of a memory."""
    return _has_file(folder, DATABASE) and _has_file(folder, LOCK)


def _has_file(folder: Path, name: str) -> bool:
    try:
        return (folder / name).is_file()
    except OSError:  # the folder may not be entered; who reads it says so
        return False


def unfinished_reason(name: str, names: Collection[str]) -> str:
    """Why a file is not read whose download goes on; empty if it is read. ``names`` are those in its folder."""
    return _UNFINISHED if any(name + ending in names for ending in UNFINISHED_ENDINGS) else ""


def path_litter(parts: tuple[str, ...] | list[str], *, is_folder: bool = False) -> tuple[int, str]:
    """The number of leading parts of a relative path that lead to the first litter in it, and its reason; ``(0, "")``
    if there is none."""
    for number, part in enumerate(parts, 1):
        if reason := litter_reason(part, is_folder=is_folder or number < len(parts)):
            return number, reason
    return 0, ""
