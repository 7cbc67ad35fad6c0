"""What a zip may unpack to, and how many messages it may have, over all of its files."""

from __future__ import annotations

import zipfile
from pathlib import Path

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


def test_a_record_of_a_zip_is_as_long_as_its_file_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small zip with one record of very many objects would take gigabytes of memory when it is decoded."""
    monkeypatch.setattr(json_stream, "_ALWAYS_READ_BYTES", 100_000)
    monkeypatch.setattr(json_scanner, "_RESYNC_THRESHOLD_BYTES", 100_000)
    nodes = ",".join(f'"{n}":{{"id":"{n}","children":[]}}' for n in range(20_000))
    record = f'{{"title":"x","mapping":{{{nodes}}}}}'
    path = zipped(tmp_path / "x.zip", {"conversations.json": f"[{record}]".encode()})
    assert path.stat().st_size * 2 < len(record) < path.stat().st_size * 30
    monkeypatch.setattr(json_stream, "_MAX_RECORD_RATIO", 1)
    (found,) = detect_documents([path])
    assert isinstance(found, DetectedDocument)
    problems = [one for one in json_stream.records(found.document) if isinstance(one, InputProblem)]
    assert problems
    monkeypatch.setattr(json_stream, "_MAX_RECORD_RATIO", 30)
    (whole,) = json_stream.records(found.document)
    assert not isinstance(whole, InputProblem) and len(whole.data["mapping"]) == 20_000
