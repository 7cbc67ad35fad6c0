"""Questions to the memory itself: "what did I ask about Python", "who wrote about KDE", "what do you know about me",
"everything Diego wrote", in English, German, Spanish and French; in Portuguese those that name somebody.

Their words of asking are no content: a message is not what was asked for because it says "ask" or "know" too. ``read``
understands the questions of pronouns; ``readings`` those that name somebody, with each length that a name may have,
because only the names that are known can tell where it ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Literal

from appliance.languages import LANGUAGES, periods
from appliance.languages.time_words import TIME_PARTICLES

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
_GESAGT = r"(?:gesagt|geschrieben|erzählt|gemeint|geschickt|erwähnt|gepostet|gefragt|angesprochen)"
_WORDS_ON = r"(?:nach|[uü]e?ber|von|vom|zu[mr]?|wegen)"
_SAGTE = r"(?:sagte?|sagt|schrieb|schreibt|meinte|erzählte|schickte|erwähnte)"
_MUESTRA = r"(?:(?:muéstrame|muestra|enséñame|busca|dame) )?"
_DIJO = (
    r"(?:me |nos )?(?:dijo|dice|(?:ha|había) (?:dicho|escrito|contado|mandado|enviado|preguntado)|escribi[óo]|escribe"
    r"|cont[óo]|mand[óo]|envi[óo]|coment[óo]|mencion[óo]|pregunt[óo])"
)
_MONTRE = r"(?:(?:montre|trouve|cherche)(?:[- ]moi)? )?"
_DIT = r"(?:dit|[ée]crit|envoy[ée]|racont[ée]|mentionn[ée]|post[ée]|demand[ée])"
_A_DIT = rf"(?:a|avait|m['’]a(?:vait)?|nous a(?:vait)?) {_DIT}"
_DISSE = r"(?:(?:me |nos )?(?:disse|escreveu|contou|mandou|enviou|mencionou|perguntou)(?:-me|-nos)?)"

_REQUIRED = r"(?P<topic> .+)"
_EVER = r"(?: (?:ever|just|also|already|once|last|first))*"
_BROUGHT_UP = (
    r"(?:mention(?:ed)?|bring up|brought up|(?:ask(?:ed)?|talk(?:ed)?|speak|spoken|write|written|tell|told|say|said)"
    r"(?: (?:to )?(?:me|us))?(?: anything| something)? about)"
)
_ANGESPROCHEN = (
    rf"(?: mir| mich| uns)?(?: schon| mal| je| zuletzt)*(?: et?was| was)? {_WORDS_ON}{_REQUIRED}"
    r" (?:gefragt|gesprochen|geredet|erzählt|gesagt|geschrieben|berichtet)"
)

_NAME_FORMS: tuple[tuple[str, str], ...] = (
    # English
    # Not "what does Tim write on the board": that asks for what is so, and who said it does not matter.
    (r"what (?:all )?(?:did|has|had) ", rf"(?: (?:ever|just|also|already|once))* {_SAID}{_TOPIC}"),
    (
        rf"{_SHOW}(?:everything|anything|all|whatever|what)(?: that)? ",
        rf"(?: has| had)?(?: (?:ever|just|also|already|once))* {_SAID}{_TOPIC}",
    ),
    (
        r"what (?:all )?(?:did|has|had) ",
        rf"{_EVER} (?:ask(?:ed)?|talk(?:ed)? about|bring up|brought up)(?: (?:me|us))?(?! (?:for|to)\b){_TOPIC}",
    ),
    (r"(?:(?:when|where|how often|how many times) )?(?:did|has|had) ", rf"{_EVER} {_BROUGHT_UP}{_REQUIRED}"),
    (rf"{_SHOW}(?:all )?(?:the )?(?:last |latest |newest )?{_MESSAGES}(?: written| sent)? (?:from|by) ", _TOPIC),
    # German
    (
        r"(?:was hat(?:te)?|what did|was wollte) ",
        rf"(?: mir| mich| uns)?{_TOPIC} (?:{_GESAGT}|schreiben|sagen|erzählen)",
    ),
    (r"(?:(?:wann|wo|wie oft) )?(?:hat|hatte) ", _ANGESPROCHEN),
    (r"(?:(?:wann|wo|wie oft) )?(?:hat|hatte) ", rf"(?: schon| mal| je| zuletzt)*{_REQUIRED} (?:erwähnt|angesprochen)"),
    (rf"was {_SAGTE} ", rf"(?: mir| uns)?{_TOPIC}"),
    (rf"{_ZEIGE}(?:alles,? )?was ", rf"(?: mir| uns)?{_TOPIC} (?:{_GESAGT}(?: hat(?:te)?)?|{_SAGTE})"),
    (rf"{_ZEIGE}(?:alles,? )?was ", rf"(?: mir| uns)? (?:{_GESAGT}(?: hat(?:te)?)?|{_SAGTE}){_TOPIC}"),
    (rf"{_ZEIGE}(?:alle )?(?:die )?(?:nachrichten|e-?mails?|mails?|texte|beiträge) (?:von|vom) ", _TOPIC),
    # Spanish
    (rf"qu[ée] {_DIJO} ", _TOPIC),
    (r"(?:cu[áa]ndo|d[óo]nde) mencion[óo] ", _REQUIRED),
    (rf"{_MUESTRA}(?:todo )?lo que {_DIJO} ", _TOPIC),
    (rf"{_MUESTRA}(?:todo )?lo que ", rf" {_DIJO}{_TOPIC}"),
    (rf"{_MUESTRA}(?:todos? )?(?:los )?(?:mensajes?|correos?|textos?) de ", _TOPIC),
    # French
    (rf"qu['’]a(?:vait)? {_DIT} ", _TOPIC),
    (r"qu['’]est[- ]ce qu(?:e |['’])", rf" {_A_DIT}{_TOPIC}"),
    (
        r"(?:quand )?est[- ]ce qu(?:e |['’])",
        r" (?:m['’]|nous )?a(?:vait)?(?: d[ée]j[àa])? (?:mentionn[ée]|[ée]voqu[ée]|parl[ée] (?:de|du|des|sur))"
        rf"{_REQUIRED}",
    ),
    (rf"{_MONTRE}(?:tout )?ce qu(?:e |['’])", rf" {_A_DIT}{_TOPIC}"),
    (rf"{_MONTRE}(?:tous )?(?:les )?(?:messages?|e-?mails?|mails?|courriels?|textos?) d(?:e |['’])", _TOPIC),
    # Portuguese
    (rf"o que (?:é que )?{_DISSE} (?:[ao] )?", _TOPIC),
    (r"(?:tudo )?o que (?:é que )?(?:[ao] )?", rf" {_DISSE}{_TOPIC}"),
    (r"(?:todas )?(?:as )?(?:mensagens|mensagem|e-?mails?) d(?:e|a|o) ", _TOPIC),
)
"""What stands before a name, and behind it."""

# English
_ADV = (
    r"(?: (?:ever|just|also|already|once|last|first|originally|actually|exactly|recently|previously|still|all|again))*"
)
_TO = r"(?: (?:to )?(?:you|it|us|claude|chat ?gpt|gpt|gemini|grok|copilot|deepseek|(?:the|my) (?:assistant|ai|bot)))?"
_ASKED = (
    r"(?:ask(?:ed)?|want(?:ed)? to know|wonder(?:ed)?|say|said|tell|told|write|wrote|written|mention(?:ed)?|note(?:d)?"
    r"|share(?:d)?|post(?:ed)?|sen[dt]|text(?:ed)?|bring up|brought up|complain(?:ed)?|explain(?:ed)?|describe(?:d)?)"
)
_TALKED = r"(?:talk(?:ed)?|speak|spoken|chat(?:ted)?|discuss(?:ed)?|bring up|brought up)(?: (?:about|of|on))?"
_WE = r"(?:we|you and i|i and you|us two|i)"
_KNOW = r"(?:(?:still |already )?(?:know|remember|recall))"

# German
_DIR = (
    r"(?:,? (?:dich|dir|euch|uns|denn|schon|alles|mal|einmal|je|jemals|zuletzt|eigentlich|nochmal|so|noch|bisher"
    r"|genau|damals))*"
)
_GEFRAGT = (
    r"(?:gefragt|wissen wollen|gesagt|geschrieben|erzählt|erwähnt|gemeint|berichtet|notiert|geschickt|angesprochen"
    r"|gepostet|gesprochen|geredet)"
)
_GEREDET = r"(?:gesprochen|geredet|besprochen|gesagt|geschrieben|diskutiert|unterhalten|gechattet|erwähnt|angesprochen)"
_WEISST = r"(?:wei(?:ß|ss)t du|wissen sie|wisst ihr)"

# Spanish
_PREGUNTE = (
    r"(?:(?:te |os |le )?(?:(?:he |había )(?:preguntado|dicho|escrito|contado|mencionado|hablado)|pregunt[ée]|dije"
    r"|escrib[íi]|cont[ée]|mencion[ée]))(?: yo)?(?: alguna vez)?"
)
_HABLAMOS = (
    r"(?:hablamos|hemos hablado|dijimos|hemos dicho|comentamos|hemos comentado|discutimos|mencionamos|hemos mencionado"
    r"|charlamos|conversamos)(?: por última vez)?(?: del?| sobre| acerca del?)?"
)

# French
_DEMANDE = r"(?:demand[ée]|dit|[ée]crit|racont[ée]|mentionn[ée]|parl[ée]|[ée]voqu[ée])"
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
    rf"(?:was|wonach|welche fragen) hab(?:e|'|’)? ?ich{_DIR}(?! mit (?:dir|euch)\b){_TOPIC} {_GEFRAGT}",
    rf"(?:wann |wo |wie oft |warum )?(?:habe?|hatte) ich{_DIR}(?! mit (?:dir|euch)\b)(?: von| [uü]e?ber"
    rf"| nach)?{_REQUIRED} {_GEFRAGT}",
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
    r"(?:who am i(?: to you)?|describe me|tell me (?:more )?about (?:me|myself)"
    r"|what (?:kind|sort) of (?:a )?person am i|(?:show me )?my profile"
    r"|wer bin ich(?: eigentlich| für dich)?|beschreibe? mich|erzähle? mir (?:[uü]e?ber mich|von mir)|kennst du mich"
    r"|mein profil|qui[ée]n soy(?: yo)?|descr[íi]beme|(?:h[áa]blame|cu[ée]ntame) (?:de|sobre) m[íi]|me conoces"
    r"|mi perfil|qui suis[- ]je|d[ée]cris[- ]moi|parle[- ]moi de moi|tu me connais|mon profil)",
    rf"(?:what|how much)(?: all| else| exactly)? (?:do|can|did) (?:you|we){_ADV} {_KNOW}(?: about| of| on)?{_TOPIC}",
    rf"(?:(?:show|give|tell|list|summari[sz]e)(?: me)? )?(?:everything|all|anything|what|whatever|(?:all )?(?:the )?"
    rf"(?:facts|things))(?: that)? you{_ADV} {_KNOW}(?: about| of| on)?{_TOPIC}",
    rf"(?:what |which )?(?:the |all |my )?(?:facts|things)(?: do you {_KNOW}| known| stored)?(?: about| of){_REQUIRED}",
    rf"(?:you )?remember(?: when| that| the time(?: when| that)?)?{_REQUIRED}",
    rf"what (?:do you have|can you tell me)(?: about| on){_REQUIRED}",
    rf"(?:do|can) (?:you|we) {_KNOW}(?: anything| something| much)?(?: about| of| that| when| if| whether"
    rf"| the time(?: when| that)?)?{_REQUIRED}",
    # "Tell me about otters" is what assistants are asked for all day, and such messages are looked for as they stand.
    rf"(?:tell|remind) me(?: again)? (?:everything|all|more|something|anything|what|whatever)"
    rf"(?: (?:that )?you {_KNOW})?(?: about| of){_REQUIRED}",
    rf"remind me(?: again)?(?: about| of){_REQUIRED}",
    rf"what(?:['’]s| is| was) (?:known|remembered|stored|saved|in (?:your|the) memory)(?: about| on| of){_REQUIRED}",
    rf"(?:was|wie ?viel) {_WEISST}(?: noch| schon| alles| eigentlich)*(?: (?:[uü]e?ber|von|zu[mr]?))?{_TOPIC}",
    rf"{_WEISST}(?: noch| schon| eigentlich| etwas| was)*,?(?: (?:[uü]e?ber|von|zu[mr]?|dass|ob|als|wann))?{_REQUIRED}",
    rf"(?:erinnerst du dich|kannst du dich)(?: noch)?(?: erinnern)?,?(?: (?:an|ans|daran,?(?: dass| wie| als)?|dass|wie"
    rf"|als))?{_REQUIRED}",
    rf"(?:erzähle?|sag) mir(?:(?: alles| mehr| et?was| was)(?:,? was du(?: noch)? weißt)?|,? was du(?: noch)? weißt)"
    rf"(?: [uü]e?ber| von){_REQUIRED}",
    rf"hast du (?:dir )?(?:et?was |was )?(?:[uü]e?ber|zu[mr]?|von){_REQUIRED} (?:gemerkt|gespeichert)",
    rf"was (?:ist|weiß man)(?: dir)?(?: [uü]e?ber| von| zu){_REQUIRED} (?:bekannt|gespeichert)",
    rf"qu[ée] (?:m[áa]s )?(?:sabes|recuerdas|conoces)(?: t[úu])?(?: sobre| del?| acerca del?)?{_TOPIC}",
    rf"(?:te acuerdas|recuerdas)(?: t[úu])?(?: del?(?: que| cuando)?| cuando| que| sobre)?{_REQUIRED}",
    rf"(?:cu[ée]ntame|dime)(?: todo(?: lo que sabes)?| lo que sabes| m[áa]s)(?: del?| sobre){_REQUIRED}",
    rf"{_TU_SAIS}(?: d['’]| de| du| des| sur| à propos d[eu]s?)?{_TOPIC}",
    rf"(?:te (?:souviens|rappelles)[- ]tu|tu te (?:souviens|rappelles)|vous souvenez[- ]vous)"
    rf"(?: d['’]| de| du| des| quand| que)?{_REQUIRED}",
    rf"(?:parle|dis)[- ]moi(?: tout(?: ce que tu sais)?| ce que tu sais)(?: de| du| sur){_REQUIRED}",
)
"""They ask for what is known; without a topic, for what is known about the person."""

_TALK_FORMS = (
    rf"(?:when|what|where|why|how often|how many times)(?: all| else| exactly)? (?:did|have|had) {_WE}{_ADV}"
    rf" {_TALKED}{_TOPIC}",
    rf"(?:when|what|where)(?: all| else| exactly)? (?:did|have|had) we{_ADV} (?:say|said|mention(?:ed)?|write"
    rf"|written){_ADV}{_TOPIC}",
    rf"(?:did|have|had) we{_ADV} (?:mention(?:ed)?|(?:say|said|write|written)(?: anything| something)? about)"
    rf"{_REQUIRED}",
    rf"(?:did|have|had) {_WE}{_ADV} {_TALKED}{_REQUIRED}",
    rf"in (?:which|what) (?:chats?|conversations?|sessions?|messages?) (?:did|have) {_WE}{_ADV}"
    rf" (?:{_TALKED}|mention(?:ed)?){_REQUIRED}",
    rf"(?:when was )?(?:the )?last time(?: that)? (?:we|you and i)(?:['’]ve| have| had)?{_ADV} {_TALKED}{_REQUIRED}",
    rf"{_SHOW}(?:all )?(?:our|the )?(?: ?(?:last|earlier|previous))? ?(?:conversations?|chats?|discussions?)"
    rf" (?:about|on|regarding){_REQUIRED}",
    rf"(?:wann |was |wo |wie oft |wor[üu]e?ber )?(?:(?:haben|hatten) wir|habe? ich mit (?:dir|euch))"
    rf"{_DIR}(?: von| [uü]e?ber)?{_TOPIC} {_GEREDET}",
    rf"(?:wann |wo |wie oft |wor[üu]e?ber )(?:sprachen|redeten) wir{_DIR}(?: von| [uü]e?ber)?{_TOPIC}",
    rf"(?:cu[áa]ndo |d[óo]nde |(?:de )?qu[ée] |alguna vez )?{_HABLAMOS}{_TOPIC}",
    rf"(?:quand |de quoi |o[ùu] )?(?:avons[- ]nous|est[- ]ce qu(?:['’]on a|e nous avons)|a[- ]t[- ]on)(?: d[ée]j[àa])?"
    rf" (?:parl[ée]|discut[ée]|mentionn[ée]|[ée]voqu[ée])(?: d['’]| de| du| des)?{_TOPIC}",
)
"""They ask for what was talked about, by whomever; without a topic, for what was talked about last."""

_SPOKE_OF = (
    r"(?:mention(?:ed)?|discuss(?:ed)?|brought up|bring up"
    r"|(?:ask(?:ed|ing)?|talk(?:ed|ing)?|spoke|spoken|speak|chat(?:ted|ting)?|wr(?:ite|ote|itten|iting)|told|tell"
    r"|sa(?:y|id)|post(?:ed)?|complain(?:ed|ing)?|know|knows)"
    r"(?: (?:to )?(?:me|us|you))?(?: anything| something| a word| a lot| more| much)?(?: about| of| regarding))"
)
_ANYONE = r"(?:any ?one|any ?body|some ?one|some ?body|any of (?:us|you|them))(?: here| else)?"
_JEMAND = r"(?:jemand|irgendwer|irgendjemand|wer|einer)(?: von (?:uns|euch|ihnen))?"
_GEFRAGT_NACH = (
    rf"(?: mich| mir| uns| dich)?{_DIR}(?: et?was| was| viel)?(?: {_WORDS_ON}{_REQUIRED} {_GEREDET[:-1]}"
    rf"|gefragt|erzählt|berichtet|gepostet|gewusst)|{_REQUIRED} (?:erwähnt|angesprochen))"
)
_DE_ES = r"(?: algo| mucho| m[áa]s)? (?:por|sobre|del?|acerca del?)"
_PREGUNTO = (
    r"(?:(?:me |nos |te |le )?(?:(?:ha|han|hab[íi]a) )?(?:(?:pregunt(?:[óo]|ado|aron)|habl(?:[óo]|ado|aron)|escrib"
    rf"(?:i[óo]|ieron)|escrito|dijo|dicho|dijeron|coment(?:[óo]|ado|aron)|cont(?:[óo]|ado|aron)|sabe|saben){_DE_ES}"
    r"|mencion(?:[óo]|ado|aron)))"
)
_SUR = (
    r"(?: quelque chose| un mot| beaucoup)?"
    r"(?: (?:de|du|des|sur|[àa] propos d[eu]s?|au sujet d[eu]s?)(?= )| d['’](?=\w))"
)
_A_PARLE = (
    r"(?:(?: d[ée]j[àa])? (?:(?:parl[ée]|[ée]crit|demand[ée]|dit|racont[ée]|discut[ée]|pos[ée] (?:une|des) questions?)"
    rf"{_SUR}|mentionn[ée]|[ée]voqu[ée])(?P<topic>.+))"
)

_ANYONE_FORMS = (
    # "Who wrote the book" asks for its author: of what somebody wrote about something the question says "about".
    rf"who(?: all| else)?(?: here)?(?: has| had| have| was| is| would)?{_ADV} {_SPOKE_OF}{_REQUIRED}",
    rf"who(?: all| else)?(?: has| had| have)?{_ADV} said(?: that)?{_REQUIRED}",
    rf"(?:did|has|have|had|does) {_ANYONE}{_ADV} {_SPOKE_OF}{_REQUIRED}",
    rf"what (?:was|is|has been|were|had been){_ADV} (?:said|written|asked|told|posted|discussed)(?: to (?:me|us))?"
    rf" (?:about|of|on|regarding){_REQUIRED}",
    rf"(?:when|where|how often|how many times) (?:was|were|is|has|have){_REQUIRED}(?: ever| last| first)?(?: been)?"
    rf"(?: ever| last| first)? (?:mentioned|discussed|brought up|talked about|asked about)",
    rf"{_SHOW}(?:(?:which|what|all|any) )?(?:the )?(?:messages?|chats?|conversations?|e-?mails?) (?:that |which )?"
    rf"(?:mention(?:s|ed|ing)?|talk(?:s|ed|ing)? about|discuss(?:es|ed|ing)?){_REQUIRED}",
    rf"wer(?: alles| sonst| noch)* (?:hat|hatte|haben){_GEFRAGT_NACH}",
    rf"(?:hat|hatte)(?: hier)?(?: schon)?(?: mal)? {_JEMAND}{_GEFRAGT_NACH}",
    rf"wer (?:fragte?|schrieb|sprach|redete|erzählte|wei(?:ß|ss)|wusste)(?: mir| uns| alles| et?was| was| mehr| viel)*"
    rf" {_WORDS_ON}{_REQUIRED}",
    rf"wer erwähnte{_REQUIRED}",
    rf"wer kennt sich mit{_REQUIRED} aus",
    rf"(?:was|wann|wo|wie oft) wurde{_DIR} {_WORDS_ON}{_REQUIRED} {_GEREDET}",
    rf"(?:wann|wo|wie oft) wurden?{_DIR}{_REQUIRED} (?:erwähnt|angesprochen|besprochen)",
    rf"(?:qui[ée]n(?:es)?(?: m[áa]s)?|alguien) {_PREGUNTO}{_REQUIRED}",
    rf"(?:qu[ée]|cu[áa]ndo) se (?:dijo|ha (?:dicho|hablado|escrito|comentado)|habl[óo]|escribi[óo]|coment[óo])"
    rf"{_DE_ES}{_REQUIRED}",
    rf"(?:qui (?:d['’]autre )?(?:m['’]|nous )?(?:a|avait|ont)|quelqu['’]un (?:m['’]|nous )?a(?:[- ]t[- ]il)?)"
    rf"{_A_PARLE}",
    rf"(?:qu['’]a[- ]t[- ]on|qu['’]est[- ]ce qu['’]on a) (?:dit|[ée]crit|racont[ée]){_SUR}(?P<topic>.+)",
)
"""They ask for what anyone said about a topic, or who did."""

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
_ADVERB = re.compile(
    r"(?<=\w),? (?:before|already|yet|ever|(?:for )?(?:the )?last(?: time)?|most recently|recently|lately"
    r"|schon(?: mal)?|zuletzt|neulich|kürzlich|das letzte mal|por [úu]ltima vez|(?:la )?[úu]ltima vez|[úu]ltimamente"
    r"|(?:pour )?la derni[èe]re fois|derni[èe]rement|r[ée]cemment|d[ée]j[àa])$",
    re.I,
)
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
_TOPIC_FOLLOWS = re.compile(
    r"(?:\b(?:about|of|regarding|[uü]e?ber|ueber|vo[nm]|zu[mr]?|wegen|sobre|del?|acerca del?|sur|d[eu]s?)|d['’])$", re.I
)
"""Behind such a word a time is what was talked about: "what did we say about Christmas"."""
_TALKED_ABOUT = re.compile(r"what\b.* (?:talk(?:ed)?|speak|spoken|chat(?:ted)?) (?:about|of|on)$", re.I)
"""Here the word belongs to the verb: "what did we talk about yesterday"."""

_SOME_DAY = datetime(2024, 2, 29)
"""Which words name a time is the same on any day."""

_OWN_THING = re.compile(r"(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|ma|mon|mes|notre|nos)\b", re.I)
_NOTHING = frozenset[str]().union(*(one.function_words | one.talk_words for one in LANGUAGES))
_WORD = re.compile(r"\w+")

_Kind = Literal["own", "known", "talk"]
_FORMS: Mapping[_Kind, tuple[str, ...]] = {
    "own": _OWN_FORMS,
    "known": _KNOWN_FORMS,
    "talk": (*_TALK_FORMS, *_ANYONE_FORMS),
}

_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")
_DETERMINERS = re.compile(r"(?:my|our|mein|meine|unsere?|der|die|mi|nuestr[oa]|ma|mon|notre)\s+", re.I)


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """What a question to the memory asks for.

    Attributes:
        topic: What it is about, without the words of asking; empty if it names nothing, or nothing but a time.
        time: The words of the time that it asks for, if it has no topic: "yesterday".
        by_person: Whether it asks for what the person whose memory it is wrote.
        about_person: Whether it asks for what is known about that person. It has no topic then.
    """

    topic: str
    time: str = ""
    by_person: bool = False
    about_person: bool = False

    @property
    def of_own(self) -> bool:
        """Whether the topic is something of the person's own, of which strangers do not speak: "my family"."""
        return _OWN_THING.match(self.topic) is not None

    @property
    def names_nothing(self) -> bool:
        """Whether it has neither a topic nor a time."""
        return not (self.topic or self.time)


@dataclass(frozen=True, slots=True)
class AuthorQuestion:
    """A reading of a question: whose words it asks for, and what is said of them beside ("the boiler"; empty if it asks
    for all of them, or for all of a ``time``)."""

    name: str
    topic: str
    time: str = ""


def read(question: str) -> RecallQuestion | None:
    """Understand a question to the memory. None if the text is another question, or if it refers to something that was
    said before ("what did we say about that")."""
    asked = _normal(question)
    if not asked or len(asked) > MAX_CHARACTERS:
        return None
    for text in dict.fromkeys((asked, asked[leads.end() :] if (leads := _LEADS.match(asked)) else asked)):
        for kind, forms in _FORMS.items():
            if (match := _any_of(forms).fullmatch(text)) is not None:
                group = next((n for n, one in enumerate(match.groups(), 1) if one), 0)
                found = _question(text, match.span(group), kind) if group else _question(text, (0, 0), kind)
                # "Do you remember what I said about the boiler"
                return (read(found.topic) or found) if found is not None and kind != "own" else found
    return None


def content(question: str) -> str:
    """What a question is about, without its words of asking; the question itself if it is none to the memory."""
    asked = read(question)
    return asked.topic or asked.time if asked is not None else question


def readings(question: str) -> Iterator[AuthorQuestion]:
    """Yield how a question may be read, with the longest name first; nothing if it asks for no one's words."""
    asked = _normal(question)
    for before, behind in _name_forms():
        if (opening := before.match(asked)) is None:
            continue
        begin = opening.end()
        ends = [match.start() for match in _WORD_END.finditer(asked, begin)][:MAX_NAME_WORDS]
        for end in reversed(ends):
            if (closing := behind.fullmatch(asked, end)) is not None:
                name = asked[begin:end].rstrip(",:;").rstrip()
                topic, time = _topic_and_time(asked, closing.span("topic"))
                yield AuthorQuestion(name, topic, time)
                if own := _DETERMINERS.match(name):
                    yield AuthorQuestion(name[own.end() :], topic, time)


def _normal(question: str) -> str:
    return _TRAILS.sub("", " ".join(question.split()).strip("¿?¡!. "))


def _topic(words: str) -> str:
    """A topic without the preposition before it, and without the adverb of a yes-or-no question behind it."""
    topic = _ADVERB.sub("", words.strip(" ,:;"))
    about = _ABOUT.match(topic)
    return topic[about.end() :] if about is not None and about.end() < len(topic) else topic


def _topic_and_time(text: str, at: tuple[int, int]) -> tuple[str, str]:
    """The topic that stands in a question, and the time: one of them is empty, because a time beside a topic is left
    to the search."""
    words = text[slice(*at)].strip(" ,:;")
    topic = _topic(words)
    if _TOPIC_FOLLOWS.fullmatch(topic):  # "what did Ana ask about"
        return "", ""
    before = text[: at[0]].rstrip()
    follows = topic != _ADVERB.sub("", words) or (
        _TOPIC_FOLLOWS.search(before) is not None and _TALKED_ABOUT.fullmatch(before) is None
    )
    return ("", topic) if not follows and _is_time(topic, text) else (topic, "")


def _is_time(words: str, question: str) -> bool:
    """Whether words of a question name a time and nothing beside it. "Hier" is one in a French question alone."""
    rest = words = unicodedata.normalize("NFC", words)
    for start, end in (one.at for one in periods.find_periods(words, _SOME_DAY)):
        rest = rest[:start] + " " * (end - start) + rest[end:]
    for date in periods.impossible_dates(words):
        rest = rest.replace(date, " ")
    if rest == words or not set(_WORD.findall(rest.casefold())) <= _NOTHING | TIME_PARTICLES:
        return False
    question = unicodedata.normalize("NFC", question)
    return bool(periods.find_periods(question, _SOME_DAY) or periods.impossible_dates(question))


def _question(text: str, at: tuple[int, int], kind: _Kind) -> RecallQuestion | None:
    topic, time = _topic_and_time(text, at)
    if time:
        return RecallQuestion("", time, by_person=kind == "own")
    if _PERSON.fullmatch(topic) or (not topic and kind == "known"):
        return RecallQuestion("", about_person=True)
    if _LATELY.fullmatch(topic):
        topic = ""
    elif topic and set(_WORD.findall(topic.casefold())) <= _NOTHING:
        return None
    return RecallQuestion(topic, by_person=kind == "own")


@cache
def _name_forms() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    return tuple((re.compile(before, re.I), re.compile(behind, re.I)) for before, behind in _NAME_FORMS)


@lru_cache
def _any_of(forms: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several forms, compiled when it is first needed; its groups are the topics."""
    return re.compile("|".join(forms).replace("(?P<topic>", "("), re.I)
