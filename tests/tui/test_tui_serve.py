"""The screen in a browser: nobody gets anything without the token, and nothing is loaded from elsewhere."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from appliance.cli.app import run as command_line
from appliance.client import Appliance
from appliance.engine.engine import Engine
from appliance.paths import Home
from appliance_tui.browser import COOKIE_NAME, BrowserServer, TokenMiddleware, _is_local_request
from tests import forked_programs
from tests.tested_program import PROGRAM
from tests.waits import PATIENCE

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]


@dataclass(frozen=True, slots=True)
class Served:
    process: subprocess.Popen[bytes]
    address: str

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    @property
    def place(self) -> str:
        return urlsplit(self.address).path

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{COOKIE_NAME}={self.token}"}

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()


def environment() -> dict[str, str]:
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    return {**os.environ, "PYTHONPATH": paths}


@contextmanager
def serving(home: Path, *options: str) -> Iterator[Served]:
    command = [*PROGRAM, "tui", "--serve", "--home", str(home), *options]
    with forked_programs.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode().strip()
        if not line:
            raise AssertionError(process.communicate(timeout=PATIENCE)[1].decode())
        try:
            yield Served(process, line)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served") / "home") as one:
        yield one


EVERYTHING = ("", "ws", "static/js/textual.js", "static/css/xterm.css", "static/", "download/x", "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERYTHING)
@pytest.mark.parametrize("given", [{}, {"Cookie": f"{COOKIE_NAME}=wrong"}, {"Cookie": f"{COOKIE_NAME}="}])
def test_nothing_is_served_without_the_token(served: Served, path: str, given: dict[str, str]) -> None:
    answer, body = served.get(served.place + path, given)
    assert answer.status == 401 and b"textual" not in body
    assert answer.getheader("Set-Cookie") is None
    assert served.get("/" + path, given)[0].status == 401
    assert served.get(f"{served.place}{path}?token=wrong", given)[0].status == 401


@pytest.mark.slow
def test_the_token_in_the_address_is_taken_for_a_cookie_once(served: Served) -> None:
    answer, body = served.get(f"{served.place}?token={served.token}")
    assert answer.status == 200
    cookie = answer.getheader("Set-Cookie") or ""
    for part in (served.token, "HttpOnly", "SameSite=Strict", f"Path={served.place}"):
        assert part in cookie
    assert served.token.encode() not in body and served.place.encode() in body
    assert answer.getheader("Referrer-Policy") == "no-referrer" and answer.getheader("Cache-Control") == "no-store"
    # Elsewhere the address opens nothing: it is for the page alone.
    assert served.get(f"{served.place}static/css/xterm.css?token={served.token}")[0].status == 401


@pytest.mark.slow
def test_the_page_loads_nothing_from_elsewhere(served: Served) -> None:
    answer, page = served.get(served.place, served.cookie)
    assert answer.status == 200
    loaded = re.findall(r'(?<![\w-])(?:src|href|url)\s*[=(]\s*"([^"]*)"', page.decode())
    assert loaded and all(one.startswith((served.place, "data:,")) for one in loaded)
    assert b"http" not in page and page.count(b"ws://") == 1
    policy = answer.getheader("Content-Security-Policy") or ""
    assert "default-src 'none'" in policy and f"connect-src ws://127.0.0.1:{served.port}{served.place}ws" in policy
    for one in loaded:
        if one.startswith(served.place):
            assert served.get(one, served.cookie)[0].status == 200
    assert served.token.encode() not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "192.168.1.7"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_other_hosts_and_pages_of_elsewhere_are_not_served(served: Served, headers: dict[str, str]) -> None:
    for path in (served.place, f"{served.place}?token={served.token}", f"{served.place}ws"):
        answer, _ = served.get(path, {**served.cookie, **headers})
        assert answer.status in (400, 403), path
        assert answer.getheader("Set-Cookie") is None


@pytest.mark.slow
def test_the_screen_comes_through_the_socket_and_two_windows_have_one_each(served: Served) -> None:
    async def look() -> bytes:
        url = f"ws://127.0.0.1:{served.port}{served.place}ws?width=100&height=30"
        origin = {"Origin": f"http://127.0.0.1:{served.port}"}
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(url, headers={**served.cookie, **origin}) as socket,
        ):
            seen = b""
            while b"Search" not in seen or b"0 messages" not in seen:
                message = await socket.receive(timeout=PATIENCE)
                if message.type == aiohttp.WSMsgType.BINARY:
                    seen += message.data
                else:
                    assert message.type == aiohttp.WSMsgType.TEXT, message
            return seen

    async def both() -> None:
        await asyncio.gather(look(), look())

    asyncio.run(both())


@pytest.mark.slow
def test_the_socket_is_closed_to_others(served: Served) -> None:
    async def body(headers: dict[str, str]) -> int:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(f"ws://127.0.0.1:{served.port}{served.place}ws", headers=headers)
            return caught.value.status

    assert asyncio.run(body({})) == 401
    assert asyncio.run(body({**served.cookie, "Origin": "http://evil.example"})) == 403


@pytest.mark.slow
def test_it_ends_as_asked_and_takes_its_daemon_along(home: Path) -> None:
    with serving(home) as one:
        memory = Appliance.attach(Home(home))
        assert memory is not None
        memory.close()
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(PATIENCE) == 0
        first = one.token
    assert Appliance.attach(Home(home)) is None
    with Appliance.open(home, worker=False):
        pass  # it is free again
    assert first


@pytest.mark.slow
def test_a_daemon_that_is_there_is_used_and_left_running(home: Path) -> None:
    daemon = forked_programs.Popen(
        [*PROGRAM, "serve", "--home", str(home), "--port", "0", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
    )  # fmt: skip
    assert daemon.stdout is not None
    try:
        assert daemon.stdout.readline()
        with serving(home) as one:
            assert one.get(one.place)[0].status == 401
        assert daemon.poll() is None
    finally:
        daemon.terminate()
        daemon.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_a_home_whose_owner_answers_nobody_is_an_error(home: Path) -> None:
    with Engine.open(home, worker=False):
        ended = forked_programs.run(
            [*PROGRAM, "tui", "--serve", "--home", str(home)],
            capture_output=True, env=environment(), timeout=60, check=False,
        )  # fmt: skip
    assert ended.returncode == 3 and b"in use" in ended.stderr and b"Traceback" not in ended.stderr
    assert not ended.stdout


@pytest.mark.slow
def test_a_taken_port_is_wrong_usage(served: Served, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["tui", "--serve", "--home", str(home), "--port", str(served.port)]) == 2
    assert "is not available" in capsys.readouterr().err


def test_token_and_place_are_new_each_time() -> None:
    one, other = BrowserServer("x", 1), BrowserServer("x", 1)
    assert one.access.token != other.access.token and one.access.path != other.access.path
    assert len(one.access.token) >= 43


def test_hosts_of_this_machine_are_known() -> None:
    for host in ("127.0.0.1:80", "localhost", "LOCALHOST:1", "[::1]:5", "127.0.0.2"):
        assert _is_local_request(host, None) and _is_local_request(host, f"http://{host}"), host
    for host in ("", "a b", "localhost.evil", "10.0.0.1", "127.0.0.1:80:80", "[::1", "localhost@evil"):
        assert not _is_local_request(host, None), host


def test_a_token_that_is_no_ascii_is_wrong() -> None:
    assert not TokenMiddleware("t", "/x/")._is_valid("ß\udcff"[:1]) and not TokenMiddleware("t", "/x/")._is_valid(None)
    assert TokenMiddleware("t", "/x/")._is_valid("t")
