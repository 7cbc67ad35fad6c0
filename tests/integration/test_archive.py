"""The archive of a whole memory: messages move there and back, and every verb goes on as if they had not moved."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.requests import RunArchiveRequest
from appliance.settings import ArchiveSettings
from appliance.types import VerifyReport
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

TOPICS = ["harbour", "lighthouse", "ferry", "cello", "market", "invoice", "garden", "bridge", "kitchen", "museum"]
COUNT = 300


def lines(count: int = COUNT) -> list[dict[str, object]]:
    """Chats of ten turns about two topics each, from 2020 on."""
    picked, made = random.Random(3), []
    for n in range(count):
        first, second = picked.sample(TOPICS, 2)
        made.append(
            {
                "session_id": f"s{n // 10}", "message_id": f"m{n}", "role": "user" if n % 2 else "assistant",
                "timestamp": f"2020-{1 + n // 28 % 12:02}-{1 + n % 28:02}T10:00:00Z",
                "content": f"About number{n}: the {first} beside the {second} and what we said of the {first} then.",
            }
        )  # fmt: skip
    return made


@pytest.fixture
def memory(home: Path, tmp_path: Path) -> Iterator[Appliance]:
    export = tmp_path / "talk.jsonl"
    export.write_text("".join(json.dumps(line) + "\n" for line in lines()))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(export)
        yield memory


def archive_most(memory: Appliance) -> int:
    return memory.archive.run(importance=1.0).archived


def problems(memory: Appliance) -> list[tuple[str, str]]:
    found: VerifyReport = memory.verify()
    return [(problem.where, problem.message) for problem in found.problems]


def found_ids(memory: Appliance, query: str, **how: object) -> list[str]:
    return [hit.message_id for hit in memory.search(query, limit=10, **how)]  # type: ignore[arg-type]


def test_a_dry_run_says_what_and_why_and_changes_nothing(memory: Appliance) -> None:
    report = memory.archive.run(dry_run=True, importance=1.0)
    assert (report.considered, report.archived, report.kept) == (COUNT, COUNT, 0)
    assert len(report.messages) == COUNT and "never recalled" in report.messages[0].reason
    assert memory.archive.status().archived == 0 and memory.archive.run(dry_run=True, importance=0.0).archived == 0


def test_everything_reads_as_before_and_both_tiers_rank_as_one(memory: Appliance) -> None:
    exported = list(memory.export())
    queries = ["number17", "the harbour beside the cello", "what did we say of the museum", '"the ferry beside"']
    before = {query: found_ids(memory, query) for query in queries}
    for line in range(0, COUNT, 5):
        memory.pin(f"m{line}")
    assert archive_most(memory) == COUNT * 4 // 5
    for line in range(0, COUNT, 5):
        memory.unpin(f"m{line}")
    assert problems(memory) == []
    status = memory.status()
    assert status["counts"]["archived"] == COUNT * 4 // 5 and status["counts"]["messages"] == COUNT
    assert [line | {"metadata": {}} for line in memory.export()] == [line | {"metadata": {}} for line in exported]
    for query in queries:
        both = memory.search(query, limit=10, include_archived=True)
        assert len(set(before[query]) & {hit.message_id for hit in both}) >= 9, query
        assert {hit.tier for hit in both} <= {"hot", "archived"} and any(hit.tier == "archived" for hit in both)
    assert memory.archive.restore(everything=True) == COUNT * 4 // 5
    assert problems(memory) == []
    assert {query: found_ids(memory, query) for query in queries} == before


def test_a_search_that_finds_nothing_good_looks_in_the_archive_and_says_so(memory: Appliance) -> None:
    memory.pin("m1")
    archive_most(memory)
    hits = memory.search("number17")
    assert "number17:" in hits[0].text and hits[0].tier == "archived"
    assert hits.notes == ("The archive was searched too: 10 hits are from there.",)


def test_what_is_recalled_opened_or_pinned_comes_back(memory: Appliance) -> None:
    archive_most(memory)
    ids = [message.id for message in memory.archive.list(limit=3)]
    memory.pins.note_recalled([ids[0]])
    memory.pin(ids[1])
    memory.run_pending_jobs()
    assert memory.archive.status().archived == COUNT - 2
    assert ids[2] in {message.id for message in memory.archive.list(limit=COUNT)}
    assert not {ids[0], ids[1]} & {message.id for message in memory.archive.list(limit=COUNT)}
    assert memory.archive.run(importance=1.0).archived == 0  # and stays
    assert problems(memory) == []


def test_a_recall_during_the_move_brings_the_message_back(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    from appliance.store import archive

    real = archive.archive

    def recalled_meanwhile(*given: object) -> None:
        real(*given)  # type: ignore[arg-type]
        memory.pins.note_recalled(["m7"])

    monkeypatch.setattr("appliance.store.archive.archive", recalled_meanwhile)
    archive_most(memory)
    memory.run_pending_jobs()
    assert "m7" not in {message.id for message in memory.archive.list(limit=COUNT)}
    assert problems(memory) == []


def test_restored_by_hand_stays_and_unknown_ids_are_refused(memory: Appliance) -> None:
    archive_most(memory)
    session = memory.message("m5").session_id
    assert memory.archive.restore(["m200", session]) == 11
    assert memory.archive.restore(["m200"]) == 0
    assert archive_most(memory) == 0
    with pytest.raises(NotFound):
        memory.archive.restore(["m99999"])
    with pytest.raises(UsageError):
        memory.archive.restore()


def test_an_export_read_again_adds_nothing_and_a_changed_message_comes_back(memory: Appliance, tmp_path: Path) -> None:
    archive_most(memory)
    export = tmp_path / "again.jsonl"
    changed = lines()
    changed[17]["content"] = "Number seventeen is now about a zeppelin."
    export.write_text("".join(json.dumps(line) + "\n" for line in changed))
    report = memory.ingest(export)
    assert (report.total("new"), report.total("updated")) == (0, 1)
    assert memory.archive.status().archived == COUNT - 1
    assert memory.search("zeppelin")[0].tier == "hot"
    assert problems(memory) == []
    # The neighbours that stayed in the archive have its new words around them.
    memory.run_pending_jobs()
    assert problems(memory) == []


def test_nothing_of_a_forgotten_archived_message_is_left(memory: Appliance, home: Path, tmp_path: Path) -> None:
    secret = "The vault code is 4711-hazelnut, says Zorn. " * 30
    memory.sessions.create(title="vault").add("user", secret)
    memory.embed_pending()
    extra = tmp_path / "old.jsonl"
    old = {"session_id": "old", "message_id": "x", "role": "user", "timestamp": "2019-01-01T10:00:00Z"}
    extra.write_text(json.dumps({**old, "content": "Behind the hedgehog: " + secret}) + "\n")
    memory.ingest(extra)
    archive_most(memory)
    assert memory.search("hedgehog", include_archived=True)[0].tier == "archived"
    preview = memory.erasure.preview(query="4711-hazelnut")
    assert len(preview.messages) == 2
    receipt = memory.erasure.forget(preview)
    assert receipt.messages == 2 and not receipt.proof.traces
    assert problems(memory) == []
    assert memory.archive.status().archived == COUNT
    assert not any("hazelnut" in hit.text for hit in memory.search("hazelnut vault code", include_archived=True))
    memory.close()
    found = holding(home, b"4711-h", b"hazelnut", "hazelnut".encode("utf-16-le"))
    assert [path for path in found if path.suffix != ".jsonl"] == []
    frames_say_nothing_of(home, "hazelnut")


def frames_say_nothing_of(home: Path, word: str) -> None:
    from appliance.store.database import Database

    database = Database(home / "recall.db")
    texts = [text for (text,) in database.read().execute("SELECT text FROM message")]
    assert texts and not any(word in text for text in texts)
    database.close()


def test_a_forgotten_row_goes_also_where_others_are_missing(memory: Appliance) -> None:
    archive_most(memory)
    index_service = engine_of(memory)._index_service
    with index_service.serving.lease() as stores:
        assert stores is not None
        stores.archive.retain(lambda ids: ids > 20)
    memory.erasure.forget(memory.erasure.preview("m200"))
    with index_service.serving.lease() as stores:
        assert stores is not None
        assert sorted(stores.archive.ids().tolist()) == [chunk for chunk in range(21, COUNT + 1) if chunk != 200]


def test_superfluous_rows_are_counted_only_after_a_change(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    archive_most(memory)
    calls: list[object] = []
    monkeypatch.setattr("appliance.engine.archive.archiver.purge_index", calls.append)
    for _ in range(3):
        engine_of(memory).archive.maintain(lambda: True)
    assert len(calls) == 1
    memory.archive.restore(["m5"])
    engine_of(memory).archive.maintain(lambda: True)
    assert len(calls) == 2


def test_a_caller_that_reads_the_progress_slowly_holds_no_stores(memory: Appliance) -> None:
    index_service, leases = engine_of(memory)._index_service, []
    engine_of(memory).archive.run(
        RunArchiveRequest(importance=1.0), lambda progress: leases.append(index_service.serving._stores._leases)
    )
    assert leases == [0]


def test_what_a_killed_process_has_begun_to_write_goes(memory: Appliance, home: Path) -> None:
    archive_most(memory)
    memory.close()
    left = home / "index" / "g1.archive.new"
    left.write_bytes(b"half an index")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        again.search("number17")
        assert not left.exists()


def test_what_an_interrupted_archiving_left_behind_is_no_damage_and_goes_with_an_erasure(
    memory: Appliance, home: Path
) -> None:
    archive_most(memory)
    (path,) = (home / "index").glob("*.archive")
    memory.close()
    content = path.read_bytes()
    path.write_bytes(content + content[8 : len(content) // 2])
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        assert problems(again) == []
        again.erasure.forget(again.erasure.preview(again.sessions.create().add("user", "an aside").id))
        assert path.stat().st_size <= len(content) and problems(again) == []


def test_a_damaged_or_lost_archive_index_is_named_and_made_again(memory: Appliance, home: Path) -> None:
    archive_most(memory)
    (path,) = (home / "index").glob("*.archive")
    memory.close()
    content = path.read_bytes()
    for damaged in (b"", content[: len(content) // 2], bytes(len(content)), content[:-300] + b"\1" * 300):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged)
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
            assert any("archive" in where for where, _ in problems(again)), damaged
            again.reindex()
            assert problems(again) == []
            assert again.search("number17", include_archived=True)[0].tier == "archived"


def test_a_search_that_meets_damage_answers_and_the_index_is_made_again(memory: Appliance, home: Path) -> None:
    archive_most(memory)
    with engine_of(memory)._index_service.serving.lease() as stores:
        assert stores is not None
        stores.archive.retain(lambda ids: ids > 0)  # a whole file, of which no checksum is compared at each opening
    memory.close()
    (path,) = (home / "index").glob("*.archive")
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        again.search("number17")
        again.run_pending_jobs()
        assert again.search("number17", include_archived=True)[0].tier == "archived"
        assert problems(again) == []


def test_a_lost_archive_index_is_made_again_in_the_background(memory: Appliance, home: Path) -> None:
    archive_most(memory)
    memory.close()
    next((home / "index").glob("*.archive")).unlink()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as again:
        assert problems(again) == []
        hits = again.search("number17", include_archived=True)
        assert f"{COUNT} archived messages wait for the archive index" in hits.notes
        again.run_pending_jobs()
        hits = again.search("number17", include_archived=True)
        assert hits[0].tier == "archived" and not hits.notes
        assert problems(again) == []


def test_another_model_serves_the_archive_too(memory: Appliance) -> None:
    archive_most(memory)
    memory.reindex(vectors=True)
    assert problems(memory) == []
    assert memory.search("number17", include_archived=True)[0].tier == "archived"
    assert memory.archive.status().archived == COUNT


def test_the_background_archives_what_settled_and_respects_rules(
    memory: Appliance, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.engine.archive.LOOK_INTERVAL_SECONDS", -1.0)
    engine = engine_of(memory)
    assert engine.archive.archive_due(lambda: True) == 0  # imported today
    clock(8 * 86_400)
    engine.archive._settings = ArchiveSettings(importance=1.0)
    assert engine.archive.archive_due(lambda: True) == 0  # a small memory
    engine.archive._settings = ArchiveSettings(importance=1.0, smallest=COUNT)
    session = memory.message("m5").session_id
    memory.archive.set_retention(session_id=session, days=None)
    assert engine.archive.archive_due(lambda: True) == COUNT - 10
    assert memory.archive.status().rules[0].session_id == session
    assert engine.archive.archive_due(lambda: True) == 0
    memory.archive.set_retention(session_id=session, remove=True)
    memory.archive.set_retention(source="openai_jsonl", days=10_000)
    assert memory.archive.run(importance=1.0).archived in (0, 10)
    assert problems(memory) == []


def test_a_rule_for_a_format_that_does_not_exist_is_refused(memory: Appliance) -> None:
    with pytest.raises(UsageError, match="There is no format 'whatsap'"):
        memory.archive.set_retention(source="whatsap", days=30)
    assert memory.archive.set_retention(source="local", days=30) is not None
    assert memory.archive.set_retention(source="whatsap", remove=True) is None, "a rule of an earlier version"


@pytest.mark.slow
def test_searches_and_moves_go_on_beside_each_other(memory: Appliance) -> None:
    stop, errors = threading.Event(), []

    def search() -> None:
        while not stop.is_set():
            try:
                hits = memory.search("number17", include_archived=True)
                assert any("number17:" in hit.text for hit in hits)
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        archive_most(memory)
        memory.archive.restore(everything=True)
        with engine_of(memory)._database.write() as tx:
            tx.execute("DELETE FROM recalled")
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert problems(memory) == []


def test_what_was_just_recalled_is_not_archived(memory: Appliance) -> None:
    memory.pins.note_recalled(["m1"])
    archive_most(memory)
    assert memory.archive.status().archived == COUNT - 1
