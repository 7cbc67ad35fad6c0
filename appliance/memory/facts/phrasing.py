"""How a fact reads, whatever language it was stated in, and how the values of facts are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from appliance.languages import ENGLISH, LANGUAGES
from appliance.languages.language import by_word, full_names

USER_SUBJECT = "me"

# By attribute. An attribute that is not listed reads "attribute is value".
SENTENCE_TEMPLATES: Mapping[str, str] = {
    "name": "is called {}", "called": "wants to be called {}", "age": "is {} years old", "home": "lives in {}",
    "origin": "comes from {}", "employer": "works at {}", "job": "works as {}", "team": "is on the {} team",
    "studies": "studies {}", "school": "studies at {}", "language": "speaks {}", "learns": "is learning {}",
    "diet": "eats {}", "allergy": "is allergic to {}", "habit": "has the habit: {}", "health": "has {}",
    "owns": "has {}", "likes": "likes {}", "dislikes": "dislikes {}", "prefers": "prefers {}", "uses": "uses {}",
    "project": "works on {}", "is": "is {}", "instruction": "{}", "note": "{}", "phone": "phone number: {}",
    "address": "lives at {}", "birthplace": "was born in {}", "children": "has {}", "status": "is {}",
    "commute": "commute: {}", "size": "wears size {}", "considers": "is looking into {}",
    "looking for": "is looking for {}", "member of": "is a member of {}", "plays": "plays {}",
    "practises": "practises {}", "reads": "is reading {}", "volunteers": "volunteers {}", "collects": "collects {}",
    "business": "has a business: {}", "degree": "has a degree in {}", "plans": "plans {}", "wants": "wants {}",
    "employment": "is {}", "field": "works in {}", "graduated from": "graduated from {}", "fears": "is afraid of {}",
    "siblings": "has {}", "character": "is {}", "good at": "is good at {}", "bad at": "is bad at {}",
    "expects": "is expecting {}", "wears": "wears {}", "height": "is {} tall", "takes": "takes {}",
    "living": "lives {}", "teaches": "teaches {}", "religion": "is {}",
    "listens to": "listens to {}",
}  # fmt: skip

# Attributes of which a subject has one value at a time. Dates and favourites are single-valued too, as are partner,
# mother, father and boss; every other attribute may have many values.
SINGLE_VALUED = frozenset(
    "name called age birthday birthplace home address phone origin employer job team studies school diet is size"
    " commute children status employment field siblings height religion".split()
)
_SINGLE_VALUED_RELATIONS = frozenset(("partner", "mother", "father", "boss"))
IMMUTABLE = frozenset(("birthday", "birthplace", "origin"))  # never change: another value is a contradiction, not news
# What held before it was said: that somebody mentions an allergy does not begin it.
TIMELESS = frozenset("allergy health origin birthplace birthday name language degree children".split())
RECURRING = frozenset(("anniversary", "birthday"))  # dates of every year
# Relations that are one attribute.
PARTNER_RELATIONS = frozenset("wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse".split())
# Relations to animals, which have a name as people do.
_ANIMALS = frozenset(
    "dog cat pet rabbit turtle parrot hamster horse tortoise otter snake lizard gecko iguana ferret hedgehog goat"
    " donkey llama alpaca canary budgie axolotl chinchilla chameleon parakeet pony goldfish tarantula gerbil".split()
) | {"guinea pig"}
_EXCLUSIVE_ATTRIBUTES = {"likes": "taste", "dislikes": "taste"}  # a new taste for a thing replaces the old one

# A food that somebody avoids replaces neither their diet nor another food that they avoid.
_WITHOUT = re.compile(rf"(?:{'|'.join(language.no for language in LANGUAGES)})\s", re.IGNORECASE)
# A health value that a person is, not has.
_CONDITION = re.compile(
    r"(?:intolerant|intolerante a la lactosa|diabetic|diabetiker(?:in)?|diabétic[oa]|asthmatic|asmátic[oa]|dyslexic"
    r"|legasthenikerin?|autistic|coeliac|celiac|pregnant|schwanger|colou?r-blind|deaf|hard of hearing|blind"
    r"|daltónic[oa])$",
    re.IGNORECASE,
)
_ENGLISH_VALUES: Mapping[str, str] = by_word({
    "vegetarian": "vegetarier|vegetarierin|vegetarisch|vegetariano|vegetariana",
    "vegan": "veganer|veganerin|vegano|vegana", "pescetarian": "pescetarier|pescetarierin|pescetariano|pescetariana",
    "coeliac": "celíaco|celíaca|celiaco|celiaca", "alcohol": "alkohol", "coffee": "kaffee|café",
    "milk": "milch|leche", "caffeine": "koffein|cafeína", "beer": "bier|cerveza", "wine": "wein|vino",
    "black tea": "schwarzen tee", "meat": "fleisch|carne", "pork": "schweinefleisch|cerdo",
    "beef": "rindfleisch|ternera", "fish": "fisch|pescado", "wheat": "weizen|trigo", "sugar": "zucker|azúcar",
    "eggs": "eier|huevo|huevos", "dairy": "milchprodukte|lácteos", "lactose": "laktose|lactosa",
    "nuts": "nüsse|frutos secos", "seafood": "meeresfrüchte|marisco|mariscos", "cheese": "käse",
    "chocolate": "schokolade", "soft drinks": "refrescos", "red meat": "carne roja",
    "meat or fish": "carne ni pescado", "migraine": "migräne|migraña|migrañas", "asthma": "asthma|asma",
    "high blood pressure": "bluthochdruck|hipertensión", "neurodermatitis": "neurodermitis",
    "coeliac disease": "zöliakie", "hay fever": "heuschnupfen", "rheumatism": "rheuma", "depression": "depressionen",
    "ADHD": "adhs|tdah", "epilepsy": "epilepsie|epilepsia", "arthritis": "artritis", "anxiety": "ansiedad",
    "diabetic": "diabetiker|diabetikerin|diabético|diabética", "pregnant": "schwanger",
    "lactose intolerant": "laktoseintolerant|intolerante a la lactosa", "asthmatic": "asmático|asmática",
    "colour-blind": "farbenblind|daltónico|daltónica", "dyslexic": "legastheniker|legasthenikerin",
    "married": "verheiratet|casado|casada", "divorced": "geschieden|divorciado|divorciada|divorciamos|divorcié",
    "engaged": "verlobt",
    "separated": "getrennt|separado|separada|separamos|separé",
    "self-employed": "selbstständig|selbständig|autónomo|autónoma|por mi cuenta",
    "freelance": "freiberuflich|freelancer|freiberufler|freiberuflerin",
    "unemployed": "arbeitslos|arbeitssuchend|desempleado|desempleada|en paro|en el paro|sin trabajo",
    "retired": "rentner|rentnerin|pensioniert|in rente|im ruhestand|jubilado|jubilada",
    "on parental leave": "in elternzeit|de baja maternal|de baja paternal",
    "single": "ledig|soltero|soltera", "widowed": "verwitwet|viudo|viuda", "two": "zwei|dos|2", "three": "drei|tres|3",
    "four": "vier|cuatro|4", "five": "fünf|cinco|5", "six": "sechs|seis|6",
    "a son and a daughter": "einen sohn und eine tochter|un hijo y una hija",
    "a daughter and a son": "eine tochter und einen sohn|una hija y un hijo",
})  # fmt: skip
"""The English word for each value that the rules for diets, health, status and children know in another language. A
value that people may put in any words stays in theirs."""

_NO_SMOKING = frozenset(("no smoking", "nicht rauchen", "no fumar"))
_DIET_OF_PERSON = re.compile(r"(?:vegan|vegetarian|pesc[ea]tarian|coeliac|celiac)$", re.IGNORECASE)
"""A diet that a person is, not eats."""

_ARTICLE = re.compile(rf"^(?:{'|'.join(language.articles for language in LANGUAGES)}|my|our)\s+")
_VERSION = re.compile(r"\s+v?\d[\w.]*$")


def relation_attribute(relation: str) -> str:
    """Return the attribute that a word for a relation stands for."""
    return "partner" if relation in PARTNER_RELATIONS else relation


def normalize_value(value: str) -> str:
    """Return the form in which values are compared: without case, spare white space, leading article and outer
    punctuation."""
    plain = " ".join(unicodedata.normalize("NFC", value).casefold().split()).strip(" .,!'\"")
    return _ARTICLE.sub("", plain) or plain


def is_single_valued(kind: str, name: str) -> bool:
    """Whether a subject has one value of an attribute at a time."""
    return (
        name in SINGLE_VALUED
        or kind == "date"
        or name in _SINGLE_VALUED_RELATIONS
        or name.startswith("favourite ")
        or name.endswith(" size")
    )


def slot(kind: str, name: str, value: str) -> str:
    """Return the slot within which a newer statement replaces an older one.

    The slot is the attribute. Where an attribute may have many values, the value is part of the slot: of a program,
    without its version.
    """
    plain = normalize_value(value)
    if name == "diet" and _WITHOUT.match(plain):
        return f"{name}\x1f{plain}"
    if is_single_valued(kind, name):
        return name
    return f"{_EXCLUSIVE_ATTRIBUTES.get(name, name)}\x1f{_VERSION.sub('', plain) if name == 'uses' else plain}"


def refines(value: str, other: str) -> bool:
    """Whether a value says the same as another one, or the same and more: "Ana Kowalska" refines "Ana"."""
    value_key, other_key = normalize_value(value), normalize_value(other)
    return value_key == other_key or (value_key.startswith(other_key) and not value_key[len(other_key)].isalnum())


def is_same_value(value: str, other: str) -> bool:
    """Whether one of two values refines the other."""
    return refines(value, other) or refines(other, value)


def fact_sentence(subject: str, kind: str, name: str, value: str) -> str:
    """Return a fact as a short sentence. The sentence names no subject where the fact is about the user."""
    of_user = subject == USER_SUBJECT
    if name == "birthday":
        return ("birthday: " if of_user else f"{subject}'s birthday: ") + _format_day(value)
    template = SENTENCE_TEMPLATES.get(name)
    if kind == "relation" and name in _ANIMALS:
        template = f"has {'an' if name[0] in 'aeiou' else 'a'} {name} called {{}}"
    elif template is None:
        if not of_user:  # a date is one of a thing, "deadline of grant"; the others are of people
            name = f"{name} of {subject}" if kind == "date" else f"{subject}'s {name}"
        return f"{name} is {_day_or_month(value) if kind == 'date' else value}"
    if name == "diet" and (negation := _WITHOUT.match(value)):
        template, value = "avoids {}", _in_english(value[negation.end() :])
    elif name in ("diet", "health"):
        value = _in_english(value)
        if (_DIET_OF_PERSON if name == "diet" else _CONDITION).search(value):
            template = "is {}"
    elif name == "habit" and value in _NO_SMOKING:
        template = "doesn't smoke"
    elif name in ("status", "children", "employment"):
        value = _in_english(value)
        template = "has {} children" if name == "children" and " " not in value and value != "one" else template
    elif name == "business" and value == "business":
        template = "has a {}"
    elif name == "plans" and value.split(" ", 1)[0].endswith("ing"):
        template = "plans on {}"
    elif name == "wants" and not value.startswith("to "):
        template = "wants: {}"
    predicate = template.replace("{}", value)
    return predicate if of_user else f"{subject} {predicate}"


def _in_english(value: str) -> str:
    return _ENGLISH_VALUES.get(value.casefold(), value)


def _day_or_month(value: str) -> str:
    """Write "2024-08" as "in August 2024", and a day as "on 2024-08-05"."""
    match = re.fullmatch(r"(\d{4})-(\d\d)", value)
    if match:
        return f"in {_month(int(match[2]))} {match[1]}"
    return f"in {value}" if re.fullmatch(r"\d{4}", value) else f"on {value}"


def _month(number: int) -> str:
    return full_names(ENGLISH.temporal.months)[number - 1].capitalize()


def _format_day(value: str) -> str:
    """Write "05-03" as "3 May"; a date with its year stays as it is."""
    match = re.fullmatch(r"(\d\d)-(\d\d)", value)
    return f"{int(match[2])} {_month(int(match[1]))}" if match else value
