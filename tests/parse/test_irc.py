"""IRC: the dialects of the programs, days that go on, and texts that only look like a log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from appliance.errors import InputError
from appliance.formats import detect, parser_of
from appliance.types import MessageRecord
from tests.parse.conftest import document_of

LOG = """\
=== ben_ [n=ben@host.example]  has joined #ferry
[22:58] <ana> anybody on the nine o'clock?
[22:59] <@ben_|away> me: <b>with</b> a bike
[23:59]  * ana waves
=== ben_|away is now known as ben
[00:01] <ben> next day
[00:01] -ChanServ- This channel is logged
"""


def said(got) -> list[tuple]:
    return [(m.role, m.author, m.text, m.sent_at) for m in got.messages]


def test_a_log_with_times_and_a_day_in_its_name(read):
    got = read(LOG, "logs/2025-03-01.txt")
    assert got.format == "irc"
    assert [s.title for s in got.sessions] == ["#ferry 2025-03-01"]
    assert said(got) == [
        ("system", None, "=== ben_ [n=ben@host.example]  has joined #ferry", None),
        ("user", "ana", "anybody on the nine o'clock?", datetime(2025, 3, 1, 22, 58)),
        ("user", "ben_|away", "me: <b>with</b> a bike", datetime(2025, 3, 1, 22, 59)),
        ("user", "ana", "* ana waves", datetime(2025, 3, 1, 23, 59)),
        ("system", None, "=== ben_|away is now known as ben", datetime(2025, 3, 1, 23, 59)),
        ("user", "ben", "next day", datetime(2025, 3, 2, 0, 1)),
        ("system", "ChanServ", "This channel is logged", datetime(2025, 3, 2, 0, 1)),
    ]
    assert got.problems == got.notes == []


@pytest.mark.parametrize(
    ("line", "author", "text", "sent"),
    [
        ("09:30 <ana> hi", "ana", "hi", datetime(2025, 3, 1, 9, 30)),
        ("09:30 < ana> hi", "ana", "hi", datetime(2025, 3, 1, 9, 30)),
        ("09:30:05 <+a[n]`a^_> hi", "a[n]`a^_", "hi", datetime(2025, 3, 1, 9, 30, 5)),
        ("[09:30] <[set] > hi", "[set]", "hi", datetime(2025, 3, 1, 9, 30)),
        ("[09:30:05] <ana>  two blanks", "ana", " two blanks", datetime(2025, 3, 1, 9, 30, 5)),
        ("[9:30 PM] <ana> hi", "ana", "hi", datetime(2025, 3, 1, 21, 30)),
        ("[2024-12-31 23:59:58] <ana> hi", "ana", "hi", datetime(2024, 12, 31, 23, 59, 58)),
        ("2024-12-31T23:59:58Z <ana> hi", "ana", "hi", datetime(2024, 12, 31, 23, 59, 58, tzinfo=UTC)),
        ("Mar 02 09:30:05 <ana>\thi", "ana", "hi", datetime(2025, 3, 2, 9, 30, 5)),
        ("<ana> hi", "ana", "hi", datetime(2025, 3, 1)),
    ],
)
def test_dialects(read, line, author, text, sent):
    other = line.replace("ana", "ben").replace("a[n]", "b[n]").replace("[set]", "ben")
    got = read("\n".join((line, other, line)), "#ferry.2025-03-01.log")
    assert got.format == "irc"
    assert (got.messages[0].author, got.messages[0].text, got.messages[0].sent_at) == (author, text, sent)
    assert len(got.messages) == 3
    assert got.sessions[0].title == "#ferry 2025-03-01"


def test_weechat_writes_tabs(read):
    got = read(
        "2025-03-01 09:30:00\t-->\tana (~ana@host.example) has joined #ferry\n"
        "2025-03-01 09:30:05\t@ana\thi\n2025-03-01 09:30:06\t *\tana waves\n"
    )
    assert got.format == "irc"
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", None, "-->\tana (~ana@host.example) has joined #ferry"),
        ("user", "ana", "hi"),
        ("user", "ana", "*\tana waves"),
    ]


def test_lines_that_name_the_day(read):
    got = read(
        "--- Log opened Sat Mar 01 09:00:00 2025\n09:30 <ana> one\n--- Day changed Mon Mar 03 2025\n"
        "08:00 <ben> two\n08:10 -!- cleo [c@host.example] has quit [bye]\n"
    )
    assert [m.sent_at for m in got.messages] == [
        datetime(2025, 3, 1, 9),
        datetime(2025, 3, 1, 9, 30),
        datetime(2025, 3, 3),
        datetime(2025, 3, 3, 8),
        datetime(2025, 3, 3, 8, 10),
    ]
    assert got.roles == ["system", "user", "system", "user", "system"]


def test_without_a_day_times_are_left_open(read):
    got = read("[09:30] <ana> one\n[09:31] <ben> two\n", "log.txt")
    assert [m.sent_at for m in got.messages] == [None, None]
    assert "give the day" in got.notes[0].message


def test_a_clock_of_twelve_hours_starts_over_at_noon(read):
    hours = [10, 11, 12, 1, 2]
    got = read("".join(f"[{hour:02}:30] <ana> at {hour}\n" for hour in hours), "2025-03-01.txt")
    assert {m.sent_at.date().isoformat() for m in got.messages} == {"2025-03-01"}
    assert "12 hours" in got.notes[0].message


def test_a_clock_that_is_set_back_a_little_is_no_new_day(read):
    got = read("[09:30] <ana> one\n[09:29] <ben> two\n[09:31] <ana> three\n", "2025-03-01.txt")
    assert [m.sent_at.day for m in got.messages] == [1, 1, 1]


def test_lines_without_a_nick_go_on_with_what_was_said(read):
    got = read("<ana> a poem:\n  one line\n\n  another\n<ben> nice\n<ana> thanks\n<ben> ok\n<ana> bye\n" * 3)
    assert got.texts[0] == "a poem:\n  one line\n  another"


def test_a_log_that_grew_or_was_renamed_is_the_same(read):
    one = read(LOG, "logs/2025-03-01.txt")
    two = read(LOG + "[00:05] <ana> more\n", "elsewhere/ferry-2025-03-01.log")
    assert [s.external_id for s in one.sessions] == [s.external_id for s in two.sessions]
    assert read(LOG, "2025-03-02.txt").sessions[0].external_id != one.sessions[0].external_id


@pytest.mark.parametrize(
    "text",
    [
        "<html>\n<body> x\n<p> one\n<b> two\n</html>\n",
        "<root> x\n<a/> y\n<c=d> z\n",
        "[12:00] Ana: hello\n[12:01] Ben: hi\n",
        "usage: tool <file> <other>\n<file> what to read\nmore words\n",
        "[09:30] starting <worker> one\n[09:31] done\n",
        "2025-03-01 09:30:00\tx\t1\n2025-03-01 09:31:00\ty\t2\n",
    ],
)
def test_other_texts_are_no_logs(text):
    try:
        name, _ = detect(document_of(text.encode()))
    except InputError:
        return
    assert name != "irc"


def test_a_log_cut_at_every_byte():
    for cut in range(len(LOG)):
        records = list(parser_of("irc").parse(document_of(LOG[:cut].encode(), "2025-03-01.txt")))
        whole = [line for line in LOG[:cut].split("\n")[:-1] if line]
        assert sum(isinstance(r, MessageRecord) for r in records) >= len(whole)


def test_odd_bytes_and_impossible_times_cost_nothing(read):
    data = b"[99:99] <ana> one\n[09:61] <b\xffn> t\xf6o\r\n\x00\n[09:30] <ana> \x02bold\x0f\n[23:59] <x>\n"
    got = read(data, "2025-99-99.txt", "irc")
    assert [m.text for m in got.messages if m.author == "ana"] == ["one", "\x02bold\x0f"]
    last_day = read("[23:00] <a> x\n[01:00] <b> y\n", "9999-12-31.txt", "irc")
    assert len(last_day.messages) == 2


def test_collected_samples(read, exports):
    base = exports / "irc" / "ubuntu"
    got = read(base / "2007-01-19.train-a.raw.txt")
    assert got.format == "irc"
    assert [s.title for s in got.sessions] == ["#ubuntu 2007-01-19"]
    assert (got.roles.count("user"), got.roles.count("system")) == (1411, 329)
    first, last = (m for m in (got.messages[1], got.messages[-1]))
    assert (first.author, first.sent_at) == ("bruenig", datetime(2007, 1, 19, 5, 29))
    assert (last.author, last.sent_at) == ("lebowski", datetime(2007, 1, 19, 7, 59))
    assert last.text == "christian1222, depends on what you're trying to install"
    assert got.problems == got.notes == []

    got = read(base / "2010-08-17_18.raw.txt")
    assert (got.roles.count("user"), got.roles.count("system")) == (1448, 52)
    assert got.messages[0].text == "Hi, if i have adware tracking cookie on linux how can remove it?"
    assert (got.messages[-1].author, got.messages[-1].sent_at) == ("KomiaPoika", datetime(2010, 8, 17, 19, 52))
    assert [m.author for m in got.messages if m.text.startswith(f"* {m.author} ")] == [
        "CopyWriter",
        "jwheare_local",
        "abhijit",
    ]
    assert got.problems == got.notes == []


def test_a_day_before_its_month_and_a_nick_with_its_host(read):
    text = "[14 Jan 23:58] --> cai (n=cai@e.org) has joined #ferry\n[14 Jan 23:59] <ana!n=ana@e.org> hi\n"
    got = read(f"{text}[15 Jan 00:01] <ben!b@e.org> ho\n", name="2025-01-14-proxy.log")
    assert [(m.author, m.text, m.sent_at) for m in got.messages[1:]] == [
        ("ana", "hi", datetime(2025, 1, 14, 23, 59)),
        ("ben", "ho", datetime(2025, 1, 15, 0, 1)),
    ]
