"""Texts of megabytes: what is cut of them is right, and nobody reads more of them than that takes."""

from __future__ import annotations

from appliance.context import budget
from appliance.retrieval.snippet import SCAN_CHARACTERS, snippet

FILLER = "Nothing of note here, nor there. " * (10 * SCAN_CHARACTERS // 33)


def test_a_word_far_behind_is_found() -> None:
    text = f"{FILLER}The violin hangs in the hall. {FILLER}"
    assert "The violin hangs in the hall." in snippet(text, ["violins"], None)
    across = "x" * (SCAN_CHARACTERS - 3) + " violin " + FILLER
    assert "violin" in snippet(across, ["violin"], None)
    assert snippet(FILLER, ["violin"], None).startswith("Nothing of note")


def test_a_snippet_shows_the_rarest_word_though_another_part_was_the_nearest() -> None:
    text = "Room 77 is on floor 77. " * 40 + "The code word is axolotl-77. " + "Room 12 has a view. " * 90
    words = ["axolotl", "77"]
    assert "axolotl-77" in snippet(text, words, (len(text) - 900, len(text)))
    assert "axolotl-77" in snippet(text, words, (0, 1_000)), "not where one of the words stands most often"
    assert "axolotl-77" in snippet(text, words, None)
    assert "灯台" in snippet("船は港を出た。" * 90 + "灯台は赤い。" + "海は静か。" * 90, ["灯台"], (0, 300))


def test_a_long_text_is_shortened_to_what_is_asked_for_with_few_counts() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    short = budget.shorten(f"{FILLER}The violin hangs in the hall. {FILLER}", ["violin"], 40, count)
    assert short is not None and "The violin hangs in the hall." in short.text and short.tokens <= 40
    assert len(counted) < 300
