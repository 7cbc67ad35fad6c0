"""The fact rules of English for what is taken back or moved: "the trip is cancelled", "I won't run after all"."""

# A rule is one line, however long.
# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from dataclasses import replace

from appliance.memory.facts.english_phrases import SELF, SELF_OPENING, SOON, THE_OPENING, WE_ARE
from appliance.memory.facts.grammar import CHANGE, DATED, FactRule, clause_opening, pattern

_NO_THING = r"(?!(?:may|might|could|would|should|must|will|can|won't|isn't|aren't|wasn't|weren't|not|never|almost|nearly|if|when|and|but|was|were|is|are|has|have|had|been|that|which|who|he|she|they|it|you|says?|said)\b)"
_WORD = rf"{_NO_THING}[\w'&-]+"
_THING = rf"(?P<value>{_WORD}(?: {_WORD}){{0,6}}?)"
_NOW = r"(?: (?:now|just|also|finally|actually|unfortunately|sadly|officially|already|sort of|kind of|completely|all))?"
_DID = rf"\b(?:i|we)(?:'ve| have| had to|'ve had to| have had to)?{_NOW}"
# A statement that goes on so takes nothing back: "I won't run the marathon without you".
_NARROWED = r"(?![^\n.!?;]*\b(?:without|unless|until|till|if|when|before|alone|today|tonight|tomorrow|yet|again|like|that|fast|slowly|only|just|with|for|barefoot|any ?time soon|this (?:time|week|morning)|how|what|why)\b)"
# What is not missed, forgotten or cancelled goes on.
_GOES_ON = r"(?!(?:be )?(?:\w+ )?(?:miss|missing|forget|forgetting|cancel|cancel+ing|postpon\w+|skip\w*|stop\w*|quit\w*|giv\w+ up|drop\w*|regret\w*|lie|lying|deny|complain\w*|bore|mind|let|need|know|tell|say|talk|discuss|mention|bother|worry|sure|able|afraid|kidding|joking)\b)"
_AFTER_ALL = r"(?=[^\n.!?;]{2,80}\b(?:after all\b(?! (?:the|that|this|these|those|my|our|of|your|his|her|i)\b)|any ?more\b|any longer\b))"
_WONT = r"(?:won't|will not|'ll not|am not going to|'m not going to|are not going to|aren't going to|'re not going to|no longer want to|don't want to|do not want to|no longer plan to|am no longer going to|'m no longer going to)"
_NOT_DOING = r"(?:'m not|am not|'re not|are not|aren't|'m no longer|am no longer|are no longer|'re no longer|won't be|will not be)"
_CANCELLED = r"(?:cancel+ed|called off|scrapped|no longer happening|not happening(?: any ?more| after all)?|not going ahead|no longer going ahead|not taking place|off the table|off(?= *(?:$|[.,;!\n)]|now\b|because\b|after all\b|for good\b)))"
_BACK_ON = pattern(r"[^\n.!?]{0,40}\b(?:back on|on again|happening after all|un-?cancel+ed)\b")
_MOVED = r"(?:moved|pushed|changed|postponed|rescheduled|shifted|brought forward|delayed|put back|put off|bumped|rebooked|switched|extended|bumped)"
_DAYS_AWAY = rf"(?: (?:back|forward|up|out))?(?: again)?(?: from (?:(?!to\b)[\w]+,? ){{1,4}}?)? ?(?:to|until|till|for|on) (?={SOON[3:-1]})"
_HEAD = r"(?:deadline|due date|wedding|exam|test|interview|flight|appointment|launch|release|trip|party|conference|surgery|operation|move|graduation|concert|presentation|demo|defen[sc]e|marathon|race|recital|hearing|meeting|reunion|train|ceremony|check-?up|start date|keynote|webinar|workshop|lecture|talk|scan|mri|rehearsal|lesson|class|call|session|delivery|visit|vacation|holiday|course|viva|match|game|dinner|ferry|bus)"
_EVENT = rf"(?P<event>(?:(?!(?:the|my|our|has|have|and|or)\b)[\w'-]+ ){{0,2}}?{_HEAD})(?: (?:to (?P<to>[\w'-]+(?: (?!has\b|was\b|is\b|got\b|from\b)[\w'-]+)??)|(?:for|of) (?:the |my |our )?(?P<of>(?!next\b|today\b)[\w'-]+(?: [\w'-]+){{0,2}}?)|(?:with|at|in) (?:the |my |our )?[\w'-]+(?: [\w'-]+)??))?"
_MOVED_NEEDS = ("moved", "pushed", "changed", "postponed", "rescheduled", "shifted", "forward", "delayed", "put back", "put off", "bumped", "rebooked", "switched", "extended")
_OPENING = clause_opening(r"(?:the|my|our|that|this|im?|we)\b")
_TO_DO = r"(?:the|my|our|that|this|on the|on my|on our|out of the|out of my|against the|about the|about my|with the)"

_RULES = (
    FactRule("THING is cancelled", "project", CHANGE, ("cancel", "called off", "scrapped", "happening", "going ahead", "taking place", "off"), pattern(rf"\b(?:my|our|the|that|this) {_THING} ?(?: is| are| was| were|'s| has been| have been| got| had to be| will be){_NOW} {_CANCELLED}"), confidence=0.9, can_follow_words=True, unless=_BACK_ON, begins=_OPENING),
    FactRule("NAME is cancelled", "project", CHANGE, ("cancel", "called off", "off the table"), pattern(rf"(?:^|(?<=[\n.!,;]))[ \t]*(?:(?:so|sadly|unfortunately|and|but)[ ,]+)?(?!(?:my|our|the|that|this|everything|it|he|she|they|we|i)\b)(?P<value>{_WORD}(?: {_WORD}){{0,2}}?) (?:is|was|has been|got){_NOW} (?:cancel+ed|called off|off the table)\b"), confidence=0.8, unless=_BACK_ON, begins=_OPENING),
    FactRule("THING fell through", "project", CHANGE, ("fell through", "fallen through", "won't happen", "isn't happening", "came to nothing", "come to nothing"), pattern(rf"\b(?:my|our|the|that|this) {_THING} (?:fell through|has fallen through|(?:won't|will not|isn't going to|is not going to) happen(?: after all| any ?more)?|isn't happening|(?:has )?(?:came|come) to nothing)\b"), confidence=0.85, can_follow_words=True, unless=_BACK_ON, begins=_OPENING),
    FactRule("cancelled THING", "project", CHANGE, ("cancel", "call off", "called off", "scrap", "given up on", "gave up on", "abandon", "back out", "backed out", "pull out", "pulled out", "drop out", "dropped out", "bail", "decided against", "mind about", "minds about"), pattern(rf"{_DID} (?:cancel(?:l?ed)?|call(?:ed)? off|scrap(?:ped)?|g[ai]ven? up on|abandon(?:ed)?|back(?:ed)? out of|pull(?:ed)? out of|dropp?(?:ed)? out of|bail(?:ed)? on|decided against|changed (?:my|our) minds? about) (?:the |my |our |that |this )?(?=\w)"), "matter", confidence=0.9, can_follow_words=True, unless=_BACK_ON, begins=SELF_OPENING),
    FactRule("won't after all", "project", CHANGE, ("after all", "anymore", "any more", "any longer"), pattern(rf"\b(?:i|we) ?(?:{_WONT}|{_NOT_DOING}(?= \w+ing\b)|can't|cannot|don't|do not) (?!(?:be able|live|reside|work|use|like|love|enjoy|eat|drink|smoke|know|understand|feel|remember|see|hear|think|believe)\b)(?=\w){_GOES_ON}{_AFTER_ALL}"), "matter", confidence=0.9, can_follow_words=True, begins=SELF_OPENING),
    FactRule("decided not to", "project", CHANGE, ("decided not", "decided we", "chosen not", "chose not", "opted not", "not going to"), pattern(rf"\b(?:i|we)(?:'ve| have)?{_NOW} (?:decided|chosen|chose|opted) not to (?=\w){_GOES_ON}"), "matter", confidence=0.85, can_follow_words=True, begins=SELF_OPENING),
    FactRule("no longer doing", "project", CHANGE, ("no longer",), pattern(r"\b(?:i|we)(?:'m|'re| am| are)? no longer (?!live\b|living\b|work\b|working\b|use\b|using\b|like\b|love\b|enjoy\b|smok|drink\b|eat\b)(?:planning(?: to| on)? |going to |want to |plan to |training for |preparing for |looking (?:for|into) )?(?:an? |the |my |our )?(?=\w)"), "matter", confidence=0.85, begins=SELF_OPENING),
    FactRule("stopped doing", "project", CHANGE, ("stopped", "quit", "given up", "gave up", "left"), pattern(rf"{_DID} (?:(?:stopped|quit) (?=\w+ing\b)|(?:quit|gave up|given up|dropped out of|left|stopped) (?=(?:the |my |our )?[\w' -]{{2,30}}\b(?:club|class|classes|course|lessons|choir|band|team|gym|group|orchestra|league)\b))(?!(?:smoking|drinking|eating|using|living|working|having)\b)(?:the |my |our )?"), "matter", confidence=0.85, unless=pattern(r"[^\n.!?]{0,20}\b(?:for (?:a (?:moment|minute|while|week)|now|today)|to (?:check|look|see|ask|help)|halfway|early)\b"), begins=SELF_OPENING),
    FactRule("sold", "project", CHANGE, ("sold", "given away", "gave away", "got rid of"), pattern(rf"{_DID} (?:sold|gave away|given away|got rid of|scrapped) (?:my|our|the) (?!\w+ (?:a|an|to)\b)(?=\w)"), "matter", confidence=0.85, begins=SELF_OPENING),
    FactRule("won't", "project", CHANGE, ("won't", "will not", "not going to", "'m not", "am not", "are not", "'re not", "aren't", "no longer", "don't want to", "do not want to"), pattern(rf"\b(?:i|we) ?(?:{_WONT}|{_NOT_DOING}(?= \w+ing\b)) (?=\w){_GOES_ON}(?!(?:be|go|have|do|get|really|sure|very|so|too|an?|in|at|on|from)\b){_NARROWED}(?=\w+ (?:the|my|our|to|in|an?)\b)"), "matter", confidence=0.6, begins=SELF_OPENING),
    FactRule("staying after all", "project", CHANGE, ("staying", "stay"), pattern(rf"(?:{WE_ARE} staying|\b(?:i|we)(?:'ll| will| have decided to|'ve decided to| decided to) stay)(?: put)?(?: (?:here|in [\w'-]+(?: [A-Z]?[\w'-]+)?))?,? (?:after all|instead|for good)\b"), value="move", confidence=0.85, begins=SELF_OPENING),
    FactRule("not THING, staying", "project", CHANGE, ("staying", "stay"), pattern(rf"(?:^|(?<=[\n.!]))[ \t]*(?:actually,? |ok,? |so )?not (?P<value>{_WORD}(?: {_WORD}){{0,2}}?)(?: after all)?[,;.] (?=(?:i'm|we're|i am|we are|i'll|we'll) (?:staying|going to stay|stay)\b)"), confidence=0.85),
    FactRule("scratch THING", "project", CHANGE, ("scratch", "forget about", "forget what"), pattern(rf"(?:^|(?<=[\n.!]))[ \t]*(?:ok,? |actually,? |so )?(?:scratch|forget about) (?:the|my|our) {_THING}(?=[ \t]*(?:$|[.,;!\n]| - ))"), confidence=0.6),

    FactRule("EVENT was moved to", "date", "{event}", _MOVED_NEEDS, pattern(rf"\b(?:my|our|the|that) {_EVENT}(?: (?:has been|have been|was|were|is|are|got|gets|had to be|has|is now|is being))?(?: now| just)? {_MOVED}{_DAYS_AWAY}"), "day", "corrects", 0.9, can_follow_words=True, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("THING was moved to", "date", "{event}", _MOVED_NEEDS, pattern(rf"\b(?:my|our|the|that) (?P<event>{_WORD}(?: {_WORD}){{0,4}}?) (?:has been|have been|was|got|had to be|is now|is being)(?: now| just)? {_MOVED}{_DAYS_AWAY}"), "day", "corrects", 0.6, can_follow_words=True, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("BY moved EVENT to", "date", "{event}", _MOVED_NEEDS, pattern(rf"\b(?:(?:my|our|the) (?P<by>[\w'-]+)|they|he|she)(?: has| have|'ve|'s| had to| needs to)?(?: now| just)? {_MOVED} (?:my|our|the) {_EVENT}{_DAYS_AWAY}"), "day", "corrects", 0.85, can_follow_words=True, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("I moved EVENT to", "date", "{event}", (*_MOVED_NEEDS, "move", "push", "postpone", "reschedule"), pattern(rf"(?:{SELF}(?:'ve| have| had to|'ve had to)?(?: now| just)? (?:{_MOVED}|move|push|postpone|reschedule|rebook)|\b(?:i|we) had) (?:my|our|the) {_EVENT}(?: {_MOVED})?{_DAYS_AWAY}"), "day", "corrects", 0.9, can_follow_words=True, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("EVENT is postponed", "date", CHANGE, ("postponed", "delayed", "put off", "on hold"), pattern(rf"\b(?:my|our|the|that) {_THING} ?(?: is| was|'s| has been| got| had to be){_NOW} (?:postponed|put off|put on hold|delayed)(?:(?: until| till) (?:further notice|later|who knows when)| indefinitely| for now)?(?=[ \t]*(?:$|[.,;!\n]|because\b|so\b|and\b))"), confidence=0.85, can_follow_words=True, begins=THE_OPENING),
    FactRule("postponed EVENT", "date", CHANGE, ("postpone", "put off"), pattern(rf"{_DID} (?:postponed?|put off) (?![^\n.!?]*\b(?:to|until|till|from)\b)(?:my|our|the) {_THING}(?: indefinitely| for now| until further notice)?(?=[ \t]*(?:$|[.,;!\n]|because\b|so\b))"), confidence=0.85, begins=SELF_OPENING),
)

CHANGES = tuple(replace(rule, mode="ended") if rule.attribute == CHANGE else rule for rule in _RULES)
