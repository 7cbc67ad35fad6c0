"""The screen in a browser on this machine: ``textual-serve`` on loopback, behind a token.

Each window of the browser has a screen of its own, in a process of its own, all attached to one daemon: that of the
home, or one that runs as long as this does. What a request passes is ``Door``; nothing of it reaches textual-serve
before. The page and all that it loads come from here.
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
from typing import IO, TYPE_CHECKING, Any

from aiohttp import web
from aiohttp_jinja2 import render_template
from textual_serve.server import Server, to_int

if TYPE_CHECKING:
    from appliance.errors import ApplianceError

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 32
COOKIE = "appliance-screen"
FAREWELL = 15.0
"""Seconds that the daemon has to end: it finishes what it is at."""

FONT_SIZE = 16
"""Pixels, unless the address says otherwise (``?fontsize=12``)."""

POLICY = (
    "default-src 'none'; script-src 'nonce-{mark}'; style-src 'self' 'unsafe-inline'; font-src 'self';"
    " img-src 'self' data:; connect-src {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load. The terminal in it makes styles as it goes."""

PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}

_LOOPBACK_NAMES = frozenset({"localhost", "localhost."})
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(home: str | None, user: str | None = None, theme: str | None = None, port: int = 0) -> int:
    """Serve the screen until interrupted; the exit code.

    Raises:
        ApplianceError: the memory can't be opened, or the port is taken.
    """
    from appliance import config, paths
    from appliance_tui.keys import remapped
    from appliance_tui.themes import starting_theme

    found = paths.find_home(home)
    settings = config.load(found)
    starting_theme(settings.tui.theme if theme is None else theme)  # now, and not in every window
    remapped(settings.tui.keys, str(found.config))
    if hasattr(signal, "SIGHUP"):  # a terminal that is closed ends this as an interrupt does
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    with _listening(port) as listener, _owner(found):
        named = [*(("--user", user) if user else ()), *(("--theme", theme) if theme else ())]
        command = [sys.executable, "-m", "appliance", "tui", "--home", str(found.root), *named]
        screen = Screen(shlex.join(command), listener.getsockname()[1])
        print(f"{screen.address}\n(on this machine alone; Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            web.run_app(screen.outside(), sock=listener, print=None, access_log=None, shutdown_timeout=2.0)
    return 0


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """A socket that listens where only this machine's own programs reach it.

    Raises:
        UsageError: another program has the port.
    """
    from appliance.errors import UsageError

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()  # whoever comes from now on is answered soon
        except OSError as error:
            raise UsageError(
                f"the port {port} can't be had: {error.strerror}", hint="name another with --port, or none"
            ) from error
        yield listener


@contextmanager
def _owner(home: Any) -> Iterator[None]:
    """Within, a daemon has the home: several windows are several processes, and one alone can own it.

    Raises:
        HomeLocked: another process has it, and is no daemon.
    """
    from appliance.server.client import attach

    if (memory := attach(home)) is not None:
        memory.close()
        yield
        return
    command = [sys.executable, "-m", "appliance", "serve", "--home", str(home.root), "--port", "0", "--json"]
    # An interrupt is for this process, which ends the daemon when the windows have let go of it.
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # its error comes as a document, too
        start_new_session=True,
    ) as daemon:
        assert daemon.stdout is not None
        try:
            said = _document(daemon.stdout)
            if "url" not in said:
                raise _told(said.get("error", {}))
            yield
        finally:
            daemon.terminate()
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(FAREWELL)


def _document(lines: IO[bytes]) -> dict[str, Any]:
    """What a daemon says when it is ready, on one line, or of an error, on several; {} if it says nothing."""
    first = lines.readline()
    found: dict[str, Any] = json.loads((first if first.strip() != b"{" else first + lines.read()) or b"{}")
    return found


def _told(said: dict[str, Any]) -> ApplianceError:
    """The error that a document tells of."""
    from appliance import errors

    kind = getattr(errors, said.get("type", ""), errors.StoreError)
    found: ApplianceError = kind(
        said.get("message", "the daemon did not begin"), where=said.get("where"), hint=said.get("hint")
    )
    return found


class Screen(Server):
    """What textual-serve serves, behind the door, at a place that is new each time.

    A cookie is sent to every port of a host: that of another place does not fit here, nor does this one's reach another
    program's pages."""

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
        self.door = Door(secrets.token_urlsafe(TOKEN_BYTES), f"/{secrets.token_hex(8)}/")
        self.address = f"{url}{self.door.place}?token={self.door.token}"

    async def outside(self) -> web.Application:
        """All of it, as the network sees it."""
        app = web.Application(middlewares=[self.door.passed])
        app.add_subapp(self.door.place, await self._make_app())
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the address was said, and the token is in it."""

    async def handle_index(self, request: web.Request) -> Any:
        """The page. It may load what comes from here and nothing else, and runs no script but its own two."""
        mark = secrets.token_urlsafe(16)
        socket_url = f"ws://{request.host}{self.door.place}ws"
        page = render_template(
            "app_index.html",
            request,
            {
                "application": {"name": self.title},
                "config": {"static": {"url": f"{self.door.place}static/"}},
                "app_websocket_url": socket_url,
                "font_size": to_int(request.query.get("fontsize", ""), FONT_SIZE),
                "nonce": mark,
            },
        )
        page.headers["Content-Security-Policy"] = POLICY.format(mark=mark, socket=socket_url)
        page.headers.update(PRIVATE)
        return page


class Door:
    """Lets in who has the token: with it in the address once, from then on with a cookie."""

    def __init__(self, token: str, place: str) -> None:
        self.token = token
        self.place = place

    @property
    def passed(self) -> Any:
        """The check, as aiohttp takes it."""

        @web.middleware
        async def passed(request: web.Request, handler: _Handler) -> web.StreamResponse:
            if not _is_ours(request.headers.get("Host", ""), request.headers.get("Origin")):
                return web.Response(status=403, text="This host or page is not served here.\n")
            if self._is_right(request.query.get("token")) and request.path == self.place:
                return self._welcome()
            if not self._is_right(request.cookies.get(COOKIE)):
                return web.Response(
                    status=401, text="Use the address that 'appliance tui --serve' has printed.\n"
                )
            return await handler(request)

        return passed

    def _is_right(self, given: str | None) -> bool:
        return given is not None and compare_digest(given.encode(), self.token.encode())

    def _welcome(self) -> web.Response:
        """Off to the page itself, so that the token does not stay in the address bar. A page goes there: a browser
        that followed a link of elsewhere would leave the cookie out when it is merely sent on."""
        page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={self.place}">'
        answer = web.Response(text=page, content_type="text/html", headers=PRIVATE)
        answer.set_cookie(COOKIE, self.token, path=self.place, httponly=True, samesite="Strict")
        return answer


def _is_ours(host: str, origin: str | None) -> bool:
    """Whether a request names this machine, and comes from no page but ours. A page of a foreign name that has been
    pointed at this machine (DNS rebinding) names its own."""
    found = _HOST.fullmatch(host.lower())
    if found is None or (origin is not None and origin.lower() != f"http://{host.lower()}"):
        return False
    name = found[1] or found[2]
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name in _LOOPBACK_NAMES
