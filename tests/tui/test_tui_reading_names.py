"""Who wrote a message, in a conversation among people: a name, an initial and a colour of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import opened, run, shown, until

from appliance.types import Identity, Outline, Person
from appliance_tui.app import ApplianceApp
from appliance_tui.author_colours import NO_NAMES, author_key, person_names, readable_colours, title_with_names
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.themes import THEMES
from appliance_tui.widgets.turn_headers import header_line

COLOURS = {"muted": "#888888"}


def header(author: str, role: str = "user", names: dict[str, str] | None = None) -> tuple[str, str]:
    """The header of a message and the colour of its author."""
    outline = Outline("s1", ["m1"], [role], [author], ["2026-02-06T10:30:00Z"], [1], [1], [False], [0])
    palette = readable_colours(THEMES[0].to_color_system().generate())
    strip = header_line(outline, 0, COLOURS, palette, NO_NAMES, names or {})
    style = next(iter(strip)).style
    assert style is not None and style.color is not None
    return strip.text.strip(), style.color.name


def test_people_have_their_initial_and_other_roles_their_letter() -> None:
    assert header("Mira")[0] == "M  Mira  10:30"
    assert header("ömer")[0] == "Ö  ömer  10:30"
    assert header("")[0] == "U  user  10:30"
    assert header("Claude", "assistant")[0] == "A  Claude  10:30 · assistant"
    assert header("", "tool")[0] == "T  tool  10:30"
    assert header("+49 170 123")[0] == "U  +49 170 123  10:30"  # no letter to begin with
    assert header("麺")[0] == "麺  麺  10:30"
    assert header("Mira")[1] != header("Ben")[1]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("+49 170 1234567", "+491701234567"),
        ("(0170) 123-4567", "01701234567"),
        ("Mira@Example.org", "mira@example.org"),
    ],
)
def test_who_writes_under_a_number_or_an_address_has_a_name(written: str, kept: str) -> None:
    kind = "address" if "@" in kept else "number"
    identities = (Identity("imessage", kind, kept), Identity("whatsapp", "name", "Mimi"))  # type: ignore[arg-type]
    names = person_names([Person("p1", "Mira", False, identities, 1, 1, None, None)])
    assert header(written, names=names)[0] == "M  Mira  10:30"
    assert header(written, names=names)[1] == header("Mira")[1]
    assert header("Mimi", names=names)[0] == "M  Mimi  10:30"  # a name stays as it is written
    assert author_key("Room 12-3") == "room 12-3"


def test_my_own_handle_stays_what_was_written() -> None:
    identities = (Identity("imessage", "handle", "me"), Identity("imessage", "number", "+4917099"))
    names = person_names([Person("p1", "Alice", True, identities, 1, 1, None, None)])
    assert header("Me", names=names)[0] == "M  Me  10:30" and header("+49 170 99", names=names)[0].startswith(
        "A  Alice"
    )


def test_titles_that_are_numbers_or_addresses_are_names() -> None:
    names = {"+491701": "Mira", "ben@example.org": "Ben"}
    assert title_with_names("+49 170 1, Ben@example.org, +33 1", names) == "Mira, Ben, +33 1"
    assert title_with_names("Mira, +49 170 1", names) == "Mira, +49 170 1"
    assert title_with_names("2025, a year", names) == "2025, a year" and title_with_names("", names) == ""


def test_lists_show_names_in_place_of_numbers(home: Path) -> None:
    with opened(home)() as memory:
        session = memory.sessions.create(title="+49 170 1234567")
        session.add("user", "See you at the pier", author="+49 170 1234567")
        person = next(one for one in memory.people.list() if "1234567" in str(one.identities))
        memory.people.rename(person.id, "Mira")

    async def body() -> None:
        async with shown(home, size=(140, 40)) as (app, pilot):
            await until(pilot, lambda: app.person_names)
            for keys, count in (((), 1), (("f2",), 2), (("ctrl+y",), 3), (("f1", "p", "i", "e", "r"), 3)):
                await pilot.press(*keys)
                await until(pilot, lambda count=count: seen(app).count("Mira") >= count)  # type: ignore[misc]
                assert "1234567" not in seen(app)

    run(body)


def seen(app: ApplianceApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.slow
def test_a_number_is_read_as_the_name_that_it_was_given(home: Path) -> None:
    with opened(home)() as memory:
        session = memory.sessions.create(title="Pier")
        session.add("user", "See you at the pier", author="+49 170 1234567")
        person = next(one for one in memory.people.list() if "1234567" in str(one.identities))
        memory.people.rename(person.id, "Mira")

    async def body() -> None:
        async with shown(home) as (app, pilot):
            await until(pilot, lambda: app.person_names)
            app.read(session.id)
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and "M  Mira" in text(app.screen))

    run(body)


def text(page: object) -> str:
    assert isinstance(page, ConversationScreen)
    return "\n".join(strip.text for strip in page._compositor.render_strips())
