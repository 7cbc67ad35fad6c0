"""WhatsApp: header styles, names, notices, the order of dates, and that no line is lost."""

from __future__ import annotations

import io
from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.formats import whatsapp
from appliance.formats.base import Document
from appliance.types import InputProblem, MessageRecord

NOON = datetime(2024, 12, 31, 15, 5, 9)

STYLES = [
    "31/12/2024, 15:05 - ",
    "31/12/24, 15:05 - ",
    "31/12/2024 15:05 - ",
    "12/31/24, 3:05 PM - ",
    "12/31/24, 3:05\u202fPM - ",
    "12/31/2024, 03:05 p. m. - ",
    "31/12/2024, 3:05 p.\u00a0m. - ",
    "31/12/2024, 3:05 pm - ",
    "31.12.24, 15:05 - ",
    "31.12.2024 klo 15.05 - ",
    "31.12.2024 kl. 15:05 - ",
    "31-12-2024 15:05 - ",
    "2024-12-31, 15:05 - ",
    "2024/12/31, 15:05 - ",
    "2024/12/31 下午3:05 - ",
    "2024. 12. 31. 오후 3:05 - ",
    "24/12/31, 15:05 - ",
    "31/12/2024 à 15:05 - ",
    "31/12/2024, 3:05 μ.μ. - ",
    "31\u200f/12\u200f/2024, 3:05 م - ",
    "٣١/١٢/٢٠٢٤، ٣:٠٥ م - ",
    "12/31/24, 3:05:09 PM \u2013 ",
    "[31/12/2024, 15:05:09] ",
    "[31.12.24, 15:05:09] ",
    "\u200e[12/31/24, 3:05:09\u202fPM] ",
    "[2024-12-31, 3:05:09 p.m.] ",
    "[31/12/24 15.05.09] ",
]


@pytest.mark.parametrize("style", STYLES)
def test_every_header_style(read, style):
    got = read(f"{style}Ana María: hello: you\nsecond line\n\n{style}Bob 🤓: \n", name="WhatsApp Chat with Ana.txt")
    assert [(m.author, m.text) for m in got.messages] == [("Ana María", "hello: you\nsecond line\n"), ("Bob 🤓", "")]
    for message in got.messages:
        assert message.sent_at is not None
        assert message.sent_at.replace(second=9) == NOON
        assert message.sent_at.tzinfo is None
    assert got.problems == []


def test_midnight_and_noon(read):
    hours = {"12:00 AM": 0, "12:30 PM": 12, "1:00 am": 1, "11:59 PM": 23, "00:08 a. m.": 0, "12:15 p.m.": 12}
    got = read("".join(f"12/31/24, {hour} - Ana: x\n" for hour in hours))
    assert [m.sent_at.hour for m in got.messages] == list(hours.values())


def test_text_in_the_file_is_never_lost_to_dates_in_it(read):
    got = read(
        "17/09/2019, 16:37 - Ana: plan:\n"
        "18.9.2019 Berlin\n"
        "[1.9.19, 00:00:00] Bob: quoted\n"
        "99/99/2019, 16:37 - no date\n"
        "17/09/2019, 16:38 - Bob: fine\n",
        name="_chat.txt",
    )
    assert got.texts == ["plan:\n18.9.2019 Berlin\n[1.9.19, 00:00:00] Bob: quoted\n99/99/2019, 16:37 - no date", "fine"]
    assert [(n.where, n.message) for n in got.notes] == [
        ("line 4", "the date does not exist; the line is read as text of the message before it"),
        ("", "read 1 line with a date in another style as text"),
    ]


@pytest.mark.parametrize("when", ["31/06/2019, 16:38", "45/13/2019, 16:38", "18/09/2019, 25:38", "18/09/2019, 16:61"])
def test_a_message_at_a_time_that_does_not_exist_stays_its_sender_s(read, when):
    got = read(
        f"17/09/2019, 16:37 - Ana: one\n17/09/2019, 16:37 - Bob: two\n{when} - Ana: three\nmore\n"
        "19/09/2019, 16:38 - Bob: four\n",
        name="_chat.txt",
    )
    assert [(m.author, m.text) for m in got.messages] == [
        ("Ana", "one"), ("Bob", "two"), ("Ana", "three\nmore"), ("Bob", "four")
    ]  # fmt: skip
    assert got.messages[2].sent_at is None
    assert ("line 3", "the date or time does not exist; left open") in [(n.where, n.message) for n in got.notes]


def test_a_date_in_the_other_order_is_noted(read):
    got = read(dates("12/30/2024", "13/12/2024", "12/31/2024"), name="_chat.txt")
    assert [m.text for m in got.messages] == ["x\n13/12/2024, 10:00 - Ana: x", "x"]
    assert ["contradicts the order" in n.message for n in got.notes] == [True]


def test_two_exports_in_one_file(read):
    first = "".join(f"{day:02}/01/2024, 10:00 - Ana: a{day}\n" for day in range(1, 29))
    second = "".join(f"[{day:02}.02.24, 10:00:00] Ana: b{day}\n" for day in range(1, 29))
    got = read(first + second)
    assert len(got.messages) == 56
    assert got.messages[-1].sent_at == datetime(2024, 2, 28, 10)


def dates(*days: str) -> str:
    return "".join(f"{day}, 10:00 - Ana: x\n" for day in days)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        (dates("01/02/2024", "13/02/2024"), (2024, 2, 13)),
        (dates("01/02/2024", "01/13/2024"), (2024, 1, 13)),
        (dates("01/12/2024", "02/12/2024", "01/01/2025"), (2024, 12, 2)),
        (dates("12/30/2024", "13/12/2024", "12/31/2024"), (2024, 12, 31)),
        ("02/03/2024, 10:00 - Ana: IMG-20240203-WA0001.jpg (file attached)\n" + dates("02/04/2024"), (2024, 2, 4)),
        (dates("01/02/2024", "02/02/2024"), (2024, 2, 2)),
    ],
)
def test_which_number_is_the_day(read, text, second):
    got = read(text, name="_chat.txt")
    assert got.messages[1].sent_at.timetuple()[:3] == second


def test_a_guess_is_said(read):
    got = read(dates("01/02/2024", "02/03/2024"))
    assert [n.where for n in got.notes] == ["line 1"]
    assert "day/month/year" in got.notes[0].message
    got = read("1/2/24, 9:00 AM - Ana: x\n2/3/24, 9:00 AM - Ana: x\n")
    assert got.messages[0].sent_at == datetime(2024, 1, 2, 9)
    assert "month/day/year" in got.notes[0].message
    assert read(dates("02/02/2024", "03/03/2024")).notes == []


def test_notices_are_system(read):
    got = read(
        "[31/12/24, 10:00:00] Family: \u200eMessages and calls are end-to-end encrypted. Really.\n"
        "[31/12/24, 10:00:01] Family: \u200eAna added you\n"
        "[31/12/24, 10:00:02] Ana: Bob left\n"
        "\u200e[31/12/24, 10:00:03] ~\u202fBob: \u200eimage omitted\n"
        "\u200e[31/12/24, 10:00:04] Ana: \u200e<attached: 00000012-PHOTO-2024-12-31-10-00-04.jpg>\n"
        "[31/12/24, 10:00:05] Ana: \u200eThis message was deleted.\n"
        "[31/12/24, 10:00:06] Ana: typo fixed \u200e<This message was edited>\n"
        "[31/12/24, 10:00:07] Ana: \u200eMissed voice call, Tap to call back\n"
        "[31/12/24, 10:00:08] Ana: \u200ePOLL:\nWhere?\n\u200eOPTION: Here (1 vote)\n"
    )
    kinds = [(m.role, m.author, m.text, dict(m.metadata)) for m in got.messages]
    assert kinds[1:] == [
        ("system", "Family", "Ana added you", {}),
        ("user", "Ana", "Bob left", {}),
        ("user", "Bob", "image omitted", {}),
        (
            "user",
            "Ana",
            "<attached: 00000012-PHOTO-2024-12-31-10-00-04.jpg>",
            {"attachments": [{"name": "00000012-PHOTO-2024-12-31-10-00-04.jpg"}]},
        ),
        ("user", "Ana", "This message was deleted.", {"deleted": True}),
        ("user", "Ana", "typo fixed", {"edited": True}),
        ("system", "Ana", "Missed voice call, Tap to call back", {}),
        ("user", "Ana", "\u200ePOLL:\nWhere?\n\u200eOPTION: Here (1 vote)", {}),
    ]
    assert kinds[0][0] == "system"


def test_lines_without_a_name_are_system(read):
    got = read(
        '31/12/2024, 10:00 - Ana created group "A: B"\n'
        '31/12/2024, 10:00 - Ana changed the subject from "A: B" to "C: D"\n'
        "31/12/2024, 10:01 - You were added\n"
        "31/12/2024, 10:01 - +49 151 1234567 changed to +49 160 7654321\n"
        "31/12/2024, 10:02 - +49 151 1234567: hi\n"
        "31/12/2024, 10:03 - Ana: IMG-20241231-WA0001.jpg (file attached)\nlook: here\n"
        "31/12/2024, 10:03 - Ana: <Media omitted>\n"
        "31/12/2024, 10:03 - Diego: <Multimedia omitido>\n"
    )
    assert got.roles == ["system"] * 4 + ["user"] * 4
    assert [m.author for m in got.messages] == [None] * 4 + ["+49 151 1234567", "Ana", "Ana", "Diego"]
    assert got.messages[5].metadata == {"attachments": [{"name": "IMG-20241231-WA0001.jpg"}]}
    assert got.messages[5].text == "IMG-20241231-WA0001.jpg (file attached)\nlook: here"


def test_a_colon_in_a_name(read):
    lines = [f"31/12/2024, 10:0{n} - Dr: Ana: {word}" for n, word in enumerate(("text: 0", "b", "c", "d"))] + [
        "31/12/2024, 10:05 - Bob: Dr: who"
    ]
    got = read("\n".join(lines))
    assert [m.author for m in got.messages] == ["Dr: Ana"] * 4 + ["Bob"]
    assert got.texts == ["text: 0", "b", "c", "d", "Dr: who"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("WhatsApp Chat with Bob & Co.txt", "Bob & Co"),
        ("downloads/WhatsApp Chat with Bob (1).txt", "Bob"),
        ("WhatsApp Chat - Ana.zip/_chat.txt", "Ana"),
        ("x/WhatsApp Chat - Ana/_chat.txt", "Ana"),
        ("Chat de WhatsApp con José.txt", "José"),
        ("WhatsApp Chat mit Jörg.txt", "Jörg"),
        ("Conversa do WhatsApp com Rui.txt", "Rui"),
        ("Discussion WhatsApp avec Zoé.txt", "Zoé"),
        ("Chat WhatsApp con Gio.zip/_chat.txt", "Gio"),
    ],
)
def test_the_chat_is_called_as_the_file(read, name, title):
    got = read("31/12/2024, 10:00 - Ana: x\n", name=name)
    assert [(s.external_id, s.title) for s in got.sessions] == [(f"whatsapp:{title}", title)]


def test_a_chat_without_a_name_is_known_by_its_first_message(read):
    first = "31/12/2024, 10:00 - Ana: x\n"
    ids = {
        read(text, name=name).sessions[0].external_id
        for text, name in ((first, "_chat.txt"), (first + "31/12/2024, 10:01 - Ana: y\n", "a/b/_chat.txt"))
    }
    assert len(ids) == 1
    assert read(first, name="_chat.txt").sessions[0].title == "Ana"
    assert read(first, name="family.txt").sessions[0].title == "family"


def test_encodings_and_line_ends(read):
    text = "31/12/2024, 10:00 - Zoé: größer\u2028still\x85the same\r\nline\r\n31/12/2024, 10:01 - Zoé: b\r\n"
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
        assert read(data, name="x.txt").texts == ["größer\u2028still\x85the same\nline", "b"]
    got = read("31/12/2024, 10:00 - Zoé: größer\n".encode("cp1252"), name="x.txt")
    assert (got.messages[0].author, got.texts, got.problems) == ("Zoé", ["größer"], [])
    got = read("31/12/2024, 10:00 - Zoé: größer\n".encode() + b"31/12/2024, 10:00 - Ana: \xff!\n", name="x.txt")
    assert got.texts == ["größer", "\ufffd!"]
    assert [p.where for p in got.problems] == ["line 2"]


def test_what_comes_before_the_first_header_is_kept(read):
    got = read("\ufeff\nExported by Ana\n\n31/12/2024, 10:00 - Ana: x\n", name="WhatsApp Chat with B.txt")
    assert [(m.role, m.sent_at is None) for m in got.messages] == [("system", True), ("user", False)]
    assert "Exported by Ana" in got.texts[0]


def test_no_headers_no_messages(read):
    got = read("just\nsome text\n", forced="whatsapp")
    assert (got.messages, got.problems, len(got.notes)) == ([], [], 1)


def test_collected_samples(read, exports):
    base = exports / "whatsapp"
    got = read(base / "Chatistics_2" / "_chat.txt")
    assert [m.author for m in got.messages] == ["Peter Doe", "Peter Doe", "John Doe", "John Doe"]
    assert "[1.9.19, 00:00:00]" in got.texts[0]
    assert got.messages[0].sent_at == datetime(2019, 9, 17, 16, 37, 47)

    got = read(base / "Chatistics_4" / "_chat.txt")
    assert [m.sent_at for m in got.messages] == [
        datetime(2019, 9, 17, 8, 30, 52),
        datetime(2019, 9, 17, 16, 30, 10),
        datetime(2019, 9, 18, 16, 50, 32),
    ]

    for name in ("test_ddmmyy_24hrs.txt", "test_mmddyyyy_12hrs.txt"):
        got = read(base / "chat-miner" / name)
        assert got.roles == ["user"] * 4 + ["system"] * 2 + ["user"] * 3
        assert got.messages[1].text == "."
        assert got.messages[7].author == "🤓"
        assert got.messages[4].sent_at.date() == datetime(2020, 6, 20).date()

    got = read(base / "chatpack-cli" / "WhatsApp Chat with Bob.txt")
    assert (got.sessions[0].title, len(got.messages)) == ("Bob", 7)
    assert got.messages[-1].sent_at == datetime(2024, 3, 10, 9, 15)

    got = read(base / "langchain-community" / "_chat.txt")
    assert got.roles == ["system"] + ["user"] * 11
    assert [m.text for m in got.messages if "omitted" in m.text] == ["image omitted"] * 3
    assert got.messages[-1].sent_at == datetime(2023, 8, 15, 21, 25, 16)


WRITERS = {
    "android": lambda t: f"{t:%d/%m/%Y, %H:%M} - ",
    "american": lambda t: f"{t.month}/{t.day}/{t:%y}, {t:%I:%M %p} - ",
    "ios": lambda t: f"[{t:%d.%m.%y, %H:%M:%S}] ",
    "iso": lambda t: f"{t:%Y-%m-%d, %H:%M} - ",
}
line = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\u200e\u200f"), max_size=30
).filter(lambda text: not any(character.isdigit() for character in text[:8]))
name = st.text(st.characters(categories=["L"]), min_size=1, max_size=12)


@given(
    style=st.sampled_from(sorted(WRITERS)),
    said=st.lists(
        st.tuples(name, st.lists(line, min_size=1, max_size=4), st.integers(0, 500_000)), min_size=1, max_size=12
    ),
)
def test_what_was_written_is_read(style, said):
    at = datetime(2024, 1, 13, 10, 0)
    written = []
    text = ""
    for author, body, pause in said:
        at += timedelta(seconds=pause)
        text += WRITERS[style](at) + f"{author}: " + "\n".join(body) + "\n"
        written.append((author, "\n".join(body), at.replace(second=at.second if style == "ios" else 0)))
    text += WRITERS[style](at) + "Zoe: the end\n"
    data = text.encode()
    got = list(whatsapp.parse(Document("WhatsApp Chat with X.txt", len(data), lambda: io.BytesIO(data))))
    messages = [r for r in got if isinstance(r, MessageRecord)]
    assert [(m.author, m.text, m.sent_at) for m in messages[:-1]] == written
    assert not [r for r in got if isinstance(r, InputProblem) and not r.harmless]


@given(
    st.lists(
        st.sampled_from(["31/12/2024, 10:00 - Ana: hi", "[1.1.20, 00:00:00] B: q", "text", "", "a: b", "x\r"]),
        max_size=12,
    )
)
def test_every_line_is_in_some_entry(rows):
    data = "\n".join(rows).encode()
    document = Document("x", len(data), lambda: io.BytesIO(data))
    survey = whatsapp._survey(document)
    orders = dict.fromkeys(survey.styles, "dmy")
    entries = list(whatsapp._entries(document, "utf-8", orders, Counter(), []))
    kept = [line for entry in entries for line in entry.lines]
    wanted = [row.removesuffix("\r") if n < len(rows) - 1 else row for n, row in enumerate(rows)]
    headers = [found.rest if (found := whatsapp.parse_header(row)) and found.style in orders else row for row in wanted]
    assert [k for k in kept if k.strip()] == [w for w in headers if w.strip()]
