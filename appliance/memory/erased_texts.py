"""The texts of an erasure, by which its traces are recognised. They are read before they go, and kept in a folder of
the home until they have been searched for, so that an interrupted erasure can be finished with a search."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path

from appliance import paths
from appliance.lazy_dataclasses import dataclass
from appliance.store import messages
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys

MAX_CHARACTERS = 64_000_000
"""Characters of texts that are kept and sought. Of larger erasures, every second, third … message is."""


@dataclass(frozen=True, slots=True)
class ErasedTexts:
    """Texts of an erasure, which took away ``count`` of them in all, and the ``names`` that went with them: of files,
    conversations and people."""

    texts: Sequence[str]
    count: int
    names: Sequence[str] = ()


def read(db: sqlite3.Connection, keys: Sequence[int], characters: int) -> ErasedTexts:
    """Return the texts of messages that are about to go, with those of their earlier revisions. The messages have so
    many ``characters``."""
    step = -(-characters // MAX_CHARACTERS) or 1
    query = f"SELECT count(*) FROM revision WHERE message_id IN {JSON_KEYS_SQL}"
    return ErasedTexts(
        [*messages.texts_with_revisions(db, keys[::step])], len(keys) + fetch_int(db, query, (json_keys(keys),))
    )


def read_names(db: sqlite3.Connection, keys: Sequence[int], sessions: Sequence[int]) -> set[str]:
    """Return the authors of messages and the titles and external ids of sessions that are about to go."""
    encoded_keys, encoded_sessions = json_keys(keys), json_keys(sessions)
    rows = db.execute(
        f"SELECT CAST(author AS TEXT) FROM message WHERE id IN {JSON_KEYS_SQL} UNION"
        f" SELECT author FROM revision WHERE message_id IN {JSON_KEYS_SQL} UNION"
        f" SELECT title FROM session WHERE id IN {JSON_KEYS_SQL} UNION"
        f" SELECT external_id FROM session WHERE id IN {JSON_KEYS_SQL}",
        (encoded_keys, encoded_keys, encoded_sessions, encoded_sessions),
    )
    return {name for (name,) in rows if name}


def keep(folder: Path, key: int, erased: ErasedTexts) -> None:
    """Keep the texts of the receipt ``key`` until it is closed. If there is no room for them, they are not kept:
    forgetting comes first, and a receipt can say that nothing was searched."""
    with suppress(OSError):
        folder.mkdir(mode=paths.FOLDER_MODE, exist_ok=True)
        content = json.dumps(asdict(erased)).encode()
        paths.write_file_atomically(_path(folder, key), b"%s\n%s" % (_digest(content), content))


def kept(folder: Path, key: int) -> ErasedTexts | None:
    """Return the texts of the receipt ``key``; None if they were not kept, or are not those any more."""
    try:
        digest, _, content = _path(folder, key).read_bytes().partition(b"\n")
    except OSError:
        return None
    # A search for other texts would find nothing, and its receipt would not be true.
    return ErasedTexts(**json.loads(content)) if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).hexdigest().encode()


def files(folder: Path) -> set[Path]:
    """Return the files with kept texts, also half-written ones."""
    return set(paths.files(folder)) if folder.is_dir() else set()


def discard(folder: Path, unneeded: Iterable[Path]) -> None:
    """Overwrite and delete the texts of an erasure that did not happen, and the folder if it is empty then."""
    with suppress(OSError):
        for path in unneeded:
            _overwrite(path)
        folder.rmdir()


def discard_all(folder: Path) -> None:
    """Overwrite and delete the kept texts of all receipts."""
    if not folder.is_dir():
        return
    for path in paths.files(folder):
        _overwrite(path)
    shutil.rmtree(folder)
    paths.sync_folder(folder.parent)


def _overwrite(path: Path) -> None:
    """Overwrite a file and delete it."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(descriptor, bytes(os.fstat(descriptor).st_size), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()


def _path(folder: Path, key: int) -> Path:
    return folder / f"e{key}.json"
