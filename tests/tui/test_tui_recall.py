"""Recall, key by key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from screens import fill, run, shown, type_in, until
from textual.events import Key
from textual.widgets import Input, Static

from appliance import Appliance
from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters, since_date, until_date
from appliance.types.labels import FEATURE_LABELS
from appliance_models import HashEmbedder
from appliance_tui.filters import partial_filter, without_partial_filter
from appliance_tui.screens.explanation import ExplanationScreen, _score_lines
from appliance_tui.screens.help import HelpScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from tests.homes import copied


def hits(app) -> list[str]:  # type: ignore[no-untyped-def]
    return [hit.text for hit in app.query_one(HitList).hits]


def words(app) -> str:  # type: ignore[no-untyped-def]
    return "\n".join(str(each.render()) for each in app.screen.query(Static))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


def test_what_is_typed_is_found_as_it_is_typed(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ferry brodgar")
            await until(pilot, lambda: any("06:40" in text for text in hits(app)))
            line = app.query_one(SearchInput)
            line.value = ""
            await until(pilot, lambda: not hits(app))

    run(body)


def test_arrows_move_in_the_list_while_one_types(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ledger")
            await until(pilot, lambda: len(hits(app)) > 2)
            await pilot.press("down", "down", "up")
            assert app.query_one(HitList).highlighted == 1
            assert app.focused is app.query_one(SearchInput)

    run(body)


def test_filters_become_chips_complete_themselves_and_go(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await until(pilot, lambda: app.query_one(SearchInput).completions)
            await type_in(pilot, "role:ass")
            await until(pilot, lambda: app.query_one(SearchInput)._suggestion)
            await pilot.press("right")
            await until(pilot, lambda: app.screen.search_filters == SearchFilters(roles=("assistant",)))  # type: ignore[attr-defined]
            assert app.query_one(SearchInput).value == ""
            await type_in(pilot, "ledger")
            await until(pilot, lambda: hits(app))
            assert {hit.role for hit in app.query_one(HitList).hits} == {"assistant"}
            app.query_one(SearchInput).value = ""
            await pilot.press("backspace")
            await until(pilot, lambda: not app.screen.search_filters)  # type: ignore[attr-defined]

    run(body)


@pytest.mark.slow
def test_an_unfinished_filter_is_no_word_and_enter_finishes_it(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "ferry since:banana")
            await until(pilot, lambda: app.screen.answered_query == "ferry since:banana")
            results = app.query_one(HitList).results
            assert results is not None and results.spec.query == "ferry"
            assert hits(app)
            await pilot.press("enter")
            await until(pilot, lambda: "Invalid date 'banana'." in words(app))
            assert isinstance(app.screen, SearchScreen) and not hits(app)
            assert app.query_one(SearchInput).value.strip() == "ferry"
            await pilot.press("home", "backspace")
            await until(pilot, lambda: hits(app))

    run(body)


@pytest.mark.slow
def test_what_is_typed_behind_a_filter_at_once_stays(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            line = app.query_one(SearchInput)
            for letter in "the role:assistant ledger since:2025 is":  # before the screen has handled the first
                line.post_message(Key("space" if letter == " " else letter, letter))
            await until(pilot, lambda: app.screen.search_filters.since)  # type: ignore[attr-defined]
            assert app.screen.search_filters == SearchFilters(roles=("assistant",), since="2025")  # type: ignore[attr-defined]
            assert line.value == "the ledger is" and line.cursor_position == len(line.value)
            await until(pilot, lambda: hits(app))
            await pilot.press("home", "right", "right", "right", "right")
            await type_in(pilot, "role:user ")
            await until(pilot, lambda: "user" in app.screen.search_filters.roles)  # type: ignore[attr-defined]
            assert (line.value, line.cursor_position) == ("the ledger is", 4)

    run(body)


@pytest.mark.slow
def test_a_chip_goes_with_a_click_and_x_drops_all(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "since:2025-04 source:native walnuts")
            await until(pilot, lambda: len(app.query("FilterChip")) == 2 and hits(app))
            assert "walnuts" in hits(app)[0]
            await pilot.click("FilterChip")
            await until(pilot, lambda: len(app.query("FilterChip")) == 1)
            await pilot.press("tab", "X")
            await until(pilot, lambda: not app.query("FilterChip"))

    run(body)


@pytest.mark.slow
def test_f_chooses_a_filter_out_of_what_there_is(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: hits(app))
            await pilot.press("tab", "f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "user")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen))
            assert app.screen.search_filters  # type: ignore[attr-defined]
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "until 2025-04")
            await pilot.press("enter")
            await until(
                pilot, lambda: isinstance(app.screen, SearchScreen) and app.screen.search_filters.until == "2025-04"
            )
            await pilot.press("f")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "דניאל")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen) and bool(app.screen.search_filters.authors))

    run(body)


def test_w_says_why_and_W_why_not(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: hits(app))
            await pilot.press("tab", "w")
            await until(pilot, lambda: isinstance(app.screen, ExplanationScreen))
            assert "search words that it has" in words(app) and "together" in words(app)
            await pilot.press("escape", "W")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            await type_in(pilot, "m1")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ExplanationScreen))
            assert "m1" in str(app.screen.query_one("#why").border_title)

    run(body)


def test_the_reasons_are_in_words_of_a_person() -> None:
    legs = {"dense": {"rank": 1, "score": 0.5}, "own": {"rank": 12, "score": 7.3}, "title": {"rank": None}}
    text = [line.plain for line in _score_lines({"score": dict.fromkeys(FEATURE_LABELS, 1.0), "legs": legs}, 1.0)]
    less, more = (line.plain for line in list(_score_lines({"score": {"dense": -1.0, "own": 4.0}}, None))[2:0:-1])
    assert more.startswith("█" * 20) and less.startswith("-" * 5 + " ")  # what counts against it looks so
    for label in FEATURE_LABELS.values():
        assert sum(line.endswith(f"  {label}") for line in text) == 1
    assert text[-3:] == [
        "by closeness in meaning: number 1, 0.50 of 1",
        "by search words that it has: number 12",
        "by title of its conversation: not among the best",
    ]
    jargon = re.compile(r"_|\b(legs?|mass|idf|bm25|cosine|tokens?|dense|window|query|rank)\b", re.IGNORECASE)
    assert not list(filter(jargon.search, text))
    assert max(map(len, FEATURE_LABELS.values())) <= 37  # on one line at 80 columns


def test_y_copies_p_pins_and_a_pin_is_shown_and_kept(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: hits(app))
            await pilot.press("tab", "y")
            assert app.clipboard == hits(app)[0]
            listed = app.query_one(HitList)
            await pilot.press("p")
            await until(pilot, lambda: "★" in str(listed.get_option_at_index(0).prompt))
            await pilot.press("p")
            await until(pilot, lambda: "★" not in str(listed.get_option_at_index(0).prompt))
            await pilot.press("p")
            await until(pilot, lambda: "★" in str(listed.get_option_at_index(0).prompt))
        with Appliance.open(filled, embedder=HashEmbedder(), worker=False) as memory:
            assert len(memory.pins.pinned("me")) == 1

    run(body)


def test_slash_goes_back_to_the_line_and_help_and_quit(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("escape")
            assert app.focused is app.query_one(SearchInput)
            await pilot.press("slash", "b", "tab")
            assert app.focused is app.query_one(HitList)
            await pilot.press("slash")
            assert app.focused is app.query_one(SearchInput)
            await pilot.press("tab", "question_mark")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            assert "Why the message matched" in words(app)
            await pilot.press("escape", "ctrl+q")

    run(body)


@pytest.mark.slow
def test_o_opens_the_file_or_says_that_it_is_gone(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(home, tmp_path)
    asked: list[Path] = []
    monkeypatch.setattr("appliance_tui.screens.hits_screen.open_file", lambda file: not asked.append(file))

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await type_in(pilot, "walnuts")
            await until(pilot, lambda: hits(app))
            await pilot.press("tab", "o")
            await until(pilot, lambda: asked)
            assert asked == [tmp_path / "talk.jsonl"]
            asked[0].unlink()
            await pilot.press("o")
            await until(pilot, lambda: any("no longer exists" in one.message for one in app._notifications))

    run(body)


def test_what_lands_while_one_looks_is_found_without_a_key(filled: Path, tmp_path: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "periwinkle")
            await until(pilot, lambda: "Nothing" in words(app) or hits(app))
            session = await app.memory_worker.run_command(lambda memory: memory.sessions.create(title="new"))
            await app.memory_worker.run_command(lambda memory: session.add("user", "a periwinkle on the pier"))
            await until(pilot, lambda: any("periwinkle" in text for text in hits(app)))

    run(body)


@pytest.mark.parametrize(
    ("text", "left", "narrowed"),
    [
        ("source:slack budget", "budget", SearchFilters(sources=("slack",))),
        ("source:slack", "source:slack", SearchFilters()),
        ('author:ana author:"Ben Weber" x', "x", SearchFilters(authors=("ana", "Ben Weber"))),
        ('user:"ana maria" role:user x', "x", SearchFilters(user="ana maria", roles=("user",))),
        ('author:"Ben We', 'author:"Ben We', SearchFilters()),
        ('author:"Ben Weber"', 'author:"Ben Weber"', SearchFilters()),
        (
            'file:plan.md tool:bash x topic:"the move" y',
            "x y",
            SearchFilters(files=("plan.md",), tools=("bash",), topics=("the move",)),
        ),
        ("with:ben with:mum x", "x", SearchFilters(participants=("ben", "mum"))),
        ("http://a.b:80 c", "http://a.b:80 c", SearchFilters()),
        ("resource:slack x", "resource:slack x", SearchFilters()),
        ("a since:2024 b until:2024-02 c", "a b c", SearchFilters(since="2024", until="2024-02")),
    ],
)
def test_filters_are_taken_out_of_what_is_typed(text: str, left: str, narrowed: SearchFilters) -> None:
    assert extract_filters(text, SearchFilters()) == (left, narrowed)


def test_a_value_in_quotation_marks_is_one_value_at_every_key() -> None:
    text = 'author:"Ben We" paper'
    for end in range(len('author:"'), len('author:"Ben We"') + 1):
        typed = text[:end]
        assert extract_filters(typed, SearchFilters()) == (typed, SearchFilters()), typed
        assert partial_filter(typed) == ("author", typed.removeprefix("author:").strip('"'))
        assert not without_partial_filter(typed)
    assert extract_filters(text, SearchFilters()) == ("paper", SearchFilters(authors=("Ben We",)))
    assert extract_filters('x author:"Ben We', SearchFilters(), NO_CURSOR) == ("x ", SearchFilters(authors=("Ben We",)))


def test_years_and_months_are_whole() -> None:
    assert (since_date("2024"), until_date("2024")) == ("2024-01-01", "2024-12-31")
    assert (since_date("2024-02"), until_date("2024-02")) == ("2024-02-01", "2024-02-29")
    assert (since_date("2024-02-03"), until_date("2024-13")) == ("2024-02-03", "2024-13")
    assert (since_date("0000"), until_date("0000-02")) == ("0000", "0000-02")  # an error names what was typed
    assert (since_date("today"), until_date("today")) == ("today", "today")
    assert partial_filter("bread source:wh") == ("source", "wh") and partial_filter("bread") is None


@pytest.mark.slow
def test_a_search_that_the_memory_refuses_is_told(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await type_in(pilot, "since:nonsense bread")
            await until(pilot, lambda: "nonsense" in str(app.query_one("#note", Static).render()))
            assert app.query_one(Input).value == "bread"

    run(body)


def test_a_refused_search_says_why_and_nothing_of_the_search_before(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            page, hits = app.screen, app.query_one(HitList)
            page.search_filters = SearchFilters(since="yesterday")
            page.query_one(SearchInput).value = "macaw"
            await until(pilot, lambda: "Filters: since:yesterday" in hits._reason.plain)
            page.search_filters = SearchFilters(since="2023-13-45")
            await until(pilot, lambda: "2023-13-45" in str(app.query_one("#note", Static).render()))
            page._show_summary()  # as when the completions are there
            assert "2023-13-45" in str(app.query_one("#note", Static).render())
            assert not hits.hits and not hits._reason.plain

    run(body)
