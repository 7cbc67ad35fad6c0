"""The surroundings in which golden files are made: the same on every machine and on every day.

The clock stands still, the terminal is 80 columns wide, the zone is UTC, no setting comes from outside, and tokens are
counted by the table that comes with the program.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

import appliance_models
from appliance import Appliance, timestamps
from appliance.cli.app import app
from appliance.demo import samples
from appliance.runtime import power
from tests.http_calls import application, calling, owner

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
"""A week after the last message of the samples, so that how recent a message is still counts."""

SAMPLES = samples()

COMMAND: Any = get_command(app)
"""The command line, built once: that takes longer than most commands."""

_FOLDERS = {str(SAMPLES[0].parents[1]): "<samples>"}

_NOT_FROZEN = {"took_ms", "seconds", "disk_bytes", "apparent_bytes", "memory", "latency", "pid"}
"""Keys of what no two runs have in common."""

DIGITS = 4


@contextmanager
def fixed(*, hashed: bool) -> Iterator[Path]:
    """Fixed surroundings; gives a home that does not exist yet and is gone at the end. ``hashed`` puts the embedder
    that hashes words in the place of the model, whose last digits are the processor's."""
    variables = {"COLUMNS": "80", "LINES": "24", "TZ": "UTC"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
    with (
        # Where the tests have their homes: in memory, the many small flushes of an index cost nothing.
        tempfile.TemporaryDirectory(prefix="golden-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder,
        mock.patch.dict(os.environ, {**kept, **variables}, clear=True),
        mock.patch.object(time, "time_ns", return_value=int(NOW.timestamp()) * 10**9),
        mock.patch.object(timestamps, "local_now", return_value=NOW),
        mock.patch.object(power, "read_power", power.Power),
    ):
        home = Path(folder) / "home"
        os.environ["APPLIANCE_HOME"] = str(home)
        os.environ["APPLIANCE_PROFILE"] = "laptop"
        time.tzset()
        try:
            if not hashed:
                yield home
                return
            with mock.patch.object(appliance_models, "load", return_value=embedder()):
                yield home
        finally:
            os.environ.pop("TZ", None)
            time.tzset()


def embedder() -> appliance_models.HashEmbedder:
    """Wide enough that words which have nothing in common seldom meet."""
    return appliance_models.HashEmbedder(dimension=256)


def run(*arguments: str) -> tuple[str, str]:
    """A command line that succeeds: its stdout and its stderr."""
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code: object = None
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr):
            COMMAND.main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    said, told = _text(stdout), _text(stderr)
    assert code == 0, (arguments, code, said, told)
    return said, told


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def document(*arguments: str) -> Any:
    """The JSON that a command line prints, normalised."""
    return normalised(json.loads(run(*arguments, "--json")[0]))


@contextmanager
def asking(memory: Appliance) -> Iterator[Callable[[str, Mapping[str, Any]], Any]]:
    """Posts a body to a path of the memory's HTTP service: its JSON, whose shapes are those of the command line."""
    with calling(application(memory), owner(memory)) as client:

        def ask(path: str, body: Mapping[str, Any]) -> Any:
            answer = client.post(path, json=body)
            assert answer.status_code == 200, (body, answer.text)
            return normalised(answer.json())

        yield ask


def normalised(value: Any) -> Any:
    """JSON without what differs from run to run; a text of several lines is a list of them, which is easier to read
    in a diff."""
    if isinstance(value, dict):
        return {
            without_folders(key): f"<{key}>" if key in _NOT_FROZEN else normalised(one) for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [normalised(one) for one in value]
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0  # no negative zero
    if isinstance(value, str):
        text = without_folders(value)
        return text.split("\n") if "\n" in text else text
    return value


def without_folders(text: str) -> str:
    """A text without the folders of this machine."""
    for folder, name in (*_FOLDERS.items(), (os.environ.get("APPLIANCE_HOME", ""), "<home>")):
        text = text.replace(folder, name) if folder else text
    return text


def written(value: Any) -> str:
    """JSON as it stands in a golden file."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
