"""Readers of the value that follows a rule's opening words: a name, a place, a job, a date, the rest of a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date

from appliance.languages import LANGUAGES, temporal
from appliance.languages.sentence_ends import is_inner_stop
from appliance.memory.facts import dates, value_words
from appliance.memory.facts.grammar import AGE_WORDS, FactGrammar, LazyPattern, longest_first
from appliance.memory.facts.passages import GAP
from appliance.memory.facts.tool_names import TOOLS

_TOKEN = re.compile(rf"[ \t]*([^\s{GAP},;:!?()\[\]{{}}\"“”„»«…/|<>=*—–]+)")
_NUMBER = re.compile(r"[ \t]*(\d{1,3})\b(?![.,]\d|%|[:/])")
_NUMBER_WORD = re.compile(rf"[ \t]*({longest_first(AGE_WORDS)})\b")
_CONJUNCTIONS = "|".join(language.conjunctions for language in LANGUAGES)
_SEPARATOR = re.compile(rf"[ \t]*(?:,[ \t]*(?:(?:{_CONJUNCTIONS})\b|&)?|\b(?:{_CONJUNCTIONS})\b|&)[ \t]*")
_VERSION = re.compile(r"[ \t]+v?(\d+(?:\.\d+){0,3}\w{0,6})\b(?![ \t]*(?:%|times|people|years|days|hours|gb|tb))")
_ARTICLE = re.compile(rf"[ \t]*(?:{'|'.join(language.articles for language in LANGUAGES)})\b[ \t]+")
_REGION = re.compile(r",[ \t]+([A-Z][\w.]+(?:[ \t][A-Z]\w+)?)(?=[ \t]*(?:$|[.,!?)\n]))")  # "Austin, Texas"
_FIELD = re.compile(r"[ \t]+de[ \t]+([a-zà-ÿ]{3,20})\b")  # what a profession is of, in Spanish: "analista de datos"
_OWNER = re.compile(r"['’]s?(?:\s.*)?$")  # makes a name an owner's: "my brother Tom's wife"
_GERUND = re.compile(
    r"[ \t]*(?!(?:including|thing|king|spring|evening|morning|ring|string|wedding|something|nothing)\b)[a-z]{2,14}ing\b"
)
_COURTESY = re.compile(
    r",?\s+(?:please|thanks|thank you|bitte|danke|por favor|gracias|ok|okay)\s*$", flags=re.IGNORECASE
)
_SMALL_IN_NAMES = frozenset(
    "of de del la las los von van der den am the and do da di du le upon bin al y & für".split()
)
_LEADING_ARTICLES = {"en": ("the",), "de": ("der", "die", "das"), "es": ("la", "el", "los", "las")}
# Names that have an article before them even where the writer uses no capitals.
_NAMES_WITH_ARTICLE = frozenset(
    "us uk usa netherlands philippines bay bbc nhs un eu states czech emirates bahamas".split()
)
_BEFORE_LANGUAGE_NAMES = frozenset(
    "a little some bit fluent native basic ein bisschen etwas fließend of good decent un poco de both gut"
    " conversational broken algo".split()
)

_TITLE = re.compile(
    r"[ \t\"“”'‘]*([A-Z0-9][\w'’.-]*"
    r"(?:[ \t](?:(?:of|the|and|in|a|an|to|for|with|on|de|la)[ \t]){0,2}[A-Z0-9][\w'’-]*){0,8}"
    r"(?:[\"”]? by (?:[A-Z][\w.'’-]*[ \t]?){1,3}(?<![ \t]))?)"
)
_ADDRESS = re.compile(r"[ \t]*((?:(?![;!?\n\x00]|[ \t](?:and|but|so|und|aber|y|pero|if|in case|wenn|si)\b).){4,70})")

# Behind a street; the dot of "Str." may end the sentence.
_HOUSE_NUMBER = re.compile(r"\.?[ \t]+\d{1,4}\w?\b(?!\d)(?=,|[ \t]+(?:in|\d{5})\b|[ \t]*$|\.)")
_THE = re.compile(r"[ \t]*the\b")
_RUN_ON = re.compile(r"\.\.|[a-zäöüß]{4,}\.(?!com\b|org\b|net\b)[a-zäöüß]{3,}")  # two sentences in one word
_BOTH = re.compile(r"both+")
_ABBREVIATIONS = frozenset(("it", "us"))  # "an IT company"
MIN_GERUND_WORDS = 3  # "going on road trips" says what somebody likes, "going" does not
_NO_CLAUSE_ENDS = value_words.POINTING | _SMALL_IN_NAMES | value_words.BEFORE_QUESTIONS | value_words.UNFINISHED
# A clause that begins with one of these says nothing by this word alone.
_OPENING_WORDS = frozenset("going for at with in on from by nach von mit zur".split())
MAX_CLAUSE_WORDS = 14  # of a plan
MIN_TITLE_CHARACTERS = 2
MAX_PHRASE_WORDS = 6  # of something that somebody likes, makes or studies
MAX_VALUE_CHARACTERS = 200  # of an instruction


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """A value, and the place after it."""

    value: str
    end: int


@dataclass(frozen=True, slots=True)
class RuleInput:
    """A sentence up to ``end`` as the readers see it: ``low`` is the prepared text, in the places of ``text``."""

    text: str
    low: str
    end: int
    grammar: FactGrammar
    uncapitalized: bool
    sent_on: date | None

    def match(self, pattern: re.Pattern[str] | LazyPattern, at: int) -> re.Match[str] | None:
        return pattern.match(self.low, at, self.end)

    def span(self, start: int, end: int) -> ValueSpan:
        return ValueSpan(self.text[start:end], end)

    def is_inner_stop(self, at: int) -> bool:
        """Whether a full stop stands at a place, behind which the sentence goes on."""
        return self.text[at] == "." and is_inner_stop(self.text, at, self.end)

    def clause_end(self, at: int) -> int:
        """Return where the clause that stands at a place ends."""
        ends = (found.start() for found in self.grammar.clause_end.finditer(self.low, at, self.end))
        return next((end for end in ends if not self.is_inner_stop(end)), self.end)

    def after_article(self, at: int) -> int:
        article = self.match(_ARTICLE, at)
        return article.end() if article else at

    def is_upper(self, at: int) -> bool:
        return self.text[at].isupper()

    def is_capital(self, at: int) -> bool:
        return self.is_upper(at) or self.text[at].isdigit()

    @property
    def capitalizes_nouns(self) -> bool:
        return self.grammar.language.capitalizes_nouns


Reader = Callable[[RuleInput, int], ValueSpan | None]
_Token = tuple[str, int, int]  # a lowered word, its start and its end


def _tokens(sentence: RuleInput, at: int, stops: AbstractSet[str] | None = None) -> list[_Token]:
    """The words from a place on, up to one that ends a phrase."""
    found: list[_Token] = []
    stops = sentence.grammar.stops if stops is None else stops
    while len(found) <= MAX_PHRASE_WORDS + 2 and (match := sentence.match(_TOKEN, at)):
        is_short = sentence.is_inner_stop(match.end(1) - 1)  # "St. Gallen"
        word = match[1] if is_short else match[1].rstrip(".'")
        if (
            not word
            or word == "-"
            or (word in stops and not (word in _ABBREVIATIONS and sentence.is_upper(match.end(1) - 1)))
        ):
            break
        found.append((word, match.start(1), match.start(1) + len(word)))
        at = match.end()
        if len(word) < len(match[1]):
            break
    return found


def _without_degree(tokens: list[_Token]) -> list[_Token]:
    """The words without those at the end that say how much or where: "badminton the most", "chocolate a lot"."""
    while len(tokens) > 1 and value_words.DEGREE.fullmatch(tokens[-1][0]):
        tokens = tokens[:-1]
        while len(tokens) > 1 and tokens[-1][0] in value_words.BEFORE_DEGREE:
            tokens = tokens[:-1]
    return tokens


def _join_tokens(sentence: RuleInput, tokens: list[_Token]) -> ValueSpan | None:
    return sentence.span(tokens[0][1], tokens[-1][2]) if tokens else None


def _proper_name(sentence: RuleInput, at: int, max_words: int) -> ValueSpan | None:
    """A name: words with capitals and small words between them. In a casual message, the words up to a separator."""
    tokens = _tokens(sentence, at)
    if tokens and tokens[0][0] in _LEADING_ARTICLES.get(sentence.grammar.language.code, ()):
        tokens = tokens[1:]
        if tokens and not sentence.is_capital(tokens[0][1]) and tokens[0][0] not in _NAMES_WITH_ARTICLE:
            return None
    if not tokens or tokens[0][0] in sentence.grammar.hollow or _RUN_ON.search(tokens[0][0]):
        return None
    if sentence.is_capital(tokens[0][1]):
        run = tokens[:1]
        for number, (word, start, _) in enumerate(tokens[1:], 1):
            is_inner = (
                word in _SMALL_IN_NAMES and number + 1 < len(tokens) and sentence.is_capital(tokens[number + 1][1])
            )
            if not (sentence.is_capital(start) or is_inner) or len(run) >= max_words:
                break
            run.append(tokens[number])
        return _join_tokens(sentence, run)
    word, start, _ = tokens[0]
    if sentence.uncapitalized and sentence.text[start].isalpha() and word not in sentence.grammar.not_names:
        return _join_tokens(sentence, tokens[: min(max_words, 2)] if len(tokens) <= 3 else tokens[:1])
    return None


def place(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A town or a country, with its region after a comma."""
    read = _proper_name(sentence, at, 4)
    if read is None or any(c.isdigit() for c in read.value):
        return None
    words = read.value.lower().split()
    if not (value_words.FIRMS | value_words.STREETS).isdisjoint(words) or words[-1] in value_words.NO_PLACE:
        return None
    following = sentence.match(_TOKEN, read.end)
    if (following and following[1] in value_words.NO_PLACE) or _HOUSE_NUMBER.match(sentence.low, read.end):
        return None
    region = _REGION.match(sentence.text, read.end, sentence.end)
    not_regions = sentence.grammar.stops | sentence.grammar.hollow
    if region and region[1].lower() not in not_regions and not sentence.capitalizes_nouns:
        return sentence.span(read.end - len(read.value), region.end())
    return read


def person(sentence: RuleInput, at: int) -> ValueSpan | None:
    """The name of a person or an animal."""
    read = _proper_name(sentence, at, 3)
    if read is None or any(c.isdigit() for c in read.value):
        return None
    words = read.value.lower().split()
    if not value_words.FIRMS.isdisjoint(words) or sentence.match(_THE, at):
        return None
    if read.value[0].islower() and (
        words[0].endswith(("ing", "ed")) or not sentence.grammar.not_names.isdisjoint(words)
    ):
        return None
    return None if words[0].rstrip("'s") in sentence.grammar.not_names else read


def capitalized_person(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A name that must have a capital, beside a word that says whose it is ("my wife Priya")."""
    read = person(sentence, at)
    if read is None or not (read.value[0].isupper() and read.value[1:2].islower()):
        return None
    owner = _OWNER.search(read.value)
    return ValueSpan(read.value[: owner.start()], read.end - len(owner.group())) if owner else read


def org(sentence: RuleInput, at: int) -> ValueSpan | None:
    """Where somebody works or studies: a name, or "a bakery"."""
    if read := _proper_name(sentence, at, 5):
        return read
    if (article := sentence.match(_ARTICLE, at)) and not sentence.is_capital(article.start()):
        tokens = [
            token
            for token in _tokens(sentence, article.end())[:4]
            if token[0] not in ("different", "new", "big", "small", "time")
        ]
        if len(tokens) == 1 and tokens[0][0] in value_words.ANY_FIRM:
            return None
        if tokens and tokens[0][0] not in sentence.grammar.hollow - _ABBREVIATIONS and not sentence.capitalizes_nouns:
            return ValueSpan(sentence.text[at : tokens[-1][2]].strip(), tokens[-1][2])
    return None


def job(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A profession, known by its last word, with at most four words before it."""
    tokens = _tokens(sentence, sentence.after_article(at))[:5]
    best = 0
    for number, (word, _, _) in enumerate(tokens, 1):
        if sentence.grammar.heads.fullmatch(word):
            best = number
    if best and best == len(tokens) and sentence.grammar.language.code == "es":
        field = _FIELD.match(sentence.text, tokens[best - 1][2], sentence.end)
        nouns = sentence.grammar.stops | sentence.grammar.hollow | sentence.grammar.not_names
        if field and field[1] not in nouns:
            return sentence.span(tokens[0][1], field.end())
    if best and best < len(tokens) and tokens[best][0] in value_words.ADMIRERS:
        return None
    if not best or tokens[0][0] in value_words.NO_JOB:
        return None
    return _join_tokens(sentence, tokens[:best])


def noun_phrase(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What somebody likes, studies or makes: a few words that begin like a noun phrase, or a gerund."""
    gerund = sentence.match(_GERUND, at)
    whole = _tokens(sentence, at, value_words.CLAUSE_ENDS if gerund else None)
    tokens = _without_degree(whole)
    is_short = gerund is None or len(tokens) < MIN_GERUND_WORDS
    if (
        not tokens
        or (is_short and tokens[0][0] in sentence.grammar.hollow)
        or len(tokens) > MAX_PHRASE_WORDS + (2 if gerund else 0)
    ):
        return None
    first = tokens[0][0]
    if (
        not first[0].isalnum()
        or not any(map(str.isalpha, first))
        or any(word in value_words.POINTING for word, _, _ in tokens)
    ):
        return None
    if len(tokens) > 1 and (tokens[1][0] in ("such", "so") or (first, tokens[1][0]) == ("making", "sure")):
        return None
    if gerund and len(tokens) > 1 and tokens[1][0] in value_words.OF_QUESTIONS:
        return None  # "knowing how it is done"
    if (
        any(_RUN_ON.search(word) for word, _, _ in tokens)
        or _BOTH.fullmatch(first)
        or tokens[-1][0] in value_words.UNFINISHED
    ):
        return None
    if tokens[-1][0].endswith("'s") or sentence.text.count('"', tokens[0][1], tokens[-1][2]) % 2:
        return None  # the phrase goes on, or a quotation begins within it
    if len(tokens) == len(first) == 1 or (len(tokens) == 1 and first in value_words.BARE):
        return None  # "D. H. Lawrence", "I like simple"
    if not gerund and any(word in ("a", "an") for word, _, _ in tokens[1:]):
        return None  # "I love football a game with ..."
    if len(tokens) > 1 and tokens[-2][0] in ("a", "an") and sentence.low.startswith(",", tokens[-1][2]):
        return None  # "a safe, inviting place": the phrase goes on
    if len(tokens) > 1 and first.endswith("ed") and tokens[1][0] in ("a", "an", "the", "my", "our"):
        return None  # "we like shared a womb"
    has_noun = any(sentence.is_capital(start) for _, start, _ in tokens)
    if sentence.capitalizes_nouns and not sentence.uncapitalized and not has_noun:
        return None
    following = sentence.match(_TOKEN, whole[-1][2])
    if following and following[1] in value_words.NARROWS and tokens[-1][0] in value_words.GENERIC:
        return None  # "movies from the eighties"
    return None if following and following[1] in value_words.CUTS_OFF else _join_tokens(sentence, tokens)


def noun_phrase_without_article(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A thing, without the article before it."""
    return noun_phrase(sentence, sentence.after_article(at))


def _is_tool(words: str) -> bool:
    return " ".join(words.split()) in TOOLS


def tool(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A program or system that is known by its name, its version or its capital, with its version."""
    tokens = _tokens(sentence, sentence.after_article(at))
    if not tokens:
        return None
    for count in (3, 2, 1):
        run = tokens[:count]
        if len(run) == count and _is_tool(sentence.low[run[0][1] : run[-1][2]]):
            end = run[-1][2]
            for word, start, stop in tokens[count : count + 2]:
                if not sentence.is_upper(start) or sentence.capitalizes_nouns or _is_tool(word):
                    break
                end = stop
            version = sentence.match(_VERSION, end)
            return sentence.span(run[0][1], version.end() if version else end)
    if sentence.capitalizes_nouns or tokens[0][0] in sentence.grammar.hollow | sentence.grammar.not_names:
        return None
    run = []
    for token in tokens[:4]:
        if not sentence.is_upper(token[1]) and not (run and re.fullmatch(r"v?\d[\w.]*", token[0])):
            break
        run.append(token)
    return _join_tokens(sentence, run) if run and run[0][2] - run[0][1] > 1 else None


def known_tool(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A program or system that is in the list."""
    read = tool(sentence, at)
    return read if read and _is_tool(_VERSION.sub("", read.value.lower())) else None


def product(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A make with its model: at least one word with a capital."""
    run: list[_Token] = []
    for token in _tokens(sentence, sentence.after_article(at))[:5]:
        if run and not sentence.is_capital(token[1]):
            break
        run.append(token)
    return _join_tokens(sentence, run) if any(sentence.is_upper(start) for _, start, _ in run) else None


def field_of_study(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What somebody studies, but no book and no chapter."""
    read = noun_phrase(sentence, at)
    if read is None or re.search(r"['’\d]|\bbook\b", read.value, re.IGNORECASE):
        return None
    first, *_, last = read.value.split() * 2
    if first.islower() and last.istitle():  # "I'm majoring in business finance Kevin": to whom it is said
        return ValueSpan(read.value.rsplit(None, 1)[0], read.end)
    return read


def work(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What somebody makes, known by its last word."""
    read = noun_phrase(sentence, at)
    return read if read and read.value.lower().rsplit(None, 1)[-1] in value_words.WORKS else None


def capitalized_org(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A firm whose name has a capital."""
    read = org(sentence, at)
    return read if read and read.value[0].isupper() and not read.value.endswith(("'s", "’s")) else None


def number(sentence: RuleInput, at: int) -> ValueSpan | None:
    """An age."""
    if word := sentence.match(_NUMBER_WORD, at):
        return ValueSpan(str(temporal.number(word[1])), word.end(1))
    match = sentence.match(_NUMBER, at)
    return ValueSpan(match[1], match.end(1)) if match and 0 < int(match[1]) < 120 else None


def spoken_language(sentence: RuleInput, at: int) -> ValueSpan | None:
    """The English name of a language."""
    for word, _, end in _tokens(sentence, at)[:4]:
        if word in sentence.grammar.language.language_names:
            return ValueSpan(sentence.grammar.language.language_names[word], end)
        if word not in _BEFORE_LANGUAGE_NAMES:
            return None
    return None


def day(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A date; the day of the message supplies its year."""
    found = dates.named(sentence.low, at, sentence.end, sentence.sent_on)
    return ValueSpan(found.value, found.end) if found else None


def birthday(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A day of the year, or a day with its year."""
    found = dates.named(sentence.low, at, sentence.end, None)
    return ValueSpan(found.value, found.end) if found and (found.day or found.yearless) else None


def rest_of_sentence(sentence: RuleInput, at: int) -> ValueSpan | None:
    """An instruction: everything up to the end of the sentence, at least two words."""
    if sentence.low.find(GAP, at, sentence.end) >= 0:
        return None
    value = _COURTESY.sub("", sentence.text[at : sentence.end].strip(" \t,-–—:"))
    return ValueSpan(value, sentence.end) if len(value.split()) >= 2 and len(value) <= MAX_VALUE_CHARACTERS else None


def clause(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What somebody plans or does: the words up to the end of their clause, without a vague time at the end."""
    while at < sentence.end and sentence.low[at] in " \t\"“'":
        at += 1
    end = sentence.clause_end(at)
    while time := sentence.grammar.vague_times.search(sentence.low, at, end):
        end = time.start()
    words = sentence.low[at:end].split()
    shortest = 3 if words[:1] == ["to"] else 2 if words and words[0] in _OPENING_WORDS else 1
    if not shortest <= len(words) <= MAX_CLAUSE_WORDS or not value_words.HOLLOW_CLAUSE.isdisjoint(words):
        return None
    if not value_words.POINTING_IN_CLAUSE.isdisjoint(words[1:]):
        return None
    if len(words) > 1 and words[-2] in ("a", "an") and sentence.low.startswith(",", end):
        return None
    if words[0] in value_words.POINTING | value_words.GERMAN_POINTING or words[-1] in _NO_CLAUSE_ENDS:
        return None
    return sentence.span(at, at + len(sentence.text[at:end].rstrip(" \t\"”'")))


def matter(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What is taken back: the words up to the end of their clause, without those that say that it is."""
    end = sentence.clause_end(at)
    if turned := value_words.TAKEN_BACK.search(sentence.low, at, end):
        end = turned.start()
    while time := sentence.grammar.vague_times.search(sentence.low, at, end):
        end = time.start()
    value = sentence.text[at:end].rstrip(" \t\"”',")
    return ValueSpan(value, end) if 0 < len(value.split()) <= MAX_CLAUSE_WORDS else None


def title(sentence: RuleInput, at: int) -> ValueSpan | None:
    """The title of a book, by its capitals, with its author."""
    match = _TITLE.match(sentence.text, at, sentence.end)
    if match is None or len(match[1]) <= MIN_TITLE_CHARACTERS:
        return None
    return ValueSpan(re.sub(r"[\"“”]", "", match[1]), match.end(1))


def capitalized_place(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A place whose name has a capital."""
    read = place(sentence, at)
    return read if read and read.value[0].isupper() else None


def address(sentence: RuleInput, at: int) -> ValueSpan | None:
    """A street and a number, with the town, up to the end of the clause."""
    match = sentence.match(_ADDRESS, at)
    if match is None or not any(map(str.isdigit, match[1])) or not any(map(str.isalpha, match[1])):
        return None
    return sentence.span(match.start(1), match.end(1))


def aim(sentence: RuleInput, at: int) -> ValueSpan | None:
    """What somebody wishes to do in life. A place where they wish to go has a name: "the factory" is for today."""
    read = clause(sentence, at)
    if read and (going := value_words.GOING.match(read.value)) and not any(map(str.isupper, read.value[going.end() :])):
        return None
    is_errand = read and not (value_words.FIRMS | value_words.STREETS).isdisjoint(read.value.lower().split())
    return None if is_errand else read


READERS: Mapping[str, Reader] = {
    "clause": clause, "aim": aim, "matter": matter, "title": title, "capital place": capitalized_place,
    "address": address,
    "place": place, "person": person, "capital person": capitalized_person, "org": org, "job": job,
    "thing": noun_phrase, "articled": noun_phrase_without_article, "tool": tool,
    "known tool": known_tool, "product": product, "work": work,
    "field": field_of_study, "capital org": capitalized_org, "number": number, "tongue": spoken_language, "day": day,
    "birthday": birthday, "rest": rest_of_sentence,
}  # fmt: skip


def is_gerund(sentence: RuleInput, at: int) -> bool:
    """Whether an English gerund stands at a place."""
    return sentence.grammar.language.code == "en" and sentence.match(_GERUND, at) is not None


def separator_end(sentence: RuleInput, at: int) -> int | None:
    """Return the place after the "," or "and" that stands at a place; None without one."""
    match = sentence.match(_SEPARATOR, at)
    return match.end() if match and match.end() > at else None
