"""The files behind what is forgotten: those that are named as still saying it, and those that a path stands for."""

from __future__ import annotations

import errno
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound
from appliance.memory.erasure_files import file_with_text
from appliance.types import ErasurePreview

pytestmark = pytest.mark.usefixtures("every_field_index")

HEADER = "[12/03/2023, 21:05:11]"


def chat(name: str, *texts: str) -> str:
    return "".join(f"{HEADER} {name}: {text}\n" for text in texts)


@pytest.fixture
def exports(memory: Appliance, tmp_path: Path) -> Path:
    """A folder that was imported, with zips and chats in it, beside others whose paths begin like theirs."""
    folder = tmp_path / "exports"
    (folder / "paper").mkdir(parents=True)
    members = {
        "WhatsApp Chat - Thomas Vidal.zip": {
            "_chat.txt": chat("Thomas Vidal", "the password is Benhamou"),
            "00000012-PHOTO.jpg": "no picture",
        },
        "both.zip": {
            "one/WhatsApp Chat with Ana.txt": chat("Ana", "a first garden"),
            "two/WhatsApp Chat with Ben.txt": chat("Ben", "a second garden"),
        },
    }
    for name, files in members.items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            for member, text in files.items():
                archive.writestr(member, text)
    (folder / "paper" / "WhatsApp Chat with Carla.txt").write_text(chat("Carla", "a third garden"))
    beside = tmp_path / "exports2"
    beside.mkdir()
    (beside / "WhatsApp Chat with Dora.txt").write_text(chat("Dora", "a fourth garden"))
    (folder / "both.zip2.txt").write_text(chat("Eva", "a fifth garden"))
    assert memory.ingest([folder, beside]).complete
    return folder


def texts(memory: Appliance, preview: ErasurePreview) -> set[str]:
    return {message.text for message in memory.overview.messages([f"m{key}" for key in preview.messages])}


def test_the_zip_of_a_chat_is_named_as_one_that_may_still_say_it(memory: Appliance, exports: Path) -> None:
    zipped = exports / "WhatsApp Chat - Thomas Vidal.zip"
    preview = memory.erasure.preview(query="Benhamou")
    assert preview.files == (str(zipped),), "the zip, and no path in it, of which there is no file"
    several = memory.erasure.preview(query="garden")
    assert str(exports / "both.zip") in several.files and len(several.files) == 4, "once, and with its folders left out"
    zipped.unlink()
    assert memory.erasure.preview(query="Benhamou").files == ()


def test_a_zip_stands_for_all_files_in_it(memory: Appliance, exports: Path) -> None:
    both = exports / "both.zip"
    preview = memory.erasure.preview(source=str(both))
    assert texts(memory, preview) == {"a first garden", "a second garden"}, "and not for a file whose name begins so"
    inside = tuple(f"{both}/{name}" for name in ("one/WhatsApp Chat with Ana.txt", "two/WhatsApp Chat with Ben.txt"))
    assert (preview.source_files, preview.files) == (inside, (str(both),))
    one = memory.erasure.preview(source=inside[0])
    assert (texts(memory, one), one.source_files) == ({"a first garden"}, ())
    folder = memory.erasure.preview(source=f"{both}/two/")
    assert (texts(memory, folder), folder.source_files) == ({"a second garden"}, inside[1:])
    assert memory.erasure.preview(source=str(both), query="Benhamou").is_empty
    memory.erasure.forget(preview)
    with pytest.raises(NotFound, match="No message came from"):
        memory.erasure.preview(source=str(both))


def test_a_folder_stands_for_all_files_and_zips_in_it(
    memory: Appliance, exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {"the password is Benhamou", "a first garden", "a second garden", "a third garden", "a fifth garden"}
    preview = memory.erasure.preview(source=str(exports))
    assert texts(memory, preview) == inside, "and not for a folder whose name begins so"
    assert len(preview.source_files) == 5 and len(preview.files) == 4
    narrowed = memory.erasure.preview(source=str(exports), query="second garden")
    assert len(narrowed.source_files) == 1, "only files of what is erased"
    assert len(memory.erasure.preview(source=os.sep).messages) == 6
    monkeypatch.chdir(exports.parent)
    assert memory.erasure.preview(source="exports").messages == preview.messages
    monkeypatch.chdir(exports)
    assert memory.erasure.preview(source=".").messages == preview.messages
    (exports / "whatsapp").mkdir()
    assert len(memory.erasure.preview(source="whatsapp").messages) == 6, "the format, and not a folder of its name"


def test_a_file_whose_messages_were_known_is_said_to_be_one(memory: Appliance, exports: Path) -> None:
    copy = exports.parent / "WhatsApp Chat with Carla.zip"
    with zipfile.ZipFile(copy, "w") as archive:
        archive.writestr("_chat.txt", chat("Carla", "a third garden"))
    assert memory.ingest(copy).total("duplicates") == 1
    with pytest.raises(NotFound, match="were known from another file"):
        memory.erasure.preview(source=str(copy))
    with pytest.raises(NotFound, match="No message came from"):
        memory.erasure.preview(source=str(copy), user_id="somebody else")
    preview = memory.erasure.preview(query="a third garden")
    assert set(preview.files) == {str(copy), str(exports / "paper" / "WhatsApp Chat with Carla.txt")}


def test_the_address_books_in_a_folder_are_forgotten_with_it_and_named(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "cards"
    folder.mkdir()
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:Thomas Vidal\nTEL:+33123456789\nEND:VCARD\n"
    with zipfile.ZipFile(folder / "book.zip", "w") as archive:
        archive.writestr("contacts.vcf", card)
    assert memory.ingest(folder).complete
    preview = memory.erasure.preview(source=str(folder))
    assert len(preview.contacts) == 1 and preview.files == (str(folder / "book.zip"),)
    assert preview.source_files == (f"{folder / 'book.zip'}/contacts.vcf",)
    memory.erasure.forget(preview)
    assert not memory.people.list(everyone=True).people


def test_a_path_leads_into_the_file_that_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped = tmp_path / "outer.zip"
    zipped.write_bytes(b"PK")
    for inside in ("", "/_chat.txt", "/a/b/_chat.txt", "/inner.zip/a/_chat.txt", "/../_chat.txt"):
        assert file_with_text(f"{zipped}{inside}") == str(zipped)
    (tmp_path / "empty.zip").touch()
    (tmp_path / "dead").symlink_to(tmp_path / "nothing")
    for gone in ("empty.zip/_chat.txt", "gone.zip/_chat.txt", "gone/gone.txt", "dead", "."):
        assert file_with_text(f"{tmp_path}/{gone}") is None
    sealed = tmp_path / "sealed"
    look = os.stat

    def refuse(path: Any, *arguments: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(f"{sealed}/"):  # as for anyone but root
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, *arguments, **more)

    monkeypatch.setattr(os, "stat", refuse)
    assert file_with_text(f"{sealed}/a/x.zip/b/_chat.txt") == f"{sealed}/a/x.zip"
    assert file_with_text(f"{sealed}/a/chat.txt") == f"{sealed}/a/chat.txt"
