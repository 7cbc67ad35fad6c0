"""What each layer of a context gets, what gives way, and where unused tokens go."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import pytest

from appliance.context import layers, memory_selection, render, worth
from appliance.context.materials import ContextMaterial, ContextPlan
from appliance.context.memory_selection import REPEATS_MESSAGES
from appliance.context.recent import ALWAYS_SHOWN_TURNS
from appliance.context.shares import PRESETS, SHARING_LAYERS, shares
from appliance.errors import UsageError
from appliance.timestamps import parse_bound
from appliance.types import Context, ContextItem, Fact, Hit, Message, Quote, Source, Summary, Window
from appliance_models import encoding_for

COUNT = encoding_for("cl100k_base").count
TODAY = parse_bound("2025-06-01T12:00:00Z", end=False) or 0


def plan(budget: int, preset: str = "assistant", **own: float) -> ContextPlan:
    return ContextPlan("the lighthouse", ["lighthouse"], budget, shares(preset, own), "cl100k_base", COUNT, 12, TODAY)


def hit(number: int, text: str, **other: Any) -> Hit:
    score = other.pop("score", 1.0 - number / 100)
    base = Hit(
        number, score, f"m{number}", f"x{number}", f"s{number}", "x", None, "user", "Ana", "2025-05-30T10:00:00+00:00",
        text, "", Source("native", None), "hot", {"score": {"own": score}},
    )  # fmt: skip
    return replace(base, **other)


def turn(number: int, text: str, role: Any = "user") -> Message:
    return Message(f"m{number}", "s9", f"t{number}", role, None, None, text, None, {})


def fact(number: int, text: str, kind: Any = "profile") -> Fact:
    quote = Quote(f"m{number}", 0, len(text), text)
    return Fact(
        f"f{number}", "me", "", kind, "me", "x", text, text, 0.9, "held", "2025-02-03T10:00:00Z", None, None, "rule",
        (quote,),
    )  # fmt: skip


def items(context: Context, layer: str) -> tuple[ContextItem, ...]:
    return next(one.items for one in context.layers if one.name == layer)


def ids(context: Context, layer: str) -> list[str]:
    return [item.message_id for item in items(context, layer)]


LONG = "The lighthouse has a keeper. " + "He climbs the stairs and looks at the sea every evening. " * 40
HITS = [hit(n, f"memory {n} of the lighthouse and its keeper") for n in range(1, 60)]
TURNS = [turn(n, f"turn {n} about something else entirely") for n in range(100, 160)]


# --- shares -------------------------------------------------------------------------------------------


def test_presets_share_out_the_whole() -> None:
    for preset in PRESETS:
        assert set(shares(preset, {})) == set(SHARING_LAYERS)
        assert sum(shares(preset, {}).values()) == pytest.approx(1.0)


def test_what_is_not_named_shares_the_rest_as_the_preset_has_it() -> None:
    own = shares("assistant", {"retrieved": 0.6})
    assert own["retrieved"] == 0.6 and sum(own.values()) == pytest.approx(1.0)
    assert own["recent"] / own["profile"] == pytest.approx(3.5)
    assert shares("assistant", dict.fromkeys(SHARING_LAYERS, 0.1))["recent"] == 0.1, "the rest is for memories"


@pytest.mark.parametrize(
    ("preset", "own", "names"),
    [
        ("butler", {}, "butler"),
        ("code", {"older": 0.1}, "older"),
        ("code", {"core": 0.1}, "Core memory has no share"),
        ("code", {"recent": -0.1}, "recent"),
        ("code", {"recent": float("nan")}, "recent"),
        ("code", {"recent": 0.7, "retrieved": 0.7}, "1.4"),
    ],
)
def test_shares_that_cannot_be(preset: str, own: dict[str, float], names: str) -> None:
    with pytest.raises(UsageError, match=names):
        shares(preset, own)


def test_each_layer_keeps_to_its_share_where_all_want_more() -> None:
    facts = [fact(n, f"Fact number {n} about the person and the place") for n in range(1, 200)]
    quotes = tuple(Quote(f"m{n}", 0, 9, f"sentence {n} of what was said before") for n in range(200, 400))
    window = Window("s9", "summary_buffer", "x", quotes, 200, tuple(TURNS * 3), 0, 2000, "cl100k_base", "extractive")
    material = ContextMaterial(window=window, hits=HITS * 3, facts=facts)
    for preset in PRESETS:
        context = layers.build(plan(1_000, preset), material)
        tokens = {layer.name: layer.tokens for layer in context.layers}
        for layer, share in shares(preset, {}).items():
            if layer == "retrieved":
                assert tokens[layer] >= 1_000 * share - 30
            else:
                assert 1_000 * share - 30 <= tokens[layer] <= 1_000 * share + 30, (preset, layer)


def test_what_the_others_leave_goes_to_memories() -> None:
    alone = layers.build(plan(600), ContextMaterial(hits=HITS))
    beside = layers.build(plan(600), ContextMaterial(hits=HITS, turns=TURNS))
    assert alone.tokens > 560 and len(ids(alone, "retrieved")) > len(ids(beside, "retrieved")) > 0


def test_what_memories_leave_goes_to_turns_then_profile_then_summary() -> None:
    few = layers.build(plan(600), ContextMaterial(hits=HITS[:2], turns=TURNS))
    many = layers.build(plan(600), ContextMaterial(hits=HITS, turns=TURNS))
    assert len(ids(few, "recent")) > len(ids(many, "recent")) and few.tokens > 560
    facts = [fact(n, f"Fact number {n} about the person and the place") for n in range(1, 60)]
    with_facts = layers.build(plan(600), ContextMaterial(hits=HITS[:2], turns=TURNS[:2], facts=facts))
    assert with_facts.tokens > 560 and len(ids(with_facts, "profile")) > 20
    both = layers.build(plan(600), ContextMaterial(hits=HITS[:2], turns=TURNS, facts=facts))
    assert len(ids(both, "recent")) > len(
        ids(layers.build(plan(600), ContextMaterial(hits=HITS, turns=TURNS)), "recent")
    )
    assert len(ids(both, "profile")) < 5, "the turns come first"
    quotes = tuple(Quote(f"m{n}", 0, 9, f"sentence {n} of what was said before") for n in range(200, 240))
    window = Window("s9", "summary_buffer", "x", quotes, 40, tuple(TURNS[:2]), 0, 2000, "cl100k_base", "extractive")
    summed = layers.build(plan(600), ContextMaterial(window=window, hits=HITS[:2]))
    assert summed.tokens > 560 and len(ids(summed, "summary")) > 20


def test_a_layer_without_a_share_stays_empty() -> None:
    facts = [fact(1, "x"), fact(2, "y", "instruction"), fact(3, "Say where when I ask about tea", "instruction")]
    material = ContextMaterial(hits=HITS, turns=TURNS, facts=facts)
    for layer in SHARING_LAYERS:
        context = layers.build(plan(2_000, "assistant", **{layer: 0.0}), material)
        assert ids(context, layer) == (["f2"] if layer == "profile" else [])
    context = layers.build(plan(2_000, "assistant", retrieved=0.0), material)
    reasons = {one.message_id: one.reason for one in context.dropped}
    assert all("no share" in reasons[one.message_id] for one in HITS)


# --- profile ------------------------------------------------------------------------------------------


def instruction(number: int, text: str, said_at: str = "2025-02-03T10:00:00Z") -> Fact:
    return replace(fact(number, text, "instruction"), said_at=said_at, since=said_at)


def test_a_standing_instruction_stands_whatever_else_goes() -> None:
    always = fact(1, "Always answer in metric units.", "instruction")
    material = ContextMaterial(
        hits=HITS, turns=TURNS, facts=[*(fact(n, "Something else " * 9) for n in range(2, 9)), always]
    )
    least = COUNT(render.PROFILE + render.fact(always))
    context = layers.build(plan(least), material)
    assert context.tokens == least and ids(context, "profile") == ["f1"]
    assert context.notes == (f"Memories match, but none fits into the budget of {least} tokens.",)
    assert not ids(context, "retrieved") and not ids(context, "recent")
    without = layers.build(plan(least - 1), material)
    assert without.tokens < least and "f1" not in ids(without, "profile")
    assert {one.message_id: one.reason for one in without.dropped}["f1"] == "no room left in the profile"
    assert without.notes[0] == f"A standing instruction has no room in the budget of {least - 1} tokens: f1."


def test_instructions_beyond_the_budget_leave_room_for_memories() -> None:
    many = [instruction(n, f"Always name the source when I ask about topic{n}") for n in range(1, 40)]
    assert sum(COUNT(render.fact(one)) for one in many) > 600
    material = ContextMaterial(hits=HITS, turns=TURNS, facts=many)
    for budget in (60, 150, 300, 600):
        context = layers.build(plan(budget), material)
        assert context.tokens <= budget and ids(context, "retrieved") and not context.notes
        shown = ids(context, "profile")
        for item in items(context, "profile"):
            assert item.fidelity == "full" and item.text in context.text, "never cut"
        reasons = {one.message_id: one.reason for one in context.dropped}
        assert all(reasons[one.id].startswith("no room left") for one in many if one.id not in shown)


@pytest.mark.parametrize(
    ("text", "applies"),
    [
        ("Always answer in metric units", True),
        ("Always name the keeper when I ask about lighthouses", True),
        ("Always name the vendor when I ask about invoices", False),
        ("When I ask about the lighthouse, always give the year", True),
        ("Always mention the lighthouse if I ask you about boats", False),
        ("Nenne immer den Preis, wenn ich nach Rechnungen frage", False),
        ("Responde siempre con la fecha cuando te pregunte por facturas", False),
    ],
)
def test_an_instruction_whose_condition_does_not_hold_gives_way(text: str, applies: bool) -> None:
    newer = instruction(2, "Always give the hour when I ask about trains", "2025-03-01T10:00:00Z")
    facts = [instruction(1, text, "2025-02-01T10:00:00Z"), newer]
    room = COUNT(render.PROFILE) + max(COUNT(render.fact(one)) for one in facts)
    context = layers.build(plan(room, profile=1.0), ContextMaterial(facts=facts))
    assert ids(context, "profile") == (["f1"] if applies else ["f2"])


def test_the_pinned_instruction_comes_first_then_the_newest() -> None:
    facts = [instruction(n, f"Always use the style number {n}", f"2025-0{n}-01T10:00:00Z") for n in range(1, 8)]
    one = COUNT(render.fact(facts[0]))
    context = layers.build(
        plan(2 * (COUNT(render.PROFILE) + 3 * one)), ContextMaterial(hits=HITS, facts=facts, pinned={"m2"})
    )
    assert ids(context, "profile")[:3] == ["f2", "f7", "f6"] and ids(context, "retrieved")
    assert context.notes and "f1" in context.notes[0]
    assert len(ids(layers.build(plan(4_000), ContextMaterial(hits=HITS, facts=facts)), "profile")) == 7


def test_a_fact_cites_the_message_that_it_is_from() -> None:
    context = layers.build(plan(500), ContextMaterial(facts=[fact(7, "Lives in Valencia")]))
    assert "[f7 m7 2025-02-03] Lives in Valencia\n" in context.text
    assert items(context, "profile")[0].why["messages"] == ["m7"]
    assert context.messages == ({"role": "system", "content": context.text},)


# --- the present conversation -------------------------------------------------------------------------


def test_the_last_exchanges_stand_even_when_one_is_huge() -> None:
    turns = [
        *TURNS[:6],
        turn(200, "What does the keeper do?"),
        turn(201, LONG * 5, "assistant"),
        turn(202, "And then?"),
    ]
    context = layers.build(plan(800), ContextMaterial(turns=turns, hits=HITS))
    shown = {item.message_id: item.fidelity for item in items(context, "recent")}
    assert shown["m200"] == shown["m202"] == "full" and shown["m201"] == "compressed"
    assert len(shown) == ALWAYS_SHOWN_TURNS, "what comes before a shortened turn would leave a gap"
    assert "The lighthouse has a keeper." in next(
        one.text for one in items(context, "recent") if one.message_id == "m201"
    )
    assert [one["role"] for one in context.messages] == ["system", "user", "user", "assistant", "user"]


def test_what_the_turns_show_is_not_retrieved_again() -> None:
    said = [hit(n, f"turn {n} about something else entirely") for n in range(150, 160)]
    context = layers.build(plan(900), ContextMaterial(turns=TURNS, hits=[*said, *HITS[:3]]))
    shown = ids(context, "recent")
    assert set(shown) & {one.message_id for one in said}
    assert not set(shown) & set(ids(context, "retrieved"))
    assert not set(shown) & {one.message_id for one in context.dropped}


def test_what_is_folded_into_the_summary_may_still_be_retrieved() -> None:
    quotes = (Quote("m1", 0, 6, "memory"),)
    window = Window("s9", "summary_buffer", "memory", quotes, 9, tuple(TURNS[:2]), 0, 2000, "cl100k_base", "extractive")
    context = layers.build(plan(900), ContextMaterial(window=window, hits=HITS[:3]))
    assert ids(context, "summary") == ["m1"] and "m1" in ids(context, "retrieved")
    assert "[m1] memory\n" in context.text


def test_a_summary_that_a_model_wrote_says_so_and_is_shortened() -> None:
    window = Window("s9", "summary_buffer", LONG, (Quote("m1", 0, 3, "The"),), 9, (), 0, 2000, "x", "llama-3")
    context = layers.build(plan(400, summary=0.5), ContextMaterial(window=window, hits=HITS))
    (item,) = items(context, "summary")
    assert "[s9 9 messages by llama-3]" in context.text.replace(",", "") and item.fidelity == "compressed"
    assert item.why["messages"] == ["m1"] and item.tokens <= 200


def test_a_note_that_is_uncertain_is_not_shortened_to_a_part_without_its_mark() -> None:
    notes = f"UNVERIFIED: Perhaps. The lighthouse memory is closed. [m1]\n{LONG}"
    window = Window("s9", "summary_buffer", notes, (), 9, (), 0, 2000, "x", "llama-3")
    context = layers.build(plan(400, summary=0.5), ContextMaterial(window=window, hits=HITS))
    (item,) = items(context, "summary")
    assert item.fidelity == "compressed" and ("lighthouse" in item.text) == ("UNVERIFIED: Perhaps." in item.text)


# --- retrieved ----------------------------------------------------------------------------------------


def fidelity(context: Context, id: str) -> str:
    return next(item.fidelity for item in items(context, "retrieved") if item.message_id == id)


@pytest.mark.parametrize(
    ("other", "material"),
    [({"score": 0.6}, {}), ({"timestamp": "2019-01-01T10:00:00Z"}, {}), ({}, {"importance": {"m2": 0.0}})],
    ids=["less relevant", "old", "unimportant"],
)
def test_a_long_memory_is_shortened_sooner_when_it_is(other: dict[str, Any], material: dict[str, Any]) -> None:
    text = LONG[: len(LONG) // 2]
    size = COUNT(text)
    # Room for it before others have had their turn, if nothing speaks against it; the others take what is left.
    budget = int(size / memory_selection.MAX_MEMORY_SHARE * 1.25)
    rest = [hit(n, "The lighthouse keeper said " + f"word{n} " * 25, score=0.5 - n / 1_000) for n in range(3, 60)]
    worthy = layers.build(plan(budget), ContextMaterial(hits=[hit(1, "lighthouse"), hit(2, text, score=0.98), *rest]))
    less = hit(2, text, **{"score": 0.98, **other})
    ranked = sorted([hit(1, "lighthouse"), less, *rest], key=lambda one: -one.score)
    ranked = [replace(one, rank=rank) for rank, one in enumerate(ranked, 1)]
    unworthy = layers.build(plan(budget), ContextMaterial(hits=ranked, **material))
    assert fidelity(worthy, "m2") == "full"
    assert fidelity(unworthy, "m2") == "compressed"


def test_what_room_is_left_makes_the_shortened_whole() -> None:
    weak = ContextMaterial(hits=[hit(1, "lighthouse"), hit(2, LONG, score=0.2)])
    assert fidelity(layers.build(plan(COUNT(LONG) * 2), weak), "m2") == "full"
    assert fidelity(layers.build(plan(200), weak), "m2") == "compressed"


def test_what_cannot_be_shortened_is_named() -> None:
    context = layers.build(plan(200), ContextMaterial(hits=[hit(1, "lighthouse"), hit(2, "x1y" * 900)]))
    assert fidelity(context, "m2") == "placeholder"
    assert "left out here: 2700 characters, read message m2]" in context.text


def test_the_pinned_come_first_among_equals() -> None:
    hits = [hit(n, f"memory {n} of the lighthouse", score=1.0 - n / 1_000) for n in range(1, 30)]
    pinned = layers.build(plan(150), ContextMaterial(hits=hits, pinned={"m29"}))
    assert "m29" in ids(pinned, "retrieved") and "m29" not in ids(
        layers.build(plan(150), ContextMaterial(hits=hits)), "retrieved"
    )
    weak = [*hits, hit(40, "memory 40", score=0.3)]
    assert "m40" not in ids(layers.build(plan(150), ContextMaterial(hits=weak, pinned={"m40"})), "retrieved")


def test_one_session_does_not_crowd_out_the_others() -> None:
    hits = [hit(n, f"memory {n} of the lighthouse", session_id="s1") for n in range(1, 40)] + [hit(40, "elsewhere")]
    context = layers.build(replace(plan(300), per_session=3), ContextMaterial(hits=hits))
    assert "m40" in ids(context, "retrieved") and len(ids(context, "retrieved")) > 5


def test_a_short_reply_has_its_question_and_a_short_question_its_reply() -> None:
    question, reply = (turn(51, "On which day is the lighthouse open?"), turn(54, "Yes, on Friday", "assistant"))
    hits = [hit(1, "Yes, on Friday", session_id="s9"), hit(3, "Is it open?", session_id="s9"), hit(2, LONG)]
    beside = {"m1": (question, None), "m3": (None, reply), "m2": (question, reply)}
    context = layers.build(plan(3_000), ContextMaterial(hits=hits, neighbours=beside))
    whys = {item.message_id: item.why for item in items(context, "retrieved")}
    assert whys["m51"] == {"beside": "m1"} and whys["m54"] == {"beside": "m3"}
    nothing = layers.build(plan(3_000), ContextMaterial(hits=hits[2:], neighbours=beside))
    assert ids(nothing, "retrieved") == ["m2"], "what says enough by itself needs nothing beside it"


def test_summaries_of_other_sessions_stand_among_the_memories() -> None:
    summary = Summary(
        "sum7", "s3", "session", "They talked of the keeper.", (), "extractive", "m30", "m44", 15,
        "2025-05-01T10:00:00Z", None, "2025-05-02", {},
    )  # fmt: skip
    context = layers.build(plan(600), ContextMaterial(hits=HITS, summaries=[summary]))
    assert "sum7" in ids(context, "retrieved")
    assert "[s3 2025-05-01]\n[sum7 session m30-m44] They talked of the keeper.\n" in context.text
    long = [replace(summary, id=f"sum{n}", text="They talked of the keeper. " * 30) for n in range(8, 20)]
    crowded = layers.build(plan(600), ContextMaterial(hits=HITS, summaries=long))
    assert len(ids(crowded, "retrieved")) > 20, "summaries take a share of the room, and no more"


def test_what_is_left_out_says_why() -> None:
    hits = [*HITS, hit(70, "far away", score=0.01)]
    context = layers.build(plan(200), ContextMaterial(hits=hits, turns=TURNS, facts=[fact(1, "word " * 300)]))
    reasons = {one.message_id: one.reason for one in context.dropped}
    assert reasons["m70"] == "far weaker match than the best"
    assert reasons["m59"] == "no room left"
    assert reasons["m100"] == "no room left among the latest turns"
    assert reasons["f1"] == "no room left in the profile"


# --- what is worth its place --------------------------------------------------------------------------


def scored(number: int, score: float, text: str = "", own: float | None = None, quoted: float = 0.0) -> Hit:
    """A hit with a score, and points that differ as the log-odds do."""
    points = log(score / (1 - score)) + 20 if own is None else own
    text = text or f"memory {number} of the lighthouse"
    return hit(number, text, score=score, why={"score": {"own": points, "quoted": quoted}})


def test_a_memory_is_left_out_that_is_too_unlikely_for_the_budget() -> None:
    hits = [scored(1, 0.96), scored(2, 0.3), scored(3, 0.04), scored(4, 0.003), scored(5, 0.0004)]
    material = ContextMaterial(hits=hits, worth=worth.scores(hits))
    shown = {budget: ids(layers.build(plan(budget), material), "retrieved") for budget in (200, 1_000, 4_000, 16_000)}
    assert shown == {
        200: ["m1", "m2"], 1_000: ["m1", "m2", "m3"], 4_000: ["m1", "m2", "m3", "m4"],
        16_000: ["m1", "m2", "m3", "m4", "m5"],
    }  # fmt: skip
    reasons = {one.message_id: one.reason for one in layers.build(plan(1_000), material).dropped}
    assert reasons == dict.fromkeys(("m4", "m5"), memory_selection.UNLIKELY)


def test_low_scores_of_all_are_compared_with_the_best() -> None:
    """As of a model whose cosines mean nothing known."""
    assert worth.scores([scored(1, 0.02), scored(2, 0.015)]) == {"m1": 1.0, "m2": pytest.approx(0.75)}
    assert worth.scores([]) == {}


def test_beside_a_literal_the_others_are_judged_without_it() -> None:
    found = worth.scores([scored(1, 0.99, own=5.0, quoted=30.0), scored(2, 1e-9, own=4.5), scored(3, 1e-9, own=-3.0)])
    assert found["m1"] == 0.99 and found["m2"] > 0.5 and found["m3"] < 0.01


def test_a_weak_match_does_not_fill_the_budget() -> None:
    hits = [scored(1, 0.2, LONG * 3)]
    weak = layers.build(plan(1_000), ContextMaterial(hits=hits, worth=worth.scores(hits)))
    assert 300 < items(weak, "retrieved")[0].tokens <= 400
    likely = [scored(1, 0.6, LONG * 3)]
    whole = layers.build(plan(1_000), ContextMaterial(hits=likely, worth=worth.scores(likely)))
    assert items(whole, "retrieved")[0].tokens > 850


def test_the_best_memory_is_shortened_or_takes_more_before_a_weaker_one_is_taken() -> None:
    long = (
        "The spare key of the lighthouse hangs "
        + "behind the third pot beside the old green rudder, " * 5
        + "of brass."
    )
    weaker = [scored(n, 0.5, f"The lighthouse number {n} has a roof and a door.") for n in range(2, 8)]
    for budget in (110, 130, 200):
        context = layers.build(plan(budget, retrieved=1.0), ContextMaterial(hits=[scored(1, 0.92, long), *weaker]))
        assert {"m1": "full"}.items() <= {one.message_id: one.fidelity for one in items(context, "retrieved")}.items()


def summary_of(session: str, first: int, last: int, quoted: tuple[int, ...], made_by: str = "extractive") -> Summary:
    quotes = tuple(Quote(f"m{n}", 0, 6, f"memory {n} of the lighthouse") for n in quoted)
    text = " ".join(quote.text for quote in quotes) if made_by == "extractive" else "They spoke of the lighthouse."
    return Summary(
        "sum1", session, "session", text, quotes, made_by, f"m{first}", f"m{last}", last - first + 1, None, None,
        "2025-01-01", {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("summary", "stays"),
    [
        (summary_of("s1", 1, 2, (1, 2)), False),
        (summary_of("s1", 1, 9, (1, 8)), False),
        (summary_of("s1", 1, 9, (1, 7, 8)), True),
        (summary_of("s1", 1, 2, (2,), "llama-3"), False),
        (summary_of("s1", 1, 2, (), "llama-3"), False),
        (summary_of("s2", 1, 2, (), "llama-3"), True),
    ],
)
def test_a_summary_never_stands_beside_the_messages_that_it_repeats(summary: Summary, stays: bool) -> None:
    said = [replace(scored(n, 0.9), session_id="s1") for n in (1, 2)]
    context = layers.build(plan(900), ContextMaterial(hits=said, summaries=[summary]))
    assert {"m1", "m2"} <= set(ids(context, "retrieved"))
    assert ("sum1" in ids(context, "retrieved")) is stays
    assert stays or {one.message_id: one.reason for one in context.dropped} == {"sum1": REPEATS_MESSAGES}
    assert context.tokens == COUNT(context.text)


@pytest.mark.parametrize(
    ("query", "words", "answer"),
    [
        ("where do I live", ["live"], "f7"),
        ("Wo wohne ich?", ["wohne"], "f7"),
        ("¿Dónde vivo?", ["vivo"], "f7"),
        ("what is my favourite food", ["favourite", "food"], "f8"),
        ("where does Karl live", ["karl", "live"], "f9"),
    ],
)
def test_a_small_budget_has_the_fact_that_answers(query: str, words: list[str], answer: str) -> None:
    others = [fact(n, f"has the habit number {n}") for n in range(1, 7)]
    home = replace(fact(7, "lives in Linz"), attribute="home", value="Linz")
    food = replace(fact(8, "favourite food is hot pot"), attribute="favourite food", value="hot pot")
    karl = replace(home, id="f9", subject="Karl", text="Karl lives in Ulm", value="Ulm")
    material = ContextMaterial(hits=HITS, facts=[*others, home, food, karl])
    small = layers.build(replace(plan(120), query=query, words=words), material)
    assert ids(small, "profile")[0] == answer and len(ids(small, "profile")) < 9
    large = layers.build(replace(plan(4_000), query=query, words=words), material)
    assert ids(large, "profile") == [f"f{n}" for n in range(1, 10)], "one order for all queries if all of them fit"
