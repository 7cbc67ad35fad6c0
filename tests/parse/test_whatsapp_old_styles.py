"""WhatsApp: headers of old versions and of files that other programs have changed."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from appliance.errors import InputError
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import InputProblem, MessageRecord


@pytest.mark.parametrize(
    ("first", "second", "when"),
    [
        ("7/21/16, 4:56:55 PM: ", "7/21/16, 4:57:01 PM: ", datetime(2016, 7, 21, 16, 56, 55)),
        ("21.07.16 16:56:55: ", "21.07.16 16:57:01: ", datetime(2016, 7, 21, 16, 56, 55)),
        ("21.07.16 16.56.55: ", "21.07.16 16.57.01: ", datetime(2016, 7, 21, 16, 56, 55)),
        ("16:56, 21 Jul 2013 - ", "16:57, 21 Jul 2013 - ", datetime(2013, 7, 21, 16, 56)),
        ("21 juil. 2013 16:56 - ", "21 juil. 2013 16:57 - ", datetime(2013, 7, 21, 16, 56)),
        ("Jul 21, 2013, 4:56 PM - ", "Jul 21, 2013, 4:57 PM - ", datetime(2013, 7, 21, 16, 56)),
        ("21/07/2021, 9:15 in the morning - ", "21/07/2021, 9:16 in the morning - ", datetime(2021, 7, 21, 9, 15)),
        ("21/07/2021, 9:15 at night - ", "21/07/2021, 9:16 at night - ", datetime(2021, 7, 21, 21, 15)),
        ("21/07/2021, 1:15 at night - ", "21/07/2021, 1:16 at night - ", datetime(2021, 7, 21, 1, 15)),
        ("21/07/2021 9:15 de la noche - ", "21/07/2021 9:16 de la noche - ", datetime(2021, 7, 21, 21, 15)),
        ("[7/21/R4, 14:56:01] ", "[7/21/R4, 14:57:01] ", datetime(2022, 7, 21, 14, 56, 1)),
        ("[R4/7/21, 14:56:01] ", "[R4/7/21, 14:57:01] ", datetime(2022, 7, 21, 14, 56, 1)),
    ],
)
def test_a_header_of_an_old_or_rare_style(read, first, second, when):
    got = read(f"{first}Ana: the boat: is blue\nand old\n{second}Ben: yes\n", name="chat.txt")
    assert got.format == "whatsapp"
    assert [(m.author, m.text) for m in got.messages] == [("Ana", "the boat: is blue\nand old"), ("Ben", "yes")]
    assert got.messages[0].sent_at == when
    assert got.problems == []


def test_dates_without_a_year_follow_on_those_with_one(read):
    times = ("19:07, 30 Dec 2013", "19:08, 30 Dec 2013", "9:00, 2 Jan", "8:00, 3 Feb")
    got = read("".join(f"{time} - Ana: {time}\n" for time in times), name="WhatsApp Chat with Ben.txt")
    assert [m.sent_at and m.sent_at.date().isoformat() for m in got.messages] == [
        "2013-12-30", "2013-12-30", "2014-01-02", "2014-02-03",
    ]  # fmt: skip


def test_without_any_year_times_are_open_and_a_note_says_so(read):
    got = read("Mar 5, 8:11 PM - Ana: hi\nMar 5, 8:29 PM - Ben: ho\nhe\n", name="wa.txt")
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [("Ana", "hi", None), ("Ben", "ho\nhe", None)]
    assert [note.message for note in got.notes] == ["the dates have no year; times are left open"]


def test_log_lines_with_a_colon_after_the_time_are_no_chat(read):
    for level in ("ERROR: disk is full", "kernel: eth0 is up", "GET /x: 200"):
        lines = [f"2024-03-01 12:00:{n:02}: {level}\n" for n in range(9)]
        with pytest.raises(InputError, match="not recognised"):
            read("".join(lines), "server.log")


def test_headers_that_lost_their_comma_are_headers(read):
    """A translator's program left out commas and AM here and there."""
    pairs = [("3/13/19, 4:5{n} AM - Ana: a{n}", "3/13/19 4:5{n} - Ben: b{n}")] * 6
    lines = [line.format(n=n) for n, pair in enumerate(pairs) for line in pair]
    lines += [f"3/13/19, 5:0{n} AM - Ana: c{n}" for n in range(6)]
    got = read("\n".join(lines), name="WhatsApp Chat with Ben.txt")
    assert [m.author for m in got.messages] == ["Ana", "Ben"] * 6 + ["Ana"] * 6


def test_a_pasted_run_of_another_style_stays_text(read):
    quoted = "".join(f"3/12/19 4:5{n} AM - Ben: old {n}\n" for n in range(6))
    before = "".join(f"3/13/19, 4:0{n} AM - Ana: a{n}\n" for n in range(5))
    got = read(f"{before}3/13/19, 4:09 AM - Ana: look:\n{quoted}3/13/19, 5:09 AM - Ben: yes\n", name="_chat.txt")
    assert len(got.messages) == 7
    assert "old 5" in got.messages[5].text


def test_where_no_style_prevails_all_headers_count(read):
    text = "13.6.2018 klo 21.25.12 - Aino: yksi\n13.06.18 21.25.15: Mika: kaksi\n13.06.2018, 21.25 - Aino: kolme\n"
    got = read(text, name="chat.txt")
    assert [(m.author, m.text) for m in got.messages] == [("Aino", "yksi"), ("Mika", "kaksi"), ("Aino", "kolme")]


def test_a_person_without_a_name_and_a_name_that_begins_with_a_colon(read):
    lines = ["Ana: hi", ": good luck: all", ":ben: ho", ":ben: again", ":ben: and again"]
    got = read("".join(f"31/12/2024, 15:0{n} - {line}\n" for n, line in enumerate(lines)), name="_chat.txt")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Ana", "hi"), ("user", None, "good luck: all"), ("user", ":ben", "ho"), ("user", ":ben", "again"),
        ("user", ":ben", "and again"),
    ]  # fmt: skip


def test_between_dots_the_day_comes_first_and_nothing_is_asked(read) -> None:
    reading = read("[03.04.22, 09:58:01] Zoë: Hi\n[05.06.22, 09:59:12] Ben: Yes\n", name="_chat.txt")
    assert [one.sent_at.isoformat()[:10] for one in reading.messages] == ["2022-04-03", "2022-06-05"]
    assert not reading.notes


@pytest.mark.parametrize(
    ("told", "days"), [(True, ["2022-04-03", "2022-06-05"]), (False, ["2022-03-04", "2022-05-06"])]
)
def test_the_person_tells_whether_the_day_comes_first(tmp_path: Path, told: bool, days: list[str]) -> None:
    path = tmp_path / "WhatsApp Chat with Ben.txt"
    path.write_text("03/04/2022, 09:58 - Zoë: Hi\n05/06/2022, 09:59 - Ben: Yes\n")
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    (note,) = [one for one in found.parser.parse(found.document) if isinstance(one, InputProblem)]
    assert note.message.endswith("forget this source and ingest it again with --month-first")
    records = list(found.parser.parse(found.document.told(told)))
    assert [one.sent_at.isoformat()[:10] for one in records if isinstance(one, MessageRecord) and one.sent_at] == days
    assert not [one for one in records if isinstance(one, InputProblem)]


def test_numbers_decide_before_what_is_told(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat with Ben.txt"
    path.write_text("03/04/2022, 09:58 - Zoë: Hi\n25/06/2022, 09:59 - Ben: Yes\n")
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    records = found.parser.parse(found.document.told(False))
    assert [one.sent_at.month for one in records if isinstance(one, MessageRecord) and one.sent_at] == [4, 6]
