"""What is loaded when, seen in interpreters that have loaded nothing before."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MODELS = {"onnxruntime", "fastembed", "tokenizers", "tiktoken", "huggingface_hub"}
STORES = {"qdrant_edge", "qdrant_client", "sqlite_utils", "grpc"}
SCREENS = {"textual", "rich", "typer"}
NETWORK = {"httpx", "requests", "urllib3", "aiohttp"}

WATCHED = """
import json, sys

opened = []

def note(event, given):
    if event == "socket.__new__":
        opened.append(f"{{event}} {{given[1]}}")
    elif event.startswith("socket."):
        opened.append(f"{{event}} {{int(given[0].family)}}" if hasattr(given[0], "family") else event)

sys.addaudithook(note)
before = set(sys.modules)
{statement}
loaded = sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})
print(json.dumps([loaded, opened]))
"""


def clean(statement: str) -> tuple[set[str], list[str]]:
    """The packages that a statement loads in a clean interpreter, and what it does with sockets."""
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED.format(statement=statement)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    loaded, opened = json.loads(ended.stdout)
    return set(loaded), opened


HEAVY = MODELS | STORES | SCREENS | NETWORK | {"numpy", "msgspec", "sqlite3", "asyncio", "platformdirs"}


def test_importing_the_package_loads_nothing_heavy_and_opens_no_socket() -> None:
    loaded, opened = clean("import appliance")
    assert not loaded & HEAVY
    assert not opened
    assert "appliance" in loaded


def test_importing_the_models_loads_nothing_heavy() -> None:
    loaded, opened = clean("import appliance_models")
    assert not loaded & HEAVY and not opened and "appliance" not in loaded


@pytest.mark.parametrize(
    "statement",
    [
        "import appliance.engine.engine",
        "from appliance import Appliance",
        "from appliance import Appliance, Context, Hit, Hits, IngestReport, Message, Session, SessionInfo",
    ],
)
def test_the_engine_loads_no_model_runtime_and_no_client(statement: str) -> None:
    loaded, opened = clean(statement)
    assert not loaded & (MODELS | SCREENS | NETWORK | {"qdrant_client", "sqlite_utils"})
    assert not opened


@pytest.mark.slow
def test_a_daemon_starts_without_the_sdk_of_mcp() -> None:
    loaded, opened = clean("import appliance.server.daemon, appliance.server.http.app")
    assert "fastapi" in loaded and not loaded & {"mcp", "mcp_types"} and not opened


@pytest.mark.parametrize("name", ["errors", "types", "paths", "timestamps", "requests"])
def test_the_values_stand_alone(name: str) -> None:
    loaded, _ = clean(f"import appliance.{name}")
    assert not loaded & HEAVY


@pytest.mark.slow
def test_a_whole_round_in_and_out_opens_no_socket_to_the_network(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"session_id": "s", "role": "user", "content": "the otter sleeps"}) + "\n"
    )
    loaded, opened = clean(
        "from appliance import Appliance\n"
        "from appliance_models import HashEmbedder\n"
        f"with Appliance.open({str(tmp_path / 'home')!r}, embedder=HashEmbedder()) as memory:\n"
        f"    memory.ingest({str(tmp_path / 'a.jsonl')!r})\n"
        "    assert memory.search('otter') and memory.context('otter').text\n"
        "    assert not memory.verify().problems\n"
    )
    # Other programs of the same user are answered over a Unix socket.
    assert {event.rpartition(" ")[2] for event in opened} == {str(int(socket.AF_UNIX))}
    assert not loaded & (NETWORK | SCREENS | {"qdrant_client", "onnxruntime", "fastembed"})


@pytest.mark.slow
def test_the_import_law_holds() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    if not lint.exists():
        pytest.skip("import-linter is not installed")
    ended = subprocess.run(
        [str(lint), "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / room) for room in (".", "models", "tui"))},
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "0 broken" in ended.stdout
