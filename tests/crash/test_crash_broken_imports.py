"""An import that is killed in the middle of a file says so when the home is opened again, and goes on."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from crash_runs import chat, content, open_memory, run, write

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

MESSAGES = 400
"""Of each file: two batches."""

OPENED_AND_ONE_BATCH = (2, 0.0)
"""The moment of the kill, after two acknowledgements. What runs waits for it there."""


@pytest.mark.timeout(300)
def test_killed_in_the_middle_of_a_file(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.jsonl", chat(name, MESSAGES)) for name in ("ana", "ben")]
    run("large", tmp_path / "whole", files)
    with open_memory(tmp_path / "whole") as memory:
        expected = content(memory)
        assert memory.overview.unfinished_imports() == []
    home = tmp_path / "killed"
    said = run("held", home, files, OPENED_AND_ONE_BATCH)
    assert said.killed and [*said.files] == [str(files[0])]
    with open_memory(home) as memory:
        (read,) = memory.overview.imported_files()
        assert 0 < read.messages < MESSAGES and not read.complete
        assert [one.path for one in memory.overview.unfinished_imports()] == [str(file) for file in files]
        assert any("2 imports were broken off" in trouble for trouble in memory.status()["troubles"])
        for one in memory.overview.unfinished_imports():
            memory.ingest(one.path, **one.options)
        assert memory.overview.unfinished_imports() == []
        assert [(one.messages, one.complete) for one in memory.overview.imported_files()] == [(MESSAGES, True)] * 2
        assert set(Counter(line["message_id"] for line in memory.export()).values()) == {1}, "each message once"
        assert content(memory) == expected
