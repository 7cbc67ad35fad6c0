"""What the OpenAPI document promises holds: schemathesis asks whatever it allows, and what it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from appliance import Appliance
from appliance.server.openai_proxy import errors
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.http_calls import application, owner, running
from tests.server.proxy_parts import model
from tests.summary_talk import chat, write

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"]), pytest.mark.slow]

TOOL = Path(sys.executable).with_name("schemathesis")
HERE = Path(__file__).parent

SHORT = ("--phases", "examples,fuzzing", "--max-examples", "2", "--seed", "1")
LONG = ("--max-examples", "60")
REJECTED = """
[[operations]]
include-path-regex = "^/v1/facts/"
[operations.checks]
ensure_resource_availability.enabled = false

[[operations]]
include-path = "/v1/import"
[operations.checks]
positive_data_acceptance.enabled = false
"""
"""What a person added by hand and rejects is gone; the tool expects that of a DELETE only. And any bytes may be sent as
an import, of which nothing may be readable: that is 422."""

PATIENCE = 900
"""Seconds that the long run may take."""


def campaign(home: Path, folder: Path, *how: str) -> None:
    """Let schemathesis loose on a real server with all its checks, and see that it finds nothing."""
    with ExitStack() as stack:
        spoken = stack.enter_context(model(lambda asked: "The crane is repaired."))
        home.mkdir()
        (home / "config.toml").write_text(f'[llm]\nbase_url = "{spoken.base_url}"\nmodel = "tiny"\n')
        memory = stack.enter_context(Appliance.open(home, worker=False, embedder=HashEmbedder()))
        memory.ingest(write(folder / "harbour.jsonl", chat("harbour", 24)))
        while engine_of(memory).summaries.summarize_next_due(lambda: True):
            pass
        with running(application(memory)) as url:
            document = httpx.get(f"{url}/openapi.json", headers=owner(memory)).json()
            (folder / "openapi.json").write_text(json.dumps(document))
            token = owner(memory)["Authorization"].removeprefix("Bearer ")
            (folder / "schemathesis.toml").write_text(f'[auth.openapi.token]\nbearer = "{token}"\n{REJECTED}')
            ended = subprocess.run(
                [str(TOOL), "run", "openapi.json", "--url", url, "--no-color", "--generation-database", "none",
                 "--suppress-health-check", "all", *how],
                cwd=folder,
                env={**os.environ, "SCHEMATHESIS_HOOKS": "http_hooks", "PYTHONPATH": str(HERE)},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )  # fmt: skip
        assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2_000:]
        assert f"Tested: {sum(map(len, document['paths'].values()))}" in ended.stdout
        assert not memory.verify().problems


def test_a_few_requests_of_each_kind_are_answered_as_the_document_says(home: Path, tmp_path: Path) -> None:
    campaign(home, tmp_path, *SHORT)


@pytest.mark.campaign
@pytest.mark.timeout(1200)
def test_whatever_the_document_allows_is_answered_as_it_says(home: Path, tmp_path: Path) -> None:
    campaign(home, tmp_path, *LONG)


def test_every_operation_is_documented(memory: Appliance) -> None:
    document = application(memory).openapi()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation.get("description") and operation.get("summary") and operation.get("tags"), where
            for status, response in operation["responses"].items():
                assert response["description"], where
                if status >= "400":
                    is_of_openai = path.startswith(errors.PATHS)
                    assert ("application/json" if is_of_openai else "application/problem+json") in response[
                        "content"
                    ], where
            if body := operation.get("requestBody"):
                (content,) = body["content"].values()
                schema = content["schema"]
                if "$ref" in schema:
                    assert document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["examples"], where


def test_the_document_names_the_profiles_that_there_are(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[profiles.mine]\nlike = "evidence"\n')
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        schemas = application(memory).openapi()["components"]["schemas"]
    named = schemas["SearchBody"]["properties"]["profile"]["anyOf"][0]["enum"]
    assert {"evidence", "balanced", "mine"} <= set(named)
