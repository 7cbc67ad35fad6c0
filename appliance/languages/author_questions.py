"""Questions for what somebody wrote or said, in English, German, Spanish and French: "everything Diego wrote", "what
did Mum say about the boiler", "was hat Mama geschrieben", "mensajes de Ana", "ce que Luc a dit".

Where a name ends only the names that are known can tell: a question is read with each length that a name may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from appliance.lazy_dataclasses import dataclass

MAX_NAME_WORDS = 5

_TOPIC = r"(?P<topic>(?: .*)?)"
_MESSAGES = r"(?:messages?|e-?mails?|mails?|texts?|posts?|notes?)"
_SHOW = r"(?:(?:show|give|find|list|get|search)(?: me)? )?"
_SAID = (
    r"(?:says?|said|writes?|wrote|written|tells?|told|mention(?:s|ed)?|sends?|sent|text(?:s|ed)?|posts?|posted)"
    r"(?: (?:to )?(?:me|us))?"
)
_ZEIGE = r"(?:(?:zeige?|finde?|suche?)(?: mir)? )?"
_GESAGT = r"(?:gesagt|geschrieben|erzählt|gemeint|geschickt|erwähnt|gepostet)"
_SAGTE = r"(?:sagte?|sagt|schrieb|schreibt|meinte|erzählte|schickte|erwähnte)"
_MUESTRA = r"(?:(?:muéstrame|muestra|enséñame|busca|dame) )?"
_DIJO = (
    r"(?:me |nos )?(?:dijo|dice|(?:ha|había) (?:dicho|escrito|contado|mandado|enviado)|escribi[óo]|escribe|cont[óo]"
    r"|mand[óo]|envi[óo]|coment[óo]|mencion[óo])"
)
_MONTRE = r"(?:(?:montre|trouve|cherche)(?:[- ]moi)? )?"
_DIT = r"(?:dit|[ée]crit|envoy[ée]|racont[ée]|mentionn[ée]|post[ée])"
_A_DIT = rf"(?:a|avait|m['’]a(?:vait)?|nous a(?:vait)?) {_DIT}"

_FORMS: tuple[tuple[str, str], ...] = (
    # English
    # Not "what does Tim write on the board": that asks for what is so, and who said it does not matter.
    (r"what (?:all )?(?:did|has|had) ", rf"(?: (?:ever|just|also|already|once))* {_SAID}{_TOPIC}"),
    (
        rf"{_SHOW}(?:everything|anything|all|whatever|what)(?: that)? ",
        rf"(?: has| had)?(?: (?:ever|just|also|already|once))* {_SAID}{_TOPIC}",
    ),
    (rf"{_SHOW}(?:all )?(?:the )?{_MESSAGES}(?: written| sent)? (?:from|by) ", _TOPIC),
    # German
    (r"(?:was hat(?:te)?|what did|was wollte) ", rf"(?: mir| uns)?{_TOPIC} (?:{_GESAGT}|schreiben|sagen|erzählen)"),
    (rf"was {_SAGTE} ", rf"(?: mir| uns)?{_TOPIC}"),
    (rf"{_ZEIGE}(?:alles,? )?was ", rf"(?: mir| uns)?{_TOPIC} (?:{_GESAGT}(?: hat(?:te)?)?|{_SAGTE})"),
    (rf"{_ZEIGE}(?:alles,? )?was ", rf"(?: mir| uns)? (?:{_GESAGT}(?: hat(?:te)?)?|{_SAGTE}){_TOPIC}"),
    (rf"{_ZEIGE}(?:alle )?(?:die )?(?:nachrichten|e-?mails?|mails?|texte|beiträge) (?:von|vom) ", _TOPIC),
    # Spanish
    (rf"qu[ée] {_DIJO} ", _TOPIC),
    (rf"{_MUESTRA}(?:todo )?lo que {_DIJO} ", _TOPIC),
    (rf"{_MUESTRA}(?:todo )?lo que ", rf" {_DIJO}{_TOPIC}"),
    (rf"{_MUESTRA}(?:todos? )?(?:los )?(?:mensajes?|correos?|textos?) de ", _TOPIC),
    # French
    (rf"qu['’]a(?:vait)? {_DIT} ", _TOPIC),
    (r"qu['’]est[- ]ce qu(?:e |['’])", rf" {_A_DIT}{_TOPIC}"),
    (rf"{_MONTRE}(?:tout )?ce qu(?:e |['’])", rf" {_A_DIT}{_TOPIC}"),
    (rf"{_MONTRE}(?:tous )?(?:les )?(?:messages?|e-?mails?|mails?|courriels?|textos?) d(?:e |['’])", _TOPIC),
)
"""What stands before a name, and behind it."""

_COMPILED = tuple((re.compile(before, re.I), re.compile(behind, re.I)) for before, behind in _FORMS)
_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")
_DETERMINERS = re.compile(r"(?:my|our|mein|meine|unsere?|der|die|mi|nuestr[oa]|ma|mon|notre)\s+", re.I)


@dataclass(frozen=True, slots=True)
class AuthorQuestion:
    """A reading of a question: whose words it asks for, and what is said of them beside ("about the boiler"; empty if
    it asks for all of them)."""

    name: str
    topic: str


def readings(question: str) -> Iterator[AuthorQuestion]:
    """Yield how a question may be read, with the longest name first; nothing if it asks for no one's words."""
    asked = " ".join(question.split()).strip("¿?!. ")
    for before, behind in _COMPILED:
        if (opening := before.match(asked)) is None:
            continue
        rest = asked[opening.end() :]
        ends = [match.start() for match in _WORD_END.finditer(rest)][:MAX_NAME_WORDS]
        for end in reversed(ends):
            if (closing := behind.fullmatch(rest, end)) is not None:
                name = rest[:end].rstrip(",:;").rstrip()
                topic = closing["topic"].strip(" ,:;")
                yield AuthorQuestion(name, topic)
                if own := _DETERMINERS.match(name):
                    yield AuthorQuestion(name[own.end() :], topic)
