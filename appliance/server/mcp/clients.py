"""Programs that speak MCP, and how each one's settings name a server: the file, the keys and the form.

docs/mcp.md gives the source of each form. A client whose form could not be established is left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import UsageError

SERVER_NAME = "appliance"
"""The default name of the server in a client's settings."""


@dataclass(frozen=True, slots=True)
class StdioServerEntry:
    """A server that the client starts: absolute command, arguments, environment variables."""

    command: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RemoteServerEntry:
    """A server that is running, and the token for it."""

    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class SettingsLocations:
    """Where settings are stored on this system."""

    system: str
    home: Path
    variables: Mapping[str, str]

    @property
    def config(self) -> Path:
        """The folder in which most programs of this system store their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return Path(self.variables.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.xdg

    @property
    def xdg(self) -> Path:
        return Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")


def current_locations() -> SettingsLocations:
    return SettingsLocations(sys.platform, Path.home(), os.environ)


@dataclass(frozen=True, slots=True)
class McpClientSpec:
    """A program with its settings file. ``keys`` lead to the servers in the file; two functions make an entry.
    ``make_http_entry`` is None if the file can't name a running server."""

    name: str
    title: str
    file: Callable[[SettingsLocations], Path]
    keys: tuple[str, ...]
    make_stdio_entry: Callable[[StdioServerEntry], dict[str, Any]]
    make_http_entry: Callable[[RemoteServerEntry], dict[str, Any]] | None
    next_step: str

    def entry(self, server: StdioServerEntry | RemoteServerEntry) -> dict[str, Any]:
        """The server's entry in this client's settings.

        Raises:
            UsageError: The client's file can't name a running server.
        """
        if isinstance(server, StdioServerEntry):
            return self.make_stdio_entry(server)
        return self.http_entry_maker()(server)

    def http_entry_maker(self) -> Callable[[RemoteServerEntry], dict[str, Any]]:
        """
        Raises:
            UsageError: The client's file can't name a running server.
        """
        if self.make_http_entry is None:
            raise UsageError(
                f"{self.title} adds servers over HTTP only in its own screens, not in a file.",
                hint="Omit --http; 'appliance mcp' attaches to the daemon automatically.",
            )
        return self.make_http_entry


def _stdio_entry(server: StdioServerEntry) -> dict[str, Any]:
    return {"command": server.command, "args": list(server.arguments), "env": dict(server.variables)}


def _typed_stdio_entry(server: StdioServerEntry) -> dict[str, Any]:
    return {"type": "stdio", **_stdio_entry(server)}


def _url_entry(server: RemoteServerEntry) -> dict[str, Any]:
    return {"url": server.url, "headers": server.headers}


def _typed_url_entry(server: RemoteServerEntry) -> dict[str, Any]:
    return {"type": "http", **_url_entry(server)}


def _windsurf_url_entry(server: RemoteServerEntry) -> dict[str, Any]:
    return {"serverUrl": server.url, "headers": server.headers}


def _codex_url_entry(server: RemoteServerEntry) -> dict[str, Any]:
    return {"url": server.url, "http_headers": server.headers}


def _opencode_entry(server: StdioServerEntry) -> dict[str, Any]:
    return {
        "type": "local",
        "command": [server.command, *server.arguments],
        "environment": dict(server.variables),
        "enabled": True,
    }


def _opencode_url_entry(server: RemoteServerEntry) -> dict[str, Any]:
    return {"type": "remote", **_url_entry(server), "enabled": True}


def _zed_file(machine: SettingsLocations) -> Path:
    if machine.system == "win32":
        return machine.config / "Zed" / "settings.json"
    folder = machine.home / ".config" if machine.system == "darwin" else machine.xdg
    return folder / "zed" / "settings.json"


def _opencode_file(machine: SettingsLocations) -> Path:
    folder = machine.home / ".config" / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _codex_file(machine: SettingsLocations) -> Path:
    return Path(machine.variables.get("CODEX_HOME") or machine.home / ".codex") / "config.toml"


_RESTART_STEP = "restart it to see the tools"

_SERVERS = ("mcpServers",)


def _in_config(*parts: str) -> Callable[[SettingsLocations], Path]:
    return lambda machine: machine.config.joinpath(*parts)


def _in_home(*parts: str) -> Callable[[SettingsLocations], Path]:
    return lambda machine: machine.home.joinpath(*parts)


_CLIENTS = (
    McpClientSpec(
        "claude-desktop", "Claude Desktop", _in_config("Claude", "claude_desktop_config.json"), _SERVERS,
        _stdio_entry, None, _RESTART_STEP,
    ),
    McpClientSpec(
        "claude-code", "Claude Code", _in_home(".claude.json"), _SERVERS,
        _typed_stdio_entry, _typed_url_entry, "start a new session; /mcp shows it",
    ),
    McpClientSpec(
        "cursor", "Cursor", _in_home(".cursor", "mcp.json"), _SERVERS, _stdio_entry, _url_entry, _RESTART_STEP
    ),
    McpClientSpec(
        "vscode", "Visual Studio Code", _in_config("Code", "User", "mcp.json"), ("servers",),
        _typed_stdio_entry, _typed_url_entry, "'MCP: List Servers' starts it",
    ),
    McpClientSpec(
        "windsurf", "Windsurf", _in_home(".codeium", "windsurf", "mcp_config.json"), _SERVERS,
        _stdio_entry, _windsurf_url_entry, "refresh the MCP servers in Cascade",
    ),
    McpClientSpec("zed", "Zed", _zed_file, ("context_servers",), _stdio_entry, _url_entry, "Zed reads it at once"),
    McpClientSpec(
        "lm-studio", "LM Studio", _in_home(".lmstudio", "mcp.json"), _SERVERS,
        _stdio_entry, _url_entry, "switch it on under Program > Integrations",
    ),
    McpClientSpec(
        "opencode", "opencode", _opencode_file, ("mcp",), _opencode_entry, _opencode_url_entry, _RESTART_STEP
    ),
    McpClientSpec(
        "codex", "Codex", _codex_file, ("mcp_servers",),
        _stdio_entry, _codex_url_entry, "start a new session; /mcp shows it",
    ),
)  # fmt: skip
CLIENTS = {client.name: client for client in _CLIENTS}


def find_client(name: str) -> McpClientSpec:
    """
    Raises:
        UsageError: There is no client of this name.
    """
    if name not in CLIENTS:
        raise UsageError(
            f"There is no client {name!r}.",
            hint=f"Use one of {', '.join(CLIENTS)}. Others run '{SERVER_NAME} mcp': see 'appliance docs mcp'.",
        )
    return CLIENTS[name]
