"""WhatsApp as the phones of many countries write it: headers from both systems."""

from __future__ import annotations

import itertools
import unicodedata
from datetime import date, datetime, timedelta

import pytest

from appliance.types.placeholders import placeholder_kind

ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
PERSIAN = str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")
DEVANAGARI = str.maketrans("0123456789", "०१२३४५६७८९")
BENGALI = str.maketrans("0123456789", "০১২৩৪৫৬৭৮৯")

# In the patterns: d M y H h m s with two letters padded, yyyy the whole year, and "a" for the half of the day.
# (locale, the system, what stands before the name, the words for the halves of the day, digits, calendar)
HEADERS = [
    ("en_US", "ios", "[M/d/yy, h:mm:ss\u202fa] ", "AM PM"),
    ("en_US", "android", "M/d/yy, h:mm\u202fa - ", "AM PM"),
    ("en_US, 24 hours", "android", "M/d/yy, HH:mm - ", ""),
    ("en_GB", "ios", "[dd/MM/yyyy, HH:mm:ss] ", ""),
    ("en_GB", "android", "dd/MM/yyyy, HH:mm - ", ""),
    ("en_AU", "ios", "[d/M/yyyy, h:mm:ss a] ", "am pm"),
    ("en_CA", "ios", "[yyyy-MM-dd, h:mm:ss\u202fa] ", "AM PM"),
    ("en_CA", "android", "yyyy-MM-dd, h:mm a - ", "a.m.|p.m."),
    ("en_IN", "android", "dd/MM/yy, h:mm a - ", "am pm"),
    ("en_ZA", "android", "yyyy/MM/dd, HH:mm - ", ""),
    ("de_DE", "ios", "[dd.MM.yy, HH:mm:ss] ", ""),
    ("de_DE", "android", "dd.MM.yy, HH:mm - ", ""),
    ("de_CH", "android", "dd.MM.yyyy, HH:mm - ", ""),
    ("fr_FR", "ios", "[dd/MM/yyyy HH:mm:ss] ", ""),
    ("fr_FR", "android", "dd/MM/yyyy, HH:mm - ", ""),
    ("fr_FR, older", "android", "dd/MM/yyyy à HH:mm - ", ""),
    ("fr_CA", "ios", "[yyyy-MM-dd HH h mm min ss s] ", ""),
    ("fr_CA", "android", "yyyy-MM-dd, HH h mm - ", ""),
    ("es_ES", "ios", "[d/M/yy, H:mm:ss] ", ""),
    ("es_ES", "android", "d/M/yy, H:mm - ", ""),
    ("es_MX", "ios", "[dd/MM/yy, h:mm:ss\u202fa] ", "a.m.|p.m."),
    ("es_MX", "android", "d/M/yyyy, h:mm\u202fa - ", "a.\u00a0m.|p.\u00a0m."),
    ("pt_BR", "ios", "[dd/MM/yyyy, HH:mm:ss] ", ""),
    ("pt_BR", "android", "dd/MM/yyyy HH:mm - ", ""),
    ("pt_PT", "ios", "[dd/MM/yy, HH:mm:ss] ", ""),
    ("pt_PT", "android", "dd/MM/yy, HH:mm - ", ""),
    ("it_IT", "ios", "[dd/MM/yy, HH:mm:ss] ", ""),
    ("it_IT", "android", "dd/MM/yy, HH:mm - ", ""),
    ("nl_NL", "ios", "[dd-MM-yyyy HH:mm:ss] ", ""),
    ("nl_NL", "android", "dd-MM-yyyy HH:mm - ", ""),
    ("sv_SE", "ios", "[yyyy-MM-dd, HH:mm:ss] ", ""),
    ("sv_SE", "android", "yyyy-MM-dd HH:mm - ", ""),
    ("sv_SE, older", "android", "yyyy-MM-dd kl. HH:mm - ", ""),
    ("da_DK", "ios", "[dd.MM.yyyy HH.mm.ss] ", ""),
    ("da_DK", "android", "dd.MM.yyyy HH.mm - ", ""),
    ("nb_NO", "ios", "[dd.MM.yyyy, HH:mm:ss] ", ""),
    ("nb_NO", "android", "dd.MM.yyyy, HH:mm - ", ""),
    ("fi_FI", "ios", "[d.M.yyyy klo H.mm.ss] ", ""),
    ("fi_FI", "android", "d.M.yyyy klo H.mm - ", ""),
    ("pl_PL", "ios", "[dd.MM.yyyy, HH:mm:ss] ", ""),
    ("pl_PL", "android", "d.MM.yyyy, HH:mm - ", ""),
    ("ru_RU", "ios", "[dd.MM.yyyy, HH:mm:ss] ", ""),
    ("ru_RU", "android", "dd.MM.yyyy, HH:mm - ", ""),
    ("uk_UA", "ios", "[dd.MM.yy, HH:mm:ss] ", ""),
    ("uk_UA", "android", "dd.MM.yy, HH:mm - ", ""),
    ("cs_CZ", "ios", "[dd.MM.yyyy H:mm:ss] ", ""),
    ("cs_CZ", "android", "dd.MM.yy H:mm - ", ""),
    ("cs_CZ, spaced", "ios", "[d. M. yyyy H:mm:ss] ", ""),
    ("sk_SK", "android", "d. M. yyyy, H:mm - ", ""),
    ("sl_SI", "android", "d. MM. yy, HH:mm - ", ""),
    ("hr_HR", "android", "dd. MM. yyyy. HH:mm - ", ""),
    ("sr_RS", "android", "d.M.yy. HH:mm - ", ""),
    ("bg_BG", "android", "d.MM.yy г., H:mm ч. - ", ""),
    ("hu_HU", "ios", "[yyyy. MM. dd. H:mm:ss] ", ""),
    ("hu_HU", "android", "yyyy. MM. dd. H:mm - ", ""),
    ("ro_RO", "ios", "[dd.MM.yyyy, HH:mm:ss] ", ""),
    ("ro_RO", "android", "dd.MM.yyyy, HH:mm - ", ""),
    ("el_GR", "ios", "[d/M/yy, h:mm:ss a] ", "π.μ.|μ.μ."),
    ("el_GR", "android", "d/M/yy, h:mm a - ", "π.μ.|μ.μ."),
    ("tr_TR", "ios", "[d.MM.yyyy HH:mm:ss] ", ""),
    ("tr_TR", "android", "d.MM.yyyy HH:mm - ", ""),
    ("tr_TR, 12 hours", "ios", "[d.MM.yyyy a h:mm:ss] ", "ÖÖ|ÖS"),
    ("ar_EG", "ios", "[\u200fd\u200f/M\u200f/yyyy، h:mm:ss a] ", "ص م", ARABIC),
    ("ar_EG", "android", "d\u200f/M\u200f/yyyy، h:mm a - ", "ص م", ARABIC),
    ("ar_AE", "android", "dd/MM/yyyy, h:mm a - ", "ص م"),
    ("ar_SA", "ios", "[d\u200f/M\u200f/yyyy هـ، h:mm:ss\u00a0a] ", "ص م", ARABIC, "islamic"),
    ("fa_IR", "ios", "[yyyy/M/d،\u200f H:mm:ss] ", "", PERSIAN, "solar"),
    ("fa_IR", "android", "yyyy/M/d, H:mm - ", "", PERSIAN, "solar"),
    ("fa_IR, 12 hours", "android", "yyyy/M/d،\u200f h:mm a - ", "ق.ظ.|ب.ظ.", PERSIAN, "solar"),
    ("he_IL", "ios", "[dd.MM.yyyy, H:mm:ss] ", ""),
    ("he_IL", "android", "d.M.yyyy, HH:mm - ", ""),
    ("hi_IN", "ios", "[dd/MM/yy, h:mm:ss a] ", "am pm"),
    ("hi_IN", "android", "d/M/yy, h:mm a - ", "पूर्वाह्न अपराह्न"),
    ("mr_IN", "android", "d/M/yy, h:mm a - ", "AM PM", DEVANAGARI),
    ("bn_BD", "android", "d/M/yy, h:mm a - ", "AM PM", BENGALI),
    ("ta_IN", "android", "d/M/yy, a h:mm - ", "முற்பகல் பிற்பகல்"),
    ("th_TH", "ios", "[d/M/yyyy HH:mm:ss] ", "", None, "buddhist"),
    ("th_TH", "android", "d/M/yyyy HH:mm - ", "", None, "buddhist"),
    ("th_TH, short", "android", "d/M/yy HH:mm - ", "", None, "buddhist"),
    ("th_TH, in words", "android", "d/M/yyyy HH:mm น. - ", "", None, "buddhist"),
    ("ja_JP", "ios", "[yyyy/MM/dd H:mm:ss] ", ""),
    ("ja_JP", "android", "yyyy/MM/dd HH:mm - ", ""),
    ("ja_JP, 12 hours", "android", "yyyy/MM/dd ah:mm - ", "午前 午後"),
    ("ko_KR", "ios", "[yyyy. M. d. a h:mm:ss] ", "오전 오후"),
    ("ko_KR", "android", "yyyy. M. d. a h:mm - ", "오전 오후"),
    ("zh_CN", "ios", "[yyyy/M/d HH:mm:ss] ", ""),
    ("zh_CN", "android", "yyyy/M/d ah:mm - ", "上午 下午"),
    ("zh_TW", "ios", "[yyyy/M/d ah:mm:ss] ", "上午 下午"),
    ("zh_HK", "ios", "[d/M/yyyy ah:mm:ss] ", "上午 下午"),
    ("id_ID", "ios", "[dd/MM/yy HH.mm.ss] ", ""),
    ("id_ID", "android", "dd/MM/yy HH.mm - ", ""),
    ("ms_MY", "ios", "[dd/MM/yyyy, h:mm:ss a] ", "PG PTG"),
    ("ms_MY", "android", "d/MM/yy, h:mm a - ", "PG PTG"),
    ("vi_VN", "ios", "[HH:mm:ss, d/M/yyyy] ", ""),
    ("vi_VN", "android", "HH:mm, dd/MM/yyyy - ", ""),
    ("vi_VN, 12 hours", "ios", "[dd/MM/yyyy, h:mm:ss a] ", "SA CH"),
]

SOLAR_NEW_YEARS = {1402: date(2023, 3, 21), 1403: date(2024, 3, 20), 1404: date(2025, 3, 21)}
# The months of 1446 by the Umm al-Qura calendar, as far as the moments below need them.
ISLAMIC_MONTHS = {(1446, 1): date(2024, 7, 7), (1446, 3): date(2024, 9, 4), (1446, 7): date(2025, 1, 1)}

MOMENTS = [
    datetime(2024, 7, 13, 0, 4, 5),
    datetime(2024, 9, 5, 9, 30, 0),
    datetime(2024, 9, 5, 12, 0, 59),
    datetime(2024, 9, 28, 13, 7, 8),
    datetime(2025, 1, 2, 23, 59, 1),
]


def spelled(when: datetime, pattern: str, halves: str = "", digits=None, calendar: str = "gregorian") -> str:
    """``when`` as a phone of a locale writes it."""
    year, month, day = when.year, when.month, when.day
    if calendar == "buddhist":
        year += 543
    elif calendar == "solar":
        year = max(y for y, first in SOLAR_NEW_YEARS.items() if first <= when.date())
        passed = (when.date() - SOLAR_NEW_YEARS[year]).days
        month, day = (passed // 31 + 1, passed % 31 + 1) if passed < 186 else divmod(passed - 186, 30)
        month, day = (month, day) if passed < 186 else (month + 7, day + 1)
    elif calendar == "islamic":
        (year, month), first = max(
            (item for item in ISLAMIC_MONTHS.items() if item[1] <= when.date()), key=lambda item: item[1]
        )
        day = (when.date() - first).days + 1
    words = halves.split("|") if "|" in halves else halves.split()
    values = {
        "yyyy": f"{year}",
        "yy": f"{year % 100:02}",
        "MM": f"{month:02}",
        "M": f"{month}",
        "dd": f"{day:02}",
        "d": f"{day}",
        "HH": f"{when.hour:02}",
        "H": f"{when.hour}",
        "h": f"{when.hour % 12 or 12}",
        "mm": f"{when.minute:02}",
        "ss": f"{when.second:02}",
        "a": words[when.hour >= 12] if words else "",
    }
    return "".join(
        (value.translate(digits) if digits else value) if (value := values.get(run)) is not None else run
        for run in ("".join(group) for _, group in itertools.groupby(pattern))
    )


def written(entry, when: datetime) -> str:
    locale, _, pattern, halves, *rest = entry
    if locale == "fr_CA":
        # Here the letters of the pattern are words, too.
        form = "[{0:%Y-%m-%d %H} h {0:%M} min {0:%S} s] " if pattern[0] == "[" else "{0:%Y-%m-%d, %H} h {0:%M} - "
        return form.format(when)
    return spelled(when, pattern, halves, *rest)


@pytest.mark.parametrize("entry", HEADERS, ids=lambda entry: f"{entry[0]} {entry[1]}")
def test_headers_of_every_locale(read, entry):
    seconds = entry[1] == "ios"
    text = "".join(f"{written(entry, when)}Ana María: it's {n}: ok\n" for n, when in enumerate(MOMENTS))
    got = read(text + written(entry, MOMENTS[-1]) + "Ben:\n", name="_chat.txt")
    assert got.format == "whatsapp"
    assert got.texts == [f"it's {n}: ok" for n in range(len(MOMENTS))] + [""]
    assert {m.author for m in got.messages} == {"Ana María", "Ben"}
    expected = [when if seconds else when.replace(second=0) for when in MOMENTS]
    found = [m.sent_at for m in got.messages[:-1]]
    if entry[-1] == "islamic":
        # The civil reckoning may be a day off the sighting of the moon.
        assert all(abs(a - b) <= timedelta(days=1) for a, b in zip(found, expected, strict=True))
    else:
        assert found == expected
    assert got.problems == []


# Headers with a letter beyond ASCII: Android's and those of iPhones.
ACCENTED = [
    "[12/03/2023 à 21:05:11] ",
    "12/03/2023 à 21:05 - ",
    "[12/03/2023 às 21:05:11] ",
    "12/03/2023, 9:05 da noite - ",
    "[12/03/2023 à 9:05:11 de l’après-midi] ",
    "[12/03/2023, 9:05:11 del mediodía] ",
    "[12.03.2023 ÖS 9:05:11] ",
    "21:05, 12 août 2023 - ",
]
FORMS = {
    "Windows-1252": lambda text: text.encode("cp1252"),
    "NFD": lambda text: unicodedata.normalize("NFD", text).encode(),
    "NFC": str.encode,
    "UTF-16": lambda text: text.encode("utf-16"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("header", ACCENTED)
def test_headers_with_accents_in_every_encoding(read, header, form):
    text = f"{header}Éloïse: ça va ?\n{header}Thomas: très bien\n{header}Éloïse: à bientôt\n"
    got = read(FORMS[form](text), name="_chat.txt")
    assert got.format == "whatsapp"
    assert [unicodedata.normalize("NFC", m.author) for m in got.messages] == ["Éloïse", "Thomas", "Éloïse"]
    assert unicodedata.normalize("NFC", got.texts[0]) == "ça va ?"
    assert {(m.sent_at.year, m.sent_at.minute, m.sent_at.hour % 12) for m in got.messages} == {(2023, 5, 9)}
    assert got.problems == []
    assert any("Windows-1252" in note.message for note in got.notes) == (form == "Windows-1252")


def test_decomposed_words_of_the_app_are_known(read):
    """Texts stay as they are written, also with their accents apart."""
    header = "[12/03/2023 à 21:05:11] "
    text = unicodedata.normalize(
        "NFD",
        f"{header}Éloïse: Les messages et les appels sont chiffrés de bout en bout.\n"
        f"{header}Éloïse: ‎<pièce jointe : 00000012-PHOTO.jpg>\n"
        f"{header}Éloïse: ‎vidéo absente\n"
        f"{header}Éloïse: ‎Vous avez supprimé ce message.\n"
        f"{header}Éloïse: d’accord ‎<Ce message a été modifié>\n"
        f"{header}Éloïse: ‎Éloïse a retiré Ana\n",
    )
    got = read(text, name="Discussion WhatsApp - Éloïse/_chat.txt")
    assert got.roles == ["system", "user", "user", "user", "user", "system"]
    assert got.messages[1].metadata["attachments"] == [{"name": "00000012-PHOTO.jpg"}]
    assert placeholder_kind(got.texts[2]) == "left out" and got.messages[3].metadata == {"deleted": True}
    assert (got.texts[4].strip(), got.messages[4].metadata) == ("d’accord", {"edited": True})
    assert got.texts[5] in text


def test_there_are_enough_locales():
    assert len({entry[0].partition(",")[0] for entry in HEADERS}) > 40


def test_years_of_other_calendars(read):
    # A two-digit year that is decades away is of the Buddhist era.
    got = read("30/12/67 10:00 - Ana: x\n31/12/67 10:00 - Ana: y\n")
    assert [m.sent_at for m in got.messages] == [datetime(2024, 12, 30, 10), datetime(2024, 12, 31, 10)]
    got = read("1403/12/30, 10:00 - Ana: leap\n1404/01/01, 10:00 - Ana: new year\n")
    assert [m.sent_at for m in got.messages] == [datetime(2025, 3, 20, 10), datetime(2025, 3, 21, 10)]
