"""The TypeScript client: generated from the OpenAPI document as it is, and used by Node against a daemon."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from daemons import ROOT, TALK, running

from tests.waits import PATIENCE

GENERATOR = ROOT / "packaging" / "typescript_client" / "generate.py"
COMMAND = "python packaging/typescript_client/generate.py"


def test_it_is_what_the_openapi_document_says() -> None:
    for path, text in runpy.run_path(str(GENERATOR))["main"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: {COMMAND}"


def test_every_operation_has_a_name_of_its_own() -> None:
    generator = runpy.run_path(str(GENERATOR))
    document = json.loads(generator["DOCUMENT"].read_text(encoding="utf-8"))
    listed = generator["operations"](document)
    names = [(one.group, one.name) for one in listed]
    groups = {group for group, _ in names}
    assert len(set(names)) == len(names) == sum(map(len, document["paths"].values()))
    assert not groups & {name for group, name in names if not group}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not there")
def test_node_uses_it_against_a_daemon(home: Path, tmp_path: Path) -> None:
    export = tmp_path / "talk.jsonl"
    export.write_text("".join(json.dumps(line) + "\n" for line in TALK), encoding="utf-8")
    with running(home) as daemon:
        ended = subprocess.run(
            ["node", str(Path(__file__).with_name("typescript_client.mjs"))], capture_output=True, text=True,
            timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL,
            env={"PATH": "", "APPLIANCE_URL": daemon.url, "APPLIANCE_TOKEN": daemon.token, "EXPORT": str(export)},
            executable=shutil.which("node"),
        )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {"messages": 10}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tsc") is None, reason="the TypeScript compiler is not there")
def test_its_types_are_right() -> None:
    compiled = subprocess.run(
        [shutil.which("tsc") or "", "-p", str(ROOT / "clients" / "typescript")], capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert compiled.returncode == 0, compiled.stdout
