"""What shows in words what a sentence is: one table a language. A further language is a further table.

Each entry is an alternative of a regular expression, matched without regard to case at the borders of words. Entries
are meant to be precise: what is in doubt is left out, because a summary says of what they find "this was decided".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of a language.

    ``decided``: something is settled. ``promised``: somebody will do something. ``open``: something is still to do
    or to find out. ``problem``: something does not work. ``solved``: now it does. ``concluded``: what an explanation
    comes to. ``unknown``: an answer that answers nothing. ``denied``: before a cue, takes it back. ``supposed``:
    before a cue, makes it a thought. ``idle``: what follows is no promise. ``offers``: how an assistant asks what else
    there is. ``greets``: begins a sentence that greets, thanks or agrees. ``fills``: begins one that says nothing.
    """

    name: str
    decided: tuple[str, ...]
    promised: tuple[str, ...]
    open: tuple[str, ...]
    problem: tuple[str, ...]
    solved: tuple[str, ...]
    concluded: tuple[str, ...]
    unknown: tuple[str, ...]
    denied: tuple[str, ...]
    supposed: tuple[str, ...]
    idle: tuple[str, ...]
    offers: tuple[str, ...]
    greets: tuple[str, ...]
    fills: tuple[str, ...]


_ADVERBS = (
    "(?:(?:now|just|all|both|finally|already|also|then|definitely|certainly|immediately|gladly|therefore) )*"
)

ENGLISH = Language(
    name="English",
    decided=(
        rf"(?:i|we)(?:'ve| have)? {_ADVERBS}(?:decided|agreed (?:to|on|that)|settled (?:on|for)"
        rf"|opted (?:for|to)|chose|chosen)",
        rf"(?:it's|it is|that's|that is|it was|was|is|been) {_ADVERBS}(?:decided|settled|agreed)(?: that"
        rf"| to)?",
        r"let's (?:go with|go for|use|stick (?:with|to)|keep|settle on|switch to|take)",
        r"(?:we're|i'm|we are|i am) (?:going (?:with|for)|sticking (?:with|to)|switching to)",
        rf"(?:we'll|i'll|we will|i will) {_ADVERBS}(?:go with|stick (?:with|to)|settle on|opt for)",
        r"(?:the |our |my |final )+(?:decision|choice) (?:is|was)(?! (?:still|not|yet))",
        r"(?:final )?decision:",
        r"made up (?:my|our) minds?",
        r"(?:the|our) plan is (?:now )?to",
    ),
    promised=(
        rf"(?:i'll|i will|we'll|we will) {_ADVERBS}(?!go with|stick|settle|opt)(?=[a-z])",
        r"i promise(?:d)? (?:to|that|you|i)",
        r"(?:i'm|i am|we're|we are) (?:going to|gonna) (?=[a-z])",
        r"let me (?:check|look|find|ask|send|get|fix|try|see if|think)",
        r"you can count on me",
        r"i (?:have )?committed to",
    ),
    open=(
        r"to-?do(?=:)|(?-i:TODO|FIXME)",
        r"(?:i |we |it |that )?still (?:need|needs|have|has) to",
        r"(?:haven't|have not|hasn't|has not) (?:yet )?(?:been )?(?:decided|figured|settled|chosen|agreed"
        r"|heard back)",
        r"not (?:yet )?decided|undecided|yet to (?:decide|be decided|figure out|find out)",
        r"(?:not sure|unsure|don't know|do not know)(?: yet)? (?:yet|whether|if|how|which|what|why|when"
        r"|where)",
        r"need(?:s)? to (?:figure out|find out|decide|clarify|be (?:decided|clarified|resolved|fixed"
        r"|done))",
        r"open (?:questions?|issues?|points?|items?)(?= ?[:.]| is| are)",
        r"to be (?:decided|determined|confirmed|discussed)|tb[dca]",
        r"remains? (?:open|unclear|unresolved|to be)",
        r"(?:is|are|it's|that's) still (?:unclear|open|broken|failing|pending|missing|unresolved|not)",
        r"(?:still|i'm|i am|we're|we are) waiting (?:for|on|to hear)",
        r"no idea (?:yet|why|how|what|where|when)",
    ),
    problem=(
        r"(?:doesn't|does not|don't|isn't|is not|not|stopped) work(?:ing)?",
        r"(?:won't|will not|can't|cannot|couldn't|can not) (?:start|load|open|build|compile|connect|run"
        r"|install|log ?in|boot|sync"
        r"|get|find|access|import|reach)",
        r"(?:fails?|failing|failed|crash(?:es|ed|ing)?|hangs|freezes|leaks?|leaking|broke|broken|stuck)",
        r"(?:an?|the|this|these|some|getting|get) (?:\w+ ){0,2}(?:errors?|exceptions?|bugs?|problems?"
        r"|issues?|warnings?)",
        r"\w*(?:Error|Exception)(?=[:\s.]|$)",
    ),
    solved=(
        r"(?:that|this|it|which|restarting|updating|upgrading|reinstalling)(?: has| have)? "
        r"(?:now )?(?:fixed|solved|resolved|did) (?:it|that|this|the (?:problem|issue|error|bug|trick))",
        r"(?:that|this|it)(?:'s| is| has been) (?:now )?(?:fixed|solved|resolved)(?: now)?",
        r"(?:problem|issue|bug|error)(?: is| has been| was)? (?:now )?(?:solved|fixed|resolved)",
        r"(?:that|this|it)(?: (?:finally|actually|totally|really))? worked(?= ?[!.,]|$| now| perfectly"
        r"| great| thank| like| for me)",
        r"(?:it|that|this|everything|all)(?: (?:now|finally))? works(?= now| again| perfectly| fine"
        r"| great| like a charm| ?[!.]|$)",
        r"(?:is|it's|that's|everything's) (?:now )?working (?:now|again|fine|perfectly|great)",
        r"(?:finally )?got (?:it|that|this) (?:working|to work|fixed|running)",
        r"(?:it )?no longer (?:fails|crashes|happens|errors|leaks|hangs)",
        r"(?:all |the )?(?:tests|builds?)(?: are| is)? (?:now )?(?:pass|passes|passing|green)(?: now)?",
        r"i (?:fixed|solved|resolved) (?:it|that|this|the)",
    ),
    concluded=(
        r"in (?:summary|conclusion|short|the end)|to (?:sum up|summarize|conclude|recap)|overall"
        r"|all in all",
        r"(?:the )?(?:bottom line|upshot|conclusion|root cause|cause|culprit|result|outcome|answer|fix"
        r"|solution) "
        r"(?:is|was|here is|turned out)",
        r"(?:it|that|this) (?:turns|turned) out|turns out",
        r"i(?:'d| would)? (?:strongly |highly )?(?:recommend|suggest|advise)|my (?:recommendation|advice"
        r"|suggestion)",
        r"(?:result|conclusion|summary|recommendation|verdict|key takeaway|takeaway)s?(?= ?:)",
        r"therefore|as a result|which means that",
    ),
    unknown=(
        r"(?:i )?(?:don't|do not|dunno|didn't) know|no idea|no clue|dunno",
        r"(?:i'm |i am )?not (?:really |quite |entirely )?sure|unsure|hard to say|good question",
        r"(?:i'll|i will|let me) (?:check|look into|find out|ask|get back|think about)",
        r"haven't (?:decided|figured|thought|checked)|i(?:'d| would)? have to (?:check|ask|look)",
    ),
    denied=(
        r"not|never|no|nobody|haven't|hasn't|hadn't|didn't|don't|doesn't|isn't|aren't|wasn't|won't"
        r"|wouldn't|can't|couldn't"
        r"|cannot|nothing|neither|without|hardly|barely|almost|nearly",
    ),
    supposed=(
        r"if|unless|whether|suppose|supposing|imagine|pretend|wish|hope|hoping|hopefully|would have"
        r"|could have|should have"
        r"|in case|once|until|before|when|maybe|perhaps|might|may|pretending|as if|what if|assuming"
        r"|provided|example",
    ),
    idle=(
        r"be\b(?! (?:there|at|in|back|on|ready|sending|home|joining|bringing))|see\b(?! (?:to it|if|about"
        r"|whether))|say|bet|admit"
        r"|miss|love|have\b|need|probably|maybe|never|always|try not|remember you|say that|just say"
        r"|go ahead and say|assume|pass"
        r"|let you|leave it|survive|manage|happen|think about it|explain|provide|outline|use this|guide"
        r"|walk you|break (?:it|this|down)"
        r"|give you (?:an?|some) (?:example|overview)|get|take a (?:nap|break)|die|cry|know",
    ),
    offers=(
        r"would you like|do you want me|shall i|should i|want me to|need (?:any )?(?:more |further )?help"
        r"|is there anything"
        r"|anything else|does (?:this|that|it) (?:help|sound|make sense|look|work|answer)"
        r"|do you have any (?:other |more |further )?"
        r"(?:questions|specific)|can i help|how can i|what else|could you (?:please )?(?:provide|share"
        r"|clarify)|ready to|sound good",
    ),
    greets=(
        r"hey+|hi+|hello|good (?:morning|afternoon|evening|night|day)|thanks?|thank you|thx|bye|goodbye"
        r"|see (?:you|ya)|take care"
        r"|you're welcome|no problem|no worries|sure|ok(?:ay)?|great|awesome|wow|cool|nice|yeah|yes|yep"
        r"|no|nope|certainly"
        r"|of course|absolutely|sounds? (?:good|great|like)|got it|i see|perfect|congrats|congratulations"
        r"|good luck|lol|haha\w*|aww*"
        r"|exactly|totally|definitely|right|true|same here|agreed|amazing|so (?:cool|nice|sweet"
        r"|happy for you)|that(?:'s| is| sounds?) "
        r"(?:so |really |very |such )?(?:an? )?(?:cool|great|awesome|nice|amazing|good|wonderful"
        r"|fantastic|lovely|true|right|sweet|neat"
        r"|interesting|inspiring|beautiful|impressive)|glad|love (?:it|that)|looks? (?:good|great|amazing"
        r"|awesome)|have (?:a|fun)"
        r"|talk (?:to you )?(?:soon|later)|how are you|how(?:'s| is) it going|how have you been|what's up"
        r"|what about you"
        r"|how about you|good to (?:see|hear)|nice to (?:see|hear|meet)|long time|great question"
        r"|good question",
    ),
    fills=(
        r"let me know|feel free|i hope (?:this|that|it) helps|happy to help|i'd be happy to"
        r"|if you (?:have|need) any|hope (?:this|that) helps"
        r"|if you'd like|would you like me|is there anything else|don't hesitate|please let me know"
        r"|as an ai|here(?:'s| is| are) (?:a|an|the"
        r"|some|how|what)\b[^.]*:$|(?:certainly|sure|absolutely|of course|great|yes)[!,.] (?:let's|here"
        r"|i(?:'d| can|'ll)|below)"
        r"|(?:best|kind|warm) regards|sincerely|sent from my|on .{6,60} wrote:",
    ),
)

GERMAN = Language(
    name="German",
    decided=(
        r"(?:(?:ich|wir)(?: haben?)?|haben?(?: (?:ich|wir))?) (?:uns |mich |jetzt |nun |endlich |schon "
        r"|dann |gemeinsam )*"
        r"(?:[\wäöüß,-]+ ){0,8}?(?:entschieden|beschlossen|vereinbart|festgelegt|ausgemacht)",
        r"(?:ist|wurde|war)(?: \w+){0,3} (?:entschieden|beschlossen|beschlossene sache|vereinbart"
        r"|abgemacht)",
        r"(?:wir|ich) (?:nehmen|nehme|bleiben|bleibe|wechseln|wechsle) (?:jetzt |nun |also |dann |doch )*"
        r"(?:den|die|das|bei|beim|zu|zum|zur|auf|postgres\w*|\w+sql)",
        r"lass uns (?:[\wäöüß-]+ ){1,4}(?:nehmen|verwenden|nutzen|bleiben)",
        r"(?:die|unsere|meine) entscheidung (?:ist|lautet|fiel)(?! (?:noch|nicht))",
        r"entscheidung:",
        r"abgemacht|wir einigten uns|(?:uns|haben wir uns) (?:[\wäöüß]+ ){0,4}geeinigt|der plan ist(?:,"
        r"| jetzt)",
    ),
    promised=(
        r"ich (?:werde|kümmere mich|schicke|sende|melde mich|mache|erledige|prüfe|schaue|schreibe|rufe"
        r"|bringe|hole|besorge|übernehme"
        r"|frage|bestelle|buche|reserviere|kaufe|organisiere|bereite|liefere)(?: \w+){0,3}",
        r"(?:werde|kümmere|schicke|sende|melde|erledige|prüfe|übernehme|bestelle|buche) ich",
        r"wir (?:werden|kümmern uns|schicken|melden uns|erledigen|liefern)",
        r"(?:ich|wir) verspreche[n]?|versprochen",
    ),
    open=(
        r"to-?do(?=:)|offen(?:e)?(?: (?:frage|punkt|punkte|fragen))?(?= ?:)|offen ist|(?:ist|bleibt|sind"
        r"|bleiben)(?: noch)? offen",
        r"(?:muss|müssen|sollte|sollten)(?: (?:ich|wir))?(?: [\wäöüß]+){0,4} noch",
        r"noch (?:nicht|nichts|kein\w*|keine\w*) (?:\w+ )?(?:entschieden|geklärt|klar|festgelegt|gelöst"
        r"|fertig|erledigt)",
        r"(?:weiß|wissen)(?: (?:ich|wir))?(?: \w+)? (?:noch )?nicht,? (?:ob|wie|was|wann|wo|welche\w*"
        r"|warum)",
        r"(?:bin|sind)(?: (?:ich|wir))? (?:mir |uns )?(?:noch )?(?:nicht sicher|unsicher|unschlüssig)",
        r"(?:warte|warten)(?: (?:ich|wir))? (?:noch )?auf|steht noch aus|unklar|ungeklärt"
        r"|keine ahnung,? (?:ob|wie|was|warum|wann)",
    ),
    problem=(
        r"(?:funktioniert|geht|klappt|läuft|startet|lädt|öffnet|reagiert)(?: \w+){0,3} nicht",
        r"(?:fehler|fehlermeldung|problem|absturz|störung|bug|exception)\w*",
        r"(?:stürzt|bricht|hängt|hakt)(?: \w+){0,3}(?: ab)?|kaputt|(?:kann|können)(?: \w+){0,5} nicht",
    ),
    solved=(
        r"(?:jetzt|nun|endlich) (?:funktioniert|geht|klappt|läuft)(?: (?:es|das|alles|wieder))?",
        r"(?:es|das|alles) (?:funktioniert|geht|klappt|läuft) (?:jetzt|nun|wieder|endlich)",
        r"(?:das|es|damit) hat (?:\w+ ){0,2}(?:geklappt|funktioniert|geholfen)|hat (?:es "
        r"|das )?(?:problem |den fehler )?(?:gelöst|behoben)",
        r"(?:problem|fehler|bug|es|das)(?: ist| wurde)? (?:jetzt |nun )?(?:gelöst|behoben)|damit (?:geht"
        r"|läuft|klappt) (?:es|das|alles)",
        r"(?:alle )?tests (?:sind )?(?:jetzt |nun )?(?:grün|laufen durch)",
    ),
    concluded=(
        r"zusammenfassend|kurz gesagt|im ergebnis|insgesamt|unterm strich|letztlich|fazit|das heißt,? dass",
        r"(?:die|der|das) (?:ursache|ergebnis|lösung|grund|antwort) (?:ist|war|lautet|liegt)"
        r"|es stellte sich heraus|stellt sich heraus",
        r"ich (?:würde |kann )?(?:\w+ )?(?:empfehle|empfehlen|rate|vorschlagen)|meine empfehlung|daher"
        r"|deshalb|folglich",
    ),
    unknown=(
        r"(?:ich )?weiß (?:ich )?(?:es |das )?(?:noch |leider )?nicht|keine ahnung|nicht sicher"
        r"|schwer zu sagen|gute frage",
        r"(?:ich )?(?:schaue|frage|prüfe|kläre|melde mich)(?: \w+){0,3}(?: nach)?"
        r"|muss ich (?:\w+ ){0,3}(?:fragen|nachsehen|prüfen|klären)",
    ),
    denied=(r"nicht|nie|niemals|kein\w*|niemand|nichts|weder|ohne|kaum|fast|beinahe",),
    supposed=(
        r"wenn|falls|ob|angenommen|hätte[n]?|wäre[n]?|würde[n]?|vielleicht|eventuell|hoffentlich|hoffe"
        r"|sobald|bis|bevor|stell dir vor"
        r"|beispiel|könnte[n]?|sollte[n]?",
    ),
    idle=(r"immer|nie|dich vermissen|sehen|ja|mal sehen|sterben|verrückt|nicht|nie",),
    offers=(
        r"möchtest du|möchten sie|soll ich|kann ich (?:dir|ihnen|sonst|noch)|brauchst du noch"
        r"|gibt es noch|hast du noch|haben sie noch"
        r"|hilft (?:dir|ihnen) das|passt das|wie kann ich",
    ),
    greets=(
        r"hallo|hi|hey|moin|servus|grüß (?:gott|dich)|guten (?:tag|morgen|abend)|gute nacht|danke"
        r"|vielen dank|tschüss|bis (?:dann|bald"
        r"|später|morgen)|gern(?:e)?|kein problem|klar|okay|ok|super|toll|cool|schön|ja|nein|nee|genau"
        r"|stimmt|natürlich|sicher|perfekt"
        r"|wunderbar|prima|gute frage|wie geht(?:'s| es)|alles gut|liebe grüße|viele grüße|lg|glückwunsch"
        r"|viel (?:glück|spaß|erfolg)"
        r"|freut mich|das (?:klingt|ist) (?:gut|super|toll|schön)|alles klar",
    ),
    fills=(
        r"sag (?:mir )?(?:einfach )?bescheid|sagen sie bescheid|lass(?:t)? es mich wissen"
        r"|lassen sie es mich wissen|ich hoffe,? das hilft"
        r"|wenn du (?:noch )?(?:weitere )?fragen|falls (?:du|sie) (?:noch )?(?:weitere )?fragen"
        r"|mit freundlichen grüßen|melde dich (?:gern|jederzeit)"
        r"|gerne helfe ich|hier (?:ist|sind) (?:ein|eine|die|der|das|einige)\b[^.]*:$"
        r"|von meinem \w+ gesendet",
    ),
)

SPANISH = Language(
    name="Spanish",
    decided=(
        r"(?:hemos|he) (?:ya |finalmente |por fin )?(?:decidido|acordado|quedado en|elegido|optado por)",
        r"(?:decidimos|acordamos|quedamos en|elegimos|optamos por|decidí|elegí|opté por)",
        r"(?:está|queda|quedó|fue) (?:ya )?(?:decidido|acordado)",
        r"(?:vamos a|voy a) (?:usar|quedarnos con|quedarme con|ir con|optar por)|nos quedamos con"
        r"|me quedo con",
        r"(?:la|nuestra|mi) decisión (?:final )?(?:es|fue)(?! (?:aún|todavía|no))",
        r"decisión:|el plan es",
    ),
    promised=(
        r"(?:yo )?(?:te |le |les |lo |la |os |me )*(?:enviaré|mandaré|haré|llamaré|escribiré|revisaré"
        r"|prepararé|traeré|compraré|buscaré"
        r"|preguntaré|avisaré|terminaré|entregaré|reservaré|arreglaré|confirmaré|encargaré|pasaré|daré"
        r"|ocuparé|llevaré)",
        r"(?:enviaremos|haremos|llamaremos|revisaremos|prepararemos|terminaremos|entregaremos)",
        r"(?:voy a|vamos a) (?!usar|quedar|ir con|optar)(?:\w+(?:ar|er|ir)(?:te|le|lo|la|les|los|las|me"
        r"|nos)?)",
        r"(?:te |le |les )?(?:prometo|prometemos)|me (?:comprometo|encargo|ocupo)|nos encargamos",
    ),
    open=(
        r"por hacer(?=:)|pendientes?(?= ?:)|(?:sigue|siguen|queda|quedan|está|están) pendientes?",
        r"(?:todavía|aún) (?:tengo|tenemos|hay) que|(?:queda|quedan|falta|faltan) por|falta (?:\w+ar"
        r"|\w+er|\w+ir|decidir)",
        r"(?:todavía|aún) no (?:\w+ ){0,2}(?:decidido|sé|sabemos|está|resuelto|claro|hemos|he)",
        r"no (?:sé|sabemos|estoy segur[oa]|estamos segur[oa]s) (?:todavía |aún )?(?:de )?(?:si|cómo|qué"
        r"|cuándo|dónde|cuál|por qué)",
        r"(?:hay|tengo|tenemos) que (?:decidir|averiguar|aclarar|definir)|por (?:decidir|definir"
        r"|confirmar)|(?:estoy|estamos|sigo) esperando"
        r"|(?:no está|sin) (?:claro|resolver|decidir)|ni idea de",
    ),
    problem=(
        r"no (?:me |nos |le )?(?:funciona|arranca|carga|abre|va|compila|conecta|responde|deja|puedo"
        r"|podemos|inicia)",
        r"(?:error|errores|fallo|fallos|problema|problemas|excepción)|falla|se (?:cae|cuelga|bloquea"
        r"|rompe|rompió|cayó|colgó)|roto|rota|atascad[oa]",
    ),
    solved=(
        r"(?:ya|ahora|por fin)(?: sí)? (?:me |nos )?(?:funciona|va|carga|arranca|compila)(?: bien)?",
        r"(?:eso|esto|así|lo)(?: me| nos| ya)? (?:funcionó|lo (?:arregló|solucionó|resolvió)|solucionó"
        r"|resolvió|arregló)",
        r"(?:ya )?(?:está|quedó|queda) (?:ya )?(?:arreglad[oa]|solucionad[oa]|resuelt[oa])",
        r"(?:problema|error) (?:ya )?(?:arreglado|solucionado|resuelto)|(?:lo|la) (?:arreglé|solucioné"
        r"|resolví|he arreglado|he solucionado)",
        r"(?:todas )?las pruebas (?:ya )?pasan",
    ),
    concluded=(
        r"en (?:resumen|conclusión|definitiva)|para (?:resumir|concluir)|resumiendo|al final"
        r"|conclusión(?=:)|resultado(?=:)",
        r"(?:la|el) (?:causa|resultado|solución|motivo|respuesta) (?:es|era|fue)|resultó que|resulta que",
        r"(?:te |le |les )?(?:recomiendo|sugiero|aconsejo)|mi (?:recomendación|consejo)|por (?:lo )?tanto",
    ),
    unknown=(
        r"no (?:lo )?sé|ni idea|no estoy segur[oa]|difícil de decir|buena pregunta",
        r"(?:lo |te lo )?(?:miro|miraré|pregunto|preguntaré|averiguo|averiguaré|reviso|revisaré|consulto"
        r"|consultaré)|tengo que (?:preguntar|mirar|ver|pensar)",
    ),
    denied=(r"no|nunca|jamás|nadie|nada|ningun\w*|ni|sin|tampoco|casi|apenas",),
    supposed=(
        r"si|quizá|quizás|tal vez|ojalá|supongamos|imagina|cuando|hasta que|en caso|a lo mejor|habría\w*"
        r"|hubiera\w*|hubiese\w*|podría\w*"
        r"|debería\w*|ejemplo|espero que|antes de",
    ),
    idle=(r"ver si|extrañar|echar de menos|ser|estar|morir|siempre|nunca|llorar|decir",),
    offers=(
        r"¿?(?:quieres que|te gustaría|quiere que|le gustaría|necesitas|hay algo más|algo más"
        r"|en qué (?:puedo|más)|tienes (?:más|alguna)"
        r"|te (?:parece|sirve|ayuda)|cómo puedo)",
    ),
    greets=(
        r"hola|buen[oa]s(?: (?:días|tardes|noches))?|gracias|muchas gracias|adiós|hasta (?:luego|pronto"
        r"|mañana)|de nada|claro|vale|ok|okay"
        r"|genial|perfecto|sí|no|exacto|por supuesto|qué (?:bien|bueno|tal|chulo|guay)|cómo estás|saludos"
        r"|un abrazo|suerte|felicidades|me alegro"
        r"|buena pregunta|nos vemos|cuídate|excelente|estupendo|entiendo|de acuerdo",
    ),
    fills=(
        r"avísame|avíseme|no dudes en|no dude en|espero que (?:esto |te |le )*(?:ayude|sirva)"
        r"|si (?:tienes|necesitas|tiene|necesita) (?:más |alguna |otra )"
        r"|dime si|déjame saber|hazme saber|un (?:cordial )?saludo|atentamente|aquí (?:tienes|está"
        r"|hay)\b[^.]*:$|enviado desde mi",
    ),
)

LANGUAGES = (ENGLISH, GERMAN, SPANISH)
