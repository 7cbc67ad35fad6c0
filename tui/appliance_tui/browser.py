"""The screen in a browser on this machine: ``textual-serve`` on loopback, behind a token.

Each browser window runs a screen in a process of its own. All of them attach to one daemon: the home's, or one that
runs as long as the server. ``TokenMiddleware`` checks every request before textual-serve sees it. The page and all that
it loads come from this server.
"""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from hmac import compare_digest
from pathlib import Path
from typing import IO, Any

from aiohttp import web
from aiohttp_jinja2 import render_template
from textual_serve.server import Server, to_int

from appliance import errors
from appliance.errors import ApplianceError, UsageError

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 32
COOKIE_NAME = "appliance-screen"
DAEMON_STOP_TIMEOUT_SECONDS = 15.0
"""Seconds that the daemon has to finish its work and exit."""

FONT_SIZE = 16
"""Pixels; the address may override it (``?fontsize=12``)."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'nonce-{mark}'; style-src 'self' 'unsafe-inline'; font-src 'self';"
    " img-src 'self' data:; connect-src {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load. The terminal in it adds styles at run time."""

PRIVATE_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

_LOOPBACK_NAMES = frozenset({"localhost", "localhost."})
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(
    home: str | None, user: str | None = None, theme: str | None = None, port: int = 0, reveal: bool = False
) -> int:
    """Serve the screen until interrupted. A ``port`` of 0 picks a free one; ``reveal`` shows secrets.

    Returns:
        The exit code.

    Raises:
        ApplianceError: the memory can't be opened, or the port is taken.
    """
    from appliance import config, paths
    from appliance_tui.keys import resolve_keymap
    from appliance_tui.themes import initial_theme

    location = paths.find_home(home)
    settings = config.load(location)
    # Report wrong settings here rather than in every window.
    initial_theme(settings.tui.theme if theme is None else theme)
    resolve_keymap(settings.tui.keys, str(location.config))
    if hasattr(signal, "SIGHUP"):  # closing the terminal has the effect of an interrupt
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    with _bind_loopback(port) as listener, _ensure_daemon(location):
        options = [*(("--user", user) if user else ()), *(("--theme", theme) if theme else ())]
        options += ["--reveal"] if reveal else []
        command = _program("tui", "--home", str(location.root), *options)
        screen = BrowserServer(shlex.join(command), listener.getsockname()[1])
        print(f"{screen.address}\n(reachable from this machine only; press Ctrl-C to stop)", flush=True)
        with suppress(KeyboardInterrupt):
            web.run_app(screen.guarded_application(), sock=listener, print=None, access_log=None, shutdown_timeout=2.0)
    return 0


def _program(*arguments: str) -> list[str]:
    """The command that runs this very program, which is its own Python where it is frozen."""
    if getattr(sys, "frozen", False):
        return [sys.executable, *arguments]
    return [sys.executable, "-P", "-m", "appliance", *arguments]


@contextmanager
def _bind_loopback(port: int) -> Iterator[socket.socket]:
    """A listening socket that only programs of this machine can reach.

    Raises:
        UsageError: another program has the port.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()  # early connections wait until the server runs
        except OSError as error:
            raise UsageError(
                f"Port {port} is not available ({error.strerror}).", hint="Choose another --port, or leave it out."
            ) from error
        yield listener


@contextmanager
def _ensure_daemon(home: Any) -> Iterator[None]:
    """Run a daemon on the home unless there is one: windows are processes, and only one process can own a home.

    Raises:
        HomeLocked: another process that is not a daemon owns the home.
    """
    from appliance.client import Appliance

    if (memory := Appliance.attach(home)) is not None:
        memory.close()
        yield
        return
    command = _program("serve", "--home", str(home.root), "--port", "0", "--json")
    # In a session of its own, so that an interrupt reaches only this process, which stops the daemon after the windows.
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # errors come as a JSON document on stdout
        start_new_session=True,
    ) as daemon:
        assert daemon.stdout is not None
        try:
            status = _read_document(daemon.stdout)
            if "url" not in status:
                raise _error_of(status.get("error", {}))
            yield
        finally:
            daemon.terminate()
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(DAEMON_STOP_TIMEOUT_SECONDS)


def _read_document(lines: IO[bytes]) -> dict[str, Any]:
    """The daemon's JSON: one line when it is ready, several for an error; {} if it prints nothing."""
    first = lines.readline()
    document: dict[str, Any] = json.loads((first if first.strip() != b"{" else first + lines.read()) or b"{}")
    return document


def _error_of(document: dict[str, Any]) -> ApplianceError:
    """The error that a JSON document describes."""
    kind = getattr(errors, document.get("type", ""), errors.StoreError)
    error: ApplianceError = kind(
        document.get("message", "the daemon did not start"), where=document.get("where"), hint=document.get("hint")
    )
    return error


class BrowserServer(Server):
    """The server of textual-serve behind a token, at a random path.

    Browsers send a cookie to every port of a host. With a random path, the cookie of another server does not fit here,
    and this server's cookie does not reach other programs' pages.
    """

    def __init__(self, command: str, port: int) -> None:
        url = f"http://{LOOPBACK}:{port}"
        super().__init__(
            command,
            host=LOOPBACK,
            port=port,
            title="Memory appliance",
            public_url=url,
            templates_path=Path(__file__).parent / "browser",
        )
        self.access = TokenMiddleware(secrets.token_urlsafe(TOKEN_BYTES), f"/{secrets.token_hex(8)}/")
        self.address = f"{url}{self.access.path}?token={self.access.token}"

    async def guarded_application(self) -> web.Application:
        """The application with the token check around it."""
        app = web.Application(middlewares=[self.access.middleware])
        app.add_subapp(self.access.path, await self._make_app())
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: ``serve`` has printed the address, which contains the token."""

    async def handle_index(self, request: web.Request) -> Any:
        """The page. Its policy allows resources of this server only, and only its own two scripts."""
        nonce = secrets.token_urlsafe(16)
        socket_url = f"ws://{request.host}{self.access.path}ws"
        page = render_template(
            "app_index.html",
            request,
            {
                "application": {"name": self.title},
                "config": {"static": {"url": f"{self.access.path}static/"}},
                "app_websocket_url": socket_url,
                "font_size": to_int(request.query.get("fontsize", ""), FONT_SIZE),
                "nonce": nonce,
            },
        )
        page.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY.format(mark=nonce, socket=socket_url)
        page.headers.update(PRIVATE_HEADERS)
        return page


class TokenMiddleware:
    """Admits requests with the token: in the address at first, then in a cookie."""

    def __init__(self, token: str, path: str) -> None:
        self.token = token
        self.path = path

    @property
    def middleware(self) -> Any:
        """The check as an aiohttp middleware."""

        @web.middleware
        async def check_token(request: web.Request, handler: _Handler) -> web.StreamResponse:
            if not _is_local_request(request.headers.get("Host", ""), request.headers.get("Origin")):
                return web.Response(status=403, text="Requests from this host or page are not allowed.\n")
            if self._is_valid(request.query.get("token")) and request.path == self.path:
                return self._redirect_with_cookie()
            if not self._is_valid(request.cookies.get(COOKIE_NAME)):
                return web.Response(status=401, text="Open the address that 'appliance tui --serve' printed.\n")
            return await handler(request)

        return check_token

    def _is_valid(self, token: str | None) -> bool:
        return token is not None and compare_digest(token.encode(), self.token.encode())

    def _redirect_with_cookie(self) -> web.Response:
        """Set the cookie and go to the page without the token in the address. A page does it, not a redirect: for a
        redirect after a link from another site, browsers leave out a SameSite=Strict cookie."""
        page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={self.path}">'
        answer = web.Response(text=page, content_type="text/html", headers=PRIVATE_HEADERS)
        answer.set_cookie(COOKIE_NAME, self.token, path=self.path, httponly=True, samesite="Strict")
        return answer


def _is_local_request(host: str, origin: str | None) -> bool:
    """Whether a request names this machine as its host and comes from our own page. A page behind a foreign name that
    resolves to this machine (DNS rebinding) sends that name."""
    match = _HOST.fullmatch(host.lower())
    if match is None or (origin is not None and origin.lower() != f"http://{host.lower()}"):
        return False
    name = match[1] or match[2]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in _LOOPBACK_NAMES
