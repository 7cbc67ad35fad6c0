"""Rules for secrets without a form of their own: card numbers, passwords, and keys that are named as such.

What a message says around a value makes it a secret. Telephone numbers, dates, UUIDs, hashes, orders and names in code
must stay readable, so that a value counts only where its name leaves no doubt, or a checksum confirms it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

from appliance.secrets.personal import LOGIN, OF_WHAT, STATES, SecretSpan

# --- cards -------------------------------------------------------------------------------------------

_CARD = re.compile(
    r"(?<![\w.,:/=#&+-])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -]?)\d{6}\2\d{5})(?![\w/=#&+-]|[.,:]\d)"
)
_CARD_WORDS = re.compile(
    r"card|visa|master|amex|american express|cvv|cvc|\bpan\b|karte|tarjeta|expir|\bexp\b|gültig|caduc", re.IGNORECASE
)
_OTHER_NUMBER = re.compile(
    r"(?:order|invoice|tracking|ticket|booking|serial|reference|ref|parcel|shipment|part|bestell\w*|rechnung\w*|sendung\w*"
    r"|auftrag\w*|pedido|factura|env[ií]o|id|no|nr|number|nummer|número)\W{0,3}(?:(?:is|ist|es|was|no|nr)\W{1,3})?$",
    re.IGNORECASE,
)
"""What names another number, directly before it."""

_CARD_CONTEXT_CHARACTERS = 80
"""How far away a word may stand that tells a card from another number, where nothing separates the groups of digits."""

_ISSUERS = re.compile(r"4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|3[47]|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])|62")

# --- passwords ---------------------------------------------------------------------------------------

_PASSWORD_NAME = (
    r"(?:pass(?:word|wort|phrase|code)|passwd|kennwort|contraseña|(?<!palabra )clave(?: secreta| de acceso)?|pwd)"
)
_PASSWORD = re.compile(
    rf"(?<![A-Za-z0-9]){_PASSWORD_NAME}(?![A-Za-z])[\"'`*]{{0,3}}"
    rf"{OF_WHAT}"
    rf"(?:[ \t]*(?:[:=]|=>|->|→)[ \t]*|[ \t]+{STATES}(?:[ \t]+(?:now|jetzt|ahora))?[: \t]\s*)"
    r"[\"'`*]{0,3}([^\s\"'`*]{4,128})",
    re.IGNORECASE,
)
_PASSWORD_KEYWORDS = (
    "passw", "passphrase", "passcode", "pwd", "kennwort", "contraseña", "clave", "pass:", "pass=", "pass :",
)  # fmt: skip
_FOREIGN_PASSWORD_NAMES = (
    "mot de passe", "mdp", "senha", "palavra-passe", "parola", "şifre", "hasło", "wachtwoord", "lösenord",
    "adgangskode", "passord", "salasana", "jelszó", "jelszav", "heslo", "geslo", "lozinka", "mật khẩu", "kata sandi",
    "пароль", "κωδικός", "סיסמה", "סיסמא", "סיסמת", "كلمة المرور", "كلمة السر",
    "パスワード", "暗証番号", "密码", "密碼", "口令", "비밀번호", "पासवर्ड",
)  # fmt: skip
"""What a password is called in other languages, many of which add endings and articles to the word."""

_FOREIGN_VERBS = r"est|è|é|e|to|jest|je|är|er|on|is|là|это|είναι|הוא|היא|هي|هو"
_FOREIGN_PASSWORD = re.compile(
    rf"(?:{'|'.join(map(re.escape, _FOREIGN_PASSWORD_NAMES))})\w{{0,6}}[\"'`*]{{0,3}}"
    r"(?:[ \t]+[^\s:=]{1,30}){0,5}?"
    rf"(?:[ \t]*(?:[:=：＝]|=>|->|→)|[ \t]+(?:{_FOREIGN_VERBS})(?=\s)|[ \t]*(?:は|が|是|은|는)|[ \t](?=\S*\d))"
    r"\s{0,3}[\"'`*「『“]{0,3}([!#-&(-)+-_a-~]{4,128})",
    re.IGNORECASE,
)
"""The password itself is written in ASCII, as most systems require: a word of the language is not taken for one."""

_SHORT_NAME = re.compile(r"(?:^|[\n,;/|(])[ \t]*pass[ \t]*[:=][ \t]*[\"'`]{0,3}([^\s\"'`*]{4,128})", re.IGNORECASE)
"""The short name, at the beginning of a line or of a part of it: a boarding pass has a number, too."""

_URL_PASSWORD = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{1,100}:([^\s/@\"'<>]{3,200})@[\w.-]", re.IGNORECASE
)
_LOGIN_NEARBY = re.compile(
    r"(?:user(?:name)?|login|e-?mail|benutzer(?:name)?|usuario)[\"'`*]{0,3}[ \t]*[:=]", re.IGNORECASE
)
_LOGIN_CHARACTERS = 120
"""How far away a name to log in with may stand: beside one, a word of letters is a password too."""

_MIN_PASSWORD = 6
_STRONG_SYMBOLS = set("!@#$%^&*?+~§€")

_CODE = re.compile(
    r"[$%@{<\[(\\/]|[\w.]*[(\[{<]|\w+\.\w+\.\w|(?:os|process|env|self|this|config|settings|request|req|args|ctx)[.\[]"
    r"|(?:none|null|true|false|undefined|string|str)\b",
    re.IGNORECASE,
)
"""How the right side of an assignment begins in code, where it is no value but a name."""

_PLACEHOLDER = re.compile(
    r"[x*•.#?_-]+|.*(?:example|placeholder|your|change.?me|redacted|hidden|dummy|1234567).*|<.*|.*>|\*.*"
    r"|(?:(?:my|new|old|test|user|admin|wrong|in|correct|valid|secure|strong|super|secret|hashed|plain|text|some|the)[_-]?)*"
    r"(?:pass(?:word|wd|code)?|passwort|contraseña|secret|kennwort)[_-]?\d{0,4}!?|test\d*|foo(?:bar)?\d*",
    re.IGNORECASE,
)
"""The values of examples."""

# --- named keys --------------------------------------------------------------------------------------

_BEFORE_KEY = r"[\"'`*]{0,3}(?:[ \t]*(?::=|[:=]|=>|->)[ \t]*|[ \t]+(?:is|ist|es)[: \t][ \t]*)[\"'`*]{0,3}"
_NAMED_KEY = re.compile(
    r"(?<![A-Za-z0-9])(api[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|(?:access|auth|refresh)[ _-]?token"
    rf"|client[ _-]?secret|(?:private|encryption)[ _-]?key|token|key){_BEFORE_KEY}([\w+/=.~-]{{16,256}})",
    re.IGNORECASE,
)
AFTER_KEY_NAME = re.compile(rf"{_BEFORE_KEY}[\w+/=.~-]{{16}}", re.IGNORECASE)
"""What comes after the name of a key: every name ends with a keyword of ``find_keys``."""

_PREFIXED_KEY = re.compile(r"(?<![\w-])sk-(?:[a-z]{2,10}-)?([\w-]{20,250})")
_AWS_SECRET = re.compile(r"\baws\b[^\n]{0,80}?\bsecret\b[^\n]{0,40}?(?<![\w/+=])([\w/+]{40})(?![\w/+=])", re.IGNORECASE)
_BEARER = re.compile(r"\bbearer[ \t]+([\w+/=.~-]{16,2000})", re.IGNORECASE)
_NO_SECRET_NAME = re.compile(
    r"(?:next|page|continuation|sync|cursor|csrf|xsrf|idempotency|public|primary|foreign|cache|sort|session|object|s3)"
    r"[a-z]{0,10}[_ -]{0,2}(?:token|key)$",
    re.IGNORECASE,
)
"""Tokens and keys that open nothing."""

_NAME_CHARACTERS = 30  # before a name, which may be the rest of a longer one

_HASH_OR_UUID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56,64}|[0-9a-f]{96,128}|\d+",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z0-9]+)*|(?:[a-z]+[_.-])+[a-z0-9]+", re.IGNORECASE)
MIN_KEY_ENTROPY = 3.5
"""Bits a character, as gitleaks asks of its generic rule. English words have fewer in so short a text."""


def find_cards(text: str) -> Iterator[SecretSpan]:
    """Yield card numbers: of an issuer's form, with a correct check digit, and written or named as one."""
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        if not _ISSUERS.match(digits) or not passes_luhn(digits) or len(set(digits)) < 2:
            continue
        start, end = found.span()
        separated = bool(found[1] or found[2])
        around = text[max(0, start - _CARD_CONTEXT_CHARACTERS) : end + _CARD_CONTEXT_CHARACTERS]
        if not _CARD_WORDS.search(around) and _OTHER_NUMBER.search(text[max(0, start - 40) : start]):
            continue
        if separated or text.strip() == found[0] or _CARD_WORDS.search(around):
            yield "card-number", start, end


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = [int(one) * (1 + place % 2) for place, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def find_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield passwords, by what they are called."""
    for pattern in (_PASSWORD, _SHORT_NAME):
        for found in pattern.finditer(text):
            if (end := _password_end(text, found)) is not None:
                yield "password", found.start(1), end


def find_foreign_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield passwords, by what they are called outside English, German and Spanish."""
    for found in _FOREIGN_PASSWORD.finditer(text):
        if (end := _password_end(text, found)) is not None:
            yield "password", found.start(1), end


def find_logins(text: str) -> Iterator[SecretSpan]:
    """Yield passwords that stand beside a name to log in with."""
    for found in LOGIN.finditer(text):
        value = found[1].rstrip(".,;:!?)\\]}>\"'")
        if _is_strong(value):
            yield "password", found.start(1), found.start(1) + len(value)


def find_url_passwords(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in addresses ("https://user:password@host")."""
    for found in _URL_PASSWORD.finditer(text):
        if not _PLACEHOLDER.fullmatch(found[1]) and not found[1].startswith(("$", "{", "<", "%")):
            yield "password", *found.span(1)


def find_keys(text: str) -> Iterator[SecretSpan]:
    """Yield random values that are called keys or tokens."""
    for found in _NAMED_KEY.finditer(text):
        value = found[2].rstrip(".=")
        before = text[max(0, found.start() - _NAME_CHARACTERS) : found.end(1)]
        is_plain = found[1].lower() in ("token", "key")
        if _is_key(value) and not _NO_SECRET_NAME.search(before) and not (is_plain and _HASH_OR_UUID.fullmatch(value)):
            yield "api-key", found.start(2), found.start(2) + len(value)


def find_bearer_tokens(text: str) -> Iterator[SecretSpan]:
    """Yield the tokens of authorization headers."""
    for found in _BEARER.finditer(text):
        if _is_key(found[1]) and not _HASH_OR_UUID.fullmatch(found[1]):
            yield "bearer-token", *found.span(1)


def find_prefixed_keys(text: str) -> Iterator[SecretSpan]:
    """Yield keys of model services, of which most begin alike, and which change their length from year to year."""
    for found in _PREFIXED_KEY.finditer(text):
        if _is_key(found[1]):
            yield "api-key", *found.span()


def find_aws_keys(text: str) -> Iterator[SecretSpan]:
    """Yield secret access keys of AWS: 40 characters of base64 near the two words."""
    for found in _AWS_SECRET.finditer(text):
        if _is_key(found[1]) and not _HASH_OR_UUID.fullmatch(found[1]):
            yield "aws-secret-key", *found.span(1)


RULES: tuple[tuple[Callable[[str], Iterator[SecretSpan]], tuple[str, ...]], ...] = (
    (find_passwords, _PASSWORD_KEYWORDS),
    (find_foreign_passwords, _FOREIGN_PASSWORD_NAMES),
    (find_url_passwords, ("://",)),
    (
        find_logins,
        ("login", "log-in", "credential", "zugang", "daten", "account", "konto", "cuenta", "credencial", "acceso"),
    ),
    (find_keys, ("key", "secret", "token")),
    (find_bearer_tokens, ("bearer",)),
    (find_prefixed_keys, ("sk-",)),
    (find_aws_keys, ("aws",)),
)
"""Functions that find secrets, and the words without which a text has none of theirs."""


def _password_end(text: str, found: re.Match[str]) -> int | None:
    """Where the password of a match ends; None if what stands there is none."""
    value = found[1].rstrip(".,;:!?)\\]}>\"'")
    if value != found[1] and found[1][len(value) :].startswith(("!", "?")) and not value.isalpha():
        value = found[1]
    if len(value) < _MIN_PASSWORD or _CODE.match(value) or _PLACEHOLDER.fullmatch(value):
        return None
    if value.isalpha():
        start, end = max(0, found.start() - _LOGIN_CHARACTERS), found.end() + _LOGIN_CHARACTERS
        named = ":" in text[found.start() : found.start(1)] or "=" in text[found.start() : found.start(1)]
        return found.start(1) + len(value) if named and _LOGIN_NEARBY.search(text[start:end]) else None
    return found.start(1) + len(value) if _is_strong(value) else None


def _is_strong(value: str) -> bool:
    """Whether a value has what passwords have, and words have not."""
    if len(value) < _MIN_PASSWORD or _CODE.match(value) or _PLACEHOLDER.fullmatch(value) or "://" in value:
        return False
    has_letter = any(one.isalpha() for one in value)
    has_digit = any(one.isdigit() for one in value)
    return (has_letter and has_digit) or bool(_STRONG_SYMBOLS & set(value[1:])) or (has_digit and len(value) >= 8)


def _is_key(value: str) -> bool:
    has_kinds = any(one.isdigit() for one in value) and any(one.isalpha() for one in value)
    return (
        has_kinds
        and entropy(value) >= MIN_KEY_ENTROPY
        and not _PLACEHOLDER.fullmatch(value)
        and not _IDENTIFIER.fullmatch(value)
        and not _CODE.match(value)
    )


def entropy(text: str) -> float:
    """The Shannon entropy of a text's characters, in bits a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
