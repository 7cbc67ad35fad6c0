"""A real browser on ``appliance tui --serve``, driven over the Chrome DevTools Protocol by keys alone."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pseudo_terminal import without_controls
from screens import talk
from test_tui_serve import serving

from appliance import Appliance
from tests.waits import PATIENCE

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here"),
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1"]),
]

BROWSER_OPTIONS = (
    "--headless=new",
    "--window-size=1400,900",  # wide enough for the counts in the bar
    "--no-sandbox",  # which root can't have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
)
KEY_CODES = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, "\t")}


class Page:
    """A tab: what the screen sent to it, and its keyboard."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.received = b""

    async def listen(self) -> None:
        """Take answers and what comes through the page's own socket, until the tab closes."""
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._answers.pop(event["id"]).set_result(event)
            elif event["method"] == "Network.webSocketFrameReceived":
                frame = event["params"]["response"]
                if frame["opcode"] == 2:
                    self.received += base64.b64decode(frame["payloadData"])

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        result = await asyncio.wait_for(answer, PATIENCE)
        assert "error" not in result, result
        return dict(result["result"])

    async def evaluate(self, expression: str) -> Any:
        return (await self.call("Runtime.evaluate", expression=expression))["result"].get("value")

    async def press(self, *keys: str) -> None:
        for key in keys:
            code, text = KEY_CODES.get(key, (ord(key.upper()) if len(key) == 1 else 0, key))
            about = {"key": key, "windowsVirtualKeyCode": code}
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def until(self, words: str, start: int = 0) -> None:
        await self._until(lambda: words in without_controls(self.received[start:]), words)

    async def until_focused(self) -> None:
        """Return when the terminal has the keyboard; it has been given to nothing by hand."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while await self.evaluate("document.activeElement.className") != "xterm-helper-textarea":
            assert asyncio.get_running_loop().time() < end, "the terminal has not the focus"
            await asyncio.sleep(0.02)

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        end = asyncio.get_running_loop().time() + PATIENCE
        while not holds():
            assert asyncio.get_running_loop().time() < end, f"{what!r} in {without_controls(self.received)[-2000:]}"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def tab(address: str, profile: Path) -> AsyncIterator[Page]:
    """A tab of a headless browser on an address, from before it loads."""
    assert BROWSER is not None
    process = subprocess.Popen(
        [BROWSER, *BROWSER_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port_file = profile / "DevToolsActivePort"
        end = asyncio.get_running_loop().time() + PATIENCE
        while not port_file.exists() or "\n" not in port_file.read_text():
            assert process.poll() is None and asyncio.get_running_loop().time() < end, "the browser does not start"
            await asyncio.sleep(0.05)
        devtools = f"http://127.0.0.1:{port_file.read_text().split()[0]}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{devtools}/json/list") as answer:
                (blank,) = [target for target in await answer.json() if target["type"] == "page"]
            async with session.ws_connect(blank["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                listener = asyncio.create_task(page.listen())
                await page.call("Network.enable")
                await page.call("Page.enable")
                await page.call("Page.navigate", url=address)
                yield page
                listener.cancel()
    finally:
        process.terminate()
        process.wait(60)


def test_a_browser_finds_reads_and_forgets(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home) as memory:
        memory.ingest(talk(tmp_path / "talk.jsonl"))

    async def body(address: str) -> None:
        async with tab(address, tmp_path / "profile") as page:
            await page.until("9 messages")
            await page.until_focused()
            await page.press(*"walnuts in bread")
            await page.until("allergic to")
            await page.press("Enter")
            await page.until("Bake it at 230")
            read = len(page.received)
            await page.press("Escape")
            await page.until("9 hits", read)
            await page.press("Tab")
            await page.until("Why", read)
            await page.press("d")
            await page.until("Type 1 and enter to erase 1 message")
            await page.press("1", "Enter")
            await page.until("none found")

    with serving(home) as served:
        asyncio.run(body(served.address))
    with Appliance.open(home, worker=False) as memory:
        assert memory.status()["counts"]["messages"] == 8
