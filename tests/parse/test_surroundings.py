"""What a parser finds beside its document, and databases."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from appliance.errors import InputError
from appliance.formats import read_head, sqlite
from appliance.formats.base import Document
from appliance.ingest.sources import expand


def read(document: Document | None) -> bytes | None:
    if document is None:
        return None
    with document.open() as stream:
        return stream.read()


def documents(path: Path) -> dict[str, Document]:
    found = {}
    for item in expand([path]):
        assert isinstance(item, Document)
        found[item.name.removeprefix(str(path) + "/")] = item
    return found


def tree(folder: Path) -> Path:
    (folder / "export" / "general").mkdir(parents=True)
    (folder / "export" / "users.json").write_text("[1]")
    (folder / "export" / "general" / "day.json").write_text("[2]")
    (folder / "secret.json").write_text("[3]")
    return folder / "export"


def test_a_document_finds_what_lies_beside_it_in_the_folder(tmp_path: Path) -> None:
    export = tree(tmp_path)
    day = documents(export)["general/day.json"]
    assert read(day.context.find("../users.json")) == b"[1]"
    assert day.context.find("../gone.json") is None
    assert day.context.find("../../secret.json") is None, "nothing outside of what was named"
    assert day.context.find(str(tmp_path / "secret.json")) is None
    assert day.path == export / "general" / "day.json"


@pytest.mark.parametrize("packed", [False, True])
def test_a_document_finds_a_file_by_a_pattern(tmp_path: Path, packed: bool) -> None:
    for name in ("groups/dm/messages.json", "users/b/info.json", "users/c/info.json", "users/a/other.json"):
        file = tmp_path / "export" / name
        file.parent.mkdir(parents=True)
        file.write_text(f'["{name}"]')
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "info.json").write_text("[]")
    path = tmp_path / "export"
    if packed:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted((tmp_path / "export").rglob("*.json")):
                archive.write(file, str(file.relative_to(tmp_path / "export")))
    found = documents(path)["groups/dm/messages.json"].context.find
    assert read(found("../../users/*/info.json")) == b'["users/b/info.json"]'
    assert found("../../users/*/gone.json") is None
    assert found("../../*/info.json") is None
    assert found("../../../*/info.json") is None, "nothing outside of what was named"


def test_a_member_finds_what_lies_beside_it_in_the_zip(tmp_path: Path) -> None:
    export = tree(tmp_path)
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(export.rglob("*.json")):
            archive.write(file, "top/" + str(file.relative_to(export)))
    found = documents(path)
    day = found["top/general/day.json"]
    assert read(day.context.find("../users.json")) == b"[1]"
    assert day.context.find("../../../secret.json") is None and day.path is None
    assert (
        day.context.get_or_create("users", lambda: 1)
        == found["top/users.json"].context.get_or_create("users", lambda: 2)
        == 1
    )


def test_the_memory_of_two_folders_is_apart(tmp_path: Path) -> None:
    (first,) = documents(tree(tmp_path / "a") / "general").values()
    (second,) = documents(tree(tmp_path / "b") / "general").values()
    assert [d.context.get_or_create("users", lambda n=n: n) for n, d in enumerate((first, second))] == [0, 1]


def database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE chat (id, title)")
        connection.execute("INSERT INTO chat VALUES (1, 'Ferry')")
        connection.commit()
    return path


def test_a_database_is_read_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    path = database(tmp_path / "webui.db")
    before = (sorted(tmp_path.iterdir()), path.read_bytes())
    (document,) = documents(path).values()
    assert read_head(document).tables == {"chat"}
    with sqlite.open_readonly(document) as connection:
        assert connection.execute("SELECT title FROM chat").fetchall() == [("Ferry",)]
    assert (sorted(tmp_path.iterdir()), path.read_bytes()) == before


def test_the_last_writes_of_a_running_program_are_read_too(tmp_path: Path) -> None:
    path = database(tmp_path / "chat.db")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO chat VALUES (2, 'Late')")
        writer.commit()
        # As a copy of the two files finds them: the program that wrote them is elsewhere.
        copied = tmp_path / "copied"
        copied.mkdir()
        for name in ("chat.db", "chat.db-wal"):
            (copied / name).write_bytes((tmp_path / name).read_bytes())
    document = next(iter(documents(copied / "chat.db").values()))
    before = {file.name: file.read_bytes() for file in copied.iterdir()}
    with sqlite.open_readonly(document) as connection:
        assert len(connection.execute("SELECT * FROM chat").fetchall()) == 2
    assert {file.name: file.read_bytes() for file in copied.iterdir()} == before


def test_a_database_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(database(tmp_path / "webui.db"), "webui.db")
    (document,) = documents(path).values()
    assert read_head(document).tables == {"chat"}


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(sqlite.MAGIC + b"\xff" * 5000)
    (document,) = documents(path).values()
    with pytest.raises(InputError, match="the database is damaged"):
        read_head(document)
