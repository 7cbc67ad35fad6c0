"""Where programs keep the histories of chats: one table, a line a place.

The places are known from the programs' own documentation and code, and from that of tools that read them;
docs/discover.md names these sources. A path begins with a *base* ("{config}"), which stands for one or several folders
on each platform. A "*" is any part of a name, "**" any folders, and "+" a name without a dot.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from appliance.formats.sqlite import SIDE_FILES
from appliance.lazy_dataclasses import dataclass

Platform = Literal["linux", "mac", "windows"]

MAX_PLACES = 1000
"""How many folders the "*" of one path are tried with."""


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """A place where a ``tool`` keeps its history: a folder with the files of its chats (``files``, patterns), or a file
    (none). ``unreadable`` says why the program's files are never read, and ``hint`` what to do."""

    tool: str
    path: str
    files: tuple[str, ...] = ()
    unreadable: str = ""
    hint: str = ""


_TASKS = ("*/ui_messages.json", "*/api_conversation_history.json")
_MAILBOXES = ("*/Mail/**/+", "*/ImapMail/**/+")
_MAILDIR = ("**/cur/*", "**/new/*")
_FULL_DISK = "System Settings > Privacy & Security > Full Disk Access: allow the terminal, then look again"
_SIGNAL = "export the chats with signal-export (pip install signal-export), and import its folder"

PLACES: tuple[HistoryPlace, ...] = (
    # coding agents
    HistoryPlace("Claude Code", "{claude}/projects", ("**/*.jsonl",)),
    HistoryPlace("Codex", "{codex}/sessions", ("**/*.jsonl",)),
    HistoryPlace("Codex", "{codex}/archived_sessions", ("**/*.jsonl",)),
    HistoryPlace("Gemini CLI", "{home}/.gemini/tmp", ("*/chats/*.json", "*/chats/*.jsonl", "*/checkpoint*.json")),
    HistoryPlace("Cursor", "{config}/Cursor/User/globalStorage/state.vscdb"),
    HistoryPlace("Cursor", "{config}/Cursor/User/workspaceStorage", ("*/state.vscdb",)),
    HistoryPlace("Cursor", "{home}/.cursor/projects", ("*/agent-transcripts/**/*.jsonl",)),
    HistoryPlace("Copilot Chat", "{editor}/User/workspaceStorage", ("*/chatSessions/*.json", "*/chatSessions/*.jsonl")),
    HistoryPlace("Copilot Chat", "{editor}/User/globalStorage/emptyWindowChatSessions", ("*.json", "*.jsonl")),
    HistoryPlace("Copilot CLI", "{home}/.copilot/session-state", ("**/*.jsonl",)),
    HistoryPlace("Cline", "{editor}/User/globalStorage/saoudrizwan.claude-dev/tasks", _TASKS),
    HistoryPlace("Cline", "{home}/.cline/data/tasks", _TASKS),
    HistoryPlace("Roo Code", "{editor}/User/globalStorage/rooveterinaryinc.roo-cline/tasks", _TASKS),
    HistoryPlace("Kilo Code", "{editor}/User/globalStorage/kilocode.kilo-code/tasks", _TASKS),
    HistoryPlace("OpenCode", "{xdg_data}/opencode", ("opencode.db", "storage/session/**/*.json")),
    HistoryPlace("Goose", "{xdg_data}/goose/sessions", ("*.jsonl", "sessions.db")),
    HistoryPlace("Goose", "{config}/Block/goose/data/sessions", ("*.jsonl", "sessions.db")),
    HistoryPlace("Continue", "{home}/.continue/sessions", ("*.json",)),
    HistoryPlace("Zed", "{data}/zed/threads/threads.db"),
    HistoryPlace("Zed", "{config}/Zed/threads/threads.db"),
    HistoryPlace("Amp", "{xdg_data}/amp/threads", ("T-*.json",)),
    HistoryPlace("Droid", "{home}/.factory/sessions", ("**/*.jsonl",)),
    HistoryPlace("Qwen Code", "{home}/.qwen/projects", ("*/chats/*.jsonl",)),
    HistoryPlace("Kimi", "{home}/.kimi/sessions", ("**/wire.jsonl",)),
    HistoryPlace("OpenClaw", "{home}/.openclaw/agents", ("*/sessions/*.jsonl",)),
    HistoryPlace("Pi", "{home}/.pi/agent/sessions", ("**/*.jsonl",)),
    HistoryPlace("Hermes", "{hermes}/state.db"),
    HistoryPlace("Vibe", "{home}/.vibe/logs/session", ("*/messages.jsonl",)),
    # programs for local models
    HistoryPlace("LM Studio", "{home}/.lmstudio/conversations", ("**/*.conversation.json",)),
    HistoryPlace("LM Studio", "{home}/.cache/lm-studio/conversations", ("**/*.conversation.json",)),
    HistoryPlace("Jan", "{home}/jan/threads", ("*/messages.jsonl",)),
    HistoryPlace("Jan", "{data}/Jan/data/threads", ("*/messages.jsonl",)),
    HistoryPlace("Jan", "{config}/Jan/data/threads", ("*/messages.jsonl",)),
    HistoryPlace("Open WebUI", "{webui}/webui.db"),
    # messengers and mail
    HistoryPlace("Signal", "{config}/Signal/sql/db.sqlite", (), "the database is encrypted", _SIGNAL),
    HistoryPlace("Signal", "{config}/Signal Beta/sql/db.sqlite", (), "the database is encrypted", _SIGNAL),
    HistoryPlace("Messages", "{home}/Library/Messages/chat.db", hint=_FULL_DISK),
    HistoryPlace("Telegram", "{downloads}/Telegram Desktop/ChatExport_*", ("result.json", "messages*.html")),
    HistoryPlace("Thunderbird", "{thunderbird}", _MAILBOXES),
    HistoryPlace("Apple Mail", "{home}/Library/Mail", ("V*/**/Messages/*.emlx",), hint=_FULL_DISK),
    HistoryPlace("Maildir", "{home}/Maildir", _MAILDIR),
    HistoryPlace("Maildir", "{home}/Mail", _MAILDIR),
    HistoryPlace("Maildir", "{home}/.mail", _MAILDIR),
    HistoryPlace("mbox", "{home}/mbox"),
)
"""Every place but those of exports and of Aider, which are searched for (``search``)."""

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_CONFIG = {
    "linux": ("{XDG_CONFIG_HOME|home/.config}", "{home}/.var/app/*/config", "{home}/snap/*/current/.config"),
    "mac": ("{home}/Library/Application Support",),
    "windows": ("{APPDATA|home/AppData/Roaming}",),
}
_DATA = {
    "linux": ("{XDG_DATA_HOME|home/.local/share}", "{home}/.var/app/*/data", "{home}/snap/*/current/.local/share"),
    "mac": ("{home}/Library/Application Support",),
    "windows": ("{LOCALAPPDATA|home/AppData/Local}",),
}
_THUNDERBIRD = {
    "linux": (
        "{home}/.thunderbird", "{home}/.var/app/*.*hunderbird/.thunderbird",
        "{home}/snap/thunderbird/common/.thunderbird",
    ),
    "mac": ("{home}/Library/Thunderbird/Profiles",),
    "windows": ("{APPDATA|home/AppData/Roaming}/Thunderbird/Profiles",),
}  # fmt: skip
_WEBUI = (
    "{DATA_DIR|home/.open-webui}", "{home}/open-webui/backend/data", "{home}/.local/share/open-webui",
    "{home}/.local/share/uv/tools/open-webui/lib/*/site-packages/open_webui/data",
    "{home}/.local/share/pipx/venvs/open-webui/lib/*/site-packages/open_webui/data",
)  # fmt: skip
_EXPORT_FOLDERS = ("downloads", "desktop", "documents")

_BASE = re.compile(r"\{([^}|]+)(?:\|home/([^}]*))?\}")
_USER_FOLDER = re.compile(r'^\s*XDG_(DOWNLOAD|DESKTOP|DOCUMENTS)_DIR="(\$HOME)?((?:\\.|[^"\\\n])*)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Machine:
    """What the paths of the table depend on: the person's folder, the platform, and the variables that move places."""

    home: Path
    platform: Platform
    environment: Mapping[str, str]

    def paths(self, place: str) -> list[str]:
        """The paths that a path of the table stands for on this machine, "*" still in them."""
        base, _, rest = place.partition("/")
        return [f"{folder}/{rest}" if rest else folder for folder in self._bases(base.strip("{}"))]

    def export_folders(self) -> list[Path]:
        """The folders in which exports are searched for."""
        folders = (Path(folder) for name in _EXPORT_FOLDERS for folder in self._bases(name))
        return [folder for folder in dict.fromkeys(folders) if folder != self.home]

    def downloads(self) -> list[Path]:
        """The folders of downloads."""
        return [folder for folder in map(Path, self._bases("downloads")) if folder != self.home]

    def _bases(self, name: str) -> list[str]:
        config = _CONFIG[self.platform]
        bases: Mapping[str, tuple[str, ...]] = {
            "home": ("{home}",),
            "config": config,
            "data": _DATA[self.platform],
            "editor": tuple(f"{folder}/{editor}" for folder in config for editor in _EDITORS),
            "claude": ("{CLAUDE_CONFIG_DIR|home/.claude}", "{home}/.config/claude"),
            "codex": ("{CODEX_HOME|home/.codex}",),
            "hermes": ("{HERMES_HOME|home/.hermes}",),
            # These programs keep to it on every platform.
            "xdg_data": ("{XDG_DATA_HOME|home/.local/share}",),
            "webui": _WEBUI,
            "thunderbird": _THUNDERBIRD[self.platform],
            **{folder: self._user_folders(folder) for folder in _EXPORT_FOLDERS},
        }
        return [self._filled(path) for path in bases[name]]

    def _filled(self, path: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1] == "home":
                return str(self.home)
            return self.environment.get(found[1]) or f"{self.home}/{found[2]}"

        return _BASE.sub(value, path)

    def _user_folders(self, name: str) -> tuple[str, ...]:
        """The folder of this name, where the user's language or settings have put it."""
        usual = f"{{home}}/{name.capitalize()}"
        if self.platform == "windows":
            # OneDrive takes these two over, and leaves none behind.
            clouds = {self.environment.get(one) for one in ("OneDrive", "OneDriveConsumer", "OneDriveCommercial")}
            moved = [f"{cloud}/{name.capitalize()}" for cloud in sorted(filter(None, clouds)) if name != "downloads"]
            return (usual, *moved)
        if self.platform != "linux":
            return (usual,)
        config = Path(self._filled("{XDG_CONFIG_HOME|home/.config}"))
        try:
            text = (config / "user-dirs.dirs").read_text("utf-8", "surrogateescape")
        except OSError:
            return (usual,)
        named = {found[1].lower(): found for found in _USER_FOLDER.finditer(text)}
        found = named.get("download" if name == "downloads" else name)
        if found is None:
            return (usual,)
        # Quoted as a shell reads it. The home itself says that there is no such folder.
        path = re.sub(r"\\(.)", r"\1", found[3])
        return (f"{self.home}/{path.strip('/')}".rstrip("/"),) if found[2] else (path.rstrip("/") or usual,)


@cache
def _pattern(files: tuple[str, ...]) -> re.Pattern[str]:
    parts = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "+": r"[^/.]+"}
    return re.compile(
        "|".join(
            "".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*|\+)", one)) for one in files
        ),
        re.DOTALL,
    )


def is_history(relative: str, files: tuple[str, ...]) -> bool:
    """Whether a file, named as ``relative`` to a place's folder, is one of its ``files``."""
    return _pattern(files).fullmatch(relative) is not None and not relative.endswith(SIDE_FILES)


def existing(pattern: str) -> Iterator[tuple[Path, OSError | None]]:
    """The paths that exist among those that a path with "*" stands for, and those that can't be looked at."""
    first, *names = Path(pattern).parts
    level: list[Path] = [Path(first)]
    for index, name in enumerate(names):
        if "*" not in name:
            level = [path / name for path in level]
            continue
        matching = re.compile("[^/]*".join(map(re.escape, name.split("*"))), re.DOTALL)
        inside: list[Path] = []
        for path in level:
            try:
                inside += [path / one for one in sorted(os.listdir(path)) if matching.fullmatch(one)]
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                if index == len(names) - 1:
                    yield path, error
        level = inside[:MAX_PLACES]
    for path in level:
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield path, error
        else:
            yield path, None


def patterns_of(folder: Path, machine: Machine) -> tuple[str, ...]:
    """The patterns of the files that are read of a folder: those of a place in the table; none for any other folder,
    of which every file is read."""
    for place in PLACES:
        if place.files and not place.unreadable:
            for path in machine.paths(place.path):
                if _matches_path(folder, path):
                    return place.files
    return ()


def _matches_path(folder: Path, pattern: str) -> bool:
    matching = "[^/]*".join(map(re.escape, str(Path(pattern)).split("*")))
    return re.fullmatch(matching, str(folder), re.DOTALL) is not None
