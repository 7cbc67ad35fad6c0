"""What the JSON and HTML forms of Meta's threads share: ids, the apps' own messages, dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

# "alice_10203040506070": the name may change, the number doesn't.
_OWN_ID = re.compile(r"_([A-Za-z0-9-]{8,})$", re.ASCII)
_THREAD_FILE = re.compile(r"message_\d+\.(?:json|html?)$", re.IGNORECASE)

# Messages that the app writes in a person's name, after "You" or the name.
_ACTION_NOTICE = re.compile(
    r"missed (?:your|a|an) .{0,20}(?:call|chat)(?: (?:from|with) .+)?|called .+|waved at .+|is waving at you"
    r"|started (?:a|an) (?:video |audio )?(?:chat|call)|ended the (?:call|chat)|joined the (?:video chat|call|group)"
    r"|named the group .+|created (?:the|this) group|added .+ to the group|removed .+ from the group|left the group"
    r"|(?:set|changed|cleared|removed) .{0,60}(?:nickname|group photo|theme|chat colors?|emoji|quick reaction)\b.*"
    r"|pinned a message|unsent a message|turned (?:on|off) .+"
)
_NOTICE = re.compile(
    r"Reacted .{1,20} to (?:your|their|a) message\s*|Liked a message"
    r"|(?:The|Your) (?:video|audio) (?:chat|call) (?:has )?ended\.?"
    r"|You (?:are|can) now .{0,40}(?:connected|message|call).*|Say hi to your new .+"
    # German, Spanish, French, Portuguese, Italian
    r"|Hat .{0,30}auf deine Nachricht reagiert\s*|Gefällt eine Nachricht"
    r"|Reaccionó con .{1,20} a tu mensaje\s*|Le gusta un mensaje"
    r"|A réagi .{1,20} à (?:votre|ton) message\s*|A aimé un message"
    r"|Reagiu com .{1,20} à (?:sua|tua) mensagem\s*|Curtiu uma mensagem"
    r"|Ha reagito con .{1,20} al tuo messaggio\s*|Ha messo \"?Mi piace\"? a un messaggio"
)
_SENT_NOTICE = re.compile(
    r"sent (?:an attachment|a (?:photo|video|link|GIF|sticker|voice message|live location|post|reel))"
    r"|shared (?:a|an) (?:post|story|reel|link|location|profile|photo|video)"
)

_MONTH_NAMES = """
jan janv jänner enero gen stycz led янв | feb fév févr fevereiro lut úno фев
mar mär märz mrz mars mrt maart março bře мар | apr abr avr avril kwi dub апр
may mai mag mei maj maggio kvě мая май | jun juin giu giugno cze czerwca čvn июн
jul juil juillet lug luglio lip čvc июл | aug ago août aoû sie srp авг | sep sept set septiembre wrz zář сен
oct okt ott out oktober paź říj окт | nov nowember lis noviembre ноя | dec dez déc dic decembre gru pro дек
"""
_MONTHS = {
    name: number
    for number, names in enumerate(_MONTH_NAMES.strip().replace("\n", "|").split("|"), 1)
    for name in names.split()
}
_ZONES = {"UTC": 0, "GMT": 0, "CET": 1, "CEST": 2, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7,
          "MDT": -6, "PST": -8, "PDT": -7}  # fmt: skip
_CLOCK = (
    r"(?P<hour>\d{1,2})[:.h](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?:\s*(?P<half>[ap])\.?\s?m\.?)?(?:\s*(?P<zone>[A-Z]{3,4})?(?P<ahead>[+-]\d{1,2}(?::?\d\d)?)?)?"
)
_DATE_CLOCK_GAP = r"[\s,]+(?:(?:at|um|a las|à|às|kl\.?|alle|o)\s+)?"
_DATES = tuple(
    re.compile(pattern + _DATE_CLOCK_GAP + _CLOCK, re.I)
    for pattern in (
        r"(?P<word>[^\W\d]+)\.?\s+(?P<day>\d{1,2}),?\s+(?P<year>\d{4})",
        r"(?P<day>\d{1,2})\.?\s+(?:de\s+)?(?P<word>[^\W\d]+)\.?,?\s+(?:de\s+)?(?P<year>\d{4})(?:\s*[гр]\.)?",
        r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d\d?)\s?[月월]\s?(?P<day>\d\d?)\s?[日일]",
        r"(?P<year>\d{4})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4}|\d\d)",
        r"(?P<day>\d{1,2})[/-](?P<month>\d{1,2})[/-](?P<year>\d{4}|\d\d)",
    )
)
_MAX_DATE_CHARACTERS = 80
_WEEKDAY = re.compile(r"^[^\W\d]+,\s+(?=[^\W\d]+\.?\s+\d|\d)")


def thread_id(path: str) -> str | None:
    """The id in a thread's path or folder, independent of its mailbox and its name."""
    last = path.rstrip("/").rpartition("/")[2]
    found = _OWN_ID.search(last)
    return found[1] if found else last or None


def folder_id(name: str) -> str | None:
    """The id in the name of a thread's folder, if the file has the name of a thread's file."""
    folder, _, last = name.rpartition("/")
    return thread_id(folder) if folder and _THREAD_FILE.fullmatch(last) else None


def is_thread_file(name: str) -> bool:
    return _THREAD_FILE.fullmatch(name.rpartition("/")[2]) is not None


def is_notice(text: str, author: str | None, has_files: bool) -> bool:
    """Whether the app wrote a message. A notice that a file was sent counts only if there are no files."""
    if len(text) > 300 or "\n" in text:
        return False
    if _NOTICE.fullmatch(text):
        return True
    # "Ben left the group." is a notice under Ben's name, but a message under Ana's.
    for name in ("You", author or "", (author or "").partition(" ")[0]):
        if name and text.startswith(f"{name} "):
            done = text[len(name) + 1 :].rstrip(".!")
            return _ACTION_NOTICE.fullmatch(done) is not None or (
                not has_files and _SENT_NOTICE.fullmatch(done) is not None
            )
    return False


def read_date(text: str) -> datetime | None:
    """A time as the pages write it, in many languages: UTC if it has a zone, else local."""
    if len(text) > _MAX_DATE_CHARACTERS:
        return None
    plain = _WEEKDAY.sub("", " ".join(text.split()))
    for style in _DATES:
        found = style.fullmatch(plain)
        if found is None:
            continue
        parts = found.groupdict()
        month = month_number(parts["word"]) if parts.get("word") else int(parts["month"])
        day, year, hour = int(parts["day"]), int(parts["year"]), int(parts["hour"])
        if month is None:
            continue
        if parts["half"]:
            hour = hour % 12 + (12 if parts["half"] in "pP" else 0)
        # A date with slashes and AM or PM has the month first.
        if style is _DATES[-1] and (month > 12 or (parts["half"] and day <= 12)):
            day, month = month, day
        try:
            local = datetime(year + 2000 if year < 100 else year, month, day, hour, int(parts["minute"]),
                             int(parts["second"] or 0))  # fmt: skip
            return _in_utc(local, parts["zone"], parts["ahead"])
        except (ValueError, OverflowError):
            continue
    return None


def month_number(word: str) -> int | None:
    """The number of a month by its name, or a beginning of it, in the main languages."""
    name = word.lower()
    return next((_MONTHS[name[:size]] for size in range(len(name), 2, -1) if name[:size] in _MONTHS), None)


def _in_utc(local: datetime, zone: str | None, ahead: str | None) -> datetime:
    hours = _ZONES.get((zone or "").upper())
    if hours is None:
        return local
    offset = timedelta(hours=hours)
    if ahead:
        digits = ahead[1:].replace(":", "")
        whole = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        offset += whole if ahead[0] == "+" else -whole
    return local.replace(tzinfo=timezone(offset)).astimezone(UTC)
