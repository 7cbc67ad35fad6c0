"""Address books: vCard files, and the CSV of Google Contacts (Takeout) and Outlook. They hold no messages, but say who
the authors of messages are.

A card of a vCard file is read line by line, with folded lines joined and quoted-printable values decoded (versions 2.1
to 4.0). Photos and everything else that identifies no one is skipped.
"""

from __future__ import annotations

import csv
import quopri
import re
from collections.abc import Iterator

from appliance.formats import json_stream
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead
from appliance.formats.text_lines import text_lines
from appliance.types import ContactRecord, IdentityKind, InputProblem, Record

_CARD = re.compile(r"BEGIN:VCARD\s*\r?\n", re.IGNORECASE)
_PROPERTY = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(?P<value>.*)", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)")
_PARTS = re.compile(r"(?<!\\);")
_CHARSET = re.compile(r"charset=\"?([\w-]+)", re.IGNORECASE)

_MAX_VALUE_CHARACTERS = 500
_MAX_COLUMN_CHARACTERS = 1 << 20

# The columns of the CSV files: Google's of both generations, and Outlook's.
_NAME_COLUMNS = ("name", "file as", "display name", "full name")
_GIVEN_COLUMNS = ("first name", "given name")
_MIDDLE_COLUMNS = ("middle name", "additional name")
_FAMILY_COLUMNS = ("last name", "family name")
_NICKNAME_COLUMNS = ("nickname",)
_ADDRESS_COLUMN = re.compile(r"e-?mail(?: \d+)?(?: - value| address)?|e-?mail \d+ address")
_NUMBER_COLUMN = re.compile(
    r"phone \d+ - value|(?:mobile|home|business|primary|other|car|company main) phone(?: \d+)?|phone|mobile|telephone"
)
_SEVERAL = " ::: "
"""Between several values in one field of Google's CSV."""


def matches(head: DocumentHead) -> float:
    """The confidence that this is an address book: a card, or a header line with names and addresses."""
    text = head.text.lstrip("\ufeff \t\r\n")
    if _CARD.match(text):
        return 0.97
    columns = _columns(text.split("\n", 1)[0])
    has_name = bool({*_NAME_COLUMNS, *_GIVEN_COLUMNS} & {*columns})
    addresses = sum(_ADDRESS_COLUMN.fullmatch(one) is not None for one in columns)
    numbers = sum(_NUMBER_COLUMN.fullmatch(one) is not None for one in columns)
    return 0.9 if has_name and addresses and numbers and len(columns) > 4 else 0.0


def _columns(line: str) -> list[str]:
    if "," not in line or len(line) > 20_000:
        return []
    try:
        return [name.strip().lower() for name in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def parse(document: Document) -> Iterator[Record]:
    """The entries of the address book, in file order."""
    first = next((line for line in json_stream.lines(document) if not isinstance(line, InputProblem)), None)
    is_card = first is not None and first[1].lstrip(b"\xef\xbb\xbf \t").upper().startswith(b"BEGIN:VCARD")
    found = False
    for record in _cards(document) if is_card else _rows(document):
        found = found or isinstance(record, ContactRecord)
        yield record
    if not found:
        yield InputProblem("", "the file holds no contacts with a name, an address or a number", harmless=True)


def _cards(document: Document) -> Iterator[Record]:
    encoding = texts.encoding_of(document)
    card: list[str] | None = None
    begun = 0
    for line in json_stream.lines(document):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, data = line
        text = texts.decoded(data, encoding)[0].lstrip("\ufeff").rstrip("\r\n")
        mark = text.strip().upper()
        if mark == "BEGIN:VCARD":
            if card is not None:
                yield InputProblem(f"line {begun}", "the card has no end; its lines were read")
                yield from _contact(card)
            card, begun = [], number
        elif card is None:
            continue
        elif mark == "END:VCARD":
            yield from _contact(card)
            card = None
        elif card and (text[:1] in (" ", "\t") or _is_soft_break(card[-1])):
            # A folded line; photos have thousands of them.
            if len(card[-1]) < _MAX_VALUE_CHARACTERS:
                card[-1] = card[-1].removesuffix("=") + text[int(text[:1] in (" ", "\t")) :]
        else:
            card.append(text)
    if card is not None:
        yield InputProblem(f"line {begun}", "the file ends within a card; the lines before were read")
        yield from _contact(card)


def _is_soft_break(line: str) -> bool:
    return line.endswith("=") and "QUOTED-PRINTABLE" in line[:200].upper()


def _contact(lines: list[str]) -> Iterator[ContactRecord]:
    names: list[str] = []
    structured = ""
    stated: list[tuple[IdentityKind, str]] = []
    for line in lines:
        found = _PROPERTY.fullmatch(line)
        if found is None:
            continue
        name, value = found["name"].upper(), found["value"]
        if name not in ("FN", "N", "NICKNAME", "EMAIL", "TEL"):
            continue
        if "QUOTED-PRINTABLE" in found["parameters"].upper():
            charset = _CHARSET.search(found["parameters"])
            value = texts.decoded(quopri.decodestring(value.encode("utf-8", "replace")), _codec(charset))[0]
        if name == "N":
            parts = [_plain(part) for part in _PARTS.split(value)[:3]]
            structured = " ".join(part for part in (*parts[1:], parts[0]) if part)
        elif name in ("FN", "NICKNAME"):
            names += [_plain(value)]
        else:
            stated.append(("address" if name == "EMAIL" else "number", _plain(value)))
    yield from _record([*names, *([structured] if structured and not names else [])], stated)


def _codec(charset: re.Match[str] | None) -> texts.Encoding:
    return (
        "cp1252" if charset is not None and charset[1].lower() in ("iso-8859-1", "windows-1252", "cp1252") else "utf-8"
    )


def _plain(value: str) -> str:
    return " ".join(_ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], value).split())[
        :_MAX_VALUE_CHARACTERS
    ]


def _record(names: list[str], stated: list[tuple[IdentityKind, str]]) -> Iterator[ContactRecord]:
    named: list[tuple[IdentityKind, str]] = [("name", name) for name in dict.fromkeys(names) if name]
    values = [(kind, value) for kind, value in stated if value]
    if named or values:
        yield ContactRecord((*named, *values))


def _rows(document: Document) -> Iterator[Record]:
    problems: list[InputProblem] = []

    def lines() -> Iterator[str]:
        for line in text_lines(document):
            if isinstance(line, InputProblem):
                problems.append(line)
            else:
                yield line[1] + "\n"

    csv.field_size_limit(max(csv.field_size_limit(), _MAX_COLUMN_CHARACTERS))
    reader = csv.reader(lines())
    try:
        columns = [name.strip().lstrip("\ufeff").lower() for name in next(reader, [])]
        for row in reader:
            yield from problems
            problems.clear()
            yield from _row(dict(zip(columns, row, strict=False)))
    except csv.Error as error:
        yield InputProblem(f"line {reader.line_num}", f"the table can't be read any further: {error}")
    yield from problems


def _row(values: dict[str, str]) -> Iterator[ContactRecord]:
    def first(columns: tuple[str, ...]) -> str:
        return next((text for column in columns if (text := " ".join(values.get(column, "").split()))), "")

    whole = first(_NAME_COLUMNS) or " ".join(
        part for columns in (_GIVEN_COLUMNS, _MIDDLE_COLUMNS, _FAMILY_COLUMNS) if (part := first(columns))
    )
    stated: list[tuple[IdentityKind, str]] = []
    for column, value in values.items():
        kind: IdentityKind
        if _ADDRESS_COLUMN.fullmatch(column):
            kind = "address"
        elif _NUMBER_COLUMN.fullmatch(column):
            kind = "number"
        else:
            continue
        stated += [(kind, part.strip()) for part in value.split(_SEVERAL.strip())]
    yield from _record([whole, first(_NICKNAME_COLUMNS)], stated)
