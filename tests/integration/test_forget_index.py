"""What an erasure does to the index: it is made anew without the erased points, and searches go on meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance import Appliance
from appliance.ingest import index_build
from appliance.store import generations
from appliance.store.chunks import SUMMARY_POINTS
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.homes import file_data

SECRET = "zebra envelope under the lighthouse stair"
WORDS = ("the harbour at noon", "we ate fish and rice", "a cup of tea", "they came to see us")
MESSAGES = 120


def write(path: Path) -> Path:
    lines = [{"message_id": f"m{n}", "content": f"{WORDS[n % 4]} on day number {n}"} for n in range(MESSAGES)]
    lines.append({"message_id": "secret", "content": SECRET})
    path.write_text(
        "".join(json.dumps({"session_id": f"s{n % 5}", "role": "user", **line}) + "\n" for n, line in enumerate(lines)),
        encoding="utf-8",
    )
    return path


@pytest.fixture
def large(memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Appliance:
    """A memory that counts as large."""
    monkeypatch.setattr(index_build, "MIN_CHUNKS_TO_GO_ON_SERVING", 1)
    memory.ingest(write(tmp_path / "lines.jsonl"))
    return memory


def forget(memory: Appliance) -> None:
    receipt = memory.erasure.forget(memory.erasure.preview(query=SECRET))
    assert (receipt.state, receipt.messages, receipt.vectors, receipt.proof.traces) == ("done", 1, 1, ())


def indexed(memory: Appliance) -> set[int]:
    """The points of messages in the index."""
    with engine_of(memory)._index_service.serving.lease() as stores:
        assert stores is not None
        return {id for id in stores.index.ids() if id < SUMMARY_POINTS}


def vector_forms(text: str) -> list[bytes]:
    """Parts of a text's vector as the files of ledger, index and log may have it."""
    vector = HashEmbedder().embed_passages([text])[0]
    return [np.asarray(vector, kind).tobytes()[: 40 * np.dtype(kind).itemsize] for kind in ("<f2", "<f4", ">f4")]


def holding_vector(home: Path) -> list[Path]:
    """The files of a home that hold the vector of the secret."""
    forms = vector_forms(SECRET)
    return [path for path in home.rglob("*") if path.is_file() and any(form in file_data(path) for form in forms)]


def meanwhile(monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Call ``look`` at the end of each build, before the new index takes the place of the old one."""
    run = index_build._run

    def run_and_look(*arguments: Any) -> bool:
        ran = run(*arguments)
        look()
        return ran

    monkeypatch.setattr(index_build, "_run", run_and_look)


@pytest.mark.slow
def test_searches_go_on_by_meaning_while_the_index_is_made_anew(
    home: Path, large: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = indexed(large)
    found: list[Any] = []

    def look() -> None:
        assert large.status()["counts"]["pending"] < MESSAGES / 2
        found.append(large.search("harbour at noon", mode="dense"))
        large.sessions.create(title="new").add("user", "an entirely new giraffe")
        assert not large.search(SECRET, mode="lexical")

    meanwhile(monkeypatch, look)
    assert holding_vector(home), "the test would prove nothing"
    forget(large)
    assert [hits[0].text.startswith(WORDS[0]) for hits in found] == [True], "one build, and a search during it"
    large.embed_pending()
    assert len(indexed(large)) == len(before), "one has gone and one has come"
    assert large.search("entirely new giraffe", mode="dense")[0].text == "an entirely new giraffe"
    assert not large.verify().problems
    assert not list((home / "index").glob("*.built"))
    assert not holding_vector(home)


@pytest.mark.slow
def test_a_backlog_is_not_embedded_for_it(large: Appliance, tmp_path: Path) -> None:
    later = tmp_path / "later.jsonl"
    lines = [{"session_id": "z", "role": "user", "content": f"later message number {n}"} for n in range(100)]
    later.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    large.ingest(later, wait=False)
    before = indexed(large)
    forget(large)
    assert large.status()["counts"]["pending"] == 100
    assert len(indexed(large)) == len(before) - 1
    large.embed_pending()
    assert len(indexed(large)) == len(before) + 99
    assert not large.verify().problems


@pytest.mark.slow
def test_a_chunk_whose_vector_is_damaged_gets_its_point_again(home: Path, large: Appliance) -> None:
    before = indexed(large)
    ledger = generations.ledger_path(large.home, 1)
    with ledger.open("r+b") as file:
        file.seek(-20, os.SEEK_END)
        file.write(b"\xff" * 8)
    forget(large)
    assert len(indexed(large)) == len(before) - 1
    assert not large.verify().problems


FORGET = """
import sys
from appliance import Appliance
from appliance.ingest import index_build
from appliance_models import HashEmbedder
index_build.MIN_CHUNKS_TO_GO_ON_SERVING = 1
with Appliance.open(sys.argv[1], worker=False, embedder=HashEmbedder()) as memory:
    preview = memory.erasure.preview(query="zebra envelope")
    print("open", flush=True)
    if preview.messages:
        memory.erasure.forget(preview)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("moment", [0.3, 1.2])
def test_killed_at_any_moment_it_is_finished_later(home: Path, large: Appliance, moment: float) -> None:
    large.close()
    process = subprocess.Popen([sys.executable, "-c", FORGET, str(home)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "open\n"
    with suppress(subprocess.TimeoutExpired):
        process.wait(moment)
    process.kill()
    process.communicate()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        again.run_pending_jobs()
        if doomed := again.erasure.preview(query=SECRET).messages:
            assert len(doomed) == 1
            forget(again)
        again.embed_pending()
        assert [receipt.state for receipt in again.erasure.receipts()] == ["done"]
        assert len(indexed(again)) == MESSAGES
        assert not again.verify().problems
    assert not holding_vector(home)
