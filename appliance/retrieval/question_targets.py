"""What a question to the memory asks for: whose words, about what, or what is known about the person.

``languages.recall_questions`` understands its words; here it meets the people and the facts of a memory.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from appliance.languages import recall_questions
from appliance.languages.recall_questions import RecallQuestion
from appliance.requests import SearchRequest
from appliance.store import facts, messages, people
from appliance.types import Scope

MAX_NAMED_PEOPLE = 6
"""How many people of one name a note names."""

NEWEST = "the question names nothing to look for: the newest messages come first"


@dataclass(frozen=True, slots=True)
class QuestionTarget:
    """What a search looks for.

    Attributes:
        text: The words that are searched for.
        authors: The ids of the people whose words the question asks for.
        by_person: Whether it asks for those of the person whose memory it is.
        messages: The keys of the only messages that it asks for; None for all.
        lists_all: Whether all that pass are hits, because the question names nothing to look for.
        notes: What is to be said about it.
    """

    text: str
    authors: tuple[str, ...] = ()
    by_person: bool = False
    messages: tuple[int, ...] | None = None
    lists_all: bool = False
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
                return QuestionTarget(request.query, notes=(_none_by(named),))
            return QuestionTarget(
                # Who wrote it is certain then, and only the topic is left to be found.
                reading.topic or request.query,
                authors=tuple(people.public_id(one.key) for one in found),
                lists_all=not reading.topic,
                notes=(_only_by(named),),
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
    text, lists_all = asked.topic or request.query, not asked.topic
    if not asked.by_person or request.authors:
        return QuestionTarget(text, lists_all=lists_all, notes=(NEWEST,) if lists_all else ())
    if not by_asked_author:
        return QuestionTarget(text, notes=(_none_by(_person(db, scope)),))
    return QuestionTarget(text, by_person=True, lists_all=lists_all, notes=(_only_by(_person(db, scope)),))


def _person(db: sqlite3.Connection, scope: Scope) -> str:
    """The name of the person whose memory it is, as far as it is known."""
    key = people.me(db, scope)
    found = people.people(db, scope, [key]) if key is not None else []
    return _named(found[0]) if found else "the user"


def _named(person: people.StoredPerson) -> str:
    return f"{person.name} ({people.public_id(person.key)})"


def _only_by(named: str) -> str:
    return f"only messages by {named} were searched, for whose words the question asks"


def _none_by(named: str) -> str:
    return f"nothing by {named} matches well: the messages of all were searched"


def may_name_people(query: str) -> bool:
    """Whether a question may ask for what somebody wrote or said."""
    asked = recall_questions.read(query)
    return asked.by_person if asked is not None else next(recall_questions.readings(query), None) is not None


def asks_about_person(query: str) -> bool:
    """Whether a question asks for what is known about the person whose memory it is."""
    asked = recall_questions.read(query)
    return asked is not None and asked.about_person
