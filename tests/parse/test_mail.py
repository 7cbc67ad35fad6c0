"""Mail: mailboxes and single mails, threads, charsets, files, and what is damaged."""

from __future__ import annotations

import base64
import io
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from appliance.formats import parser_of, read_head
from appliance.formats.base import Document
from appliance.formats.mail import matches
from appliance.formats.mail_parts import decoded_words, person, read_date
from appliance.types import InputProblem, MessageRecord
from tests.parse.conftest import document_of

FROM = "From ana@example.org Sat Mar 01 09:00:00 2025\n"


def mail(number: int, body: str = "hello\n", **headers: str) -> str:
    given = {
        "Message-ID": f"<m{number}@example.org>",
        "From": "Ana Maes <ana@example.org>",
        "To": "ben@example.org",
        "Subject": "Ferry",
        "Date": f"Sat, 01 Mar 2025 09:00:{number:02} +0100",
    }
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return "".join(f"{name}: {value}\n" for name, value in given.items() if value) + "\n" + body


def box(*mails: str) -> str:
    return "".join(f"{FROM}{one}\n" for one in mails)


def test_a_mailbox_mail_by_mail(read):
    got = read(
        box(
            mail(1, "Is it late?\n\n>From here it looks so.\nFrom: nobody\nFrom what I see, yes\n"),
            mail(2, "No.\n\n> Is it late?\n", Subject="Re: Ferry", In_Reply_To="<m1@example.org>"),
            mail(3, "Other\n", Subject="Bikes", From="ben@example.org"),
        )
    )
    assert got.format == "mail"
    assert [s.title for s in got.sessions] == ["Ferry", "Bikes"]
    assert got.texts == [
        "Is it late?\n\nFrom here it looks so.\nFrom: nobody\nFrom what I see, yes",
        "No.\n\n> Is it late?",
        "Other",
    ]
    first, answer, other = got.messages
    assert (first.role, first.author, first.external_id) == ("user", "Ana Maes", "m1@example.org")
    assert first.sent_at == datetime(2025, 3, 1, 8, 0, 1, tzinfo=UTC)
    assert first.metadata == {"subject": "Ferry", "to": ["ben@example.org"]}
    assert (answer.reply_to, answer.session) == ("m1@example.org", first.session)
    assert other.author == "ben@example.org" and other.session != first.session
    assert got.problems == got.notes == []


def test_threads_whatever_the_order_and_what_is_missing(read):
    thread = [
        mail(1),
        mail(2, In_Reply_To="<m1@example.org>"),
        mail(3, In_Reply_To="<m2@example.org>"),
        mail(4, References="<m1@example.org> <gone@example.org>\n <m3@example.org>"),
    ]
    keys = set()
    for mails in (thread, thread[::-1], thread[1:], [thread[2], thread[1], thread[3]]):
        got = read(box(*mails))
        assert len(got.sessions) == 1 and len(got.messages) == len(mails)
        keys.add(got.sessions[0].external_id)
    assert len(keys) == 1
    assert read(thread[0]).sessions[0].external_id in keys, "a mail alone belongs to the thread"
    assert read(thread[3]).sessions[0].external_id in keys
    assert read(box(*thread)).messages[3].reply_to == "m3@example.org"


def test_threads_in_a_circle_are_one(read):
    circle = [mail(n, In_Reply_To=f"<m{n % 3 + 1}@example.org>") for n in (1, 2, 3)]
    one, two = read(box(*circle)), read(box(*circle[::-1]))
    assert len(one.sessions) == len(two.sessions) == 1
    assert one.sessions[0].external_id == two.sessions[0].external_id
    selfish = read(box(mail(1, In_Reply_To="<m1@example.org>")))
    assert selfish.messages[0].reply_to is None


def test_gmail_has_threads_and_chats_of_its_own(read):
    gmail = "From 1234@xxx Sat Mar 01 09:00:00 +0000 2025\n"
    chat = "X-GM-THRID: 77\nX-Gmail-Labels: Chat\nFrom: Ben <ben@example.org>\n\nat nine?\n\n"
    got = read(f"{gmail}{mail(1, X_GM_THRID='77')}\n{gmail}{chat}")
    assert [s.external_id for s in got.sessions] == ["gmail:77"]
    assert [(m.external_id, m.sent_at) for m in got.messages] == [
        ("m1@example.org", datetime(2025, 3, 1, 8, 0, 1, tzinfo=UTC)),
        (None, datetime(2025, 3, 1, 9, tzinfo=UTC)),
    ]


def test_the_same_mail_twice_is_taken_once(read):
    got = read(box(mail(1), mail(2), mail(1), mail(2, "with a footer\n")))
    assert [(m.external_id, m.text) for m in got.messages] == [
        ("m1@example.org", "hello"),
        ("m2@example.org", "hello"),
        (None, "with a footer"),
    ]
    assert [n.message for n in got.notes][-1] == "skipped 1 copy of a mail"


def test_newsletters_are_kept_and_marked(read):
    got = read(box(mail(1, List_Unsubscribe="<mailto:x@example.org>"), mail(2, List_Id="<l>"), mail(3)))
    assert [m.metadata.get("bulk") for m in got.messages] == [True, True, None]


def test_alternatives_and_files(read):
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Ana <ana@example.org>", "ben@example.org", "Plans"
    made["Date"], made["Message-ID"] = "Sat, 01 Mar 2025 09:00:00 +0000", "<p@example.org>"
    made.set_content("the plain words\n")
    made.add_alternative("<p>the <b>page</b></p>", subtype="html")
    made.add_attachment("leave at nine\n", filename="plan.txt")
    made.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Größe.pdf")
    inner = EmailMessage()
    inner["Subject"] = "Old news"
    inner.set_content("what was said\n")
    made.add_attachment(inner)
    got = read(bytes(made), "plans.eml")
    assert got.format == "mail"
    assert got.messages[0].metadata["attachments"] == [
        {"name": "plan.txt", "text": "leave at nine"},
        {"name": "Größe.pdf"},
        {"name": "Old news", "text": "what was said"},
    ]
    assert got.texts == [
        "the plain words\n\n[attachment: plan.txt]\nleave at nine\n\n[attachment: Old news]\nwhat was said"
    ]


def test_a_page_is_read_where_there_is_no_plain_text(read):
    page = "MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n"
    parts = "--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>one</p><p>two &amp; x\n--b--\n"
    got = read(mail(1, parts).replace("\n\n", f"\n{page}\n", 1))
    assert got.texts == ["one\n\ntwo & x"]
    html = read(mail(1, "<style>p{}</style><ul><li>one<li>two</ul>", Content_Type="text/html"))
    assert html.texts == ["- one\n- two"]


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf-8", "é€".encode(), "é€"),
        ("iso-8859-1", b"\xe9\x80", "é€"),
        ("us-ascii", "é".encode(), "é"),
        ("us-ascii", b"\xe9", "é"),
        ("x-unknown", b"\xe9", "é"),
        ("iso-2022-jp", "日本".encode("iso-2022-jp"), "日本"),
        ("koi8-r", "да".encode("koi8-r"), "да"),
        ("gb2312", "镕".encode("gb18030"), "镕"),
        ("utf-8", b"caf\xe9 cr\xe8me", "café crème"),
        ("punycode", b"abc-", "abc-"),
        ('"utf-8', b"abc", "abc"),
    ],
)
def test_charsets_and_what_is_under_a_wrong_name(read, charset, data, text):
    body = base64.b64encode(data).decode() + "\n"
    kind = f"text/plain; charset={charset}"
    got = read(mail(1, body, Content_Type=kind, Content_Transfer_Encoding="base64"))
    assert got.texts == [text]
    raw = mail(1, "@@\n", Content_Type=kind, Content_Transfer_Encoding="8bit").encode().replace(b"@@", data)
    assert read(raw).texts == [text]
    assert got.problems == []


def test_bytes_that_fit_nowhere_are_named(read):
    data = mail(1, "grün grün grün @ x\n", Content_Type="text/plain; charset=utf-8").encode()
    got = read(data.replace(b"@", b"\xff"))
    assert got.texts == ["grün grün grün \ufffd x"]
    assert "U+FFFD" in got.problems[0].message


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("=?utf-8?q?J=C3=BCrgen?= <j@example.org>", "Jürgen"),
        ('"Maes, Ana" <a@example.org>', "Maes, Ana"),
        ("a@example.org (Ana Maes)", "Ana Maes"),
        ("<a@example.org>", "a@example.org"),
        ("a@example.org", "a@example.org"),
        ('"=?utf-8?b?w6k=?=" <a@example.org>', "é"),
        ("=?utf-8?b?w6k=?=\n =?utf-8?b?w6k=?= Z <a@example", "éé Z"),
        ("Ana Maes", "Ana Maes"),
        ("", None),
        ("<>", None),
        ("@@@@" * 5000, "@" * 1000),
        ('"' + "\\" * 5000, "\\" * 999),
    ],
)
def test_who_a_mail_is_from(value, name):
    assert person(value) == name


def test_encoded_words(read):
    assert decoded_words("=?utf-8?q?=C3?= =?utf-8?q?=A9?= and =?x-no?q?a_b?= =?broken?") == "é and a b =?broken?"
    got = read(mail(1, Subject="=?utf-8?b?w6k=?=\n =?utf-8?b?w6k=?="))
    assert got.sessions[0].title == "éé"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Sat, 01 Mar 2025 09:00:00 +0100", datetime(2025, 3, 1, 8, tzinfo=UTC)),
        ("Sat, 01 Mar 2025 09:00:00 -0000", datetime(2025, 3, 1, 9, tzinfo=UTC)),
        ("1 Mar 25 09:00 GMT", datetime(2025, 3, 1, 9, tzinfo=UTC)),
        ("Sat, 01 Mar 2025 09:00:00 EST", datetime(2025, 3, 1, 14, tzinfo=UTC)),
        ("Sat, 01 Mar 2025 09:00:00", datetime(2025, 3, 1, 9)),
        ("Sat Mar  1 09:00:00 2025", datetime(2025, 3, 1, 9)),
        ("Sat Mar 01 09:00:00 +0000 2025", datetime(2025, 3, 1, 9, tzinfo=UTC)),
        ("Sat, 41 Mar 2025 09:00:00 +0100", None),
        ("Sat, 01 Mar 2025 09:00:00 +9900", None),
        ("soon", None),
        ("", None),
    ],
)
def test_dates(value, expected):
    assert read_date(value) == expected


def test_a_mail_without_a_readable_date_has_that_of_its_way(read):
    received = "from a by b; Sat, 01 Mar 2025 09:00:00 +0000"
    got = read(box(mail(1, Date="soon", Received=received), mail(2, Date="soon"), mail(3, Date="")))
    assert [m.sent_at for m in got.messages] == [
        datetime(2025, 3, 1, 9, tzinfo=UTC),
        datetime(2025, 3, 1, 9),
        datetime(2025, 3, 1, 9),
    ]
    assert len(got.notes) == 2


def test_mails_of_only_a_subject_and_of_nothing(read):
    got = read(box(mail(1, ""), mail(2, "", Subject="")))
    assert got.texts == ["Ferry"]
    assert [n.message for n in got.notes] == ["the mail is empty; skipped"]


def test_apples_single_mails(read):
    body = mail(1, "hello\n")
    got = read(f"{len(body)}\n{body}<?xml version='1.0'?><plist><dict/></plist>", "5.emlx")
    assert (got.format, got.texts) == ("mail", ["hello"])


def test_line_ends_of_windows_and_text_that_begins_like_a_box(read):
    got = read(box(mail(1, "one\ntwo\n"), mail(2)).replace("\n", "\r\n"))
    assert got.texts == ["one\ntwo", "hello"]
    quoted = mail(1, "He wrote\nFrom ben@example.org Sat Mar 01 09:00:00 2025\nis a line of a box\n")
    assert len(read(box(quoted, mail(2))).messages) == 2


def test_structure_that_can_not_be_read_leaves_the_words(read):
    deep = "".join(f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(3000))
    got = read(mail(1, deep + "the words\n", Content_Type="multipart/mixed; boundary=b0"))
    assert "the words" in got.texts[0]
    lost = read(mail(1, "--x\n\nthe words\n", Content_Type="multipart/mixed"))
    assert "the words" in lost.texts[0]


@pytest.mark.parametrize(
    "header", ["Message-ID", "From", "To", "Subject", "Date", "References", "Content-Type", "Content-Transfer-Encoding"]
)
@pytest.mark.parametrize(
    "value",
    [
        "=?utf-8?b?!!!?=",
        "\x00\x01",
        ";;;;",
        "<" * 2000,
        '"',
        "=?" * 500,
        "a" * 100_000,
        "\udcff\udcfe",
        "base64",
        "[::",
    ],
)
def test_odd_headers_cost_nothing_else(read, header, value):
    odd = mail(2, "the words\n", **{header: value})
    got = read(box(mail(1, "before\n"), odd, mail(3, "after\n")).encode("utf-8", "surrogateescape"))
    assert got.texts[0] == "before" and got.texts[-1] == "after"
    assert len(got.texts) == 3


def test_a_box_cut_at_every_twentieth_byte():
    made = EmailMessage()
    made["From"], made["Message-ID"] = "Ana <ana@example.org>", "<p@example.org>"
    made.set_content("the words é\n", cte="quoted-printable")
    made.add_attachment(b"\x00" * 300, maintype="application", subtype="pdf", filename="a.pdf")
    data = box(mail(1, "one\n"), str(made), mail(3, "three\n")).encode()
    second = data.index(b"From ", 10)
    for cut in range(0, len(data), 20):
        records = list(parser_of("mail").parse(document_of(data[:cut])))
        texts = [r.text for r in records if isinstance(r, MessageRecord)]
        assert cut <= second or texts[0].startswith("one")
    cut = data.index(b"AAAA")
    records = list(parser_of("mail").parse(document_of(data[:cut])))
    assert any("cut off" in r.message for r in records if isinstance(r, InputProblem) and not r.harmless)


@pytest.mark.slow
def test_memory_is_bounded_by_a_mail():
    one = (FROM + mail(1, "word " * 15 + "\n") + "\n").encode()
    count = 1500
    body = (b"x" * 990 + b"\n") * 20

    class Long(io.RawIOBase):
        """A mailbox that is made while it is read."""

        def __init__(self) -> None:
            self._parts = self._made()
            self._rest = b""

        def _made(self) -> Iterator[bytes]:
            for number in range(count):
                yield one.replace(b"m1@", b"m%d@" % number).rstrip(b"\n") + b"\n" + body + b"\n"

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            while not self._rest:
                self._rest = next(self._parts, b"")
                if not self._rest:
                    return 0
            taken = self._rest[: len(buffer)]
            self._rest = self._rest[len(taken) :]
            buffer[: len(taken)] = taken
            return len(taken)

    document = Document("x.mbox", 0, lambda: io.BufferedReader(Long()))
    tracemalloc.start()
    read = sum(isinstance(r, MessageRecord) for r in parser_of("mail").parse(document))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read == count
    assert peak < 6_000_000, "the box has 30 MB"


def test_other_texts_are_no_mail(read):
    for text in (
        "From: the director\nTo: all\n\nA memo.\n",
        "title: x\nfrom: y\ndate: z\nmessage-id: 1\nthis line is none\n\n",
        "From here on it goes down.\nAnd down.\n",
        '{"from": "x"}',
        "[01/03/2025, 09:00:00] Ana: hello\n",
    ):
        assert matches(read_head(document_of(text.encode()))) < 0.5


def test_collected_samples(read, exports):
    got = read(exports / "mbox" / "TakeoutReader__sample.mbox")
    assert got.format == "mail"
    assert [(m.author, m.external_id, m.text) for m in got.messages] == [
        ("Alice", "test001@example.com", "Hey Bob, happy new year!"),
        ("Facebook", "test002@facebook.com", "Someone wants to be your friend."),
        ("Boursorama", "test003@boursorama.com", "Votre releve est disponible."),
    ]
    assert [s.title for s in got.sessions] == ["Hello Bob", "You have a new friend request", "Votre releve de compte"]
    assert got.messages[0].sent_at == datetime(2024, 1, 1, 11, tzinfo=UTC)
    assert got.problems == got.notes == []

    got = read(exports / "mbox" / "langchain-community__fake-email-attachment.eml")
    (only,) = got.messages
    assert only.author == "Mallori Harrell"
    assert only.sent_at == datetime(2022, 12, 23, 18, 8, 48, tzinfo=UTC)
    assert only.text.startswith("Hello!\n\nHere's the attachments!\n\nIt includes:\n\n   - Lots of whitespace")
    assert only.text.endswith("Mallori\n\n[attachment: fake-attachment.txt]\nHey this is a fake attachment!")
    assert got.sessions[0].title == "Fake email with attachment"
    assert got.problems == got.notes == []


def test_recipients_that_are_left_out_are_told(read):
    def mail(count: int) -> str:
        to = ", ".join(f"p{n}@example.org" for n in range(count))
        return f"From: Ana <ana@example.org>\nTo: {to}\nSubject: x\nMessage-ID: <1@x>\n\nhello\n"

    for count, told in ((50, 0), (51, 1)):
        got = read(mail(count), name="a.eml")
        assert len(got.messages[0].metadata["to"]) == 50
        assert sum("more recipients" in note.message for note in got.notes) == told


def test_a_mailbox_whose_separators_have_no_time(read):
    mails = "".join(
        f"From 18443477922671178{n}@xxx\nMIME-Version: 1.0\nMessage-ID: <m{n}@e.org>\nFrom: Ana <ana@e.org>\n"
        f"Subject: s{n}\n\ntext {n}\n\nFrom here-on\nit is Ana: a text\n{('', '--b--')[n == 1]}\n"
        for n in range(3)
    )
    got = read(mails, name="all.mbox")
    text = "text {}\n\nFrom here-on\nit is Ana: a text"
    assert got.texts == [text.format(0), text.format(1) + "\n--b--", text.format(2)]
    assert got.problems == []


@pytest.mark.parametrize("headers", ["From: ana@e.org\nTo: ben@e.org\n", "Subject: hi\n", "To: ben@e.org\nX-Y: 1\n"])
def test_a_file_named_as_a_mail_needs_few_headers(read, headers):
    got = read(f"{headers}\nthe words\n", name="one.eml")
    assert (got.format, got.texts) == ("mail", ["the words"])


def test_a_date_in_iso_8601(read):
    got = read("From: a@e.org\nTo: b@e.org\nSubject: s\nDate: 2025-07-29T12:42:06.000Z\n\nx\n", name="one.eml")
    assert got.messages[0].sent_at == datetime(2025, 7, 29, 12, 42, 6, tzinfo=UTC)
    assert got.notes == []
