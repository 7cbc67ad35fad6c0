"""Texts are found in files in every form in which a file may hold them."""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from appliance.store import file_search
from appliance.store.file_search import BLOCK_BYTES, TextFinder, data_bytes, find_in_file

SAID = 'der blaue Umschlag „unter"\nder dritten Stufe'
OTHER = "an umbrella that nobody left anywhere"


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat with somebody.json", data)
    return file.getvalue()


FORMS: dict[str, Callable[[str], bytes]] = {
    "utf-8": str.encode,
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: b"x" + text.encode("utf-16-be"),
    "json": lambda text: json.dumps(text, ensure_ascii=False).encode(),
    "escaped": lambda text: json.dumps(text).encode(),
    "zlib": lambda text: zlib.compress(text.encode()),
    "fast zlib": lambda text: zlib.compress(text.encode("utf-16-le"), 1),
    "gzip": lambda text: gzip.compress(text.encode()),
    "zstd": lambda text: zstandard.compress(text.encode()),
    "zip": lambda text: zipped(text.encode()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", [0, 1000, BLOCK_BYTES - 20, BLOCK_BYTES - 1, 3 * BLOCK_BYTES + 5])
def test_a_text_is_found_in_every_form(tmp_path: Path, form: str, before: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"." * before + FORMS[form](f"and then: {SAID}, they said") + b"." * 999)
    found, _ = find_in_file(path, TextFinder([SAID, OTHER]))
    assert found == {SAID}


def test_a_text_between_two_blocks_of_a_frame_is_found(tmp_path: Path) -> None:
    noise = os.urandom(BLOCK_BYTES - 20)
    path = tmp_path / "file"
    path.write_bytes(zstandard.compress(noise + SAID.encode() + noise) + gzip.compress(noise + OTHER.encode() + noise))
    assert find_in_file(path, TextFinder([SAID, OTHER])) == ({SAID, OTHER}, 2)


def test_what_only_begins_like_a_frame_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "file"
    starts = (b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\x78\x9c", b"PK\x03\x04" + bytes(4) + b"\x08\x00")
    path.write_bytes(b"".join(start + os.urandom(50) for start in starts) + zlib.compress(SAID.encode())[:-8])
    assert find_in_file(path, TextFinder([OTHER]))[0] == set()


def test_a_frame_that_holds_too_much_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_search, "MAX_FRAME_BYTES", 2 * BLOCK_BYTES)
    path = tmp_path / "file"
    for compress in (zstandard.compress, zlib.compress):
        path.write_bytes(compress(SAID.encode() + bytes(10 * BLOCK_BYTES)))
        assert find_in_file(path, TextFinder([SAID])) == ({SAID}, 0)


def test_holes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 29)
        file.write(SAID.encode())
    assert data_bytes(path) <= 1 << 16
    assert find_in_file(path, TextFinder([SAID]))[0] == {SAID}


def test_a_file_that_has_gone_holds_nothing(tmp_path: Path) -> None:
    assert data_bytes(tmp_path / "gone") == 0
    assert find_in_file(tmp_path / "gone", TextFinder([SAID])) == (set(), 0)
