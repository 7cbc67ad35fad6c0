"""``appliance mcp`` as a client starts it: a real process, pipes, and how it begins and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from appliance import Appliance
from appliance.engine.engine import Engine
from appliance.errors import HomeLocked
from appliance.server.mcp.memory_lease import MemoryLease
from tests import forked_programs
from tests.server.mcp_runs import READER, ROOT, TOOLS, Caller, over_pipes
from tests.tested_program import STRICT_PROGRAM
from tests.waits import PATIENCE, until

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

NOT_ENGLISH = "Ärger mit dem Käse 🧀 — 日本語, עברית, \u2028 Zeilenende, e\u0301"


def call(id: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def begin(*arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    return forked_programs.Popen(
        [*STRICT_PROGRAM, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'models'}", **variables},
        cwd=ROOT,
    )


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def answers(stdout: bytes) -> dict[int, Any]:
    """Every line of stdout is a message of the protocol; the answers by their ids."""
    found = [json.loads(line) for line in stdout.splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in found)
    return {one["id"]: one for one in found}


# --- a client ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_s_client_lists_and_calls_every_tool(mode: str) -> None:
    async def work(caller: Caller) -> None:
        assert {tool.name for tool in (await caller.client.list_tools()).tools} == TOOLS
        stored = await caller.call("memory_add", text=NOT_ENGLISH)
        assert (await caller.call("memory_search", query="Käse"))["hits"][0]["id"] == stored["id"]
        assert (await caller.call("memory_get", ids=[stored["id"]]))["messages"][0]["text"] == NOT_ENGLISH
        assert (await caller.call("memory_timeline", around=stored["id"]))["stretches"]
        assert "Käse" in (await caller.call("memory_context", query="Käse"))["text"]
        assert (await caller.call("memory_sessions"))["sessions"][0]["id"] == stored["session"]
        assert (await caller.call("memory_facts", action="add", text="I live in Łódź"))["facts"]
        preview = await caller.call("memory_forget", ids=[stored["id"]])
        done = await caller.call("memory_forget", ids=[stored["id"]], confirm=preview["confirm"])
        assert done["done"] and "traces" not in done
        assert (await caller.call("memory_status"))["counts"]["messages"] == 0
        assert (await caller.client.list_prompts()).prompts and (await caller.client.list_resources()).resources
        assert "Łódź" in (await caller.client.read_resource("memory://profile")).contents[0].text  # type: ignore[union-attr]
        assert (await caller.client.get_prompt("recall", {"about": "where do I live?"})).messages

    over_pipes(work, mode=mode, LC_ALL="C", PYTHONIOENCODING="ascii")
    with Appliance.open(worker=False) as memory:
        assert not memory.verify().problems


@pytest.mark.slow
def test_flags_narrow_what_the_process_offers(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        memory.sessions.create(user_id="ana", namespace="work").add("user", "the marmot whistles")
        memory.sessions.create(user_id="ben").add("user", "the otter swims")

    async def work(caller: Caller) -> None:
        assert {tool.name for tool in (await caller.client.list_tools()).tools} == READER
        assert (await caller.call("memory_get", ids=["m1", "m2"]))["missing"] == ["m2"]
        state = await caller.call("memory_status")
        assert (state["user"], state["namespace"], state["read_only"]) == ("ana", "work", True)

    over_pipes(work, "--user", "ana", "--namespace", "work", "--read-only")


@pytest.mark.slow
def test_settings_that_are_broken_are_told_by_the_tools(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("colour = 'red'\n")

    async def work(caller: Caller) -> None:
        assert "colour" in await caller.refused("memory_search", query="x")
        with pytest.raises(MCPError, match="colour"):
            await caller.client.read_resource("memory://profile")
        (home / "config.toml").unlink()
        assert (await caller.call("memory_status"))["health"] == "ok"

    over_pipes(work)


# --- the home --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_home_in_use_is_told_and_works_when_it_is_free(home: Path) -> None:
    owner = Engine.open(home, worker=False, purpose="somebody else")  # without a socket

    async def work(caller: Caller) -> None:
        assert len((await caller.client.list_tools()).tools) == len(TOOLS)
        said = await caller.refused("memory_search", query="x")
        assert "in use by 'somebody else' (process" in said and "try again" in said
        owner.close()
        assert (await caller.call("memory_add", text="now it works"))["id"] == "m1"

    try:
        over_pipes(work)
    finally:
        owner.close()


@pytest.mark.slow
def test_the_handshake_touches_no_home(home: Path) -> None:
    async def work(caller: Caller) -> None:
        await caller.client.list_tools()
        await caller.client.list_resources()
        await caller.client.list_prompts()
        assert not home.exists()
        await caller.call("memory_status")
        assert (home / "recall.db").exists()

    over_pipes(work)


def is_free(home: Path) -> bool:
    try:
        Engine.open(home, worker=False).close()
    except HomeLocked:
        return False
    return True


def test_an_idle_memory_is_let_go_and_opened_again(home: Path) -> None:
    opening = MemoryLease(None, "a test", idle_timeout=0.05, lock_timeout=0.0)
    with opening.lease() as memory:
        memory.sessions.create().add("user", "the heron")
        with opening.lease() as same:
            assert same is memory
    until(lambda: is_free(home), "the home's release")
    with opening.lease() as again:
        assert again is not memory and again.message("m1").text == "the heron"
        with MemoryLease(None, "another", lock_timeout=0.0).lease() as other:
            assert other.is_attached and not again.is_attached
    opening.close()
    Appliance.open(home, worker=False).close()


# --- beginning and end -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_answers_in_order_and_ends_with_its_input() -> None:
    with begin() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines(INITIALIZE, INITIALIZED, LIST))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "appliance"
        assert len(json.loads(process.stdout.readline())["result"]["tools"]) == len(TOOLS)
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None and process.stderr.read() == b""


@pytest.mark.slow
def test_what_was_asked_before_stdin_ended_is_answered(home: Path) -> None:
    asked = [call(number, "memory_add", text=f"note {number}") for number in range(10, 20)]
    with begin() as process:
        stdout, stderr = process.communicate(lines(INITIALIZE, INITIALIZED, *asked, call(20, "memory_dance")), 120)
        assert process.returncode == 0 and stderr == b""
    found = answers(stdout)
    assert set(found) == {1, *range(10, 21)}
    assert all(not found[number]["result"]["isError"] for number in range(10, 20))
    with Appliance.open(home, worker=False) as memory:
        assert memory.status()["counts"]["messages"] == 10 and len(memory.sessions.list()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_though_stdin_is_open(home: Path, number: signal.Signals) -> None:
    with begin() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines(INITIALIZE, INITIALIZED, call(5, "memory_add", text="the heron")))
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline() and b'"id":5' in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None and process.stderr.read() == b""
    with Appliance.open(home, worker=False) as memory:
        assert memory.message("m1").text == "the heron"


@pytest.mark.slow
def test_a_client_that_is_gone_ends_it(home: Path) -> None:
    with begin() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(lines(INITIALIZE, INITIALIZED))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(lines(LIST, call(5, "memory_add", text="the heron")))
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None and process.stderr.read() == b""
    Appliance.open(home, worker=False).close()


@pytest.mark.slow
def test_lines_that_are_no_messages_do_not_end_it() -> None:
    nonsense = b'\xff\xfe\n{"jsonrpc":\n[]\n"x"\n\n{"jsonrpc":"2.0","id":7,"method":"dance"}\n'
    with begin() as process:
        stdout, _ = process.communicate(lines(INITIALIZE, INITIALIZED) + nonsense + lines(LIST), 120)
        assert process.returncode == 0
    found = [json.loads(line) for line in stdout.splitlines()]
    assert len(next(one for one in found if one.get("id") == 2)["result"]["tools"]) == len(TOOLS)
    assert "error" in next(one for one in found if one.get("id") == 7)
    refused = [one["error"]["message"] for one in found if one.get("id") is None]
    assert refused.count("The message is not JSON.") == 2 and len(refused) == 4, "a client would wait for an answer"


ODD_VALUES = {
    "half a character": r'"half of a pair: \ud83d"',
    "a name of half a character": r'{"\udc00": 1}',
    "nothing": r'"a\u0000b"',
    "nested": "[" * 150 + "]" * 150,
    "nested deeper": "[" * 300 + "]" * 300,
    "nested deeper than Python reads": "[" * 100_000 + "]" * 100_000,
    "a large number": "9" * 400,
    "a larger number": "9" * 5_000,
    "no number": "NaN",
    "infinity": "-Infinity",
    "beyond a float": "1e999",
}
"""Values in JSON that one part or another of what answers a request can't read or write."""


@pytest.mark.slow
def test_every_request_with_an_id_is_answered_whatever_its_values(home: Path) -> None:
    def calls(value: str) -> Iterator[bytes]:
        for tool, name in (("memory_add", "text"), ("memory_search", "query"), ("memory_timeline", "limit")):
            number = len(asked) + 10
            asked[number] = value
            begun = f'{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"{tool}","arguments":'
            yield f'{begun}{{"{name}":{value}}}}},"id":{number}}}\n'.encode()

    asked: dict[int, str] = {}
    sent = b"".join(line for value in ODD_VALUES.values() for line in calls(value))
    with begin() as process:
        stdout, stderr = process.communicate(lines(INITIALIZE, INITIALIZED) + sent + lines(LIST), 120)
        assert process.returncode == 0 and stderr == b""
    found = answers(stdout)
    assert set(found) == {1, 2, *asked}
    assert "params.arguments.text has half a character" in found[10]["error"]["message"]
    assert "bug" not in stdout.decode().lower()
    with Appliance.open(home, worker=False) as memory:
        assert [message["content"] for message in memory.export()] == ["a\0b"]


@pytest.mark.slow
def test_what_others_print_stays_off_the_wire(home: Path) -> None:
    statement = (
        "import appliance.server.mcp.read_tools as reading, os\n"
        "was = reading.status\n"
        "def status(*given):\n"
        "    print('stray'); os.write(1, b'stray too\\n'); return was(*given)\n"
        "reading.status = status\n"
        "from appliance.cli import main\n"
        "import sys; sys.exit(main(['mcp']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", statement],
        input=lines(INITIALIZE, INITIALIZED, call(5, "memory_status")),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'models'}"},
        timeout=120,
        check=True,
    )
    assert set(answers(ended.stdout)) == {1, 5} and b"stray too" in ended.stderr


@pytest.mark.slow
def test_it_waits_for_no_terminal() -> None:
    with begin() as process:
        stdout, stderr = process.communicate(b"", 60)
        assert process.returncode == 0 and stdout == stderr == b""
