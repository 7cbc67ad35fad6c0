"""What a search is told besides the question: times, titles, legs, profiles, how many of a session."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Hit, timestamps
from appliance.errors import ConfigError, NotFound, UsageError
from appliance.retrieval import search_query
from appliance.retrieval.time_ranges import find_time_ranges
from appliance.retrieval.weights import LEGS
from appliance_models import HashEmbedder


def store(memory: Appliance, folder: Path, records: Iterable[dict[str, Any]]) -> None:
    path = folder / "chats.jsonl"
    lines = ({"role": "user", **record} for record in records)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert memory.ingest(path).complete


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.external_id for hit in hits]


def monthly(text: str = "we met about the harbour project") -> list[dict[str, Any]]:
    return [
        {"session_id": f"s{month}", "message_id": f"m{month}", "content": f"{text}, no {month}"}
        | {"timestamp": f"2024-{month:02}-15T10:00:00Z"}
        for month in range(1, 13)
    ]


# --- times ------------------------------------------------------------------------------------------------


def test_what_was_said_at_the_time_that_is_named_comes_first(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    for month, name in ((3, "March"), (7, "July"), (11, "November")):
        hits = memory.search(f"what did we say about the harbour in {name} 2024")
        assert hits[0].external_id == f"m{month}"
        assert hits[0].why["score"]["time"] > hits[1].why["score"]["time"] > 0
        assert hits.times == (f"{name} 2024",), "the answer says how it was understood"


def test_a_time_is_a_preference_and_leaves_nothing_out(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    assert set(ids(memory.search("the harbour in March 2024", limit=20))) == {f"m{n}" for n in range(1, 13)}


def test_a_time_proposes_what_no_other_leg_would(memory: Appliance, tmp_path: Path) -> None:
    crowd = [
        {"session_id": "crowd", "message_id": f"c{n}", "content": f"harbour project, harbour plan {n}"}
        | {"timestamp": f"2025-06-01T10:{n // 60:02}:{n % 60:02}Z"}
        for n in range(400)
    ]
    then = {"session_id": "then", "message_id": "then", "content": "a long talk by the sea"}
    store(memory, tmp_path, [*crowd, then | {"timestamp": "2023-02-03T10:00:00Z"}])
    hits = memory.search("harbour project in February 2023", limit=500)
    (then,) = [hit for hit in hits if hit.external_id == "then"]
    assert then.why["legs"]["time"]["rank"] == 1 and then.why["score"]["time"] > 0
    assert "then" not in ids(memory.search("harbour project in February 2023", limit=500, without=["time"]))


def test_messages_without_a_time_are_found_as_ever(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, [{"session_id": "s", "message_id": "m", "content": "the harbour"}])
    (hit,) = memory.search("the harbour last week")
    assert hit.why["score"]["time"] == 0


def test_as_of_asks_as_if_it_were_then(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    hits = memory.search("the harbour last month", as_of="2024-06-30", limit=20)
    assert hits[0].external_id == "m5"
    assert set(ids(hits)) == {f"m{n}" for n in range(1, 7)}, "what was said later was not known then"
    assert ids(memory.search("harbour", as_of="2024-06-30", until="2024-02-28", limit=20)) in (
        ["m1", "m2"],
        ["m2", "m1"],
    )


@pytest.mark.parametrize("last", ["9999-12-31", "9999-12-31T23:59:59-14:00"])
def test_the_last_day_of_the_calendar_is_a_bound_as_any(memory: Appliance, tmp_path: Path, last: str) -> None:
    store(memory, tmp_path, monthly())
    assert len(memory.search("the harbour today", until=last, limit=20)) == 12
    assert len(memory.search("the harbour, since 2024", as_of=last, limit=20)) == 12
    assert not memory.search("the harbour today", as_of="0001-01-01T00:00+14:00")


def test_a_day_is_counted_in_the_zone_of_the_moment_that_is_asked_at(memory: Appliance, tmp_path: Path) -> None:
    said = {"session_id": "s", "content": "the harbour project"}
    store(
        memory,
        tmp_path,
        [
            {**said, "message_id": "31st", "timestamp": "2024-03-31T00:10:00+02:00"},
            {**said, "session_id": "t", "message_id": "30th", "timestamp": "2024-03-30T01:00:00+02:00"},
        ],
    )
    found = memory.search("the harbour yesterday", as_of="2024-04-01T00:30+02:00", limit=1)
    assert ids(found) == ["31st"]


def test_summer_time_is_of_the_day_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        for day, start in (("5 January 2026", "2026-01-04T23:00"), ("5 July 2026", "2026-07-04T22:00")):
            (one,) = find_time_ranges(f"what we said on {day}", search_query.query_time(None))
            assert timestamps.iso_from_microseconds(one.start).startswith(start)
        assert find_time_ranges("0001-01-01, 9999-12-30", search_query.query_time(None))
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.fixture
def dated(memory: Appliance, tmp_path: Path) -> Appliance:
    """A few messages of certain days, among many that speak of those days."""
    said = [
        ("2019-03-15", "on 15 March we said what was to be said"),
        ("2022-08-03", "we sailed to the island"),
        ("2023-05-08", "passed the exam"),
        ("2024-03-15", "the plumber comes at nine"),
        ("2024-03-15", "carrots and rye bread"),
        ("2024-03-16", "a nice party"),
    ]
    said += [
        (f"2021-0{1 + n % 9}-1{n % 9}", f"what happened on 15 March 2024 or in August 2022? {n}") for n in range(40)
    ]
    store(
        memory,
        tmp_path,
        [
            {
                "session_id": f"s{n % 7}",
                "message_id": text,
                "content": text,
                "author": "Ben",
                "timestamp": f"{day}T10:00",
            }
            for n, (day, text) in enumerate(said)
        ],
    )
    return memory


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what was said on 15 March 2024", {"the plumber comes at nine", "carrots and rye bread"}),
        ("What did Ben say on 15 March 2024?", {"the plumber comes at nine", "carrots and rye bread"}),
        ("was wurde am 15. März 2024 gesagt?", {"the plumber comes at nine", "carrots and rye bread"}),
        ("¿qué dijimos el 15 de marzo de 2024?", {"the plumber comes at nine", "carrots and rye bread"}),
        ("16.03.2024", {"a nice party"}),
        ("2023-05-08", {"passed the exam"}),
        ("what happened in August 2022", {"we sailed to the island"}),
    ],
)
def test_who_asks_for_a_time_alone_gets_what_was_said_then(dated: Appliance, question: str, expected: set[str]) -> None:
    hits = dated.search(question, limit=10)
    assert set(ids(hits)[: len(expected)]) == expected
    # What a question to the memory asks for is listed alone; otherwise other messages follow.
    then = [hit.why["score"].get("period", hit.why["score"].get("listed", 0)) > 0 for hit in hits]
    assert then == [n < len(expected) for n in range(len(hits))]


def test_who_asks_for_something_at_a_time_gets_what_is_nearest_to_both(dated: Appliance) -> None:
    assert not any(hit.why["score"]["period"] for hit in dated.search("the party on 15 March 2024"))


def test_a_time_without_messages_is_said(dated: Appliance) -> None:
    assert "No messages from July 2018." in dated.search("what did we talk about in July 2018?").notes


# --- titles -----------------------------------------------------------------------------------------------


def titled(title: str) -> list[dict[str, Any]]:
    noise = [
        {"session_id": f"n{n}", "message_id": f"n{n}", "content": f"what the budget was for trip {n}"}
        for n in range(60)
    ]
    return [
        *noise,
        {"session_id": "k", "message_id": "k1", "content": "In all it came to 4,200.", "session_title": title},
    ]


def place(memory: Appliance, reference: str, **more: Any) -> int:
    """The rank of a message for a question that only a title answers; 1,000 where it is not found."""
    hits = memory.search("kitchen renovation budget", limit=100, **more)
    return next((hit.rank for hit in hits if hit.external_id == reference), 1_000)


def test_a_title_leads_to_its_session(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, titled("Kitchen renovation"))
    hits = memory.search("kitchen renovation budget", limit=100)
    (hit,) = [hit for hit in hits if hit.external_id == "k1"]
    assert hit.why["legs"]["title"]["rank"] == 1 and hit.why["score"]["title"] > 0
    assert hit.rank < place(memory, "k1", without=["title"])


def test_a_title_that_changes_is_found_by_its_new_words(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, titled("Untitled"))
    untitled = place(memory, "k1")
    store(memory, tmp_path, titled("Kitchen renovation"))
    assert place(memory, "k1") < untitled
    store(memory, tmp_path, titled("Bathroom"))
    assert place(memory, "k1") == untitled
    assert not memory.verify().problems


def test_a_title_is_no_ones_else(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, titled("Kitchen renovation"))
    assert not memory.search("kitchen renovation", user_id="other")


def test_a_title_that_no_store_takes_is_refused(memory: Appliance) -> None:
    for name in ({"title": "a\udcffb"}, {"external_id": "\udcff"}):
        with pytest.raises(UsageError, match="not valid Unicode"):
            memory.sessions.create(**name)  # type: ignore[arg-type]
    assert memory.sessions.create(title="ok").title == "ok"


@pytest.mark.parametrize("title", ['"', "NEAR(", "a OR b", "title:x", "*", "厨房の改装", "", "\x00"])
def test_titles_and_queries_are_never_syntax(memory: Appliance, tmp_path: Path, title: str) -> None:
    store(memory, tmp_path, titled(title))
    memory.search(title)
    memory.search(f"budget {title} AND NOT")
    assert not memory.verify().problems


# --- legs and profiles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("leg", LEGS)
def test_every_leg_can_be_left_out(memory: Appliance, tmp_path: Path, leg: str) -> None:
    planned = {"session_id": "p", "message_id": "p1", "content": "The plan stands in plan.pdf."}
    store(memory, tmp_path, [*titled("Kitchen renovation"), *monthly(), planned])
    query = 'budget of the kitchen renovation in March 2024, "it came", plan.pdf'
    every = memory.search(query, limit=100)
    assert any(leg in hit.why["legs"] for hit in every)
    assert not any(leg in hit.why["legs"] for hit in memory.search(query, limit=100, without=[leg]))


def test_a_search_without_any_leg_finds_nothing(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    assert not memory.search("the harbour", without=LEGS)


@pytest.mark.parametrize(
    "asked",
    [
        {"without": ["dense", "own", "window"]},
        {"mode": "dense", "profile": "bm25"},
        {"mode": "lexical", "profile": "dense"},
    ],
)
def test_a_search_that_no_leg_is_left_for_says_so(memory: Appliance, tmp_path: Path, asked: dict[str, Any]) -> None:
    store(memory, tmp_path, monthly())
    hits = memory.search("the harbour", **asked)
    assert not hits and "nothing was searched" in hits.notes[0]


def test_what_there_is_not(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    with pytest.raises(UsageError, match="There is no leg 'smell'"):
        memory.search("x", without=["smell"])
    with pytest.raises(UsageError, match="There is no profile 'best'"):
        memory.search("x", profile="best")
    with pytest.raises(NotFound):
        memory.search("x", asked_in="s999")
    with pytest.raises(UsageError, match="at least 0, not -1"):
        memory.search("x", per_session=-1)


def test_in_an_empty_home_there_is_no_message_to_say_why_not_of(memory: Appliance) -> None:
    with pytest.raises(NotFound, match="m1"):
        memory.search("x", why_not="m1")


@pytest.mark.parametrize("profile", ["evidence", "balanced", "items", "bm25", "dense"])
def test_the_parts_order_the_hits_in_every_profile(memory: Appliance, tmp_path: Path, profile: str) -> None:
    store(memory, tmp_path, [*titled("Kitchen renovation"), *monthly("We decided on the harbour project, Ana")])
    session = memory.sessions.create(title="now")
    session.add("user", "what of the harbour project?")
    hits = memory.search(
        "what did Ana decide on the harbour project in March 2024?", limit=100, profile=profile, asked_in=session.id
    )
    assert len(hits) > 5 and [hit.points for hit in hits] == sorted((hit.points for hit in hits), reverse=True)
    for hit in hits:
        assert 0 <= hit.score <= 1


def test_one_leg_alone_ranks_by_its_score(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, [*titled("Kitchen"), *monthly()])
    for profile, leg in (("bm25", "own"), ("dense", "dense")):
        hits = memory.search("harbour project budget", profile=profile, limit=50)
        scores = [hit.why["legs"][leg]["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) > 1


def test_the_balanced_profile_prefers_what_is_recent(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    hits = memory.search("the harbour project", profile="balanced", as_of="2024-12-16")
    assert hits[0].external_id == "m12" and hits[0].why["score"]["recent"] > 0
    newest = sorted(hits, key=lambda hit: hit.timestamp or "", reverse=True)
    parts = [hit.why["score"]["recent"] for hit in newest]
    assert parts == sorted(parts, reverse=True)


def test_signals_that_are_not_there_change_no_order(memory: Appliance, tmp_path: Path) -> None:
    """Without times there is no recency, without an asking session none is nearer."""
    texts = (
        "we saw the harbour project at night",
        "there is also a harbour",
        "many projects of the harbour town",
        "this was the first project",
    )
    store(memory, tmp_path, [{"session_id": "s", "message_id": text, "content": text} for text in texts])
    hits = memory.search("the harbour project", profile="balanced")
    assert all(hit.why["score"][name] == 0 for hit in hits for name in ("recent", "here", "entities"))
    assert len({hit.why["score"]["kind"] for hit in hits}) == 1, "each states something"
    assert ids(hits) == ids(memory.search("the harbour project", profile="evidence"))


def test_the_session_that_asks_is_nearer(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, monthly())
    there = memory.search("the harbour project", limit=20, profile="balanced", as_of="2026-01-01")
    here = memory.search("the harbour project", limit=20, profile="balanced", as_of="2026-01-01", asked_in="s4")
    nearer = {hit.external_id: hit.why["score"]["here"] for hit in here}
    assert nearer.pop("m4") > 0 and set(nearer.values()) == {0.0}
    points = {hit.external_id: hit.points for hit in there}
    assert all((hit.points > points[hit.external_id]) == (hit.external_id == "m4") for hit in here)


def test_a_profile_of_ones_own(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    own = '[profiles.newest]\nlike = "evidence"\nweights = { recent = 1000.0, dense = 0 }\n'
    (home / "config.toml").write_text('[search]\nprofile = "newest"\n' + own, encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        store(memory, tmp_path, monthly())
        hits = memory.search("the harbour project", as_of="2024-12-31", limit=12)
        assert ids(hits)[:2] == ["m12", "m11"]
        assert hits[0].why["score"]["dense"] == 0


def test_a_leg_that_a_profile_of_ones_own_weighs_runs(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    own = '[profiles.both]\nlike = "bm25"\nweights = { dense = 2.0, title = 1.0 }\n'
    (home / "config.toml").write_text(own, encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        store(memory, tmp_path, titled("Kitchen renovation"))
        hits = memory.search("kitchen renovation budget", profile="both", limit=100)
        (hit,) = [hit for hit in hits if hit.external_id == "k1"]
        assert hit.why["score"]["title"] > 0 and any(hit.why["score"]["dense"] for hit in hits)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[profiles.mine]\nlike = 'nobody'", "There is no built-in profile 'nobody'"),
        ("[profiles.mine.weights]\nsmell = 1.0", "no feature 'smell'"),
        ("[profiles.evidence.weights]\ndense = 1.0", "built in"),
        (
            "[profiles.mine]\nlike = 'bm25'\nweights = { neighbour_dense = 1.0 }",
            "'neighbour_dense' would have no effect",
        ),
        ("[profiles.mine.weights]\ndense = nan", "must be a finite number, not nan"),
        ("[profiles.mine.weights]\ndense = -inf", "must be a finite number, not -inf"),
    ],
)
def test_a_profile_that_can_not_be(home: Path, text: str, says: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        Appliance.open(home, worker=False, embedder=HashEmbedder())


# --- variants ------------------------------------------------------------------------------------------------


def test_what_says_the_same_is_shown_once_with_its_copies(memory: Appliance, tmp_path: Path) -> None:
    asked = "how do I reset the router at the cabin again?"
    records = [
        {"session_id": f"s{n}", "message_id": f"q{n}", "content": asked, "timestamp": f"202{n}-05-01T08:00:00Z"}
        for n in range(5)
    ]
    store(
        memory,
        tmp_path,
        [*records, {"session_id": "x", "message_id": "x", "content": "the router is reset by its key"}],
    )
    hits = memory.search("reset the router", limit=10)
    assert sorted(ids(hits))[1:] == ["x"] and len(hits) == 2
    (question,) = [hit for hit in hits if hit.external_id != "x"]
    assert len(question.why["variants"]) == 4
    variant = memory.message(question.why["variants"][0])
    assert variant.text == asked and variant.id != question.message_id
    verdict = memory.search("reset the router", why_not=variant.id).why_not
    assert verdict is not None and verdict.stage == "left out" and question.message_id in verdict.words


@pytest.mark.parametrize("profile", ["evidence", "bm25"])
def test_copies_crowd_nothing_else_out(memory: Appliance, tmp_path: Path, profile: str) -> None:
    daily = [
        {"session_id": f"s{n}", "message_id": f"q{n}", "content": "how do I reset the router at the cabin?"}
        for n in range(250)
    ]
    others = [
        {"session_id": "x", "message_id": f"x{n}", "content": f"the router, number {n} of all, is in a box"}
        for n in range(5)
    ]
    store(memory, tmp_path, [*daily, *others])
    hits = memory.search("reset the router at the cabin", profile=profile)
    assert sorted(hit.external_id for hit in hits)[1:] == [f"x{n}" for n in range(5)]
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert ids(hits)[0].startswith("q") and len(hits[0].why["variants"]) == 249


def test_of_what_says_the_same_the_one_that_is_asked_for_is_shown(memory: Appliance, tmp_path: Path) -> None:
    records = [
        {"session_id": f"s{n}", "message_id": f"m{n}", "content": "we met about the harbour project today"}
        | {"timestamp": f"2024-{n:02}-15T10:00:00Z"}
        for n in range(1, 13)
    ]
    store(memory, tmp_path, records)
    for n, month in ((3, "March"), (11, "November")):
        assert ids(memory.search(f"the harbour project in {month} 2024")) == [f"m{n}"]


def test_two_peoples_same_words_are_two_hits(memory: Appliance, tmp_path: Path) -> None:
    records = [
        {"session_id": "s", "message_id": name, "author": name, "content": "I will bring the tent to the harbour"}
        for name in ("Ana", "Ben")
    ]
    store(memory, tmp_path, records)
    assert set(ids(memory.search("who brings the tent?"))) == {"Ana", "Ben"}


# --- how many of a session ---------------------------------------------------------------------------------


def test_at_most_so_many_of_a_session(memory: Appliance, tmp_path: Path) -> None:
    store(
        memory,
        tmp_path,
        [
            {"session_id": f"s{s}", "message_id": f"{s}-{n}", "content": f"the harbour project, note {n} of {s}"}
            for s in range(4)
            for n in range(6)
        ],
    )
    every = memory.search("the harbour project", limit=30)
    assert len(every) == 24
    some = memory.search("the harbour project", limit=30, per_session=2)
    assert len(some) == 8
    assert all([hit.external_session_id for hit in some].count(f"s{s}") == 2 for s in range(4))
    assert ids(some) == [i for i in ids(every) if i in ids(some)], "in the order that they had"
    gone = next(hit for hit in every if hit.external_id not in ids(some))
    verdict = memory.search("the harbour project", per_session=2, why_not=gone.message_id).why_not
    assert verdict is not None and verdict.stage == "left out" and "2 better hits" in verdict.words
