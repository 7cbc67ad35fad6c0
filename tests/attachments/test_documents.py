"""The text of attached documents: found with its page, counted apart, erased with its message, read once."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.cli.app import run
from appliance.formats import documents as formats
from tests.attachments.documents import PLAN, chat, pdf
from tests.attachments.exports import native
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

pytest.importorskip("pypdfium2")

PAGE_2 = "The greenhouse costs 1850 euros"


def texts(memory: Appliance) -> list[str]:
    return [message.text for message in memory.sessions.messages("s1")]


def test_a_page_is_found_and_says_where_it_stands(memory: Appliance, tmp_path: Path) -> None:
    report = memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN), "tides.txt": b"High water at noon"}))
    assert (report.total("new"), report.total("documents"), report.total("pages")) == (4, 2, 4)
    hit = memory.search("what does the greenhouse cost", limit=1)[0]
    assert (hit.text, hit.who) == (PAGE_2, "plan.pdf, page 2, sent by Ben")
    assert hit.document is not None
    assert (hit.document.name, hit.document.place, hit.document.message) == ("plan.pdf", "page 2", "1")
    assert (hit.role, hit.author, hit.timestamp) == ("system", "Ben", "2026-02-06T10:30:00+00:00")
    assert memory.search('"High water"', limit=1)[0].who == "tides.txt, sent by Ben"
    plan = memory.attachments.get("m2.1")
    assert (plan.pages, plan.problem, plan.kept) == (3, None, False)
    counts = memory.status()["counts"]
    assert (counts["documents"], counts["document_pages"]) == (2, 4)
    assert memory.verify().problems == []


@pytest.mark.slow
def test_the_filters_of_a_search_know_pages(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}))

    def found(**filters: object) -> set[str]:
        return {hit.text for hit in memory.search("greenhouse", min_score=0, limit=50, **filters)}  # type: ignore[arg-type]

    assert PAGE_2 in found(authors=["ben"]) and PAGE_2 in found(roles=["system"])
    assert found(has=["document"]) == set(PLAN)
    assert PAGE_2 in found(mode="lexical") and PAGE_2 in found(mode="dense")
    assert PAGE_2 not in found(authors=["ana"]) | found(roles=["user"]) | found(has=["file"]) | found(until="2025")
    why = memory.search("greenhouse", why_not=memory.search(PAGE_2, limit=1)[0].message_id).why_not
    assert why is not None and why.stage == "shown"


def test_no_person_said_it(memory: Appliance, tmp_path: Path) -> None:
    sentence = "I live in Lisbon and my sister is called Clara"
    memory.ingest(chat(tmp_path / "in", {"about.txt": f"{sentence}. Therefore I like tulips.".encode()}))
    memory.run_pending_jobs()
    assert memory.search("Lisbon", limit=1)[0].text.startswith(sentence)
    assert memory.facts.list() == []
    assert {row.keys[0]: row.messages for row in memory.statistics(["author"]).rows} == {
        "Ana": 2, "Ben": 1,
    }  # fmt: skip
    ben = next(person for person in memory.people.list().people if person.name == "Ben")
    assert ben.messages == 1
    assert all(sentence not in summary.text for summary in memory.summaries.list(session_id="s1"))
    window = memory.context("and then?", session_id="s1", auto_recall=False)
    assert sentence not in window.text and "Thank you" in window.text


@pytest.mark.slow
def test_a_context_says_what_it_quotes(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}))
    text = memory.context("what does the greenhouse cost?").text
    assert "plan.pdf page 2 sent by Ben] The greenhouse costs 1850 euros" in text


@pytest.mark.slow
def test_what_a_session_withholds_stays_there(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}))
    memory.sessions.get("s").set_storage_scope("conversational")
    memory.embed_pending()
    assert PAGE_2 not in {hit.text for hit in memory.search(PAGE_2, min_score=0)}
    assert PAGE_2 in {hit.text for hit in memory.search(PAGE_2, min_score=0, session_id="s1")}


@pytest.mark.slow
def test_reading_an_export_again_changes_nothing(memory: Appliance, tmp_path: Path) -> None:
    export = chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)})
    memory.ingest(export, wait=False)
    before = [(message.id, message.text) for message in memory.sessions.messages("s1")]
    report = memory.ingest(export, wait=False)
    assert (report.total("new"), report.total("updated"), report.total("documents")) == (0, 0, 0)
    assert [(message.id, message.text) for message in memory.sessions.messages("s1")] == before
    assert memory.verify().checked["revisions"] == 0


@pytest.mark.slow
def test_pages_stand_behind_their_message(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN), "b.txt": b"other words"}, time=None), wait=False)
    assert texts(memory) == ["Send me the files", "Here it is", *PLAN, "Here it is", "other words", "Thank you"]


@pytest.mark.slow
def test_an_edited_author_is_that_of_the_pages_too(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}))
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}, author="Benedikt", time="2026-02-07T09:00:00Z"))
    hit = memory.search("greenhouse", limit=1)[0]
    assert (hit.who, hit.timestamp) == ("plan.pdf, page 2, sent by Benedikt", "2026-02-07T09:00:00+00:00")
    assert texts(memory)[1:5] == ["Here it is", *PLAN]
    assert memory.verify().problems == []


@pytest.mark.slow
def test_a_document_without_its_library_is_read_when_that_is_there(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = chat(tmp_path / "in", {"plan.pdf": pdf(PLAN), "b.txt": b"other words"})
    with monkeypatch.context() as without:
        without.setattr(formats, "find_spec", lambda name: None)
        report = memory.ingest(export, wait=False)
        assert (report.total("documents"), report.complete) == (1, True)
        (note,) = report.files[0].notes
        assert "1 attached document (pdf)" in note.message and "pip install '.[documents]' in a clone" in note.message
        memory.run_pending_jobs()
        assert memory.status()["counts"]["documents"] == 1
    report = memory.ingest(export, wait=False)
    assert (report.total("updated"), report.total("documents"), report.total("pages")) == (0, 1, 3)
    assert texts(memory)[1:5] == ["Here it is", *PLAN]
    assert memory.verify().checked["revisions"] == 0


@pytest.mark.slow
def test_a_home_of_an_earlier_version_reads_what_is_still_there(home: Path, tmp_path: Path) -> None:
    export = chat(tmp_path / "in", {"plan.pdf": pdf(PLAN), "gone.txt": b"other words"})
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(export, wait=False)
    (tmp_path / "in" / "gone.txt").unlink()
    database = sqlite3.connect(home / "recall.db")
    database.execute("UPDATE attachment SET text_state = NULL, pages = 0")
    database.commit()
    database.close()
    with Appliance.open(home, worker=False) as memory:
        memory.run_pending_jobs()
        assert {one.name: one.pages for one in memory.attachments.list()} == {"plan.pdf": 3, "gone.txt": 0}
        assert texts(memory)[1:5] == ["Here it is", *PLAN]


@pytest.mark.slow
def test_an_export_takes_pages_along(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}), wait=False)
    lines = list(memory.export())
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with Appliance.open(tmp_path / "other", worker=False) as other:
        other.ingest(tmp_path / "out.jsonl")
        assert other.search("greenhouse", limit=1)[0].who == "plan.pdf, page 2, sent by Ben"
        assert other.status()["counts"]["document_pages"] == 3
        assert list(other.export()) == lines
        # The same export with its files: the pages are known already.
        report = other.ingest(tmp_path / "in" / "chat.jsonl", wait=False)
        assert (report.total("new"), report.total("updated")) == (0, 0)
        assert other.status()["counts"]["document_pages"] == 3
        other.erasure.forget(other.erasure.preview("m2"))
        assert other.status()["counts"]["document_pages"] == 0


@pytest.mark.slow
def test_no_text_is_read_if_the_settings_say_so(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_ATTACHMENTS_TEXT", "false")
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(chat(tmp_path / "in", {"b.txt": b"other words"}), wait=False)
        memory.run_pending_jobs()
        assert memory.status()["counts"]["documents"] == 0


# --- forgetting ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_text_is_erased_with_its_message(home: Path, tmp_path: Path) -> None:
    export = chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)})
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(export, keep_attachments=True)
        assert holding(home, b"greenhouse", b"Brandl")
        receipt = memory.erasure.forget(memory.erasure.preview("m2"))
        assert (receipt.messages, receipt.proof.searched, receipt.proof.traces) == (4, True, ())
        assert memory.search("greenhouse", mode="lexical", min_score=0).hits == ()
        report = memory.ingest(export, wait=False, keep_attachments=True)
        assert (report.total("new"), report.total("documents"), report.total("kept")) == (0, 0, 0)
        assert memory.verify().problems == []
    assert not holding(home, b"greenhouse", b"Brandl", PLAN[1].encode("utf-16-le"))
    with Appliance.open(home, worker=False) as memory:
        report = memory.ingest(export, wait=False, again=True)
        assert (report.total("new"), report.total("pages")) == (1, 3)


@pytest.mark.slow
def test_a_forgotten_page_does_not_come_back_and_takes_the_copy_along(home: Path, tmp_path: Path) -> None:
    export = chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)})
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(export, keep_attachments=True)
        page = memory.search("greenhouse", limit=1)[0].message_id
        memory.erasure.forget(memory.erasure.preview(page))
        report = memory.ingest(export, wait=False, keep_attachments=True)
        assert (report.total("documents"), report.total("kept")) == (0, 0)
        memory.run_pending_jobs()
        assert texts(memory)[1:4] == ["Here it is", PLAN[0], PLAN[2]]
        assert not memory.attachments.get("m2.1").kept
        assert memory.verify().problems == []
    assert not holding(home, b"greenhouse")


# --- the command line -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_names_the_document(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ingest", str(chat(tmp_path / "in", {"plan.pdf": pdf(PLAN)}))]) == 0
    assert "1 attached document with 3 pages can be searched" in capsys.readouterr().out
    assert run(["search", "greenhouse", "-k", "1"]) == 0
    assert "plan.pdf, page 2, sent by Ben" in capsys.readouterr().out
    assert run(["show", "s1"]) == 0
    shown = capsys.readouterr().out
    assert "[plan.pdf, page 1]" in shown and "2 more pages of plan.pdf" in shown and "1850" not in shown
    assert run(["show", memory_id(home)]) == 0
    assert "plan.pdf, page 2, sent by Ben" in capsys.readouterr().out
    assert run(["search", "greenhouse", "--has", "document", "--csv"]) == 0
    assert ",plan.pdf,page 2" in capsys.readouterr().out


def memory_id(home: Path) -> str:
    with Appliance.open(home, worker=False) as memory:
        return memory.search("greenhouse", limit=1)[0].message_id


def test_metadata_of_another_form_makes_no_page(memory: Appliance, tmp_path: Path) -> None:
    for number, document in enumerate((1, "x", [], {}, {"name": "a"}, {"name": 1, "message": "2", "digest": "3"})):
        lines = [{"message_id": str(number), "role": "system", "metadata": {"document": document}}]
        memory.ingest(native(tmp_path / f"{number}.jsonl", lines), wait=False)
    assert memory.status()["counts"]["document_pages"] == 0
    assert all(message.document is None for message in memory.sessions.messages("s1"))
    assert memory.verify().problems == []
