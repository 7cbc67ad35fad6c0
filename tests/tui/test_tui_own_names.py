"""A message has the name of who wrote it, never that of another person with a similar account."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import opened

from appliance.requests.typed_filters import SearchFilters
from appliance.types import Identity, Person
from appliance_tui.author_colours import name_keys, person_names
from appliance_tui.filters import filter_options


def person(id: str, name: str, *identities: Identity) -> Person:
    return Person(id, name, False, identities, 1, 1, None, None)


SLACK = person("p3", "Tomas Weber", Identity("slack", "name", "Tomas Weber"), Identity("slack", "handle", "tomas"))


@pytest.mark.parametrize("other", [Identity("whatsapp", "name", "Tomas"), Identity("discord", "handle", "tomas")])
def test_a_user_name_names_nobody_else(other: Identity) -> None:
    both = [SLACK, person("p6", "Tomas", other)]
    assert person_names([SLACK]) == {"tomas": "Tomas Weber"}
    for people in (both, both[::-1]):
        assert person_names(people).get("tomas", "Tomas") == "Tomas"
        assert name_keys(people).get("tomas", "tomas") == "tomas"


def test_the_people_who_are_merged_have_one_name() -> None:
    merged = person("p3", "Tomas Weber", *SLACK.identities, Identity("whatsapp", "name", "Tomas"))
    assert person_names([merged]) == {"tomas": "Tomas Weber"}


def test_the_filter_for_an_author_leaves_only_that_one(tmp_path: Path) -> None:
    with opened(tmp_path / "home")() as memory:
        for author in ("Tomas", "Tomas Weber"):
            memory.sessions.create(title=author).add("user", "The boiler is loud", author=author)
        names = {option.label: option for option in filter_options(memory, None) if option.name == "author"}
        assert set(names) == {"author: Tomas", "author: Tomas Weber"}
        chosen = names["author: Tomas"]
        filters = SearchFilters().with_filter(chosen.name, chosen.value)
        hits = memory.search("boiler", **filters.search_arguments(None))
        assert [hit.author for hit in hits] == ["Tomas"]
