"""The hits of a search page by page, to the last one: the ranked candidates, then all others with its words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance, Hits
from appliance.errors import UsageError
from appliance.retrieval import listing
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.homes import copied

COUNT = 400
"""More messages than the legs propose candidates."""


def record(n: int, text: str, session: str = "", **more: object) -> dict[str, object]:
    return {
        "session_id": session or f"s{n // 40}", "message_id": f"t{n}", "role": "user", "content": text,
        "timestamp": f"2020-{1 + n // 28 % 12:02}-{1 + n % 28:02}T10:00:00Z", **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four hundred messages that have the word heron, and as many without."""
    folder = tmp_path_factory.mktemp("pages")
    records = [
        record(n, f"The heron of day {n} {'stood ' * (n % 9)}and left." if n % 2 else f"Nothing on day {n}, at all.")
        for n in range(2 * COUNT)
    ]
    with Appliance.open(folder / "home", worker=False, embedder=HashEmbedder()) as memory:
        ingest(memory, folder, records)
    return folder / "home"


@pytest.fixture(scope="module")
def chats(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A copy of the home for tests that change nothing; one that is open can't be copied."""
    home = copied(built, tmp_path_factory.mktemp("read") / "home")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Iterator[Appliance]:
    """A copy of the home."""
    with Appliance.open(copied(built, tmp_path / "home"), worker=False, embedder=HashEmbedder()) as memory:
        yield memory


def ingest(memory: Appliance, folder: Path, records: list[dict[str, object]], *, wait: bool = True) -> None:
    export = folder / "export.jsonl"
    export.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    memory.ingest(export, wait=wait)


def ids(hits: Hits) -> list[str]:
    return [hit.message_id for hit in hits]


def with_word(hits: Hits) -> set[str]:
    return {hit.message_id for hit in hits if "heron" in hit.text}


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_all_messages_with_the_words_are_listed_once(chats: Appliance, mode: str) -> None:
    found = chats.search("heron", limit=100_000, mode=mode)  # type: ignore[arg-type]
    assert len(with_word(found)) == COUNT and len(set(ids(found))) == len(found)
    assert (found.total, found.total_is_exact, found.more) == (len(found), True, False)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= hit.score <= 1 for hit in found)


def test_pages_are_parts_of_one_listing(chats: Appliance) -> None:
    whole = ids(chats.search("the heron stood", limit=100_000))
    assert ids(chats.search("the heron stood")) == whole[:10]
    for offset in (0, 10, 95, len(whole) - 60, len(whole) - 5, len(whole) + 5):
        page = chats.search("the heron stood", limit=50, offset=offset)
        assert ids(page) == whole[offset : offset + 50]
        assert page.more == (offset + 50 < len(whole))
        assert page.total == len(whole) if page.total_is_exact and page else page.total <= len(whole)


def test_hits_are_counted_when_that_is_asked_for(chats: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    total = len(chats.search("heron", limit=100_000))
    first = chats.search("heron", limit=5)
    assert first.more and not first.total_is_exact and 5 < first.total < total
    counted = chats.search("heron", limit=5, count=True)
    assert (counted.total, counted.total_is_exact, ids(counted)) == (total, True, ids(first))
    monkeypatch.setattr(listing, "MAX_COUNTED", 300)
    bounded = chats.search("heron", limit=5, count=True)
    assert (bounded.total, bounded.total_is_exact) == (300, False)


def test_newest_first_lists_what_has_the_words(chats: Appliance) -> None:
    found = chats.search("heron", limit=100_000, sort="time")
    assert {hit.message_id for hit in found} == with_word(found) and len(found) == COUNT == found.total
    times = [hit.timestamp or "" for hit in found]
    assert times == sorted(times, reverse=True)
    assert ids(chats.search("heron", limit=7, sort="time", offset=200)) == ids(found)[200:207]
    assert ids(chats.search("heron", limit=10**30, sort="time", offset=10**30)) == []
    by_meaning = chats.search("heron", limit=20, sort="time", mode="dense")
    times = [hit.timestamp or "" for hit in by_meaning]
    assert len(by_meaning) == 20 and times == sorted(times, reverse=True)


def test_what_no_word_leads_to_is_listed_in_time_too(own: Appliance, tmp_path: Path) -> None:
    ingest(own, tmp_path, [record(7_000, "Built 9f3acd07 🎉"), record(7_001, "Broke 9f3ac1234 again 🎉")])
    for query in ("9f3ac", "🎉"):
        assert [hit.external_id for hit in own.search(query, sort="time")] == ["t7001", "t7000"]


def test_filters_phrases_and_the_bound_of_a_session_hold_to_the_last_page(chats: Appliance) -> None:
    since = chats.search("heron", limit=100_000, since="2020-06-01", until="2020-06-20")
    assert with_word(since) and all("2020-06-01" <= (hit.timestamp or "") < "2020-06-21" for hit in since)
    quoted = chats.search('"heron of day 41"', limit=100_000, sort="time")
    assert [hit.external_id for hit in quoted] == ["t41"]
    bounded = chats.search("heron", limit=100_000, per_session=3)
    sessions = [hit.session_id for hit in bounded]
    assert {sessions.count(session) for session in sessions} == {3} and len(set(sessions)) == 2 * COUNT // 40
    assert chats.search("heron", limit=1, per_session=3, count=True).total == len(bounded)


def test_a_ranking_folds_copies_and_a_list_does_not(own: Appliance, tmp_path: Path) -> None:
    copies = [record(5_000 + n, "The heron eats the same fish as ever.", "copies") for n in range(150)]
    ingest(own, tmp_path, copies)
    for arguments in ({}, {"sort": "time", "variants": False}):
        found = own.search("heron", limit=100_000, **arguments)
        (shown,) = [hit for hit in found if "same fish" in hit.text]
        assert shown.folded == len(shown.why["variants"]) == 149 and len(with_word(found)) == COUNT + 1
    for query, arguments in (
        ("heron", {"variants": True}),
        ("heron", {"sort": "time"}),
        ("", {"session_id": "copies"}),
    ):
        listed = own.search(query, limit=100_000, **arguments)
        shown_ones = [hit for hit in listed if "same fish" in hit.text]
        assert len(shown_ones) == len({hit.message_id for hit in shown_ones}) == 150
        assert {hit.folded for hit in shown_ones} == {0}
        assert listed.total == len(listed) == own.search(query, limit=1, count=True, **arguments).total
    best = own.search("heron eats fish").hits[0]
    assert own.search("heron eats fish", variants=True).hits[0].score == best.score


def test_what_is_archived_or_waits_is_listed_too(own: Appliance, tmp_path: Path) -> None:
    own.archive.run(importance=1.0)
    assert own.archive.status().archived == 2 * COUNT
    late = [record(9_000 + n, f"A late heron, number {n}.", "late") for n in range(50)]
    ingest(own, tmp_path, late, wait=False)
    for sort in ("score", "time"):
        found = own.search("heron", limit=100_000, include_archived=True, mode="lexical", sort=sort)  # type: ignore[arg-type]
        assert len(with_word(found)) == COUNT + 50 and len(set(ids(found))) == len(found)
        assert {hit.tier for hit in found if "late" in hit.text} == {"hot"}


def test_the_turns_around_a_hit_come_with_it(chats: Appliance) -> None:
    (hit,) = chats.search('"heron of day 51"', limit=1, neighbours=2, until="2020-02-24")
    assert [turn.external_id for turn in hit.before] == ["t49", "t50"]
    assert [turn.external_id for turn in hit.after] == ["t52", "t53"]
    (first,) = chats.search('"heron of day 1"', limit=1, neighbours=2)
    assert [turn.external_id for turn in first.before] == ["t0"] and len(first.after) == 2
    assert chats.search("heron", limit=1)[0].before == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"offset": -1}, "offset"), ({"sort": "size"}, "sorted by 'size'"), ({"neighbours": 26}, "0 to 25")],
)
def test_an_invalid_page_is_refused(chats: Appliance, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        chats.search("heron", **arguments)  # type: ignore[arg-type]


def test_damaged_full_text_ends_the_listing_and_is_said(own: Appliance) -> None:
    database = engine_of(own)._database
    with database.write() as tx:
        tx.execute("UPDATE message_fts_data SET block = x'00ff00ff' WHERE id > 10")
    found = own.search("heron", limit=100_000)
    assert found and found.hits[0].text and any("damaged" in note for note in found.notes)
