"""Names of people: their parts, whether two may be of one person, and the short forms of given names."""

from __future__ import annotations

import re
from functools import lru_cache

from appliance.store.lexical import fold

_PARENTHESES = re.compile(r"[(\[{][^)\]}]*[)\]}]")
_PART = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_TITLES = frozenset("dr prof mr mrs ms miss sir herr frau hr fr dipl ing med jr sr phd msc ba ma señor señora".split())

_SHORT_FORMS = """
abigail abby gail, albert al bert, alexander alexandra alex sandra sascha xander alec lex, alfred fred alf,
andrew andreas andrea andy drew andi, anna anne ann annie anni anja, anthony antonio tony toni, barbara barb
babs, benjamin ben benny benni, bernard bernd bernie bernhard, bradley brad, caroline carolina carrie caro lina,
catherine katherine katharina kathrin kate kathy kathi katie cathy kati katja, charles charlie chuck carlos karl
carl, charlotte lotte charlie lottie, christine christina chris tina christiane, christopher christoph christian
chris, daniel dan danny dani daniela, david dave davy, deborah debbie deb, donald don donny, dorothy dorothea
dora dot doro, edward eduard ed eddie ted ned edi, elisabeth elizabeth lisa liz lizzy beth betty eliza elsa
sissi lisbeth, emily emma em emmy, eugene gene, florian flo, francis francisco franz frank paco franzi franziska
fran, friedrich fritz frederick fred, gabriel gabriela gabriele gabi gabe, george georg jorge, gerald gerhard
gerd gerry jerry, gregory greg gregor, guadalupe lupe, harold harry hal, heinrich henry heinz harry hank, helena
helene lena leni nell, ignacio nacho, isabel isabella isabelle bella isa izzy, jacob jakob jake, jacqueline
jackie, james jim jimmy jamie, jennifer jen jenny, jessica jess jessie, johannes johann john hans jan jack
johnny hannes, jonathan jon jonny johnny, jose josé pepe, joseph josef joe joey sepp, joshua josh, judith judy
jude, julia julian jule julie jules, karen kari, kenneth ken kenny, kimberly kim, lawrence laurence larry
lorenz, leonard leo leon len lenny, louis ludwig luis lou lewis, lucas lukas luke, magdalena magda lena, manuel
manuela manu, margaret margarete maggie meg peggy greta grete rita marge gretel, maria marie mary mia molly,
martin marty, matthew matthias matt mats, maximilian max maxi, michael miguel mike mick mischa micha michi
michel, natalie natalia nat, nathaniel nathan nate nat, nicholas nikolaus nick niklas klaus nico nicolas nik
nikola, oliver olli ollie, pamela pam, patricia patrick pat patty trish paddy, peter pete pit petra, philip
philipp phil, rafael raphael rafa raf, raymond ray, rebecca becky becca, richard rick dick rich ricky, robert
bob rob bobby bert robbie roberto, ronald ron ronny, samuel samantha sam sammy, sebastian seb basti bastian,
stephen steven stefan steve steffen stephan stef stefanie steffi stephanie, susan susanne sue susi suzy susie,
theodore theodor theo ted teddy, theresa teresa tess terry resi, thomas tom tommy thommy, timothy tim timmy,
ulrich ulrike uli ulli, valentina valentin val vali, veronica veronika vroni ronnie, victor victoria vic vicky
viktor, vincent vince, walter walt, werner, wilhelm william bill will willy willi billy liam, wolfgang wolf
wolfi, zachary zach zack
"""
"""Given names and their short forms in English, German and Spanish; those of one name up to a comma."""

_GROUPS_BY_NAME: dict[str, set[int]] = {}
for _number, _forms in enumerate(_SHORT_FORMS.split(",")):
    for _form in _forms.split():
        _GROUPS_BY_NAME.setdefault(_form, set()).add(_number)


@lru_cache(maxsize=65_536)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name in the order of speech: "Brandt, Dr. Helga (Tracker)" gives helga, brandt. Empty for
    what is no name, such as an address."""
    text = _PARENTHESES.sub(" ", fold(name))
    if "@" in text:
        return ()
    family, comma, given = text.partition(",")
    if comma and given.strip():
        text = f"{given} {family}"
    return tuple(part for part in _PART.findall(text.replace("_", " ").replace(".", " ")) if part not in _TITLES)


def is_full(name: str) -> bool:
    """Whether a name has a given name and a family name, both written out."""
    return sum(len(part) > 1 for part in name_parts(name)) > 1


def is_same_name(a: str, b: str) -> bool:
    """Whether two names have the same parts."""
    return bool(name_parts(a)) and name_parts(a) == name_parts(b)


def is_short_form(a: str, b: str) -> bool:
    """Whether one given name is a short form of the other, or both are of a third one."""
    return bool(_GROUPS_BY_NAME.get(a, set()) & _GROUPS_BY_NAME.get(b, set()))


def _is_given_name_alike(a: str, b: str) -> bool:
    if a == b or is_short_form(a, b):
        return True
    short, long = sorted((a, b), key=len)
    return long.startswith(short) and (len(short) == 1 or len(short) > 2)


def contradicts(a: str, b: str) -> bool:
    """Whether two names at one address are those of two people: "Ulrike Haddad" and "Gerd Haddad". "H. Brandt", "Helga"
    and "Helga Maier" may all be one."""
    first, second = name_parts(a), name_parts(b)
    if not first or not second or _is_given_name_alike(first[0], second[0]):
        return False
    if len(first) == 1 or len(second) == 1:
        return not set(first) & set(second)
    return not (set(first[:-1]) & set(second) or set(second[:-1]) & set(first))


def resembles(a: str, b: str) -> str | None:
    """Why two full names may be of one person, other than that they are the same; None if they may not."""
    first, second = name_parts(a), name_parts(b)
    if len(first) < 2 or len(second) < 2 or first[-1] != second[-1]:
        return None
    if is_short_form(first[0], second[0]):
        return (
            f"{a} may be a short form of {b}" if len(first[0]) <= len(second[0]) else f"{b} may be a short form of {a}"
        )
    if 1 in (len(first[0]), len(second[0])) and first[0][0] == second[0][0]:
        return f"{a} and {b} have the same family name and initial"
    return None


_MACHINE_MAILBOX = re.compile(
    r"(?:no|do-?not|dont)[-._]?reply.*|mailer-?daemon|postmaster|(?:auto|bounces?|notify|notifications?|alerts?"
    r"|news-?letters?|updates?)(?:[-._+].*)?"
)
_MACHINE_NAMES = frozenset("system slackbot automod mailer-daemon assistant chatgpt".split())
"""Names under which programs write, without case; no name that people have, such as Claude."""
_MACHINE_HANDLE = re.compile(r".*(?:_bot|Bot|-bot|\[bot\])")


def is_machine(kind: str, value: str) -> bool | None:
    """Whether an identity is one of a machine: a mailbox that takes no answer, the user name of a bot, a name that ends
    in "Bot", "System", or a channel. None if identities of its kind do not tell."""
    if kind == "address":
        return _MACHINE_MAILBOX.fullmatch(value.partition("@")[0]) is not None
    if kind == "handle":
        return _MACHINE_HANDLE.fullmatch(value) is not None
    if kind == "name" and (value.startswith("#") or fold(value).strip() in _MACHINE_NAMES):
        return True
    parts = name_parts(value) if kind == "name" else ()
    return None if not parts else len(parts) > 1 and parts[-1] == "bot"


def is_in_address(name: str, address: str) -> bool:
    """Whether an address is made of a full name: helga.brandt@, hbrandt@."""
    parts = name_parts(name)
    if not is_full(name):
        return False
    local = re.sub(r"[\W\d_]", "", address.partition("@")[0].partition("+")[0])
    given, family = (part.replace("-", "") for part in (parts[0], parts[-1]))
    forms = {given + family, family + given, given[0] + family, family + given[0]}
    return len(family) > 2 and local in forms
