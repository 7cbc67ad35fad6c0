"""What is read of each kind of document, and what becomes of damaged and hostile ones."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.formats import document_worker
from appliance.formats import documents as formats
from appliance.formats.documents import DocumentKind, packages
from appliance.formats.documents.passages import PART_CHARACTERS, numbered_lines, parts_of
from appliance.ingest.document_reader import DocumentReader, ReadDocument
from tests.attachments.documents import LOCKED, PLAN, chat, pdf, saved


def read(kind: DocumentKind, data: bytes) -> list[tuple[str, str]]:
    return [(page.place, page.text) for page in formats.read(kind, data)]


def read_apart(kind: DocumentKind, data: bytes, seconds: float = 60) -> ReadDocument:
    """Read in a process, as an ingest does."""
    with DocumentReader(seconds) as reader:
        return reader.read(kind, len(data), lambda: io.BytesIO(data))


@pytest.mark.parametrize(
    ("name", "type", "kind"),
    [
        ("Report.PDF", None, "pdf"), ("a.docx", None, "docx"), ("a.ods", None, "opendocument"), ("a.md", None, "text"),
        ("file", "text/html; charset=utf-8", "html"), ("F03", "application/pdf", "pdf"), ("a.png", "image/png", None),
        ("pdf", None, None),
    ],
)  # fmt: skip
def test_a_kind_follows_from_the_name_else_from_the_type(name: str, type: str | None, kind: str | None) -> None:
    assert formats.kind_of(name, type) == kind


def test_pdf() -> None:
    pytest.importorskip("pypdfium2")
    assert read("pdf", pdf(["Beds and\npaths", "", "Tulips"])) == [("page 1", "Beds and\npaths"), ("page 3", "Tulips")]


def test_word() -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Lease", 0)
    paragraph = document.add_paragraph("The rent is ")
    paragraph.add_run("850 euros").bold = True
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "cellar", "dry"
    document.sections[0].header.paragraphs[0].text = "Draft of May"
    document.add_comment(paragraph.runs, "too much", author="Ana")
    assert read("docx", saved(document.save)) == [
        ("", "Lease\nThe rent is 850 euros\ncellar\tdry"), ("header", "Draft of May"), ("comments", "too much"),
    ]  # fmt: skip


def test_word_says_its_pages_where_it_has_noted_them() -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_paragraph("first page")
    run = document.add_paragraph().add_run()
    run._r.append(run._r.makeelement(f"{{{run._r.nsmap['w']}}}lastRenderedPageBreak", {}))
    run.add_text("second page")
    assert read("docx", saved(document.save)) == [("page 1", "first page"), ("page 2", "second page")]


@pytest.mark.slow
def test_slides() -> None:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "The garden", "beds\npaths"
    slide.notes_slide.notes_text_frame.text = "Mention the pond."
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Costs"
    assert read("pptx", saved(deck.save)) == [
        ("slide 1", "The garden\nbeds\npaths\n\nMention the pond."), ("slide 2", "Costs"),
    ]  # fmt: skip


@pytest.mark.slow
def test_sheets() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Budget"
    book.active.append(["Item", "Euros", "Due"])
    book.active.append(["Glass", 1850.0, datetime.date(2026, 5, 1)])
    long = book.create_sheet("Plants")
    for number in range(400):
        long.append([f"tulip number {number}", number / 4])
    found = read("xlsx", saved(book.save))
    assert found[0] == ("sheet Budget", "Item\tEuros\tDue\nGlass\t1850\t2026-05-01")
    assert found[1][0].startswith("sheet Plants, rows 1–") and found[-1][0].endswith("–400")
    assert "\n".join(text for _, text in found[1:]).split("\n")[399] == "tulip number 399\t99.75"


@pytest.mark.slow
def test_opendocument() -> None:
    odfdo = pytest.importorskip("odfdo")
    text = odfdo.Document("odt")
    text.body.clear()
    text.body.append(odfdo.Header(1, "Lease"))
    text.body.append(odfdo.Paragraph("The rent  is 850 euros"))
    assert read("opendocument", saved(text.save)) == [("", "Lease\nThe rent  is 850 euros")]
    sheets = odfdo.Document("ods")
    sheets.body.clear()
    table = odfdo.Table("Budget")
    table.set_values([["Glass", 1850], ["Putty", 12]])
    sheets.body.append(table)
    assert read("opendocument", saved(sheets.save)) == [("sheet Budget", "Glass\t1850\nPutty\t12")]
    slides = odfdo.Document("odp")
    slides.body.clear()
    page = odfdo.DrawPage("p1", name="one")
    page.append(odfdo.Frame.text_frame("The garden", size=("7cm", "5cm")))
    slides.body.append(page)
    assert read("opendocument", saved(slides.save)) == [("slide 1", "The garden")]


def test_pages_of_the_web_and_plain_texts() -> None:
    assert read("html", b"<title>x</title><p>Beds &amp; <b>paths</b></p><script>no()</script>") == [
        ("", "Beds & paths")
    ]
    assert read("text", "Größe\r\n12".encode("cp1252")) == [("", "Größe\n12")]
    assert read("text", "tides".encode("utf-16")) == [("", "tides")]
    assert read("text", b" \n") == []


def test_a_long_text_is_cut_at_its_joints_and_nothing_is_lost() -> None:
    text = "".join(f"Line {number} of a long letter.\n" + "\n" * (number % 7 == 0) for number in range(2000))
    parts = list(parts_of(text))
    assert "".join(parts) == text and all(len(part) <= PART_CHARACTERS for part in parts)
    assert all(part.endswith("\n") for part in parts)
    assert "".join(parts_of("x" * 9001)) == "x" * 9001
    named = list(numbered_lines(text))
    assert named[0].place.startswith("lines 1–")
    lines = text.split("\n")
    for part in named:
        first = int(part.place.split()[1].partition("–")[0])
        assert lines[first - 1] == part.text.split("\n")[0]


# --- damaged and hostile ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_locked_or_damaged_says_so() -> None:
    pytest.importorskip("pypdfium2")
    cases: list[tuple[DocumentKind, bytes, str]] = [
        ("pdf", LOCKED, "password"), ("pdf", b"%PDF-1.4 nothing", "damaged"), ("docx", b"no zip", "damaged"),
        ("docx", b"\xd0\xcf\x11\xe0" + bytes(600), "password"), ("xlsx", b"PK\x03\x04", "damaged"),
        ("pptx", saved(lambda stream: zipfile.ZipFile(stream, "w").close()), "damaged"),
        ("opendocument", b"", "damaged"),
    ]  # fmt: skip
    with DocumentReader() as reader:
        for kind, data, word in cases:
            found = reader.read(kind, len(data), lambda data=data: io.BytesIO(data))  # type: ignore[misc]
            assert found.pages == () and word in found.problem, kind


def test_entities_are_not_followed(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    secret = tmp_path / "secret.txt"
    secret.write_text("the password", encoding="utf-8")
    content = (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">'
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
        '<o:document-content xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><o:body><o:text><t:p>seen &e; &b;</t:p></o:text>'
        "</o:body></o:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("content.xml", content)
    assert read("opendocument", stream.getvalue()) == [("", "seen")]


def test_a_document_that_is_longer_than_the_limit_says_where_its_text_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_worker, "MAX_CHARACTERS", 9_000)
    out = io.BytesIO()
    document_worker.answer("text", b"word " * 3_000, out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert b"longer than the 9,000 characters" in lines[-1] and b"ends before lines" in lines[-1]


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MAX_UNPACKED_BYTES", 1 << 20)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(2 << 20))
    with pytest.raises(formats.DocumentUnreadable, match="unpacks to 2 MB"):
        read("docx", stream.getvalue())


@pytest.mark.slow
def test_memory_and_time_are_limited_and_the_next_document_is_read() -> None:
    pytest.importorskip("lxml")
    stream = io.BytesIO()  # 4 bytes a node, which takes over 100 when it is parsed
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("content.xml", "w") as member:
        member.write(b"<a>")
        for _ in range(60):
            member.write(b"<b/>" * (1 << 18))
        member.write(b"</a>")
    data = stream.getvalue()
    with DocumentReader() as reader:
        found = reader.read("opendocument", len(data), lambda: io.BytesIO(data))
        assert found.pages == () and any(word in found.problem for word in ("memory", "ended", "damaged"))
        assert reader.read("text", 4, lambda: io.BytesIO(b"word")).pages[0].text == "word"
    with DocumentReader(seconds=0.0) as reader:
        assert "more than 0 seconds" in reader.read("text", 4, lambda: io.BytesIO(b"word")).problem
        reader._seconds = 60
        assert reader.read("text", 4, lambda: io.BytesIO(b"word")).pages[0].text == "word"


@pytest.mark.slow
def test_a_hundred_thousand_pages_are_bounded() -> None:
    pytest.importorskip("pypdfium2")
    found = read_apart("pdf", pdf([f"Page of number {number}" for number in range(100_000)]))
    assert len(found.pages) == document_worker.MAX_PAGES
    assert "longer than the 20,000 pages" in found.problem


@pytest.mark.slow
def test_a_file_that_changes_or_is_too_large_is_not_read() -> None:
    with DocumentReader() as reader:
        assert "has changed" in reader.read("text", 5, lambda: io.BytesIO(b"word")).problem
        assert "not read" in reader.read("text", 1 << 30, lambda: io.BytesIO(b"")).problem


@pytest.mark.slow
def test_a_failure_is_a_note_and_the_message_stays(memory: Appliance, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    half = pdf(PLAN)
    export = chat(tmp_path / "in", {"locked.pdf": LOCKED, "empty.txt": b"", "scan.pdf": pdf([""]), "plan.pdf": half})
    report = memory.ingest(export, wait=False)
    notes = {note.where: note.message for note in report.files[0].notes}
    assert "password" in notes["locked.pdf"] and "no text" in notes["empty.txt"] and "scan" in notes["scan.pdf"]
    assert (report.complete, report.total("documents"), report.total("new")) == (True, 1, 6)
    problems: dict[str, Any] = {one.name: one.problem for one in memory.attachments.list()}
    assert "password" in problems["locked.pdf"] and problems["plan.pdf"] is None
    assert memory.ingest(export, wait=False).files[0].notes == ()
