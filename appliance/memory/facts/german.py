"""The fact rules of German: how people say who they are, what they have and what they want."""

# A rule is one line, however long.
# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from dataclasses import replace

from appliance import languages
from appliance.languages.language import full_names
from appliance.memory.facts.grammar import (
    AGE,
    AGED,
    CHANGE,
    DATED,
    NUMBERED,
    FactGrammar,
    FactRule,
    clause_opening,
    longest_first,
    opening,
    pattern,
)

_REL = rf"(?P<rel>{longest_first(languages.GERMAN.relations)})\b"
_OLDER = r"(?:(?:ältere|jüngere|kleine|große|älteste|jüngste|beide|neue|beste|liebe)[rnsm]? |zwei |drei |vier ){0,2}"
_MY = rf"\b(?:mein|unser)(?:e[nmr]?)? {_OLDER}{_REL}"
_A = r"(?:ein|eine|einen|zwei|drei|vier|'nen|nen)"
_DISTANT = r"(?!meine? (?:nachbar|chef|kolleg|lehrer|arzt|ärztin|hausarzt|zahnarzt|mitbewohner))"
_WHO = rf"\b(?:mein|meine|unser|unsere) {_OLDER}{_REL}(?: (?P<who>[^\W\d_][\w-]{{1,24}}))?,? "
_ADV = r"(?: (?:ja|auch|jetzt|derzeit|aktuell|momentan|gerade|seit \d{4}|seit kurzem|noch|immer noch|hier|eigentlich|sehr|total|wirklich|echt|meistens|übrigens|nun|inzwischen|mittlerweile|leider|seit \w+ (?:jahr|jahren|monat|monaten|wochen)))?"
_NOUNS = frozenset(
    "urlaub streit probleme zeit kontakt geld deutsch englisch essen ärger hilfe angst tennis fußball schach musik sport auto"
    " fahrrad kaffee wein filme serien karten spaß schluss pech glück recht unrecht besuch geburtstag weihnachten ostern pläne"
    " medikamente fotos blumen bücher spiele fieber krebs corona diabetes asthma schmerzen brot fleisch fisch abend morgen mittag"
    " nachts heute gestern pizza kuchen yoga skat bescheid tschüss danke bitte entschuldigung klavier gitarre schule kita arbeit"
    " gassi hausaufgaben schuhe möbel lebensmittel kleidung unterwegs hand händchen mühle poker basketball handball"
    " sonntags samstags freitags abends morgens vollzeit teilzeit krankheit termine ferien party ruhe gesellschaft".split()
)
_ADVERBS = rf"{_ADV}{_ADV}"
_WITH = r"(?:,? (?:zusammen |gemeinsam )?mit mein(?:e[nmr])?(?: [\wäöüß-]+){1,3}?(?: und (?:unsere[nm]?|meine[nmr]?|den|zwei)(?: [\wäöüß-]+){1,3}?)?)?"
_I = r"\b(?:ich|wir)"
_EVENT = (
    r"(?:hochzeit|prüfung|klausur|deadline|abgabe(?:frist|termin)?|frist|zahnarzttermin|arzttermin|termin|vorstellungsgespräch|flug|umzug"
    r"|operation|op|abschluss|verteidigung|konferenz|reise|präsentation|fahrprüfung|konzert|feier|vortrag|einschulung|urlaub|taufe)"
)
_EVENTS = {
    "hochzeit": "wedding", "prüfung": "exam", "klausur": "exam", "abgabe": "deadline", "abgabefrist": "deadline",
    "abgabetermin": "deadline", "frist": "deadline", "termin": "appointment", "zahnarzttermin": "dentist appointment",
    "arzttermin": "doctor's appointment", "vorstellungsgespräch": "interview", "flug": "flight", "umzug": "move",
    "fliege": "flight", "fliegen": "flight", "ziehe": "move", "ziehen": "move", "um": "move", "verreise": "trip", "verreisen": "trip",
    "heirate": "wedding", "heiraten": "wedding", "vortrag": "talk", "urlaub": "holiday", "feier": "party", "konzert": "concert",
    "operation": "operation", "op": "operation",
    "fahrprüfung": "driving test", "reise": "trip", "konferenz": "conference", "präsentation": "presentation",
}
# "Gib mir Tipps, wie ich in Zukunft motiviert bleibe" asks once.
_ONE_REQUEST = r"(?!(?:bitte )?(?:gib|zeige?|nenne?|sage?|erkläre?|schreibe?) (?:mir|uns)\b[^\n]{0,80}\b(?:wie|was|womit|warum|wo|wann|ob|damit|um|welche[mnrs]?)\b[^\n]{0,80}\b(?:in zukunft|künftig)\b)"
_ORDER = r"(?:antworte|antworten sie|schreib|schreibe|verwende|benutz|benutze|nutze|gib|zeig|zeige|nenne|nenn|erklär|erkläre|sprich|rede|duze|sieze|formatiere|füge|halte|fass|fasse|mach|mache|sag|sage|rechne|runde|übersetze|vermeide|lass|begründe|verzichte|stell|stelle|frag|frage|achte|denk|denke|beginne|bleib|setze|zitiere)"

# When something happened, between "ich habe" and what it was.
_LATELY = r"(?: (?:gerade|gestern|vorgestern|heute|endlich|neulich|kürzlich|vor kurzem|letzte[nrs]? [\wäöüß]+|vor [\wäöüß]+ [\wäöüß]+|im [\wäöüß]+)){0,2}"
_SELF_OPENING = opening(r"(?:(?:ich|wir)\b|mein|unser)")
_CLAUSE_OPENING = clause_opening(r"(?:(?:ich|wir)\b|mein|unser)")
_OWNED = frozenset(("mein", "unse"))
_RELATION_OPENING = opening(_MY.removeprefix(r"\b"))
_RELATED = tuple(languages.GERMAN.relations)
_DATED = tuple("hochzeit prüfung klausur deadline abgabe frist zahnarzttermin arzttermin termin vorstellungsgespräch flug umzug operation op abschluss verteidigung konferenz reise präsentation fahrprüfung konzert feier vortrag einschulung urlaub taufe".split())

_AT_ORG = FactRule("bei", "profile", "employer", (), pattern(r",? (?:bei|für) (?:der |dem |die )?"), "org")
_FOODS = r"(?P<value>alkohol|kaffee|milch|koffein|bier|wein|cola|schwarzen tee|fleisch|schweinefleisch|rindfleisch|fisch|gluten|weizen|zucker|eier|milchprodukte|laktose|nüsse|meeresfrüchte|käse|schokolade)\b"
_AWHILE = pattern(r"[^\n,;]{0,15}\b(?:heute|diese woche|bis|nach \d|abends|morgens|vor dem|ohne|wenn|außer|jeden tag)\b")
_WEEKDAYS = full_names(languages.GERMAN.temporal.weekdays)
_DAY = rf"(?:(?:{'|'.join(_WEEKDAYS)})s?|abend|morgen|tag|woche|wochenende)"
_DAYS_PLURAL = rf"(?:(?:{'|'.join(_WEEKDAYS)})s)"
_REGULARLY = rf"(?:(?:jede[nrs]?|an jedem) (?:zweiten |zweite )?{_DAY}(?: und {_DAY})?|(?:immer )?{_DAYS_PLURAL}(?:(?:,| und) {_DAYS_PLURAL}){{0,4}}|(?:ein|zwei|drei|vier|fünf)mal (?:pro|die|in der) woche)(?: (?:vor|nach) der (?:arbeit|schule))?"
_HABIT = r"(?:jogge|laufe|schwimme|klettere|tanze|boxe|trainiere|meditiere|turne|rudere|faste|koche|backe|singe|radle|wandere|arbeite|spiele (?!dort|da\b|hier|oft|gern)[\wäöüß-]+|mache [\wäöüß-]+|gehe [\wäöüß-]+|fahre [\wäöüß-]+|unterrichte [\wäöüß-]+)"
_STYLE = r"(?:emojis?|aufzählungen|aufzählungszeichen|fachbegriffe|anglizismen|smileys|tabellen|floskeln|ausrufezeichen|gendersternchen)"
_SOON = r"(?=(?:am|bis|zum|auf|den|der|morgen|übermorgen|nächst\w*|kommend\w*|diesen|in \w+ (?:tag|woch)\w*|\d))"

# "Ich wohne nicht mehr in Wien, sondern in Linz": what holds instead of what is denied.
_SONDERN = r",? sondern (?:jetzt |nun |inzwischen |mittlerweile |seit \w+ )?"
_SONDERN_IN = FactRule("sondern in", "profile", "home", (), pattern(rf"{_SONDERN}in "), "capital place")

_RULES = (
    FactRule("ich heiße", "profile", "name", ("heiße", "heisse"), pattern(r"\bich (?:heiße|heisse)(?: übrigens)? "), "person", confidence=0.95, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("mein name ist", "profile", "name", ("name ist", "name lautet"), pattern(r"\bmein (?:voller )?name (?:ist|lautet) "), "person", confidence=0.95, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("nenn mich", "profile", "called", ("nenn", "sag "), pattern(r"\b(?:nenn|nennt|nenne|nennen sie) mich(?: bitte| einfach| doch| gern| gerne)? "), "person", can_follow_words=True),
    FactRule("du kannst mich nennen", "profile", "called", ("mich",), pattern(r"\bdu (?:kannst|darfst) mich (?:gern |gerne |einfach |ruhig )?(?P<value>[^\W\d_][\w-]{1,24}) nennen\b"), can_follow_words=True),
    FactRule("alter", "profile", "age", ("jahre", "bin"), pattern(r"(?:\b(?:ich|und)|(?:^|(?<=[\n.!]))[ \t]*(?=bin)) ?bin(?: jetzt| gerade| schon| erst| übrigens)? (?=\d)"), "number", follows=pattern(r" (?:jahre alt|jahre jung|geworden)\b|[ \t]*$|[.,;!]| und\b"), can_follow_words=True, required_prefixes=NUMBERED),
    FactRule("geburtstag", "profile", "birthday", ("geburtstag",), pattern(r"\b(?:mein geburtstag ist|ich habe|ich hab)(?: immer)? (?=am |der )"), "birthday", can_follow_words=True, confidence=0.9, follows=pattern(r"[ \t]*(?:$|[.,;!)])| geburtstag\b"), begins=_CLAUSE_OPENING),
    FactRule("geboren am", "profile", "birthday", ("geboren",), pattern(r"\bich (?:bin|wurde) "), "birthday", follows=pattern(r" (?:geboren|in [\wäöüß-]+ geboren)\b"), begins=_SELF_OPENING),
    FactRule("wohne in", "profile", "home", ("wohn", "wohnen", "wohne", "lebe", "leben", "leb"), pattern(rf"(?:{_I}|\bund) (?:wohne|wohn|lebe|leb|wohnen|leben){_ADVERBS}{_WITH} (?:in der nähe von|nahe|bei|in) "), "place", confidence=0.9, can_follow_words=True, unless=pattern(r" (?:nicht|gewohnt)\b")),
    FactRule("und wohne in", "profile", "home", ("wohn", "wohne", "lebe"), pattern(rf"(?:\bund|,|(?:^|(?<=[\n.!]))[ \t]*(?=(?:wohne|lebe))) ?(?:wohne|wohn|lebe){_ADVERBS}{_WITH} in "), "place", confidence=0.85, can_follow_words=True),
    FactRule("seit wohne ich", "profile", "home", ("wohne ich", "lebe ich", "wohnen wir", "leben wir"), pattern(rf"\b(?:\d{{4}}|jetzt|derzeit|momentan|aktuell|inzwischen|mittlerweile|jahren?|monaten?|kurzem|wochen) (?:wohne ich|lebe ich|wohnen wir|leben wir){_ADV}{_WITH} in "), "place", can_follow_words=True),
    FactRule("von nach gezogen", "profile", "home", (" von ", "gezogen"), pattern(rf"{_I} (?:bin|sind)(?: [\wäöüß]+){{0,4}}? von "), "place", "ended", continuations=(FactRule("nach", "profile", "home", (), pattern(r" nach "), "place"),), can_follow_words=True, follows=pattern(r" nach [^\n,.]{2,40} (?:um)?gezogen"), begins=_SELF_OPENING),
    FactRule("nach gezogen", "profile", "home", ("gezogen",), pattern(rf"(?:{_I} (?:bin|sind)|\b(?:bin|sind) (?:ich|wir))(?! von)(?: (?!von)[\wäöüß]+){{0,4}}? nach "), "place", can_follow_words=True, follows=pattern(r" (?:um)?gezogen\b")),
    FactRule("wohne nicht mehr", "profile", "home", ("nicht mehr",), pattern(rf"{_I} (?:wohne|wohn|lebe|wohnen|leben){_ADV} nicht mehr in "), "place", "ended", can_follow_words=True, begins=_SELF_OPENING, continuations=(_SONDERN_IN,)),
    FactRule("wohne nicht, sondern", "profile", "home", ("sondern",), pattern(rf"{_I} (?:wohne|wohn|lebe|wohnen|leben){_ADV} nicht in "), "place", "ended", can_follow_words=True, begins=_SELF_OPENING, follows=pattern(_SONDERN), continuations=(_SONDERN_IN,)),
    FactRule("in ORT wohne ich nicht mehr", "profile", "home", ("nicht mehr",), pattern(r"\bin (?P<value>[\wäöüß.-]+(?: [\wäöüß-]+)?) (?:wohne|wohn|lebe|wohnen|leben) (?:ich|wir) (?:jetzt |nun |schon )?(?:lange |länger )?nicht mehr\b"), "", "ended", can_follow_words=True, continuations=(_SONDERN_IN,)),
    FactRule("früher gewohnt", "profile", "home", ("gewohnt", "gelebt"), pattern(rf"{_I} (?:habe|hab|haben)(?: (?:früher|mal|lange|damals|bis \d{{4}}|von \d{{4}} bis \d{{4}}|einmal|\w+ jahre(?: lang)?)){{0,2}} in "), "place", "ended", can_follow_words=True, follows=pattern(r"(?: [\wäöüß]+){0,3} (?:gewohnt|gelebt)\b"), begins=_SELF_OPENING),
    FactRule("früher habe ich", "profile", "home", ("gewohnt", "gelebt"), pattern(r"\b(?:früher|damals|bis \d{4}|davor) (?:habe|hab|haben) (?:ich|wir)(?: lange)? in "), "place", "ended", can_follow_words=True, follows=pattern(r"(?: [\wäöüß]+){0,3} (?:gewohnt|gelebt)\b")),
    FactRule("komme aus", "profile", "origin", ("komme", "stamme", "aufgewachsen"), pattern(r"\bich (?:komme|komm|stamme|bin)(?: ursprünglich| eigentlich)? aus (?:der )?"), "place", confidence=0.8, unless=pattern(r" (?:zurück|raus|nicht)\b"), begins=_SELF_OPENING),
    FactRule("aufgewachsen in", "profile", "origin", ("aufgewachsen",), pattern(r"\bich bin in "), "place", confidence=0.8, follows=pattern(r" (?:aufgewachsen|groß geworden)\b"), begins=_SELF_OPENING),
    FactRule("arbeite bei", "profile", "employer", ("arbeite", "angestellt", "beschäftigt"), pattern(rf"\b(?:ich (?:arbeite|arbeit)|und arbeite|ich bin){_ADVERBS}(?: als [\wäöüß-]+)? (?:bei|für) (?:der |dem |die )?"), "org", can_follow_words=True, unless=pattern(r" nicht\b| (?:zu besuch|im)\b"), continuations=(FactRule("als", "profile", "job", (), pattern(r",? als "), "job"),)),
    FactRule("seit arbeite ich", "profile", "employer", ("arbeite ich", "arbeiten wir"), pattern(rf"\b(?:seit [\wäöüß]+(?: [\wäöüß]+){{0,2}}?|jetzt|derzeit|momentan|aktuell|inzwischen|mittlerweile) arbeite ich{_ADVERBS} (?:bei|für) (?:der |dem |die )?"), "org", can_follow_words=True, unless=pattern(r" nicht\b"), continuations=(FactRule("seit als", "profile", "job", (), pattern(r",? als "), "job"),)),
    FactRule("spiele INSTRUMENT", "profile", "plays", ("spiele", "spielt"), pattern(rf"\b(?:ich|und) spiele{_ADVERBS}(?: gern| gerne)? (?P<value>geige|klavier|gitarre|bratsche|cello|kontrabass|flöte|querflöte|blockflöte|klarinette|oboe|fagott|trompete|posaune|tuba|saxophon|saxofon|schlagzeug|harfe|orgel|akkordeon|ukulele|e-gitarre|bass|mundharmonika|horn)\b"), can_follow_words=True, confidence=0.85, unless=pattern(r" (?:nicht|lernen|nur|wie)\b")),
    FactRule("arbeite als", "profile", "job", ("arbeite",), pattern(rf"(?:\bich|\bund|,|(?:^|(?<=[\n.!]))[ \t]*(?=arbeite)) ?arbeite{_ADVERBS}(?: (?:bei|in|an) (?:der |einem |einer )?[\wäöüß-]+)? als "), "job", can_follow_words=True, continuations=(_AT_ORG,)),
    FactRule("als BERUF", "profile", "job", ("als",), pattern(r"(?:^|(?<=[\n.!]))[ \t]*(?:denn |und )?als "), "job", follows=pattern(r" (?:arbeite|bin|muss|verdiene|brauche) ich\b"), confidence=0.7, begins=_CLAUSE_OPENING),
    FactRule("bin BERUF", "profile", "job", ("bin",), pattern(rf"\b(?:ich|und) bin{_ADV}(?: (?:von beruf|gelernter|gelernte|freiberufliche[r]?|selbstständige[r]?|angehende[r]?))? "), "job", can_follow_words=True, unless=pattern(r" (?:werden|gewesen|geworden|gespannt)\b")),
    FactRule("gekündigt", "profile", "employer", ("gekündigt", "arbeite nicht mehr"), pattern(r"\b(?:ich habe(?: gerade| letzte woche)? (?:bei|meinen job bei)|ich arbeite nicht mehr (?:bei|für)) "), "org", "ended", can_follow_words=True, begins=_SELF_OPENING),
    FactRule("arbeite nicht mehr in", "profile", CHANGE, ("nicht mehr",), pattern(r"\bich arbeite(?: jetzt| nun)? nicht mehr (?:in|an|im|am|auf|beim|bei|für) (?:der |dem |einer |einem |die )?"), "org", "ended", can_follow_words=True, begins=_SELF_OPENING, continuations=(FactRule("sondern bei", "profile", "employer", (), pattern(r",? sondern (?:jetzt |nun |inzwischen )?(?:als [\wäöüß-]+ )?(?:bei|für|in|an) (?:der |dem |einer |einem )?"), "org", continuations=(FactRule("sondern bei als", "profile", "job", (), pattern(r",? als "), "job"),)),)),
    FactRule("bin selbstständig", "profile", "employment", ("selbst", "freiberuf", "arbeitslos", "rente", "rentner", "ruhestand", "elternzeit", "pensioniert", "arbeitssuchend"), pattern(rf"\b(?:ich|und) bin{_ADVERBS} (?P<value>selbstst?ändig|freiberuflich|freiberufler(?:in)?|arbeitslos|arbeitssuchend|rentner(?:in)?|in rente|im ruhestand|in elternzeit|pensioniert)\b"), can_follow_words=True, confidence=0.85, unless=pattern(r" (?:genug|und (?:verantwort|zuverläss)|zuständ|gewesen|\w+in\b)")),
    FactRule("arbeite freiberuflich", "profile", "employment", ("freiberuf", "selbst"), pattern(rf"\b(?:ich|und) arbeite{_ADVERBS} (?:als )?(?P<value>freiberuflich|selbstst?ändig|freiberufler(?:in)?)\b"), can_follow_words=True, unless=pattern(r" (?:im|in|an|mit|und zuver)\b")),
    FactRule("bei FIRMA gekündigt", "profile", "employer", ("gekündigt",), pattern(rf"\b(?:ich habe|habe ich|wir haben){_LATELY} (?:meinen job |meine stelle )?bei (?:der |dem )?"), "org", "ended", can_follow_words=True, follows=pattern(r" gekündigt\b")),
    FactRule("bei FIRMA angefangen", "profile", "employer", ("angefangen", "begonnen"), pattern(rf"\b(?:ich habe|habe ich){_LATELY} bei (?:der |dem )?"), "org", can_follow_words=True, follows=pattern(r"(?: als [\wäöüß-]+)? (?:angefangen|begonnen)\b(?! zu)")),
    FactRule("habe mich selbstständig gemacht", "profile", "employment", ("gemacht",), pattern(r"\bich habe mich(?: [\wäöüß]+){0,3}? (?P<value>selbstst?ändig) gemacht\b"), can_follow_words=True),
    FactRule("wohne in der STRASSE", "profile", "address", ("wohn", "wohne", "wohnen"), pattern(r"\b(?:ich|wir) (?:wohne|wohnen|wohn)(?: jetzt| nun)?(?: in der| in| am| im| an der| auf der)? (?P<value>[\wäöüß.-]*(?:straße|strasse|str\.|gasse|weg|allee|platz|ring|ufer|damm|chaussee) \d{1,4}\w?\b(?:,? (?:in )?(?:\d{5} )?(?!und\b|mit\b|aber\b|seit\b)[\wäöüß-]+)?)"), confidence=0.85, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING, continuations=()),
    FactRule("wohne in der STRASSE in", "profile", "home", ("wohn", "wohne", "wohnen"), pattern(r"\b(?:ich|wir) (?:wohne|wohnen|wohn)(?: jetzt| nun)?(?: in der| in| am| im| an der| auf der)? [\wäöüß.-]*(?:straße|strasse|str\.|gasse|weg|allee|platz|ring|ufer|damm|chaussee) \d{1,4}\w?\b,? (?:in |\d{5} |in \d{5} )"), "capital place", confidence=0.85, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("meine wohnung ist in", "profile", "home", ("wohnung", "haus", "zuhause"), pattern(r"\b(?:mein|meine|unser|unsere) (?:neue |neues )?(?:wohnung|haus|zuhause|wg) (?:ist|liegt)(?: jetzt)? in "), "capital place", confidence=0.8, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("getrennt", "relation", "status", ("getrennt", "trennt"), pattern(r"\b(?:ich habe mich(?: [\wäöüß]+){0,3}? von mein(?:em|er) (?:mann|frau|freund|freundin|partner|partnerin) |ich lebe |wir leben |ich bin |(?:mein mann|meine frau|mein partner|meine partnerin) und ich (?:haben uns|leben)(?: [\wäöüß]+){0,3}? )(?P<value>getrennt)\b"), can_follow_words=True, confidence=0.85, begins=_SELF_OPENING),
    FactRule("haben uns getrennt", "relation", "partner", ("getrennt", "schluss gemacht"), pattern(r"\b(?:ich habe mich(?: [\wäöüß]+){0,3}? von mein(?:em|er) (?:mann|frau|freund|freundin|partner|partnerin)|(?:mein(?:e)? (?:mann|frau|freund|freundin|partner|partnerin) und ich|wir) haben (?:uns|schluss)(?: [\wäöüß]+){0,3}?) (?:getrennt|gemacht)\b"), "", "ended", value="", can_follow_words=True, confidence=0.75, begins=_SELF_OPENING),
    FactRule("ziehe nach", "project", "plans", ("ziehe", "ziehen"), pattern(rf"{_I} (?:ziehe|ziehen)(?: (?:bald|demnächst|wieder|zurück|jetzt|endlich)){{0,2}} nach "), "capital place", value="nach {value} ziehen", confidence=0.8, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("studiere", "profile", "studies", ("studiere",), pattern(rf"\b(?:ich|und) studiere{_ADVERBS} (?!in |an |noch|gern|seit)"), "thing", continuations=(FactRule("an", "profile", "school", (), pattern(r" an der "), "org"),), can_follow_words=True),
    FactRule("spreche", "profile", "language", ("spreche", "muttersprache"), pattern(rf"(?:\bich spreche{_ADV}(?: fließend)?|\bmeine muttersprache ist) "), "tongue", accepts_list=True, begins=_CLAUSE_OPENING),
    FactRule("lerne", "profile", "learns", ("lerne",), pattern(rf"\bich lerne{_ADVERBS} "), "tongue", begins=_SELF_OPENING),
    FactRule("ernährung", "profile", "diet", ("vega", "vege", "pesc"), pattern(rf"(?:\b(?:ich|und) bin{_ADVERBS}|\bich (?:ernähre mich|esse|lebe){_ADV}) (?P<value>vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch|pescetarier(?:in)?)\b"), can_follow_words=True, unless=pattern(r" (?:essen|kochen|werden)\b")),
    FactRule("bin vegetarier", "profile", "diet", ("vega", "vege", "pesc"), pattern(rf"(?:(?:^|(?<=[\n.!,]))[ \t]*|\b(?:und|aber) )bin{_ADVERBS} (?P<value>vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch|pescetarier(?:in)?)\b"), can_follow_words=True, unless=pattern(r" (?:essen|kochen|werden)\b")),
    FactRule("trinke kein mehr", "profile", "diet", ("trinke", "esse", "vertrage", "verzichte", "rühre"), pattern(rf"(?:\bich|\bund|(?<=,)|^)[ \t]?(?:trinke|esse|vertrage|trinke ich|esse ich|vertrage ich){_ADVERBS} (?:gar |überhaupt |absolut )?keine?n? {_FOODS}"), value="kein {value}", can_follow_words=True, unless=_AWHILE),
    FactRule("seit trinke ich kein", "profile", "diet", ("trinke", "esse"), pattern(rf"\b(?:seit|inzwischen|mittlerweile)(?: [\wäöüß.]+){{0,4}} (?:trinke|esse|vertrage) ich{_ADV} (?:gar |überhaupt )?keine?n? {_FOODS}"), value="kein {value}", can_follow_words=True, unless=_AWHILE),
    FactRule("verzichte auf", "profile", "diet", ("verzichte", "aufgehört"), pattern(rf"\bich (?:verzichte{_ADVERBS} auf|habe{_ADVERBS} mit) (?:dem |den |die |das )?{_FOODS}"), value="kein {value}", can_follow_words=True, unless=_AWHILE, follows=pattern(r"[ \t]*(?:$|[.,;!)]| und\b| aufgehört\b| seit\b)"), begins=_SELF_OPENING),
    FactRule("rauche nicht", "profile", "habit", ("rauch",), pattern(r"\b(?:ich rauche (?:nicht mehr|nicht)\b|ich bin nichtraucher(?:in)?\b|ich habe (?:[\wäöüß]+ ){0,4}(?:mit dem rauchen aufgehört|aufgehört zu rauchen))"), value="nicht rauchen", can_follow_words=True, confidence=0.8, begins=_SELF_OPENING),
    FactRule("gewohnheit", "profile", "habit", ("jede", "woche", *(f"{day}s" for day in _WEEKDAYS)), pattern(rf"\b(?:ich|und|wir) (?P<value>{_HABIT}(?: immer| meistens| normalerweise)? {_REGULARLY})"), can_follow_words=True, confidence=0.8),
    FactRule("gewohnheit, ich", "profile", "habit", ("jede", "woche", *(f"{day}s" for day in _WEEKDAYS)), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:und )?(?P<value>{_REGULARLY} {_HABIT}) ich\b"), can_follow_words=True, confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("kein vegetarier mehr", "profile", "diet", ("kein",), pattern(r"\bich bin keine? (?P<value>vegetarier(?:in)?|veganer(?:in)?) mehr\b"), "", "ended", begins=_SELF_OPENING),
    FactRule("esse kein", "profile", "diet", ("esse kein",), pattern(rf"\bich esse keine?n? {_FOODS}"), value="kein {value}", can_follow_words=True, unless=_AWHILE, begins=_SELF_OPENING),
    FactRule("trinke kein", "profile", "diet", ("trinke kein",), pattern(rf"\bich trinke keinen? {_FOODS}"), value="kein {value}", can_follow_words=True, unless=_AWHILE, begins=_SELF_OPENING),
    FactRule("allergisch gegen", "profile", "allergy", ("allergi",), pattern(r"\bich (?:bin|reagiere)(?: seit [^\n,.]{2,20}?)?(?: sehr| stark| leider| auch)? (?:allergisch (?:gegen|auf)|gegen(?! \w+ nicht)) "), "thing", accepts_list=True, can_follow_words=True, confidence=0.9, follows=pattern(r"(?: allergisch|[ \t]*$|[.,;!)]| und\b| also\b)"), begins=_SELF_OPENING),
    FactRule("gegen X allergisch", "profile", "allergy", ("allergisch",), pattern(r"\bich bin (?:leider |auch |stark )?gegen (?P<value>[\wäöüß-]+(?: (?!und\b|nicht\b)[\wäöüß-]+)?) allergisch\b"), can_follow_words=True, confidence=0.95, begins=_SELF_OPENING),
    FactRule("allergie", "profile", "allergy", ("ich habe", "ich hab"), pattern(r"\bich (?:habe|hab) (?:eine )?(?:starke |schwere )?(?P<value>[\wäöüß]+?)allergie\b"), can_follow_words=True, begins=_SELF_OPENING),
    FactRule("krankheit", "profile", "health", ("diabetes", "typ", "asthma", "migräne", "bluthochdruck", "neurodermitis", "zöliakie", "heuschnupfen", "rheuma", "depressionen", "adhs", "epilepsie", "diabetiker", "laktoseintolerant", "schwanger", "farbenblind", "legastheniker"), pattern(r"(?:\bich (?:habe|hab)|\bich leide (?:unter|an)|\bich bin)(?: seit [\wäöüß]+(?: [\wäöüß]+){0,2}?| leider| auch| schon| selbst){0,2} (?P<value>(?:typ[ -][12][ -])?diabetes|asthma|migräne|bluthochdruck|neurodermitis|zöliakie|heuschnupfen|rheuma|depressionen|adhs|epilepsie|diabetiker(?:in)?|laktoseintolerant|schwanger|farbenblind|legasthenikerin?)\b"), can_follow_words=True, begins=_SELF_OPENING),
    FactRule("fahre", "profile", "owns", ("fahre", "auto ist"), pattern(r"(?:\bich fahre(?: einen| ein| eine)|\bmein auto ist (?:ein|eine|einen)) "), "product", unless=pattern(r" (?:nach|zur|zum|in)\b"), confidence=0.7, follows=pattern(r"[ \t]*(?:$|[.,;!)])"), begins=_CLAUSE_OPENING),

    FactRule("REL heißt", "relation", "{rel}", ("heiß", "heiss"), pattern(rf"{_MY},? (?:heißt|heißen|heisst|heissen) "), "person", accepts_list=True, confidence=0.95, can_follow_words=True, continuations=(FactRule("und arbeitet bei", "relation", "employer", (), pattern(r",? und (?:er |sie )?arbeitet bei (?:der |dem )?"), "org", subject="{value}"), FactRule("und wohnt in", "relation", "home", (), pattern(r",? und (?:er |sie )?(?:wohnt|lebt) in "), "place", subject="{value}")), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("habe ein REL namens", "relation", "{rel}", ("namens", "heiß", "heiss"), pattern(rf"{_I} (?:habe|hab|haben) (?:[\wäöüß]+ (?:[\wäöüß]+ ){{1,3}}und )?{_A} (?:[\wäöüß]+ ){{0,2}}{_REL},? (?:namens|der|die|das|sie|er)(?: heißt| heißen)? "), "person", accepts_list=True, can_follow_words=True, confidence=0.9, unless=pattern(r" (?:hat|ist|macht|wohnt)\b"), begins=_SELF_OPENING),
    FactRule("habe ein REL, NAME heißt", "relation", "{rel}", ("heißt",), pattern(rf"{_I} (?:habe|hab|haben) {_A} (?:[\wäöüß]+ ){{0,2}}{_REL}, (?:der|die|das) (?P<value>[^\W\d_][\w-]{{1,24}}) heißt\b"), can_follow_words=True, confidence=0.95, begins=_SELF_OPENING),
    FactRule("habe zwei RELs, NAME", "relation", "{rel}", _RELATED, pattern(rf"{_I} (?:habe|hab|haben) {_A} (?:[\wäöüß]+ )?{_REL}(?:,|:) ?"), "capital person", accepts_list=True, can_follow_words=True, confidence=0.8, begins=_SELF_OPENING, required_prefixes=frozenset(("habe", "hab"))),
    FactRule("name REL ist", "relation", "{rel}", ("name mein",), pattern(rf"\bder name mein(?:er|es) {_REL} ist "), "person", can_follow_words=True),
    FactRule("REL ist TITEL NAME", "relation", "{rel}", ("dr", "prof", "frau", "herr", "hr", "fr"), pattern(rf"{_MY} ist (?:der |die )?(?=(?:dr|prof|frau|herr|hr|fr)\b)"), "capital person", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED, follows=pattern(r"[ \t]*(?:$|[.,;!?)]| (?:in|aus|und|am|von)\b)")),
    FactRule("REL NAME", "relation", "{rel}", _RELATED, pattern(rf"{_MY} "), "capital person", is_presupposed=True, confidence=0.8, follows=pattern(r"(?:,| (?:ist|hat|wohnt|arbeitet|kommt|lebt|und|mag|liebt|will|wird|geht|macht|war|studiert|spielt|isst|trinkt|kann|in|nach|aus|zu|bei|zusammen|seit|am|schläft|möchte|schenken|fährt|feiert|hatte|nicht|unbedingt|eine?n?|zum)\b|[ \t]*$|[.!)?])"), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("RELs NAME und NAME", "relation", "{rel}", _RELATED, pattern(rf"\b(?:mein|unser)e[nmr]? {_OLDER}(?P<rel>kinder[n]?|söhnen?|töchtern?|brüdern?|schwestern|hunden?|katzen)(?:,|:)? "), "capital person", accepts_list=True, is_presupposed=True, confidence=0.8, follows=pattern(r"(?:[,.!?;)]|[ \t]*$| (?:und|sind|haben|in|ins|im|nach|aus|zu|zum|zur|am|auf|bei|wohnen|leben|spielen|gehen|nicht|heute|morgen|eine?n?)\b)"), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL wird N am", "relation", "birthday", ("wird", "geburtstag"), pattern(rf"{_WHO}(?:wird \d{{1,3}} |wird (?=am)|hat )(?=am \d)"), "birthday", subject="{who}", can_follow_words=True, follows=pattern(r"[ \t]*(?:$|[.,;!)]| (?:geburtstag|\d{1,3}|und|schon)\b)"), required_prefixes=NUMBERED, begins=_RELATION_OPENING),
    FactRule("REL wird am N", "relation", "birthday", ("wird",), pattern(rf"{_WHO}wird (?=am \d)"), "birthday", subject="{who}", can_follow_words=True, follows=pattern(r" (?:schon )?\d{1,3}\b"), required_prefixes=NUMBERED, begins=_RELATION_OPENING),
    FactRule("REL isst kein", "relation", "diet", ("isst", "trinkt", "verträgt"), pattern(rf"{_DISTANT}{_WHO}(?:isst|trinkt|verträgt) keine?n? {_FOODS}"), value="kein {value}", subject="{who}", can_follow_words=True, unless=_AWHILE, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL ist allergisch", "relation", "allergy", ("allergisch",), pattern(rf"{_DISTANT}{_WHO}ist (?:stark |sehr )?(?:allergisch (?:gegen|auf)|gegen) "), "thing", subject="{who}", accepts_list=True, can_follow_words=True, follows=pattern(r"(?: allergisch|[ \t]*$|[.,;!)]| und\b)"), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("verheiratet mit", "relation", "partner", ("verheiratet", "verlobt"), pattern(rf"\bich bin{_ADVERBS}(?: glücklich)?(?: seit \d+ jahren)? mit "), "capital person", can_follow_words=True, follows=pattern(r" (?:verheiratet|verlobt)\b"), begins=_SELF_OPENING),
    FactRule("REL wohnt nicht mehr in", "relation", "home", ("nicht mehr",), pattern(rf"{_WHO}(?:wohnt|lebt){_ADVERBS} nicht mehr in "), "place", "ended", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED, continuations=(replace(_SONDERN_IN, kind="relation", subject="{who}"),)),
    FactRule("REL wohnt in", "relation", "home", ("wohnt", "lebt"), pattern(rf"{_WHO}(?:wohnt|lebt){_ADVERBS} in "), "place", subject="{who}", can_follow_words=True, continuations=(FactRule("und arbeitet bei der", "relation", "employer", (), pattern(r",? und (?:er |sie )?arbeitet bei (?:der |dem )?"), "org", subject="{who}"),), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL arbeitet bei", "relation", "employer", ("arbeitet",), pattern(rf"{_WHO}arbeitet{_ADVERBS} bei (?:der |dem )?"), "org", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL ist ALTER", "relation", "age", _RELATED, pattern(rf"{_WHO}(?:ist|wird)(?: jetzt| schon| gerade)? {AGE}"), "number", subject="{who}", can_follow_words=True, follows=pattern(r"(?: jahre alt\b|[ \t]*$|[.,;!)]| und\b)"), required_prefixes=AGED, begins=_RELATION_OPENING),

    FactRule("mag kein", "preference", "dislikes", ("mag kein", "mögen kein"), pattern(rf"{_I} (?:mag|mögen)(?: absolut| überhaupt| eigentlich)? keine?[nrms]? "), "thing", accepts_list=True, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("mag nicht", "preference", "dislikes", ("mag ",), pattern(r"\bich mag (?P<value>(?!das|es|die|den|dich|ihn|sie|dies|solche|oder\b|und\b|aber\b|euch\b|dir\b)[\wäöüß-]+(?: [\wäöüß-]+)?) (?:überhaupt |gar )?nicht\b"), can_follow_words=True, begins=_SELF_OPENING),
    FactRule("hasse", "preference", "dislikes", ("hasse", "verabscheue", "kann nicht leiden"), pattern(rf"\bich (?:hasse|verabscheue){_ADV} "), "thing", accepts_list=True, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("mag", "preference", "likes", ("mag ", "liebe ", "lieben "), pattern(rf"\b(?:ich (?:mag|liebe)|wir (?:mögen|lieben)){_ADV}(?: gern| gerne)? "), "thing", accepts_list=True, can_follow_words=False, unless=pattern(r"[^\n,.]{0,20}\bnicht\b"), begins=_SELF_OPENING),
    FactRule("gern", "preference", "likes", ("gern",), pattern(r"\bich (?:esse|trinke|lese|höre|schaue|sehe|spiele) (?:sehr |besonders |am liebsten )?gerne? "), "thing", accepts_list=True, confidence=0.8, unless=pattern(r" (?:würde|mal)\b"), begins=_SELF_OPENING),
    FactRule("fan von", "preference", "likes", ("fan von",), pattern(r"\bich bin (?:ein |eine )?(?:großer |riesen|riesiger )?fan von "), "thing", accepts_list=True, begins=_SELF_OPENING),
    FactRule("kein fan von", "preference", "dislikes", ("kein fan",), pattern(r"\bich bin kein(?: großer)? fan von "), "thing", accepts_list=True, begins=_SELF_OPENING),
    FactRule("lieblings nicht mehr", "preference", "favourite {what}", ("liebling",), pattern(r"\bmeine? lieblings(?P<what>[\wäöüß]+) (?:ist|sind) (?:jetzt |nun )?nicht (?:mehr |länger )?(?:der |die |das )?"), "thing", "ended", can_follow_words=True, begins=_SELF_OPENING, continuations=(FactRule("sondern", "preference", "favourite {what}", (), pattern(rf"{_SONDERN}(?:der |die |das )?"), "thing"),)),
    FactRule("lieblings", "preference", "favourite {what}", ("liebling",), pattern(r"\bmeine? lieblings(?P<what>[\wäöüß]+) (?:ist|sind|heißt) (?:der |die |das )?"), "thing", can_follow_words=True, confidence=0.9, begins=_SELF_OPENING),
    FactRule("lieber als", "preference", "prefers", ("lieber",), pattern(r"\bich (?:trinke|esse|mag|lese|nehme|nutze|höre) (?:lieber )?(?P<value>[\wäöüß-]+) (?:lieber )?(?:als|statt) (?P<than>[\wäöüß-]+)\b"), can_follow_words=True, confidence=0.8, begins=_SELF_OPENING),
    FactRule("bevorzuge", "preference", "prefers", ("bevorzuge",), pattern(r"\bich bevorzuge "), "thing", begins=_SELF_OPENING),

    FactRule("EREIGNIS am", "date", "{event}", _DATED, pattern(rf"\b(?:mein|meine|unser|unsere|die|der|das) (?P<event>{_EVENT}|deadline)(?: (?:der|des|für die|für den|für das|vom|von|meiner|meines|zur|zum) (?P<of>[\wäöüß-]+(?: [\wäöüß-]+)?))?(?: nach (?P<to>[\wäöüß-]+))? (?:ist|findet|sind)(?: jetzt| schon)?(?: (?=am|bis|auf|den|der|morgen|heute|übermorgen|nächst|kommend|diesen|in \w+ (?:tag|woch)|\d))(?:auf |am |bis zum |bis )?"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("habe am EREIGNIS", "date", "{event}", _DATED, pattern(rf"{_I} (?:habe|hab|haben) (?:einen|eine|ein|meine|meinen) (?P<event>{_EVENT}) (?=am|morgen|übermorgen)"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("am habe ich EREIGNIS", "date", "{event}", _DATED, pattern(rf"{_I} (?:habe|hab|haben) (?=am |morgen |übermorgen |nächst|kommend)(?=[^\n,;]{{3,40}} (?P<event>{_EVENT})\b)"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("abzugeben bis", "date", "deadline", ("abgeben", "fällig"), pattern(r"\b(?:mein|meine|der|die|das) (?P<of>[\wäöüß-]+) (?:ist|muss) (?:bis zum |bis |am )"), "day", subject="{of}", can_follow_words=True, follows=pattern(r" (?:fällig|abgegeben werden|fertig sein)"), required_prefixes=DATED),
    FactRule("EREIGNIS geht am", "date", "{event}", _DATED, pattern(rf"\b(?:mein|unser)e? (?P<event>{_EVENT})(?: nach (?P<to>[\wäöüß-]+)| (?:in|an|bei|mit|beim) [\wäöüß-]+(?: [\wäöüß-]+)?)? (?:geht|startet|beginnt|fängt|hebt|liegt|steht) (?:erst |schon )?{_SOON}(?:auf )?"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("EREIGNIS halten", "date", "{event}", _DATED, pattern(rf"{_I} (?:habe|hab|haben|halte|gebe|halten|feiern|mache) {_SOON}(?=[^\n,;]{{3,60}} (?:einen|eine|ein|meine|meinen|unsere|unseren) (?P<event>(?:[\wäöüß-]+ )?{_EVENT})\b)"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("am tue ich", "date", "{event}", ("fliege", "fliegen", "ziehe", "ziehen", "heirate", "heiraten", "verreise", "verreisen", "habe", "haben", "halte"), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:und |aber )?{_SOON}(?=[^\n,;]{{2,30}}? (?:(?P<event>fliege|fliegen|verreise|verreisen|heirate|heiraten) (?:ich|wir)\b|(?:ziehe|ziehen) (?:ich|wir) (?:[\wäöüß-]+ ){{0,3}}(?P<event2>um)\b|(?:habe|haben|halte) (?:ich|wir) (?:einen|eine|ein|meine|meinen|unsere|unseren) (?P<event3>(?:[\wäöüß-]+ )?{_EVENT})\b))"), "day", follows=pattern(r" (?:fliege|fliegen|ziehe|ziehen|heirate|heiraten|verreise|verreisen|habe|haben|halte)\b"), required_prefixes=DATED, begins=_CLAUSE_OPENING),
    FactRule("fliege am", "date", "{event}", ("fliege", "fliegen", "ziehe", "ziehen", "verreise"), pattern(rf"{_I} (?P<event>fliege|fliegen|verreise|verreisen|ziehe|ziehen) {_SOON}"), "day", can_follow_words=True, required_prefixes=DATED, follows=pattern(r" (?:nach|um|in|zurück|heim|ab|von)\b|[ \t]*(?:$|[.,;!])"), begins=_SELF_OPENING),
    FactRule("läuft ab", "date", "expiry", ("läuft",), pattern(rf"\b(?:mein|meine|unser|unsere) (?P<of>[\wäöüß-]+) läuft {_SOON}"), "day", subject="{of}", can_follow_words=True, follows=pattern(r" (?:ab|aus)\b"), required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("bis DATUM muss", "date", "deadline", ("abgeben", "einreichen", "fertig", "abschicken"), pattern(r"\b(?:ich|wir) (?:muss|müssen|soll|sollen) (?:den|die|das|meine[nr]?|mein|unsere[nr]?) (?P<of>[\wäöüß-]+) bis "), "day", subject="{of}", can_follow_words=True, follows=pattern(r" (?:abgeben|einreichen|fertig|abschicken|schicken|zahlen|bezahlen|liefern)\b"), required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("wollen bis", "date", "deadline", ("bis",), pattern(r"\b(?:der|die|das|mein|meine|unser|unsere) [\wäöüß-]+ (?:will|wollen|möchte|möchten|braucht|brauchen|erwartet|erwarten) (?:den|die|das|meine[nr]?|mein|unsere[nr]?) (?P<of>[\wäöüß-]+) bis "), "day", subject="{of}", can_follow_words=True, confidence=0.8, required_prefixes=DATED),
    FactRule("FRIST SACHE ist", "date", "deadline", ("abgabe", "frist", "deadline", "abgabetermin"), pattern(r"(?:^|(?<=[\n.!,]))[ \t]*(?:abgabe|frist|abgabefrist|abgabetermin|deadline) (?:der|des|für die|für den|für das|für|meiner|meines) (?P<of>[\wäöüß-]+) ist (?=am|der|\d|morgen|nächst|in)"), "day", required_prefixes=DATED, begins=_CLAUSE_OPENING),
    FactRule("heirate", "date", "wedding", ("heirate",), pattern(r"\b(?:wir heiraten|ich heirate) (?=am|\d|nächst|im|in)"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),

    FactRule("nutze", "tool", "uses", ("nutze", "nutzen", "programmieren", "arbeiten mit", "verwende", "arbeite mit", "benutz", "läuft", "einsatz", "setzen", "programmiere"), pattern(rf"(?:{_I} (?:nutze|benutze|verwende|nutzen|benutzen|verwenden|programmiere in|programmiere|arbeite mit|arbeiten mit|setzen){_ADVERBS}|\bbei (?:uns|mir) läuft)(?: auf| mit)? "), "tool", accepts_list=True, can_follow_words=True, unless=pattern(r" (?:nicht|nicht mehr)\b")),
    FactRule("umgestiegen", "tool", "uses", ("umgestiegen", "gewechselt", "migriert"), pattern(rf"{_I} (?:bin|sind|haben)(?: [\wäöüß]+){{0,3}}? von "), "tool", "ended", can_follow_words=True, follows=pattern(r" (?:auf|zu) [^\n]{1,30} (?:umgestiegen|gewechselt|migriert|umgestellt)"), continuations=(FactRule("auf", "tool", "uses", (), pattern(r" (?:auf|zu) "), "tool"),), begins=_SELF_OPENING),
    FactRule("auf umgestiegen", "tool", "uses", ("umgestiegen", "gewechselt", "aktualisiert", "umgestellt"), pattern(rf"{_I} (?:bin|sind|habe|haben)(?: (?!von)[\wäöüß]+){{0,3}}? auf "), "tool", can_follow_words=True, follows=pattern(r" (?:umgestiegen|gewechselt|aktualisiert|umgestellt)\b"), begins=_SELF_OPENING),
    FactRule("nutze nicht mehr", "tool", "uses", ("nicht mehr",), pattern(rf"{_I} (?:nutze|benutze|verwende|nutzen|verwenden) (?P<value>[\w.+#-]+(?: \d[\w.]*)?) nicht mehr\b"), "", "ended", can_follow_words=True, begins=_SELF_OPENING),
    FactRule("mein projekt", "project", "project", ("projekt",), pattern(r"\bmein (?:aktuelles |neues )?projekt (?:heißt|ist|namens) (?:ein |eine |einen )?"), "thing", can_follow_words=True, begins=_SELF_OPENING),
    FactRule("arbeite an", "project", "project", ("arbeite an",), pattern(r"\bich (?:arbeite|schreibe|baue|bastle)(?: gerade| derzeit| aktuell)? an (?:einer |einem |meiner |meinem )"), "work", can_follow_words=True, confidence=0.75, begins=_SELF_OPENING),

    FactRule("ab jetzt", "instruction", "instruction", ("ab jetzt", "von nun an", "ab sofort", "künftig", "in zukunft", "ab heute"), pattern(rf"(?:(?:^|(?<=[\n.!:;,]))[ \t]*(?:bitte )?{_ONE_REQUEST}(?=(?:{_ORDER})\b[^\n]{{0,80}}\b(?:ab jetzt|von nun an|ab sofort|künftig|in zukunft|ab heute)\b)|\b(?:ab jetzt|von nun an|ab sofort|künftig|in zukunft|ab heute),? (?:bitte )?(?=(?:bitte |immer |nie )?{_ORDER}\b))"), "rest", can_follow_words=True, confidence=0.95),
    FactRule("immer", "instruction", "instruction", ("immer", "nie", "niemals", "grundsätzlich", "stets"), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:und )?(?:bitte )?(?=(?:{_ORDER})\b(?: (?!den\b|die\b|das\b)[\wäöüß-]+){{0,4}} (?:immer|nie|niemals|nie wieder|stets|grundsätzlich)\b)"), "rest", can_follow_words=False, confidence=0.9, begins=_CLAUSE_OPENING),
    FactRule("bitte keine", "instruction", "instruction", ("kein",), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:bitte )?(?=(?:{_ORDER}) (?:mir )?(?:bitte )?keine? (?:emojis?|aufzählungen|fachbegriffe|anglizismen)\b)"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("keine STIL bitte", "instruction", "instruction", ("kein", "ohne"), pattern(rf"(?:^|(?<=[\n.!:;]))[ \t]*(?:und )?(?=(?:bitte (?:keine|ohne) {_STYLE}(?: (?:mehr|und keine \w+))?|(?:keine|ohne) {_STYLE}(?: (?:mehr|und keine \w+))?,? bitte)[ \t]*(?:$|[.!\n;]))"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("halte antworten kurz", "instruction", "instruction", ("antworten",), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:und )?(?:bitte )?(?=(?:halt|halte|fass|fasse) (?:bitte )?(?:deine |die )?antworten (?:bitte )?(?:kurz|knapp|kürzer|sachlich|einfach))"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("mir wäre lieber wenn du", "instruction", "instruction", ("lieber", "besser", "schön"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:und |aber )?(?=(?:mir wäre (?:es )?(?:lieber|recht)|es wäre (?:mir )?(?:lieber|besser|schön)|ich fände es (?:besser|schöner)),? (?:du würdest|wenn du)\b[^\n]{0,60}\b(?:antwort|verwend|benutz|nutz|schreib|erklär|emoji|duz|siez|sprich|kurz)\w*)"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("ich möchte dass du immer", "instruction", "instruction", ("dass du",), pattern(r"\bich (?:möchte|will|wünsche mir), dass du (?=(?:immer|nie|mir immer|mich immer)\b)"), "rest", can_follow_words=True, confidence=0.9, begins=_SELF_OPENING),

    FactRule("REL ist von nach gezogen", "relation", "home", ("gezogen", "umgezogen"), pattern(rf"{_WHO}ist(?: (?:im [\wäöüß]+|letzte[nrs]? [\wäöüß]+|vor kurzem|jetzt|gerade|neulich|endlich|\d{{4}})){{0,2}} von "), "place", "ended", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, continuations=(FactRule("REL nach gezogen", "relation", "home", (), pattern(r" nach "), "place", subject="{who}"),), follows=pattern(r" nach [^\n,.]{2,40} (?:um)?gezogen")),
    FactRule("REL ist nach gezogen", "relation", "home", ("gezogen", "umgezogen"), pattern(rf"{_WHO}ist(?: (?:im [\wäöüß]+|letzte[nrs]? [\wäöüß]+|vor kurzem|jetzt|gerade|neulich|endlich|\d{{4}})){{0,2}} nach "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, follows=pattern(r" (?:um)?gezogen\b")),
    FactRule("REL zog nach", "relation", "home", ("zog",), pattern(rf"{_WHO}zog(?: [\wäöüß]+){{0,3}}? nach "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL studiert", "relation", "studies", ("studiert",), pattern(rf"{_WHO}studiert{_ADVERBS} (?!in |an |noch|gern|seit)"), "thing", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL geboren in", "relation", "birthplace", ("geboren",), pattern(rf"{_DISTANT}{_WHO}(?:ist|wurde) in "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, follows=pattern(r" geboren\b")),
    FactRule("geboren in", "profile", "birthplace", ("geboren",), pattern(r"\bich (?:bin|wurde)(?: \d{4})? in "), "place", can_follow_words=True, follows=pattern(r"(?: und)? (?:geboren|aufgewachsen und geboren)\b"), begins=_SELF_OPENING),
    FactRule("telefonnummer", "profile", "phone", ("nummer", "handynummer", "telefonnummer", "mobilnummer", "handy"), pattern(r"\bmeine (?:neue )?(?:handy|telefon|mobil|festnetz)?-?nummer (?:ist|lautet)(?: jetzt)?(?: die)? (?P<value>\+?\(?\d[\d ()/.-]{5,18}\d)(?!\d)"), confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("adresse", "profile", "address", ("adresse", "anschrift"), pattern(r"\b(?:meine|unsere) (?:neue )?(?:adresse|anschrift) (?:ist|lautet)(?: jetzt)?(?: die)? "), "address", confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("schuhgröße", "profile", "shoe size", ("schuhgröße",), pattern(r"\b(?:ich (?:habe|hab|trage)(?: die)? schuhgröße|meine schuhgröße ist) (?P<value>\d{2}(?:[.,]5)?)\b"), confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED, begins=_CLAUSE_OPENING),
    FactRule("kleidergröße", "profile", "size", ("größe", "kleidergröße", "konfektionsgröße"), pattern(r"(?:\b(?:ich (?:trage|habe)|trage ich|habe ich)(?: meistens| normalerweise| immer)? (?:kleider|konfektions)?größe|\bmeine (?:kleider|konfektions)größe ist) (?P<value>xxs|xs|s|m|l|xl|xxl|\d{2})\b"), confidence=0.9, can_follow_words=True),
    FactRule("habe N kinder", "relation", "children", ("kinder", "söhne", "töchter"), pattern(rf"{_I} (?:habe|hab|haben) (?P<value>zwei|drei|vier|fünf|sechs|[2-6])(?: (?:kleine|erwachsene|wunderbare|tolle|große))? (?:kinder|söhne|töchter|jungs|mädchen)\b(?=[ \t]*(?:$|[.,;!)]|und\b|aber\b|im alter\b|zu hause\b))"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("sohn und tochter", "relation", "children", ("sohn", "tochter"), pattern(rf"{_I} (?:habe|hab|haben) (?P<value>ein(?:en|e) (?:sohn|tochter) und ein(?:en|e) (?:sohn|tochter))\b"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("mutter von", "relation", "children", ("mutter von", "vater von"), pattern(r"\bich bin (?:mutter|vater|papa|mama) von (?P<value>zwei|drei|vier|fünf|sechs|[2-6])(?: kindern)?\b"), confidence=0.9, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("verheiratet", "relation", "status", ("verheiratet", "geschieden", "ledig", "verlobt", "single", "verwitwet"), pattern(rf"\b(?:ich bin|wir sind){_ADVERBS}(?: glücklich)? (?P<value>verheiratet|geschieden|ledig|verlobt|single|verwitwet)\b(?! mit\b)"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("arbeitsweg", "profile", "commute", ("arbeitsweg", "weg zur arbeit"), pattern(r"\bmein (?:arbeitsweg|weg zur arbeit) (?:dauert|ist)(?: (?:etwa|ungefähr|rund|nur))? (?P<value>\d{1,3} (?:minuten|min|km|kilometer)(?: (?:mit (?:dem|der) [\wäöüß-]+|zu fuß))?|eine (?:halbe )?stunde)\b"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("brauche zur arbeit", "profile", "commute", ("zur arbeit", "ins büro"), pattern(r"\bich brauche?(?: (?:etwa|ungefähr|rund|nur))? (?P<value>\d{1,3} (?:minuten|min)|eine (?:halbe )?stunde)(?: mit (?:dem|der) [\wäöüß-]+)? (?:bis )?(?:zur arbeit|ins büro)\b"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("pendle", "profile", "commute", ("pendle", "pendeln"), pattern(rf"{_I} (?:pendle|pendeln){_ADVERBS}(?: (?:jeden tag|täglich|jede woche))? (?=(?:nach|von|zwischen|zur|mit|\d))"), "clause", confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("fahre zur arbeit", "profile", "commute", ("zur arbeit",), pattern(r"\bich fahre(?: (?:immer|meistens|jeden tag|täglich))? (?P<value>mit (?:dem|der) (?:rad|fahrrad|bus|zug|auto|bahn|s-bahn|u-bahn|straßenbahn|tram))(?: (?:immer|meistens))? zur arbeit\b"), confidence=0.85, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("ziehen im MONAT nach", "date", "{event}", ("ziehe", "ziehen"), pattern(rf"{_I} (?P<event>ziehe|ziehen)(?= (?:im|in|nächsten|nächstes|kommenden|diesen|am)\b[^\n,.]{{2,30}} nach (?P<to>[\wäöüß-]+))"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("planen", "project", "plans", ("plane", "planen"), pattern(rf"{_I} (?:plane|planen){_ADVERBS} (?=(?:ein|eine|einen|unsere?n?|meine?n?) )"), "clause", confidence=0.75, begins=_SELF_OPENING),
    FactRule("habe vor", "project", "plans", ("vor, ", "habe", "haben"), pattern(rf"{_I} (?:habe|hab|haben){_ADV} vor, (?=[^\n,.]{{3,60}} \w*zu\w*\b)"), "clause", confidence=0.8, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("möchte", "project", "wants", ("möchte", "will", "wollen", "möchten", "würde"), pattern(rf"{_I} (?:möchte|will|möchten|wollen)(?: (?:unbedingt|gern|gerne|irgendwann|schon lange|bald|nächstes jahr|dieses jahr|im [\wäöüß]+)){{0,2}} (?=(?:(?!\b(?:wissen|dass|du|dir|dich|ihr|euch|sie|ihn|nur|nicht|kein\w*|bitte|es|das|dies|mehr|kennen|eine liste|einen text|einen brief|eine mail|eine e-mail)\b)[\wäöüß-]+ ){{1,6}}(?:lernen|laufen|reisen|ziehen|umziehen|gründen|heiraten|studieren|adoptieren|auswandern)[ \t]*(?:$|[.,;!]))"), "clause", confidence=0.7, begins=_SELF_OPENING),
    FactRule("möchte irgendwann", "project", "wants", ("möchte", "will", "wollen", "möchten"), pattern(rf"{_I} (?:möchte|will|möchten|wollen)(?: (?:unbedingt|irgendwann|schon lange|eines tages|nächstes jahr|dieses jahr|im (?:sommer|winter|herbst|frühling))){{1,2}} (?=(?:(?!\b(?:wissen|dass|du|dir|dich|ihr|euch|sie|ihn|nicht|es|das|mehr)\b)[\wäöüß-]+ ){{1,6}}(?:besuchen|kaufen|bauen|eröffnen|sehen)[ \t]*(?:$|[.,;!]))"), "clause", confidence=0.7, begins=_SELF_OPENING),
)

_NO_THING = r"(?!(?:ist|sind|war|waren|wurde|wurden|wird|werden|hat|haben|habe|nicht|nie|wenn|falls|und|aber|dass|ob|fast|beinahe|vielleicht|könnte|würde|sollte|muss|fällt|fallen|findet|finden|ich|du|er|es)\b)"
_WORD = rf"{_NO_THING}[\wäöüß'&-]+"
_THING = rf"(?P<value>{_WORD}(?: {_WORD}){{0,5}}?)"
_THIS = r"\b(?:mein|meine|meinen|unser|unsere|unseren|der|die|das|den|diese[rsn]?)"
_NOW = r"(?: (?:leider|doch|jetzt|nun|gerade|schon|endgültig|wieder|also|dann|nun doch|kurzfristig|komplett))?"
_DONE = r"(?:abgesagt|gestrichen|storniert|gecancelt|abgeblasen|geplatzt|vom tisch|gestorben|hinfällig|annulliert)"
_GIVEN_UP = r"(?:abgesagt|absagen|gestrichen|streichen|storniert|stornieren|gecancelt|abgeblasen|aufgegeben|verworfen|gekündigt|kündigen|verkauft|verkaufen)"
_VERB = r"(?:ziehe|ziehen|laufe|laufen|fliege|fliegen|fahre|fahren|reise|reisen|verreise|verreisen|gehe|gehen|mache|machen|kaufe|kaufen|nehme|nehmen|besuche|besuchen|eröffne|eröffnen|gründe|gründen|lerne|lernen|heirate|heiraten|studiere|studieren|komme|kommen|werde|werden|will|wollen|möchte|möchten|adoptiere|adoptieren|feiere|feiern|spiele|spielen)"
_STILL = r"(?![^\n.!?,;]*\b(?:ohne|bis|wenn|falls|bevor|allein|heute|morgen|nur|mit|weit|schnell|so)\b)"
_HEAD = rf"(?:{_EVENT[3:-1]}|besprechung|meeting|treffen|zahnarztbesuch|kurs|lieferung|party|spiel|fähre|zug)"
_WHAT = rf"(?P<event>{_HEAD})(?: (?:nach (?P<to>[\wäöüß-]+)|(?:der|des|für die|für den|für das|meiner|meines|zur|zum) (?P<of>[\wäöüß-]+)|(?:bei|beim|mit|in|im) (?:der |dem |meiner |meinem )?[\wäöüß-]+(?: [\wäöüß-]+)?))?"
_VOM = r"(?: (?:von|vom)(?: (?!auf\b|bis\b)[\wäöüß.]+,?){1,4}?)?"
_MONTHS = full_names(languages.GERMAN.temporal.months)
_DAY_AHEAD = rf"(?=(?:den |die |zum )?(?:nächst\w+ |kommend\w+ )?(?:{'|'.join((*_WEEKDAYS, *_MONTHS))}|morgen|übermorgen|nächst|\d))"
_MOVED = r" (?:verschoben|verlegt|vorverlegt|vorgezogen|umgebucht|umgelegt|verschieben|verlegen|umbuchen|gelegt|geändert)\b"
_MOVED_NEEDS = ("verschoben", "verlegt", "vorverlegt", "vorgezogen", "umgebucht", "umgelegt", "verschieben", "verlegen", "umbuchen")

_CHANGES = (
    FactRule("SACHE ist abgesagt", "project", CHANGE, ("abgesagt", "gestrichen", "storniert", "gecancelt", "abgeblasen", "geplatzt", "vom tisch", "gestorben", "hinfällig", "annulliert"), pattern(rf"{_THIS} {_THING} (?:ist|sind|wurde|wurden|wird|hat sich){_NOW}{_NOW} (?:{_DONE}|erledigt)\b"), confidence=0.9, can_follow_words=True),
    FactRule("SACHE fällt aus", "project", CHANGE, ("aus", "wasser", "statt", "flach"), pattern(rf"{_THIS} {_THING} (?:(?:fällt|fallen){_NOW}{_NOW} (?:aus|ins wasser|flach)|(?:findet|finden){_NOW}{_NOW} nicht (?:mehr )?statt)\b"), confidence=0.9, can_follow_words=True),
    FactRule("aus SACHE wird nichts", "project", CHANGE, ("nichts",), pattern(rf"\baus (?:der|dem|meiner|meinem|unserer|unserem) {_THING} (?:wird|wurde){_NOW} nichts\b"), confidence=0.9, can_follow_words=True),
    FactRule("SACHE abgesagt", "project", CHANGE, ("abgesagt", "absagen", "gestrichen", "streichen", "storniert", "stornieren", "gecancelt", "abgeblasen", "aufgegeben", "verworfen", "gekündigt", "kündigen", "verkauft"), pattern(rf"\b(?:ich|wir) (?:habe|hab|haben|musste|mussten|muss|müssen){_NOW}{_NOW} (?:mein(?:e|en)?|unsere?n?|die|den|das) {_THING} {_GIVEN_UP}\b"), confidence=0.9, can_follow_words=True),
    FactRule("doch nicht SACHE", "project", CHANGE, ("doch nicht", "nicht mehr"), pattern(rf"\b(?:ich|wir) {_VERB} (?:jetzt |nun |also |dann )?(?:doch nicht|nicht mehr) {_STILL}(?=\w)"), "matter", confidence=0.9, can_follow_words=True),
    FactRule("heiraten doch nicht", "project", CHANGE, ("heirate", "heiraten"), pattern(r"\b(?:wir heiraten|ich heirate)(?: jetzt| nun| also)? (?:doch nicht|nicht mehr)\b"), value="wedding", confidence=0.9, can_follow_words=True),
    FactRule("SACHE doch nicht", "project", CHANGE, ("doch nicht", "nicht mehr"), pattern(rf"\b(?:ich|wir) {_VERB} {_THING} (?:doch nicht|nicht mehr)\b"), confidence=0.9, can_follow_words=True, unless=pattern(r" (?:so|ohne|allein|nur|mit|bis|heute|morgen)\b")),
    FactRule("SACHE VERB ich doch nicht", "project", CHANGE, ("doch nicht", "nicht mehr"), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:und |aber )?(?P<value>(?:den|die|das|nach|zur|zum) {_WORD}(?: {_WORD}){{0,3}}?) {_VERB} (?:ich|wir) (?:jetzt |nun |also )?(?:doch nicht|nicht mehr)\b"), confidence=0.85, can_follow_words=True, unless=pattern(r" (?:so|ohne|allein|nur|mit|bis|heute|morgen)\b")),
    FactRule("doch nicht", "project", CHANGE, ("doch nicht",), pattern(rf"(?:^|(?<=[\n.!:]))[ \t]*(?:ach |nein,? |also )?doch nicht (?:nach |in |zum |zur |in die |den |die |das )?(?P<value>{_WORD}(?: {_WORD}){{0,2}}?)(?=[ \t]*(?:$|[.,;!\n]|sondern\b))"), confidence=0.85),
    FactRule("gegen SACHE entschieden", "project", CHANGE, ("entschieden",), pattern(rf"\b(?:ich|wir) (?:habe|hab|haben) (?:mich|uns){_NOW} gegen (?:(?:den|die|das|meinen?|unseren?) )?{_THING} entschieden\b"), confidence=0.9, can_follow_words=True),
    FactRule("entschieden, SACHE nicht zu", "project", CHANGE, ("entschieden", "beschlossen"), pattern(rf"\b(?:ich|wir) (?:habe|hab|haben) (?:mich |uns )?(?:doch |jetzt |nun )?(?:dagegen )?(?:entschieden|beschlossen), (?:doch )?(?:nicht )?(?P<value>{_WORD}(?: {_WORD}){{0,5}}?) (?:nicht zu|doch nicht zu)(?= \w)"), confidence=0.85, can_follow_words=True),
    FactRule("entschieden, nicht nach", "project", CHANGE, ("entschieden", "beschlossen"), pattern(rf"\b(?:ich|wir) (?:habe|hab|haben) (?:mich |uns )?(?:doch |jetzt |nun )?(?:dagegen )?(?:entschieden|beschlossen), (?:doch )?nicht (?P<value>{_WORD}(?: {_WORD}){{0,5}}?)(?= zu \w)"), confidence=0.85, can_follow_words=True),
    FactRule("bleibe doch", "project", CHANGE, ("bleibe", "bleiben"), pattern(r"\b(?:ich|wir) (?:bleibe|bleiben) (?:jetzt |nun |also )?(?:doch|lieber|nun doch)(?: (?:hier|in [\wäöüß-]+))?(?= *(?:$|[.,;!\n]|wohnen\b|und\b))"), value="move", confidence=0.85, can_follow_words=True),
    FactRule("EREIGNIS wurde auf verschoben", "date", "{event}", _MOVED_NEEDS, pattern(rf"{_THIS} {_WHAT} (?:wurde|ist|wird|hat sich|musste){_NOW}{_VOM} (?:auf|bis) {_DAY_AHEAD}"), "day", "corrects", 0.9, can_follow_words=True, follows=pattern(rf"(?: (?:um|von) \d{{1,2}}(?:[.:]\d\d)? uhr)?{_MOVED}"), required_prefixes=DATED),
    FactRule("WER hat EREIGNIS auf verschoben", "date", "{event}", _MOVED_NEEDS, pattern(rf"\b(?:(?:mein|meine|der|die|das|unser|unsere) (?P<by>[\wäöüß-]+)|ich|wir|sie|man) (?:hat|haben|habe|hab|musste|muss|mussten)(?: mir| uns)?{_NOW} (?:den|die|das|meinen|meine|mein|unseren|unsere|unser) {_WHAT}{_NOW}{_VOM} (?:auf|bis) {_DAY_AHEAD}"), "day", "corrects", 0.9, can_follow_words=True, follows=pattern(rf"(?: (?:um|von) \d{{1,2}}(?:[.:]\d\d)? uhr)?{_MOVED}"), required_prefixes=DATED),
    FactRule("EREIGNIS ist verschoben", "date", CHANGE, ("verschoben", "aufgeschoben"), pattern(rf"{_THIS} {_THING} (?:ist|wurde|wird){_NOW} (?:auf unbestimmte zeit |auf später )?(?:verschoben|aufgeschoben)\b"), confidence=0.85, can_follow_words=True),
)

GERMAN = FactGrammar(
    language=languages.GERMAN,
    rules=(*_RULES, *(replace(rule, mode="ended") if rule.attribute == CHANGE else rule for rule in _CHANGES)),
    stops=frozenset(
        "und oder aber mit seit weil denn da wo der die das welche welcher dass bis zum zur auf an bei von aus für derzeit gerade"
        " momentan aktuell nicht mehr ich wir mein meine er sie es als wenn während ist bin sind war auch dann nur bitte danke"
        " in im hat habe haben gezogen umgezogen gewohnt gelebt aufgewachsen vor nach über sehr besonders vor allem lol haha"
        " heute gestern morgen allergisch so doch schon noch hier was wer wie kann können soll also und damit umgestiegen"
        " gewechselt verheiratet nennen heißt arbeite wohne lebe studiere hab liebe mag hasse suche brauche".split()
    ) - {"der", "die", "das"},
    hollow=frozenset(
        "einer einem einen eine ein der die das den dem des diese dieser dieses dich mich ihn sie es ihr euch uns dir mir wie was"
        " wenn dass so sehr zu keine kein keinen nicht etwas alles nichts viel mehr meine mein meinen deine dein deinen seine ihre"
        " untermiete frieden angst ruhe saus scheidung gemeinschaft zweiter dritter erster jeder ja schon da hier dort auch"
        " gerne gern andere anderen anderes beides beide alles alle nur noch immer wirklich diesen jetzt am im ganz wo solche solchen".split()
    ),
    leads=frozenset(
        "und aber denn da weil also ja nein hallo hi hey moin servus übrigens eigentlich außerdem leider sorry jetzt naja nun"
        " okay ok danke achso ach so zudem ehrlich ps oder".split()
    ),
    bars=frozenset(
        "wenn falls ob dass wo wie was wer wann warum welche welcher bevor nachdem als würde könnte soll sollte kann darf muss"
        " angenommen sagt sagte nicht nie er sie es man niemand".split()
    ),
    unreal=pattern(
        r"\b(?:da steht|dort steht|heißt es|wenn|falls|ob|angenommen|stell dir vor|stell(?:en sie|t euch) (?:sich )?vor|nehmen wir an|tu so|tun wir so|als ob|als wäre|sagte?n?"
        r"|sagst|erzählt|erzählte|behauptet|behauptete|meint|meinte|schrieb|schreibt, |fragte|laut|zum beispiel|z\.b|beispiel|übersetz\w*|wünschte|träume|hätte|würde|wäre"
        r"|geschichte|roman|gedicht|rollenspiel|stimmt nicht|nicht wahr|niemand|glaubt|denkt|dachte|hypothetisch)\b"
    ),
    unsure=pattern(r"\b(?:vielleicht|eventuell|könnte|möchte|will|hoffentlich|hoffe|wahrscheinlich nicht)\b"),
    harmless=pattern(r"\b(?:wie (?:schon )?gesagt|wie ich schon sagte|ich habe? (?:dir )?(?:schon )?gesagt, dass|du weißt(?: ja)?, dass)"),
    undone=pattern(r"(?:[^\n]{0,60}\b(?:nur spaß|kleiner scherz)\b|,? (?:oder|richtig|stimmt's|nicht wahr)$| nicht\b(?! (?:weit|nur))|[ \t]*\?|[^\n,]{0,20}\b(?:würde|könnte|möchte|wollte|werden will)\b)"),
    elsewhere=pattern(
        r"(?:\b(?:übersetz\w*|korrigier\w*|umformulier\w*|formulier\w* um|fass\w* zusammen|kürz(?:e|en)?\b|verbesser\w*|überarbeit\w*|lektorier\w*)\b[^\n]{0,100}(?::|\n|$)|\bübersetz\w*\b|\bwie sagt man\b"
        r"|\bschreib\w* (?:mir )?(?:bitte )?(?:eine?[nr]? )?(?:[\wäöüß]+ ){0,2}(?:geschichte|gedicht|roman|dialog|szene|brief|e-?mail|mail|nachricht|text|rede|lied|märchen|bewerbung|krimi)\b"
        r"|\b(?:stell dir vor|rollenspiel|angenommen|nehmen wir an|tu so|tun wir so|spiel(?:en wir|e)? (?:die rolle|eine[n]?)|du bist (?:ein|eine|jetzt))\b"
        r"|\b(?:hier ist|folgende[rns]?|das ist) (?:der |die |das |ein |eine )?(?:[\wäöüß]+ ){0,2}(?:text|mail|e-mail|nachricht|brief|beispiel|absatz|artikel|entwurf)\b|\bzum beispiel[,:]|\bz\.b\.|\bbeispiel(?:satz|sätze|text)?:)"
    ),
    tail=pattern(r"[ \t]*(?:[,;:–—.-]+[ \t]*)?(?:(?:und|aber|also) )?(?:was|welche[rns]?|wo|wie|wann|wer|warum|kann|können|könntest|kannst|soll|sollte|ist|sind|gibt|hast|habt|darf|muss|brauche|weißt|wieviel)\b[^\n]{6,}"),
    asking=pattern(r"[ \t]*(?:(?:und|aber|also|hallo|hi) ,?)?(?:was|welche[rns]?|wo|wie|wann|wer|warum|kann|können|soll|sollte|ist|sind|bin|habe|hat|darf|muss|wohne|arbeite|heiße)\b"),
    not_names=frozenset(
        "nicht der die das ein eine so sehr auch nur müde froh sicher neu hier da zurück krank fertig mit bei von ich du er sie es wir"
        " ihr mich dich uns deutscher deutsche bitte und oder heißt ist"
        " aber jetzt gerade eigentlich wie was wer wo doch noch immer wieder einfach mein meine dein deine sein seine ihre keine kein"
        " morgen heute später dann wenn dass hat wohnt arbeitet lebt liebt mag sagt will wird kann ehemann".split()
    ) | _NOUNS | frozenset(_WEEKDAYS),
    heads=pattern(r"[\wäöüß-]{0,30}" + longest_first(languages.GERMAN.occupations) + "(?:in)?"),
    clause_end=pattern(r"(?:[;!?()\n…–—\x00]|[,.:](?!\d))| - |(?:^|\s)(?:und(?= (?:ich|wir|das|es|dann|so|er|sie)\b| (?!(?:eine|meine|unsere|seine|ihre|keine|die)\b)[a-zäöüß]{3,}e\b)|aber|weil|denn|da|damit|obwohl|wenn|falls|sobald|bevor|oder|deshalb|deswegen)\b"),
    vague_times=pattern(r"\s+(?:(?:von|am|ab|bis) (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|(?:nächste[nrs]?|diese[nrs]?|kommende[nrs]?) (?:woche|monat|jahr|sommer|winter|herbst|frühling)|bald|demnächst|irgendwann|heute|morgen|jetzt|auch|mal|wieder|(?<!zu\s)machen|(?<!zu\s)fahren)$"),
    events=_EVENTS,
)
