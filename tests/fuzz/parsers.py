"""Coverage-guided fuzzing of the parsers, by atheris, which the development environment does not have.

    pip install atheris
    python -m tests.fuzz.parsers FORMAT [FOLDER] [-max_total_time=60] [-max_len=20000]

FOLDER is the corpus; it begins with the tests' long document of the format, cut short. What follows goes to
libFuzzer. A parser may say what it likes of any bytes, but it must not raise, must not take long, and must keep
what everybody relies on: a session before its messages, text that can be stored, ids that are unique within a
session. What is found becomes a test.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["appliance.formats"]):
    from appliance.formats import detect, parser_of
    from appliance.formats.base import Document

from appliance.errors import InputError
from appliance.types import MessageRecord, SessionRecord

sys.path.insert(0, str(Path(__file__).parents[1] / "parse"))

SECONDS = 5.0
SEED_BYTES = 3_000


def check(name: str, data: bytes) -> None:
    """Read some bytes as a format, and hold the parser to what everybody relies on."""
    document = Document("upload", len(data), lambda: io.BytesIO(data))
    began = time.process_time()
    sessions: set[str] = set()
    ids: set[tuple[str, str]] = set()
    for record in parser_of(name).parse(document):
        if isinstance(record, SessionRecord):
            sessions.add(record.key)
            # A file may hold a conversation twice; within each its ids are unique.
            ids = {(session, id) for session, id in ids if session != record.key}
        elif isinstance(record, MessageRecord):
            assert record.session in sessions, "a message before its session"
            record.text.encode()
            if record.external_id is not None and name != "native":
                assert (record.session, record.external_id) not in ids, "an id twice"
                ids.add((record.session, record.external_id))
    assert time.process_time() - began < SECONDS, "it takes long"
    with contextlib.suppress(InputError):
        detect(document)


def main() -> None:
    name, *rest = sys.argv[1:]
    folder = Path(rest.pop(0)) if rest and not rest[0].startswith("-") else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    from long_documents import LONG

    if name in LONG:
        (folder / "seed").write_bytes(LONG[name][:SEED_BYTES])
    atheris.Setup([sys.argv[0], *rest, str(folder)], lambda data: check(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
