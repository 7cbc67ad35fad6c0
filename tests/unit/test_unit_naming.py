"""A title is found in what a person says first, or none is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.store import title_extraction
from appliance.store.title_extraction import MAX_TITLE_CHARACTERS, extract_title
from tests.waits import spent

SECONDS_AT_MOST = 2.0
"""A cost that grows with the square would be minutes."""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hey Claude, can you help me with my python script?", "My python script"),
        ("I need to plan a trip to Lisbon in April. Budget is 900.", "Plan a trip to Lisbon in April"),
        ("Good morning! Please, what is the capital of Peru?", "What is the capital of Peru?"),
        ("Thanks!\nThe next thing is the database migration", "The next thing is the database migration"),
        ("# Project plan\n\n- build it", "Project plan"),
        ("My deadline is March 15th", "My deadline is March 15th"),
        ("My dentist is Dr. Lopez, in Calle Mayor. She is kind.", "My dentist is Dr. Lopez, in Calle Mayor"),
        ("So I have been thinking about leaving my job", "So I have been thinking about leaving my job"),
        ("Right click does not work in the browser", "Right click does not work in the browser"),
        ("```python\nprint(1)\n```\nWhy does this print 1?", "Why does this print 1?"),
        ("How do I use `git rebase` here?", "How do I use git rebase here?"),
        ("https://example.org/x what does the article say", "What does the article say"),
        ("See [the lease](https://example.org/l) and tell me who pays", "See the lease and tell me who pays"),
        ("Hallo, kannst du mir bitte erklären, wie eine Wärmepumpe läuft?", "Wie eine Wärmepumpe läuft?"),
        ("Hola, ¿puedes ayudarme con mi declaración de impuestos?", "Mi declaración de impuestos"),
        ("冷蔵庫の修理を頼みたい", "冷蔵庫の修理を頼みたい"),
    ],
)
def test_what_a_message_is_about(text: str, found: str) -> None:
    assert extract_title(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hi",
        "Hello there!",
        "ok",
        "ok, thanks",
        "Please",
        "can you?",
        "x",
        "🙂",
        "https://example.org",
        "```\ncode\n```",
    ],
)
def test_what_says_nothing_gives_no_title(text: str) -> None:
    assert extract_title(text) is None


def test_a_long_line_is_cut_at_a_word() -> None:
    found = extract_title("The history of the printing press and of its impact on European literacy rates")
    assert found == "The history of the printing press and of its impact on…"
    assert extract_title("a" * 500) == "A" + "a" * (MAX_TITLE_CHARACTERS - 2) + "…"


@given(st.text(max_size=300))
def test_a_title_is_always_one_short_clean_line(text: str) -> None:
    found = extract_title(text)
    if found is not None:
        assert 0 < len(found) <= MAX_TITLE_CHARACTERS
        assert found == " ".join(found.split())
        assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in found)
        found.encode()


@pytest.mark.parametrize(
    "hostile", ["[" * 50_000, "<" * 50_000, "a" * 50_000, "hi " * 20_000, "@." * 30_000, "`" * 50_000, "![](" * 10_000]
)
def test_hostile_text_costs_nothing(hostile: str) -> None:
    assert spent(lambda: title_extraction.extract_title(hostile)) < SECONDS_AT_MOST
