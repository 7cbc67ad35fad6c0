"""A search says how likely its hits are what was asked for, and that there is nothing if there is nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance, UsageError
from appliance.retrieval.confidence import CALIBRATIONS, unrelated_cosine
from appliance_models import DEFAULT_MODEL, ModelCorrupt, load

SAID = [
    ("Ana", "The ferry to the island leaves at seven in the morning"),
    ("Ben", "I repaired the dishwasher, the pump was blocked by a cherry stone"),
    ("Ana", "My sister moved to Lisbon in spring"),
    ("Ben", "We decided to use PostgreSQL for the orders, set MAX_RETRIES to 5"),
    ("Ana", "Before anybody plans meals: I can't eat cashews or pistachios"),
    ("Ben", "The accountant wants the receipts of the second quarter by Friday"),
    ("Ana", "Der Mietvertrag läuft am 30. September aus"),
    ("Ben", "The otter at the zoo slept on its back all afternoon"),
    ("Ana", "The caterer sends the education material on DVD"),
    ("Ben", "Your cat has eaten the sandwich"),
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the shipped model: what a cosine means, a test's own model can't say."""
    folder = tmp_path_factory.mktemp("found")
    path = folder / "chat.jsonl"
    records = [
        {
            "session_id": f"s{n // 2}",
            "message_id": f"m{n}",
            "role": "user",
            "author": author,
            "content": text,
            "timestamp": f"2024-01-{n + 1:02}T10:00:00Z",
        }
        for n, (author, text) in enumerate(SAID)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as memory:
        memory.ingest(path)
    return folder / "home"


@pytest.fixture(scope="module")
def memory(chat: Path) -> Iterator[Appliance]:
    """Open for all tests: they only ask, or delete what they say."""
    with Appliance.open(chat, worker=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("when does the ferry leave?", "m0"),
        ("who fixed the dishwasher", "m1"),
        ("in which city does my sibling live?", "m2"),
        ("which food is dangerous for Ana", "m4"),
        ("wann endet der Mietvertrag", "m6"),
        ("otters", "m7"),
        ("MAX_RETRIES", "m3"),
        ('"cherry stone"', "m1"),
        ("what did I say about cashews", "m4"),
        ("Friday", "m5"),
        ("in spring", "m2"),
        ("30. September", "m6"),
        ("otter dishwasher", "m1"),
        ("dishwasher in January 2024", "m1"),
        ("what did Ana say on 3 January 2024", "m2"),
        ('"cat"', "m9"),
        ("what did Ana say about a DVD in January", "m8"),
    ],
)
def test_what_was_said_is_found(memory: Appliance, query: str, answer: str) -> None:
    hits = memory.search(query)
    assert hits.found and hits[0].external_id == answer
    assert 1 >= hits[0].score > 0.12 and all(0 <= hit.score <= hits[0].score for hit in hits)


@pytest.mark.parametrize(
    "query",
    [
        "zorblax quantum flux",
        "what is the capital of Mongolia",
        "how do I fix a segmentation fault in Rust",
        '"the green parrot sings"',
        "Wer hat die Weltmeisterschaft gewonnen",
        "asdf qwer yxcv",
        "MAX_REDIRECTS",
    ],
)
def test_what_was_not_said_is_not_found(memory: Appliance, query: str) -> None:
    hits = memory.search(query)
    assert (list(hits), hits.found, hits.more) == ([], False, False)
    nearest = memory.search(query, min_score=0)
    assert len(nearest) > 0 and not nearest.found, "the nearest are there for who wants them"
    assert all(0 <= hit.score < 0.12 for hit in nearest)
    assert memory.search(query, count=True).total == memory.search(query, min_score=0, count=True).total


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("what did we say on 3 May 2023", "3 May 2023"),
        ("what did Ben say on 6 May 2024", "6 May 2024"),
        ("what did Ben say on 3 January 2024", "3 January 2024"),
    ],
)
def test_of_a_day_without_messages_nothing_is_found(memory: Appliance, query: str, day: str) -> None:
    for least in (None, 0):
        hits = memory.search(query, min_score=least, count=True)
        assert (list(hits), hits.found, hits.more, hits.total) == ([], False, False, 0)
        assert f"No messages from {day}." in hits.notes, hits.notes


def test_a_name_of_code_that_no_message_has_is_named(memory: Appliance) -> None:
    assert memory.search("MAX_REDIRECTS").notes == ("No message has 'MAX_REDIRECTS' letter by letter.",)
    assert not memory.search("MAX_RETRIES").notes


def test_the_words_of_a_time_do_not_lower_the_score_of_the_rest(memory: Appliance) -> None:
    alone, dated = (memory.search(query)[0] for query in ("dishwasher", "dishwasher in January 2024"))
    assert alone.external_id == dated.external_id == "m1" and dated.score > 0.6


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("what did Ana say before 2023", "No messages before 2023."),
        ("what was said since 3 May 2024", "No messages since 3 May 2024."),
        ("what was said on 3 May 2024", "No messages from 3 May 2024."),
    ],
)
def test_a_time_without_messages_is_named(memory: Appliance, query: str, note: str) -> None:
    assert note in memory.search(query).notes


def test_a_title_is_enough(memory: Appliance) -> None:
    session = memory.sessions.create(title="Expedition Kilimanjaro")
    session.add("user", "I packed gloves, a lamp and two bottles")
    try:
        memory.embed_pending()
        assert memory.search("Kilimanjaro")[0].session_title == "Expedition Kilimanjaro"
    finally:
        session.delete()


def test_common_words_of_other_languages_are_no_slips(memory: Appliance) -> None:
    assert memory.search("nicht dónde quién", min_score=0).notes == ()


def test_a_minimum_score_keeps_what_reaches_it(memory: Appliance) -> None:
    everything = memory.search("the ferry to Lisbon", min_score=0)
    for least in (0.01, 0.3, 0.9, 1.0):
        kept = memory.search("the ferry to Lisbon", min_score=least)
        assert [hit.message_id for hit in kept] == [hit.message_id for hit in everything if hit.score >= least]
        assert kept.found == bool(kept)
    for wrong in (-0.1, 1.1):
        with pytest.raises(UsageError, match="0 to 1"):
            memory.search("ferry", min_score=wrong)


def test_all_with_a_word_are_listed_by_time_however_good_they_are(memory: Appliance) -> None:
    hits = memory.search("the otter of Mongolia and its spaceships", sort="time")
    assert [hit.external_id for hit in hits] == ["m7"]


@pytest.mark.parametrize("query", ["the otter", "otter and nothing else of that kind", "of the"])
def test_words_alone_are_enough(memory: Appliance, query: str) -> None:
    assert memory.search(query, mode="lexical").found


def test_why_a_message_is_not_a_hit_of_nothing(memory: Appliance) -> None:
    answer = memory.search("what is the capital of Mongolia", why_not="m2").why_not
    assert answer is not None and answer.stage == "below minimum" and "No message is a good match" in answer.words
    answer = memory.search("the ferry to Lisbon", why_not="m7", min_score=0.9).why_not
    assert answer is not None and answer.stage == "below minimum" and "below the minimum of 0.90" in answer.words


def test_a_question_that_is_only_repeated_is_no_answer(memory: Appliance) -> None:
    session = memory.sessions.create(title="now")
    session.add("user", "what is the capital of Mongolia?")
    memory.embed_pending()
    assert not memory.search("what is the capital of Mongolia?", asked_in=session.id).found
    assert memory.search("what is the capital of Mongolia?").found, "somebody else looks for the question"
    session.clear()


@pytest.mark.parametrize("model", CALIBRATIONS)
def test_more_chunks_have_a_better_unrelated_cosine(model: str) -> None:
    cosines = [unrelated_cosine(CALIBRATIONS[model], count) for count in (0, 2, 32, 1_000, 1_000_000)]
    assert cosines == sorted(cosines) and cosines[0] > 0 and cosines[-1] < 0.6


def test_a_home_of_the_model_before_keeps_it_and_is_well(home: Path) -> None:
    old = load("all-minilm-l6-v2-int8")
    with Appliance.open(home, worker=False, embedder=old) as memory:
        memory.sessions.create().add("user", "The otter at the zoo slept on its back all afternoon")
        memory.embed_pending()
    with Appliance.open(home, worker=False) as memory:
        assert memory.settings.model.name == DEFAULT_MODEL != old.name
        assert memory.status()["health"] == "ok" and memory.status()["model"]["name"] == old.name
        memory.sessions.create().add("user", "The ferry to the island leaves at seven in the morning")
        memory.embed_pending()
        assert memory.search("otters")[0].score > 0.12 and memory.search("when does the ferry leave?").found
        assert not memory.search("zorblax quantum flux").found


def test_a_damaged_lexicon_ends_no_search_by_words(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> object:
        raise ModelCorrupt("its tokenizer can't be read")

    monkeypatch.setattr("appliance_models.load_lexicon", damaged)
    with Appliance.open(home, worker=False) as memory:
        said = memory.sessions.create().add("user", SAID[7][1])
        assert memory.search("the otter", mode="lexical")[0].message_id == said.id
