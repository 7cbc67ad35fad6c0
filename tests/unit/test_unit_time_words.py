"""The times that questions name in French, Portuguese and Italian, of which the program knows no other words."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from appliance.languages import LANGUAGES, temporal
from appliance.languages.periods import read_day, read_period
from appliance.languages.temporal import TIME_NAMES
from appliance.languages.time_words import TIME_LANGUAGES
from appliance.retrieval.time_ranges import find_time_ranges, words_beside
from appliance.timestamps import parse_bound

SUNDAY = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def days(question: str) -> list[tuple[str, str]]:
    """First day and the day after the last, of each stretch."""
    return [
        tuple(datetime.fromtimestamp(at / 1e6, UTC).date().isoformat() for at in (one.start, one.end))  # type: ignore[misc]
        for one in find_time_ranges(question, SUNDAY)
    ]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("messages du 15 mars 2024", "2024-03-15", "2024-03-16"),
        ("en juillet 2024", "2024-07-01", "2024-08-01"),
        ("Qu'est-ce que Camille a dit en mars 2024", "2024-03-01", "2024-04-01"),
        ("qu'a dit Camille en juin 2025", "2025-06-01", "2025-07-01"),
        ("qu'a dit Camille en Mars 2024", "2024-03-01", "2024-04-01"),
        ("le 15 Mars 2024", "2024-03-15", "2024-03-16"),
        ("le 1er Avril 2024", "2024-04-01", "2024-04-02"),
        ("qu'ai-je dit hier", "2026-11-21", "2026-11-22"),
        ("les messages d'hier", "2026-11-21", "2026-11-22"),
        ("hier", "2026-11-21", "2026-11-22"),
        ("hier soir", "2026-11-21", "2026-11-22"),
        ("avant-hier", "2026-11-20", "2026-11-21"),
        ("aujourd’hui", "2026-11-22", "2026-11-23"),
        ("l'été dernier", "2026-06-01", "2026-09-01"),
        ("qu'est-ce qu'on a fait l’été dernier", "2026-06-01", "2026-09-01"),
        ("été 2023", "2023-06-01", "2023-09-01"),
        ("la semaine dernière", "2026-11-09", "2026-11-16"),
        ("l'an dernier", "2025-01-01", "2026-01-01"),
        ("cette année", "2026-01-01", "2027-01-01"),
        ("qu'a dit Camille lundi", "2026-11-16", "2026-11-17"),
        ("lundi dernier", "2026-11-16", "2026-11-17"),
        ("le lundi 15 avril 2024", "2024-04-15", "2024-04-16"),
        ("il y a trois jours", "2026-11-19", "2026-11-20"),
        ("il y a un an", "2025-01-01", "2026-01-01"),
        ("les 3 derniers jours", "2026-11-19", "2026-11-23"),
        ("les deux dernières semaines", "2026-11-05", "2026-11-23"),
        ("de janvier à mars 2024", "2024-01-01", "2024-04-01"),
        ("entre mars et mai 2024", "2024-03-01", "2024-06-01"),
        ("du 5 au 7 mars 2024", "2024-03-05", "2024-03-08"),
        ("début mars 2024", "2024-03-01", "2024-03-11"),
        ("à la mi-juillet 2023", "2023-07-11", "2023-07-21"),
        ("le premier trimestre 2023", "2023-01-01", "2023-04-01"),
        ("noël 2024", "2024-12-24", "2024-12-27"),
        ("la semaine du 8 mai 2023", "2023-05-08", "2023-05-15"),
        ("em julho de 2024", "2024-07-01", "2024-08-01"),
        ("o que disse a Camille em março de 2024", "2024-03-01", "2024-04-01"),
        ("ontem", "2026-11-21", "2026-11-22"),
        ("no verão passado", "2026-06-01", "2026-09-01"),
        ("na semana passada", "2026-11-09", "2026-11-16"),
        ("no mês passado", "2026-10-01", "2026-11-01"),
        ("há duas semanas", "2026-11-05", "2026-11-12"),
        ("dois dias atrás", "2026-11-20", "2026-11-21"),
        ("nos últimos 3 dias", "2026-11-19", "2026-11-23"),
        ("na segunda-feira", "2026-11-16", "2026-11-17"),
        ("na segunda passada", "2026-11-16", "2026-11-17"),
        ("o que disse a Ana na sexta?", "2026-11-20", "2026-11-21"),
        ("de 5 a 7 de junho de 2022", "2022-06-05", "2022-06-08"),
        ("entre março e maio de 2022", "2022-03-01", "2022-06-01"),
        ("em meados de julho de 2023", "2023-07-11", "2023-07-21"),
        ("nel marzo 2024", "2024-03-01", "2024-04-01"),
        ("in luglio 2024", "2024-07-01", "2024-08-01"),
        ("ieri", "2026-11-21", "2026-11-22"),
        ("l'estate scorsa", "2026-06-01", "2026-09-01"),
        ("la settimana scorsa", "2026-11-09", "2026-11-16"),
        ("cosa ha detto Camille lunedì", "2026-11-16", "2026-11-17"),
        ("cosa ha detto giovedi", "2026-11-19", "2026-11-20"),
        ("due giorni fa", "2026-11-20", "2026-11-21"),
        ("negli ultimi tre mesi", "2026-08-01", "2026-11-23"),
        ("quest'anno", "2026-01-01", "2027-01-01"),
        ("da gennaio a marzo 2024", "2024-01-01", "2024-04-01"),
        ("metà luglio 2023", "2023-07-11", "2023-07-21"),
        ("sabato 5 ottobre 2024", "2024-10-05", "2024-10-06"),
    ],
)
def test_a_time_is_understood(question: str, first: str, after: str) -> None:
    assert days(question) == [(first, after)]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("depuis mars 2024", "2024-03-01", "2026-11-23"),
        ("depuis l'été 2023", "2023-06-01", "2026-11-23"),
        ("avant le 10 avril 2023", "1970-01-01", "2023-04-10"),
        ("après le 1er décembre 2023", "2023-12-02", "2026-11-23"),
        ("jusqu'au 1er février 2022", "1970-01-01", "2022-02-02"),
        ("jusqu'en mars 2022", "1970-01-01", "2022-04-01"),
        ("desde março", "2026-03-01", "2026-11-23"),
        ("antes de março de 2022", "1970-01-01", "2022-03-01"),
        ("até março de 2022", "1970-01-01", "2022-04-01"),
        ("depois de 1 de dezembro de 2023", "2023-12-02", "2026-11-23"),
        ("dal 2023", "2023-01-01", "2026-11-23"),
        ("prima del 10 aprile 2023", "1970-01-01", "2023-04-10"),
        ("fino al 1 febbraio 2022", "1970-01-01", "2022-02-02"),
        ("dopo il 1º dicembre 2023", "2023-12-02", "2026-11-23"),
    ],
)
def test_a_preposition_bounds_a_time_and_belongs_to_its_words(question: str, first: str, after: str) -> None:
    assert days(question) == [(first, after)]
    assert [one.words for one in find_time_ranges(question, SUNDAY)] == [question]


@pytest.mark.parametrize(
    ("question", "month"),
    [
        ("les messages de mars", "03"),
        ("au mois de mars", "03"),
        ("les messages d'octobre", "10"),
        ("les photos de l'automne, d'août", "08"),
        ("o que fizemos em agosto", "08"),
        ("in aprile", "04"),
        ("a maggio", "05"),
    ],
)
def test_a_month_without_a_year_may_be_any_years(question: str, month: str) -> None:
    found = {first for first, _ in days(question)}
    assert {f"2022-{month}-01", f"2025-{month}-01"} <= found


@pytest.mark.parametrize(
    "question",
    [
        # Words of other languages
        "how many people live on the Mars colony",
        "life on mars, in mars, a trip to mars and venus",
        "15 mars bars",
        "2 Mars rovers",
        "2 Avril songs",
        "photos of mars",
        "was machst du hier",
        "Bug hier beheben",
        "was ist hier los",
        "wat is hier aan de hand",
        "real estate prices",
        "may I march on",
        "set the table",
        "an august person",
        "la segunda semana",
        "na segunda vez",
        "vestido de primavera",
        "la mar en calma",
        "da sind wir",
        "ho mai detto questo",
        "elle a été malade, il a été 3 fois à Paris",
        "mardi gras",
        # Names
        "Avril Lavigne and Octavia",
        "ask Avril or Juin or April",
        "colonisation de Mars",
        "avant Mars",
        "Luigi Di Maggio",
        "el marco de la puerta, Marco y Juan",
        "los mensajes de Abril",
        "los mensajes de abril",
        "KwaZulu-Natal floods",
        # Other times than those
        "ce soir-là, cette année-là",
        "vendredi prochain, demain et la semaine prochaine",
        "dans trois jours",
        "amanhã, em dois dias",
        "domani, tra due giorni",
    ],
)
def test_what_is_no_time_names_none(question: str) -> None:
    assert days(question) == []


@pytest.mark.parametrize(
    "question", ["the mars 2020 rover", "Mars 2020 mission", "NASA's Mars 2020", "bruno mars 2023", "real estate 2024"]
)
def test_a_year_behind_such_a_word_is_the_year(question: str) -> None:
    ((first, after),) = days(question)
    assert first.endswith("-01-01") and after.endswith("-01-01")


def test_english_keeps_its_times_beside_such_words() -> None:
    assert days("is it fine last week") == [("2026-11-09", "2026-11-16")]
    assert days("o jogo de 10 de abril de 2023") == days("10 April 2023") == [("2023-04-10", "2023-04-11")]


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("hier", "2026-11-21", "2026-11-22"),
        ("mars 2023", "2023-03-01", "2023-04-01"),
        ("Mars 2023", "2023-03-01", "2023-04-01"),
        ("lundi", "2026-11-16", "2026-11-17"),
        ("la semaine dernière", "2026-11-09", "2026-11-16"),
        ("l'été dernier", "2026-06-01", "2026-09-01"),
        ("ontem", "2026-11-21", "2026-11-22"),
        ("sexta-feira", "2026-11-20", "2026-11-21"),
        ("domenica", "2026-11-15", "2026-11-16"),
        ("the last week", "2026-11-09", "2026-11-16"),
    ],
)
def test_a_time_is_read_where_one_is_expected(text: str, first: str, after: str) -> None:
    period = read_period(text, SUNDAY.replace(tzinfo=None, hour=0, minute=0))
    assert period is not None and [one.date().isoformat() for one in period] == [first, after]


def test_a_filter_takes_them() -> None:
    assert len({parse_bound(text, end=False) for text in ("mars 2023", "March 2023", "março de 2023")}) == 1
    assert len({parse_bound(text, end=True) for text in ("hier", "ontem", "ieri", "yesterday")}) == 1
    assert read_day("15 mars", datetime(2026, 11, 22)) == datetime(2027, 3, 15)


def test_the_small_words_beside_a_time_name_nothing() -> None:
    for question in ("au mois de mars 2024", "em março de 2024", "nel marzo 2024", "l'été dernier", "no verão passado"):
        assert words_beside([one.words for one in find_time_ranges(question, SUNDAY)], question) == set()


def test_every_name_is_found_by_the_words_that_its_language_is_looked_for() -> None:
    for one in TIME_LANGUAGES:
        for name in (*one.vocabulary.months, *one.vocabulary.weekdays, *one.vocabulary.days):
            assert set(re.findall(r"\w+", name)) & temporal._NAMES_OF[one]


def test_facts_are_read_in_the_languages_that_have_them() -> None:
    known = {name for one in LANGUAGES for names in one.temporal.months for name in names.split("|")}
    assert set(temporal.MONTHS) == known
    assert temporal.match("15 mars 2024", 0, 12) is temporal.match("hier", 0, 4) is None
    assert {"juillet", "setembro", "gennaio", "july", "dernier"} - TIME_NAMES == {"dernier"}
