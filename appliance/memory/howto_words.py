"""What shows in words that somebody asks how something is done, that it worked, and that it did not; in English,
German and Spanish.

A further language is a further ``Language``. Entries are alternatives of a regular expression, matched at the borders
of words without regard to case; each looks at a bounded stretch. What is in doubt is left out: a procedure that is
offered as one that worked must have worked.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of a language.

    ``asks``: how is it done; ``asks_not``: what looks like that and asks for something else. ``worked``: it did;
    ``before``: all that may be said before that, because "I bought a new one, it works" is about something else;
    ``goes_on``: what else may follow, because "it worked for one of them" did not. ``perhaps``: what in the same
    sentence takes that back or makes it a wish. ``failed``: it did not. ``otherwise``: something else than what was
    said has helped.
    """

    asks: tuple[str, ...]
    asks_not: tuple[str, ...]
    worked: tuple[str, ...]
    before: tuple[str, ...]
    goes_on: tuple[str, ...]
    perhaps: tuple[str, ...]
    failed: tuple[str, ...]
    otherwise: tuple[str, ...]


_DO = (
    "fix|solve|repair|resolve|set|install|configure|get|make|build|run|deploy|connect|reset|restore|recover|enable"
    "|disable|upgrade|update|migrate|convert|export|import|create|remove|delete|clean|stop|start|change|clear|unblock"
)

_IT = (
    r"(?:that|this|it|which|everything|all(?: of it)?|the (?:first|second|third|last|other) (?:one|option)"
    r"|your (?:\w+ )?(?:fix|method|solution|answer|steps?|suggestion|command|script|instructions|trick)"
    r"|the (?:\w+ )?(?:fix|commands?|script|build|solution|trick|update|steps?|install\w*|tests?|server|app))"
)

ENGLISH = Language(
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
        rf"{_IT}(?: \w+){{0,3}}? (?:worked|working|did it|did the trick|fixed (?:it|that|the \w+)|(?:re)?solved"
        r" (?:it|that|the \w+)|runs|running|compiles|builds|passes|pass|boots|prints|connects|loads|starts up"
        r"|is fixed"
        r"|is solved|is up|works (?:now|again|great|perfectly|fine|beautifully|like a charm))",
        # "That works" agrees to a proposal as often as it tells what came of it.
        rf"(?!that |this |which ){_IT}(?: \w+){{0,3}}? works",
        r"^(?:\W*(?:yes|yeah|yep|ok|okay|great|perfect|awesome|thanks|thank you|thx|nice|cool|brilliant|so much"
        r"|wow|amazing"
        r"|excellent|super|lovely|hooray|yay|omg|finally|done|update|it)\W+){0,4}(?:worked|works|fixed|solved"
        r"|success|sorted"
        r"|compiles|builds|runs|boots|prints|connects|loads|starts)",
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
        r"yes|yeah|yep|yup|ok|okay|great|perfect|awesome|thank you|thanks?|thx|cheers|nice|cool|brilliant|wow|amazing"
        r"|excellent|super|lovely|hooray|yay|omg|oh|ah|finally|done|update|good(?: news)?|hi|hey|hello|so much"
        r"|very much"
        r"|a lot|i|we|i've|just|and|so|now|then|have|all|did|tried|followed|ran|used|applied|it|that|this|them"
        r"|exactly"
        r"|what you said|as you said|(?:your|the|those|these|both|all)(?: the| of the)? (?:steps?|instructions?"
        r"|commands?"
        r"|advice|fix|list)|for (?:the|your) (?:help|tips?|answer|steps|instructions)",
    ),
    goes_on=(
        r"now|again|perfect(?:ly)?|great|fine|well|nicely|beautifully|wonderfully|flawlessly|properly|correctly"
        r"|immediately"
        r"|instantly|smoothly|(?:right|straight) away|at once|at last|finally|like (?:a charm|magic)"
        r"|as (?:expected|described)"
        r"|this time|there's no more \w+|no more \w+|you(?:'re| are| saved)?(?: \w+){0,4}|(?:on"
        r"|at) (?:the )?first (?:try|time|attempt|go)|(?:the )?first time|a treat|all|so|very|really|just|too"
        r"|today|running|working"
        r"|thank you|thanks?|thx|cheers|much|and|it|that|indeed",
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
        r"(?:do|does|did|is|was|has|have|wo|ca|could|can|would)(?:n't|n’t|nt| not) (?:\w+ )?(?:work|help|run"
        r"|start|build"
        r"|compile|connect|boot|print|change|fix|do anything|seem|solve|make|find|open|load)\w*",
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
        r"something else|another (?:way|solution|approach|fix|method|guide|tool)|instead|differently"
        r"|(?:a )?different (?:way"
        r"|approach|solution|tool|guide|fix)|(?:by )?myself|on my own|never ?mind|by itself|on its own"
        r"|turn(?:ed|s) out"
        r"|in the end (?:i|we|it)|(?:found|followed|watched) (?:a|an|another|some)|(?:without|ignored"
        r"|skipped) (?:your|the"
        r"|that|those|any|doing)|before (?:reading|i (?:read|saw|tried))|(?:got|bought|ordered|borrowed"
        r"|have) (?:a|an|my|the|some) (?:new|other|old)|already (?:fixed|solved|sorted|done|working|worked)",
        r"(?:colleague|friend|uncle|aunt|cousin|kid|brother|sister|dad|father|mum|mom|mother|son|daughter"
        r"|neighbou?r|husband|wife|guy|support|boss"
        r"|admin|plumber|electrician|technician|\bhe|\bshe|\bthey) (?:\w+ )?(?:fixed|solved|did|helped|sorted"
        r"|came|found|got|has)",
    ),
)

GERMAN = Language(
    asks=(
        r"wie (?:kann|könnte|soll|sollte|muss|darf) (?:ich|man|wir)\b",
        r"wie \w{2,20}e (?:ich|wir)\b",
        r"wie \w{2,20}(?:t|en) (?:man|wir)\b",
        r"wie (?:ich|man|wir) (?:[^\s?.!]+ ){1,8}?(?:kann|könnte|muss|soll)\b",
        r"wie (?:haben wir|habe ich|hab ich) (?:[^\s?.!]+ ){0,8}?(?:repariert|gelöst|eingerichtet|installiert|behoben"
        r"|hinbekommen|gemacht|verbunden|zurückgesetzt)",
        r"wie (?:lautet|heißt|heisst|war|ist) (?:nochmal )?der befehl",
        r"(?:welcher|welchen) befehl|welche schritte|mit welchem befehl",
        r"was muss (?:ich|man) (?:tun|machen),? (?:um|damit|dass)",
        r"gibt es (?:eine möglichkeit|einen weg|einen trick)",
    ),
    asks_not=(
        r"wie (?:heiße|heisse|sehe|fühle|finde|komme|wäre|hätte|würde|gerne|lange|alte|habe|hatte|meine|hieße"
        r"|klinge|wirke"
        r"|viele) (?:ich|wir)",
        r"wie (?:geht|heißt|heisst|nennt|sagt|sieht|hört|fühlt|findet|schreibt) man",
        r"wie (?:waren|sind|haben|hatten|wollen|sehen|finden|werden|wären"
        r"|hätten) wir(?! (?:[^\s?.!]+ ){0,8}?(?:repariert"
        r"|gelöst|eingerichtet|installiert|behoben|hinbekommen|gemacht|verbunden|zurückgesetzt))",
        r"wie kann ich (?:ihnen|dir|euch) (?:helfen|danken)",
    ),
    worked=(
        r"(?:das|es|jetzt|nun|alles|damit|so|der (?:befehl|trick|build|server|drucker)|die (?:lösung|tests?"
        r"|anleitung))"
        r"(?: \w+){0,3}? (?:funktioniert|funktionierte|klappt|klappte|läuft|lief|geht|ging|geklappt|startet"
        r"|druckt|gelöst|behoben|grün)",
        r"^(?:\W*(?:ja|ok|okay|ah|super|perfekt|danke|klasse|toll|prima|cool|hurra|vielen dank|top|wow|sehr gut"
        r"|endlich)\W+){0,4}"
        r"(?:funktioniert|klappt|läuft|geht|hat (?:funktioniert|geklappt)|geschafft|gelöst|erledigt)",
        r"hat (?:\w+ ){0,3}?(?:funktioniert|geklappt)",
        r"(?:das |der )?(?:problem|fehler) (?:ist |wurde )?(?:gelöst|weg|behoben|verschwunden)",
        r"keine? fehler(?:meldung)? mehr",
    ),
    before=(
        r"ja|ok|okay|ah|oh|super|perfekt|danke|klasse|toll|prima|cool|hurra|vielen dank|dank|schön|top|wow"
        r"|sehr gut|gut|das wars"
        r"|endlich|hab's|habs|habe?|ich|es|das|so|und|jetzt|nun|alles|gemacht|ausprobiert|probiert|befolgt"
        r"|erledigt|genau"
        r"|wie beschrieben|(?:die|deine|ihre) (?:schritte|anleitung)|für (?:die|deine|ihre) (?:hilfe|anleitung"
        r"|tipps?)|hat",
    ),
    goes_on=(
        r"jetzt|nun|wieder|super|prima|perfekt|gut|bestens|einwandfrei|wunderbar|tadellos|problemlos|sofort"
        r"|endlich|alles"
        r"|auf anhieb|beim ersten (?:mal|versuch)|danke|vielen dank|dank|und|auch|es|er|sie|geklappt|funktioniert",
    ),
    perhaps=(
        r"glaube|denke|scheint|anscheinend|wohl|nicht|nie|nichts|kein|keinen|wenn|falls|ob|hoffe|hoffentlich"
        r"|vielleicht|sollte|müsste|würde|könnte|werde|wird"
        r"|gleich|morgen|später|bis|bevor|vorher|früher|gestern|sonst|normalerweise|eigentlich|warum|wieso|wie|was|wo"
        r"|fast|teilweise|halb|nur|aber|außer|ausser|obwohl|allerdings|angeblich|sagt|sagte|meinte|laut|manchmal"
        r"|versuche|probiere|damals|letzte[sn]?|bei (?:ihm|ihr|ihnen|meinem|meiner|dir)",
    ),
    failed=(
        r"(?:funktioniert|klappt|läuft|geht|hilft|startet|druckt|ging|klappte|lief)(?: \w+){0,3}? nicht",
        r"(?:hat|haben|ist|wird)(?: \w+){0,3}? nicht(?:s)?(?: \w+){0,3}?(?: (?:funktioniert|geklappt|geholfen"
        r"|gebracht))?",
        r"immer noch|noch immer|gleiche[rn]? fehler|(?:neuer|anderer|nächster) fehler|wieder (?:der|ein"
        r"|dieselbe|den) \w*"
        r"|leider|kaputt|fehlgeschlagen|schlägt fehl|schlug fehl|abgestürzt|stürzt|keine (?:änderung|wirkung)"
        r"|bringt nichts"
        r"|jetzt (?:kommt|bekomme|kriege)|rückgängig",
    ),
    otherwise=(
        r"anders|etwas anderes|was anderes|andere[nr]? (?:weg|lösung|anleitung|programm|tool)|stattdessen"
        r"|selbst|selber"
        r"|von allein\w*|von selbst|im endeffekt|am ende (?:habe|hab|war|ist)|lag (?:am|an|daran)|hat sich erledigt"
        r"|hat es (?:hinbekommen|geschafft|repariert)|neue[nrs]? (?:gekauft|bestellt)|(?:kollege|sohn|tochter"
        r"|mann|frau|onkel|kollegin|freund|freundin|bruder|schwester|vater|mutter|nachbar|techniker"
        r"|support)\w* (?:\w+ )?(?:hat"
        r"|half|konnte|kam)|ohne (?:deine|die|das|ihre)|schon (?:gelöst|erledigt|vorher)|bevor ich",
    ),
)

SPANISH = Language(
    asks=(
        r"c[óo]mo (?:puedo|podemos|podr[íi]a|debo|debemos|deber[íi]a|tengo que|hay que|se puede|hago|hacemos)\b",
        r"c[óo]mo (?!(?:estoy|tengo|veo|siento|quiero|creo|digo|llamo|pienso|vivo|llego|soy|voy|como)\b)\w{3,20}o\b"
        r"(?= (?:el|la|los|las|un|una|mi|mis|esto|eso|este|esta|en|de|a|al|con|que|\w+))",
        r"c[óo]mo se (?!(?:llama|dice|siente|escribe|encuentra|ve|va|llaman|sienten|conocieron)\b)\w{3,20}[ae]n?\b",
        r"c[óo]mo (?:arreglamos|arregl[ée]|solucionamos|solucion[ée]|resolvimos|resolv[íi]|instalamos|instal[ée]"
        r"|configuramos|configur[ée]|conseguimos|conectamos)\b",
        r"(?:cu[áa]l (?:es|era) el comando|qu[ée] comando|qu[ée] pasos|cu[áa]les son los pasos)",
        r"qu[ée] (?:tengo|tenemos|hay) que hacer para",
        r"(?:cu[áa]l es|hay) (?:la|alguna|una) (?:mejor )?(?:manera|forma) de",
    ),
    asks_not=(r"c[óo]mo puedo (?:ayudar|agradec)\w*",),
    worked=(
        r"(?:eso|esto|ya|ahora|todo|as[íi]|lo|el (?:comando|truco|script|servidor)|la (?:soluci[óo]n|impresora))"
        r"(?: (?:s[íi]|me|ya|ha|ahora|por fin|s[íi] que|perfectamente)){0,3}? (?:funcion[óo]|funciona"
        r"|funcionando|funcionado"
        r"|sirvi[óo]|va|arranca|imprime|compila|resolvi[óo]|solucion[óo]|arregl[óo]|resuelto|solucionado)",
        r"^(?:\W*(?:s[íi]|ok|vale|genial|perfecto|gracias|muchas gracias|estupendo|bien|muy bien|excelente"
        r"|listo|por fin)\W+){0,4}"
        r"(?:(?:ya )?funcion(?:[óo]|a|ando)|solucionado|resuelto|arreglado|listo,? (?:ya )?funciona)",
        r"(?:el )?(?:problema|error) (?:est[áa] |ha |qued[óo] )?(?:resuelto|solucionado|desaparecido|arreglado)",
        r"desapareci[óo] el (?:error|problema)|sin errores ahora|ya no (?:sale|da|aparece) (?:el"
        r"|ning[úu]n) (?:error|aviso)",
    ),
    before=(
        r"s[íi]|ok|vale|genial|perfecto|gracias|muchas|mil|estupendo|bien|muy|excelente|listo|por fin|hecho|lo|hice"
        r"|he hecho|segu[íi]|(?:los|tus) pasos|y|ahora|ya|prob[ée]|eso|esto|todo|as[íi]|hola|por (?:la|tu|su) ayuda",
    ),
    goes_on=(
        r"ahora|ya|perfectamente|perfecto|bien|genial|de maravilla|a la primera|enseguida|otra vez|de nuevo"
        r"|todo|por fin"
        r"|sin problemas?|(?:muchas |mil )?gracias|muy|y|el (?:error|problema)",
    ),
    perhaps=(
        r"creo|parece|supongo|no(?! sale| da| aparece)|nunca|nada|si|ojal[áa]|espero|quiz[áa]s?|tal vez"
        r"|a lo mejor|deber[íi]a|podr[íi]a|voy a"
        r"|a ver|ma[ñn]ana|ayer|antes|hasta|cuando|por qu[ée]|qu[ée]|c[óo]mo|d[óo]nde|casi|medio|s[óo]lo|pero"
        r"|excepto|salvo"
        r"|aunque|dijo|dice|dicen|seg[úu]n|normalmente|a veces|dej[óo] de|intentar[ée]|probar[ée]|sin embargo",
    ),
    failed=(
        r"no (?:me |se |ha |lo |le )?(?:funcion\w*|sirv\w*|va\b|arranca\w*|ayud\w*|cambi\w*|hace nada|imprime"
        r"|compila|conecta)",
        r"sigue (?:sin|dando|igual|fallando|saliendo|el)|todav[íi]a no|mismo (?:error|problema)|otro (?:error"
        r"|problema)"
        r"|(?:error|problema) otra vez|fall[óo]|falla|fallando|roto|rompi[óo]|peor|ahora me (?:sale|da|dice)|deshaz",
    ),
    otherwise=(
        r"otra (?:cosa|manera|forma|soluci[óo]n|gu[íi]a)|otro (?:m[ée]todo|programa|modo)|en lugar de|en vez de"
        r"|yo mism[oa]"
        r"|por mi cuenta|(?:por s[íi]|ella|[ée]l) sol[oa]|al final (?:lo|era|fue|us[ée]|hice|llam[ée])"
        r"|result[óo] (?:que|ser)"
        r"|olv[íi]dalo|d[ée]jalo|ya (?:estaba|lo hab[íi]a)|lo hizo (?:mi|un|una|el|la)\b|(?:compr"
        r"|ped)[ée] (?:un|una|otr[oa])|(?:colega|hij[oa]|marido|mujer|t[íi][oa]|compa[ñn]er[oa]|amig[oa]"
        r"|herman[oa]|padre|madre|vecin[oa]"
        r"|t[ée]cnico|soporte) (?:me )?(?:\w+ )?(?:lo )?(?:arregl|solucion|resolv|ayud|hizo|vino)\w*|sin (?:tu"
        r"|hacer|seguir|usar)",
    ),
)

LANGUAGES = (ENGLISH, GERMAN, SPANISH)

_SIGNS = (
    "worked works working did_it trick fixed solved runs running compiles builds pass boots prints connects loads"
    " starts to_work to_run to_build to_compile to_print to_boot _up sorted success gone disappeared green no_more"
    " no_error no_warning no_problem funktion klapp läuft lief geht ging startet druckt gelöst behoben grün weg"
    " verschwunden erledigt geschafft fehler funcion sirvi _va arranca imprime compila resolvi solucion arregl resuelt"
    " desapareci sin_errores ya_no"
)
SIGNS = tuple(sign.replace("_", " ") for sign in _SIGNS.split())
"""One of these stands in every text that says that something worked, in small letters: most texts have none, and need
no closer look."""
