"""English."""

from __future__ import annotations

from appliance.memory.summarise.languages.table import Language
from appliance.store.stopwords import STOP_WORDS

_ADVERBS = "(?:(?:now|just|all|both|finally|already|also|then|definitely|certainly|gladly|therefore|still) )*"
_IT = "(?:it|that|this|everything)"

ENGLISH = Language(
    name="English",
    nouns=False,
    small=STOP_WORDS
    | frozenset(
        "i'm i've i'd i'll you're you've you'll we're we've we'll it's that's there's let's don't didn't"
        " doesn't isn't"
        " wasn't can't couldn't won't wouldn't haven't hasn't what's he's she's they're yes get got like"
        " really well"
        " good great thing things lot much many going one".split()
    ),
    own=frozenset("i i'm i've i'd i'll my me mine myself we we're we've we'll our us ours".split()),
    times=frozenset(
        "yesterday today tomorrow tonight last next ago week weeks weekend month months year years"
        " morning evening"
        " afternoon night recently just soon since day days monday tuesday wednesday thursday friday"
        " saturday sunday"
        " january february march april june july august september october november december spring summer"
        " autumn"
        " winter deadline".split()
    ),
    decided=(
        rf"(?:i|we)(?:'ve| have)? {_ADVERBS}(?:decided|chosen|chose|settled (?:on|for)|opted (?:for|to)"
        r"|agreed (?:on|that|to (?!disagree)))",
        r"(?:it's|it is|that's|it has been|it's been|it was) (?:now |finally |already )?(?:decided"
        r"|settled|agreed)",
        r"let's (?:go with|use|stick (?:with|to)|settle on|switch to)",
        r"(?:we're|i'm|we are|i am) (?:sticking (?:with|to)|switching to|going with(?! (?:my|her|his"
        r"|the family|him|them"
        r"|you|our|friends|a friend)\b))",
        rf"(?:we'll|i'll|we will|i will) {_ADVERBS}(?:go with|stick (?:with|to)|settle on|opt for)",
        r"(?:the |our |my |final )+(?:decision|choice) (?:is|was)(?! (?:still|not|yet|hard|tough"
        r"|difficult|up to))",
        r"(?:final )?decision(?=:)|made up (?:my|our) minds?|(?:the|our) plan is (?:now )?to",
    ),
    promised=(
        rf"(?:i'll|i will|we'll|we will) {_ADVERBS}(?!go with|stick|settle|opt)(?=[a-z])",
        r"(?:i'm|i am|we're|we are) (?:going to|gonna) (?=[a-z])",
        r"i promise(?:d)? (?:to|that|you|i) ?",
        r"let me (?:check|find out|ask|send|get back|fix|look into)",
        r"you can count on me|i(?: have|'ve)? committed to",
    ),
    idle=(
        r"(?:the|a|an|my|our|your|her|his|their|some|this|that|bed|work|school|church|college|town|one"
        r"|see|say|bet|admit"
        r"|miss|love|have|need|probably|maybe|never|always|not|assume|pass|survive|manage|happen|think"
        r"|explain|outline"
        r"|guide|walk you|get|die|cry|know|just say|leave it|let you|remember you|keep (?:it|that"
        r"|you) in mind|like)\b",
        r"be\b(?! (?:there|at|in|back|on|ready|sending|home|joining|bringing))",
        r"(?:break|use) (?:it|this|down)|give you (?:an?|some) (?:example|overview)|take a (?:nap|break"
        r"|look)",
    ),
    open=(
        r"to-?do(?=:)|(?-i:TODO|FIXME)(?!s)",
        r"(?:i|we|it|that|there) (?:still |also still )(?:need|needs|have|has) to|still to (?:do|be done)",
        r"(?:haven't|have not|hasn't|has not) (?:yet )?(?:been )?(?:decided|figured|settled|chosen|agreed"
        r"|heard back)",
        r"not (?:yet )?decided|undecided|yet to (?:decide|be decided|figure out|find out)|not sure yet",
        r"needs? to (?:figure out|find out|decide|be (?:decided|clarified|resolved|fixed|done))",
        r"open (?:questions?|issues?|points?|items?)(?= ?:| is| are)|to be (?:decided|determined"
        r"|confirmed|discussed)",
        r"tb[dca]|remains? (?:open|unclear|unresolved|to be)",
        r"(?:is|are|it's|that's) still (?:unclear|open|broken|failing|pending|missing|unresolved)",
        r"(?:still|i'm|i am|we're|we are) waiting (?:for|on|to hear)",
    ),
    wonders=(
        r"(?:not sure|unsure|don't know|do not know|no idea|no clue) (?:whether|if|how|which|what|why"
        r"|when|where)",
        r"(?:i|we) wonder|(?:i'm|i was) wondering|(?:i|we) can't figure out",
    ),
    problem=(
        r"(?:doesn't|does not|don't|isn't|is not|not|stopped) work(?:ing)?",
        r"(?:won't|will not|can't|cannot|couldn't|can not) (?:start|load|open|build|compile|connect|run"
        r"|install"
        r"|log ?in|boot|sync|get|find|access|import|reach)",
        r"(?:fails?|failing|failed|crash(?:es|ed|ing)?|hangs|freezes|leaks?|leaking|broke|broken|stuck)",
        r"(?:an?|the|this|these|some|getting|get) (?:\w+ ){0,2}(?:errors?|exceptions?|bugs?|problems?"
        r"|issues?)",
        r"\w*[a-z](?-i:Error|Exception)(?=[:\s.]|$)",
    ),
    solved=(
        rf"(?:{_IT}|which|restarting|updating|upgrading|reinstalling)(?: has| have)? (?:now )?"
        r"(?:fixed|solved|resolved) (?:it|that|this|the (?:problem|issue|error|bug))",
        rf"{_IT} did the trick|{_IT}(?:'s| is| has been) (?:now )?(?:fixed|solved|resolved)",
        r"(?:problem|issue|bug|error)(?: is| has been| was)? (?:now )?(?:solved|fixed|resolved)",
        r"(?:(?<![a-z] )|(?<=thanks )|(?<=and )|(?<=yes )|(?<=great )|(?<=ok )|(?<=so ))"
        rf"{_IT}(?: (?:finally|actually|totally|really))? worked(?= ?[!.,]|$| now| perfectly| great| like"
        rf"| for me)",
        rf"(?<!how )(?:{_IT}|all)(?: (?:now|finally))? works"
        r"(?= now| again| perfectly| fine| great| like a charm| ?[!.]|$)",
        r"(?:is|it's|that's|everything's) (?:now )?working (?:now|again|fine|perfectly|great)",
        r"(?:finally )?got (?:it|that|this) (?:working|to work|fixed|running)",
        r"no longer (?:fails|crashes|happens|errors|leaks|hangs)",
        r"(?:all |the )(?:tests|builds?)(?: are| is)?(?: now)? (?:pass|passes|passing|green)",
        r"i (?:fixed|solved|resolved) (?:it|that|this|the)",
    ),
    concluded=(
        r"in (?:summary|conclusion|short)|to (?:sum up|summarize|conclude|recap)|overall,|all in all",
        r"(?:bottom line|upshot|conclusion|root cause|cause|culprit|outcome|fix|solution) (?:is|was"
        r"|turned out)",
        r"turn(?:s|ed) out|therefore|as a result|which means that",
        r"i(?:'d| would)? (?:strongly |highly )?(?:recommend|suggest|advise)|my (?:recommendation"
        r"|advice) (?:is|would)",
        r"(?:result|conclusion|summary|recommendation|verdict|key takeaway|takeaway)s?(?= ?:)",
    ),
    unknown=(
        r"(?:i )?(?:don't|do not|didn't) know|no idea|no clue|dunno|unsure|hard to say",
        r"not (?:really |quite |entirely )?sure|i haven't (?:decided|figured|thought|checked)",
        r"(?:i'll|i will|let me) (?:check|look into|find out|ask|get back|think about)"
        r"|i(?:'d)? have to (?:check|ask)",
    ),
    denied=(
        r"not|never|nobody|haven't|hasn't|hadn't|didn't|don't|doesn't|isn't|aren't|wasn't|won't|wouldn't"
        r"|can't"
        r"|couldn't|cannot|nothing|neither|without|hardly|barely|almost|nearly|no one",
    ),
    supposed=(
        r"if|unless|whether|suppose|supposing|imagine|pretend(?:ing)?|wish|hope|hoping|hopefully|would have"
        r"|could have|should have|maybe|perhaps|might|assuming|for example|as though",
    ),
    offers=(
        r"would you like|do you want me|shall i|should i|want me to|need (?:any )?(?:more |further )?help"
        r"|anything else"
        r"|does (?:this|that|it) (?:help|sound|make sense|look|work|answer)|do you have any (?:other "
        r"|more |further )?"
        r"(?:questions|specific)|can i help|how can i|what else|could you (?:please )?(?:provide|share"
        r"|clarify)"
        r"|sound good",
    ),
    greets=(
        r"i (?:[\w%]+ )?agree|hey+|hi+|hello|good (?:morning|afternoon|evening"
        r"|night|day)|thanks?|thank you|thx|bye|goodbye|see (?:you|ya)"
        r"|take care|you're welcome|no problem|no worries|sure|ok(?:ay)?|great|awesome|wow|cool|nice|yeah"
        r"|yes|yep|no"
        r"|nope|certainly|of course|absolutely|sounds? (?:good|great|like)|got it|i see|perfect|congrats"
        r"|congratulations|good luck|lol|haha\w*|aww*|exactly|totally|definitely|right|true|same here"
        r"|agreed|amazing"
        r"|so (?:cool|nice|sweet|happy for you)|glad|love (?:it|that)|looks? (?:good|great|amazing|awesome)"
        r"|that(?:'s| is| sounds?) (?:so |really |very |such )?(?:an? )?(?:cool|great|awesome|nice"
        r"|amazing|good|wonderful"
        r"|fantastic|lovely|true|right|sweet|neat|interesting|inspiring|beautiful|impressive)|have (?:a"
        r"|fun)"
        r"|talk (?:to you )?(?:soon|later)|how are you|how(?:'s| is) it going|how have you been|what's up"
        r"|(?:what|how) about you|(?:good|nice) to (?:see|hear|meet)|long time|(?:great|good) question",
    ),
    fills=(
        r"let me know|feel free|i hope (?:this|that|it) helps|happy to help|i'd be happy to"
        r"|if you (?:have|need) any"
        r"|hope (?:this|that) helps|if you'd like|would you like me|is there anything else|don't hesitate"
        r"|please let me know|as an ai|(?:best|kind|warm) regards|sincerely|sent from my|on .{6,60} wrote:"
        r"|(?:certainly|sure|absolutely|of course|great|yes)[!,.] (?:let's|here|i(?:'d| can|'ll)|below)"
        r"|here(?:'s| is| are) (?:a|an|the|some|how|what)\b[^.]*:$",
    ),
)
