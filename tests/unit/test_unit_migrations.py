"""A store of an earlier schema is brought up to date, all or nothing, and keeps what it holds; others are refused."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import StoreError, StoreVersion
from appliance.store import migrations, text_frames
from appliance.store.chunks import SUMMARY_POINTS
from appliance.store.database import Database
from appliance.store.neighbours import NEIGHBOURS
from appliance_models import HashEmbedder

STORES = Path(__file__).parent.parent / "stores"
"""What ``make.py`` there made: ``first`` with the first schema, ``development`` with the thirteen steps before it."""

TURNS = [
    "My sister Clara lives in Lisbon, close to the lighthouse.",
    "Lisbon is lovely. Is the lighthouse open to visitors?",
    "Only on Sundays. My deadline is March 15th.",
    "The ferry leaves at noon.",
]
"""The messages of both."""

SECOND = (
    "ALTER TABLE message ADD COLUMN language TEXT",
    "CREATE TABLE migrated (number INTEGER PRIMARY KEY)",
    "INSERT INTO migrated DEFAULT VALUES",
    "UPDATE message SET language = 'en'",
)


RELEASED = migrations.MIGRATIONS
LATEST = migrations.FIRST + len(RELEASED)
NAMES = [f"{number:04}" for number in range(migrations.FIRST, LATEST + 1)]
"""The migrations of this program, the number that they lead to, and what sqlite-utils calls them."""

NEXT = f"{LATEST + 1:04}"
"""The name of the migration that ``with_second`` adds."""


def put(name: str, home: Path) -> Path:
    """The database of a home that holds one of the stores."""
    home.mkdir(mode=0o700)
    path = home / "recall.db"
    path.write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    return path


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def schema(path: Path) -> dict[tuple[str, str], str | None]:
    connection = connect(path)
    found = {(kind, name): sql for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema")}
    connection.close()
    return found


def version(path: Path) -> tuple[int, list[str]]:
    """What the database says itself, and what sqlite-utils notes of it."""
    connection = connect(path)
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    applied = [name for (name,) in connection.execute("SELECT name FROM _sqlite_migrations ORDER BY id")]
    connection.close()
    return number, applied


@pytest.fixture
def with_second(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes this program one that knows one more migration."""

    def know(*statements: str) -> None:
        monkeypatch.setattr(migrations, "MIGRATIONS", (*RELEASED, statements or SECOND))

    return know


@pytest.mark.parametrize("name", ["first", "before_authors", "before_people", "before_noting", "development"])
@pytest.mark.parametrize("migrated", [False, True])
def test_an_earlier_store_opens_whole_and_goes_on(
    home: Path, tmp_path: Path, with_second: Callable[..., None], name: str, migrated: bool
) -> None:
    path = put(name, home)
    if migrated:
        with_second()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert {line["content"] for line in memory.export()} == set(TURNS)
        assert not memory.verify().problems
        assert memory.search("lighthouse Clara", mode="lexical")[0].text == TURNS[0]
        assert memory.search(TURNS[3], mode="dense", user_id="ana")[0].text == TURNS[3]
        assert [one.title for one in memory.sessions.list()] == ["Lighthouses"]
        export = tmp_path / "more.jsonl"
        lines = [
            {"session_id": "s1", "message_id": "s1-2", "role": "user", "content": "Only on Mondays."},
            {"session_id": "s1", "message_id": "s1-3", "role": "assistant", "content": "Noted."},
        ]
        export.write_text("".join(json.dumps(line) + "\n" for line in lines))
        report = memory.ingest(export)
        assert (report.total("updated"), report.total("new")) == (1, 1)
        memory.sessions.get("s1").delete()
        assert not memory.verify().problems
    assert version(path)[0] == LATEST + migrated


def test_attachments_of_an_earlier_store_are_kept_and_their_texts_are_looked_for(home: Path) -> None:
    put("before_documents", home)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        (one,) = memory.attachments.list()
        assert (one.name, one.size, one.pages, one.kept) == ("tides.txt", 19, 0, False)
        memory.run_pending_jobs()
        # The fixture's export is not on this machine.
        assert memory.status()["counts"]["documents"] == 0
        assert not memory.verify().problems
    with closing(sqlite3.connect(home / "recall.db")) as database:
        assert database.execute("SELECT text_state FROM attachment").fetchall() == [("missing",)]


@pytest.mark.parametrize("name", ["first", "development"])
def test_an_earlier_store_where_nothing_can_be_written_says_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = put(name, home)
    before = path.read_bytes()
    monkeypatch.setattr("appliance.paths.is_read_only", lambda home: True)
    with pytest.raises(StoreVersion, match=rf"older version .*schema {migrations.FIRST}; .*{LATEST}") as refused:
        Appliance.open(home, worker=False, embedder=HashEmbedder())
    assert "Open it once where it can be written" in (refused.value.hint or "")
    assert path.read_bytes() == before and not list(home.glob("recall.db-*"))


def test_the_first_schema_is_not_edited(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of schema.sql would reach new homes only: others get it by a migration."""
    monkeypatch.setattr(migrations, "MIGRATIONS", ())
    Database(tmp_path / "new.db").close()
    assert schema(tmp_path / "new.db") == schema(put("first", home))


def test_the_schema_and_the_program_have_the_same_numbers() -> None:
    statements = list(migrations.schema())
    (window,) = [one for one in statements if "CREATE VIEW message_window" in one]
    assert window.count(f"LIMIT {NEIGHBOURS}") == window.count("LIMIT") == 2
    assert sum(f"{SUMMARY_POINTS} + OLD.id" in one for one in statements) == 1


@pytest.mark.parametrize("name", ["first", "development"])
def test_a_migration_is_applied_once(home: Path, with_second: Callable[..., None], name: str) -> None:
    path = put(name, home)
    before = version(path)[1]
    with_second()
    for _ in range(3):
        Database(path).close()
    connection = connect(path)
    assert connection.execute("SELECT count(*) FROM migrated").fetchone() == (1,)
    assert connection.execute("SELECT DISTINCT language FROM message").fetchall() == [("en",)]
    connection.close()
    assert version(path) == (LATEST + 1, [*before, *NAMES[1:], NEXT])


def test_of_several_migrations_all_are_applied_or_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("first", home)
    before = schema(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*RELEASED, SECOND, ("INSERT INTO nowhere VALUES (1)",)))
    with pytest.raises(StoreError, match="nowhere"):
        Database(path)
    assert schema(path) == before and version(path) == (migrations.FIRST, ["0013"])


def test_a_new_home_gets_all_migrations(tmp_path: Path, with_second: Callable[..., None]) -> None:
    with_second()
    path = tmp_path / "recall.db"
    Database(path).close()
    assert version(path) == (LATEST + 1, [*NAMES, NEXT])
    assert ("table", "migrated") in schema(path)


def test_a_migration_that_fails_leaves_the_store_as_it_was(home: Path, with_second: Callable[..., None]) -> None:
    path = put("first", home)
    before = schema(path)
    with_second(*SECOND, "INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreError, match="nowhere"):
        Database(path)
    assert schema(path) == before and version(path) == (migrations.FIRST, ["0013"])
    with_second()
    Database(path).close()
    assert version(path) == (LATEST + 1, [*NAMES, NEXT])


def test_a_new_store_is_what_its_migrations_make_of_it(tmp_path: Path) -> None:
    replayed = sqlite3.connect(tmp_path / "replayed.db", isolation_level=None)
    migrations._apply_missing(replayed)
    replayed.close()
    for name in ("first.db", "second.db"):
        Database(tmp_path / name).close()
        assert schema(tmp_path / name) == schema(tmp_path / "replayed.db")
        assert rows(tmp_path / name) == rows(tmp_path / "replayed.db")
        assert version(tmp_path / name) == version(tmp_path / "replayed.db") == (LATEST, NAMES)
        assert (tmp_path / name).read_bytes()[18:20] == b"\x02\x02", "in WAL mode"


def rows(path: Path) -> dict[str, object]:
    """The columns and rows of all tables, but when the migrations were applied."""
    connection = connect(path)
    text_frames.register(connection)
    tables = connection.execute("SELECT name FROM pragma_table_list WHERE type IN ('table', 'shadow')").fetchall()
    found = {
        name: (
            connection.execute(f"PRAGMA table_xinfo({name})").fetchall(),
            connection.execute(f"SELECT * FROM {name}").fetchall() if not name.startswith(("sqlite", "_sqlite")) else 0,
        )
        for (name,) in tables
    }
    connection.close()
    return found


def test_a_new_store_that_can_t_be_copied_is_made_by_its_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(migrations: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(migrations, "_new_store", fail)
    Database(tmp_path / "new.db").close()
    assert version(tmp_path / "new.db") == (LATEST, NAMES)


KILLED = """
import os, signal, sqlite3, sys
from appliance.store import migrations

path, at, *second = sys.argv[1:]
migrations.MIGRATIONS += (tuple(second),) if second else ()
connection = sqlite3.connect(path, isolation_level=None)
connection.create_function("searchable", 1, str, deterministic=True)
connection.create_function("unpack", 1, str, deterministic=True)
connection.execute("PRAGMA journal_mode = WAL")
done = 0


def count(statement):
    global done
    done += statement.lstrip().upper().startswith(("CREATE", "ALTER", "INSERT", "UPDATE", "--"))
    if done > int(at):
        os.kill(os.getpid(), signal.SIGKILL)


connection.set_trace_callback(count)
migrations.migrate(connection, path)
"""
"""Migrates, and is killed after so many statements that change something."""


def kill(path: Path, after: int, *second: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(after), *second], env=environment)
    assert ended.returncode == -signal.SIGKILL


def test_a_kill_in_the_middle_of_a_migration_leaves_the_store_as_it_was(
    home: Path, with_second: Callable[..., None]
) -> None:
    path = put("first", home)
    before = schema(path)
    for after in (1, 3, 4):
        kill(path, after, *SECOND)
        assert schema(path) == before and version(path) == (migrations.FIRST, ["0013"])
    with_second()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert not memory.verify().problems
        assert len(list(memory.export())) == len(TURNS)
    assert version(path) == (LATEST + 1, [*NAMES, NEXT])


KILLED_MAKING = """
import resource, signal, sys
from pathlib import Path
from appliance.store.database import Database

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
Database(Path(sys.argv[1]))
"""
"""Makes a store, and is killed by the write that makes a file longer than so many bytes."""


def test_a_kill_while_a_home_is_made_leaves_one_that_opens(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    path = home / "recall.db"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    for length in (0, 5_000, 200_000, 380_000):
        ended = subprocess.run([sys.executable, "-c", KILLED_MAKING, str(path), str(length)], env=environment)
        assert ended.returncode == -signal.SIGXFSZ
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create().add("user", "hello")
        assert not memory.verify().problems
    Database(tmp_path / "new.db").close()
    assert schema(path) == schema(tmp_path / "new.db")


@pytest.mark.parametrize(
    ("number", "said"),
    [(LATEST + 1, "A newer"), (99, "A newer"), (12, "No released"), (1, "No released"), (0, "No released")],
)
def test_a_store_of_an_unknown_version_is_refused_and_left_alone(home: Path, number: int, said: str) -> None:
    path = put("first", home)
    connection = connect(path)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    before = {file.name: file.read_bytes() for file in home.iterdir()}
    with pytest.raises(StoreVersion, match=f"{said}.*schema {number}") as refused:
        Appliance.open(home, worker=False, embedder=HashEmbedder())
    assert str(path) in str(refused.value) and "Nothing was changed" in str(refused.value.hint)
    assert {file.name: file.read_bytes() for file in home.iterdir() if file.name in before} == before


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recall.db"
    connection = connect(path)
    connection.execute("CREATE TABLE message (id INTEGER)")
    connection.close()
    with pytest.raises(StoreVersion, match="No released version"):
        Database(path)
    assert list(schema(path)) == [("table", "message")]
