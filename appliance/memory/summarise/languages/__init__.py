"""What shows in words what a sentence is: one table a language. A further language is a further table."""

from appliance.memory.summarise.languages.english import ENGLISH
from appliance.memory.summarise.languages.german import GERMAN
from appliance.memory.summarise.languages.spanish import SPANISH
from appliance.memory.summarise.languages.table import Language

LANGUAGES = (ENGLISH, GERMAN, SPANISH)

__all__ = ["LANGUAGES", "Language"]
