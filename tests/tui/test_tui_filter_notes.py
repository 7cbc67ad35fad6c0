"""What the screen says about filters that are typed, and of a search without a match."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenes import words
from screens import fill, run, shown, type_in, until

from appliance.requests.typed_filters import SearchFilters
from appliance.types import Identity, Person
from appliance_tui.filters import _author_note, filter_note, matches_words, parse_filter
from appliance_tui.namesakes import names_apart
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.search_notes import COMMANDS, id_note, no_hits, order_note
from appliance_tui.search_results import SearchResults, SearchSpec
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("walnut since:2025-0", "since:2025-0 is not applied yet: space or enter"),
        ("walnut since:", ""),
        ("walnut", ""),
        ("see https://example.org at 12:30", ""),
        ("note: buy bread", ""),
        ("from:ben walnut", "There is no filter 'from'; did you mean author:?"),
        ("in:whatsapp", "There is no filter 'in'; did you mean source:?"),
        ("autor:ben", "There is no filter 'autor'; did you mean author:?"),
        ("foo:bar", "There is no filter 'foo'; it is searched as words."),
        ("title: bread", "There is no filter 'title'. Conversations (F2) filters titles."),
    ],
)
def test_what_is_said_about_filters(text: str, note: str) -> None:
    assert filter_note(text) == note


def test_a_long_query_that_found_nothing_is_repeated_in_short() -> None:
    results = SearchResults(SearchSpec("ferry " * 2000, {}))
    text = no_hits(results, SearchFilters(), {}, is_typing=True)
    assert text.startswith("No matches for “ferry ferry") and text.endswith("…”.") and len(text) < 130
    assert no_hits(SearchResults(SearchSpec(" ferry ", {})), SearchFilters(), {}, True) == "No matches for “ferry”."


def test_the_order_by_time_says_what_it_leaves_out_and_the_way_back() -> None:
    spec = SearchSpec("ferry", {}, sort="time")
    assert no_hits(SearchResults(spec), SearchFilters(since="2031"), {}, is_typing=True, sort_key="s") == (
        "No matches for “ferry”.\n\nNewest first lists only messages with the words themselves.\n"
        "tab, then s lists the best hits, by meaning too.\n\nFilters: since:2031\ntab, then X clears them."
    )
    assert order_note(spec) == "newest first, only messages with the words"
    assert order_note(SearchSpec("", {}, sort="time")) == "newest first" and not order_note(SearchSpec("ferry", {}))


def test_an_id_in_the_search_line_leads_on() -> None:
    assert id_note(" m5905 ", ":") == "to go to m5905 by its id: tab, then :" and not id_note("m5905 ferry", ":")


def test_a_date_of_several_words_is_a_filter_in_the_picker() -> None:
    assert [(one.name, one.value) for one in parse_filter("since april 2023")] == [("since", "april 2023")]
    assert [(one.name, one.value) for one in parse_filter("source:slack")] == [("source", "slack")]
    assert not parse_filter("source slack and more")


@pytest.mark.slow
def test_a_search_without_a_match_says_so_in_the_middle_with_its_filters(home: Path, tmp_path: Path) -> None:
    home = fill(home, tmp_path)

    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            await type_in(pilot, "walnuts since:2031 ")
            await until(pilot, lambda: "Filters: since:2031" in words(app))
            assert "No match" in words(app) and "X clears them" in words(app)
            await pilot.press("tab", "X")
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert "X clears" not in words(app)
            line, screen = app.query_one(SearchInput), app.screen
            assert isinstance(screen, SearchScreen)
            await pilot.press("tab", "ctrl+u", *"zebra", "tab", "s")
            await until(pilot, lambda: "Newest first lists only" in words(app) and COMMANDS in words(app))
            assert "s lists the best hits" in words(app) and "s Sort" in words(app)
            await pilot.press("c", "p", "ctrl+u", "s")
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert screen.sort == "score" and line.value == "zebra" and app.focused is app.query_one(HitList)
            await pilot.press("s", "escape", "escape")
            await until(pilot, lambda: not line.value)
            assert screen.sort == "score"  # another search doesn't begin with what was left of this one

    run(body)


@pytest.mark.slow
def test_a_name_in_quotation_marks_becomes_one_filter_as_it_is_typed(home: Path, tmp_path: Path) -> None:
    home = fill(home, tmp_path)

    async def body() -> None:
        async with shown(home, (80, 24)) as (app, pilot):
            await type_in(pilot, 'author:"Ana" since:2025-04 walnuts')
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert app.screen.search_filters == SearchFilters(authors=("Ana",), since="2025-04")  # type: ignore[attr-defined]
            await until(pilot, lambda: {hit.author for hit in app.query_one(HitList).hits} == {"Ana"})
            await pilot.press("ctrl+u")
            await type_in(pilot, 'with:"Ana Lima')
            assert app.query_one(SearchInput).value == 'with:"Ana Lima'
            await pilot.press("enter")
            await until(pilot, lambda: app.screen.search_filters.participants == ("Ana Lima",))  # type: ignore[attr-defined]

    run(body)


@pytest.mark.parametrize(
    ("typed", "offered"), [("2024-04", True), ("9 March 2024", True), ("2024-13", False), ("May", False)]
)
def test_a_date_alone_offers_since_until_and_on(typed: str, offered: bool) -> None:
    names = [option.name for option in parse_filter(typed) if option.value == typed]
    assert names == (["since", "until", "on"] if offered else [])


@pytest.mark.parametrize(
    ("typed", "name"), [("per", "author"), ("from", "author"), ("app", "source"), ("label", "tag")]
)
def test_other_words_for_a_filter_find_it(typed: str, name: str) -> None:
    options = [PickerOption("author", "p1", text="Ana"), PickerOption("source", "slack"), PickerOption("tag", "trip")]
    assert [option.name for option in options if matches_words(option, typed)] == [name]


def test_the_active_filters_come_first_and_enter_drops_one(home: Path, tmp_path: Path) -> None:
    home = fill(home, tmp_path)

    async def body() -> None:
        async with shown(home, (100, 24)) as (app, pilot):
            await type_in(pilot, "walnuts role:user since:2025-04 ")
            await until(pilot, lambda: app.query_one(HitList).hits)
            assert "tab, then X all" in words(app)  # the chips say how
            await pilot.press("tab", "f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            options = app.screen._shown_options  # type: ignore[attr-defined]
            assert [(one.name, one.value) for one in options[:2]] == [("role", "user"), ("since", "2025-04")]
            assert "active; enter drops it" in words(app)
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, PickerScreen))
            assert app.screen.search_filters == SearchFilters(since="2025-04")  # type: ignore[attr-defined]
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "2025-04")
            await pilot.press("down", "down", "enter")  # on
            await until(pilot, lambda: not isinstance(app.screen, PickerScreen))
            assert app.screen.search_filters == SearchFilters(since="2025-04", until="2025-04")  # type: ignore[attr-defined]
            app.screen.search_filters = SearchFilters(since="2031")  # type: ignore[attr-defined]
            await until(pilot, lambda: "Filters: since:2031\nX clears them" in app.query_one(HitList)._reason.plain)

    run(body)


def test_people_of_one_name_are_told_apart_by_their_sources_else_by_an_account() -> None:
    def person(id: str, name: str, *identities: Identity) -> Person:
        return Person(id, name, False, identities, 3, 1, None, None)

    mail, phone = Identity("mail", "address", "mara@example.org"), Identity("whatsapp", "number", "+491701234567")
    other = Identity("whatsapp", "number", "+34600123456")
    people = [
        person("p1", "Mara", mail, Identity("whatsapp", "name", "M")),
        person("p2", "Mara", phone),
        person("p3", "Ben", mail),
    ]
    assert names_apart(people) == {"p1": "Mara (mail, whatsapp)", "p2": "Mara (whatsapp)", "p3": "Ben"}
    assert names_apart([*people, person("p4", "mara", other)]) | {"p3": ""} == {
        "p1": "Mara (mail, whatsapp)", "p2": "Mara (+491701234567)", "p3": "", "p4": "mara (+34600123456)",
    }  # fmt: skip
    assert (
        _author_note(people[1], "whatsapp") == "3 messages · whatsapp" and _author_note(people[2], "") == "3 messages"
    )
