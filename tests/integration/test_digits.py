"""A number is found in the digits of whatever script the message or the query has."""

from __future__ import annotations

import pytest

from appliance import Appliance

SAID = [
    "الإيجار أصبح ١٥٠٠ ريال",
    "कमरा नंबर ४२ में",
    "The rent is 1850 euros",
    "Room 42 has the better view",
    "the piano piece n39999 is hard",
    "The plumber comes on Tuesday",
]


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    session = memory.sessions.create(title="numbers")
    for text in SAID:
        session.add("user", text)
    return memory


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "found"),
    [("1500", {0}), ("١٥٠٠", {0}), ("42", {1, 3}), ("४२", {1, 3}), ("rent ١٨٥٠", {2}), ("1.500", {0})],
)
def test_the_script_of_digits_does_not_matter(
    filled: Appliance, query: str, found: set[int], mode: str, is_indexed: bool
) -> None:
    if is_indexed:
        filled.embed_pending()
    hits = filled.search(query, mode=mode, min_score=0)  # type: ignore[arg-type]
    assert {SAID.index(hit.text) for hit in hits[: len(found)]} == found
    assert not [note for note in hits.notes if "letter by letter" in note]


def test_the_digits_of_a_name_are_no_number_by_themselves(filled: Appliance) -> None:
    filled.embed_pending()
    hits = filled.search("piano n39999", min_score=0)
    assert hits[0].text == SAID[4] and not [note for note in hits.notes if "39999" in note]
