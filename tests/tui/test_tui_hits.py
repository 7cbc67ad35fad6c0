"""The path of a search: from the list of hits to the sentence that was found, and on to the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from rich.style import Style
from screens import run, shown, type_in, until
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Static

from appliance import Appliance, Hit, Hits
from appliance.types import Source
from appliance_models import HashEmbedder
from appliance_tui.author_colours import MIN_CONTRAST, contrast, name_keys, readable_colours
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.explanation import ExplanationScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.search_results import ResultPage, SearchResults, SearchSpec, group_near, read_page
from appliance_tui.themes import THEMES
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.match_highlights import passage_pattern, spans_by_line, words_pattern
from appliance_tui.workers import MemoryChanged
from tests.homes import copied

LONG = "\n".join(f"- item {number} of the list" for number in range(80))


def lines() -> Iterator[dict[str, object]]:
    """Two conversations: one with two messages about a lighthouse, one a hidden line of a long list; many on fog."""
    texts = [f"Fog again, number {number}." for number in range(60)]
    texts[10] = "We talked. The **lighthouse keeper** is called Mira Halvorsen. Then we left."
    texts[12] = "I saw it too."
    texts[40] = "Another lighthouse stands in the south."
    for number, text in enumerate(texts):
        yield {"session_id": "coast", "session_title": "The coast", "message_id": f"c{number}", "role": "user",
               "author": "Ana" if number % 2 else "Ben", "timestamp": f"2025-03-01T09:{number:02}:00Z",
               "content": text}  # fmt: skip
    for number, text in enumerate(("Look:", f"{LONG}\n\nThe lighthouse was painted in 1987.\n\n{LONG}", "Thanks.")):
        yield {"session_id": "list", "session_title": "The list", "message_id": f"l{number}", "role": "assistant",
               "timestamp": f"2025-04-01T09:{number:02}:00Z", "content": text}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    (folder / "coast.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines()), encoding="utf-8")
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(folder / "coast.jsonl")
    return folder / "home"


@pytest.fixture
def filled(built: Path, home: Path) -> Path:
    return copied(built, home)


def note(app) -> str:  # type: ignore[no-untyped-def]
    name = "#reading-note" if isinstance(app.screen, ConversationScreen) else "#note"
    return str(app.screen.query_one(name, Static).render())


def rows(page: ConversationScreen) -> list[Strip]:
    return [page.transcript.render_line(row) for row in range(page.transcript.size.height)]


def glowing(page: ConversationScreen) -> str:
    """The text on the screen that has the background of the passage."""
    glow = Style(bgcolor=readable_colours(page.app.theme_variables).glow).bgcolor
    return " ".join(s.text for strip in rows(page) for s in strip if s.style and s.style.bgcolor == glow)


def marked(page: ConversationScreen) -> set[str]:
    """The words on the screen that are marked as matches."""
    return {s.text for strip in rows(page) for s in strip if s.style and s.style.reverse and len(s.text) > 3}


async def searched(app, pilot, query: str) -> HitList:  # type: ignore[no-untyped-def]
    await type_in(pilot, query)
    await until(pilot, lambda: app.screen.answered_query == query)
    return app.query_one(HitList)  # type: ignore[no-any-return]


def session_of(app) -> str:  # type: ignore[no-untyped-def]
    return app.screen.info.external_id if app.screen.info else ""  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("query", "said"), [("macaw", "found by meaning ·"), ("lighthouse", "found by meaning, 2 matches  n N ·")]
)
def test_a_hit_without_a_word_of_the_query_counts_no_words(filled: Path, query: str, said: str) -> None:
    async def body() -> None:
        async with shown(filled, size=(100, 24)) as (app, pilot):
            memory, spec = app.memory_worker.memory(), SearchSpec(query, {})
            (hit,) = memory.search("saw it too", limit=1)
            assert hit.external_id == "c12"
            hit = replace(hit, why={"legs": {"dense": {"rank": 1}}})
            matches = {one.message_id: one for one in memory.overview.matches(query, [hit.message_id])}
            results = SearchResults(spec, [hit], matches, total=1)
            app.push_screen(ConversationScreen(hit.session_id, hit.message_id, results))
            await until(pilot, lambda: said in note(app))
            assert "match 1" not in note(app)

    run(body)


@pytest.mark.slow
def test_all_lines_of_a_hit_begin_below_each_other(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(20, 24)) as (app, pilot):
            hits = await searched(app, pilot, "fog number")
            assert hits.results is not None and hits.results.followers
            await until(pilot, lambda: any("↳" in hits.render_line(row).text for row in range(hits.size.height)))
            texts = [hits.render_line(row).text for row in range(hits.size.height)]
            head = next(row for row, text in enumerate(texts) if "↳" in text)
            text = next(row for row in range(head, len(texts)) if texts[row].strip().startswith("Fog again,"))
            first, second = (len(line) - len(line.lstrip()) for line in texts[text : text + 2])
            assert texts[text + 1].strip() and first == second

    run(body)


def test_enter_lands_on_the_sentence_and_brackets_go_on(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(100, 24)) as (app, pilot):
            hits = await searched(app, pilot, "lighthouses")
            found = [hit.external_id for hit in hits.hits]
            assert {"c10", "c40", "l1"} <= set(found)
            hits.highlighted = found.index("c10")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen))
            page = app.screen
            await until(pilot, lambda: "Mira Halvorsen" in glowing(page))
            assert "We talked" not in glowing(page) and "lighthouse" in marked(page)
            await until(pilot, lambda: "match 1 of 2  n N" in note(app))
            column = page.transcript.scrollable_content_region.width - 1
            marks = [row for row, strip in enumerate(rows(page)) if strip.text[column] == "━"]
            heights = page.transcript._heights
            assert marks == [heights.top(index) * len(rows(page)) // heights.total for index in (10, 40)]
            await pilot.press("n")
            await until(pilot, lambda: page.transcript.mark == 40)
            await until(pilot, lambda: f"hit {found.index('c40') + 1} of " in note(app))  # whatever led to it
            await pilot.press("N")
            await until(pilot, lambda: page.transcript.mark == 10)
            # On to each of the other hits, one of which is folded away in another conversation.
            page.action_hit(found.index("l1") - found.index("c10"))
            await until(pilot, lambda: session_of(app) == "list" and "1987" in glowing(page))
            assert page.transcript.mark == 1 and f"hit {found.index('l1') + 1} of " in note(app)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen))
            assert hits.chosen is not None and hits.chosen.external_id == "l1"

    run(body)


@pytest.mark.slow
def test_the_last_hit_says_so_and_without_a_search_brackets_are_days(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await searched(app, pilot, "halvorsen")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.is_current)
            await until(pilot, lambda: "Halvorsen" in glowing(app.screen))
            await pilot.press("left_square_bracket")
            await until(pilot, lambda: any("first hit" in one.message for one in app._notifications))
            await pilot.press("escape")
            app.read("coast")
            await until(pilot, lambda: "1 of 60" in note(app))
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: any("last day" in one.message for one in app._notifications))

    run(body)


@pytest.mark.slow
def test_all_hits_are_listed_page_by_page(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(100, 24)) as (app, pilot):
            hits = await searched(app, pilot, "fog")
            await until(pilot, lambda: "63 hits" in note(app) and "the first 10" in note(app))
            await pilot.press("tab")
            for listed in (30, 50, 63):
                await pilot.press("end")
                await until(pilot, lambda listed=listed: hits.option_count == listed)
            await until(pilot, lambda: "63 hits" in note(app) and "the first" not in note(app))
            assert len({hit.message_id for hit in hits.hits}) == 63
            await pilot.resize_terminal(100, 60)
            await pilot.press("slash", *"mist", "ctrl+u", *"fog")
            await until(pilot, lambda: "63 hits" in note(app) and "the first 26" in note(app))

    run(body)


@pytest.mark.slow
def test_hits_are_sorted_by_time_and_by_score(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            hits = await searched(app, pilot, "lighthouse")
            await pilot.press("tab", "s")
            await until(pilot, lambda: "newest first" in note(app))
            assert [hit.external_id for hit in hits.hits] == ["l1", "c40", "c10"]
            await pilot.press("s")
            await until(pilot, lambda: "newest first" not in note(app))
            hits.highlighted = 1
            selected, results = hits.chosen, hits.results
            app.screen.post_message(MemoryChanged("embedded", {}))  # the same search again
            await until(pilot, lambda: hits.results is not results)
            assert hits.chosen == selected

    run(body)


@pytest.mark.slow
def test_the_preview_shows_turns_around_and_nothing_stale(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(110, 30)) as (app, pilot):
            await searched(app, pilot, "halvorsen")
            preview = app.query_one("#preview-text", Static)
            await until(pilot, lambda: "Fog again, number 8." in str(preview.render()))
            words = str(preview.render())
            assert "number 9." in words and "I saw it too." in words and "number 11." in words
            await type_in(pilot, " since:2030 ")
            await until(pilot, lambda: note(app).startswith("No matches"))
            assert not str(preview.render()) and not app.query_one(HitList).hits
        async with shown(filled, size=(109, 30)) as (app, pilot):
            assert not app.query_one("#preview").display

    run(body)


@pytest.mark.slow
def test_stop_words_are_not_marked_and_the_selected_hit_has_a_bar(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            hits = await searched(app, pilot, "is there the lighthouse in it")
            await until(pilot, lambda: hits.hits)
            index = next(n for n, hit in enumerate(hits.hits) if hit.external_id == "c10")
            content = cast("Content", hits.get_option_at_index(index).prompt)
            match = readable_colours(app.theme_variables).match
            head = content.plain.index("\n")
            styled = {content.plain[s.start : s.end] for s in content.spans if s.start > head and match in str(s.style)}
            assert styled == {"lighthouse"}
            hits.highlighted = 0
            await pilot.pause()
            drawn = [hits.render_line(row).text for row in range(hits.size.height)]
            assert drawn[0].startswith("▌") and not drawn[3].startswith("▌")

    run(body)


@pytest.mark.slow
def test_w_says_why_in_one_sentence_with_the_words_near_by(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            hits = await searched(app, pilot, "halvorsen number")
            hits.highlighted = [hit.external_id for hit in hits.hits].index("c9")
            await pilot.press("tab", "w")
            await until(
                pilot, lambda: isinstance(app.screen, ExplanationScreen) and app.screen.query("#why-description")
            )
            sentence = str(app.screen.query_one("#why-description", Static).render()).splitlines()[0]
            assert sentence.startswith("Found ") and "near a message with “Halvorsen”" in sentence

    run(body)


def test_pages_follow_one_another_and_near_hits_stand_together(built: Path, home: Path) -> None:
    copied(built, home)
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        results = SearchResults(SearchSpec("fog", {}))
        results.add(read_page(memory, results.spec))
        results.add(read_page(memory, results.spec, len(results)))
        ids = [hit.message_id for hit in results.hits]
        whole = [hit.message_id for hit in memory.search("fog", limit=30)]
        assert len(ids) == 30 and set(ids) == set(whole)
        for previous, hit in zip(results.hits, results.hits[1:], strict=False):
            if hit.message_id in results.followers:
                assert previous.session_id == hit.session_id
        hits = memory.search("lighthouse saw").hits
        near = [(hit.external_id, follows) for hit, follows in group_near(hits)]
        assert [follows for name, follows in near if name in ("c10", "c12")] == [False, True]
        assert ("c40", False) in near


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_all_colours_are_readable_and_stay_with_a_name(theme) -> None:  # type: ignore[no-untyped-def]
    from textual.color import Color

    variables = theme.to_color_system().generate()
    colours = readable_colours(variables)
    backgrounds = [Color.parse(variables[name]) for name in ("background", "surface")]
    backgrounds += [backgrounds[0].blend(Color.parse(variables["primary"]), 0.2), Color.parse(colours.glow)]
    texts = [colours.muted, colours.match, colours.meter, colours.star, *colours.unnamed.values(), *colours.names]
    for text in map(Color.parse, texts):
        assert all(contrast(text, background) >= MIN_CONTRAST - 0.05 for background in backgrounds)
    assert colours.of_author("Ana", "user") == colours.of_author("ana", "assistant")
    people = {"ana": "ana lópez", "ana.l@example.org": "ana lópez"}
    assert colours.of_author("Ana", "user", people) == colours.of_author("ana.l@example.org", "user", people)


@pytest.mark.slow
def test_a_person_has_one_colour_under_all_names(built: Path, home: Path) -> None:
    copied(built, home)
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        keys = name_keys(memory.people.list())
        assert keys["ana"] == "ana" and keys["ben"] == "ben"


def test_a_passage_is_found_in_rendered_lines() -> None:
    rendered = [Strip.blank(0), *(Strip([_segment(text)]) for text in ("• The ferry leaves", "at 06:40 from", "pier"))]
    pattern = passage_pattern("The **ferry** leaves\nat `06:40` from the second pier.")
    assert pattern is not None
    assert spans_by_line(rendered, pattern) == {1: [(2, 18)], 2: [(0, 13)]}
    words = words_pattern(["ferry", "東京"])
    assert words is not None
    assert [found.group() for found in words.finditer("Ferry, ferryman, 私は東京都")] == ["Ferry", "東京"]


def _segment(text: str):  # type: ignore[no-untyped-def]
    from rich.segment import Segment

    return Segment(text)


def page(ids: str, likely: int) -> ResultPage:
    """A page of hits of one conversation, with ranks as in ``ids``: "2:10" is the second hit, message 10."""
    hits = [
        Hit(rank=int(rank), score=0.5, message_id=f"m{number}", external_id=number, session_id="s1",
            external_session_id="s", session_title=None, role="user", author="Ana", timestamp=None, text=number,
            snippet=number, source=Source("jsonl", None), tier="hot", why={}, folded=8 if rank == "1" else 0)
        for rank, number in (one.split(":") for one in ids.split())
    ]  # fmt: skip
    return ResultPage(Hits(tuple(hits), "q", "hybrid", (), 0.0, total=9, likely=likely), {})


def test_less_likely_hits_stand_behind_all_likely_ones_however_near() -> None:
    results = SearchResults(SearchSpec("q", {}))
    results.add(page("1:10 2:50 3:11 4:51", likely=2))
    assert [hit.message_id for hit in results.hits] == ["m10", "m50", "m11", "m51"]
    assert results.last_likely == 1 and not results.followers and results.total_text() == "4 hits, 2 likely"
    results.position = 2
    assert (
        results.position_text("m11") == "less likely hit 3 of 4"
        and results.position_text("m12") == "left less likely hit 3 of 4"
    )
    by_time = SearchResults(SearchSpec("q", {}, sort="time"))
    by_time.add(page("1:10 2:50 3:11", likely=1))
    assert by_time.last_likely is None and by_time.followers == {"m11"} and by_time.total_text() == "3 hits"
    weak = SearchResults(SearchSpec("q", {}))
    weak.add(page("1:10 2:50", likely=0))
    assert weak.are_weak and not results.are_weak and not by_time.are_weak and weak.last_likely is None
    assert weak.total_text() == "2 hits, weak matches only"
    by_filters = SearchResults(SearchSpec(" ", {"sources": ["irc"]}))
    by_filters.add(page("1:10 2:50 3:11", likely=1))
    assert by_filters.total_text() == "3 hits"


@pytest.mark.slow
def test_a_line_stands_between_likely_hits_and_others_and_a_row_says_how_many_it_stands_for(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, size=(80, 24)) as (app, pilot):
            hits = await searched(app, pilot, "halvorsen")
            results = SearchResults(SearchSpec("q", {}))
            results.add(page("1:10 2:50", likely=2))
            hits.show(results)
            await pilot.pause()
            drawn = [hits.render_line(row).text.rstrip() for row in range(hits.size.height)]
            assert "Ana ×9" in drawn[0] and not any("less likely" in line for line in drawn)
            results.add(page("3:90 4:120", likely=2))
            hits.extend()
            await pilot.pause()
            drawn = [hits.render_line(row).text.rstrip() for row in range(hits.size.height)]
            assert drawn[4].startswith("── less likely ──") and "Ana" in drawn[5] and "Ana" in drawn[7]
            weak = SearchResults(SearchSpec("q", {}))
            weak.add(page("1:10", likely=0))
            hits.show(weak)
            await pilot.pause()
            assert hits.styles.border_top[0] == "solid" and "less likely" in str(hits.border_title)
            hits.show(results)
            await pilot.pause()
            assert not hits.styles.border_top[0]
            hits.highlighted = 1
            await pilot.pause()
            assert hits.render_line(3).text.startswith("▌") and hits.render_line(4).text.startswith("──")
            hits.show(results)
            await pilot.pause()
            assert [hits.render_line(row).text.rstrip() for row in range(hits.size.height)][4] == drawn[4]

    run(body)
