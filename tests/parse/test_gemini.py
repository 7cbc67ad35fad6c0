"""Gemini out of Google Takeout: rows, days and conversations, languages, pages, damage."""

from __future__ import annotations

import io
import json
import tracemalloc
from datetime import UTC, datetime

import pytest

from appliance.formats import gemini, gemini_words
from appliance.formats.base import Document, DocumentHead
from appliance.types import InputProblem, MessageRecord


def row(title: str, time: str | None = "2025-03-01T10:00:00.500Z", answer: str = "", **more: object) -> dict:
    given: dict = {"header": "Gemini Apps", "title": title, "products": ["Gemini Apps"]} | more
    if time is not None:
        given["time"] = time
    if answer:
        given["safeHtmlItem"] = [{"html": answer}]
    return given


def cell(main: str, product: str = "Gemini Apps", more: str = "") -> str:
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell mdl-cell"><p class="mdl-typography--title">{product}<br></p></div>'
        f'<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">{main}</div>'
        '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption">'
        f"<b>Products:</b><br>&emsp;{product}<br>{more}</div></div></div>"
    )


def page(*cells: str) -> str:
    head = "<html><head><title>My Activity</title><style>.mdl-grid{}</style></head>"
    return f'{head}<body><div class="mdl-grid">{"".join(cells)}</div></body></html>'


def records(data: bytes) -> list:
    return list(gemini.parse(Document("x", len(data), lambda: io.BytesIO(data))))


def test_rows_become_prompts_and_answers_by_day(read):
    data = [
        row("Prompted Later", "2025-03-02T08:00:00Z", "<p>Yes.</p><ul><li>One</li></ul>"),
        row("Used an Assistant feature", "2025-03-01T12:00:00Z"),
        row("Prompted  How\nlong? ", answer="<p>A &lt; B</p><script>x()</script>"),
        row("Prompted unanswered", "2025-03-01T09:00:00Z"),
    ]
    got = read(json.dumps(data), "Takeout/My Activity/Gemini Apps/MyActivity.json")
    assert got.format == "gemini"
    assert [(s.external_id, s.title) for s in got.sessions] == [
        ("gemini:2025-03-02", "Gemini, 2025-03-02"),
        ("gemini:2025-03-01", "Gemini, 2025-03-01"),
    ]
    assert [(m.role, m.text) for m in got.messages] == [
        ("user", "Later"),
        ("assistant", "Yes.\n\n- One"),
        ("system", "Used an Assistant feature"),
        ("user", " How\nlong? "),
        ("assistant", "A < B"),
        ("user", "unanswered"),
    ]
    asked, answered = got.messages[3:5]
    assert (asked.external_id, asked.sent_at) == (
        "2025-03-01T10:00:00Z",
        datetime(2025, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC),
    )
    assert (answered.external_id, answered.reply_to) == ("2025-03-01T10:00:00Z-answer", asked.external_id)
    assert got.problems == got.notes == []


def test_a_later_export_has_the_same_ids(read):
    first = [row("Prompted a", "2025-03-01T09:00:00Z", "<p>b</p>")]
    later = [row("Prompted c", "2025-03-01T10:00:00Z", "<p>d</p>"), *first]
    one, two = (read(json.dumps(data), name) for data, name in ((first, "a.json"), (later, "b.json")))
    kept = [(m.session, m.external_id, m.text) for m in two.messages][2:]
    assert kept == [(m.session, m.external_id, m.text) for m in one.messages]
    html = page(cell("Prompted&nbsp;a<br>Mar 1, 2025, 10:00:00\u202fAM CET<br><p>b</p>"))
    three = read(html, "c.html")
    assert [(m.session, m.external_id, m.text) for m in three.messages] == kept


def test_other_products_are_no_chats(read):
    data = [
        row("Searched for lakes", header="Search", products=["Search"]),
        row("Prompted a", answer="<p>b</p>"),
        row("Turned on the light", header="Assistant", products=["Assistant"]),
        row("Watched Gemini explained", header="YouTube", products=["YouTube"]),
    ]
    got = read(json.dumps(data))
    assert got.texts == ["a", "b"]
    assert [note.message for note in got.notes] == [
        "skipped 1 row of another product (Assistant)",
        "skipped 1 row of another product (Search)",
        "skipped 1 row of another product (YouTube)",
    ]
    html = page(cell("Searched for&nbsp;lakes<br>Mar 1, 2025, 10:00:00 AM CET<br>", "Search"))
    assert records(html.encode())[0].message == "skipped 1 row of another product (Search)"
    more = "<b>Why is this here?</b><br>&emsp;Gemini Apps Activity"
    html = page(cell("Searched for&nbsp;lakes<br>Mar 1, 2025, 10:00:00 AM CET<br>", "Search", more))
    assert [type(record) for record in records(html.encode())] == [InputProblem]


def test_rows_that_link_to_their_conversation_are_kept_in_it(read):
    def link(*ids: str) -> dict:
        return {"details": [{"name": "chat", "url": f"https://gemini.google.com/app/{one}"} for one in ids]}

    data = [
        row("Prompted fork", "2025-03-02T00:10:00Z", **link("bbbb0000bbbb0000")),
        row("Prompted shared", "2025-03-01T23:50:00Z", "<p>x</p>", **link("aaaa1111", "bbbb0000bbbb0000")),
    ]
    got = read(json.dumps(data))
    assert [(m.session, m.text) for m in got.messages] == [
        ("gemini:bbbb0000bbbb0000", "fork"),
        ("gemini:aaaa1111", "shared"),
        ("gemini:aaaa1111", "x"),
        ("gemini:bbbb0000bbbb0000", "shared"),
        ("gemini:bbbb0000bbbb0000", "x"),
    ]
    more = '<a href="https://gemini.google.com/u/1/app/cafe0123">chat</a>'
    html = page(cell("Prompted&nbsp;a<br>Mar 1, 2025, 10:00:00 AM CET<br><p>b</p>", more=more))
    assert [s.external_id for s in read(html).sessions] == ["gemini:cafe0123"]


def test_files_and_images(read):
    data = [
        row(
            "Prompted ",
            answer='<p>Here:</p><img src="made-1.png">',
            subtitles=[
                {"name": "Attached 1 file."},
                {"name": "-  plan.pdf", "url": "plan.pdf"},
                {"name": "This chat used a Gem", "url": "https://gemini.google.com/gems/1"},
            ],
            attachedFiles=["plan.pdf", "made-1.png"],
            imageFile="made-1.png",
        )
    ]
    got = read(json.dumps(data))
    assert [(m.role, m.text, dict(m.metadata)) for m in got.messages] == [
        ("user", "[attachment: plan.pdf]", {"attachments": [{"name": "plan.pdf"}]}),
        ("assistant", "Here:", {"attachments": [{"name": "made-1.png"}]}),
    ]
    html = page(
        cell(
            "Prompted&nbsp;first<br>second<br>Attached 2 files.<br>-&nbsp;<a href='a.txt'>a.txt</a><br>"
            "-&nbsp;<a href='b.txt'>b.txt</a><br>Mar 1, 2025, 10:00:00 AM CET<br><p>done</p>"
        )
    )
    asked = read(html).messages[0]
    assert (asked.text, asked.metadata) == ("first\nsecond", {"attachments": [{"name": "a.txt"}, {"name": "b.txt"}]})


@pytest.mark.parametrize(
    ("title", "prompt"),
    [
        ("Prompted Hi", "Hi"),
        ("Eingegebener Prompt: Hallo", "Hallo"),
        ("Pokyn\xa0Ahoj", "Ahoj"),
        ("送信したメッセージ: こんにちは", "こんにちは"),
        ("Gav instruktionen hej", "hej"),
        ("Prompted", ""),
        ("Promptedness", None),
        ("Gave feedback: Good response", None),
    ],
)
def test_verbs_before_a_prompt(title, prompt):
    assert gemini_words.without_verb(title, frozenset()) == prompt


def test_a_verb_that_is_not_listed_is_learned(read):
    asked = ["Что это?", "Где он?", "Как дела?", "Почему небо синее?", "Когда весна?"]
    data = [row(f"Отправлен запрос: {text}", f"2025-03-01T10:00:0{n}Z", "<p>.</p>") for n, text in enumerate(asked)]
    data.append(row("Использована функция", "2025-03-01T11:00:00Z"))
    got = read(json.dumps(data))
    assert [m.text for m in got.messages if m.role == "user"] == asked
    assert [m.text for m in got.messages if m.role == "system"] == ["Использована функция"]

    got = read(page(cell("Kysyi:&nbsp;mikä se on?<br>1.3.2025 klo 10.00.00 UTC+2<br><p>.</p>")))
    assert got.messages[0].text == "mikä se on?"
    assert got.messages[0].sent_at == datetime(2025, 3, 1, 8, tzinfo=UTC)


def test_titles_without_any_verb_are_prompts_where_they_were_answered(read):
    data = [row("호수 이름은?", answer="<p>호수</p>"), row("기능 사용", "2025-03-01T11:00:00Z")]
    assert [(m.role, m.text) for m in read(json.dumps(data)).messages] == [
        ("user", "호수 이름은?"),
        ("assistant", "호수"),
        ("system", "기능 사용"),
    ]


@pytest.mark.parametrize(
    ("spelled", "read_as"),
    [
        ("May 19, 2026, 7:07:02\u202fPM GMT-03:00", datetime(2026, 5, 19, 22, 7, 2, tzinfo=UTC)),
        ("Jan 5, 2026, 12:00:01 AM EST", datetime(2026, 1, 5, 5, 0, 1, tzinfo=UTC)),
        ("18 Sept 2025, 12:02:52 CEST", datetime(2025, 9, 18, 10, 2, 52, tzinfo=UTC)),
        ("1. 1. 2026 10:00:00\n SEČ", datetime(2026, 1, 1, 9, tzinfo=UTC)),
        ("18.04.2026, 17:38:51 MESZ", datetime(2026, 4, 18, 15, 38, 51, tzinfo=UTC)),
        ("10 de mai. de 2026, 03:46:09 BRT", datetime(2026, 5, 10, 6, 46, 9, tzinfo=UTC)),
        ("2 févr. 2026, 10:00:00 UTC+1", datetime(2026, 2, 2, 9, tzinfo=UTC)),
        ("2 ago 2026, 10:00:00 CEST", datetime(2026, 8, 2, 8, tzinfo=UTC)),
        ("9 lug 2026, 10:00:00 CEST", datetime(2026, 7, 9, 8, tzinfo=UTC)),
        ("3 mrt 2026, 10:00:00 CET", datetime(2026, 3, 3, 9, tzinfo=UTC)),
        ("4 juli 2026 09:15:00 CEST", datetime(2026, 7, 4, 7, 15, tzinfo=UTC)),
        ("2 paź 2025, 10:00:00 CEST", datetime(2025, 10, 2, 8, tzinfo=UTC)),
        ("12 мар. 2026 г., 10:00:00 MSK", datetime(2026, 3, 12, 7, tzinfo=UTC)),
        ("5 Ağu 2026 10:00:00 GMT+03:00", datetime(2026, 8, 5, 7, tzinfo=UTC)),
        ("2026/05/02 10:00:00 JST", datetime(2026, 5, 2, 1, tzinfo=UTC)),
        ("2026年6月19日 12:23:08 CST", datetime(2026, 6, 19, 4, 23, 8, tzinfo=UTC)),
        ("2026年6月19日 下午2:23:08 GMT+8", datetime(2026, 6, 19, 6, 23, 8, tzinfo=UTC)),
        ("2026. 5. 2. 오전 12:00:00 GMT+09:00", datetime(2026, 5, 1, 15, tzinfo=UTC)),
        ("2026. máj. 2. 10:00:00 CEST", datetime(2026, 5, 2, 8, tzinfo=UTC)),
        ("2026. május 2. 10:00:00", datetime(2026, 5, 2, 10)),
        ("3/14/2026, 10:00:00 AM", datetime(2026, 3, 14, 10)),
        ("14/3/2026, 10:00:00", datetime(2026, 3, 14, 10)),
        ("2 May 2026, 10:00:00 IST", datetime(2026, 5, 2, 10)),
        ("31.02.2026, 10:00:00 MEZ", None),
        ("yesterday", None),
    ],
)
def test_dates_as_pages_spell_them(spelled, read_as):
    got = gemini_words.read_date(spelled)
    assert got == read_as and (got is None or got.tzinfo == read_as.tzinfo)


def test_a_date_in_a_prompt_is_not_the_rows(read):
    html = page(cell("Prompted&nbsp;log:<br>1.1.2020, 10:00:00<br>18.04.2026, 17:38:51 MESZ<br><p>3.3.2020</p>"))
    asked, answered = read(html).messages
    assert (asked.text, answered.text) == ("log:\n1.1.2020, 10:00:00", "3.3.2020")


def test_an_unreadable_date_is_left_open(read):
    got = read(page(cell("Prompted&nbsp;a<br>12 กุมภาพันธ์ 2569 10:00:00<br><p>b</p>")))
    assert [(m.session, m.text, m.sent_at, m.external_id) for m in got.messages] == [
        ("gemini:undated", "a", None, None),
        ("gemini:undated", "b", None, None),
    ]
    assert "can't be read" in got.notes[0].message
    assert read(json.dumps([row("Prompted a", None), row("Prompted b", "soon")])).texts == ["a", "b"]


def test_the_same_row_twice_and_two_in_one_second(read):
    data = [row("Prompted a"), row("Prompted a"), row("Prompted b", "2025-03-01T10:00:00.700Z", "<p>c</p>")]
    got = read(json.dumps(data))
    assert got.texts == ["a", "b", "c"]
    first, second, answer = (m.external_id for m in got.messages)
    assert first == "2025-03-01T10:00:00Z" and second.startswith(f"{first}-") and answer == f"{second}-answer"
    assert got.messages[2].reply_to == second
    assert [note.message for note in got.notes] == ["the row occurs twice; skipped"]


def test_detection():
    def sure(text: str, name: str = "x", truncated: bool = False) -> float:
        return gemini.matches(DocumentHead(name, text, truncated))

    assert sure(json.dumps([row("Prompted a")])) > 0.9
    assert sure(json.dumps([row("Searched for a", header="Search", products=["Search"])])) < 0.5
    assert sure(json.dumps([{"header": "Gemini", "title": "a"}])) == 0
    assert sure(page(cell("Prompted&nbsp;a"))) > 0.9
    assert sure(page(cell("Searched for&nbsp;Gemini", "Search")).replace("Gemini", "lakes")) < 0.5
    styles = "<html><head><style>.mdl-grid{}"
    assert sure(styles, "Takeout/My Activity/Gemini Apps/MyActivity.html", True) > 0.8
    assert sure("<html><body>hello</body></html>", "gemini.html") == 0


def test_wrong_types_cost_only_their_place(read):
    keys = ("header", "title", "time", "products", "safeHtmlItem", "subtitles", "attachedFiles", "details")
    for key in keys:
        for wrong in (None, 5, "x", [5], {"a": 1}, [[1]], [{"html": 5, "url": 5, "name": []}], True):
            data = [row("Prompted good", "2025-03-01T09:00:00Z"), row("Prompted odd") | {key: wrong}, 7]
            got = read(json.dumps(data), forced="gemini")
            assert got.texts[0] == "good"
            assert any("not a record" in p.message for p in got.problems)


def test_json_and_page_cut_anywhere():
    rows = [row(f"Prompted q{n}", f"2025-03-01T10:00:0{n}Z", f"<p>a{n}</p>") for n in range(6)]
    times = [f"Mar 1, 2025, 10:00:0{n} AM UTC" for n in range(6)]
    html = page(*(cell(f"Prompted&nbsp;q{n}<br>{times[n]}<br><p>a{n}</p>") for n in range(6)))
    expected = [text for n in range(6) for text in (f"q{n}", f"a{n}")]
    for whole in (json.dumps(rows), html):
        data = whole.encode()
        assert [r.text for r in records(data) if isinstance(r, MessageRecord)] == expected
        for cut in range(0, len(data), 7):
            got = records(data[:cut])
            told = [r.text for r in got if isinstance(r, MessageRecord)]
            assert told == expected[: len(told)]
            between = data[:cut].rstrip(b" ,]").endswith(b"}") or b"</body>" in data[:cut]
            assert between or b"q0" not in data[:cut] or any(isinstance(r, InputProblem) for r in got)


@pytest.mark.slow
def test_a_long_page_is_streamed():
    one = cell("Prompted&nbsp;" + "word " * 1000 + "<br>{}<br><p>" + "answer " * 1000 + "</p>")
    data = page(*(one.replace("{}", f"Mar 1, 2025, 10:{n // 60:02}:{n % 60:02} AM UTC") for n in range(500)))
    encoded = data.encode()
    del data
    tracemalloc.start()
    count = sum(
        isinstance(r, MessageRecord) for r in gemini.parse(Document("x", len(encoded), lambda: io.BytesIO(encoded)))
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1000
    assert len(encoded) > 6_000_000 and peak < 4_000_000


def test_collected_samples(read, exports):
    base = exports / "gemini_takeout"
    got = read(base / "own__takeout_json/Takeout/My Activity/Gemini Apps/MyActivity.json")
    assert [s.external_id for s in got.sessions] == ["gemini:2025-05-02", "gemini:2025-05-01"]
    assert [(m.role, m.text) for m in got.messages] == [
        ("user", "How deep is Lake Mjøsa?"),
        ("assistant", "Mjøsa is about 450\xa0m deep.\n\n- Largest in Norway"),
        ("system", "Used an Assistant feature"),
        ("user", "Name a Norwegian lake"),
        ("assistant", "Mjøsa."),
    ]
    assert got.messages[0].metadata == {"attachments": [{"name": "map.png"}]}
    assert got.messages[0].sent_at == datetime(2025, 5, 2, 10, 0, 5, 123_000, tzinfo=UTC)
    assert got.problems == got.notes == []

    got = read(base / "ai-chat-history-manager/gemini.html")
    assert got.format == "gemini"
    assert (len(got.sessions), got.roles) == (1, ["user", "assistant"] * 9)
    assert got.texts[0] == "How can I use this example Gemini export with your AI database tool?"
    assert got.messages[0].sent_at == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert got.texts[11].endswith("\n\n- First bullet\n- Second bullet with inline code")
    assert got.texts[-1].startswith("Answer 9 notes that the UI lets you copy answers")
    assert got.problems == got.notes == []
