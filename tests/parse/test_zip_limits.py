"""What a zip may unpack to, and how many messages it may have, over all of its files."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from appliance import Appliance
from appliance.formats import json_scanner, json_stream
from appliance.ingest import zip_limits
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import InputProblem, MessageRecord

LINE = b'{"role":"user","content":"a"}\n'


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def read(path: Path) -> tuple[list[int], list[str]]:
    """How many messages each document has, and the problems of all."""
    counts, problems = [], []
    for found in detect_documents([path]):
        if not isinstance(found, DetectedDocument):
            problems += [problem.message for problem in found.errors]
            continue
        records = list(found.parser.parse(found.document))
        counts.append(sum(isinstance(record, MessageRecord) for record in records))
        problems += [record.message for record in records if isinstance(record, InputProblem)]
    return counts, problems


def test_the_files_of_a_zip_have_one_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_limits, "ALWAYS_UNPACKED_BYTES", 300_000)
    blanks = b" " * 100_000 + b"\n"
    path = zipped(tmp_path / "x.zip", {f"{name}.jsonl": LINE * 3 + blanks for name in "abcdef"})
    counts, problems = read(path)
    assert counts[:2] == [3, 3] and sum(counts) < 18
    assert any("the files of this zip unpack to over 250 times its size" in problem for problem in problems)


def test_a_file_that_is_read_again_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_limits, "ALWAYS_UNPACKED_BYTES", 150_000)
    path = zipped(tmp_path / "x.zip", {"a.jsonl": LINE * 3 + b" " * 100_000 + b"\n"})
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    for _ in range(5):
        records = list(found.parser.parse(found.document))
        assert not [record for record in records if isinstance(record, InputProblem)]


def test_a_zip_of_more_messages_than_its_size_allows_is_read_as_far_as_it_does(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_limits, "ALWAYS_READ_MESSAGES", 300)
    lines = b"".join(b'{"role":"user","content":"a","session_id":"%d"}\n' % (number // 50) for number in range(250))
    path = zipped(tmp_path / "x.zip", {"a.jsonl": lines, "b.jsonl": lines.replace(b'"a"', b'"b"')})
    report = memory.ingest(path, wait=False)
    first, second = report.files
    assert (first.status, first.new) == ("ok", 250)
    assert second.status == "partial" and second.new < 250
    assert "more messages than its size allows" in second.errors[0].message
    plain = tmp_path / "b.jsonl"
    plain.write_bytes(lines)  # what is not in a zip has no such limit
    assert memory.ingest(plain, wait=False).files[0].status == "ok"


def test_ordinary_messages_are_far_from_the_limit(tmp_path: Path) -> None:
    """A monotonous chat: the same word, a minute apart."""
    chat = "".join(f"12/03/21, {n // 60 % 24:02}:{n % 60:02} - {'Ana' if n % 3 else 'Ben'}: ok\n" for n in range(5000))
    path = zipped(tmp_path / "x.zip", {"WhatsApp Chat.txt": chat.encode()})
    assert path.stat().st_size > 5000 * zip_limits.BYTES_A_MESSAGE


def test_a_record_of_a_zip_may_not_take_much_memory(memory: Appliance, tmp_path: Path, monkeypatch: Any) -> None:
    """A small zip with one record of very many objects would take gigabytes of memory when it is decoded."""
    monkeypatch.setattr(json_scanner, "_RESYNC_THRESHOLD_BYTES", 100_000)
    monkeypatch.setattr(json_stream, "MAX_ZIPPED_RECORD_COST", 4 << 20)
    nodes = ",".join(f'"{n}":{{"id":"{n}","text":"[{{","children":[[]]}}' for n in range(20_000))
    after = {"title": "y", "mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["Ahoy"]}}}}}
    content = f'[{{"title":"x","mapping":{{{nodes}}}}},\n{json.dumps(after)}]'.encode()
    path = zipped(tmp_path / "x.zip", {"conversations.json": content})
    report = memory.ingest(path, wait=False)
    (file,) = report.files
    assert (file.status, file.new) == ("partial", 1)
    assert file.errors[0].where == "line 1, byte 1" and "Unpack the zip and ingest the file" in file.errors[0].message
    assert "would take over 4 MB of memory" in file.errors[0].message and len(file.errors) == 1
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    _, second = json_stream.records(found.document)
    assert isinstance(second, json_stream.JsonRecord) and (second.number, second.line) == (2, 2)
    (opened,) = [one for one in json_stream.parts(found.document, [("mapping",)]) if isinstance(one, InputProblem)][:1]
    assert opened.where == "line 1, byte 1"
    plain = tmp_path / "conversations.json"
    plain.write_bytes(content)  # what is not in a zip has no such limit
    (found,) = detect_documents([plain])
    assert isinstance(found, DetectedDocument)
    first, _ = json_stream.records(found.document)
    assert isinstance(first, json_stream.JsonRecord) and len(first.data["mapping"]) == 20_000


def test_a_record_that_is_cut_off_or_a_line_may_not_take_much_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(json_scanner, "_RESYNC_THRESHOLD_BYTES", 100_000)
    monkeypatch.setattr(json_stream, "_ALWAYS_DECODED_BYTES", 100_000)
    monkeypatch.setattr(json_stream, "MAX_ZIPPED_RECORD_COST", 4 << 20)
    line = b'{"session_id":"s","role":"user","content":"a","x":[' + b"[1]," * 200_000
    whole = b'{"session_id":"s","role":"user","content":"b"}\n'
    path = zipped(tmp_path / "x.zip", {"a.jsonl": whole + line + b"0]}\n" + whole, "b.json": line})
    lines, cut_off = (found.document for found in detect_documents([path], forced="native")
                      if isinstance(found, DetectedDocument))  # fmt: skip
    first, problem, last = json_stream.lines(lines)
    assert isinstance(problem, InputProblem) and problem.where == "line 2" and first[1] == last[1] == whole
    (problem,) = json_stream.records(cut_off)
    assert isinstance(problem, InputProblem) and "this record was not read" in problem.message


@pytest.mark.parametrize("value", [{"a": 1.5}, ["text"] * 3, [[[]]], {"key": {"key": "text of some words, and more"}}])
def test_the_cost_of_decoding_is_about_what_it_takes(value: Any) -> None:
    data = json.dumps([value] * 5_000).encode()
    tracemalloc.start()
    try:
        decoded = msgspec.json.decode(data)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(decoded) == 5_000 and taken <= json_scanner.decoding_cost(data) < 4 * taken + 2 * len(data)
