"""Steps that an answer gives in sentences, without a list or code: "Turn off the water, then replace the washer."."""

from __future__ import annotations

import re
from functools import lru_cache

from appliance.languages import LANGUAGES
from appliance.memory import how_to
from appliance.memory.how_to import HowToSpan

MIN_ACTIONS = 2
"""An answer with a single action is as often a suggestion ("Read Dune.") as it is steps."""

MIN_WORDS = 3
"""A shorter sentence ("Go on.") does not say what to do."""

_LEAD = (
    r"(?>(?:(?:first(?: of all)?|second|then|next|after (?:that|this)|afterwards|finally|lastly|now|also|and|so|ok|okay"
    r"|sure|please|just|simply|try this|do this|start by|zuerst|erst|dann|danach|anschließend|bitte|einfach|und|primero"
    r"|luego|despu[ée]s|por [úu]ltimo|entonces|y)\b[,:]?\s+"
    r"|(?:if|once|when|to|with|for|in|at|on|from|wenn|um|falls|si|cuando|para)\b[^,.!?\n]{1,80},\s*)*)"
)


@lru_cache(maxsize=1)
def _action() -> re.Pattern[str]:
    verbs = "|".join(language.procedures.imperatives for language in LANGUAGES)
    return re.compile(rf"(?:^|[.,;:]\s+|\b(?:and|then|und|y|e)\s+)\W*{_LEAD}(?:{verbs})\b(?![:'’])", re.IGNORECASE)


def find_steps(text: str, min_actions: int = MIN_ACTIONS) -> list[HowToSpan]:
    """Return the sentences of an answer that say what to do, if they have so many actions that they are steps."""
    found = []
    actions = 0
    for sentence in how_to.sentences(text):
        words = text[sentence.start : sentence.end]
        if words.endswith("?"):
            continue
        count = len(_action().findall(words)) if len(words.split()) >= MIN_WORDS else 0
        actions += count
        if count:
            found.append(sentence)
    return found if actions >= min_actions else []


_COMMAND = re.compile(
    r"(?:^|[\s:'\"])(?:sudo \w|(?:apt(?:-get)?|aptitude|dpkg|snap|pip3?|npm|yarn|brew|dnf|yum|pacman|systemctl|service"
    r"|docker|git|chmod|chown|modprobe|mount|umount|rm|mv|cp|ln|cd|killall|make|ls|grep|lsof|netstat|dmesg|ifconfig|xrandr|man)"
    r" (?:-{1,2}\w|[~./]\S|\w+[-./~]\S*|install|remove|update|upgrade|restart|start|stop|enable|run|pull|push|reset"
    r"|add))"
)


def find_commands(text: str) -> list[HowToSpan]:
    """Return the lines of an answer that have a command as it is typed ("sudo apt-get install foo"), without fences."""
    return [
        HowToSpan(line.start(), line.end())
        for line in re.finditer(r"[^\n]+", text)
        if _COMMAND.search(line.group()) and not line.group().rstrip().endswith("?")
    ]
