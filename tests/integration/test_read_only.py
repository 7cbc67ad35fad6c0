"""A memory where nothing can be written is searched, shown, exported and verified, and left as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance_models import HashEmbedder
from tests.stored_sessions import ingest, line

USE = """
import json, sys
from appliance import Appliance
from appliance.errors import HomeReadOnly, StoreError
from appliance_models import HashEmbedder

said = {}
try:
    with Appliance.open(sys.argv[1], worker=sys.argv[2] == "worker", embedder=HashEmbedder()) as memory:
        for mode in ("hybrid", "lexical", "dense"):
            hits = memory.search("violin", mode=mode)
            said[mode] = [[hit.external_id for hit in hits], hits.notes]
        said["context"] = memory.context("violin").text
        said["shown"] = [message.text for message in memory.sessions.messages("a")]
        memory.pins.note_recalled(["m1"])
        said["exported"] = len(list(memory.export()))
        said["problems"] = [[problem.where, problem.message] for problem in memory.verify(deep=True).problems]
        said["health"] = memory.status()["health"]
        said["facts"] = [fact.text for fact in memory.facts.list()]
        for change in (
            lambda: memory.sessions.create().add("user", "hello"),
            lambda: memory.reindex(),
            lambda: memory.erasure.forget(memory.erasure.preview("a-1")),
        ):
            try:
                change()
            except HomeReadOnly as error:
                said.setdefault("refused", []).append(str(error))
except StoreError as error:
    said["error"] = [str(error), error.hint]
print(json.dumps(said))
"""


def can_mount() -> bool:
    """Whether this process may have mounts of its own."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="no mount can be made read-only")


def mounted(home: Path, *command: str) -> str:
    """Run a command while the home is mounted read-only, for it alone; returns what it printed."""
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    ended = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(home), *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        timeout=120,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.stdout


def use(home: Path, worker: str = "") -> dict[str, Any]:
    said: dict[str, Any] = json.loads(mounted(home, sys.executable, "-c", USE, str(home), worker))
    return said


@pytest.fixture
def closed(home: Path, tmp_path: Path) -> Path:
    """A closed home with a conversation."""
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        ingest(memory, tmp_path, [line("a", number, f"I live in Naples, violin {number}") for number in range(9)])
    return home


@pytest.mark.parametrize("worker", ["", pytest.param("worker", marks=pytest.mark.slow)])
def test_a_read_only_memory_is_read_and_left_as_it_is(
    closed: Path, worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in closed.rglob("*") if path.is_file()}
    monkeypatch.setenv("TMPDIR", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    said = use(closed, worker)
    assert not list((tmp_path / "copies").iterdir())
    for mode in ("hybrid", "lexical", "dense"):
        assert len(said[mode][0]) == 9, said[mode]
    assert "violin" in said["context"] and len(said["shown"]) == 9 and said["exported"] == 9
    assert said["problems"] == [] and said["health"] == "ok"
    assert len(said["refused"]) == 3 and all("read-only" in error for error in said["refused"])
    assert {path: path.read_bytes() for path in closed.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_what_waits_for_the_index_is_found_by_its_words(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        ingest(memory, tmp_path, [line("a", number, f"The violin {number}") for number in range(9)], wait=False)
    said = use(home)
    assert len(said["lexical"][0]) == 9 and said["exported"] == 9


@pytest.mark.slow
def test_a_memory_that_was_not_closed_says_what_to_do(closed: Path) -> None:
    (closed / "recall.db-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(100))
    said = use(closed)
    assert "recall.db-wal" in said["error"][0] and "copy" in said["error"][1]


@pytest.mark.slow
def test_the_command_line_reads_a_read_only_memory(closed: Path) -> None:
    def run(*arguments: str) -> str:
        return mounted(closed, sys.executable, "-m", "appliance", *arguments, "--home", str(closed))

    assert "violin" in run("search", "violin", "--mode", "lexical")
    assert "Naples" in run("show", "s1") and "Naples" in run("show", "m1") and "Naples" in run("export", "-")
    assert re.search(r"^messages +9$", run("status"), re.M)
    refused = json.loads(run("add", "hello", "--json"))["error"]
    assert refused["type"] == "HomeReadOnly" and "copy it" in refused["hint"]
