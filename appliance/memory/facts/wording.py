"""How a fact reads, whatever language it was said in, and what tells two statements of one thing from two things."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

ME = "me"

WORDS: Mapping[str, str] = {
    "name": "is called {}",
    "called": "wants to be called {}",
    "age": "is {} years old",
    "birthday": "has birthday on {}",
    "home": "lives in {}",
    "origin": "comes from {}",
    "employer": "works at {}",
    "job": "works as {}",
    "team": "is on the {} team",
    "studies": "studies {}",
    "school": "studies at {}",
    "language": "speaks {}",
    "learns": "is learning {}",
    "diet": "eats {}",
    "allergy": "is allergic to {}",
    "habit": "has the habit: {}",
    "health": "has or is: {}",
    "owns": "has {}",
    "likes": "likes {}",
    "dislikes": "dislikes {}",
    "prefers": "prefers {}",
    "uses": "uses {}",
    "project": "works on {}",
    "is": "is {}",
    "instruction": "{}",
    "note": "{}",
}
"""By attribute. What is not here is said as "attribute is value"."""

SINGLE = frozenset("name called age birthday home origin employer job team studies school diet is".split())
"""Attributes of which a subject has one value at a time. Dates and favourites are single too, as are partner, mother,
father and boss; all else may have many."""

_SINGLE_RELATIONS = frozenset(("partner", "mother", "father", "boss"))

IMMUTABLE = frozenset(("birthday", "origin"))
"""What does not change: another value is a contradiction, not news."""

PARTNERS = frozenset("wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse".split())
"""Relations that are one attribute."""

_RIVALS = {"likes": "taste", "dislikes": "taste"}
"""Attributes that exclude each other of one value."""

_WITHOUT = re.compile(r"(?:no|keine?n?|sin)\s")
"""What somebody does not eat or drink takes no place of how they eat, nor of other such things."""

_FOLDED = re.compile(r"^(?:an?|the|el|la|los|las|una?|der|die|das|den|dem|ein(?:e[nrms]?)?|my|our)\s+")
_VERSION = re.compile(r"\s+v?\d[\w.]*$")
_MONTHS = "January February March April May June July August September October November December".split()


def attribute(relation: str) -> str:
    """The attribute that a relation's word stands for."""
    return "partner" if relation in PARTNERS else relation


def key(value: str) -> str:
    """What two values are compared by: case, white space, articles and marks at the ends do not count."""
    plain = " ".join(unicodedata.normalize("NFC", value).casefold().split()).strip(" .,!'\"")
    return _FOLDED.sub("", plain) or plain


def is_single(kind: str, name: str) -> bool:
    """Whether a subject has one value of an attribute at a time."""
    return name in SINGLE or kind == "date" or name in _SINGLE_RELATIONS or name.startswith("favourite ")


def slot(kind: str, name: str, value: str) -> str:
    """What a newer statement takes the place of an older one in: an attribute, and of attributes that may have many
    values, the value; of a program without its version."""
    plain = key(value)
    if name == "diet" and _WITHOUT.match(plain):
        return f"{name}\x1f{plain}"
    if is_single(kind, name):
        return name
    return f"{_RIVALS.get(name, name)}\x1f{_VERSION.sub('', plain) if name == 'uses' else plain}"


def refines(value: str, other: str) -> bool:
    """Whether a value says the same as another, or the same and more: "Ana Kowalska" of "Ana"."""
    mine, others = key(value), key(other)
    return mine == others or (mine.startswith(others) and not mine[len(others)].isalnum())


def sentence(subject: str, kind: str, name: str, value: str) -> str:
    """A fact as a short sentence; one about the person leaves out of whom it is."""
    shown = _day(value) if name == "birthday" else value
    if name == "diet" and _WITHOUT.match(value.lower()):
        return f"eats or drinks {value}" if subject == ME else f"{subject} eats or drinks {value}"
    if name in WORDS:
        said = WORDS[name].replace("{}", shown)
        return said if subject == ME else f"{subject} {said}"
    whose = name if subject == ME else f"{name} of {subject}"
    return f"{whose} is on {shown}" if kind == "date" else f"{whose} is {shown}"


def _day(value: str) -> str:
    """A day of the year as a person says it."""
    match = re.fullmatch(r"(\d\d)-(\d\d)", value)
    return f"{int(match[2])} {_MONTHS[int(match[1]) - 1]}" if match else value
