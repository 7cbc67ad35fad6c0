"""What the screen says about filters that are typed, and of a search without a match."""

from __future__ import annotations

import pytest

from appliance_tui.filters import filter_note


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
