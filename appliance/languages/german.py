"""German."""

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
        "januar|jan", "februar|feb", "märz", "april|apr", "mai", "juni|jun",
        "juli|jul", "august|aug", "september|sept|sep", "oktober|okt", "november|nov", "dezember|dez",
    ),
    weekdays=("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag|sonnabend", "sonntag"),
    seasons=("frühling|frühjahr", "sommer", "herbst", "winter"),
    units={
        "day": "tag|tagen|tage", "week": "woche|wochen", "month": "monat|monaten|monate",
        "year": "jahr|jahren|jahre", "weekend": "wochenende", "night": "nacht",
    },
    numbers=("ein|einem|einer", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"),
    days={-2: "vorgestern", -1: "gestern", 0: "heute", 1: "morgen", 2: "übermorgen"},
    before_last="vorletzte[nmrs]?",
    last="letzte[nmrs]?|vorige[nmrs]?", this="diese[nmrs]?", coming="nächste[nmrs]?|kommende[nmrs]?",
    next_after="nächster woche", ago_before="vor", ahead="in", on=("am",), before="vor dem|vor",
    until="bis zum|bis", since="seit dem|seit|ab dem|ab", after="nach dem|nach",
    early="anfang", middle="mitte", late="ende", range_start="von|vom|zwischen", range_end="bis zum|bis|und",
    in_month="im|von|bis|und|zwischen", day_leads="am|an|dem|den|der|zum|bis|vor",
    year_leads="im|jahr|seit|bis|ende|anfang", new_year="neujahr|jahresanfang",
    quarters=(
        "q1|1. quartal|erstes quartal|ersten quartal", "q2|2. quartal|zweites quartal|zweiten quartal",
        "q3|3. quartal|drittes quartal|dritten quartal",
        "q4|4. quartal|viertes quartal|vierten quartal|letzten quartal",
    ),
    christmas="weihnachten",
    holidays={(12, 24): "heiligabend|heilig abend", (12, 31): "silvester", (1, 1): "neujahr"},
    week_of="woche vom|woche ab dem|woche ab|woche um den", at="um|gegen", o_clock="uhr", am="morgens|vormittags",
    pm="nachmittags|abends",
)  # fmt: skip

_DAY = "(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
_LATER = (
    r"(?:dir|euch|ihnen|ihm|ihr|uns|morgen|nachher|gleich|heute|später|noch"
    rf"|(?:bis|am|vor) (?:{_DAY}|morgen|ende))"
)
_UP_TO_8 = r"(?:[\wäöüß,-]+ ){0,8}?"
_SUMMARY = SummaryCues(
    decided=(
        rf"(?:ich|wir) (?:habe|haben) {_UP_TO_8}(?:entschieden|beschlossen|vereinbart|ausgemacht|geeinigt)",
        rf"(?:habe ich|haben wir) {_UP_TO_8}(?:entschieden|beschlossen|vereinbart|ausgemacht|geeinigt)",
        r"es (?:ist|wurde) (?:jetzt |nun |schon )?(?:entschieden|beschlossen|abgemacht)|(?:ist )?beschlossene sache",
        r"(?:wir|ich) (?:bleiben|bleibe) (?:jetzt |nun |also |doch )*(?:bei|beim)",
        r"(?:wir|ich) (?:nehmen|nehme|wechseln|wechsle) (?:jetzt |nun |also |dann |doch )+(?:[\wäöüß-]+)",
        r"lass(?:t)? uns (?:[\wäöüß-]+ ){1,4}(?:nehmen|verwenden|nutzen|bleiben)",
        r"(?:die|unsere|meine) entscheidung (?:ist|lautet|fiel)(?! (?:noch|nicht|schwer))|entscheidung(?=:)",
        r"abgemacht(?=[.!:,]|$)|wir einigten uns|wir beschlossen|der plan ist(?:,| jetzt)",
    ),
    promised=(
        r"(?:ich werde|werde ich|wir werden|werden wir) (?:\w+ ){0,2}(?=[a-zäöü])",
        r"(?:ich kümmere mich|kümmere ich mich|ich melde mich|melde ich mich|wir kümmern uns|wir melden uns)",
        r"(?:ich (?:übernehme|erledige)|(?:übernehme|erledige) ich|wir (?:übernehmen|erledigen)) (?=[a-zäöü])",
        r"ich (?:schicke|sende|schreibe|rufe|bringe|hole|besorge|frage|bestelle|buche|reserviere|kaufe|organisiere"
        rf"|liefere|prüfe|mache|baue) (?:[\wäöüß]+ ){{0,3}}?{_LATER}(?!\w)",
        r"(?:schicke|sende|bestelle|buche|prüfe|reserviere|besorge|kaufe|hole) ich (?:dir|euch|ihnen|das|die|den|es)",
        r"(?:ich|wir) verspreche[n]?",
    ),
    idle=(r"(?:nie|nicht|immer|dich vermissen|sehen|mal sehen|sterben|verrückt|alt|vermutlich|wohl|vielleicht)\b",),
    open=(
        r"to-?do(?=:)|offene (?:frage|punkt|punkte|fragen)|(?:ist|bleibt|sind|bleiben)(?: noch)? offen(?=[.,:;!]|$)",
        r"(?:muss|müssen|sollte|sollten) (?:ich|wir)(?: [\wäöüß]+){0,4} noch",
        r"(?:ich|wir) (?:muss|müssen|sollte|sollten)(?: [\wäöüß]+){0,4} noch",
        r"noch (?:nicht|nichts) (?:\w+ )?(?:entschieden|geklärt|klar|festgelegt|gelöst|fertig|erledigt)",
        r"(?:warte|warten)(?: (?:ich|wir))? (?:noch )?auf|steht noch aus|ist (?:noch )?(?:unklar|ungeklärt)",
        r"(?:bin|sind)(?: (?:ich|wir))? (?:mir |uns )?noch (?:nicht sicher|unsicher|unschlüssig)",
    ),
    wonders=(
        r"(?:weiß|wissen)(?: (?:ich|wir))?(?: \w+)? nicht,? (?:ob|wie|was|wann|wo|welche\w*|warum)",
        r"(?:bin|sind)(?: (?:ich|wir))? (?:mir |uns )?(?:nicht sicher|unsicher),? (?:ob|wie|was|wann|wo"
        r"|welche\w*|warum)",
        r"keine ahnung,? (?:ob|wie|was|warum|wann)|(?:ich frage mich|wir fragen uns|frage ich mich)",
    ),
    problem=(
        r"(?:funktioniert|geht|klappt|läuft|startet|lädt|öffnet|reagiert)(?: \w+){0,3} nicht",
        r"(?:fehler|fehlermeldung|problem|absturz|störung|bug|exception)\w*",
        r"(?:stürzt|bricht)(?: \w+){0,3} ab|hängt sich auf|kaputt",
    ),
    solved=(
        r"(?:jetzt|nun|endlich|damit) (?:funktioniert|geht|klappt|läuft)(?: (?:es|das|alles|wieder))?",
        r"(?:es|das|alles) (?:funktioniert|geht|klappt|läuft) (?:jetzt|nun|wieder|endlich)",
        r"(?:das|es|damit) hat (?:\w+ ){0,2}(?:geklappt|funktioniert|geholfen)",
        r"hat (?:es|das problem|den fehler) (?:gelöst|behoben)|(?:alle )?tests (?:sind )?(?:jetzt "
        r"|nun )?(?:grün|laufen durch)",
        r"(?:problem|fehler|bug)(?: ist| wurde)? (?:jetzt |nun )?(?:gelöst|behoben)",
    ),
    concluded=(
        r"zusammenfassend|kurz gesagt|im ergebnis|unterm strich|letztlich|fazit(?=:)|ergebnis(?=:)|das heißt,? dass",
        r"(?:ursache|ergebnis|lösung|grund) (?:ist|war|lautet|liegt)|es stellt[e]? sich heraus|folglich",
        r"ich (?:empfehle|rate)|ich würde (?:[\wäöüß]+ ){0,4}empfehlen|meine empfehlung",
    ),
    unknown=(
        r"weiß (?:ich )?(?:es |das )?(?:noch |leider )?nicht|keine ahnung|nicht sicher|schwer zu sagen",
        r"ich (?:schaue|frage|sehe|denke)(?: \w+){0,3} nach|muss ich (?:\w+ ){0,3}(?:fragen|nachsehen|prüfen|klären)",
    ),
    denied=(r"nicht|nie|niemals|kein\w*|niemand|nichts|weder|ohne|kaum|fast|beinahe",),
    supposed=(
        r"wenn|falls|ob|angenommen|hätte[n]?|wäre[n]?|würde[n]?|vielleicht|eventuell|hoffentlich|hoffe"
        r"|stell dir vor|zum beispiel|könnte[n]?",
    ),
    offers=(
        r"möchtest du|möchten sie|soll ich|kann ich (?:dir|ihnen|sonst|noch)|brauchst du noch|gibt es noch"
        r"|hast du noch|haben sie noch|hilft (?:dir|ihnen) das|passt das|wie kann ich",
    ),
    greets=(
        r"hallo|hi|hey|moin|servus|grüß (?:gott|dich)|guten (?:tag|morgen|abend)|gute nacht|danke|vielen dank"
        r"|tschüss|bis (?:dann|bald|später|morgen)|gerne?|kein problem|klar|okay|ok|super|toll|cool|schön|ja|nein"
        r"|nee|genau|stimmt|natürlich|sicher|perfekt|wunderbar|prima|gute frage|wie geht(?:'s| es)|alles (?:gut"
        r"|klar)|lg|(?:liebe|viele) grüße|glückwunsch|viel (?:glück|spaß|erfolg)|freut mich|das (?:klingt"
        r"|ist) (?:gut|super|toll|schön)",
    ),
    fills=(
        r"sag (?:mir )?(?:einfach )?bescheid|sagen sie bescheid|lasst? es mich wissen|lassen sie es mich wissen"
        r"|ich hoffe,? das hilft|(?:wenn|falls) (?:du|sie) (?:noch )?(?:weitere )?fragen|mit freundlichen grüßen"
        r"|melde dich (?:gern|jederzeit)|gerne helfe ich|von meinem \w+ gesendet|hier (?:ist|sind) (?:ein|eine|die"
        r"|der|das|einige)\b[^.]*:$",
    ),
)

_PROCEDURES = ProcedureCues(
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
        r"|klinge|wirke|viele) (?:ich|wir)",
        r"wie (?:geht|heißt|heisst|nennt|sagt|sieht|hört|fühlt|findet|schreibt) man",
        r"wie (?:waren|sind|haben|hatten|wollen|sehen|finden|werden|wären|hätten) wir(?! (?:[^\s?.!]+"
        r" ){0,8}?(?:repariert|gelöst|eingerichtet|installiert|behoben|hinbekommen|gemacht|verbunden|zurückgesetzt))",
        r"wie kann ich (?:ihnen|dir|euch) (?:helfen|danken)",
    ),
    worked=(
        r"(?:das|es|jetzt|nun|alles|damit|so|der (?:befehl|trick|build|server|drucker)|die (?:lösung|tests?"
        r"|anleitung))(?: \w+){0,3}? (?:funktioniert|funktionierte|klappt|klappte|läuft|lief|geht|ging|geklappt"
        r"|startet|druckt|gelöst|behoben|grün)",
        r"^(?:\W*(?:ja|ok|okay|ah|super|perfekt|danke|klasse|toll|prima|cool|hurra|vielen dank|top|wow|sehr gut"
        r"|endlich)\W+){0,4}(?:funktioniert|klappt|läuft|geht|hat (?:funktioniert|geklappt)|geschafft|gelöst|erledigt)",
        r"hat (?:\w+ ){0,3}?(?:funktioniert|geklappt)",
        r"(?:das |der )?(?:problem|fehler) (?:ist |wurde )?(?:gelöst|weg|behoben|verschwunden)",
        r"keine? fehler(?:meldung)? mehr",
    ),
    before=(
        r"ja|ok|okay|ah|oh|super|perfekt|danke|klasse|toll|prima|cool|hurra|vielen dank|dank|schön|top|wow"
        r"|sehr gut|gut|das wars|endlich|hab's|habs|habe?|ich|es|das|so|und|jetzt|nun|alles|gemacht|ausprobiert"
        r"|probiert|befolgt|erledigt|genau|wie beschrieben|(?:die|deine|ihre) (?:schritte|anleitung)|für (?:die"
        r"|deine|ihre) (?:hilfe|anleitung|tipps?)|hat",
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
        r"immer noch|noch immer|gleiche[rn]? fehler|(?:neuer|anderer|nächster) fehler|wieder (?:der|ein|dieselbe"
        r"|den) \w*|leider|kaputt|fehlgeschlagen|schlägt fehl|schlug fehl|abgestürzt|stürzt|keine (?:änderung"
        r"|wirkung)|bringt nichts|jetzt (?:kommt|bekomme|kriege)|rückgängig",
    ),
    otherwise=(
        r"anders|etwas anderes|was anderes|andere[nr]? (?:weg|lösung|anleitung|programm|tool)|stattdessen|selbst"
        r"|selber|von allein\w*|von selbst|im endeffekt|am ende (?:habe|hab|war|ist)|lag (?:am|an|daran)"
        r"|hat sich erledigt|hat es (?:hinbekommen|geschafft|repariert)|neue[nrs]? (?:gekauft|bestellt)|(?:kollege"
        r"|sohn|tochter|mann|frau|onkel|kollegin|freund|freundin|bruder|schwester|vater|mutter|nachbar|techniker"
        r"|support)\w* (?:\w+ )?(?:hat|half|konnte|kam)|ohne (?:deine|die|das|ihre)|schon (?:gelöst|erledigt"
        r"|vorher)|bevor ich",
    ),
    imperatives=(
        r"(?:füll|gib|gieß|koch|lass|geh|entfern|start|füg|schreib|unterschreib|schick|leg|setz|nimm|dreh|schraub|reinig|öffne"
        r"|wähl|stell|drück|klick|lösch|installier|prüf|misch|spül|zieh|steck|warte?|nutz|verwend|führ|tipp|mach|halt|schalt"
        r"|bürst|reib|wisch|rühr|trag|lad|kopier|tausch|erhitz|back|knet|schneid|sag|ruf|bring|kauf|bestell|melde?)(?:e|en"
        r"|st|t)?"
    ),
    needs=(
        r"was (?:kann|soll|muss) (?:ich|man) (?:tun|machen)|hilfe|kein\w*|nicht|bricht|fehler|zeigt|sagt|tropft|klemmt"
        r"|kaputt|(?:ich|wir) (?:muss|müssen|brauche|will)|wie (?:kündige|bekomme|stelle) ich",
    ),
    results=(
        r"(?:geht|läuft|druckt|funktioniert|klappt)(?:'s)?(?: \w+)? (?:wieder|jetzt|super|gut)|wieder!"
        r"|jetzt (?:geht|läuft|druckt|klappt|funktioniert)",
        r"^\W*(?:läuft|erledigt|geschafft|klappt)\b|(?:hat|ist|hab)(?: \w+){0,3} (?:geklappt|funktioniert|gekommen"
        r"|aufgegangen|verschwunden|geschafft)|diesmal ist|hat funktioniert|aufgegangen",
    ),
    passing=r"für einen moment|dann (?:ging|war)|noch nicht|für mich",
    signs=(
        "funktion|klapp|läuft|lief|geht|ging|startet|druckt|gelöst|behoben|grün|weg|verschwunden|erledigt|"
        "geschafft|fehler"
    ),
)

_RELATIONS = by_word(
    {
        "wife": "frau|ehefrau", "husband": "mann|ehemann", "girlfriend": "freundin",
        "partner": "partner|partnerin|lebensgefährtin|lebensgefährte", "fiancée": "verlobte",
        "fiancé": "verlobter|verlobten", "son": "sohn|söhne|söhnen", "daughter": "tochter|töchter|töchtern",
        "child": "kind|kinder|kindern", "mother": "mutter|mama|mutti", "father": "vater|papa|papi",
        "brother": "bruder|brüder|brüdern", "sister": "schwester|schwestern", "grandmother": "oma|großmutter|omi",
        "grandfather": "opa|großvater|opi", "aunt": "tante", "uncle": "onkel", "cousin": "cousin|cousine",
        "nephew": "neffe", "niece": "nichte", "friend": "freund|bester freund|beste freundin|kumpel|freunden",
        "boss": "chef|chefin", "colleague": "kollege|kollegin", "roommate": "mitbewohner|mitbewohnerin",
        "neighbour": "nachbar|nachbarin", "dog": "hund|hündin|welpe|dackel|hunden|hunde|labrador|pudel|schäferhund",
        "cat": "katze|kater|katzen", "pet": "haustier", "horse": "pferd", "rabbit": "hase|kaninchen|hasen",
        "snake": "schlange", "otter": "otter", "lizard": "eidechse", "gecko": "gecko", "ferret": "frettchen",
        "hedgehog": "igel", "goat": "ziege", "donkey": "esel", "budgie": "wellensittich", "canary": "kanarienvogel",
        "parrot": "papagei", "guinea pig": "meerschweinchen", "hamster": "hamster", "tortoise": "schildkröte",
        "pony": "pony", "axolotl": "axolotl", "goldfish": "goldfisch", "alpaca": "alpaka", "tarantula": "vogelspinne",
        "grandson": "enkel", "granddaughter": "enkelin", "mother-in-law": "schwiegermutter",
        "father-in-law": "schwiegervater", "brother-in-law": "schwager", "sister-in-law": "schwägerin",
        "teacher": "lehrer|lehrerin", "doctor": "arzt|ärztin|hausarzt|hausärztin", "dentist": "zahnarzt|zahnärztin",
    }
)  # fmt: skip

_LANGUAGE_NAMES = by_word(
    {
        "German": "deutsch", "English": "englisch", "French": "französisch", "Spanish": "spanisch",
        "Italian": "italienisch", "Portuguese": "portugiesisch", "Dutch": "niederländisch", "Russian": "russisch",
        "Polish": "polnisch", "Turkish": "türkisch", "Arabic": "arabisch", "Chinese": "chinesisch",
        "Japanese": "japanisch", "Korean": "koreanisch", "Swedish": "schwedisch", "Danish": "dänisch",
        "Norwegian": "norwegisch", "Finnish": "finnisch", "Greek": "griechisch", "Hungarian": "ungarisch",
        "Czech": "tschechisch", "Ukrainian": "ukrainisch", "Croatian": "kroatisch", "Serbian": "serbisch",
        "Latin": "latein", "Romanian": "rumänisch", "Bulgarian": "bulgarisch", "Hindi": "hindi",
        "Persian": "persisch",
    }
)  # fmt: skip

_OPPOSITES = (
    "nord|süd|ost|west|norden|süden|osten|westen", "nördlich|südlich|östlich|westlich",
    "nördliche|südliche|östliche|westliche", "nördlichen|südlichen|östlichen|westlichen", "links|rechts",
    "linke|rechte|linken|rechten", "oben|unten", "vor|nach", "früh|spät", "früher|später",
    "erste|letzte|nächste|vorige", "ersten|letzten|nächsten|vorigen", "morgens|nachmittags|abends|nachts",
    "gestern|heute|morgen", "ja|nein|nicht|nie|kein|keine|keinen|immer", "mit|ohne", "mehr|weniger",
    "hoch|niedrig", "alt|neu", "heiß|kalt", "offen|geschlossen", "aktiviert|deaktiviert", "steigt|sinkt",
    "angenommen|abgelehnt", "gekauft|verkauft", "wahr|falsch", "mann|frau|junge|mädchen",
    "mutter|vater|bruder|schwester|sohn|tochter", "schwarz|weiß|rot|grün|blau|gelb",
)  # fmt: skip

GERMAN = Language(
    code="de",
    name="German",
    temporal=_TEMPORAL,
    summary=_SUMMARY,
    procedures=_PROCEDURES,
    capitalizes_nouns=True,
    talk_words=word_set(
        "sagen sagt sagte sagten gesagt erzählen erzählte erzählt reden redet redeten geredet sprechen sprach sprachen"
        " gesprochen besprochen schreiben schrieb schrieben geschrieben passiert passierte geschehen geschah los wurde"
        " nachricht nachrichten gespräch gespräche unterhaltung unterhaltungen alles etwas tag"
    ),
    function_words=word_set(
        "ab aber alle als am an auch auf aus bei bis da damals dann das dass dem den denn der des die dies diese"
        " diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es eigentlich für gibt"
        " hab habe haben hat hatte hatten im in ist ja kann kein man mal mehr mit muss nach nicht noch nun nur oder"
        " schon sein sich sie sind so soll um und vom von vor war waren was weil wenn werden wie wieder will wird wo"
        " wollte wurde zu zum zur über wann wer warum woher wohin welche welcher welches wem wen wieso weshalb womit"
        " wofür ich mir mich wir uns ihm ihn ihr seine mein meine meinen unser unsere keine dich euch dir ihnen dein"
        " deine bin bist worden können müssen sollen wollen darf mag beim seit unter gegen ohne ob sehr nein hier"
        " jetzt immer alles etwas nichts gut ganz viel viele also"
    ),
    anaphors=word_set(
        "da damals das dem den der die dies diese dieser dieses dort er es sein sie ihm ihn ihr ihre ihren ihrem"
        " seine seinen seinem jene denen deren dessen dafür davon damit dazu daran darauf darin dabei dahin daher"
    ),
    determiners=word_set(
        "das dem den der die dies diese dieser dieses sein ihr ihre ihren ihrem seine seinen seinem jene"
    ),
    articles="ein(?:e[nrms]?)?|der|die|das|den|dem",
    first_person=word_set("ich mir mich wir uns mein meine meinen meinem meiner unser unsere unseren unserem"),
    time_words=calendar_names(_TEMPORAL)
    | word_set(
        "gestern heute morgen vorgestern übermorgen letzte letzten letztes letzter nächste nächsten nächstes"
        " nächster woche wochen wochenende monat monate jahr jahre tag tage abend nachmittag nacht vormittag seit"
        " frühling sommer herbst winter frist"
    ),
    vague_time_words=word_set("neulich gerade bald"),
    conditions=(
        r"(?:wenn|falls|sobald|immer wenn) (?:ich|wir|es um)\b(?: dich)?(?: nach)?|(?:bei|zu) fragen (?:nach|zu|über)"
    ),
    interrogatives=(
        "wer|wen|wem|wessen|was|wann|wo|wohin|woher|womit|wofür|welche[rsnm]?|warum|wieso|weshalb|wie|wieviele?|ist|sind"
        "|war|waren|hat|habe|haben|hast|kann|kannst|können|wird|werden|muss|soll|darf"
    ),
    asks_how_much=r"wie ?(?:viele?|lange|oft)",
    amounts=r"eine?[nrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zweimal|einmal|paar|mehrere",
    asks_for_change=(
        r"(?:ge|ver)?änder\w*|bearbeite\w*|um(?:ge)?schr(?:ieb|ieben|eiben)|geschrieben|repariert\w*|behoben|entfernt"
        r"|gelöscht|hinzugefügt|ergänzt|umbenannt"
    ),
    asks_assistant=r"(?:hast|hattest|würdest|könntest) du|deine?[nrms]? (?:empfehl|vorschl|rat|erklär|antwort)\w*",
    discourse_markers="und|aber|oder|was ist mit|wie ist es mit|wie wäre|was noch|seit wann",
    no="keine?n?",
    conjunctions="und|sowie|plus",
    titles="dr|prof|hr|fr|frl|dipl|ing|mag|med|phil|fa",
    abbreviations=(
        r"nr|str|tel|z\.\s?b|d\.\s?h|u\.\s?a|bzw|usw|evtl|ggf|inkl|exkl|zzgl|vgl|geb|verh|bspw|sog|zt|stv|abt"
        r"|okt|dez"
    ),
    relations=_RELATIONS,
    opposites=_OPPOSITES,
    language_names=_LANGUAGE_NAMES,
    occupations=word_set(
        "lehrer arzt ärztin ingenieur entwickler programmierer krankenpfleger pfleger krankenschwester jurist anwalt"
        " anwält bäcker koch köchin kellner friseur mechaniker elektriker tischler schreiner maler architekt designer"
        " grafiker journalist autor übersetzer dolmetscher fotograf musiker schauspieler buchhalter steuerberater"
        " berater verkäufer polizist feuerwehrmann soldat pilot fahrer landwirt gärtner florist student studenten"
        " erzieher therapeut psychologe psycholog physiker chemiker biologe biologin mathematiker informatiker"
        " wissenschaftler forscher professor dozent hebamme apotheker zahnarzt zahnärztin tierarzt tierärztin rentner"
        " hausmann hausfrau beamter beamtin sekretär manager projektmanager produktmanager softwareentwickler"
        " sozialarbeiter bauer maurer dachdecker klempner installateur richter notar makler künstler illustrator"
        " redakteur bibliothekar historiker azubi auszubildender trainer coach sanitäter logopäde logopädin"
        " physiotherapeut ergotherapeut metzger konditor schneider pfarrer lokführer kaufmann kauffrau bankkaufmann"
        " bankkauffrau industriekauffrau projektleiter teamleiter abteilungsleiter filialleiter"
        " schulleiter webentwickler systemadministrator administrator analyst doktorand"
    ),
)
