"""What a question to the memory asks for: whose words, about what, or what is known about the person.

``languages.recall_questions`` understands its words; here it meets the people and the facts of a memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace

from appliance.languages import recall_questions
from appliance.languages.recall_questions import RecallQuestion
from appliance.requests import SearchRequest
from appliance.retrieval.resources import AsksAll, Page, SearchQuery
from appliance.store import facts, messages, people
from appliance.store.sessions import public_id as session_id
from appliance.types import Filters, Hit, Hits, Scope
from appliance.types.search import UNLIKELY_SCORE

MAX_NAMED_PEOPLE = 6
"""How many people of one name a note names."""

NEWEST = "the question names nothing to look for: the newest messages come first"

ONLY_TIME = "the question names no topic: all messages of its time ({}) are hits, the newest first"


@dataclass(frozen=True, slots=True)
class QuestionTarget:
    """What a search looks for.

    Attributes:
        text: The words that are searched for.
        authors: The ids of the people whose words the question asks for.
        by_person: Whether it asks for those of the person whose memory it is.
        messages: The keys of the only messages that it asks for; None for all.
        lists_all: Whether all that pass are hits, because the question names nothing to look for.
        time: The words of the only time that it asks for; empty for all times.
        asks_all: Whether the messages of all are searched, too: if these people wrote nothing that matches well, or as
            well if others are better, since one of these may be the person.
        notes: Sentences for the person: how the question was understood.
    """

    text: str
    authors: tuple[str, ...] = ()
    by_person: bool = False
    messages: tuple[int, ...] | None = None
    lists_all: bool = False
    time: str = ""
    asks_all: AsksAll = "never"
    notes: tuple[str, ...] = ()

    @property
    def names_authors(self) -> bool:
        return bool(self.authors) or self.by_person


def find_target(
    db: sqlite3.Connection, scope: Scope, request: SearchRequest, *, by_asked_author: bool
) -> QuestionTarget:
    """Return what a request asks for. An author whom the request names goes before those of the question.

    Args:
        db: A connection for reading.
        scope: Whose memory is searched.
        request: The request.
        by_asked_author: Whether a question for what somebody wrote or said finds only their messages.
    """
    asked = recall_questions.read(request.query)
    if asked is not None:
        return _target(db, scope, request, asked, by_asked_author)
    if request.authors:
        return QuestionTarget(request.query)
    for reading in recall_questions.readings(request.query):
        if found := people.called(db, scope, reading.name):
            named = " and ".join(map(_named, found[:MAX_NAMED_PEOPLE]))
            if not by_asked_author:
                return QuestionTarget(f"{reading.name} {reading.topic}", notes=(_none_by(named),))
            return QuestionTarget(
                # Who wrote it is certain then, and only the topic is left to be found.
                reading.topic or reading.time or request.query,
                authors=tuple(people.public_id(one.key) for one in found),
                lists_all=not reading.topic,
                time=reading.time,
                asks_all="if none is good" if reading.topic else "never",
                notes=(_only_by(named), *_time_note(reading.time)),
            )
    return QuestionTarget(request.query)


def _target(
    db: sqlite3.Connection, scope: Scope, request: SearchRequest, asked: RecallQuestion, by_asked_author: bool
) -> QuestionTarget:
    if asked.about_person:
        held = [row.fact for row in facts.query(db, scope, states=("held",))]
        keys = {messages.message_key(quote.message_id) for fact in held for quote in fact.evidence}
        note = f"the question is about {_person(db, scope)}, "
        note += (
            "whose facts are in these messages; 'appliance facts' lists them" if held else "of whom no fact is known"
        )
        return QuestionTarget(
            request.query, messages=tuple(key for key in keys if key is not None), lists_all=True, notes=(note,)
        )
    target = QuestionTarget(asked.topic or asked.time or request.query, lists_all=not asked.topic, time=asked.time)
    if not asked.by_person or request.authors:
        return replace(target, notes=(NEWEST,) if asked.names_nothing else _time_note(asked.time))
    if not by_asked_author:
        return replace(target, notes=(_none_by_person(db, scope),))
    # What others say of "my family" is about theirs. Where no name is known to be the person's, they may be the person.
    is_known = people.me(db, scope) is not None
    asks_all: AsksAll = "if none is good" if is_known else "if others are better"
    if not asked.topic or (asked.of_own and is_known):
        asks_all = "never"
    notes = (_only_by(_person(db, scope)), *_time_note(asked.time))
    return replace(target, by_person=True, asks_all=asks_all, notes=notes)


def search_as_asked(
    search: Callable[[SearchQuery, Page], Hits],
    query: SearchQuery,
    page: Page,
    query_for_all: Callable[[], SearchQuery],
) -> Hits:
    """Search for somebody's words where a question asks for them, or else the messages of all. Which of the two is
    decided by the best hits, so that all pages and orders are of the same search.

    Args:
        search: Searches.
        query: What the request asks for.
        page: The hits that are wanted.
        query_for_all: Makes the query for the messages of all.
    """
    hits = search(query, page)
    if query.asks_all == "never":
        return hits
    best_page = replace(page, offset=0, sort="score")
    best = hits if page == best_page else search(query, best_page)
    if best.found and (query.asks_all == "if none is good" or any(map(_has_words, best))):
        return hits
    for_all = query_for_all()
    by_all = search(for_all, best_page)
    if _have_better(by_all, best, query.filters):
        return by_all if page == best_page else search(for_all, page)
    if best.found:
        return hits
    return replace(hits, notes=(*by_all.notes, "what others wrote does not match well either"))


def _have_better(by_all: Hits, by_asked: Hits, authors: Filters) -> bool:
    """Whether somebody else wrote what matches: well, where nothing of theirs does whose words are asked for; or else
    better, and with the words of the question. ``authors`` are the filters of the search for these."""
    others = [hit for hit in by_all if not _is_by(hit, authors)]
    if by_asked and by_asked.found:
        return any(hit.score >= by_asked[0].score and _has_words(hit) for hit in others)
    return any(hit.score >= UNLIKELY_SCORE for hit in others)


def _has_words(hit: Hit) -> bool:
    """Whether a hit has words of the query."""
    return "own" in hit.why["legs"]


def _is_by(hit: Hit, authors: Filters) -> bool:
    if hit.author is None:
        return authors.unsigned and hit.role == "user"
    sessions = dict(authors.author_sessions).get(hit.author, ())
    return hit.author in authors.authors or hit.session_id in map(session_id, sessions)


def _person(db: sqlite3.Connection, scope: Scope) -> str:
    """The person whose memory it is, with the name as far as it is known."""
    key = people.me(db, scope)
    found = people.people(db, scope, [key]) if key is not None else []
    return f"the user ({found[0].name}, {people.public_id(found[0].key)})" if found else "the user"


def _named(person: people.StoredPerson) -> str:
    return f"{person.name} ({people.public_id(person.key)})"


def _only_by(named: str) -> str:
    return f"only messages by {named} were searched, for whose words the question asks"


def _time_note(time: str) -> tuple[str, ...]:
    return (ONLY_TIME.format(time),) if time else ()


def _none_by(named: str) -> str:
    return f"nothing by {named} matches well: the messages of all were searched"


def _none_by_person(db: sqlite3.Connection, scope: Scope) -> str:
    if people.me(db, scope) is not None:
        return _none_by(_person(db, scope))
    return (
        "nothing that is certainly by the user matches well: the messages of all were searched; if one of the people is"
        " the user, 'appliance people me PERSON' says so"
    )


def may_name_people(query: str) -> bool:
    """Whether a question may ask for what somebody wrote or said."""
    asked = recall_questions.read(query)
    return asked.by_person if asked is not None else next(recall_questions.readings(query), None) is not None


def asks_about_person(query: str) -> bool:
    """Whether a question asks for what is known about the person whose memory it is."""
    asked = recall_questions.read(query)
    return asked is not None and asked.about_person
