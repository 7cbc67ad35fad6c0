"""Coverage-guided fuzzing of the parsers, by atheris, which the development environment does not have.

    pip install atheris
    python -m tests.fuzz.guided FORMAT [FOLDER] [-max_total_time=60] [-max_len=20000]

FOLDER is the corpus; it begins with the tests' long document of the format, cut short. What follows goes to
libFuzzer. What is found becomes a test.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["appliance.formats"]):
    from appliance.formats import detect

from appliance.errors import InputError
from tests.fuzz import reading

sys.path.insert(0, str(Path(__file__).parents[1] / "parse"))

SEED_BYTES = 3_000


def check(name: str, data: bytes) -> None:
    """Read some bytes as a format, and detect their own."""
    reading.forced(data, "upload", name)
    with contextlib.suppress(InputError):
        detect(reading.document_of(data, "upload"))


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
