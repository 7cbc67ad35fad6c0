"""One word in several spellings, as people write it and as they ask for it to be forgotten."""

from __future__ import annotations

import pytest

from appliance import Appliance
from appliance.store.spellings import matcher

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
