"""The tables of a language: its words by kind, and its cues. A cue is a wording that shows what a sentence says.

Sets hold single words in lower case. A string with bars ("day|days") holds alternatives: names, or parts of a
regular expression that is matched case-insensitively and at word boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

TimeUnit = Literal["day", "week", "month", "year", "weekend", "night"]


def word_set(*words: str) -> frozenset[str]:
    """Return the words of some texts as a set."""
    return frozenset(word for text in words for word in text.split())


def by_word(words: Mapping[str, str]) -> Mapping[str, str]:
    """Return the meaning of each word, from the words of each meaning."""
    return {word: meaning for meaning, alternatives in words.items() for word in alternatives.split("|")}


@dataclass(frozen=True, eq=False, repr=False)
class TemporalWords:
    """The words of temporal expressions. The first name of a month or a weekday is its full name."""

    months: tuple[str, ...]
    weekdays: tuple[str, ...]  # from Monday on
    seasons: tuple[str, ...]  # from spring on
    units: Mapping[TimeUnit, str]
    numbers: tuple[str, ...]  # from one on
    days: Mapping[int, str]  # by their distance from today
    last: str
    this: str
    coming: str  # before a weekday: the next day of that name
    before: str  # before a time at whose beginning the range ends
    until: str  # before a time at whose end the range ends
    since: str  # before a time at whose beginning the range begins
    after: str  # before a time at whose end the range begins
    early: str
    middle: str
    late: str
    on: tuple[str, ...]  # directly before a weekday
    ahead: str  # before a count of units: so many from now
    in_month: str  # Directly before a month without a year: "may" and "march" are months only after such a word.
    range_start: str
    range_end: str
    day_leads: str  # may stand between "the deadline is" and the day
    year_leads: str  # may stand before a year or a month that is a point in time
    vague_numbers: Mapping[str, int] = field(default_factory=dict)  # approximate numbers
    next: str = ""  # before a weekday: the one of next week
    ago_before: str = ""  # before a count of units: so many ago
    ago_after: str = ""  # after it
    last_after: str = ""  # after a unit: the last one
    last_between: str = ""  # between a count and its units: the last so many
    before_last: str = ""  # before a unit: the one before the last one
    before_last_after: str = ""  # after it
    next_after: str = ""  # after a weekday: the one of next week
    of: str = ""  # between day, month and year
    ordinal: str = ""  # after the number of a day
    new_year: str = ""
    quarters: tuple[str, ...] = ()  # from the first quarter of a year on
    holidays: Mapping[tuple[int, int], str] = field(default_factory=dict)  # by month and day
    christmas: str = ""  # with a year behind it: 24 to 26 December
    week_of: str = ""  # before a day: the week that has it
    at: str = ""  # before a time of day
    o_clock: str = ""  # after the number of an hour
    am: str = ""  # after an hour before noon
    pm: str = ""  # after an hour after noon


def full_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the full names of months or weekdays, in their order."""
    return tuple(several.split("|")[0] for several in names)


def calendar_names(temporal: TemporalWords) -> frozenset[str]:
    """Return the full names of the months and the weekdays."""
    return frozenset(full_names(temporal.months + temporal.weekdays))


@dataclass(frozen=True, eq=False, repr=False)
class SummaryCues:
    """Cues for what a sentence says. They are precise rather than complete, because a summary presents what they find
    as a fact ("this was decided")."""

    decided: tuple[str, ...]  # something is settled
    promised: tuple[str, ...]  # a commitment to do something
    idle: tuple[str, ...]  # directly after a cue of a promise: not a promise after all
    open: tuple[str, ...]  # something is still to be done or settled
    wonders: tuple[str, ...]  # a question without a question mark
    problem: tuple[str, ...]  # something does not work
    solved: tuple[str, ...]  # it works now
    concluded: tuple[str, ...]  # the conclusion of an explanation
    unknown: tuple[str, ...]  # a reply that does not know the answer
    denied: tuple[str, ...]  # a negation, which counts before a cue or within it
    supposed: tuple[str, ...]  # before a cue: a condition or a supposition
    offers: tuple[str, ...]  # an assistant offers more help
    greets: tuple[str, ...]  # begins a short sentence that greets, thanks or agrees
    fills: tuple[str, ...]  # begins a sentence without content, of any length


@dataclass(frozen=True, eq=False, repr=False)
class ProcedureCues:
    """Cues that a message asks how something is done, or says that it worked or failed. Each cue matches a text of
    limited length. Doubtful wordings are left out, because procedures are offered as steps that have worked."""

    asks: tuple[str, ...]  # asks how something is done
    asks_not: tuple[str, ...]  # looks like ``asks``, but asks something else
    worked: tuple[str, ...]
    # The only words that may stand before ``worked``: "I bought a new one, it works" is about something else.
    before: tuple[str, ...]
    # With ``before``, the only words that may follow: "it worked for one of them" is not a success.
    goes_on: tuple[str, ...]
    perhaps: tuple[str, ...]  # in the same sentence: negates the success, or makes it a wish or a condition
    failed: tuple[str, ...]
    otherwise: tuple[str, ...]  # something else has helped
    imperatives: str  # verbs that tell somebody what to do, as alternatives of a pattern
    # What says that something does not do as it should, or has to be done, without asking how.
    needs: tuple[str, ...]
    # What tells in ordinary words that something is as it should be. It counts only right after steps.
    results: tuple[str, ...]
    passing: str  # takes back ``results``: it did not last, or is not so yet
    # Every text that ``worked`` matches contains one of these strings. Searching for them first is fast.
    signs: str


@dataclass(frozen=True, eq=False, repr=False)
class Language:
    """A language. To add one, write a module that defines one, and list it in ``appliance.languages.LANGUAGES``. One of
    which only the times are known is in ``time_words``."""

    code: str
    name: str
    temporal: TemporalWords
    summary: SummaryCues
    procedures: ProcedureCues
    # Words with a grammatical role rather than a meaning; all others are content words.
    function_words: AbstractSet[str]
    anaphors: AbstractSet[str]  # refer to something said before
    determiners: AbstractSet[str]  # anaphors, unless a noun follows ("this house")
    articles: str
    first_person: AbstractSet[str]  # the writer refers to themselves: "my deadline" needs no earlier turns
    time_words: AbstractSet[str]  # of any time, with the names of months and weekdays
    vague_time_words: AbstractSet[str]  # of a time without a date ("soon")
    discourse_markers: str  # begin a question that continues the one before
    no: str  # the negation before a noun
    conjunctions: str  # between the last two items of a list
    relations: Mapping[str, str]  # the English word for each word for a relative, a friend or a pet
    language_names: Mapping[str, str]  # the English name for each name of a language
    occupations: AbstractSet[str]  # the last words of job titles
    opposites: tuple[str, ...]  # of each, a statement with one word is another one than with another
    capitalizes_nouns: bool = False  # every noun has a capital, not only a name
    # Ranking leaves these out of a query. Only English has some: leaving them out takes BM25 on LoCoMo from 0.546 to
    # 0.607 recall@10, while other languages gain only a little speed, because rare words weigh more anyway. They are
    # not all function words. The ranking weights were fitted with this set; a change calls for a new fit.
    stop_words: AbstractSet[str] = frozenset()
    filler_words: AbstractSet[str] = frozenset()  # further words without content in a summary; they identify a language
    # Of "what did we talk about on 15 March?": they name nothing that a message could say.
    talk_words: AbstractSet[str] = frozenset()
    expletive_verbs: AbstractSet[str] = frozenset()  # after an "it" that refers to nothing ("it rains")
    interrogatives: str = ""  # begin a question, also without a question mark
    conditions: str = ""  # begin the condition of an instruction: "when I ask about"
    asks_when: str = ""  # shows that a question asks for a time
    asks_how_much: str = ""  # shows that a question asks for a number
    amounts: str = ""  # numbers in words
    asks_for_change: str = ""  # shows that a question asks for what was changed in something
    asks_assistant: str = ""  # shows that a question asks for what the assistant said
    # Show that a message mentions a time. The ranking weights were fitted with these words and with the names of months
    # and weekdays, which need not be listed.
    dated: str = ""
    lasting: str = ""  # shows a decision, a commitment, a preference or an instruction
    titles: str = ""  # abbreviations that stand before a name
    abbreviations: str = ""  # others: a full stop after them ends a sentence only if the next word begins one
