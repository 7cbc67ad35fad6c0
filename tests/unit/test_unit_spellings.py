"""One word in several spellings, as people write it and as they ask for it to be forgotten."""

from __future__ import annotations

from importlib.resources import files

import pytest

from appliance import Appliance
from appliance.store import lexical
from appliance.store.spellings import TOKENIZER, matcher, word_matcher

STREET = ("Königstraße 5", "königstrasse 5", "KOENIGSTRASSE 5", "Koenigstraße 5", "Ko\u0308nigstrasse 5")


@pytest.mark.parametrize("asked", ["Königstraße", "königstrasse", "KÖNIGSTRASSE", "Koenigstrasse", "Koenigstraße"])
@pytest.mark.parametrize("written", STREET)
def test_umlauts_and_sharp_s_have_several_spellings(asked: str, written: str) -> None:
    assert matcher(asked)(f"Wir treffen uns in der {written}.")


@pytest.mark.parametrize(
    ("asked", "written"), [("cafe", "the Café"), ("Muller", "Herr Müller"), ("Zoë", "zoe"), ("blue", "a BLUE one")]
)
def test_accents_do_not_matter(asked: str, written: str) -> None:
    assert matcher(asked)(written)


@pytest.mark.parametrize(
    ("asked", "written"), [("dos", "it does"), ("Masse", "Mase"), ("blü", "bli"), ("does", "dos"), ("quen", "queen")]
)
def test_plain_letters_stand_for_themselves(asked: str, written: str) -> None:
    assert not matcher(asked)(written)


@pytest.mark.parametrize("asked", ["Königstrasse 5", pytest.param("koenigstraße 5", marks=pytest.mark.slow)])
def test_words_are_forgotten_in_every_spelling(memory: Appliance, asked: str) -> None:
    session = memory.sessions.create(title="streets")
    said = {session.add("user", f"Der Schlüssel liegt in der {street}").id for street in STREET}
    session.add("user", "Der Markt ist in der Hauptstraße 5")
    preview = memory.erasure.preview(query=asked)
    assert {f"m{key}" for key in preview.messages} == said
    memory.sessions.create(title="Zur Königstraße 5").add("user", "hallo")
    assert len(memory.erasure.preview(title=asked).messages) == 1
    assert len(memory.erasure.forget(memory.erasure.preview(query=asked)).proof.traces) == 0


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        *[("Anna", "Anna"), ("anna", "Dinner with ÀNNA!"), ("Anna", "Anna's birthday"), ("Box 15", "box  15, opened")],
        *[
            ("C++", "notes on C++"),
            ("東京", "東京都へ行く"),
            ("猫", "黒い猫"),
            ("ประเทศ", "ประเทศไทย"),
            ("🍕", "pizza 🍕"),
        ],
        ("Königstrasse 5", "Zur Königstraße 5"),
        ("half", "half \ud800 a character"),
    ],
)
def test_words_are_whole_and_in_scripts_without_spaces_runs(asked: str, written: str) -> None:
    with word_matcher(asked) as has_words:
        assert has_words(written)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        *[("Anna", "Annabelle divorce papers"), ("Box 15", "Box 150"), ("ax 20", "Tax 2021"), ("Box 15", "Boombox 15")],
        *[("C++", "notes on C"), ("東京", "京都"), ("15 Box", "Box 15"), ("Königstrasse 5", "Zur Königstraße 55")],
    ],
)
def test_parts_of_words_are_not_the_words(asked: str, written: str) -> None:
    with word_matcher(asked) as has_words:
        assert not has_words(written)


def test_words_are_made_as_the_full_text_makes_them() -> None:
    schema = (files("appliance.store") / "schema.sql").read_text()
    assert schema.count("tokenize=") == schema.count(f"tokenize='{TOKENIZER}'") == len(lexical.FTS_TABLES)
