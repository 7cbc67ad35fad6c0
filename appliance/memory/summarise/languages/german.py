"""German."""

from __future__ import annotations

from appliance.memory.summarise.languages.table import Language

_DAY = "(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
_LATER = (
    r"(?:dir|euch|ihnen|ihm|ihr|uns|morgen|nachher|gleich|heute|später|noch"
    rf"|(?:bis|am|vor) (?:{_DAY}|morgen|ende))"
)
_UP_TO_8 = r"(?:[\wäöüß,-]+ ){0,8}?"

GERMAN = Language(
    name="German",
    nouns=True,
    small=frozenset(
        "der die das den dem des ein eine einen einem einer eines und oder aber auch nicht kein keine ich"
        " du er sie es"
        " wir ihr mich dich sich uns euch mir dir ihm ihn ihnen mein meine meinen dein deine sein seine"
        " unser unsere"
        " ist sind war waren bin bist wird werden wurde worden habe hat haben hatte kann können muss"
        " müssen soll sollen"
        " will wollen darf mag in im an am auf aus bei beim mit nach seit von vom vor zu zum zur für über"
        " unter um durch"
        " gegen ohne als wie wenn weil dass ob da dann so noch nur schon sehr mal ja nein doch was wer wo"
        " wann warum hier"
        " dort diese dieser dieses jetzt immer mehr man alle alles etwas nichts gut ganz viel viele also"
        " eigentlich".split()
    ),
    own=frozenset("ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren".split()),
    times=frozenset(
        "gestern heute morgen vorgestern übermorgen letzte letzten letztes letzter nächste nächsten"
        " nächstes nächster"
        " woche wochen wochenende monat monate jahr jahre tag tage abend nachmittag nacht vormittag"
        " neulich gerade bald"
        " seit montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz april mai"
        " juni juli"
        " august september oktober november dezember frühling sommer herbst winter frist".split()
    ),
    decided=(
        rf"(?:ich|wir) (?:habe|haben) {_UP_TO_8}(?:entschieden|beschlossen|vereinbart|ausgemacht|geeinigt)",
        rf"(?:habe ich|haben wir) {_UP_TO_8}(?:entschieden|beschlossen|vereinbart|ausgemacht|geeinigt)",
        r"es (?:ist|wurde) (?:jetzt |nun |schon )?(?:entschieden|beschlossen|abgemacht)"
        r"|(?:ist )?beschlossene sache",
        r"(?:wir|ich) (?:bleiben|bleibe) (?:jetzt |nun |also |doch )*(?:bei|beim)",
        r"(?:wir|ich) (?:nehmen|nehme|wechseln|wechsle) (?:jetzt |nun |also |dann |doch )+(?:[\wäöüß-]+)",
        r"lass(?:t)? uns (?:[\wäöüß-]+ ){1,4}(?:nehmen|verwenden|nutzen|bleiben)",
        r"(?:die|unsere|meine) entscheidung (?:ist|lautet|fiel)(?! (?:noch|nicht|schwer))"
        r"|entscheidung(?=:)",
        r"abgemacht(?=[.!:,]|$)|wir einigten uns|wir beschlossen|der plan ist(?:,| jetzt)",
    ),
    promised=(
        r"(?:ich werde|werde ich|wir werden|werden wir) (?:\w+ ){0,2}(?=[a-zäöü])",
        r"(?:ich kümmere mich|kümmere ich mich|ich melde mich|melde ich mich|wir kümmern uns"
        r"|wir melden uns)",
        r"(?:ich (?:übernehme|erledige)|(?:übernehme|erledige) ich|wir (?:übernehmen"
        r"|erledigen)) (?=[a-zäöü])",
        r"ich (?:schicke|sende|schreibe|rufe|bringe|hole|besorge|frage|bestelle|buche|reserviere|kaufe"
        r"|organisiere"
        rf"|liefere|prüfe|mache|baue) (?:[\wäöüß]+ ){{0,3}}?{_LATER}(?!\w)",
        r"(?:schicke|sende|bestelle|buche|prüfe|reserviere|besorge|kaufe|hole) ich (?:dir|euch|ihnen|das"
        r"|die|den|es)",
        r"(?:ich|wir) verspreche[n]?",
    ),
    idle=(
        r"(?:nie|nicht|immer|dich vermissen|sehen|mal sehen|sterben|verrückt|alt|vermutlich|wohl"
        r"|vielleicht)\b",
    ),
    open=(
        r"to-?do(?=:)|offene (?:frage|punkt|punkte|fragen)|(?:ist|bleibt|sind"
        r"|bleiben)(?: noch)? offen(?=[.,:;!]|$)",
        r"(?:muss|müssen|sollte|sollten) (?:ich|wir)(?: [\wäöüß]+){0,4} noch",
        r"(?:ich|wir) (?:muss|müssen|sollte|sollten)(?: [\wäöüß]+){0,4} noch",
        r"noch (?:nicht|nichts) (?:\w+ )?(?:entschieden|geklärt|klar|festgelegt|gelöst|fertig|erledigt)",
        r"(?:warte|warten)(?: (?:ich|wir))? (?:noch )?auf|steht noch aus|ist (?:noch )?(?:unklar"
        r"|ungeklärt)",
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
        r"zusammenfassend|kurz gesagt|im ergebnis|unterm strich|letztlich|fazit(?=:)|ergebnis(?=:)"
        r"|das heißt,? dass",
        r"(?:ursache|ergebnis|lösung|grund) (?:ist|war|lautet|liegt)|es stellt[e]? sich heraus|folglich",
        r"ich (?:empfehle|rate)|ich würde (?:[\wäöüß]+ ){0,4}empfehlen|meine empfehlung",
    ),
    unknown=(
        r"weiß (?:ich )?(?:es |das )?(?:noch |leider )?nicht|keine ahnung|nicht sicher|schwer zu sagen",
        r"ich (?:schaue|frage|sehe|denke)(?: \w+){0,3} nach|muss ich (?:\w+ ){0,3}(?:fragen|nachsehen"
        r"|prüfen|klären)",
    ),
    denied=(r"nicht|nie|niemals|kein\w*|niemand|nichts|weder|ohne|kaum|fast|beinahe",),
    supposed=(
        r"wenn|falls|ob|angenommen|hätte[n]?|wäre[n]?|würde[n]?|vielleicht|eventuell|hoffentlich|hoffe"
        r"|stell dir vor"
        r"|zum beispiel|könnte[n]?",
    ),
    offers=(
        r"möchtest du|möchten sie|soll ich|kann ich (?:dir|ihnen|sonst|noch)|brauchst du noch"
        r"|gibt es noch|hast du noch"
        r"|haben sie noch|hilft (?:dir|ihnen) das|passt das|wie kann ich",
    ),
    greets=(
        r"hallo|hi|hey|moin|servus|grüß (?:gott|dich)|guten (?:tag|morgen|abend)|gute nacht|danke"
        r"|vielen dank|tschüss"
        r"|bis (?:dann|bald|später|morgen)|gerne?|kein problem|klar|okay|ok|super|toll|cool|schön|ja|nein"
        r"|nee|genau"
        r"|stimmt|natürlich|sicher|perfekt|wunderbar|prima|gute frage|wie geht(?:'s| es)|alles (?:gut"
        r"|klar)|lg"
        r"|(?:liebe|viele) grüße|glückwunsch|viel (?:glück|spaß|erfolg)|freut mich"
        r"|das (?:klingt|ist) (?:gut|super|toll|schön)",
    ),
    fills=(
        r"sag (?:mir )?(?:einfach )?bescheid|sagen sie bescheid|lasst? es mich wissen"
        r"|lassen sie es mich wissen"
        r"|ich hoffe,? das hilft|(?:wenn|falls) (?:du|sie) (?:noch )?(?:weitere )?fragen"
        r"|mit freundlichen grüßen"
        r"|melde dich (?:gern|jederzeit)|gerne helfe ich|von meinem \w+ gesendet"
        r"|hier (?:ist|sind) (?:ein|eine|die|der|das|einige)\b[^.]*:$",
    ),
)
