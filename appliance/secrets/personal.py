"""Rules for the secrets of a person's daily life, as people write them to each other: PINs, codes of doors and
accounts, the check code of a card, logins, account numbers and numbers of social security.

They are short, so that only the words around them tell them from other numbers; an IBAN has a checksum."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

SecretSpan = tuple[str, int, int]
"""The kind of a secret, and its place in the text, in characters."""

STATES = r"(?:is|are|was|ist|lautet|war|es|era|(?:c['’])?est|é|è)"
"""Verbs between the name of a secret and the secret."""

OF_WHAT = (
    r"(?:[ \t]+(?:(?:for|to|of|on|für|fürs|vom|von|der|des|beim|bei|im|zum|zur|para|de|del|du|pour|do|da|di|della|per)"
    r"[ \t]+|dell['’])[\w.@'-]{1,30}(?:[ \t]+[\w.@'-]{1,30}){0,3}?)?"
)
"""What a secret opens, between its name and the verb."""

_ASSIGNED = (
    rf"[\"'`*]{{0,3}}{OF_WHAT}"
    rf"(?:[ \t]*(?:[:=：]|=>|->|→)|[ \t]+{STATES}(?:[ \t]+(?:now|jetzt|ahora))?[: \t])[ \t]*[\"'`*]{{0,3}}"
)

_PIN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?:pin|geheimzahl)(?:[ -]?(?:code|nummer|number))?|(?:mi|tu|su|nuestra)[ \t]clave)"
    rf"{_ASSIGNED}(\d{{4,5}})(?![\w.,:/-]*\d)",
    re.IGNORECASE,
)

_CODE_NAME = (
    r"(?:(?:zugangs|zutritts|zugriffs|eingangs|tür|haustür|kellertür|tor|garagen|garagentor|hoftor|alarm|tresor|safe"
    r"|schloss|spind|schließfach|zahlen|sicherheits|bestätigungs|verifizierungs|freischalt|entsperr)[ -]?codes?"
    r"|(?:access|entry|entrance|door|gate|garage|alarm|safe|lock|lock ?box|locker|keypad|unlock|security|verification"
    r"|login|log-in|confirmation|recovery)[ -]codes?"
    r"|c[oó]digo (?:de (?:acceso|entrada|seguridad|verificación|la puerta|la alarma)|del (?:portal|garaje|candado))"
    r"|code (?:d['’](?:accès|entrée)|de sécurité|(?:de la )?porte|(?:du )?portail)|digicodes?|puk|tan)"
)
_CODE_VALUE = r"(\d{3}[ -]\d{3}|(?=[A-Za-z-]{0,6}\d)[A-Za-z0-9]{1,12}(?:-[A-Za-z0-9]{1,12}){0,3})(?![\w.,:/-]*\w)"
_ACCESS_CODE = re.compile(
    rf"(?<![A-Za-z0-9_-]){_CODE_NAME}(?:{_ASSIGNED}{_CODE_VALUE}|[ \t]+(\d{{4,8}})(?=#?[.,;!]?\s*$))",
    re.IGNORECASE | re.MULTILINE,
)
_MIN_CODE_DIGITS = 3

_CARD_CODE = re.compile(
    r"(?<![A-Za-z0-9_-])(?:cv[cv]2?|card (?:verification|security) code"
    r"|(?:karten)?prüf(?:nummer|ziffer)(?: der karte)?)"
    rf"(?:[ \t]*[:=：]?[ \t]*|[ \t]+(?:code[ \t]+)?{STATES}[ \t]+)(\d{{3,4}})(?![\w/:-]|[.,]\d)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")

LOGIN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(?:log-?in|credentials?|zugangsdaten|anmeldedaten|logindaten|credenciales)"
    r"|(?:account|konto|zugang|cuenta|acceso)(?=[^\n@]{0,40}@))"
    rf"{OF_WHAT}[ \t]*(?:[:=：]|[ \t]{STATES}[ \t])[ \t]*"
    r"(?:[\w.+-]{2,64}@[\w.-]{3,64}[ \t]*[/|,;-]|[\w.+-]{2,64}(?:[ \t]+[/|-]|[ \t]*[,;|]))[ \t]+([^\s\"'`*]{4,128})",
    re.IGNORECASE,
)
"""A name to log in with and the password beside it ("login: anna@example.org / …")."""

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_MIN_IBAN, _MAX_IBAN = 15, 34  # ISO 13616
_IBAN_MODULUS = 97

_SOCIAL_SECURITY = re.compile(
    r"(?<![A-Za-z0-9])(?:ssn|social security(?: (?:number|no\.?|#))?|(?:sozial|renten)versicherungsnummer|sv-?nummer)"
    rf"{_ASSIGNED}(\d{{3}}[- ]?\d{{2}}[- ]?\d{{4}}|\d{{2}} ?\d{{6}} ?[A-Z] ?\d{{3}})(?![\w-])",
    re.IGNORECASE,
)

_CUT_PRIVATE_KEY = re.compile(
    r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\r|\\n)+(?:[A-Za-z-]+: [^\n]*\n\s*)*"
    r"[A-Za-z0-9+/=]{16,}(?:(?:\s|\\r|\\n)+[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\r|\\n)+[A-Za-z0-9+/]{0,15}={1,2})?"
)


def find_pins(text: str) -> Iterator[SecretSpan]:
    """Yield PINs of four or five digits, by what they are called; longer ones are postal codes in some countries."""
    for found in _PIN.finditer(text):
        if len(set(found[1])) > 1:
            yield "pin", *found.span(1)


def find_access_codes(text: str) -> Iterator[SecretSpan]:
    """Yield codes that open a door, a device or an account, by what they are called."""
    for found in _ACCESS_CODE.finditer(text):
        group = 1 if found[1] else 2
        if sum(one.isdigit() for one in found[group]) >= _MIN_CODE_DIGITS:
            yield "access-code", *found.span(group)


def find_card_codes(text: str) -> Iterator[SecretSpan]:
    """Yield the check codes of cards, by what they are called."""
    for found in _CARD_CODE.finditer(text):
        if not _YEAR.fullmatch(found[1]):
            yield "card-code", *found.span(1)


def find_ibans(text: str) -> Iterator[SecretSpan]:
    """Yield international bank account numbers whose checksum is right."""
    for found in _IBAN.finditer(text):
        number = re.sub(r"[ -]", "", found[0])
        if _MIN_IBAN <= len(number) <= _MAX_IBAN and passes_iban_check(number):
            yield "iban", *found.span()


def passes_iban_check(number: str) -> bool:
    """Whether the check digits of an IBAN, in capitals and without spaces, are right (ISO 13616)."""
    return int("".join(str(int(one, 36)) for one in number[4:] + number[:4])) % _IBAN_MODULUS == 1


def find_social_security_numbers(text: str) -> Iterator[SecretSpan]:
    """Yield numbers of social security, by what they are called: the American and the German form."""
    for found in _SOCIAL_SECURITY.finditer(text):
        yield "social-security-number", *found.span(1)


def find_cut_private_keys(text: str) -> Iterator[SecretSpan]:
    """Yield private keys in PEM, of which the end may be missing."""
    for found in _CUT_PRIVATE_KEY.finditer(text):
        yield "private-key", *found.span()


RULES: tuple[tuple[Callable[[str], Iterator[SecretSpan]], tuple[str, ...]], ...] = (
    (find_pins, ("pin ", "pin:", "pin=", "pin-", "pinc", "pinn", "geheimzahl", " clave")),
    (
        find_access_codes,
        (
            "ngscode", "ngs-code", "ngs code", "ittscode", "ffscode", "türcode", "tür-code", "alarmcode", "alarm-code",
            "tresorcode", "safecode", "torcode", "tor-code", "garagencode", "garagen-code", "schlosscode", "spindcode",
            "fachcode", "zahlencode", "zahlen-code", "entrance code", "garage code", "lockbox code", "lock box code",
            "locker code", "keypad code", "go de entrada", "go del ", "code d'ent", "code d’ent", "code de la porte",
            "code porte", "code du portail", "code portail", "digicode",
            "sicherheitscode", "sicherheits-code", "schaltcode", "entsperrcode",
            "access code", "access-code", "entry code", "entry-code", "door code", "door-code", "gate code",
            "gate-code", "alarm code", "safe code", "lock code", "security code", "verification code", "login code",
            "log-in code",
            "confirmation code", "recovery code", "go de acceso", "go de seguridad", "go de verificación", "go de la ",
            "code d'acc", "code d’acc", "code de sécurité", "puk", "tan ", "tan:",
        ),
    ),
    (find_card_codes, ("cvc", "cvv", "card verification", "card security", "prüfnummer", "prüfziffer")),
    (find_ibans, ("iban",)),
    (find_social_security_numbers, ("ssn", "social security", "versicherungsnummer", "sv-nummer", "svnummer")),
    (find_cut_private_keys, ("-----begin",)),
)  # fmt: skip
"""Functions that find secrets, and the words without which a text has none of theirs."""
