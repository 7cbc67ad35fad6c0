"""How long a fresh MCP server takes to answer: from the start of the process to its list of tools.

    python -m tests.bench.mcp_start [--runs 10]

A client's handshake over pipes (``initialize``, then ``tools/list``), in turns with what Python takes to import the SDK
alone, and nothing at all. The first tool call, which opens the memory, comes after the list. The list has a target of
2 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from appliance import Appliance
from tests.bench import material, measure

TARGET = 2.0
MESSAGES = 100

HANDSHAKE: list[dict[str, Any]] = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
]
FIRST_CALL: dict[str, Any] = {
    "id": 3,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "the weekend", "weak": True}},
}


def run(runs: int, warm_ups: int = 1) -> measure.Document:
    """Every process in every round, after those that warm the disk's cache."""
    machine = measure.machine()
    calls: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        file = material.write_jsonl(Path(folder) / "chat.jsonl", material.short_messages(material.texts()[0], MESSAGES))
        with Appliance.open(home) as memory:
            memory.ingest(file)
        works = {
            "python": partial(_python, "pass"),
            "sdk": partial(_python, "import mcp.server.lowlevel, mcp.server.stdio"),
        }
        taken: dict[str, list[float]] = {name: [] for name in (*works, "first_answer")}
        for number in range(warm_ups + runs):
            for name, work in works.items():
                began = time.perf_counter()
                work()
                taken[name].append(time.perf_counter() - began)
            first, call = _server(home)
            taken["first_answer"].append(first)
            calls.append(call)
            if number < warm_ups:
                for each in (*taken.values(), calls):
                    each.clear()
    return {
        "benchmark": "mcp_start",
        "machine": machine,
        "messages": MESSAGES,
        "runs": runs,
        "target_s": {"first_answer": TARGET},
        "seconds": {
            name: {"min": round(min(each), 3), "median": round(median(each), 3)}
            for name, each in {**taken, "first_call_after": calls}.items()
        },
    }


def _python(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], cwd=measure.ROOT, env=measure.environment(), check=True)


def _server(home: Path) -> tuple[float, float]:
    """Seconds to the list of tools, and from there to the first hits."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "appliance", "mcp", "--home", str(home)],
        cwd=measure.ROOT,
        env=measure.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        _answer(process, *HANDSHAKE)
        first = time.perf_counter() - began
        began = time.perf_counter()
        found = _answer(process, FIRST_CALL)
        call = time.perf_counter() - began
        assert found["result"]["structuredContent"]["hits"], "nothing found"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    return first, call


def _answer(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> dict[str, Any]:
    """Send messages; the answer to the last."""
    assert process.stdin is not None and process.stdout is not None
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if found.get("id") == messages[-1]["id"]:
            return found
    raise RuntimeError("the server has ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    measure.show(run(parser.parse_args().runs))


if __name__ == "__main__":
    main()
