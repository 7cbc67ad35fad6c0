"""The times of languages of which the program knows no other words: French, Portuguese and Italian.

Their questions are searched at the times that they name; there are no cues for summaries and facts. Each language is
read by itself, because "mars" is a month only behind a French word. Names that are words of other languages too have a
``forms`` of their own, and there are no abbreviations."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from appliance.languages.language import TemporalWords, word_set
from appliance.languages.vocabulary import Vocabulary

_GAP = r"(?:\s+|(?<=['’])\s*)"
_AT_START = r"(?<![\s\S])"
_YEAR_FOLLOWS = r"(?=,?\s+(?:d[ei]l?\s+)?(?:19|20)\d\d\b)"


@dataclass(frozen=True, eq=False, repr=False)
class TimeLanguage:
    """A language whose times are known.

    Attributes:
        vocabulary: Its temporal words.
        particles: The small words beside a time, which say nothing themselves: "au mois de".
        doubtful: Names of times that other languages use all the time for something else. Alone they are meant.
        signs: Shows that a text is in this language, so that a doubtful name is meant.
    """

    vocabulary: Vocabulary
    particles: AbstractSet[str]
    doubtful: AbstractSet[str] = frozenset()
    signs: re.Pattern[str] | None = None


_FRENCH = TemporalWords(
    months=(
        "janvier", "février|fevrier", "mars", "avril", "mai", "juin", "juillet", "août|aout", "septembre", "octobre",
        "novembre", "décembre|decembre",
    ),
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    seasons=("printemps", "été|ete", "automne", "hiver"),
    units={
        "day": "jours|jour", "week": "semaines|semaine", "month": "mois", "year": "années|année|annee|ans|an",
        "weekend": "week-end|weekend", "night": "nuit",
    },
    numbers=("une|un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix"),
    vague_numbers={"quelques": 3},
    days={
        -2: "avant-hier", -1: "hier soir|hier matin|hier après-midi|hier",
        0: "aujourd'hui|ce matin|cet après-midi|ce soir", 1: "demain", 2: "après-demain",
    },
    last="derni(?:ers?|[èe]res?)", last_after="derni(?:er|[èe]re)|passée?|précédente?", this="ce|cet|cette",
    last_between="derni(?:ers|[èe]res)", coming="prochaine?", next_after="prochain|qui vient|de la semaine prochaine",
    before_last="avant-derni(?:er|[èe]re)", ago_before="il y a", ahead="dans", on=("le", "ce"), of="de|d['’]",
    ordinal="er|ère|e|ème", before="avant", until="jusqu['’](?:à|en|au)|jusque", since="depuis|dès|à partir d[eu]",
    after="après", early="(?:(?:au|le) )?début(?: d[eu])?(?: mois de)?", middle="(?:(?:à )?la )?mi-|milieu d[eu]",
    late="(?:(?:à )?la )?fin(?: d[eu])?(?: mois de)?",
    in_month="en|au mois de|au mois d['’]|de|d['’]|entre|et|à|au|pendant|durant|courant|pour|jusqu['’](?:à|en|au)",
    range_start="de|d['’]|du|entre", range_end="à|au|jusqu['’](?:à|en|au)|et", day_leads="", year_leads="",
    quarters=(
        "premier trimestre|1er trimestre", "deuxième trimestre|2e trimestre", "troisième trimestre|3e trimestre",
        "quatrième trimestre|4e trimestre|dernier trimestre",
    ),
    holidays={
        (12, 24): "réveillon de noël|veille de noël", (12, 25): "jour de noël",
        (12, 31): "saint-sylvestre|réveillon du nouvel an", (1, 1): "jour de l'an|nouvel an",
    },
    christmas="noël", week_of="semaine du", at="à|vers", o_clock="heures|heure|h", am="du matin",
    pm="de l['’]après-midi|du soir",
)  # fmt: skip

_PORTUGUESE = TemporalWords(
    months=(
        "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro",
        "novembro", "dezembro",
    ),
    weekdays=(
        "segunda-feira|segunda feira|segunda", "terça-feira|terça feira|terça", "quarta-feira|quarta feira|quarta",
        "quinta-feira|quinta feira|quinta", "sexta-feira|sexta feira|sexta", "sábado", "domingo",
    ),
    seasons=("primavera", "verão|verao", "outono", "inverno"),
    units={
        "day": "dias|dia", "week": "semanas|semana", "month": "meses|mês|mes", "year": "anos|ano",
        "weekend": "fim de semana|fim-de-semana", "night": "noite",
    },
    numbers=("uma|um", "dois|duas", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez"),
    vague_numbers={"alguns": 3, "algumas": 3},
    days={
        -2: "anteontem", -1: "ontem à noite|ontem à tarde|ontem de manhã|ontem",
        0: "hoje à noite|hoje de manhã|hoje", 1: "amanhã", 2: "depois de amanhã",
    },
    last="últim[oa]s?|ultim[oa]s?", last_after="passad[oa]|anterior", this="[nd]?est[ea]|[nd]?ess[ea]",
    coming="próxim[oa]", next_after="que vem|da próxima semana", before_last="penúltim[oa]",
    before_last_after="retrasad[oa]", ago_before="há|faz", ago_after="atrás", ahead="em|daqui a", of="de", ordinal="º",
    on=("no", "na"), before="antes d[eoa]", until="até(?: (?:a|ao|à))?", since="desde|a partir d[eoa]",
    after="depois d[eoa]|após", early="(?:no )?(?:início|princípio|começo) d[eoa]", middle="(?:em )?meados d[eoa]",
    late="(?:no )?(?:fim|final) d[eoa]|em fins d[eoa]",
    in_month="em|de|mês de|no mês de|no|na|desde|entre|e|até|a|durante o|durante a|durante",
    range_start="d[eoa]|desde|entre", range_end="até|ao|à|a|e", day_leads="", year_leads="",
    quarters=(
        "primeiro trimestre|1º trimestre", "segundo trimestre|2º trimestre", "terceiro trimestre|3º trimestre",
        "quarto trimestre|4º trimestre|último trimestre",
    ),
    holidays={
        (12, 24): "véspera de natal", (12, 25): "dia de natal", (12, 31): "véspera de ano novo",
        (1, 1): "dia de ano novo|ano novo",
    },
    christmas="natal", week_of="semana d[eo](?: dia)?", at="às|por volta das", o_clock="horas|hora|h", am="da manhã",
    pm="da tarde|da noite",
)  # fmt: skip

_ITALIAN = TemporalWords(
    months=(
        "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre",
        "novembre", "dicembre",
    ),
    weekdays=(
        "lunedì|lunedi", "martedì|martedi", "mercoledì|mercoledi", "giovedì|giovedi", "venerdì|venerdi", "sabato",
        "domenica",
    ),
    seasons=("primavera", "estate", "autunno", "inverno"),
    units={
        "day": "giorni|giorno", "week": "settimane|settimana", "month": "mesi|mese", "year": "anni|anno",
        "weekend": "fine settimana|weekend", "night": "notte",
    },
    numbers=("un|una", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci"),
    vague_numbers={"qualche": 3},
    days={
        -2: "l'altro ieri|altro ieri|avantieri", -1: "ieri sera|ieri mattina|ieri pomeriggio|ieri",
        0: "stamattina|stasera|oggi", 1: "domani", 2: "dopodomani",
    },
    last="ultim[oaie]|scors[oaie]", last_after="scors[oa]|passat[oa]", this="quest[oa]|quest['’]", coming="prossim[oa]",
    next_after="prossim[oa]|che viene", before_last="penultim[oa]", ago_after="fa", ahead="tra|fra", of="di|del",
    ordinal="º|°", on=("il", "di"), before="prima d(?:i|el|ella|ello|ell['’])", until="fino (?:a|al|alla|all['’])",
    since="dal|dalla|dall['’]|a partire da(?:l|lla|ll['’])?",  # not "da", which is Portuguese and German too
    after="dopo", early="(?:all['’])?inizio(?: d(?:i|el|ell['’]))?", middle="(?:a )?metà(?: d(?:i|el|ell['’]))?",
    late="(?:alla )?fine d(?:i|el|ell['’])",
    in_month="in|a|ad|di|d['’]|del|dell['’]|da|dal|nel|nell['’]|mese di|tra|fra|e|ed|durante|entro",
    range_start="da|dal|dall['’]|tra|fra", range_end="a|al|all['’]|fino a|fino al|e", day_leads="", year_leads="",
    quarters=(
        "primo trimestre|1º trimestre", "secondo trimestre|2º trimestre", "terzo trimestre|3º trimestre",
        "quarto trimestre|4º trimestre|ultimo trimestre",
    ),
    holidays={
        (12, 24): "vigilia di natale", (12, 25): "giorno di natale", (12, 31): "notte di san silvestro",
        (1, 1): "capodanno", (8, 15): "ferragosto",
    },
    christmas="natale", week_of="settimana del", at="alle|verso le", o_clock="ore", am="di mattina|del mattino",
    pm="di pomeriggio|del pomeriggio|di sera",
)  # fmt: skip

_SUMMER = r"(?<=['’]){0}|(?<=\bcet\s){0}|(?<=\ben\s){0}|(?<!\ba\s)(?<!\bai\s)(?<!ont\s){0}" + _YEAR_FOLLOWS
_PLANET = r"(?!\s+(?:\d{4}\s+)?(?:rovers?|landers?|orbiters?|missions?|probes?|colony|bars?)\b)"
# With a capital it is a name, but at the beginning, behind "en", or between a day and a year.
_MONTH_OR_NAME = rf"(?:(?-i:{{0}})|(?:{_AT_START}|(?<=\ben\s)|(?<=\d\s)|(?<=\der\s)){{0}}{_YEAR_FOLLOWS})"
# A short name of a weekday is an ordinal too: "na segunda vez".
_SHORT_DAY = r"{0}(?=\s*(?:[?.!,;)]|$)|\s+passada\b)"

TIME_LANGUAGES = (
    TimeLanguage(
        Vocabulary(
            (_FRENCH,), articles="les?|la|l['’]|une?", conjunctions="et", gap=_GAP, month_first=False,
            forms={
                "mars": rf"(?<!\bthe\s)(?<!\bbruno\s){_MONTH_OR_NAME.format('mars')}{_PLANET}",
                "avril": _MONTH_OR_NAME.format("avril"),
                "été": _SUMMER.format("été"), "ete": _SUMMER.format("ete"),
            },
            weekdays_alone=r"lundi|mardi(?!\s+gras)|mercredi|jeudi|vendredi|samedi|dimanche",
        ),
        particles=word_set("à au aux courant d de depuis du durant en l la le les mois pendant"),
        doubtful=word_set("hier"),  # German and Dutch: "here"
        signs=re.compile(
            r"\b(?:(?:[cdjlmnst]|qu)['’]\w|(?:ai|au|aux|avec|avons|ce|dans|depuis|dit|elle|est|et|fait|les|mes|nous|ont"
            r"|la|le|où|par|pour|que|qui|quoi|sur|une?|vous)\b)",
            re.IGNORECASE,
        ),
    ),
    TimeLanguage(
        Vocabulary(
            (_PORTUGUESE,), articles="os?|as?|uma?", conjunctions="e", gap=_GAP, month_first=False,
            forms={
                # Behind "de" without a day it is a name in Spanish.
                "abril": r"(?<!\bde\s)abril", "agosto": r"(?<!\bde\s)agosto", "primavera": r"(?<!\bde\s)primavera",
                "natal": "(?<!-)natal", "mes": r"mes(?=\s+(?:passado|anterior))",
                **{name: _SHORT_DAY.format(name) for name in ("segunda", "terça", "quarta", "quinta", "sexta")},
            },
            weekdays_alone="(?:segunda|terça|quarta|quinta|sexta)-feira",
        ),
        particles=word_set("a à ao às com d da de dia do durante e em foi mês na no o os as"),
    ),
    TimeLanguage(
        Vocabulary(
            (_ITALIAN,), articles="il|lo|la|l['’]|i|gli|le|una?", conjunctions="e|ed", gap=_GAP, month_first=False,
            forms={
                "maggio": r"(?-i:maggio)|(?<!\bdi\s)maggio", "primavera": r"(?<!\bde\s)primavera",
                "estate": r"(?<=['’])estate|(?<=\bquesta\s)estate|(?<=\bscorsa\s)estate"
                          r"|estate(?=\s+(?:scorsa|passata|del\s))",
            },
            weekdays_alone="(?:lune|marte|mercole|giove|vener)d[ìi]",
        ),
        particles=word_set("a ad al alla d da dal dalla del dell della di durante il in l la lo mese nel nell nella"),
    ),
)  # fmt: skip

TIME_PARTICLES = frozenset[str]().union(*(one.particles for one in TIME_LANGUAGES))
