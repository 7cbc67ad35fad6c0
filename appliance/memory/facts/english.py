"""The fact rules of English: how people say who they are, what they have and what they want."""

# A rule is one line, however long.
# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from dataclasses import replace

from appliance import languages
from appliance.languages.language import calendar_names, full_names
from appliance.memory.facts.english_changes import CHANGES
from appliance.memory.facts.english_everyday import EVERYDAY
from appliance.memory.facts.english_habits import HABITS
from appliance.memory.facts.english_life import LIFE
from appliance.memory.facts.english_phrases import (
    ADV,
    AM,
    CLAUSE_OPENING,
    DISTANT,
    HAVE,
    MY,
    OLDER,
    OWNED,
    REL,
    RELATED,
    RELATION_OPENING,
    SELF,
    SELF_OPENING,
    SOON,
    THE_OPENING,
    WE_ARE,
    WHO,
)
from appliance.memory.facts.grammar import (
    AGE,
    AGED,
    DATED,
    NUMBERED,
    FactGrammar,
    FactRule,
    longest_first,
    pattern,
    prefixes_of,
)

_TEMPORAL = languages.ENGLISH.temporal
_WITH = r"(?:(?: (?:together|alone))?(?: with (?:my|our)(?: [\w'-]+){1,3}?(?:, [\w'-]+(?: and [\w'-]+)?)?(?:(?:,| and|, and) (?:my|our|the|two|three)(?: [\w'-]+){1,3}?){0,2},?)?)?"
_FOODS = (
    r"(?P<value>pork|beef|meat|red meat|fish|seafood|shellfish|dairy|lactose|gluten|wheat|eggs|sugar|nuts|peanuts|poultry|animal products|soy"
    r"|spicy food|raw fish|alcohol|coffee|milk|caffeine|soda|beer|wine|energy drinks|black tea|carbs|chocolate|tomatoes|mushrooms)\b"
)
_FOOD_WORDS = prefixes_of(_FOODS)
_HAVING = frozenset("have i've we'v 've got".split())
_GETTING = frozenset("got adop resc boug have took".split())
# After "I don't drink coffee", one of these limits the statement to some hours or to a part of it.
_AWHILE = pattern(
    r"(?: (?:altogether|completely|entirely))?,? (?:for (?:lent|january|now|today|an? |the next|one|two)|today|tonight|this (?:week|morning|evening|month)|after|before|at night|in the (?:evening|afternoon)"
    r"|on (?:weekdays|weekends|school nights|an empty|work)|until|when|while|unless|if|as (?:much|often)|so (?:much|often)|that (?:much|often)|much|often|very|enough|every|alone|without|with)\b"
)
_WHERE = r"(?:,? (?:at|with|to|in|for|about|from|of|near|over) [\w'-]+(?: [\w'-]+){0,3}?){0,2}"
_WILL = r"\b(?:i|we)(?:'ll be|'ll| will be| will|'m going to be| am going to be)"
_STYLE = r"(?:emojis?|bullet points?|bullets|em[- ]dash(?:es)?|jargon|exclamation (?:marks|points)|disclaimers?|apologies|small talk|filler|preambles?|tables|headings|markdown|footnotes|smileys|hashtags|flattery)"
_SPORT = (
    r"(?:run|jog|swim|cycle|bike|row|climb|box|train|work out|lift|meditate|dance|hike|volunteer|fast|journal|stretch|(?:go|do|play|teach|take|coach) (?!to\b(?! the gym| church| choir| yoga| the pool))[\w' -]{2,28}?"
    r"|work(?: from)? (?:home|late|nights)|don't work|am off|cook|bake|shop|fly|commute)"
)
_DAYS = (*full_names(_TEMPORAL.weekdays), "weekend", "weekday")
_DAY = rf"(?:(?:{'|'.join(_DAYS)})s?)"
_DAYS_PLURAL = rf"(?:(?:{'|'.join(_DAYS)})s)"
_REGULARLY = (
    rf"(?:on {_DAYS_PLURAL}(?:(?:,| and|, and| &) (?:on )?{_DAYS_PLURAL}){{0,4}}"
    rf"|(?:every|each) (?:other |single )?(?:day|morning|evening|night|week|{_DAY})(?:(?:,| and|, and) {_DAY}){{0,4}}(?: (?:mornings?|evenings?|afternoons?|nights?))?"
    r"|(?:once|twice|three times|four times|five times|\d times|\dx) (?:a|per) week)"
    r"(?: (?:before|after|during) (?:work|school|breakfast|lunch|dinner)| in the (?:mornings?|evenings?)| at \d{1,2}(?::\d\d)?(?: ?[ap]m)?)?"
)
_EVENT = (
    r"(?:deadline|due date|wedding|exam|test|interview|flight|appointment|launch|release|release date|launch date|trip"
    r"|party|conference|submission|surgery|operation|move|moving day|graduation|concert|anniversary|presentation|demo"
    r"|defen[sc]e|viva|marathon|race|recital|hearing|closing|meeting|reunion|train|ceremony|baby shower|check-?up"
    r"|start date|keynote|webinar|hackathon|biopsy|scan|mri|colonoscopy|root canal|first day|last day|retirement|vacation|holiday|checkup|court date|ultrasound|workshop|lecture|talk)"
)
_DIETS = r"(?P<value>vegan|vegetarian|pescatarian|pescetarian|keto|kosher|halal|gluten[- ]free|plant[- ]based|flexitarian|celiac|coeliac)\b"
_ILLS = (
    r"(?P<value>(?:type (?:1|2|one|two) |chronic |severe |mild |high |low |seasonal |bad )?(?:diabetes|asthma|adhd|add|autism"
    r"|epilepsy|arthritis|celiac disease|celiac|coeliac disease|crohn's(?: disease)?|ibs|migraines?|hypertension"
    r"|blood pressure|cholesterol|depression|anxiety|dyslexia|insomnia|sleep apnea|hay fever|eczema|psoriasis|lupus"
    r"|fibromyalgia|endometriosis|pcos|tinnitus|scoliosis|hypothyroidism|back pain|a pacemaker|a heart condition))\b"
)
_VERBS = (
    r"(?:answer|reply|respond|use|write|give(?! (?:up|in|your)\b)|show|include|explain|add|format|speak|talk|address|provide|cite|convert"
    r"|round|check|ask|avoid|put|start|begin|mention|tell|assume|prefer|return|translate|consider|list|quote|link|test|run"
    r"|comment|sign|skip|suggest|recommend|send|remind|apologi[sz]e|call|refer|please|offer|summari[sz]e|state|structure"
    r"|prefix|omit|limit|ignore|double-check|verify|lecture|repeat|generate|produce|output|reference|spell|highlight"
    r"|stop (?:us|ask|say|add|apolog)ing|don't|do not|never|always|stick to|treat me|make (?:sure|it|your|the|them)"
    r"|keep (?:your|it|the|answers?|repl(?:y|ies)|responses?|explanations?|things|me|everything|code)|let me know"
    r"|be (?:brief|concise|direct|honest|polite|formal|informal|casual|specific|precise|critical|blunt|short|patient|kind|nice)"
    r"|remember (?:that i|i|my|to (?:use|answer|reply|include|cite|write|add|check))|say (?:when|if|so|where|which))\b"
)
_TALK_VERBS = r"(?:answer|reply|respond|use|write|give|show|include|explain|format|keep|cite|convert|call|address|provide|ask|avoid|apologi[sz]e|add|speak|talk)\b"
# "Give me tips on how to stay motivated in the future" asks once; "give me shorter answers in the future" asks for ever.
_ONE_REQUEST = (
    r"(?!(?:please )?(?:give|show|tell|send|list|suggest|recommend|offer|provide|explain|write|generate|produce) (?:to |for )?(?:me|us|some|a few|several|\d+|two|three|four|five|ten)\b"
    r"(?:(?!\b(?:answers?|repl(?:y|ies)|responses?|explanations?)\b)[^\n.!?]){0,120}\bin (?:the )?future\b)"
)
_HERE = pattern(r"[^\n]*\b(?:here|this time|in this|in that|for this|for now|today|yet|this (?:one|answer|question|file|task|reply|response|message)|in your answer to|for the moment|right now|just this once)\b")
_ONCE = pattern(r"[^\n]{0,30}\b(?:today|tonight|this (?:week|weekend|month|morning)|for (?:the|a) (?:day|week|weekend|night|few days|conference|meeting))\b")
_NO_MORE = r",? (?:anymore|any more|any longer)"
_WAS = pattern(_NO_MORE)
# "I don't live in Vienna any more, but in Linz": what holds instead of what is denied.
_BUT_IN = FactRule("but in", "profile", "home", (), pattern(rf"(?:{_NO_MORE})?,? but(?: now| instead| rather)? in "), "capital place")
_BUT_AT = FactRule("but at", "profile", "employer", (), pattern(rf"(?:{_NO_MORE})?,? but(?: now| instead| rather)? (?:at|for|with) (?:the )?"), "capital org")
_AT_SCHOOL = FactRule("studies at", "profile", "school", (), pattern(r"(?: here)? at (?:the )?"), "org")
_AS_JOB = FactRule("works as", "profile", "job", (), pattern(r",? as (?:an? |the )?"), "job")
_ON_TEAM = FactRule("team", "profile", "team", (), pattern(r",? (?:on|in) the (?P<value>[\w-]+(?: [\w-]+)?) team\b"), confidence=0.8)
_AT_ORG = FactRule("works at", "profile", "employer", (), pattern(r"(?: (?:working|employed))?(?: here)? (?:at|for) (?:the )?"), "org", continuations=(_ON_TEAM,))

_NOT_A_NAME = pattern(r"(?:'s (?:day|law|anatomy)\b| (?:and|or) not\b| (?:account|page|style|time|day|class|team|app|party|trip|office|store)\b)")
_EVENTS = tuple(
    "deadline due wedding exam test interview flight appointment launch release trip party conference submission surgery"
    " operation move moving graduation concert anniversary presentation demo defense defence viva marathon race recital"
    " hearing closing meeting reunion train ceremony shower check first last start retirement vacation holiday court"
    " ultrasound workshop talk keynote webinar hackathon biopsy scan mri colonoscopy root lecture".split()
)

_PROFILE = (
    FactRule("my name is", "profile", "name", ("name",), pattern(r"\bmy (?:full |real |actual |first )?(?:name(?:'s| is)|names) (?:actually |really )?"), "person", confidence=0.95, can_follow_words=True, begins=SELF_OPENING),
    FactRule("name spelled", "profile", "name", ("spelled", "spelt"), pattern(r"\bmy name(?:'s| is) (?:actually )?(?:spelled|spelt) "), "person", "corrects", 0.9, can_follow_words=True, begins=SELF_OPENING),
    FactRule("i'm NAME", "profile", "name", ("hi", "hey", "hello", "hiya", "greetings", "good morning", "good evening", "good afternoon"), pattern(rf"(?:^|(?<=[\n.!]))[ \t]*(?:hi|hello|hey|hiya|greetings|good (?:morning|evening|afternoon))(?: (?:there|all|everyone|guys|team|folks))?[ \t,!.-]{{1,4}}(?:{AM}|\bthis is) "), "person", can_follow_words=True, unless=pattern(r" (?:and|or) not|'s\b"), follows=pattern(r"[ \t]*(?:$|[.,;!)\n:–—-]|and\b|from\b|here\b|speaking\b|again\b|your\b|the\b|i\b|i'm\b|at\b)"), confidence=0.85, begins=CLAUSE_OPENING),
    FactRule("i'm NAME, and", "profile", "name", ("i'm", "i am"), pattern(rf"{AM} (?=[^\W\d_]{{2,20}}(?: [^\W\d_]{{2,20}})?(?:, (?:an? |i'm |and i'm |\d\d\b)| and (?:i'm|i am|i live|i work) ))"), "capital person", confidence=0.7, unless=pattern(r" (?:and|or) not"), begins=SELF_OPENING),
    FactRule("call me", "profile", "called", ("call me", "calls me"), pattern(r"(?:^|(?<=[\n,.!;:-])|\b(?:please|just|you can|you may|and|but|so|everyone|everybody|friends)) ?\b(?:calls? me|just call me) "), "person", confidence=0.85, can_follow_words=True, unless=pattern(r" (?:when|if|at|on|back|later|tomorrow|names|crazy|again)\b")),
    FactRule("i go by", "profile", "called", ("go by",), pattern(rf"{SELF} go by "), "person", begins=SELF_OPENING),
    FactRule("age", "profile", "age", ("i'm", "i am", "im ", "turned"), pattern(rf"(?:{AM}(?: (?:a|only|now|just|currently|already|about to be))?|\bi(?: just)? turned) (?=\d)"), "number", follows=pattern(r"(?:[ -]years?[ -]old\b|[ \t]*$|[.,;!)]| and\b| (?:last|this|today|yesterday|in|now|so|but|years of age|yo|y/o)\b)"), unless=pattern(r"(?: (?:minutes?|hours?|days?|weeks?|months?|pages?|percent|weeks)\b| in (?:the|line))"), required_prefixes=NUMBERED, begins=SELF_OPENING),
    FactRule("birthday", "profile", "birthday", ("birthday",), pattern(r"\bmy birthday(?:'s| is)(?: on)? (?:the )?"), "birthday", confidence=0.95, can_follow_words=True, begins=SELF_OPENING),
    FactRule("born on", "profile", "birthday", ("born",), pattern(r"\bi was born(?: on)? (?:the )?"), "birthday", confidence=0.95, begins=SELF_OPENING),
    FactRule("live in", "profile", "home", ("live ", "living ", "reside "), pattern(rf"(?:{SELF} (?:live|reside)|\b(?:i'm|i am|im|we're|we are)(?: (?:currently|now|still|happily))? living){_WITH} (?:(?:over |up |down |here |out |just |right )?in|(?:just |right )?(?:outside|near)(?: of)?|close to|not far from) (?:downtown |central |north |south |east |west )?"), "place", can_follow_words=True, confidence=0.9, unless=_ONCE, begins=SELF_OPENING),
    FactRule("..., live in", "profile", "home", ("live ",), pattern(rf"(?:,|\band) (?:now |currently |still |also |both )?live{_WITH} (?:(?:over |up |down |here |out |just )?in|(?:just |right )?(?:outside|near)|close to) "), "place", inherits_subject=True, confidence=0.85, unless=_ONCE),
    FactRule("Living in", "profile", "home", ("living in", "based in"), pattern(r"(?:^|(?<=[\n.!]))[ \t]*(?:currently |now |still )?(?:living|based) in "), "place", follows=pattern(r",? (?:now|currently|atm|at the moment|since|for \w+ years|these days|with my)\b(?! (?:is|was|can|has|means))"), confidence=0.8, begins=CLAUSE_OPENING),
    FactRule("home is", "profile", "home", ("home is", "hometown", "home city"), pattern(r"\bmy (?:current )?(?:home(?: ?town| city)?|city|address) is (?:in )?"), "place", confidence=0.75, begins=SELF_OPENING),
    FactRule("have lived in", "profile", "home", ("lived in", "living in"), pattern(r"\b(?:i've|i have|we've|we have)(?: been)? (?:lived|living) in "), "place", follows=pattern(r" (?:for|since|all)\b"), confidence=0.85, begins=SELF_OPENING),
    FactRule("based in", "profile", "home", ("based in", "based out of"), pattern(r"\b(?:i'm|i am|im|we're|we are)(?: (?:currently|now|mostly))? based (?:in|out of) "), "place", unless=_ONCE, begins=SELF_OPENING),
    FactRule("moved from", "profile", "home", ("moved", "relocated"), pattern(r"\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally|both))? (?:moved|relocated)(?: here| over| back)? from "), "place", "ended", continuations=(FactRule("moved to", "profile", "home", (), pattern(r" to "), "place", confidence=0.9),), can_follow_words=True, begins=SELF_OPENING),
    FactRule("moved to", "profile", "home", ("moved to", "relocated to", "moved back to"), pattern(r"(?:\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally|actually))? |(?:^|(?<=[\n.!]))[ \t]*(?:just|recently|finally) )(?:moved|relocated)(?: (?:back|over|here))? to "), "place", confidence=0.85, can_follow_words=True, unless=pattern(r"[^\n]{0,40}\b(?:but|temporarily|and (?:back|then)|when i was|as a (?:kid|child)|back when)\b"), begins=CLAUSE_OPENING),
    FactRule("used to live", "profile", "home", ("used to live", "lived in"), pattern(r"\b(?:i|we)(?: (?:used to live|once lived|previously lived|formerly lived)) in "), "place", "ended", begins=SELF_OPENING),
    FactRule("lived in until", "profile", "home", ("lived in",), pattern(r"\b(?:i|we) lived in "), "place", "ended", follows=pattern(r" (?:until|till|from|between|before|for|up to|back|in)\b"), begins=SELF_OPENING),
    FactRule("no longer live", "profile", "home", ("live in", "reside in", "living in"), pattern(r"\b(?:i|we)(?: no longer (?:live|reside)|(?:'m| am|'re| are) no longer living) in "), "place", "ended", begins=SELF_OPENING, continuations=(_BUT_IN,)),
    FactRule("don't live anymore", "profile", "home", ("live in", "living in"), pattern(r"\b(?:(?:i|we) (?:don't|dont|do not) live|(?:i'm|i am|im|we're|we are) not living) in "), "place", "ended", follows=pattern(rf"(?:{_NO_MORE}\b|,? but(?: now| instead| rather)? in )"), begins=SELF_OPENING, continuations=(_BUT_IN,)),
    FactRule("from", "profile", "origin", ("i'm from", "i come from", "originally", "im from", "i am from"), pattern(rf"(?:{AM}(?: (?:originally|actually))?|\bi(?: originally)? come(?: originally)?) from "), "place", unless=pattern(r" (?:team|support|department|book|review|office|branch|times|post|club|agency|and i'm here)\b"), confidence=0.8, begins=SELF_OPENING),
    FactRule("grew up", "profile", "origin", ("grew up", "raised in"), pattern(r"\bi (?:grew up|was raised) in "), "place", confidence=0.8, begins=SELF_OPENING),
    FactRule("work at", "profile", "employer", ("work at", "work for", "working at", "working for"), pattern(rf"(?:{SELF} work|\b(?:i'm|i am|im)(?: (?:currently|now|still))? (?:working|employed)|\bi've been working) (?:at|for|by) (?:the )?"), "org", can_follow_words=True, continuations=(_AS_JOB, _ON_TEAM), begins=SELF_OPENING),
    FactRule("..., work at", "profile", "employer", ("work at", "work for"), pattern(r"(?:,|\band) (?:now |currently |still |also )?work (?:at|for) (?:the )?"), "org", inherits_subject=True, continuations=(_AS_JOB, _ON_TEAM)),
    FactRule("my team at", "profile", "employer", ("team at", "company at", "office at", "manager at", "boss at", "job at", "colleagues at", "internship at", "department at"), pattern(r"(?<!lost\s)(?<!left\s)(?<!quit\s)(?<!from\s)\b(?:my|our) (?!old|former|previous|last|ex)(?:\w+ )?(?:team|office|manager|boss|job|colleagues|department|internship) at "), "capital org", can_follow_words=True, confidence=0.75, unless=pattern(r"[^\n]{0,30}\b(?:ended|is over|was)\b"), begins=SELF_OPENING),
    FactRule("new job at", "profile", "employer", ("job at", "job with", "working at", "position at", "role at"), pattern(r"\bi(?:'ve| have)?(?: (?:just|recently|finally))? (?:(?:started|got|landed|accepted|took|have)(?: on)? (?:a|an|my) (?:new )?(?:\w+ )?(?:job|position|role)|joined|started(?: working)?) (?:at|with|for) "), "org", begins=SELF_OPENING),
    FactRule("joined", "profile", "employer", ("employer is", "company is"), pattern(r"\bmy (?:current |new )?(?:employer|company|workplace) is (?:called )?"), "org", begins=SELF_OPENING),
    FactRule("quit", "profile", "employer", ("quit", "left my job", "laid off", "resigned", "fired", "no longer work", "used to work", "stopped working"), pattern(r"\b(?:i|i've|i have|i was|i got|we)(?: (?:just|recently|finally))? (?:quit(?: (?:my|the) job)?|left my (?:old )?(?:job|position)|resigned|laid off|been laid off|got fired|fired|no longer work|used to work|stopped working) (?:at|from|for|by) (?:the )?"), "org", "ended", begins=SELF_OPENING, continuations=(_BUT_AT,)),
    FactRule("don't work anymore", "profile", "employer", ("work at", "work for", "working at", "working for"), pattern(r"\b(?:(?:i|we) (?:don't|dont|do not) work|(?:i'm|i am|im|we're|we are) not working) (?:at|for) (?:the )?"), "org", "ended", follows=pattern(rf"(?:{_NO_MORE}\b|,? but(?: now| instead| rather)? (?:at|for|with) )"), begins=SELF_OPENING, continuations=(_BUT_AT,)),
    FactRule("quit FIRM", "profile", "employer", ("quit", "left"), pattern(r"\b(?:i|i've|i have)(?: (?:just|recently|finally))? (?:quit|left) (?!my\b|the\b|work\b|home\b)"), "capital org", "ended", begins=SELF_OPENING, confidence=0.75, follows=pattern(r"[ \t]*(?:$|[.,;!])| (?:last|in|and|to|after|for|because|this|on|yesterday|recently|earlier)\b"), continuations=(FactRule("and started at", "profile", "employer", (), pattern(r"(?: last (?:week|month|year|summer|spring|autumn|fall|winter)| in \w+)?,? (?:and|to) (?:then )?(?:started|start|joined|join|moved to|move to|began|begin)(?: working)?(?: at| with| for)? "), "capital org"),)),
    FactRule("quit my job", "profile", "employer", ("my job", "laid off"), pattern(r"\b(?:i|i've|i have)(?: (?:just|recently|finally))? (?:(?:quit|left|lost) my (?:old )?job|(?:was|been|got) laid off|retired)\b"), "", "ended", value="", unless=pattern(r" (?:at|from|as)\b"), begins=SELF_OPENING),
    FactRule("i'm a JOB", "profile", "job", ("i'm", "i am", "im "), pattern(rf"{AM}{ADV} (?:an? |the )"), "job", unless=pattern(r" (?:at heart|in training|wannabe|myself,? (?:but|not)|today)\b"), continuations=(_AT_ORG, _ON_TEAM), confidence=0.85, begins=SELF_OPENING),
    FactRule("work as", "profile", "job", ("work as", "working as", "freelance as", "freelancing as"), pattern(rf"(?:{SELF} (?:work|freelance)|{AM}(?: (?:currently|now|mostly))? (?:working|freelancing))(?: (?:freelance|part[- ]time|full[- ]time|mostly|remotely|here|in [\w'-]+|nights))? as (?:an? |the )?"), "job", can_follow_words=True, continuations=(_AT_ORG, _ON_TEAM), begins=SELF_OPENING),
    FactRule("..., work as", "profile", "job", ("work as", "working as", "freelance as"), pattern(r"(?:,|\band) (?:now |currently |still |also )?(?:work|working|freelance) as (?:an? |the )?"), "job", inherits_subject=True, continuations=(_AT_ORG,)),
    FactRule("have been a JOB", "profile", "job", ("been a", "been an", "been working"), pattern(r"\bi(?:'ve| have) been (?:working as )?an? "), "job", follows=pattern(r"[ \t]*(?:$|[.,;!)])| (?:for|since|at|in|now|all|over|here|long)\b"), continuations=(replace(_AT_ORG, pattern=pattern(r" at (?:the )?")),), begins=SELF_OPENING),
    FactRule("as a JOB, I", "profile", "job", ("as a", "as an"), pattern(r"(?:^|(?<=[\n.!]))[ \t]*(?:but |and |so |speaking )?as an? "), "job", follows=pattern(r",? (?:i(?! (?:would|could|might|should|will|was|had|did|used|once|got|lived|\w+ed)\b)|i'm|i've|my)\b"), confidence=0.75, begins=CLAUSE_OPENING),
    FactRule("as a diabetic", "profile", "health", ("diabetic", "asthmatic", "dyslexic", "celiac", "coeliac"), pattern(r"\bas an? (?P<value>(?:type (?:1|2|one|two) )?diabetic|asthmatic|dyslexic|coeliac|celiac)(?=,? (?:i|i'm|my|i've)\b)"), can_follow_words=True),
    FactRule("job is", "profile", "job", ("job is", "profession is", "occupation is", "job title"), pattern(r"\bmy (?:current |day )?(?:job|job title|profession|occupation|role) is (?:being )?(?:an? |the )?"), "job", begins=SELF_OPENING),
    FactRule("on the team", "profile", "team", (" team",), pattern(rf"(?:{AM}|{SELF} work|\bi've just joined|\bi joined)(?: (?:on|in|with))? the (?P<value>[\w-]+(?: [\w-]+)?) team\b"), confidence=0.75, unless=pattern(r" (?:lead|captain|manager|player)"), begins=SELF_OPENING),
    FactRule("studying", "profile", "studies", ("study", "studying", "majoring", "phd in", "degree in", "master's in", "masters in"), pattern(rf"(?:{SELF} study|\b(?:i'm|i am|im)(?: (?:currently|now|still))? (?:studying|majoring in)|\b(?:i'm |i am |im )?(?:currently )?(?:doing|pursuing|finishing|working on) (?:a|my) (?:phd|doctorate|master's|masters|bachelor's|degree|ba|bsc|msc|ma)(?: degree)? in|\bmy (?:major|degree) is(?: in)?) "), "field", confidence=0.8, continuations=(_AT_SCHOOL,), unless=pattern(r"(?:'s\b| book| (?:tonight|today|tomorrow)\b)")),
    FactRule("student at", "profile", "school", ("student at", "study at", "studying at", "go to school at"), pattern(rf"(?:{AM} (?:an? )?(?:[\w-]+ ){{0,3}}student|{SELF} study|{AM} studying) at (?:the )?"), "org", begins=SELF_OPENING),
    FactRule("speak", "profile", "language", ("speak", "fluent in"), pattern(rf"(?:{SELF} speak|{AM} (?:fluent|bilingual) in) "), "tongue", accepts_list=True, begins=SELF_OPENING),
    FactRule("native", "profile", "language", ("native", "mother tongue", "first language"), pattern(r"\bmy (?:native (?:language|tongue)|mother tongue|first language) is "), "tongue", confidence=0.95, can_follow_words=True, begins=SELF_OPENING),
    FactRule("native speaker", "profile", "language", ("native",), pattern(rf"{AM} a native (?:speaker of )?"), "tongue", begins=SELF_OPENING),
    FactRule("learning", "profile", "learns", ("learning", "studying", "teaching myself"), pattern(r"\b(?:i'm|i am|im|i've been|i've started|i started|we're)(?: (?:currently|now|also|slowly|still))? (?:learning|studying|teaching myself)(?: to speak)? "), "tongue", begins=SELF_OPENING),
    FactRule("diet", "profile", "diet", ("vega", "vegetarian", "pesc", "keto", "kosher", "halal", "gluten", "plant", "flexit", "celiac", "coeliac"), pattern(rf"(?:{AM}{ADV}(?: (?:a|an|on a|strictly|strict|mostly|lifelong|a strict|a lifelong))?|\b(?:i|we) (?:eat|follow a|keep)(?: (?:strictly|only))?|\bmy (?:diet|family) is|\b(?:i've|we've|i have|we have) (?:gone|been|become|turned)(?: (?:a|strictly))?|\bi (?:went|became|turned)(?: a)?) {_DIETS}"), can_follow_words=True, unless=pattern(r"(?: (?:at heart|today|tonight|this week|for a day|option|options|restaurant|recipe|lately\?|curious)\b|-ish)"), begins=SELF_OPENING),
    FactRule("not a diet anymore", "profile", "diet", ("vega", "vegetarian", "pesc", "keto"), pattern(rf"{AM} (?:not|no longer)(?: an?)? {_DIETS}"), "", "ended", follows=_WAS, begins=SELF_OPENING),
    FactRule("eat no", "profile", "diet", ("eat", "have", "tolerate", "avoid"), pattern(rf"\b(?:i|we)(?: (?:really|just|personally|also))? (?:(?:don't|do not|never|dont|no longer) (?:eat|tolerate|digest|touch)|(?:can't|cannot|cant) (?:eat|have|tolerate|digest|touch))(?: any)? {_FOODS}"), value="no {value}", can_follow_words=True, confidence=0.85, unless=_AWHILE, begins=SELF_OPENING, required_prefixes=_FOOD_WORDS),
    FactRule("stopped eating", "profile", "diet", ("stopped", "quit", "given up", "gave up", "cut out", "gone off", "sworn off"), pattern(rf"\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally|completely|also))? (?:stopped (?:eating|drinking|having)|(?:quit|given up|gave up|cut out|gone off|sworn off|swore off)(?: (?:eating|drinking))?) {_FOODS}"), value="no {value}", can_follow_words=True, unless=_AWHILE, begins=SELF_OPENING, required_prefixes=_FOOD_WORDS),
    FactRule("haven't had since", "profile", "diet", ("haven't", "have not"), pattern(rf"\b(?:i|we) (?:haven't|have not) (?:had|touched|drunk|eaten|drank)(?: a drop of| any)? {_FOODS}(?= (?:since|in (?:\w+ )?(?:months|years)|for (?:\w+ )?(?:months|years)))"), value="no {value}", confidence=0.8, can_follow_words=True, begins=SELF_OPENING, required_prefixes=_FOOD_WORDS),
    FactRule("not smoking", "profile", "habit", ("smok", "nonsmoker"), pattern(r"(?:\bi (?:don't|do not|no longer) smoke|\bi(?:'ve| have)?(?: (?:just|recently|finally))? (?:stopped|quit|given up|gave up) smoking|\bi(?:'m| am) a non-?smoker)\b"), value="no smoking", confidence=0.8, unless=pattern(r" (?:weed|pot|much|a lot|often|that|in (?:the|my|our|here|front|bed|public)|inside|at|around|anything|before|today|when)\b"), begins=SELF_OPENING),
    FactRule("habit", "profile", "habit", (*(f"{day}s" for day in _DAYS), "every", "each", "week"), pattern(rf"\b(?:i|we)(?: (?:usually|always|normally|typically|also|still|generally|often))? (?P<value>{_SPORT} {_REGULARLY})"), confidence=0.8, unless=pattern(r"[^\n,;]{0,30}\b(?:when i was|as a kid|back then|until last)\b"), begins=SELF_OPENING),
    FactRule("drink no", "profile", "diet", ("drink",), pattern(rf"\b(?:i|we) (?:don't|do not|never|can't|no longer|dont) (?:really )?drink(?: any)? {_FOODS}"), value="no {value}", confidence=0.85, unless=_AWHILE, begins=SELF_OPENING, required_prefixes=_FOOD_WORDS),
    FactRule("work for one called", "profile", "employer", ("called", "named"), pattern(rf"(?:{SELF} work|{AM} working)(?: remotely)? (?:at|for) an? (?:[\w-]+ ){{1,4}}(?:called|named) "), "org", begins=SELF_OPENING),
    FactRule("allergic", "profile", "allergy", ("allergic to",), pattern(rf"{AM}(?: (?:also|severely|really|very|highly|deathly|mildly|quite|super|slightly|extremely|badly|terribly))? allergic to "), "articled", accepts_list=True, can_follow_words=True, confidence=0.95, begins=SELF_OPENING),
    FactRule("allergy", "profile", "allergy", ("allergy", "allergies"), pattern(rf"{HAVE} (?:an? |severe |bad ){{1,2}}(?:severe )?(?P<value>[\w-]+(?: [\w-]+)?) allerg(?:y|ies)\b"), confidence=0.9, can_follow_words=True, begins=SELF_OPENING),
    FactRule("allergy to", "profile", "allergy", ("allergy to", "allergies to"), pattern(rf"{HAVE} (?:an? )?(?:[\w-]+ )?allerg(?:y|ies) to "), "articled", accepts_list=True, confidence=0.9, begins=SELF_OPENING),
    FactRule("intolerant", "profile", "health", ("intolerant", "diabetic", "asthmatic", "dyslexic", "colorblind", "colour", "color blind", "autistic", "deaf", "pregnant"), pattern(rf"{AM}{ADV}(?: (?:a|an))? (?P<value>(?:lactose|gluten|histamine|fructose)[- ]intolerant|(?:type (?:1|2) )?diabetic|asthmatic|dyslexic|colou?r[- ]?blind|autistic|deaf|hard of hearing|pregnant)\b"), can_follow_words=True, confidence=0.9, begins=SELF_OPENING),
    FactRule("condition", "profile", "health", ("diabetes", "asthma", "adhd", "autism", "epilepsy", "arthritis", "celiac", "coeliac", "crohn's", "ibs", "migraine", "hypertension", "blood pressure", "cholesterol", "depression", "anxiety", "dyslexia", "insomnia", "apnea", "hay fever", "eczema", "psoriasis", "lupus", "fibromyalgia", "endometriosis", "pcos", "tinnitus", "scoliosis", "hypothyroidism", "back pain", "pacemaker", "heart condition", "add"), pattern(rf"(?:{HAVE}(?: had)?(?: (?:really|quite|always))?|\bi suffer from|\bi(?:'ve been| was| got)(?: recently)? diagnosed with) {_ILLS}"), confidence=0.85, begins=SELF_OPENING),
    FactRule("drive", "profile", "owns", ("drive a", "my car is", "own a", "my car's", "my bike is"), pattern(rf"(?:{SELF} (?:drive|own|ride)|\bmy (?:car|bike|truck|van|motorcycle)(?:'s| is)) (?:an? )"), "product", confidence=0.8, begins=SELF_OPENING),
)

_PEOPLE = (
    FactRule("REL's name is", "relation", "{rel}", ("name",), pattern(rf"{MY}(?:'s|s|s') (?:names?|first name) (?:is|are) "), "person", confidence=0.95, accepts_list=True, can_follow_words=True, begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("name of REL", "relation", "{rel}", ("name of my",), pattern(rf"\bthe names? of my {OLDER}{REL} (?:is|are) "), "person", accepts_list=True),
    FactRule("REL is called", "relation", "{rel}", ("called", "named"), pattern(rf"{MY}(?: is|'s| are)?,? (?:called|named) "), "person", confidence=0.95, accepts_list=True, can_follow_words=True, begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("have a REL called", "relation", "{rel}", ("called", "named", "name is", "names are"), pattern(rf"{HAVE} (?:[\w-]+ (?:[\w-]+ ){{1,3}}and )?(?:an?|one|two|three|four|five|2|3|4) (?:[\w-]+ ){{0,2}}{REL},? (?:that is |who is |who's |that's )?(?:called|named|whose names? (?:is|are)|(?:his|her|its|their) names? (?:is|are)) "), "person", confidence=0.95, accepts_list=True, can_follow_words=True, begins=SELF_OPENING),
    FactRule("have two RELs, NAME", "relation", "{rel}", RELATED, pattern(rf"{HAVE} (?:two|three|four|five|2|3|4|a|an|one) (?:[\w-]+ )?{REL}(?:,|:| -| –) ?"), "capital person", accepts_list=True, confidence=0.8, begins=SELF_OPENING, required_prefixes=_HAVING),
    FactRule("REL NAME", "relation", "{rel}", RELATED, pattern(rf"{MY} "), "capital person", confidence=0.8, is_presupposed=True, unless=_NOT_A_NAME, begins=RELATION_OPENING, continuations=(FactRule("REL NAME's REL", "relation", "{rel}", (), pattern(rf"'s {OLDER}{REL}(?:,| is called| is named| is)? "), "capital person", subject="{value}", confidence=0.75),)),
    FactRule("REL, NAME", "relation", "{rel}", RELATED, pattern(rf"(?<!hello\s)(?<!hi\s)(?<!hey\s){MY}, "), "capital person", confidence=0.8, is_presupposed=True, follows=pattern(r"(?:[,.!;)]|[ \t]*$| (?:and|is|who|has|was|just|lives|works|wants|loves)\b)"), begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("RELs NAME and NAME", "relation", "{rel}", RELATED, pattern(rf"\b(?:my|our) {OLDER}(?P<rel>kids|children|sons|daughters|brothers|sisters|cats|dogs|pets|friends)(?:,|:| -| –| called| named)? "), "capital person", accepts_list=True, confidence=0.8, is_presupposed=True, begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("got a REL, its name is", "relation", "{rel}", RELATED, pattern(rf"\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally))? (?:got|adopted|rescued|bought|have|took in) (?:an?|two|another) (?:[\w-]+ ){{0,3}}?{REL}(?: (?!and\b)[\w'-]{{2,30}}(?: [\w'-]{{2,20}})?)?(?:,? and|,|-|,? called|,? named) ?(?:(?:(?:his|her|its|their) names? (?:is|are)|(?:he|she|it)(?:'s| is) (?:called|named)|(?:we(?:'ve)? )?(?:called|named) (?:him|her|it|them)) )?(?:(?:called|named) )?"), "capital person", confidence=0.8, accepts_list=True, can_follow_words=True, begins=SELF_OPENING, required_prefixes=_GETTING),
    FactRule("REL turns on", "relation", "birthday", RELATED, pattern(rf"(?:{WHO}|\b(?P<who2>mum|mom|dad|grandma|grandpa|granny|mama|papa) )(?:turns|will be|will turn|is turning|is going to be|has (?:his|her) birthday|celebrates (?:his|her) birthday)(?: \d{{1,3}})? {SOON}"), "birthday", subject="{who}", can_follow_words=True, required_prefixes=NUMBERED),
    FactRule("NAME's REL NAME turns on", "relation", "birthday", ("turns", "turn", "turning", "will be"), pattern(rf"\b(?P<of>[^\W\d_][\w-]{{1,24}})'s {OLDER}{REL},? (?P<who>[^\W\d_][\w'-]{{1,24}}),? (?:turns|will be|will turn|is turning|is going to be) \d{{1,3}} {SOON}"), "birthday", subject="{who}", can_follow_words=True, required_prefixes=NUMBERED),
    FactRule("NAME's REL NAME turns", "relation", "{rel}", ("turns", "turn", "turning", "will be"), pattern(rf"\b(?P<of>[^\W\d_][\w-]{{1,24}})'s {OLDER}{REL},? "), "capital person", subject="{of}", confidence=0.75, can_follow_words=True, follows=pattern(r",? (?:turns|will be|will turn|is turning|is going to be) \d"), required_prefixes=NUMBERED),
    FactRule("REL eats no", "relation", "diet", ("eat", "have", "drink", "tolerate"), pattern(rf"{DISTANT}{WHO}(?:can't|cannot|doesn't|does not|won't) (?:eat|have|drink|tolerate)(?: any)? {_FOODS}"), value="no {value}", subject="{who}", can_follow_words=True, unless=_AWHILE, begins=RELATION_OPENING, required_prefixes=_FOOD_WORDS),
    FactRule("REL is DIET", "relation", "diet", ("vega", "vegetarian", "pesc", "keto", "kosher", "halal", "gluten", "celiac", "coeliac"), pattern(rf"{DISTANT}{WHO}(?:is|eats|went)(?: (?:an?|strictly|mostly))? {_DIETS}"), subject="{who}", can_follow_words=True, begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("RELs are NAMES", "relation", "{rel}", RELATED, pattern(rf"{MY}(?: are|'s| is|:) "), "capital person", accepts_list=True, confidence=0.75, follows=pattern(r"[ \t]*(?:$|[.,!;)]|and\b)"), begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("married to", "relation", "partner", ("married to", "engaged to", "dating"), pattern(rf"(?:{AM}|\bi've been|\bi have been|\bi got)(?: (?:happily|now|currently|been))? (?:married to|engaged to|dating) "), "capital person", confidence=0.9, begins=SELF_OPENING),
    FactRule("broke up", "relation", "partner", ("broke up", "split up", "divorced", "separated"), pattern(r"\b(?:we|i and \w+|my (?:wife|husband|girlfriend|boyfriend|partner|fiancée?) and i)(?:'ve| have| just| recently)? (?:broke up|broken up|split up|got divorced|divorced|separated)\b"), "", "ended", value="", confidence=0.7, begins=SELF_OPENING),
    FactRule("broke up with", "relation", "partner", ("broke up with", "split up with"), pattern(r"\bi(?: just| recently)? (?:broke|split) up with (?:my (?:girlfriend|boyfriend|partner|fiancée?)\b,? ?)?"), "capital person", "ended", begins=SELF_OPENING),
    FactRule("REL lives in", "relation", "home", ("lives in", "live in"), pattern(rf"{WHO}lives? in "), "place", subject="{who}", continuations=(FactRule("and works", "relation", "employer", (), pattern(r",? and (?:she |he )?works (?:at|for) (?:the )?"), "org", subject="{who}"),), begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("REL works at", "relation", "employer", ("works at", "works for"), pattern(rf"{WHO}works (?:at|for) (?:the )?"), "org", subject="{who}", begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("REL is a JOB", "relation", "job", RELATED, pattern(rf"{WHO}(?:is|works as) an? "), "job", subject="{who}", begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("REL is AGE", "relation", "age", RELATED, pattern(rf"{WHO}(?:is|(?:just )?turned) {AGE}"), "number", subject="{who}", follows=pattern(r"(?:[ -]years?[ -]old\b|[ \t]*$|[.,;!)]| and\b| now\b| today\b| but\b)"), required_prefixes=AGED, begins=RELATION_OPENING),
    FactRule("REL is allergic", "relation", "allergy", ("allergic to",), pattern(rf"{WHO}is (?:also |really |very |severely )?allergic to "), "articled", subject="{who}", accepts_list=True, begins=RELATION_OPENING, required_prefixes=OWNED),
    FactRule("REL's birthday", "relation", "birthday", ("birthday",), pattern(rf"{MY}(?: (?P<who>[^\W\d_][\w-]{{1,24}}))?'s birthday is(?: on)? "), "birthday", subject="{who}", begins=RELATION_OPENING, required_prefixes=OWNED),
)

_TASTES = (
    FactRule("love", "preference", "likes", ("love ", "adore ", "enjoy ", "like "), pattern(rf"{SELF} (?:love|adore|enjoy|like)(?: (?:eating|drinking))? "), "thing", accepts_list=True, confidence=0.75, unless=pattern(r"(?: (?:about|that you|you|we|in this|here|from this|of (?:this|it|the))\b|[^\n]{0,60}\bsaid no)"), begins=SELF_OPENING),
    FactRule("fan of", "preference", "likes", ("fan of", "i'm into", "i am into", "im into", "really into", "fond of", "passionate about", "obsessed with"), pattern(rf"{AM}{ADV}(?: (?:such )?an? (?:big|huge|massive|great|lifelong|avid)?)?[ \t]*(?:(?<=[ \t])fan of|into|fond of|passionate about|obsessed with|(?<=[ \t])lover of) (?:both )?"), "thing", accepts_list=True, confidence=0.8, begins=SELF_OPENING),
    FactRule("hate", "preference", "dislikes", ("hate ", "dislike ", "can't stand", "cant stand", "detest", "loathe", "cannot stand"), pattern(rf"{SELF} (?:hate|dislike|can't stand|cant stand|cannot stand|detest|loathe|despise) "), "thing", accepts_list=True, confidence=0.8, begins=SELF_OPENING),
    FactRule("don't like", "preference", "dislikes", ("don't like", "dont like", "don't enjoy", "do not like", "never liked"), pattern(r"\b(?:i|we)(?: (?:really|just|honestly|personally))? (?:don't|dont|do not|never)(?: (?:really|particularly|even))? (?:like[d]?|enjoy)(?: (?:eating|drinking))? "), "thing", accepts_list=True, confidence=0.8, unless=pattern(r",? (?:anymore|any more|any longer|as a (?:kid|child)|when i was|growing up)"), begins=SELF_OPENING),
    FactRule("not a fan", "preference", "dislikes", ("fan of",), pattern(rf"{AM} (?:not|no|never)(?: really| exactly)?(?: (?:a|much of a|a big|a huge))? fan of "), "thing", accepts_list=True, confidence=0.8, begins=SELF_OPENING),
    FactRule("not into", "preference", "dislikes", ("not into", "not big on", "not keen on", "not fond", "not really", "not that", "not very", "not too"), pattern(rf"{AM}(?: really| just)? not(?: really| that| very| too)? (?:into|big on|keen on|fond of) "), "thing", accepts_list=True, confidence=0.75, begins=SELF_OPENING),
    FactRule("no longer like", "preference", "likes", ("no longer like", "don't like"), pattern(r"\bi (?:no longer (?:like|love|enjoy)|don't (?:like|love|enjoy)) "), "thing", "ended", follows=_WAS, begins=SELF_OPENING),
    FactRule("favourite no longer", "preference", "favourite {what}", ("favorite", "favourite"), pattern(r"\bmy (?:all[- ]time )?favou?rite (?P<what>[\w-]+(?: [\w-]+){0,2}?) (?:is no longer|isn't|is not) (?:the )?"), "thing", "ended", follows=pattern(rf"(?:[ \t]*(?:$|[.,;!])|{_NO_MORE}\b| but )"), continuations=(FactRule("but", "preference", "favourite {what}", (), pattern(rf"(?:{_NO_MORE})?,? but(?: now| rather)? (?:the )?(?!i\b|it\b|i'\w)"), "thing", confidence=0.8),), begins=SELF_OPENING),
    FactRule("favourite", "preference", "favourite {what}", ("favorite", "favourite"), pattern(r"\bmy (?:all[- ]time )?favou?rite (?P<what>(?!(?:of|parts?|moments?|scenes?|things?|lines?|memor\w+|quotes?)\b)[\w-]+(?: [\w-]+){0,2}) (?:is|has always been|of all time is|would be|has to be) (?:(?:probably|definitely|still|actually|just|the|called) )*(?!(?:not|when|that|because|if|gone|out|back|over|so|very|really|pretty|quite)\b)"), "thing", confidence=0.85, begins=SELF_OPENING),
    FactRule("prefer over", "preference", "prefers", ("prefer ",), pattern(rf"{SELF} (?:much |far |strongly )?prefer (?P<value>(?!it\b|this\b|that\b|them\b|not\b|to\b|\w+ing to (?!\w+ing\b))(?:[\w'-]+(?: [\w'-]+){{0,3}}?(?= (?:over|rather|instead) )|[\w'-]+(?: (?!with\b|of\b|in\b)[\w'-]+)?)) (?:over|to|rather than|instead of) (?P<than>(?!\w+ly\b|understand\b|make\b|keep\b|be\b|have\b|use\b|do\b|not\b|see\b|get\b|keep\b)[\w'-]+(?: (?!in\b|due\b|to\b|since\b|so\b|where\b|which\b|for\b|when\b|because\b|anyway\b|any\b|and\b|but\b|on\b|at\b|if\b|as\b)[\w'-]+)?)"), confidence=0.85, begins=SELF_OPENING),
    FactRule("prefer", "preference", "prefers", ("prefer ",), pattern(rf"{SELF} (?:much |far |strongly )?prefer (?![^.\n]{{0,40}}\b(?:over|to|rather)\b)"), "thing", confidence=0.75, unless=pattern(r",? (?:minimal|clean|clear) |, \w+ \w+"), begins=SELF_OPENING),
)

_DATES = (
    FactRule("EVENT is on", "date", "{event}", _EVENTS, pattern(rf"\b(?:my|our|the) (?P<event>(?:[\w'-]+ ){{0,3}}?{_EVENT})(?: (?:for|of) (?:the |my |our )?(?P<of>[\w'-]+(?: [\w'-]+){{0,3}}?)| to (?P<to>[\w'-]+(?: [\w'-]+){{0,2}}?)| (?:with|at|in) [\w'-]+(?: [\w'-]+){{0,2}}?)?(?: (?:is|are|takes place|falls|leaves|departs|goes|lands|starts|begins|kicks off|opens|happens|comes up)|'s)(?: (?:now|set|scheduled|officially|coming up|booked|already))?(?: (?:to|for|on|at|until))? "), "day", confidence=0.85, can_follow_words=True, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("is due", "date", "deadline", ("due",), pattern(r"\b(?:my|our|the) (?P<of>[\w'-]+(?: [\w'-]+){0,3}?)(?: (?:is|are)|'s)(?: now)? due(?: (?:on|by|back))? "), "day", subject="{of}", can_follow_words=True, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("have an EVENT on", "date", "{event}", _EVENTS, pattern(rf"(?:{HAVE}|(?:{WE_ARE}|{_WILL}) (?:giving|having|attending|hosting|running|taking|sitting|doing|throwing|holding|presenting|flying out for|getting|speaking at|presenting at|give|have|host|attend))(?: (?:an?|my|our|the|another|some))? (?P<event>(?:(?!(?:ready|for|my|to|nervous|excited|about|help|an?|the|of|in|with)\b)[\w'-]+ ){{0,3}}?{_EVENT}){_WHERE},?(?: (?:coming up|scheduled|booked|set))? {SOON}"), "day", confidence=0.8, can_follow_words=True, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("flying", "date", "{event}", ("flying", "travelling", "traveling", "moving", "leaving", "fly ", "leave for", "move "), pattern(rf"(?:{WE_ARE} (?P<event>flying|travelling|traveling|moving|leaving)|{SELF} (?P<event2>fly|leave|move)|{_WILL} (?P<event3>flying|travelling|traveling|moving|leaving))(?: (?:back|home|out|over|off|house))?(?: (?:to|for) (?P<to>[\w'-]+(?: [\w'-]+){{0,2}}?))?(?: with [\w'-]+(?: [\w'-]+){{0,2}}?| from [\w'-]+)? {SOON}"), "day", confidence=0.8, can_follow_words=True, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("start on", "date", "start date", ("start ", "starting"), pattern(rf"(?:{WE_ARE} starting|\bi (?:start|begin))(?: (?:a |my |the )?(?:new )?(?:job|role|position|course|degree|internship|training|work))?{_WHERE} {SOON}"), "day", confidence=0.75, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("wants X by", "date", "deadline", ("by",), pattern(rf"\b(?:(?:the|my|our) [\w'-]+(?: [\w'-]+)?|they|he|she) (?:wants?|needs?|expects?|(?:is|are) expecting|requires?|(?:is|are) asking for|asked for) (?:the|my|our) (?P<of>[\w'-]+(?: [\w'-]+){{0,2}}?)(?: (?:done|ready|finished|back|in|sent|submitted))? by {SOON}"), "day", subject="{of}", can_follow_words=True, confidence=0.8, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("must submit by", "date", "deadline", ("by ", "before "), pattern(rf"\b(?:i|we)(?: really| still| also)? (?:have to|need to|must|gotta|have got to|'ve got to|am supposed to|are supposed to|should|'m supposed to) (?:submit|hand in|send|finish|deliver|turn in|return|file|pay|renew|complete|ship|present|upload|book|cancel|get|have) (?:in |off |back )?(?:the|my|our) (?P<of>[\w'-]+(?: [\w'-]+){{0,2}}?)(?: (?:done|ready|finished|back|in|sent|submitted))? (?:by|before) {SOON}"), "day", subject="{of}", can_follow_words=True, confidence=0.8, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("must be in by", "date", "deadline", ("by ", "before "), pattern(rf"\b(?:the|my|our) (?P<of>[\w'-]+(?: [\w'-]+){{0,2}}?) (?:has to be|have to be|must be|needs? to be|should be)(?: (?:done|ready|finished|back|in|sent|sent in|submitted|handed in|filed|paid|delivered|out|live|returned|renewed))? (?:by|before) {SOON}"), "day", subject="{of}", can_follow_words=True, confidence=0.8, required_prefixes=DATED, begins=THE_OPENING),
    FactRule("expires", "date", "expiry", ("expire", "runs out"), pattern(rf"\b(?:my|our) (?P<of>[\w'-]+(?: [\w'-]+){{0,2}}?) (?:expires|runs out|is valid until|will expire|is expiring) {SOON}"), "day", subject="{of}", can_follow_words=True, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("getting married", "date", "wedding", ("married",), pattern(r"\b(?:we're|we are|i'm|i am|and i are) getting married(?: on)? "), "day", can_follow_words=True, confidence=0.9, required_prefixes=DATED, begins=SELF_OPENING),
    FactRule("deadline:", "date", "deadline", ("deadline",), pattern(r"\b(?:i|we) have (?:a|until the) deadline (?:on|of|by) "), "day", required_prefixes=DATED, begins=SELF_OPENING),
)

_TOOLS = (
    FactRule("use", "tool", "uses", ("use ", "using ", "running ", "run ", "code in", "develop on", "uses ", "runs on"), pattern(rf"(?:{SELF} (?:use|run|develop on|code in)|\b(?:i'm|i am|im|we're|we are)(?: (?:currently|now|still|also|already|all|stuck|back))? (?:using|running)|\bi've been using|\b(?:our|my) (?:team|company|stack|backend|frontend|app) (?:uses|runs on)|\b(?:we've|i've) been running) (?:the )?"), "tool", accepts_list=True, confidence=0.8, unless=pattern(r"(?:'s| (?:today|instead of|yet|as an example|page|website|support|for this)\b)"), begins=SELF_OPENING),
    FactRule("work with TOOL", "tool", "uses", ("work with", "work in", "working with"), pattern(rf"(?:{SELF} work|{WE_ARE} working) (?:with|in) "), "known tool", accepts_list=True, confidence=0.8, begins=SELF_OPENING),
    FactRule("we're on TOOL", "tool", "uses", ("we're on", "i'm on", "i am on", "im on", "we are on", "stuck on", "still on", "back on", "all on"), pattern(rf"{WE_ARE}(?: (?:all|stuck|back))? on "), "known tool", accepts_list=True, confidence=0.8, begins=SELF_OPENING, required_prefixes=frozenset(("on",))),
    FactRule("our NOUN uses", "tool", "uses", ("uses", "runs on", "is on", "is built", "is still", "is written"), pattern(r"\b(?:our|my) (?:team|company|stack|backend|frontend|app|site|website|codebase|service|server|api)(?: at [\w-]+)? (?:uses|runs on|is on|is still on|is built (?:with|on|in)|is written in) "), "tool", accepts_list=True, confidence=0.8, can_follow_words=True, begins=SELF_OPENING),
    FactRule("switched from", "tool", "uses", ("switched", "migrated", "changed"), pattern(r"(?:\b(?:i|we|our team)(?:'ve| have)?(?: (?:just|recently|finally))? |(?:^|(?<=[\n.!]))[ \t]*(?:(?:just|recently|finally) )?)(?:switched|migrated|changed)(?: (?:everything|over))? from "), "tool", "ended", can_follow_words=True, continuations=(FactRule("switched to", "tool", "uses", (), pattern(r" to "), "tool"),), begins=CLAUSE_OPENING),
    FactRule("switched to", "tool", "uses", ("switched to", "migrated to", "upgraded to", "updated to", "switched over"), pattern(r"(?:\b(?:i|we|our team)(?:'ve| have)?(?: (?:just|recently|finally))? |(?:^|(?<=[\n.!]))[ \t]*(?:(?:just|recently|finally) )?)(?:switched|migrated|upgraded|updated|downgraded)(?: over)? to "), "tool", confidence=0.85, begins=CLAUSE_OPENING),
    FactRule("upgraded from", "tool", "uses", ("upgraded",), pattern(r"\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally))? (?:upgraded|updated|downgraded) (?:our |my |the )?(?P<value>[\w.+#-]+(?: [\w.+#-]+)? to v?\d[\w.]*)"), confidence=0.85, begins=SELF_OPENING),
    FactRule("no longer use", "tool", "uses", ("no longer us", "stopped using", "don't use", "used to use", "quit using", "ditched", "dropped"), pattern(r"\b(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally))? (?:no longer use|stopped using|quit using|used to use|ditched|gave up on|are no longer using|'re no longer using) "), "tool", "ended", begins=SELF_OPENING),
    FactRule("don't use anymore", "tool", "uses", ("don't use",), pattern(r"\b(?:i|we) (?:don't|do not) use "), "tool", "ended", follows=_WAS, begins=SELF_OPENING),
)

_MAKING = r"(?:working on|building|developing|writing|making|creating)"
_PROJECTS = (
    FactRule("working on called", "project", "project", ("called", "named"), pattern(rf"\b(?:i'm|i am|im|we're|we are|i've been)(?: (?:currently|now|still|also))? {_MAKING} (?:an?|my|our|the) (?:[\w'/-]+ ){{1,5}}(?:called|named) "), "product", confidence=0.9, begins=SELF_OPENING),
    FactRule("working on", "project", "project", ("working on", "building", "developing"), pattern(r"\b(?:i'm|i am|im|we're|we are|i've been)(?: (?:currently|now|still|also))? (?:working on|building|developing) (?:an?|my) (?:new )?(?!project\b)"), "work", confidence=0.75, follows=pattern(r"[ \t]*(?:$|[.,;!(-]|and\b|with\b|using\b|for\b|that\b|in\b|to\b|which\b)"), unless=pattern(r"[^\n]{0,4}\b(?:called|named)\b"), begins=SELF_OPENING),
    FactRule("project is", "project", "project", ("project",), pattern(r"\bmy (?:current |new |side |main |pet |latest )?(?:side )?project (?:is|is called|is named)(?: (?:an?|called))? (?!(?:quite|very|pretty|really|too|almost|going|due|about|on|in|at|over|done|finished|late|exciting|hard|easy|huge|big|great|good|fun|progress\w+|coming|up|also|now|still|already|currently)\b)"), "thing", confidence=0.8, begins=SELF_OPENING),
    FactRule("project NAME is", "project", "is", ("project",), pattern(r"\b(?:my|our) (?:side )?project,? (?P<of>[^\W\d_][\w-]{1,30}),? is "), "articled", subject="{of}", confidence=0.85, begins=SELF_OPENING),
    FactRule("project NAME", "project", "project", ("project",), pattern(r"\b(?:my|our) (?:side )?project,? (?:called |named )?"), "product", confidence=0.85, follows=pattern(r"[ ,]"), begins=SELF_OPENING),
)

_ORDERS = (
    FactRule("from now on", "instruction", "instruction", ("from now on", "going forward", "in future", "in the future", "henceforth", "from here on"), pattern(rf"\b(?:from now on|going forward|in (?:the )?future|henceforth|from here on(?: out)?)\b,? (?:please |can you |could you |i want you to |i'd like you to |you should )?(?={_VERBS})"), "rest", can_follow_words=True, confidence=0.95),
    FactRule("... from now on", "instruction", "instruction", ("from now on", "going forward", "in the future", "in future"), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:please |and |also |can you |could you )?{_ONE_REQUEST}(?={_VERBS}[^\n.!?]{{2,120}}\b(?:from now on|going forward|in (?:the )?future)\b)"), "rest", confidence=0.9, begins=CLAUSE_OPENING),
    FactRule("always", "instruction", "instruction", ("always", "never"), pattern(rf"(?:^|(?<=[\n.!:;,*•-]))[ \t]*(?:please |and |also |but )?(?=(?:always|never) {_VERBS})"), "rest", confidence=0.9, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("want you to always", "instruction", "instruction", ("always", "never"), pattern(rf"(?:\bi(?:'d| would)? (?:want|like|need|prefer)(?: for)? you to|\bmake sure (?:that )?(?:you |to )|\bremember to|\bi prefer (?:that|if) you|\bplease)[ \t]+(?=(?:always|never) {_TALK_VERBS})"), "rest", can_follow_words=True, confidence=0.9, prefilter=pattern(rf"(?:always|never) {_TALK_VERBS}")),
    FactRule("please don't", "instruction", "instruction", ("don't", "dont", "do not", "stop "), pattern(r"(?:^|(?<=[\n.!:;,-]))[ \t]*(?:(?:and|also|but) )?(?:please )?(?=(?:do not|don't|dont|stop) (?!(?:ever )?(?:think|know|feel|remember|have|see|want|like|really|care|mind|understand|believe|need|get|even|forget|quit|give|worry|let|lose|hesitate|be|stop|doubt|change)\b)(?:(?:ever |keep |always )?(?:answer|reply|respond|us[ei]|writ[ei]|giv[ei](?! your)|show|includ|explain|format|cit[ei]|convert|call|address|provid|ask|apologi[sz]|add|speak|talk|repeat|mention|say|start|begin|end|summari[sz]|suggest|remind|assum|translat|put|lectur|recommend|refer|warn|thank)\w*\b[^.\n]{0,60}\b(?:ever|every time|each time|any ?more|when (?:you|ever))\b|[^.\n]{0,60}\b(?:in your (?:answers|replies|responses|messages)|emojis?|bullet points|em[- ]dash(?:es)?|jargon|sugar ?coat|apologi[sz]e|apologi[sz]ing|call(?:ing)? me)\b))"), "rest", confidence=0.85, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("rather you didn't", "instruction", "instruction", ("rather you", "prefer it", "prefer if", "prefer you", "prefer that", "appreciate", "like it if", "like it when", "love it if"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:but |and |also |though )?(?=i(?:'d| would)? (?:(?:much |really )?(?:rather|prefer)|appreciate it|like it|love it)(?: it)?(?: if| when| that)? you (?:didn't|did not|don't|do not|not|never|always|stopped|would|wouldn't|could|just)?(?: (?:always|never|just|not|stop))? ?(?:us(?:e|ed|ing)|answer(?:ed)?|ke(?:ep|pt)|gave|give|call(?:ed)?|apologi[sz]\w*|add(?:ed)?|ask(?:ed)?|wr(?:ite|ote)|sp(?:oke|eak)|includ\w+|explain\w*|repl(?:y|ied)|start\w*|show\w*|repeat\w*|summari\w+|skip\w*|put)\b)"), "rest", confidence=0.85, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("no STYLE please", "instruction", "instruction", ("no ",), pattern(rf"(?:^|(?<=[\n.!:;]))[ \t]*(?:and |also |btw,? )?(?=(?:please,? no (?:more )?{_STYLE}|no (?:more )?{_STYLE}(?: or {_STYLE})?,? (?:please|in your \w+|ever|from now on|at all))(?: (?:please|thanks|ever|in your \w+|from now on))?[ \t]*(?:$|[.!\n;]))"), "rest", confidence=0.8, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("don't use STYLE", "instruction", "instruction", ("don't", "do not", "stop ", "avoid", "drop", "skip"), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:and |also |but )?(?:please )?(?:can you |could you )?(?=(?:(?:do not|don't|stop) (?:use|using|add|adding|put|putting|include|including)|avoid|drop|skip|leave out) (?:the |any |all )?{_STYLE}\b)"), "rest", confidence=0.8, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("keep your answers", "instruction", "instruction", ("keep your", "keep answers", "keep the answers", "keep repl", "keep responses"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:and |also |but |so )?(?:please |can you |could you )?(?=keep (?:your |the |all |all your )?(?:answers|replies|responses|explanations|messages) )"), "rest", confidence=0.8, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("no need to every time", "instruction", "instruction", ("no need", "don't need", "don't have to", "needn't"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:and |also |but )?(?=(?:(?:there's |there is )?no need to|you don't (?:have|need) to|you needn't) (?:apologi[sz]e|explain|repeat|say|thank|add|ask|mention|warn|remind|summari[sz]e)\b[^\n.!?]{0,60}\b(?:every time|each time|all the time|always)\b)"), "rest", confidence=0.8, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("use UNITS", "instruction", "instruction", ("metric", "imperial", "celsius", "fahrenheit", "british", "american", "24-hour", "24", "kilomet", "euros"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:and |also )?(?:please )?(?=(?:use|stick to|give me) (?:only )?(?:metric|imperial|celsius|fahrenheit|british (?:english|spelling)|american (?:english|spelling)|(?:the )?24[- ]hour|kilomet(?:re|er)s)\b)"), "rest", confidence=0.75, unless=_HERE, begins=CLAUSE_OPENING),
    FactRule("whenever you", "instruction", "instruction", ("whenever", "every time", "each time", "when you"), pattern(rf"(?:^|(?<=[\n.!:;-]))[ \t]*(?:and |also |please )?(?=(?:(?:whenever|every time|each time) (?:you|i ask(?: you)?)|when (?:i ask(?: you)?|you (?=(?:answer|reply|respond|write|explain|give me|code|translate|summari|use|generate|create|list|cite|suggest|recommend|mention|quote|show me|show code|format|convert)\w*\b))) (?:[\w'-]+ ){{0,7}}?[\w'-]+,? (?:please |always |never |then )?{_TALK_VERBS})"), "rest", confidence=0.8, unless=_HERE, begins=CLAUSE_OPENING),
)

ENGLISH = FactGrammar(
    language=languages.ENGLISH,
    rules=(*_PROFILE, *_PEOPLE, *_TASTES, *_DATES, *_TOOLS, *_PROJECTS, *_ORDERS, *EVERYDAY, *LIFE, *HABITS, *CHANGES),
    stops=frozenset(
        "and but or with since so because cause cuz which where who whom whose that until till at on now right these from for"
        " currently atm anymore tho though lol haha btw i i'm im i've i'd i'll we we're my he she they it it's its who's as"
        " if when while is was are were then than also too anyway please pls thanks by into about in near has have had"
        " always especially particularly usually mostly lately recently today yesterday tomorrow last next every to using"
        " after before during not won't don't doesn't didn't can can't would will just even still over plus hate love like"
        " unless otherwise whenever wherever nowadays thats theyre dont cant wont didnt doesnt isnt hes shes youre wasnt called named said again ever yet instead hate don dont you your this your's work works working need needs want".split()
    ),
    hollow=frozenset(
        "theirs mine yours ours of up down out by ready stuff neither either a an the this that these those it its it's you your yours his her hers their them him us me my our myself"
        " how what when where why who which whether if to be being been all both some any every each no none not one ones"
        " many much more most few little lot lots bit kind sort way thing things something anything everything nothing"
        " someone everyone there here so too very really just fear hope peace pain constant denial chaos sin case general"
        " order mind two three four five another other others such same using having getting seeing watching making doing going"
        " trying knowing often sometimes usually quite pretty somewhat being hearing looking thinking day days night sure maybe well good great nice ok okay and or heard including yeah yes".split()
    ),
    leads=frozenset(
        "and but so because since as though although while also well yeah yes yep ok okay hi hello hey oh right now"
        " currently btw fyi actually honestly personally plus cause cuz anyway sorry thanks lol basically no listen look"
        " these days unfortunately luckily again then ah hmm um seriously obviously too ps still indeed & years ago".split()
    ),
    bars=frozenset(
        "if when where whether which who why how what do does did should can could would will shall am was were have has"
        " as than like said says say think thinks thought wish hope imagine pretend suppose unless until before after once"
        " place city country house street company guy person people thing things one everything anything town flat she he"
        " apartment time way day reason not never or that about with of than for by to in is isn't don't doesn't".split()
    ),
    unreal=pattern(
        r"\b(?:if (?!you)|unless|whether|wish|imagin\w{1,4}|supposed?(?! to)|supposing|pretend\w{0,4}|hypothetical(?:ly)?|assum(?:e|ing)"
        r"|let'?s say|what if|as though|as if|dream(?:t|ed)?|said|says|saying|told|tells|telling|asked|asks|wrote"
        r"|claim(?:s|ed)?|thinks|thought|believes?|according|heard|goes like|e\.g|such as|for example|for instance"
        r"|examples?|(?:lines?|something|words?|bio) like|sentences?|phrases?|translat\w{1,4}|not true|never said|don't think|doubt|not like|fictional|when (?:i|we) (?:was|were)"
        r"|once upon|in (?:the|my) (?:story|game|dream|novel|book|movie|film)|the (?:sign|form|article|text|book|song) "
        r"|(?:the )?(?:spanish|french|german|italian|word|phrase) for|yeah right|oh yeah|oh sure|sure, and|oh great"
        r"|pretended|lying|lied|nobody|no one|taught|advised|suggests?|suggested|recommends?|recommended)"
    ),
    unsure=pattern(r"\b(?:used to|would|could|might|may|maybe|perhaps|hope|hoping|probably not|wonder|wondering|say|afraid|not sure)\b"),
    harmless=pattern(r"\b(?:(?:as|like) i(?:'ve| have)? (?:said|told you|mentioned|wrote)(?: before| earlier)?|i(?:'ve)? (?:told|said|mentioned)(?: to)? you(?: that)?|say hi|if that matters|if it matters|if it helps|if you (?:need|want|must) to know|(?:to|had to) (?:explain|say|tell|repeat)[^,.]{0,40} (?:again )?that|remember that|given that|just so you know|so you know|note that|keep in mind(?: that)?|don't forget(?: that)?|should mention(?: that)?|know that)"),
    undone=pattern(r"(?:[^\n]{0,80}(?:\bsaid no ?(?:one|body)|\bjust kidding\b|\bjk\b|\bnot really\b|\bhaha,? not\b|\bor so (?:he|she|they|i) |, ?(?:right|correct|don't i|isn't it|aren't i|no|remember)$)|[ \t]*\?| (?:if i|if we|or not|in the game|in my dreams?)\b)"),
    elsewhere=pattern(
        r"(?:\b(?:translate|proof ?read|rephrase|rewrite|reword|paraphrase|summari[sz]e|shorten|correct|fix|edit|improve|review"
        r"|polish|critique|check|analy[sz]e|classify|grade|how (?:do|would|can) (?:you|i) say|what(?:'s| is) the \w+ for|what does)\b"
        r"[^\n]{0,120}(?::|\n|$)|\btranslat(?:e|ion)\b|\bhow (?:do|would|can) (?:you|i) say\b|\bwhat(?:'s| is) the (?:\w+ )(?:word |translation )?for\b"
        r"|\b(?:write|draft|compose|make up|invent|come up with) (?:me )?(?:an? |the )?(?:[\w-]+ ){0,3}(?:story|poem|novel|scene|script|dialogue|song|monologue|sketch|chapter|haiku|tale|play|joke|diary|fan ?fiction|letter|email|essay|bio|speech|post|text|message|cover letter|review|paragraph)\b"
        r"|\b(?:role[- ]?play|pretend|imagine|act as|act like|you are (?:an? |the )?(?:[\w-]+ )?(?:pirate|detective|character|king|queen|knight|wizard|agent|assistant named|salesman|doctor|sherlock)|you're an? \w+ and i'm|in character|let'?s (?:say|assume|suppose|pretend|imagine|play)|suppose|hypothetically|assuming|assume|what if|say i'm|say i am)\b"
        r"|\b(?:here(?:'s| is| are)|following|below|this is) (?:is )?(?:an?|the|some|my)? ?(?:[\w-]+ ){0,3}?(?:e-?mail|message|letter|text|article|transcript|review|post|bio|example|sample|test data|data|paragraph|essay|chat|conversation|story|draft|résumé|resume|cv|code|log|output|quote|lyrics|poem|dialogue|prompt)s?\b[^\n]{0,80}(?::|\n)"
        r"|\b(?:the )?following (?:\w+ )?(?:text|email|message|paragraph|passage|article)\b|\b(?:sentences?|phrases?|examples?) (?:like|such as|with)\b|\bfor (?:example|instance)[,:]|\be\.g\.)"
    ),
    tail=pattern(r"[ \t]*(?:[,;:–—.…-]+[ \t]*)?(?:(?:so|and|but|then|also) ){0,2}(?:what|what's|whats|which|where|where's|how|how's|when|who|why|can|could|should|is|are|do|does|will|would|any|am|please|must|did|has|have|got|know)\b[^\n]{6,}"),
    asking=pattern(r"[ \t]*(?:(?:so|and|but|ok|okay|hey|hi|well|also|wait|now) ,?){0,2}(?:what|what's|whats|which|where|how|when|who|why|can|could|should|is|are|do|does|will|would|am|did|was|were|has|have|may|shall)\b"),
    not_names=frozenset(
        "not the a an on in at is it so very too also just really sure sorry happy sad fine good great okay ok well back"
        " here there home done ready new old tired sick glad afraid busy late early free right wrong lost stuck confused"
        " curious interested excited looking trying going working using having getting thinking wondering writing asking"
        " planning building learning living called like from with about for and but if when what how who which that this"
        " english german spanish french italian american british chinese japanese"
        " indian canadian australian irish dutch polish russian swedish greek turkish korean mexican brazilian african"
        " asian european jewish muslim christian catholic vegan vegetarian gay bi trans male female single married"
        " divorced retired pregnant autistic deaf blind allergic always never maybe perhaps later tomorrow today names"
        " crazy tonight whatever something anything someone anyone me you him her them us my your his their our its to"
        " i i'm im we he she they was are were has have had will would can could should lives works likes loves hates"
        " says said does did been being taking making god lord linux windows macos python java currently currently"
        " feeling based struggling having stuck unable new no none yes down up out off over mr mrs dr please one".split()
    ) | calendar_names(_TEMPORAL) - {"may"},
    heads=pattern(longest_first(languages.ENGLISH.occupations) + "s?"),
    clause_end=pattern(r"(?:[;!?()\n…–—\x00]|[,.:](?!\d))| - | -- |(?:^|\s)'?(?:and(?= (?:i|i'm|it|it's|we|he|she|they|that|this|the|my|you|hopefully|maybe|so|then|am|is|was|have|need|want)\b)|but|even (?:though|if)|because|cause|cuz|so|which|who|where|when|while|since|as|if|until|till|til|unless|although|though|lol|haha|anyway|then|with you|given|whether|using|(?:next|last|this) (?:week|weekend|month|year|summer|spring|winter|fall|autumn|season|night)|such as|all (?:day|morning|night|week)|for (?:hours|days|weeks|months|years|ages|now)|\d+ (?:weeks|months|years|days) ago|(?:about |a )?(?:few|couple of) (?:weeks|months|years|days) ago)\b"),
    vague_times=pattern(r",?\s+(?:(?:early |late |later |sometime |again |some time )?(?:next|this|last|the coming) (?:week|weekend|month|year|summer|spring|winter|autumn|fall|semester|season|morning|afternoon|evening|\w+day)|in (?:the )?(?:next )?(?:few |couple of |future|near future|summer|spring|winter|autumn|fall)(?:weeks|months|years|days)?|soon|lately|recently|now|again|today|tomorrow|tonight|too|as well|these days|right now|for now|at the moment|one day|someday|sometimes|maybe|please|actually|yesterday|myself|ourselves|for a while(?: now)?|later|sometime|near me|nearby|around here|nowadays|really|very much|more|first|and)$"),
    mine=pattern(r"\W*(?:(?:and|but|so|hi|hey|hello|well|also|ok|okay|anyway|fyi|btw|currently|for context|context)[ ,:]+){0,3}(?:i'm|i am|im|i've|i have|i|we're|we are|we've|we)\b"),
    others=pattern(r"\b(?:he|she|they|you|who|that|which|where|it|(?:want|like|love|hope|plan|planning|try|trying|going|need|decided|used|able|seem) to|would|could|might|should|can|i'd|i'll|we'd|we'll|will|people|friends|parents|kids and)\b(?! (?:my|our))"),
    events={"move": "move", "flying": "flight", "fly": "flight", "travelling": "trip", "traveling": "trip", "moving": "move", "leaving": "departure", "leave": "departure"},
)
