"""Zips that were cut off: what is whole is read, what is lost is named."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from appliance.ingest import sources
from appliance.ingest.sources import DetectedDocument
from appliance.types import InputProblem, MessageRecord
from tests.parse.long_documents import conversation

MESSAGES = 120
NAMES = ("a/conversations.json", "b/conversations.json", "c/conversations.json")


class _Pipe(io.RawIOBase):
    """A stream that can't go back, so that sizes stand behind the data."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.data += bytes(data)  # type: ignore[call-overload]
        return len(data)  # type: ignore[arg-type]


def zipped(*, streamed: bool, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = _Pipe() if streamed else io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:  # type: ignore[call-overload]
        for name in NAMES:
            words = random.Random(name).sample(range(10**9), 40)
            archive.writestr(name, json.dumps([conversation(n) for n in words]))
    return bytes(target.data) if isinstance(target, _Pipe) else target.getvalue()


def read(path: Path) -> tuple[dict[str, int], dict[str, list[InputProblem]]]:
    """The number of messages of each file, and the errors."""
    messages: dict[str, int] = {}
    errors: dict[str, list[InputProblem]] = {}
    for item in sources.detect_documents([path]):
        if isinstance(item, DetectedDocument):
            name = item.document.name.removeprefix(f"{path}/")
            records = list(item.parser.parse(item.document))
            messages[name] = sum(isinstance(record, MessageRecord) for record in records)
            found = [record for record in records if isinstance(record, InputProblem) and not record.harmless]
        else:
            name, found = item.path.removeprefix(f"{path}/"), list(item.errors)
        errors |= {name: found} if found else {}
    return messages, errors


@pytest.mark.parametrize("streamed", [False, True])
def test_whatever_a_zip_lacks_the_files_before_are_read(tmp_path: Path, streamed: bool) -> None:
    data, path = zipped(streamed=streamed), tmp_path / "export.zip"
    path.write_bytes(data)
    whole, errors = read(path)
    assert whole == dict.fromkeys(NAMES, MESSAGES)
    assert not errors
    ends = [data.index(name.encode()) - 30 for name in NAMES[1:]]
    for length in (ends[0] - 200, ends[0] + 5, ends[1] - 300, ends[1] + 300, len(data) - 15, len(data) - 200):
        path.write_bytes(data[:length])
        messages, errors = read(path)
        complete = [name for name, end in zip(NAMES, [*ends, len(data) - 250], strict=True) if end <= length]
        assert {name: messages[name] for name in complete} == dict.fromkeys(complete, MESSAGES), length
        assert all(errors.get(name) for name in messages if messages[name] < MESSAGES), "what is lost is named"
        (problem,) = errors[str(path)]
        assert problem.where.startswith("byte ")
        assert problem.message.startswith(("the zip is cut off", "the list of files at the zip's end is cut off"))


def test_a_cut_zip_without_compression_is_read_up_to_its_end(tmp_path: Path) -> None:
    data, path = zipped(streamed=False, method=zipfile.ZIP_STORED), tmp_path / "export.zip"
    path.write_bytes(data[: data.index(NAMES[2].encode()) + 9_000])
    messages, errors = read(path)
    assert (messages[NAMES[0]], messages[NAMES[1]]) == (MESSAGES, MESSAGES)
    assert 0 < messages[NAMES[2]] < MESSAGES
    assert "the zip is cut off within this file" in errors[NAMES[2]][-1].message


@pytest.mark.parametrize("length", [4, 29, 35])
def test_a_zip_that_ends_in_its_first_header_says_so(tmp_path: Path, length: int) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(streamed=False)[:length])
    messages, errors = read(path)
    assert not messages
    assert errors[str(path)][0].message == f"the zip is cut off after {length} bytes, within its first file"


def test_a_zip_without_a_byte_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "export.zip").touch()
    messages, errors = read(tmp_path / "export.zip")
    assert not messages
    assert "empty (0 bytes)" in errors[str(tmp_path / "export.zip")][0].message
