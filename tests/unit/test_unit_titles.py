"""The titles of chats that their exports give none: the people in them."""

from __future__ import annotations

import pytest

from appliance.store.sessions import people_title


@pytest.mark.parametrize(
    ("names", "me", "title"),
    [
        (["Ana"], None, None),
        (["Ana", "Ben"], None, "Ana and Ben"),
        (["Ana", "Ben"], "Ana", "Chat with Ben"),
        (["Ana", "Ben", "Cem"], None, "Ana, Ben and Cem"),
        (["Ana", "Ben", "Cem", "Dora", "Eli"], None, "Ana, Ben and 3 others"),
    ],
)
def test_the_title_of_a_chat_names_its_people(names: list[str], me: str | None, title: str | None) -> None:
    assert people_title(names, me) == title
