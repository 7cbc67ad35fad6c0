"""``reindex`` of a large memory: the index is built by processes of its own, while everything else goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.ingest import index_build
from appliance_models import HashEmbedder
from tests import forked_programs

pytestmark = pytest.mark.usefixtures("every_field_index")

QUERIES = ("the harbour at noon", "what did we eat", "number 17", "tea")


WORDS = ("the harbour at noon", "we ate fish and rice", "a cup of tea", "nobody came to see us")


def line(number: int) -> dict[str, Any]:
    return {
        "session_id": f"s{number % 5}",
        "message_id": f"m{number}",
        "role": "user",
        "content": f"{WORDS[number % 4]} on day number {number // 2}",
        "timestamp": f"2024-05-01T10:{number // 60:02}:{number % 60:02}+00:00",
    }


def write(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def large(memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A memory that counts as large: 240 messages of two users."""
    monkeypatch.setattr(index_build, "MIN_CHUNKS", 1)
    write(tmp_path / "lines.jsonl", [line(number) for number in range(120)])
    memory.ingest(tmp_path / "lines.jsonl", user_id="ana")
    memory.ingest(tmp_path / "lines.jsonl", user_id="ben")
    return memory


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each build returned."""
    returned: list[Any] = []
    build = index_build.build

    def noted(*arguments: Any) -> Any:
        returned.append(build(*arguments))
        return returned[-1]

    monkeypatch.setattr(index_build, "build", noted)
    return returned


def answers(memory: Appliance) -> list[list[tuple[str, float]]]:
    """The best hits of some searches: each message with its score, as far as half floats tell."""
    return [
        [(hit.external_id, round(hit.score, 2)) for hit in memory.search(query, user_id=user)]
        for query in QUERIES
        for user in ("ana", "ben")
    ]


@pytest.mark.slow
def test_the_memory_answers_as_before(home: Path, large: Appliance, builds: list[Any]) -> None:
    before = answers(large)
    variants = large.status()["counts"]["variants"]
    done: list[tuple[int, int]] = []
    assert large.reindex(progress=lambda *step: done.append(step)) == 240
    assert len(builds[0].keys) == 240 and done
    assert answers(large) == before
    assert large.status()["counts"]["variants"] == variants
    assert not large.verify().problems
    assert not list((home / "index").glob("*.built"))


@pytest.mark.slow
def test_changes_meanwhile_are_kept(
    large: Appliance, builds: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = index_build._run
    gone = large.sessions.get(large.search("tea", user_id="ben")[0].session_id)

    def run_and_change(*arguments: Any) -> bool:
        ran = run(*arguments)
        write(tmp_path / "edited.jsonl", [line(3) | {"content": "a lighthouse in the fog"}])
        large.ingest(tmp_path / "edited.jsonl", user_id="ana", wait=False)
        gone.delete()
        large.sessions.create(title="new", user_id="ana").add("user", "an entirely new zebra")
        assert large.search("harbour", user_id="ana"), "a search during the build"
        return ran

    monkeypatch.setattr(index_build, "_run", run_and_change)
    large.reindex()
    assert builds[0] is not None
    assert large.search("lighthouse fog", user_id="ana", mode="dense")[0].external_id == "m3"
    assert large.search("tea", user_id="ben")[0].session_id != gone.id
    assert "zebra" in large.search("zebra", user_id="ana", mode="dense")[0].text
    assert not large.verify().problems


def test_a_process_that_fails_costs_only_time(
    large: Appliance, builds: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    assert large.reindex() == 240
    assert builds == [None]
    assert not large.verify().problems


@pytest.mark.slow
def test_a_build_that_was_killed_leaves_nothing(home: Path, large: Appliance) -> None:
    large.close()
    left = home / "index" / "g1.built" / "segment-0"
    left.mkdir(parents=True)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        assert not left.parent.exists()
        assert again.reindex() == 240
        assert not again.verify().problems


REINDEX = """
import sys
from appliance import Appliance
from appliance.ingest import index_build
from appliance_models import HashEmbedder
index_build.MIN_CHUNKS = 1
with Appliance.open(sys.argv[1], worker=False, embedder=HashEmbedder()) as memory:
    print("open", flush=True)
    memory.reindex()
    print("done", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("moments", [(0.0, 0.4), pytest.param((0.0, 0.4, 1.0, 2.0), marks=pytest.mark.campaign)])
def test_killed_at_any_moment_it_repairs_itself(home: Path, large: Appliance, moments: tuple[float, ...]) -> None:
    before = answers(large)
    large.close()
    for moment in moments:
        process = forked_programs.Popen([sys.executable, "-c", REINDEX, str(home)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        process.kill()
        process.communicate()
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
            again.embed_pending()
            assert answers(again) == before
            assert not again.verify().problems
