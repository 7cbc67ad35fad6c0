"""The temporal words of languages that are read together, by what they mean and as parts of patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from appliance.languages.language import TemporalWords, TimeUnit, full_names


def any_of(texts: Iterable[str]) -> str:
    """Return a pattern of alternatives; without any it matches nothing."""
    return "(?:" + ("|".join(texts).replace(" ", r"\s+") or "(?!)") + ")"


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """The temporal words of some languages.

    Attributes:
        temporal: The words of each language.
        articles: Alternatives; an elided one ends with its apostrophe.
        conjunctions: Alternatives.
        forms: The pattern of a name that is a word of something else too.
        gap: What stands between the words of an expression.
        month_first: Whether a day may stand behind its month ("March 5").
        weekdays_alone: The weekdays that mean a day without a preposition, as alternatives.
    """

    temporal: tuple[TemporalWords, ...]
    articles: str
    conjunctions: str
    forms: Mapping[str, str] = field(default_factory=dict)
    gap: str = r"\s+"
    month_first: bool = True
    weekdays_alone: str = ""

    @cached_property
    def elided(self) -> str:
        """The articles that are written together with the name behind them, as alternatives."""
        return "|".join(one for one in self.articles.split("|") if one.endswith("['’]"))

    def words(self, name: str) -> str:
        """Return one pattern of a field of all languages."""
        return any_of(text for one in self.temporal if (text := getattr(one, name)))

    def names(self, names: Iterable[str]) -> str:
        """Return one pattern of names, each in its form."""
        return any_of(self.forms.get(name) or name.replace("'", "['’]") for name in names)

    def _numbered(self, field_name: str) -> dict[str, int]:
        """The number of each name in a field, from 0 on."""
        return {
            name: number
            for one in self.temporal
            for number, names in enumerate(getattr(one, field_name))
            for name in names.split("|")
        }

    @cached_property
    def months(self) -> Mapping[str, int]:
        """The number of each month, from 1 on."""
        return {name: number + 1 for name, number in self._numbered("months").items()}

    @cached_property
    def weekdays(self) -> Mapping[str, int]:
        """The number of each weekday; Monday is 0."""
        return self._numbered("weekdays")

    @cached_property
    def full_weekdays(self) -> list[str]:
        """The weekdays without abbreviations."""
        return [name for one in self.temporal for name in full_names(one.weekdays)]

    @cached_property
    def seasons(self) -> Mapping[str, int]:
        """The month in which each season begins in the north."""
        return {name: 3 * number + 3 for name, number in self._numbered("seasons").items()}

    @cached_property
    def quarters(self) -> Mapping[str, int]:
        """The number of each quarter of a year, from 0 on."""
        return self._numbered("quarters")

    @cached_property
    def holidays(self) -> Mapping[str, tuple[int, int]]:
        """The month and the day of each holiday."""
        return {name: day for one in self.temporal for day, names in one.holidays.items() for name in names.split("|")}

    @cached_property
    def holidays_of_a_year(self) -> Mapping[str, tuple[int, int, int]]:
        """The month, the last and the first day of holidays that are meant only with a year: Christmas is a season of
        gifts and songs too."""
        return {name: (12, 26, 24) for one in self.temporal if one.christmas for name in one.christmas.split("|")}

    @cached_property
    def days(self) -> Mapping[str, int]:
        """How many days after today each name is."""
        return {name: days for one in self.temporal for days, names in one.days.items() for name in names.split("|")}

    @cached_property
    def units(self) -> Mapping[str, TimeUnit]:
        """The unit of each name."""
        return {name: unit for one in self.temporal for unit, names in one.units.items() for name in names.split("|")}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each word."""
        return {name: number + 1 for name, number in self._numbered("numbers").items()}

    @cached_property
    def vague_numbers(self) -> Mapping[str, int]:
        """The approximate number of each wording."""
        return {name: number for one in self.temporal for name, number in one.vague_numbers.items()}
