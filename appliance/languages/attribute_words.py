"""The words by which a question asks for an attribute of a person: "where do I live" asks for a home."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from appliance.languages import LANGUAGES

_WORDS: Mapping[str, str] = {
    "name": "name named called heiße heisse heißt heisst llamo llama nombre",
    "called": "called call nenne nennst nennen llamas llamarme",
    "age": "old age alt alter edad años",
    "home": "live lives living home city town wohne wohnt wohnen lebe lebt zuhause stadt wohnort vivo vive vivimos casa"
    " ciudad",
    "address": "address live lives street adresse anschrift straße wohne wohnt dirección calle vivo vive",
    "origin": "origin hometown come comes herkunft komme stamme kommt origen vengo",
    "birthplace": "born birthplace geboren geburtsort nací nació",
    "birthday": "birthday born geburtstag geboren cumpleaños nací nació",
    "phone": "phone telephone mobile telefon telefonnummer handynummer teléfono móvil",
    "employer": "work works working job company employer employed arbeite arbeitet arbeiten arbeitgeber firma job"
    " trabajo trabaja trabajamos empresa",
    "job": "job work works profession occupation career beruf arbeite arbeitet job trabajo trabaja profesión dedico",
    "employment": "employed work job arbeite beruf trabajo",
    "team": "team equipo",
    "school": "school university college study studies schule universität uni hochschule studiere studiert escuela"
    " universidad estudio estudia",
    "studies": "study studies studying major studiere studiert studium estudio estudia carrera",
    "degree": "degree abschluss título",
    "language": "speak speaks language languages spreche spricht sprache sprachen hablo habla idioma idiomas",
    "learns": "learn learning lerne lernt aprendo aprende",
    "diet": "diet eat eats drink vegan vegetarian ernährung esse isst trinke dieta como come bebo",
    "allergy": "allergy allergies allergic allergie allergien allergisch alergia alergias alérgico alérgica",
    "health": "health illness condition gesundheit krankheit krankheiten salud enfermedad",
    "owns": "own owns car drive drives besitze auto fahre fährt coche conduzco",
    "likes": "like likes love loves enjoy enjoys mag mögen liebe gern gerne gusta gustan encanta",
    "dislikes": "dislike dislikes hate hates hasse hasst odio odia",
    "prefers": "prefer prefers preference bevorzuge lieber prefiero prefiere",
    "uses": "use uses using benutze nutze verwende uso utilizo",
    "project": "project projects building projekt projekte proyecto proyectos",
    "plans": "plan plans planning plane vorhabe planes planeo",
    "habit": "habit habits routine gewohnheit gewohnheiten hábito hábitos rutina",
    "children": "children kids kinder hijos",
    "siblings": "siblings geschwister hermanos",
    "status": "married single divorced verheiratet ledig geschieden casado casada soltero soltera",
    "religion": "religion religión",
    "height": "tall height groß größe mido altura",
    "commute": "commute arbeitsweg",
    "plays": "play plays spiele spielt juego toco",
}
_FAVOURITES = frozenset("favourite favorite favourites favorites favorito favorita preferido preferida".split())
_FAVOURITE_COMPOUND = re.compile(r"lieblings(\w+)")
_OF_ONESELF = re.compile(
    r"(?:i|i'm|im|my|me|mine|we|our|us|ich|mich|mir|mein\w{0,2}|wir|unser\w{0,2}|yo|mi|mis|me"
    r"|vivo|trabajo|llamo|nací|vengo|hablo|estudio|dedico|prefiero|mido|conduzco)"
)


def _attributes_by_word() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for attribute, words in _WORDS.items():
        for word in words.split():
            found.setdefault(word, set()).add(attribute)
    for language in LANGUAGES:
        for word, relation in language.relations.items():
            found.setdefault(word, set()).add(relation)
    for partner in ("wife", "husband", "girlfriend", "boyfriend", "spouse", "fiancé", "fiancée"):
        for attributes in found.values():
            if partner in attributes:
                attributes.add("partner")
    return found


_ATTRIBUTES = _attributes_by_word()


def asked_attributes(words: Set[str]) -> frozenset[str]:
    """Return the attributes that the words of a question, in lower case, can ask for.

    >>> sorted(asked_attributes({"where", "do", "i", "live"})), sorted(asked_attributes({"lieblingsfarbe"}))
    (['address', 'home'], ['favourite farbe'])
    """
    asked = {attribute for word in words for attribute in _ATTRIBUTES.get(word, ())}
    asked |= {f"favourite {found[1]}" for word in words if (found := _FAVOURITE_COMPOUND.fullmatch(word))}
    if not words.isdisjoint(_FAVOURITES):
        asked |= {f"favourite {word}" for word in words}
    return frozenset(asked)


def asks_of_oneself(words: Set[str]) -> bool:
    """Whether the words of a question, in lower case, ask for something of the one who asks."""
    return any(_OF_ONESELF.fullmatch(word) for word in words)
