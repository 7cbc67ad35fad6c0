"""English."""

from __future__ import annotations

from appliance.languages.language import (
    Language,
    ProcedureCues,
    SummaryCues,
    TemporalWords,
    by_word,
    calendar_names,
    word_set,
)

_TEMPORAL = TemporalWords(
    months=(
        "january|jan", "february|feb", "march|mar", "april|apr", "may", "june|jun",
        "july|jul", "august|aug", "september|sept|sep", "october|oct", "november|nov", "december|dec",
    ),
    weekdays=(
        "monday|mon", "tuesday|tues|tue", "wednesday|wed", "thursday|thurs|thu", "friday|fri", "saturday|sat",
        "sunday|sun",
    ),
    seasons=("spring", "summer", "autumn|fall", "winter"),
    units={
        "day": "day|days", "week": "week|weeks", "month": "month|months", "year": "year|years",
        "weekend": "weekend", "night": "night",
    },
    numbers=("a|an|one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    vague_numbers={"a couple of": 2, "a few": 3},
    days={
        -2: "the day before yesterday|day before yesterday", -1: "yesterday",
        0: "today|tonight|this morning|this afternoon|this evening",
        1: "tomorrow", 2: "the day after tomorrow|day after tomorrow",
    },
    # "The week before last Christmas" is another one.
    before_last_after=r"before last(?=\s*(?:[?.!,;)]|$))",
    last="last|past|previous", this="this|the current", coming="coming", next="next", next_after="next week",
    ago_after="ago", ahead="in", on=("on",), of="of", ordinal="st|nd|rd|th",
    before="before|prior to", until="until|till|by|up to", since="since", after="after",
    early="early|(?:the )?(?:beginning|start) of", middle="mid|mid-|(?:the )?middle of", late="late|(?:the )?end of",
    range_start="from|between", range_end="to|and|until|till|through",
    in_month="in|during|on|of|to|and|from|between|next",
    day_leads="on|by|for|the|due|date|be|now|before|until|exactly|only|already",
    year_leads="in|since|until|till|from|the|early|late|mid|end|of", new_year="new year(?:'?s)?(?: (?:day|eve))?",
    quarters=(
        "q1|first quarter|1st quarter", "q2|second quarter|2nd quarter", "q3|third quarter|3rd quarter",
        "q4|fourth quarter|4th quarter|last quarter",
    ),
    holidays={
        (12, 24): "christmas eve", (12, 25): "christmas day", (12, 31): "new year's eve|new years eve",
        (1, 1): "new year's day|new years day",
    },
    christmas="christmas",
    week_of="week of|week beginning|week starting", at="at around|at about|at", o_clock="o'clock",
    am="am|a\\.m\\.|in the morning", pm="pm|p\\.m\\.|in the afternoon|in the evening",
)  # fmt: skip

_ADVERBS = "(?:(?:now|just|all|both|finally|already|also|then|definitely|certainly|gladly|therefore|still) )*"
_IT = "(?:it|that|this|everything)"
_SUMMARY = SummaryCues(
    decided=(
        rf"(?:i|we)(?:'ve| have)? {_ADVERBS}(?:decided|chosen|chose|settled (?:on|for)|opted (?:for|to)"
        r"|agreed (?:on|that|to (?!disagree)))",
        r"(?:it's|it is|that's|it has been|it's been|it was) (?:now |finally |already )?(?:decided|settled|agreed)",
        r"let's (?:go with|use|stick (?:with|to)|settle on|switch to)",
        r"(?:we're|i'm|we are|i am) (?:sticking (?:with|to)|switching to|going with(?! (?:my|her|his|the family"
        r"|him|them|you|our|friends|a friend)\b))",
        rf"(?:we'll|i'll|we will|i will) {_ADVERBS}(?:go with|stick (?:with|to)|settle on|opt for)",
        r"(?:the |our |my |final )+(?:decision|choice) (?:is|was)(?! (?:still|not|yet|hard|tough|difficult|up to))",
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
        r"(?:the|a|an|my|our|your|her|his|their|some|this|that|bed|work|school|church|college|town|one|see|say|bet"
        r"|admit|miss|love|have|need|probably|maybe|never|always|not|assume|pass|survive|manage|happen|think"
        r"|explain|outline|guide|walk you|get|die|cry|know|just say|leave it|let you|remember you|keep (?:it|that"
        r"|you) in mind|like)\b",
        r"be\b(?! (?:there|at|in|back|on|ready|sending|home|joining|bringing))",
        r"(?:break|use) (?:it|this|down)|give you (?:an?|some) (?:example|overview)|take a (?:nap|break|look)",
    ),
    open=(
        r"to-?do(?=:)|(?-i:TODO|FIXME)(?!s)",
        r"(?:i|we|it|that|there) (?:still |also still )(?:need|needs|have|has) to|still to (?:do|be done)",
        r"(?:haven't|have not|hasn't|has not) (?:yet )?(?:been )?(?:decided|figured|settled|chosen|agreed|heard back)",
        r"not (?:yet )?decided|undecided|yet to (?:decide|be decided|figure out|find out)|not sure yet",
        r"needs? to (?:figure out|find out|decide|be (?:decided|clarified|resolved|fixed|done))",
        r"open (?:questions?|issues?|points?|items?)(?= ?:| is| are)|to be (?:decided|determined|confirmed|discussed)",
        r"tb[dca]|remains? (?:open|unclear|unresolved|to be)",
        r"(?:is|are|it's|that's) still (?:unclear|open|broken|failing|pending|missing|unresolved)",
        r"(?:still|i'm|i am|we're|we are) waiting (?:for|on|to hear)",
    ),
    wonders=(
        r"(?:not sure|unsure|don't know|do not know|no idea|no clue) (?:whether|if|how|which|what|why|when|where)",
        r"(?:i|we) wonder|(?:i'm|i was) wondering|(?:i|we) can't figure out",
    ),
    problem=(
        r"(?:doesn't|does not|don't|isn't|is not|not|stopped) work(?:ing)?",
        r"(?:won't|will not|can't|cannot|couldn't|can not) (?:start|load|open|build|compile|connect|run|install"
        r"|log ?in|boot|sync|get|find|access|import|reach)",
        r"(?:fails?|failing|failed|crash(?:es|ed|ing)?|hangs|freezes|leaks?|leaking|broke|broken|stuck)",
        r"(?:an?|the|this|these|some|getting|get) (?:\w+ ){0,2}(?:errors?|exceptions?|bugs?|problems?|issues?)",
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
        r"(?:bottom line|upshot|conclusion|root cause|cause|culprit|outcome|fix|solution) (?:is|was|turned out)",
        r"turn(?:s|ed) out|therefore|as a result|which means that",
        r"i(?:'d| would)? (?:strongly |highly )?(?:recommend|suggest|advise)|my (?:recommendation|advice) (?:is|would)",
        r"(?:result|conclusion|summary|recommendation|verdict|key takeaway|takeaway)s?(?= ?:)",
    ),
    unknown=(
        r"(?:i )?(?:don't|do not|didn't) know|no idea|no clue|dunno|unsure|hard to say",
        r"not (?:really |quite |entirely )?sure|i haven't (?:decided|figured|thought|checked)",
        r"(?:i'll|i will|let me) (?:check|look into|find out|ask|get back|think about)|i(?:'d)? have to (?:check|ask)",
    ),
    denied=(
        r"not|never|nobody|haven't|hasn't|hadn't|didn't|don't|doesn't|isn't|aren't|wasn't|won't|wouldn't|can't"
        r"|couldn't|cannot|nothing|neither|without|hardly|barely|almost|nearly|no one",
    ),
    supposed=(
        r"if|unless|whether|suppose|supposing|imagine|pretend(?:ing)?|wish|hope|hoping|hopefully|would have"
        r"|could have|should have|maybe|perhaps|might|assuming|for example|as though",
    ),
    offers=(
        r"would you like|do you want me|shall i|should i|want me to|need (?:any )?(?:more |further )?help"
        r"|anything else|does (?:this|that|it) (?:help|sound|make sense|look|work|answer)"
        r"|do you have any (?:other |more |further )?(?:questions|specific)|can i help|how can i|what else"
        r"|could you (?:please )?(?:provide|share|clarify)|sound good",
    ),
    greets=(
        r"i (?:[\w%]+ )?agree|hey+|hi+|hello|good (?:morning|afternoon|evening|night|day)|thanks?|thank you|thx|bye"
        r"|goodbye|see (?:you|ya)|take care|you're welcome|no problem|no worries|sure|ok(?:ay)?|great|awesome|wow|cool"
        r"|nice|yeah|yes|yep|no|nope|certainly|of course|absolutely|sounds? (?:good|great|like)|got it|i see|perfect"
        r"|congrats|congratulations|good luck|lol|haha\w*|aww*|exactly|totally|definitely|right|true|same here|agreed"
        r"|amazing|so (?:cool|nice|sweet|happy for you)|glad|love (?:it|that)|looks? (?:good|great|amazing|awesome)"
        r"|that(?:'s| is| sounds?) (?:so |really |very |such )?(?:an? )?(?:cool|great|awesome|nice|amazing|good"
        r"|wonderful|fantastic|lovely|true|right|sweet|neat|interesting|inspiring|beautiful|impressive)|have (?:a|fun)"
        r"|talk (?:to you )?(?:soon|later)|how are you|how(?:'s| is) it going|how have you been|what's up|(?:what"
        r"|how) about you|(?:good|nice) to (?:see|hear|meet)|long time|(?:great|good) question",
    ),
    fills=(
        r"let me know|feel free|i hope (?:this|that|it) helps|happy to help|i'd be happy to|if you (?:have"
        r"|need) any|hope (?:this|that) helps|if you'd like|would you like me|is there anything else"
        r"|don't hesitate|please let me know|as an ai|(?:best|kind|warm) regards|sincerely|sent from my"
        r"|on .{6,60} wrote:|(?:certainly|sure|absolutely|of course|great|yes)[!,.] (?:let's|here|i(?:'d| can|'ll)"
        r"|below)|here(?:'s| is| are) (?:a|an|the|some|how|what)\b[^.]*:$",
    ),
)

_DO = (
    "fix|solve|repair|resolve|set|install|configure|get|make|build|run|deploy|connect|reset|restore|recover|enable"
    "|disable|upgrade|update|migrate|convert|export|import|create|remove|delete|clean|stop|start|change|clear|unblock"
)

_DONE = (
    r"(?:that|this|it|which|everything|all(?: of it)?|the (?:first|second|third|last|other) (?:one|option)"
    r"|your (?:\w+ )?(?:fix|method|solution|answer|steps?|suggestion|command|script|instructions|trick)"
    r"|the (?:\w+ )?(?:fix|commands?|script|build|solution|trick|update|steps?|install\w*|tests?|server|app))"
)
_PROCEDURES = ProcedureCues(
    asks=(
        r"how (?:do|can|could|should|would|might) (?:i|we|one)(?: (?:actually|best|easily|properly))? \w+",
        rf"how (?:do|can|could|would|should) you (?:{_DO})",
        rf"how did (?:i|we|you) (?:{_DO})",
        rf"how (?:i|we) (?:can|could|should) (?:{_DO})",
        r"(?:explain|show me|tell me|idea|know|not sure|wondering|figure out|remind me|forgot|remember) how to \w+",
        r"what(?:'s| is| was) the (?:\w+ )?(?:way|command|trick|steps?|procedure) (?:to|for|of|in)",
        r"(?:what|which) (?:command|steps?) (?:do|should|can|would|did|must) (?:i|we)",
        r"what are the steps",
        r"what do (?:i|we) (?:have|need) to do (?:to|so that|before)",
        r"what did (?:i|we) do to (?:fix|get|make|solve)",
        r"is there (?:a|an|any) (?:\w+ )?way (?:to|of|for)",
    ),
    asks_not=(
        r"how (?:do|can|could|should|would|might) (?:i|we|one|you) (?:feel|like|know|think|mean|look|say|help|thank"
        r"|spell|support|accept|balance|sound|seem|repay|trust|believe|rate|see|find|cope|manage|stay|live|spend"
        r"|celebrate|be|have)",
        r"know how to \w+(?=[^?\n]{0,80}(?:[.!]|$))(?<!you know how to)",
    ),
    worked=(
        rf"{_DONE}(?: \w+){{0,3}}? (?:worked|working|did it|was it|did the trick|fixed (?:it|that|the \w+)"
        rf"|(?:re)?solved"
        r" (?:it|that|the \w+)|runs|running|compiles|builds|passes|pass|boots|prints|connects|loads|starts up|is fixed"
        r"|is solved|is up|works (?:now|again|great|perfectly|fine|beautifully|like a charm))",
        # "That works" agrees to a proposal as often as it tells what came of it.
        rf"(?!that |this |which ){_DONE}(?: \w+){{0,3}}? works",
        r"^(?:\W*(?:yes|yeah|yep|ok|okay|great|perfect|awesome|thanks|thank you|thx|nice|cool|brilliant|so much"
        r"|wow|amazing|excellent|super|lovely|hooray|yay|omg|finally|done|update|it)\W+){0,4}(?:worked|works|fixed"
        r"|solved|success|sorted|compiles|builds|runs|boots|prints|connects|loads|starts)",
        r"(?:the |all |my )?(?:build|tests?|pipeline|checks?) (?:is|are) (?:passing|green|running)",
        r"(?:got|have) (?:it|everything|that|this|the \w+) (?:working|running|to (?:work|run|build|compile"
        r"|print|boot))",
        r"(?:it's|it is|that's|everything's|everything is) (?:working|running|fixed|solved|up|printing|green)",
        r"(?:the )?(?:problem|issue) (?:is )?(?:solved|gone|fixed|sorted)",
        r"(?:the )?(?:error|problem|issue|warning|message) (?:is|has) (?:now )?(?:gone|disappeared|fixed)",
        r"no (?:more )?(?:errors?|warnings?|problems?) (?:now|any ?more|this time)",
        r"up and running",
    ),
    before=(
        # The longer ones first: of "I'll try", "I" is one by itself.
        r"(?:i'll|i will|will|gonna|i'm going to|let me|lemme) (?:try|check|do|see|go try|give (?:it|that|this) a"
        r" (?:try|shot|go))(?: out)?|be (?:right )?back(?: soon)?|(?:hang|hold) on|one (?:sec|second|moment|minute)"
        r"|my god"
        r"|doing (?:it|that|this)|trying|testing|rebooting|restarting|wait|brb|sec|w00t|woo+ ?hoo+|sweet|hurr?ay"
        r"|bingo|yah"
        r"|kk?|lol|haha|ty|tyvm|hmm|well|sure|right|thanx|tnx",
        r"yes|yeah|yep|yup|ok|okay|great|perfect|awesome|thank you|thanks?|thx|cheers|nice|cool|brilliant|wow|amazing"
        r"|excellent|super|lovely|hooray|yay|omg|oh|ah|finally|done|update|good(?: news)?|hi|hey|hello|so much"
        r"|very much|a lot|i|we|i've|just|and|so|now|then|have|all|did|tried|followed|ran|used|applied|it|that|this"
        r"|them|exactly|what you said|as you said|(?:your|the|those|these|both|all)(?: the| of the)? (?:steps?"
        r"|instructions?|commands?|advice|fix|list)|for (?:the|your) (?:help|tips?|answer|steps|instructions)",
    ),
    goes_on=(
        r"now|again|perfect(?:ly)?|great|fine|well|nicely|beautifully|wonderfully|flawlessly|properly|correctly"
        r"|immediately|instantly|smoothly|(?:right|straight) away|at once|at last|finally|like (?:a charm|magic)"
        r"|as (?:expected|described)|this time|there's no more \w+|no more \w+|you(?:'re| are"
        r"| saved)?(?: \w+){0,4}|(?:on|at) (?:the )?first (?:try|time|attempt|go)|(?:the )?first time|a treat|all"
        r"|so|very|really|just|too|today|running|working|thank you|thanks?|thx|thanx|tnx|ty|cheers|much|and|it|that"
        r"|indeed"
        r"|a ?lot|a (?:bunch|ton|million)|for (?:the|your|all(?: the| your)?) help|very much|man|mate|dude|bro|lol"
        r"|haha",
    ),
    perhaps=(
        r"not|\w+n't|\w+n’t|cannot|never|no longer|nothing|hardly|barely|if|whether|hop(?:e|ing|efully)|maybe|perhaps"
        r"|i (?:think|guess|suppose|believe)|seems?|apparently|might|may|should|would|could|will|\w+'ll|gonna"
        r"|going to|once|until|till|unless|before|yesterday|used to"
        r"|usually|normally|why|how|what|where|almost|partly|partially|half|sort of|kind of|only|but|except|although"
        r"|though|however|supposed|theory|expect(?:ed)?|pretend|wish|said|says|told|claims|stopped|stops|supposedly"
        r"|sometimes|last (?:week|time|year|month)|ago|let me know|for (?:him|her|them|my|others|everyone|you)",
    ),
    failed=(
        r"(?:do|does|did|is|was|has|have|wo|ca|could|can|would)(?:n't|n’t|nt| not) (?:\w+ )?(?:work|help|run|start"
        r"|build|compile|connect|boot|print|change|fix|do anything|seem|solve|make|find|open|load)\w*",
        r"(?:not|stopped|stops|isn't|isn’t) working",
        r"still (?:get|gets|getting|see|seeing|fail\w*|broken|the same|not|does|have|having|crash\w*|won't"
        r"|stuck|nothing|no)",
        r"(?:same|another|new|different|other) (?:error|problem|issue|message)",
        r"(?:error|problem|issue) (?:again|remains|persists|came back|is back)",
        r"no luck|no (?:difference|change|effect)|nothing (?:happens|happened|changed)|now (?:i|it) (?:get|gets"
        r"|say|says|fail\w*)",
        r"failed|fails|failing|broke|broken|made it worse|complain\w*|crash(?:es|ed|ing)?|gave up|wrong (?:one"
        r"|file|version)",
        r"(?:undo|revert|stop|don't do) (?:that|this|it)|that's (?:wrong|not what)",
    ),
    otherwise=(
        r"something else|i just (?!followed|did|ran|tried|used|applied|had|have|got)\w+(?:ed|t|n)\b|another (?:way"
        r"|solution|approach|fix|method|guide|tool)|instead|differently"
        r"|(?:a )?different (?:way|approach|solution|tool|guide|fix)|(?:by )?myself|on my own|never ?mind"
        r"|by itself|on its own|turn(?:ed|s) out|in the end (?:i|we|it)|(?:found|followed|watched) (?:a|an|another"
        r"|some)|(?:without|ignored|skipped) (?:your|the|that|those|any|doing)|before (?:reading|i (?:read|saw"
        r"|tried))|(?:got|bought|ordered|borrowed|have) (?:a|an|my|the|some) (?:new|other|old)|already (?:fixed"
        r"|solved|sorted|done|working|worked)",
        r"(?:colleague|friend|uncle|aunt|cousin|kid|brother|sister|dad|father|mum|mom|mother|son|daughter"
        r"|neighbou?r|husband|wife|guy|support|boss|admin|plumber|electrician|technician|\bhe|\bshe"
        r"|\bthey) (?:\w+ )?(?:fixed|solved|did|helped|sorted|came|found|got|has)",
    ),
    imperatives=(
        r"add|adjust|allow|apply|ask|attach|blot|boil|bring|brush|build|change|charge|check|choose|clean|clear|click"
        r"|close"
        r"|compare|configure|connect|cook|cool|copy|cover|create|cut|dab|delete|disable|disconnect|download|drag|drain"
        r"|draw|drill|dry|edit|empty|enable|ensure|enter|export|feed|fill|find|flip|fold|follow|format|give(?! it a"
        r"| that a| this a)|go(?! for it| ahead)|heat|hold|import"
        r"|increase|insert|install|keep|leave|let(?! me| us)|lift|locate|log in|log out|look|loosen|lower|make sure"
        r"|measure|mix"
        r"|mount|move|navigate|open|paste|peel|pick|pin|place|plug|pour|praise|preheat|press|pull|purge|push|put"
        r"|raise|rebase"
        r"|reboot|recreate|reduce|refresh|reinstall|reload|remove|rename|repeat|replace|reset|resolve|restart|return"
        r"|rinse"
        r"|right-click|rub|run|save|scan|screw|scroll|scrub|select|send|set|shake|shape|shift|shut|sign|slide|soak"
        r"|sprinkle"
        r"|squeeze|start|stir|stop|switch|take|tap|test|tick|tighten|toggle|turn|type|uncheck|undo|uninstall|unplug"
        r"|unscrew|untick|update|upgrade|upload|use|verify|wait|warm|wash|wipe|wrap|write"
    ),
    needs=(
        r"help|walk me through|any (?:idea|advice|tips?)|what do (?:i|we) do|what (?:else )?(?:can|could|should)"
        r" (?:i|we) (?:do|try)|trick (?:for|to)|(?:i|we) (?:need|have|want) to|(?:i|we) (?:can't|cannot|can not)",
        r"(?:says|shows|show(?! me| us)|gives?|gave|throws|fails?|failing|drops?|keeps?|leaks?|drips?|comes? out"
        r"|got stuck|stuck|is"
        r" broken|is (?:offline|slow|rejected|refused|blocked)|refused|rejected|won't|doesn't|isn't|not working)\b",
        r"error|no (?:space|internet|sound|signal)|out of memory|every time|how to",
    ),
    results=(
        r"^(?:\W*(?:yes|yeah|ok|okay|great|perfect|wow|amazing|brilliant|thanks|nice)\W+){0,3}(?:done(?! that)"
        r"|connected|pushed"
        r"|fixed|solved|sorted|printing|running|installed|works|worked"
        r"|got (?:them|it (?:back|out|off|on|open|printing|connected|done))|no (?:more )?\w+ (?:for|any))\b",
        r"(?:it|that|this|they|everything|all)(?:'s| is| are|'re)?(?: all)? (?:gone|done|fixed|warm|back|solved|running"
        r"|printing|working|perfect)\b|all (?:\w+ )?now\b",
        r"that (?:solved|fixed|freed) |that did (?:it|the trick)\b|that (?:solved|fixed) it\b"
        r"|did the trick|was enough|was it\b|fixed!|stays on\b|they came out|is green",
        r"(?:works|runs|stays|rose|comes? out|came out) (?:fine|on|now|again|well|great|perfect(?:ly)?|smooth(?:ly)?"
        r"|up)\b"
        r"|(?:is|are) (?:fine now|on|now|again|perfect(?:ly)?|smooth(?:ly)?|green|up)\b|really works|works on\b",
        r"finally \w+|no more \w+|now i (?:see|can)|(?:\w+ )?again!|(?:she|he|they)(?:'s|'ve| has| have)? (?:got"
        r" it|confirmed)\b|on the new one",
    ),
    passing=(
        r"for (?:a (?:second|moment|minute|while)|now)|went back|came back|then it|tore|yet|works for me|refused"
        r"|other|not|zero|strange|weird|problem is|(?:fine|on|in|at) (?:my|the other|another|windows|linux|mac)"
        r"|as well as|landlord|plumber|let's|last \w+|came(?! out)|here and"
    ),
    signs=(
        "worked|works|working|did it|was it|trick|fixed|solved|runs|running|compiles|builds|pass|boots|prints|"
        "connects|loads|starts|to work|to run|to build|to compile|to print|to boot| up|sorted|success|gone|"
        "disappeared|green|no more|no error|no warning|no problem"
    ),
)

_RELATIONS = by_word(
    {
        **{word: word for word in (
            "wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse aunt uncle cousin "
            "nephew niece boss colleague teacher doctor dentist therapist manager landlord granddaughter grandson "
            "stepson stepdaughter parrot hamster horse supervisor advisor coworker stepmother stepfather "
            "stepbrother stepsister godmother godfather godson goddaughter tortoise mentor otter snake lizard "
            "gecko iguana ferret hedgehog goat donkey llama alpaca canary budgie axolotl chinchilla chameleon parakeet "
            "pony goldfish tarantula gerbil"
        ).split()},
        "son": "son|sons", "daughter": "daughter|daughters", "child": "child|kid|kids|children",
        "parents": "parents", "mother": "mother|mom|mum|mama|mommy", "father": "father|dad|papa",
        "brother": "brother|brothers",
        "sister": "sister|sisters", "grandmother": "grandmother|grandma|granny|nana",
        "grandfather": "grandfather|grandpa", "friend": "friend|friends|best friend|bestie|buddy",
        "roommate": "roommate|flatmate|housemate", "neighbour": "neighbour|neighbor",
        "dog": "dog|dogs|puppy|retriever|labrador|poodle|beagle|terrier|dachshund|corgi|shepherd|collie|husky|pup"
        "|greyhound|whippet|spaniel|schnauzer|pug|bulldog|rottweiler|chihuahua|mutt",
        "cat": "cat|cats|kitten|kitty|tabby", "pet": "pet|pets", "rabbit": "rabbit|bunny",
        "guinea pig": "guinea pig|guinea pigs", "turtle": "turtle|turtles",
        "mother-in-law": "mother-in-law|mother in law", "father-in-law": "father-in-law|father in law",
        "sister-in-law": "sister-in-law|sister in law", "brother-in-law": "brother-in-law|brother in law",
        "son-in-law": "son-in-law|son in law", "daughter-in-law": "daughter-in-law|daughter in law",
    }
)  # fmt: skip

_STOP_WORDS = word_set(
    "a an the and or but nor if then than because while of at by for with about against between into through during"
    " before after above below to from up down in out on off over under again further once here there when where why"
    " how what which who whom whose this that these those i me my myself we our ours ourselves you your yours"
    " yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves am"
    " is are was were be been being have has had having do does did doing will would shall should can could may"
    " might must ought not no so too very just also only own same such both each few more most other some any all s"
    " t d ll m o re ve don didn doesn isn aren wasn weren won wouldn couldn shouldn"
)

_LANGUAGE_NAMES = word_set(
    "english german spanish french italian portuguese dutch swedish norwegian danish finnish icelandic polish czech"
    " slovak hungarian romanian bulgarian greek turkish russian ukrainian serbian croatian slovenian albanian arabic"
    " hebrew persian farsi hindi urdu bengali punjabi tamil telugu marathi gujarati nepali thai vietnamese"
    " indonesian malay tagalog filipino mandarin cantonese chinese japanese korean swahili yoruba igbo zulu"
    " afrikaans latin catalan basque welsh irish gaelic estonian latvian lithuanian esperanto amharic somali"
)

_OPPOSITES = (
    "north|northern|south|southern|east|eastern|west|western|northeast|northwest|southeast|southwest",
    "left|right", "up|down", "upper|lower", "above|below", "inside|outside", "before|after", "early|late",
    "earlier|later", "first|last|next|previous", "morning|afternoon|evening|night", "yesterday|today|tomorrow",
    "yes|no|not|never|none|t|always", "with|without", "more|less|most|least", "high|low", "old|new", "hot|cold",
    "open|opened|closed", "enable|enabled|disable|disabled", "increase|increased|decrease|decreased",
    "accept|accepted|decline|declined", "buy|bought|sell|sold", "won|lost", "true|false", "he|she", "him|her",
    "man|woman|boy|girl", "mother|father|brother|sister|son|daughter|husband|wife",
    "black|white|red|green|blue|yellow",
)  # fmt: skip

ENGLISH = Language(
    code="en",
    name="English",
    temporal=_TEMPORAL,
    summary=_SUMMARY,
    procedures=_PROCEDURES,
    stop_words=_STOP_WORDS,
    function_words=_STOP_WORDS | word_set("many much long again else still"),
    talk_words=word_set(
        "say says said saying tell tells told talk talks talked talking discuss discussed discussing discussion chat"
        " chats chatted chatting write wrote written writing happen happens happened happening mention mentioned go"
        " goes went going conversation conversations message messages everything anything something day"
    ),
    filler_words=word_set(
        "i'm i've i'd i'll you're you've you'll we're we've we'll it's that's there's let's don't didn't doesn't"
        " isn't wasn't can't couldn't won't wouldn't haven't hasn't what's he's she's they're yes get got like"
        " really well good great thing things lot going one"
    ),
    anaphors=word_set(
        "it its that this those these they them their theirs he him his himself she her hers herself one ones there"
        " then"
    ),
    determiners=word_set("its that this those these their his her one there"),
    articles="an?|the",
    first_person=word_set("me my mine we us our i i'd i'll i'm i've myself ours we'll we're we've"),
    # "may" is a verb more often than a month.
    time_words=(calendar_names(_TEMPORAL) - {"may"})
    | word_set(
        "yesterday today tomorrow tonight last next ago week weeks weekend month months year years morning evening"
        " afternoon night since day days spring summer autumn winter deadline"
    ),
    vague_time_words=word_set("recently just soon"),
    discourse_markers="and|but|or|what about|how about|what else|since when",
    expletive_verbs=word_set("take took taken likely possible true rain rains raining"),
    no="no",
    conjunctions="and|as well as|plus",
    titles="mr|mrs|ms|mx|messrs|dr|prof|rev|hon|capt|sgt|lt|gen|col|gov|sen",
    abbreviations=(
        r"e\.g|i\.e|etc|vs|approx|ca|no|nos|vol|fig|est|dept|ave|blvd|rd|apt|ext|inc|ltd|corp|jr"
        r"|jan|feb|aug|sept|oct|nov|dec"
    ),
    conditions=(
        r"(?:when(?:ever)?|if|every time|each time) (?:i|we|asked|asking|it comes)\b"
        r"(?: ask\b(?: you)?(?: about| for)?)?"
        r"|(?:for|in|to) (?:my |any |all )?questions (?:about|on)"
    ),
    interrogatives=(
        r"who|whom|whose|what(?! an?\b)|when|where|which|why|how|do|does|did|is|are|was|were|has|have|had|can|could"
        r"|will|would|should"
    ),
    asks_how_much=r"how (?:many|much|long|often)",
    amounts=r"one|two|three|four|five|six|seven|eight|nine|ten|twice|once|couple|several",
    asks_for_change=(
        r"chang(?:e[ds]?|ing)|edit(?:ed|s|ing)?|modif(?:y|ied|ies|ications?)|rewr(?:ite|ote|itten)|refactor\w*"
        r"|fix(?:ed|es)?|renamed?|removed?|deleted?|added?|wr(?:ite|ote|itten)|updated?|commit(?:ted)?"
    ),
    asks_assistant=(
        r"(?:did|have|had|would|could|were|are) you|your (?:recommend|suggest|advice|explan|propos|answer|respon)\w*"
        r"|you (?:recommend|suggest|advise|explain|give|gave|provide|propose|tell|told|say|said|mention|describe|help)"
        r"\w*"
    ),
    asks_when=r"when|how long|what (?:date|day|month|year|time)|which (?:day|month|year)",
    dated=(
        r"yesterday|today|tomorrow|tonight|last|next|ago|weeks?|weekend|months?|years?|morning|recently|just|soon|since"
    ),
    lasting=(
        r"(?:i|we)(?:'ve| have)? (?:decided|agreed|settled|chose|prefer|promise|committed)|(?:let's|we'll|i'll"
        r"|i will|we will) (?:go with|use|take|keep|stick)|i (?:always|never|usually|love|hate|like|dislike"
        r"|can't stand)|i'm allergic|my favou?rite|(?:please )?(?:always|never) (?:answer|use|write|call|reply|ask"
        r"|give|show)|from now on|remember that|deadline|due (?:on|by|date)|appointment|the plan is"
    ),
    relations=_RELATIONS,
    opposites=_OPPOSITES,
    language_names={name: name.capitalize() for name in _LANGUAGE_NAMES},
    occupations=word_set(
        "engineer developer programmer coder designer manager analyst consultant specialist technician director"
        " assistant coordinator scientist researcher nurse doctor physician surgeon dentist vet veterinarian"
        " pharmacist paramedic midwife therapist psychologist psychiatrist physiotherapist teacher professor lecturer"
        " tutor librarian principal lawyer attorney paralegal judge solicitor barrister accountant auditor bookkeeper"
        " banker actuary economist journalist editor writer author copywriter translator interpreter photographer"
        " illustrator artist musician actor actress architect plumber electrician carpenter mechanic welder builder"
        " contractor bricklayer roofer painter chef cook baker waiter waitress bartender barista butcher farmer"
        " gardener florist driver pilot sailor captain firefighter soldier officer policeman policewoman detective"
        " guard cleaner janitor receptionist secretary cashier salesperson salesman realtor broker trader investor"
        " entrepreneur founder cofounder co-founder ceo cto cfo coo freelancer biologist chemist physicist"
        " mathematician statistician geologist astronomer historian archaeologist anthropologist sociologist linguist"
        " philosopher hairdresser barber stylist tailor seamstress jeweler potter blogger youtuber podcaster streamer"
        " producer filmmaker animator administrator sysadmin admin devops planner strategist marketer recruiter"
        " trainer coach instructor student retiree pensioner postdoc intern apprentice operator inspector optometrist"
        " radiologist cardiologist oncologist pediatrician dermatologist anesthesiologist caregiver nanny counselor"
        " counsellor social-worker worker postman courier dispatcher surveyor tester dancer singer composer curator"
        " conservator zookeeper beekeeper fisherman lifeguard supervisor foreman clerk representative agent"
    ),
)
