"""Greetings, thanks and farewells, in English, German and Spanish: "hi there", "ok, thanks a lot!", "guten Morgen".

They say nothing that a memory could answer. "Yes" and "go on" do: they take up what was said before.
"""

from __future__ import annotations

import re

_COURTESIES = (
    r"hi(?:ya)?|hey+|hello|good (?:morning|afternoon|evening|night|day)|(?:many )?thanks?(?: you)?|thx|cheers"
    r"|good ?bye|bye(?:[- ]bye)?|see (?:you|ya)|take care|you['’]re welcome|have a (?:good|nice|great) \w+|how are you"
    r"|well done|good job|(?:that (?:was|is) |that['’]s |this (?:was|is) )?(?:very |so |really )?"
    r"(?:great|perfect|awesome|brilliant|amazing|excellent|lovely|helpful|good to know)|that helped|that helps|lol",
    r"hallo|moin|servus|grüß (?:gott|dich)|guten (?:tag|morgen|abend)|gute nacht|danke(?:schön| schön)?"
    r"|(?:vielen |herzlichen |besten )(?:lieben )?dank|tschüss?|auf wiedersehen|bis (?:dann|bald|später|morgen)"
    r"|(?:das ist |das war )?(?:sehr )?(?:super|toll|klasse|prima|perfekt|wunderbar|hilfreich)"
    r"|wie geht(?:['’]s| es dir)",
    r"hola|buen(?:os)? días?|buenas(?: (?:tardes|noches))?|(?:muchas |muchísimas |mil )?gracias|adiós|chao"
    r"|hasta (?:luego|mañana|pronto)|perfecto|genial|estupendo|(?:qué tal|cómo estás)",
)
_FILLERS = (
    r"ok(?:ay)?|so much|very much|a lot|a bunch|again|there|everyone|all|and|oh|wow|for (?:the|your|all your|all the)"
    r" help|for (?:that|this|everything)|today|later|tomorrow|soon|then",
    r"und|sehr|dir|ihnen|euch|nochmals?|dann|heute|für (?:die|deine|ihre) hilfe|alles klar|vielmals|zusammen",
    r"vale|y|muy|por todo|por (?:la|tu|su) ayuda|de nuevo|a todos",
)
_COURTESY = re.compile(rf"\b(?:{'|'.join(_COURTESIES)})\b", re.IGNORECASE)
_ONLY = re.compile(rf"(?:\W*\b(?:{'|'.join((*_COURTESIES, *_FILLERS))})\b)+\W*", re.IGNORECASE)

MAX_CHARACTERS = 100
"""A longer text says more than thanks."""


def is_courtesy(text: str) -> bool:
    """Whether a text is a greeting, thanks or a farewell, and nothing else."""
    text = text.strip()
    return len(text) <= MAX_CHARACTERS and _ONLY.fullmatch(text) is not None and _COURTESY.search(text) is not None
