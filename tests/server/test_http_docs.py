"""docs/http.md: its examples work as they are printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.server.http.problems import STATUSES
from tests.http_calls import application, owner, running

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)

EXPORT = '{"session_id":"x","role":"user","content":"the otter sleeps"}\n'


def commands() -> Iterator[str]:
    """The examples, one curl each, without how they begin."""
    for block in BLOCKS[1:]:
        yield from filter(None, re.split(r"\n(?=curl )", block.strip()))


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_every_example_works_as_printed(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "export.jsonl").write_text(EXPORT)
    ran = 0
    with running(application(memory)) as url:
        token = owner(memory)["Authorization"]
        beginning = f"URL={url}\nAUTH='Authorization: {token}'\nJSON='Content-Type: application/json'\n"
        for command in commands():
            ended = subprocess.run(
                ["sh", "-eu", "-c", beginning + command.replace("curl -s", "curl -sS --fail-with-body")],
                cwd=tmp_path,
                env={**os.environ, "no_proxy": "*"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
            if "/v1/events" in command:
                assert ended.stdout.startswith(": listening")
            else:
                json.loads(ended.stdout)
            ran += 1
    assert ran > 30


def test_the_page_names_every_route(memory: Appliance) -> None:
    named = re.sub(r"/(?:m1|f1|e1|house)\b", "/{id}", PAGE).replace("…", "/v1/sessions/{id}")
    named = re.sub(r"/v1/core/persona?\b", "/v1/core/{label}", named)
    named = named.replace("/v1/sessions/{id}/clear", "/v1/sessions/{id}/clear ")
    for path in application(memory).openapi()["paths"]:
        assert path in named or path in ("/health", "/health/ready"), path


def test_the_page_names_every_status() -> None:
    for status in STATUSES.values():
        assert str(int(status)) in PAGE or status == 502, status
