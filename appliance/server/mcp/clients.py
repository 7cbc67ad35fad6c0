"""Programs that speak MCP, and how each of them is told of a server: which file, which keys, what form.

Where each form was found is in docs/mcp.md. A client whose form could not be established is not here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import UsageError

NAME = "appliance"
"""What the server is called in a client's settings, unless named otherwise."""


@dataclass(frozen=True, slots=True)
class Local:
    """A server that the client starts: absolute command, arguments, variables."""

    command: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that runs already, and what to show it."""

    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a person's settings lie on this system."""

    system: str
    home: Path
    variables: Mapping[str, str]

    @property
    def config(self) -> Path:
        """The folder that most programs of this system keep settings in."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return Path(self.variables.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.xdg

    @property
    def xdg(self) -> Path:
        return Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")


def this_machine() -> Machine:
    return Machine(sys.platform, Path.home(), os.environ)


@dataclass(frozen=True, slots=True)
class Client:
    """A program with its settings. ``keys`` lead to the servers in the file; ``local`` and ``remote`` are a server's
    form there, None where the file can't name such a one."""

    name: str
    title: str
    file: Callable[[Machine], Path]
    keys: tuple[str, ...]
    local: Callable[[Local], dict[str, Any]]
    remote: Callable[[Remote], dict[str, Any]] | None
    then: str

    def entry(self, server: Local | Remote) -> dict[str, Any]:
        """The server as this client's settings have it.

        Raises:
            UsageError: the client's file can't name a server that runs already.
        """
        if isinstance(server, Local):
            return self.local(server)
        return self.over_http()(server)

    def over_http(self) -> Callable[[Remote], dict[str, Any]]:
        """The form of a server that runs already.

        Raises:
            UsageError: the client's file can't name one.
        """
        if self.remote is None:
            raise UsageError(
                f"{self.title} takes servers over HTTP from its own screens only, not from a file",
                hint="leave --http out: 'appliance mcp' attaches to the daemon by itself",
            )
        return self.remote


def _plain(server: Local) -> dict[str, Any]:
    return {"command": server.command, "args": list(server.arguments), "env": dict(server.variables)}


def _typed(server: Local) -> dict[str, Any]:
    return {"type": "stdio", **_plain(server)}


def _url(server: Remote) -> dict[str, Any]:
    return {"url": server.url, "headers": server.headers}


def _typed_url(server: Remote) -> dict[str, Any]:
    return {"type": "http", **_url(server)}


def _windsurf_url(server: Remote) -> dict[str, Any]:
    return {"serverUrl": server.url, "headers": server.headers}


def _codex_url(server: Remote) -> dict[str, Any]:
    return {"url": server.url, "http_headers": server.headers}


def _opencode(server: Local) -> dict[str, Any]:
    return {
        "type": "local",
        "command": [server.command, *server.arguments],
        "environment": dict(server.variables),
        "enabled": True,
    }


def _opencode_url(server: Remote) -> dict[str, Any]:
    return {"type": "remote", **_url(server), "enabled": True}


def _zed_file(machine: Machine) -> Path:
    if machine.system == "win32":
        return machine.config / "Zed" / "settings.json"
    folder = machine.home / ".config" if machine.system == "darwin" else machine.xdg
    return folder / "zed" / "settings.json"


def _opencode_file(machine: Machine) -> Path:
    folder = machine.home / ".config" / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _codex_file(machine: Machine) -> Path:
    return Path(machine.variables.get("CODEX_HOME") or machine.home / ".codex") / "config.toml"


_RESTART = "restart it, and its tools are there"

CLIENTS = {
    one.name: one
    for one in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda machine: machine.config / "Claude" / "claude_desktop_config.json",
            ("mcpServers",),
            _plain,
            None,
            _RESTART,
        ),
        Client(
            "claude-code",
            "Claude Code",
            lambda machine: machine.home / ".claude.json",
            ("mcpServers",),
            _typed,
            _typed_url,
            "start a new session; /mcp shows it",
        ),
        Client(
            "cursor",
            "Cursor",
            lambda machine: machine.home / ".cursor" / "mcp.json",
            ("mcpServers",),
            _plain,
            _url,
            _RESTART,
        ),
        Client(
            "vscode",
            "Visual Studio Code",
            lambda machine: machine.config / "Code" / "User" / "mcp.json",
            ("servers",),
            _typed,
            _typed_url,
            "'MCP: List Servers' starts it",
        ),
        Client(
            "windsurf",
            "Windsurf",
            lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
            ("mcpServers",),
            _plain,
            _windsurf_url,
            "refresh the MCP servers in Cascade",
        ),
        Client("zed", "Zed", _zed_file, ("context_servers",), _plain, _url, "Zed reads it at once"),
        Client(
            "lm-studio",
            "LM Studio",
            lambda machine: machine.home / ".lmstudio" / "mcp.json",
            ("mcpServers",),
            _plain,
            _url,
            "switch it on under Program > Integrations",
        ),
        Client("opencode", "opencode", _opencode_file, ("mcp",), _opencode, _opencode_url, _RESTART),
        Client(
            "codex",
            "Codex",
            _codex_file,
            ("mcp_servers",),
            _plain,
            _codex_url,
            "start a new session; /mcp shows it",
        ),
    )
}


def client(name: str) -> Client:
    """
    Raises:
        UsageError: none is called so.
    """
    if name not in CLIENTS:
        raise UsageError(
            f"no client {name!r}",
            hint=f"one of {', '.join(CLIENTS)}; others take the command '{NAME} mcp', docs/mcp.md has the form",
        )
    return CLIENTS[name]


def command() -> tuple[str, ...]:
    """What starts this very program, by absolute paths: a client has another PATH than a shell."""
    if getattr(sys, "frozen", False):
        return (sys.executable,)
    script = Path(sys.executable).with_name("appliance.exe" if sys.platform == "win32" else "appliance")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "appliance")
