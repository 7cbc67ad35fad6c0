"""Questions to the memory itself: "what did I ask about Python", "do you remember the boiler", "what do you know about
me", "everything Diego wrote", in English, German, Spanish and French.

Their words of asking are no content: a message is not what was asked for because it says "ask" or "know" too. ``read``
understands the questions of pronouns; ``readings`` those that name somebody, with each length that a name may have,
because only the names that are known can tell where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from appliance.languages import LANGUAGES

MAX_NAME_WORDS = 5

MAX_CHARACTERS = 300
"""A longer text tells something, and its first words do not say what it is about."""

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

_NAME_FORMS: tuple[tuple[str, str], ...] = (
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

_REQUIRED = r"(?P<topic> .+)"

# English
_ADV = (
    r"(?: (?:ever|just|also|already|once|last|first|originally|actually|exactly|recently|previously|still|all|again))*"
)
_TO = r"(?: (?:to )?(?:you|it|us|claude|chat ?gpt|gpt|gemini|grok|copilot|deepseek|(?:the|my) (?:assistant|ai|bot)))?"
_ASKED = (
    r"(?:ask(?:ed)?|want(?:ed)? to know|wonder(?:ed)?|say|said|tell|told|write|wrote|written|mention(?:ed)?|note(?:d)?"
    r"|share(?:d)?|post(?:ed)?|sen[dt]|text(?:ed)?)"
)
_TALKED = r"(?:talk(?:ed)?|speak|spoken|chat(?:ted)?|discuss(?:ed)?)(?: (?:about|of|on))?"
_WE = r"(?:we|you and i|i and you|us two|i)"
_KNOW = r"(?:(?:still |already )?(?:know|remember|recall))"

# German
_DIR = (
    r"(?:,? (?:dich|dir|euch|uns|denn|schon|alles|mal|einmal|je|jemals|zuletzt|eigentlich|nochmal|so|noch|bisher"
    r"|genau|damals))*"
)
_GEFRAGT = r"(?:gefragt|wissen wollen|gesagt|geschrieben|erzählt|erwähnt|gemeint|berichtet|notiert|geschickt)"
_GEREDET = r"(?:gesprochen|geredet|besprochen|gesagt|geschrieben|diskutiert|unterhalten|gechattet)"
_WEISST = r"(?:wei(?:ß|ss)t du|wissen sie|wisst ihr)"

# Spanish
_PREGUNTE = (
    r"(?:(?:te |os |le )?(?:(?:he |había )(?:preguntado|dicho|escrito|contado|mencionado|hablado)|pregunt[ée]|dije"
    r"|escrib[íi]|cont[ée]|mencion[ée]))(?: yo)?(?: alguna vez)?"
)
_HABLAMOS = r"(?:hablamos|hemos hablado|dijimos|hemos dicho|comentamos|hemos comentado|discutimos)(?: de| sobre)?"

# French
_DEMANDE = r"(?:demand[ée]|dit|[ée]crit|racont[ée]|mentionn[ée]|parl[ée])"
_TU_SAIS = (
    r"(?:que sais[- ]tu|que savez[- ]vous|qu['’]est[- ]ce que (?:tu sais|vous savez)|(?:tu|vous) sa(?:is|vez) quoi)"
)
_DE = r"(?: (?:de|du|des|d['’]|sur))?"

_OWN_FORMS = (
    rf"(?:what|which (?:questions?|things?))(?: all| else| exactly)? (?:did|have|had) i{_ADV} {_ASKED}{_TO}{_ADV}"
    rf"{_TOPIC}",
    rf"(?:what|which){_REQUIRED} (?:questions?|things?) (?:did|have|had) i{_ADV} ask(?:ed)?{_TO}",
    rf"what (?:was|were) (?:my|the) (?:last|latest|previous) (?:thing|question|message)s?"
    rf"(?: (?:that )?i{_ADV} {_ASKED}{_TO})?",
    rf"(?:when was )?(?:the )?last time(?: that)? i(?:['’]ve| have| had)?{_ADV} {_ASKED}{_TO} about{_REQUIRED}",
    rf"what(?: all| else| exactly)? was i{_ADV} (?:asking|saying|telling|writing|wondering){_TO}{_ADV}{_TOPIC}",
    rf"(?:when|where|why|how often|how many times) (?:did|have|had) i{_ADV} (?:mention(?:ed)?{_REQUIRED}"
    rf"|{_ASKED}{_TO}{_ADV} about{_REQUIRED})",
    rf"(?:did|have|had) i{_ADV} {_ASKED}{_TO}{_ADV}(?: anything| something| a word)?(?: that)?{_REQUIRED}",
    rf"{_SHOW}(?:everything|anything|all|whatever|what|(?:all )?(?:the )?(?:things?|questions?|messages?))(?: that)?"
    rf" i(?:['’]ve|['’]d| have| had| did)?{_ADV} {_ASKED}{_TO}{_TOPIC}",
    rf"{_SHOW}(?:all )?(?:of )?my (?:own )?(?:messages?|questions?|prompts?|posts?) (?:about|on|regarding){_REQUIRED}",
    rf"(?:was|wonach|welche fragen) hab(?:e|'|’)? ?ich{_DIR}{_TOPIC} {_GEFRAGT}",
    rf"(?:wann |wo |wie oft |warum )?(?:habe?|hatte) ich{_DIR}(?: von| [uü]e?ber)?{_REQUIRED} {_GEFRAGT}",
    rf"{_ZEIGE}(?:alles,? )?(?:was|wonach) ich{_DIR}{_TOPIC} {_GEFRAGT}(?: hab(?:e)?| hatte)?",
    rf"{_ZEIGE}(?:alle )?meine (?:fragen|nachrichten|beiträge) (?:zu[mr]?|[uü]e?ber|nach|wegen){_REQUIRED}",
    rf"(?:qu[ée]|{_MUESTRA}(?:todo )?lo que) {_PREGUNTE}{_TOPIC}",
    rf"(?:cu[áa]ndo |d[óo]nde |por qu[ée] )?{_PREGUNTE} (?:sobre|lo del?|del?|por|acerca del?){_REQUIRED}",
    rf"{_MUESTRA}(?:todos |todas )?mis (?:preguntas|mensajes) (?:sobre|del?|acerca del?){_REQUIRED}",
    rf"(?:qu['’]ai[- ]je|qu['’]est[- ]ce que (?:j['’]|je t['’]|je vous )ai"
    rf"|{_MONTRE}(?:tout )?ce que (?:je t['’]ai|j['’]ai))(?: d[ée]j[àa])?"
    rf" {_DEMANDE}{_TOPIC}",
    rf"(?:quand |o[ùu] )?(?:(?:t['’])?ai[- ]je|est[- ]ce que je (?:t['’]|vous )ai)(?: d[ée]j[àa])?"
    rf" {_DEMANDE}{_DE}{_REQUIRED}",
    rf"{_MONTRE}(?:toutes |tous )?mes (?:questions|messages) (?:sur|à propos d[eu]s?){_REQUIRED}",
)
"""They ask for what the person wrote."""

_KNOWN_FORMS = (
    r"(?:who am i(?: to you)?|describe me|what (?:kind|sort) of (?:a )?person am i|(?:show me )?my profile"
    r"|wer bin ich(?: eigentlich| für dich)?|beschreibe? mich|kennst du mich|mein profil"
    r"|qui[ée]n soy(?: yo)?|descr[íi]beme|me conoces|mi perfil|qui suis[- ]je|d[ée]cris[- ]moi|tu me connais"
    r"|mon profil)",
    rf"(?:what|how much)(?: all| else| exactly)? (?:do|can|did) (?:you|we){_ADV} {_KNOW}(?: about| of| on)?{_TOPIC}",
    rf"(?:(?:show|give|tell|list|summari[sz]e)(?: me)? )?(?:everything|all|anything|what|whatever|(?:all )?(?:the )?"
    rf"(?:facts|things))(?: that)? you{_ADV} {_KNOW}(?: about| of| on)?{_TOPIC}",
    rf"(?:what |which )?(?:the |all |my )?(?:facts|things)(?: do you {_KNOW}| known| stored)?(?: about| of){_REQUIRED}",
    rf"(?:you )?remember(?: when| that| the time(?: when| that)?)?{_REQUIRED}",
    rf"what (?:do you have|can you tell me)(?: about| on){_REQUIRED}",
    rf"(?:do|can) (?:you|we) {_KNOW}(?: anything| something| much)?(?: about| of| that| when| if| whether"
    rf"| the time(?: when| that)?)?{_REQUIRED}",
    rf"(?:tell|remind) me(?: again)?(?: everything| all| more| something| anything| what| whatever)?"
    rf"(?: (?:that )?you {_KNOW})?(?: about| of){_REQUIRED}",
    rf"what(?:['’]s| is| was) (?:known|remembered|stored|saved|in (?:your|the) memory)(?: about| on| of){_REQUIRED}",
    rf"(?:was|wie ?viel) {_WEISST}(?: noch| schon| alles| eigentlich)*(?: (?:[uü]e?ber|von|zu[mr]?))?{_TOPIC}",
    rf"{_WEISST}(?: noch| schon| eigentlich| etwas| was)*,?(?: (?:[uü]e?ber|von|zu[mr]?|dass|ob|als|wann))?{_REQUIRED}",
    rf"(?:erinnerst du dich|kannst du dich)(?: noch)?(?: erinnern)?,?(?: (?:an|ans|daran,?(?: dass| wie| als)?|dass|wie"
    rf"|als))?{_REQUIRED}",
    rf"(?:erzähle?|sag) mir(?: alles| mehr| et?was| was)?(?:,? was du(?: noch)? weißt)?(?: [uü]e?ber| von){_REQUIRED}",
    rf"hast du (?:dir )?(?:et?was |was )?(?:[uü]e?ber|zu[mr]?|von){_REQUIRED} (?:gemerkt|gespeichert)",
    rf"was (?:ist|weiß man)(?: dir)?(?: [uü]e?ber| von| zu){_REQUIRED} (?:bekannt|gespeichert)",
    rf"qu[ée] (?:m[áa]s )?(?:sabes|recuerdas|conoces)(?: t[úu])?(?: sobre| del?| acerca del?)?{_TOPIC}",
    rf"(?:te acuerdas|recuerdas)(?: t[úu])?(?: del?(?: que| cuando)?| cuando| que| sobre)?{_REQUIRED}",
    rf"(?:cu[ée]ntame|dime)(?: todo)?(?: lo que sabes| m[áa]s)?(?: del?| sobre){_REQUIRED}",
    rf"{_TU_SAIS}(?: d['’]| de| du| des| sur| à propos d[eu]s?)?{_TOPIC}",
    rf"(?:te (?:souviens|rappelles)[- ]tu|tu te (?:souviens|rappelles)|vous souvenez[- ]vous)"
    rf"(?: d['’]| de| du| des| quand| que)?{_REQUIRED}",
    rf"(?:parle|dis)[- ]moi(?: tout)?(?: ce que tu sais)?(?: de| du| sur){_REQUIRED}",
)
"""They ask for what is known; without a topic, for what is known about the person."""

_TALK_FORMS = (
    rf"(?:when|what|where|why|how often|how many times)(?: all| else| exactly)? (?:did|have|had) {_WE}{_ADV}"
    rf" {_TALKED}{_TOPIC}",
    rf"(?:when|what|where)(?: all| else| exactly)? (?:did|have|had) we{_ADV} (?:say|said|mention(?:ed)?|write"
    rf"|written){_ADV}{_TOPIC}",
    rf"(?:did|have|had) {_WE}{_ADV} {_TALKED}{_REQUIRED}",
    rf"(?:when was )?(?:the )?last time(?: that)? (?:we|you and i)(?:['’]ve| have| had)?{_ADV} {_TALKED}{_REQUIRED}",
    rf"{_SHOW}(?:all )?(?:our|the )?(?: ?(?:last|earlier|previous))? ?(?:conversations?|chats?|discussions?)"
    rf" (?:about|on|regarding){_REQUIRED}",
    rf"(?:wann |was |wo |wie oft |wor[üu]e?ber )?(?:(?:haben|hatten) wir|habe? ich mit (?:dir|euch))"
    rf"{_DIR}(?: von| [uü]e?ber)?{_TOPIC} {_GEREDET}",
    rf"(?:cu[áa]ndo |d[óo]nde |(?:de )?qu[ée] |alguna vez )?{_HABLAMOS}{_TOPIC}",
    rf"(?:quand |de quoi |o[ùu] )?(?:avons[- ]nous|est[- ]ce qu(?:['’]on a|e nous avons)|a[- ]t[- ]on)(?: d[ée]j[àa])?"
    rf" (?:parl[ée]|discut[ée])(?: d['’]| de| du| des)?{_TOPIC}",
)
"""They ask for what was talked about, by whomever; without a topic, for what was talked about last."""

_LEADS = re.compile(
    r"(?:(?:hey|hi|hello|and|und|y|et|so|ok(?:ay)?|please|well|now|bitte|also|sag mal|hallo|oye|dime|por favor|dis"
    r"|s['’]il te plaît|est[- ]ce que)"
    r"[, ]+)*(?:(?:(?:can|could|would|will) you )?(?:please )?(?:tell|show|remind|give) me(?: again| please)?[, ]+"
    r"(?=what|which|when|where|everything|anything|all|who))?",
    re.I,
)
_TRAILS = re.compile(r"(?:[, ]+(?:please|again|bitte|por favor|s['’]il (?:te|vous) plaît))+$", re.I)
_ABOUT = re.compile(
    r"(?:about|regarding|concerning|with regard to|on the (?:topic|subject) of|[uü]e?ber|zum thema|bezüglich|sobre"
    r"|acerca de|sur|à propos d(?:e |u |['’])|au sujet d(?:e |u |['’]))\s*\b",
    re.I,
)
_ADVERB = re.compile(r"(?<=\w) (?:before|already|yet|ever|schon(?: mal)?|d[ée]j[àa])$", re.I)
_PERSON = re.compile(
    r"(?:me(?: and my life| personally)?|myself|who i am|i|my (?:life|person)|mich(?: selbst)?|mir(?: selbst)?|ich"
    r"|meine(?:r)? person|wer ich bin|m[íi](?: mism[oa])?|qui[ée]n soy|yo|moi(?:[- ]même)?|qui je suis)",
    re.I,
)
_LATELY = re.compile(
    r"(?:(?:the )?last time|recently|lately|so far|before|earlier|last|zuletzt|(?:das )?letzte[s]? mal|neulich|kürzlich"
    r"|bisher|(?:la )?[úu]ltima vez|[úu]ltimamente|hace poco|antes|(?:la )?derni[èe]re fois|r[ée]cemment"
    r"|derni[èe]rement)",
    re.I,
)
_NOTHING = frozenset[str]().union(*(one.function_words | one.talk_words for one in LANGUAGES))
_WORD = re.compile(r"\w+")

_Kind = Literal["own", "known", "talk"]
_FORMS: Mapping[_Kind, tuple[str, ...]] = {"own": _OWN_FORMS, "known": _KNOWN_FORMS, "talk": _TALK_FORMS}

_COMPILED = tuple((re.compile(before, re.I), re.compile(behind, re.I)) for before, behind in _NAME_FORMS)
_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")
_DETERMINERS = re.compile(r"(?:my|our|mein|meine|unsere?|der|die|mi|nuestr[oa]|ma|mon|notre)\s+", re.I)


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """What a question to the memory asks for.

    Attributes:
        topic: What it is about, without the words of asking; empty if it names nothing.
        by_person: Whether it asks for what the person whose memory it is wrote.
        about_person: Whether it asks for what is known about that person. It has no topic then.
    """

    topic: str
    by_person: bool = False
    about_person: bool = False


@dataclass(frozen=True, slots=True)
class AuthorQuestion:
    """A reading of a question: whose words it asks for, and what is said of them beside ("the boiler"; empty if it asks
    for all of them)."""

    name: str
    topic: str


def read(question: str) -> RecallQuestion | None:
    """Understand a question to the memory. None if the text is another question, or if it refers to something that was
    said before ("what did we say about that")."""
    asked = _normal(question)
    if not asked or len(asked) > MAX_CHARACTERS:
        return None
    for text in dict.fromkeys((asked, asked[leads.end() :] if (leads := _LEADS.match(asked)) else asked)):
        for kind, forms in _FORMS.items():
            if (match := _any_of(forms).fullmatch(text)) is not None:
                named = next(filter(None, match.groups()), "")
                found = _question(_topic(named), kind)
                # "Do you remember what I said about the boiler"
                return (read(found.topic) or found) if found is not None and kind != "own" else found
    return None


def content(question: str) -> str:
    """What a question is about, without its words of asking; the question itself if it is none to the memory."""
    asked = read(question)
    return asked.topic if asked is not None else question


def readings(question: str) -> Iterator[AuthorQuestion]:
    """Yield how a question may be read, with the longest name first; nothing if it asks for no one's words."""
    asked = _normal(question)
    for before, behind in _COMPILED:
        if (opening := before.match(asked)) is None:
            continue
        rest = asked[opening.end() :]
        ends = [match.start() for match in _WORD_END.finditer(rest)][:MAX_NAME_WORDS]
        for end in reversed(ends):
            if (closing := behind.fullmatch(rest, end)) is not None:
                name = rest[:end].rstrip(",:;").rstrip()
                topic = _topic(closing["topic"])
                yield AuthorQuestion(name, topic)
                if own := _DETERMINERS.match(name):
                    yield AuthorQuestion(name[own.end() :], topic)


def _normal(question: str) -> str:
    return _TRAILS.sub("", " ".join(question.split()).strip("¿?¡!. "))


def _topic(words: str) -> str:
    """A topic without the preposition before it, and without the adverb of a yes-or-no question behind it."""
    topic = _ADVERB.sub("", words.strip(" ,:;"))
    about = _ABOUT.match(topic)
    return topic[about.end() :] if about is not None and about.end() < len(topic) else topic


def _question(topic: str, kind: _Kind) -> RecallQuestion | None:
    if _PERSON.fullmatch(topic) or (not topic and kind == "known"):
        return RecallQuestion("", about_person=True)
    if _LATELY.fullmatch(topic):
        topic = ""
    elif topic and set(_WORD.findall(topic.casefold())) <= _NOTHING:
        return None
    return RecallQuestion(topic, by_person=kind == "own")


@lru_cache
def _any_of(forms: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several forms, compiled when it is first needed; its groups are the topics."""
    return re.compile("|".join(forms).replace("(?P<topic>", "("), re.I)
