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

import ahocorasick_rs
import numpy as np
import pytest

from appliance import Appliance
from appliance.errors import StoreError
from appliance.ingest import index_build, index_vacuum
from appliance.paths import Home
from appliance.store import generations
from appliance.store.chunks import SUMMARY_POINTS
from appliance_models import HashEmbedder
from tests import forked_programs
from tests.engines import engine_of
from tests.homes import file_data

pytestmark = pytest.mark.usefixtures("every_field_index")

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


def holding_vector(home: Path, text: str = SECRET) -> list[Path]:
    """The files of a home that hold the vector of a text."""
    finder = ahocorasick_rs.BytesAhoCorasick(vector_forms(text))
    return [path for path in home.rglob("*") if path.is_file() and finder.find_matches_as_indexes(file_data(path))]


class InThisProcess:
    """Stands for the process that rewrites segments, which takes a second to start."""

    def __init__(self, module: str, plan: index_vacuum.VacuumPlan) -> None:
        self._plan = plan

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def wait(self) -> int:
        try:
            index_vacuum.carry_out(self._plan)
        except StoreError:
            return 1
        return 0


@pytest.fixture
def vacuums(large: Appliance, monkeypatch: pytest.MonkeyPatch) -> list[list[int] | None]:
    """What each rewriting of segments returned; points in memory become a segment from 10 on. What would be built anew
    is filled batch after batch."""
    returned: list[list[int] | None] = []
    run = index_vacuum.run

    def noted(*arguments: Any) -> list[int] | None:
        returned.append(run(*arguments))
        return returned[-1]

    monkeypatch.setattr(index_vacuum, "MIN_POINTS", 10)
    monkeypatch.setattr(index_vacuum, "run", noted)
    monkeypatch.setattr(index_build, "started", InThisProcess)
    monkeypatch.setattr(index_build, "build", lambda *arguments: None)
    large.search("tea")  # opens the index
    return returned


def meanwhile(monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Call ``look`` when a new index is made, before it takes the place of the old one."""
    run = index_vacuum.run

    def run_and_look(*arguments: Any) -> list[int] | None:
        ran = run(*arguments)
        look()
        return ran

    monkeypatch.setattr(index_vacuum, "run", run_and_look)


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


def written(home: Path) -> set[str]:
    """The segments of the index that are not in memory."""
    segments = home / "index" / "g1" / "shard" / "segments"
    return {path.name for path in segments.iterdir() if (path / "id_tracker.deleted").exists()}


def forget_text(memory: Appliance, text: str) -> None:
    assert holding_vector(memory.home.root, text), "the test would prove nothing"
    receipt = memory.erasure.forget(memory.erasure.preview(query=text))
    assert (receipt.state, receipt.messages, receipt.proof.traces) == ("done", 1, ())
    assert not holding_vector(memory.home.root, text)


@pytest.mark.slow
def test_only_the_segments_with_what_goes_are_rewritten(
    large: Appliance, vacuums: list[list[int] | None], tmp_path: Path
) -> None:
    forget_text(large, f"{WORDS[0]} on day number 100")
    (first,) = written(large.home.root)
    later = tmp_path / "later.jsonl"
    lines = [{"session_id": "z", "role": "user", "content": f"later message {n} of these"} for n in range(40)]
    later.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    large.ingest(later)
    forget_text(large, "later message 17 of these")
    (second,) = written(large.home.root) - {first}
    forget_text(large, "later message 31 of these")
    assert first in written(large.home.root) and second not in written(large.home.root)
    large.sessions.create(title="one in memory").add("user", "an entirely new giraffe")
    large.embed_pending()
    forget_text(large, "an entirely new giraffe")
    assert first in written(large.home.root)
    assert None not in vacuums and len(vacuums) == 4
    assert len(indexed(large)) == large.status()["counts"]["chunks"] == MESSAGES + 38
    assert large.search("harbour at noon", mode="dense")[0].text.startswith(WORDS[0])
    assert not large.verify().problems


@pytest.mark.slow
def test_earlier_forms_of_what_goes_are_erased_too(
    large: Appliance, vacuums: list[list[int] | None], tmp_path: Path
) -> None:
    """A message that was edited has its earlier vector in a segment that needs no rewriting for the later one."""
    earlier = f"{WORDS[0]} on day number 40"
    forget_text(large, f"{WORDS[1]} on day number 101")
    lines = (tmp_path / "lines.jsonl").read_text(encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text(lines.replace(earlier, "nothing but a quiet giraffe"), encoding="utf-8")
    assert large.ingest(tmp_path / "lines.jsonl").files[0].updated == 1
    large.embed_pending()
    assert holding_vector(large.home.root, earlier), "the test would prove nothing"
    forget_text(large, "nothing but a quiet giraffe")
    assert not holding_vector(large.home.root, earlier)
    assert None not in vacuums


@pytest.mark.slow
def test_an_index_that_cannot_be_vacuumed_is_built_anew(
    large: Appliance, vacuums: list[list[int] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_text(large, f"{WORDS[1]} on day number 101")
    copy = index_vacuum.copy_index

    def spoilt(home: Home, *arguments: Any) -> bool:
        assert copy(home, *arguments)
        (home.index / "g1.built" / "copy" / "engine.json").write_text("another program", encoding="utf-8")
        return True

    monkeypatch.setattr(index_vacuum, "copy_index", spoilt)
    forget(large)
    assert vacuums[-1] is None
    assert not holding_vector(large.home.root, SECRET)
    assert len(indexed(large)) == MESSAGES - 1
    assert not large.verify().problems


@pytest.mark.slow
def test_where_most_goes_the_index_is_built_anew(large: Appliance, vacuums: list[list[int] | None]) -> None:
    large.erasure.forget(large.erasure.preview(query="day number"))
    assert not vacuums
    large.embed_pending()
    assert len(indexed(large)) == 1
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
@pytest.mark.parametrize("moment", [0.3, pytest.param(1.2, marks=pytest.mark.campaign)])
def test_killed_at_any_moment_it_is_finished_later(home: Path, large: Appliance, moment: float) -> None:
    large.close()
    process = forked_programs.Popen([sys.executable, "-c", FORGET, str(home)], stdout=subprocess.PIPE, text=True)
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
