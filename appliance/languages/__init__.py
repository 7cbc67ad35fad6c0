"""The languages that the program knows: a module of words and cues for each, ``time_words`` with the times of others,
and ``temporal``, which parses temporal expressions.

Search, summaries and facts all read these tables; what follows from a word is decided there, not here."""

from appliance.languages.english import ENGLISH
from appliance.languages.german import GERMAN
from appliance.languages.language import Language
from appliance.languages.spanish import SPANISH

LANGUAGES = (ENGLISH, GERMAN, SPANISH)

# Ranking leaves these out of a query in any language.
STOP_WORDS = frozenset[str]().union(*(language.stop_words for language in LANGUAGES))

__all__ = ["ENGLISH", "GERMAN", "LANGUAGES", "SPANISH", "STOP_WORDS", "Language"]
