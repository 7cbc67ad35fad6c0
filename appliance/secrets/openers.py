"""Codes that open something, in sentences: "Die Alarmanlage hat den Code 8841", "the code for the gate is 8841".

"Code" alone names much that opens nothing: errors, postal codes, promotions. Such a code counts only in one sentence
with what it opens, in one of three orders: the code of a thing, a thing with its code, a code that opens a thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from appliance.secrets.personal import SecretSpan

_THINGS = (
    # English
    r"(?:burglar |house |home )?alarm(?: (?:system|panel))?|(?:front |back |side |cellar |garage |main )?door"
    r"|gate|garage"
    r"|safe|vault|locker|lock ?box|key ?(?:safe|box|pad)|padlock|bike lock|lock|entrance|intercom"
    # German
    r"|alarm(?:anlage|system)?|(?:haus|wohnungs|keller|garagen|eingangs|hof|hinter)?tür|(?:garagen|hof|garten|eingangs"
    r"|einfahrts|roll)?tor|tresor|(?:fahrrad|vorhänge|zahlen|tür)?schloss|schließfach|spind"
    r"|schlüssel(?:box|safe|tresor|kasten)|garage|(?:haus|hinter)?eingang|gegensprechanlage"
    # Spanish
    r"|alarma|puerta|portal|portón|verja|garaje|caja fuerte|candado|cerradura|taquilla|trastero|edificio"
    # French
    r"|alarme|porte|portail|portillon|coffre(?:-fort)?|cadenas|serrure|immeuble|b[aâ]timent|bo[iî]te à clés?|interphone"
    # Portuguese
    r"|port[ãa]o|porta|pr[ée]dio|edifício|condomínio|cofre|garagem|cadeado|fechadura|cacifo|interfone|entrada"
    # Italian
    r"|allarme|portone|cancello|cassaforte|lucchetto|serratura|condominio|palazzo|citofono|armadietto|ingresso"
)
_THING = rf"(?<![\w-])(?:{_THINGS})(?![\w-])"

_NOT_OF = (
    r"(?<!error )(?<!status )(?<!exit )(?<!zip )(?<!postal )(?<!area )(?<!country )(?<!bar )(?<!qr )(?<!qr-)(?<!bar-)"
    r"(?<!source )(?<!promo )(?<!discount )(?<!product )(?<!color )(?<!colour )"
)
_CODE = (
    rf"{_NOT_OF}(?<![\w-])(?:(?:zahlen|zugangs|pin|number|key)[ -]?)?(?:code|c[oó]digo|codice|pin|kombination"
    r"|combination|combinaison|combinación|combinação|combinazione|senha|palavra-passe|password|passwort|kennwort|contraseña"
    r"|mot de passe)"
)

_VALUE = (
    r"[\"'`*]{0,3}((?=(?:[A-Za-z]{0,2}\d){3})[A-Za-z]{0,2}\d{1,8}(?:[A-Za-z]{1,2}\d{0,6})?"
    r"|\d{2}[ -]\d{2}(?:[ -]\d{2})?)"
    r"(?![\w/:-]|[.,]\d|[ \t]+(?:lines?|zeilen|líneas|lignes|words|tokens|bytes|[km]b|years?|jahre|años|ans)\b)"
)
_IS = r"(?:[ \t]*[:=：][ \t]*|,?[ \t]+(?:is|was|ist|lautet|war|es|era|(?:c['’])?est|é|è)[: \t][ \t]*)"
_OF = (
    r"for|to|of|at|on|für|fürs|vom|von|der|des|beim|zum|zur|an|am|para|de|del|du|pour|do|da|dos|das|no|na|di|della"
    r"|dello|per"
)
_ARTICLE = (
    r"(?:[ \t]+(?:the|our|my|your|der|die|das|dem|den|des|unserer?|unserem|meiner?|meinem|la|el|los|las|mi|tu|su"
    r"|nuestr[oa]|le|les|mon|ma|notre|votre|os?|as?|meu|minha|nosso|nossa|il|lo|mio|mia|nostr[oa]|new|neue[nrs]?|front"
    r"|back))"
)
_HAS = (
    r"(?:['’]s|[ \t]+(?:has|have|had|uses|takes|needs|wants|opens|with|is|hat|hatte|braucht|will|öffnet|geht|auf|mit"
    r"|tiene|lleva|usa|abre|se|con|a|avec|s['’]ouvre|prend|the|an|by|new|now|der|die|den|dem|einen|neuen?|jetzt|el|un|la"
    r"|nuevo|le|nouveau|tem|o|um|com|abre-se|novo|ha|il|usa|si|apre|nuovo))"
)
_OPENS = (
    r"(?:opens?|unlocks?|disarms?|turns off|öffnet|entsperrt|entschärft|schaltet|geht|man|du|abre|abres|desactiva|se"
    rf"|ouvre|désactive|desativa|apre|disattiva|{_OF})"
)
_OF_THING = rf"(?:(?:{_OF}){_ARTICLE}{{0,2}}[ \t]+(?:[ld]['’])?|dell['’]){_THING}"

_ORDERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # the code for the gate is 8841; le code de l'alarme : 8841
        rf"{_CODE}[ \t]+{_OF_THING}(?:[ \t]+[^\s\d:=.!?]{{1,15}}){{0,3}}?{_IS}{_VALUE}",
        # die Alarmanlage hat den Code 8841; the garage: code 8841; the gate's code is 8841
        rf"{_THING}(?:[ \t]*[:,]|{_HAS}){{1,4}}[ \t]+{_CODE}(?:{_IS}|[ \t]+){_VALUE}",
        # use code 8841 for the front door; el código 8841 abre la puerta
        rf"{_CODE}[ \t]+{_VALUE}(?:[ \t]+{_OPENS}){{1,3}}{_ARTICLE}{{0,2}}[ \t]+(?:[ld]['’])?{_THING}",
    )
)

AFTER_CODE = re.compile(r"(?=[^\n\d]{0,60}\d{2})")
"""What follows the word in a text that has such a code."""


def find_opening_codes(text: str) -> Iterator[SecretSpan]:
    """Yield codes in one sentence with what they open."""
    for order in _ORDERS:
        for found in order.finditer(text):
            yield "access-code", *found.span(1)


_KEYWORDS = (
    "code", "código", "codigo", "codice", "pin ", "pin:", "kombination", "combina", "senha", "palavra-passe",
    "password", "passwort", "kennwort", "contraseña", "mot de passe",
)  # fmt: skip

RULES: tuple[tuple[Callable[[str], Iterator[SecretSpan]], tuple[str, ...]], ...] = ((find_opening_codes, _KEYWORDS),)
"""As those of ``personal``."""
