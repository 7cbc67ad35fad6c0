"""Colours of text that is readable: one for each author, and those of a theme, moved where they are not."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.color import Color

from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from appliance.types import Person

MIN_CONTRAST = 4.5
"""The contrast of text and background, as WCAG 2 computes it, from which text of normal size is readable (level AA)."""

HUES = 12
"""Colours for names: neighbours of more than twelve hues look alike."""


GLOW_SHARE = 0.22
"""The share of the warning colour in the background of the passage that was found."""

NO_NAMES: Mapping[str, str] = {}

_UNNAMED = {"user": "primary", "assistant": "secondary"}
"""The theme's colours of those who have no name but a role: most conversations have these two."""


@dataclass(frozen=True, slots=True)
class ReadableColours:
    """The colours of a theme for text on its backgrounds, selected rows and the passage that was found (``glow``)
    included. All have ``MIN_CONTRAST`` on each."""

    muted: str
    match: str
    glow: str
    meter: str
    star: str
    unnamed: Mapping[str, str]
    names: Sequence[str]

    def of_author(self, author: str | None, role: str, people: Mapping[str, str] | None = None) -> str:
        """The colour of an author: the same at every start, for all names of a person, whatever the role.

        Args:
            author: The name, None if the source gave none.
            role: The role, which stands for the name where there is none.
            people: Casefolded names of people, each with what stands for the person, as ``name_keys`` gives them.
        """
        name = (author or role).casefold()
        key = (people or {}).get(name, name)
        return self.unnamed.get(key) or self.names[zlib.crc32(key.encode("utf-8", "surrogatepass")) % len(self.names)]


_NUMBER_FILLING = re.compile(r"[\s().\-/\u00a0\u2011]")

ME = "user"
"""What stands for the person whose memory it is: messages of assistants' exports have the role in place of a name."""


OWN_HANDLE = "me"
"""What some messengers call the person's own account."""


def name_keys(people: Iterable[Person]) -> dict[str, str]:
    """What stands for a person, by the casefolded names under which the person alone writes."""
    known = list(people)
    others = _shared_keys(known)
    return {
        identity.value.casefold(): ME if person.me else person.name.casefold()
        for person in known
        for identity in person.identities
        if identity.kind == "name" or author_key(identity.value) not in others
    }


def person_names(people: Iterable[Person]) -> dict[str, str]:
    """The names of people by the ``author_key`` of the numbers, addresses and ids under which they alone write: a user
    name may also be how somebody else is called. "Me" stays as it is: it says who wrote, and the name of the person may
    be a guess."""
    known = list(people)
    others = _shared_keys(known)
    return {
        key: person.name
        for person in known
        for identity in person.identities
        if identity.kind != "name"
        and person.name
        and (key := author_key(identity.value)) != OWN_HANDLE
        and key not in others
    }


def _shared_keys(people: Sequence[Person]) -> set[str]:
    """What several people write under or are called, as ``author_key`` gives it."""
    owners: dict[str, str] = {}
    shared: set[str] = set()
    for person in people:
        for key in {author_key(person.name), *(author_key(identity.value) for identity in person.identities)}:
            if owners.setdefault(key, person.id) != person.id:
                shared.add(key)
    return shared


def title_with_names(title: str, names: Mapping[str, str]) -> str:
    """The title of a conversation with the names of people in place of their numbers and addresses, which messengers
    give to chats; any other title as it is. ``names`` are those of ``person_names``."""
    parts = title.split(", ")
    if not all("@" in part or author_key(part).removeprefix("+").isdecimal() for part in parts):
        return title
    return ", ".join(names.get(author_key(part), part) for part in parts)


def author_key(author: str) -> str:
    """What of an author is compared: no case, and of a telephone number no blanks, dashes and brackets."""
    digits = _NUMBER_FILLING.sub("", author)
    return digits if digits.removeprefix("+").isdecimal() else author.casefold()


def contrast(one: Color, other: Color) -> float:
    """The contrast of two opaque colours, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable(colour: Color, backgrounds: Sequence[Color]) -> Color:
    """A colour of the same hue that is readable on all backgrounds: no lighter or darker than necessary."""
    light = min(map(_luminance, backgrounds)) < 0.18  # where white and black have the same contrast
    target = Color.parse("white" if light else "black")
    for step in range(21):
        moved = colour.blend(target, step / 20)
        if min(contrast(moved, background) for background in backgrounds) >= MIN_CONTRAST:
            return moved
    return target


def readable_colours(theme: Mapping[str, str]) -> ReadableColours:
    """The colours for a theme's variables, as ``App.theme_variables`` has them."""
    names = (
        "primary", "secondary", "accent", "warning", "foreground", "background", "surface", "block-cursor-background",
        "foreground-muted",
    )  # fmt: skip
    return _readable_colours(tuple(theme[name] for name in names))


@lru_cache(8)
def _readable_colours(theme: tuple[str, ...]) -> ReadableColours:
    primary, secondary, accent, warning, foreground, background, surface, selected, muted = map(Color.parse, theme)
    glow = background.blend(warning, GLOW_SHARE)
    backgrounds = (background, surface, selected, glow)

    def hex_of(colour: Color) -> str:
        return readable(colour, backgrounds).hex

    return ReadableColours(
        muted=hex_of(muted),
        match=hex_of(warning),
        glow=glow.hex,
        meter=hex_of(accent),
        star=hex_of(warning),
        unnamed={name: hex_of({"primary": primary, "secondary": secondary}[of]) for name, of in _UNNAMED.items()},
        names=[hex_of(colour) for colour in _hues((primary, secondary, accent), foreground)],
    )


def _hues(theme: Sequence[Color], foreground: Color) -> list[Color]:
    """Colours around the circle, as strong as the theme's strongest; of a theme without colours its foreground."""
    strongest = max((colour.hsl for colour in theme), key=lambda hsl: hsl.s)
    if strongest.s < 0.1:
        return [foreground]
    saturation, lightness = min(strongest.s, 0.7), sum(colour.hsl.l for colour in theme) / len(theme)
    return [Color.from_hsl((number + 0.5) / HUES, saturation, lightness) for number in range(HUES)]


def _luminance(colour: Color) -> float:
    def linear(part: float) -> float:
        return float(part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)

    red, green, blue = map(linear, colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
