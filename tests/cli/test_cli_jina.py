"""The Jina API from the command line: what is asked before texts are sent, and what is said when it does not answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runs import ROOT, Run, command, document, environment

from appliance import Appliance
from appliance.cli import sending
from appliance.types import ReindexForecast
from appliance_models import DEFAULT_MODEL
from tests import forked_programs
from tests.jina_server import KEY, Served, refusal, serving
from tests.waits import PATIENCE, until

MODEL = "jina:jina-embeddings-v3/32"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> Iterator[Served]:
    with serving() as served:
        monkeypatch.setenv("APPLIANCE_JINA_URL", served.url)
        monkeypatch.setenv("JINA_API_KEY", KEY)
        monkeypatch.setattr("appliance_models.jina_limits.FIRST_PAUSE_SECONDS", 0.0)
        yield served


def forecast(**more: object) -> ReindexForecast:
    base = {
        "texts": 61_234, "tokens": 4_123_000, "tokens_sent": 0, "token_cap": 0, "price": 0.0, "minutes": 41.2,
        "address": "https://api.jina.ai/v1",
    }  # fmt: skip
    return ReindexForecast(**{**base, **more})  # type: ignore[arg-type]


def test_a_forecast_in_words() -> None:
    assert sending.describe_sending(forecast()) == (
        "the text of all messages to https://api.jina.ai/v1: 61,234 texts, about 4.1 M tokens, at least 41 min by the"
        " limit of tokens a minute"
    )
    assert "about $0.08, " in sending.describe_sending(forecast(price=0.0824))
    assert sending.describe_sending(forecast(tokens=950, texts=1, price=0.00002, minutes=0.01)).endswith(
        "1 text, about 950 tokens, less than $0.01"
    )
    assert sending.format_tokens(12_345) == "12 k"


def test_a_rebuild_asks_first(filled: Path, run: Run, api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run("reindex", "--model", MODEL)
    assert refused.exit_code == 2 and not api.asked
    assert f"This would send the text of all messages to {api.url}: 10 texts, about" in refused.stderr
    assert "Confirm with --yes." in refused.stderr
    monkeypatch.setattr(sending.sys.stdin, "isatty", lambda: True, raising=False)
    done = run("reindex", "--model", MODEL, "--yes", "--json")
    assert done.exit_code == 0 and document(done)["model"]["name"] == MODEL
    assert "Sending the text of all messages" in done.stderr
    (network,) = [row.split(maxsplit=1)[1] for row in run("status").stdout.splitlines() if row.startswith("network")]
    here = f"none beyond this machine; on this machine: Jina API ({api.url})"
    assert network == f"{here}; {api.tokens:,} tokens sent to the Jina API"
    shape = document(run("status", "--json"))
    assert shape["network"] == [] and shape["loopback"] == [{"part": "Jina API", "address": api.url}]


@pytest.mark.slow
def test_a_rollback_that_sends_texts_asks_first(filled: Path, run: Run, api: Served) -> None:
    assert run("reindex", "--model", MODEL, "--yes").exit_code == 0
    assert run("reindex", "--rollback").exit_code == 0
    sent = len(api.texts)
    assert run("reindex", "--rollback").exit_code == 0 and len(api.texts) == sent, "nothing to send, nothing to ask"
    assert run("reindex", "--rollback").exit_code == 0
    run("add", "the heron waits")
    for arguments in (("reindex", "--rollback"), ("bench", "mine", "--generation", "2")):
        refused = run(*arguments)
        assert refused.exit_code == 2 and len(api.texts) == sent
        assert (
            f"would send the texts that have no vector of this model yet to {api.url}: 1 text, about" in refused.stderr
        )
        assert "Confirm with --yes." in refused.stderr
    done = run("reindex", "--rollback", "--yes")
    assert done.exit_code == 0 and len(api.texts) == sent + 1 and "Sending the texts" in done.stderr


def test_a_rebuild_beyond_the_cap_is_refused(
    filled: Path, run: Run, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_JINA_TOKEN_CAP", "50")
    refused = run("reindex", "--model", MODEL, "--yes")
    assert refused.exit_code == 5 and not api.asked
    assert "The cap of 50 tokens leaves 50." in refused.stderr and "jina.token_cap" in refused.stderr


def test_a_model_on_this_machine_asks_nothing(filled: Path, run: Run) -> None:
    assert run("reindex", "--vectors").exit_code == 0
    assert re.search(r"(?m)^network +none$", run("status").stdout)


def test_status_names_what_uses_the_network(kept: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert document(run("status", "--json"))["network"] == []
    monkeypatch.setenv("APPLIANCE_LLM_BASE_URL", "http://192.0.2.7:11434/v1")
    monkeypatch.setenv("APPLIANCE_LLM_MODEL", "tiny")
    assert document(run("status", "--json"))["network"] == [
        {"part": "language model", "address": "http://192.0.2.7:11434/v1"}
    ]


def test_without_the_api_an_ingest_says_what_waits(
    home: Path, chats: Path, run: Run, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", MODEL)
    api.always = refusal("503 Service Unavailable")
    done = run("ingest", chats)
    assert done.exit_code == 0 and "9 new" in done.stdout
    assert "note: The Jina API is overloaded or down (HTTP 503)." in done.stderr
    assert "makes them searchable by meaning too" in done.stderr
    added = run("add", "the heron waits")
    assert added.exit_code == 0 and "added to notes" in added.stdout and "HTTP 503" in added.stderr
    failed = run("reindex", "--pending")
    assert failed.exit_code == 5 and "HTTP 503" in failed.stderr
    found = run("search", "heron")
    assert found.exit_code == 0 and "heron waits" in found.stdout and "searched by words only" in found.stderr
    api.always = None
    assert run("reindex", "--pending").exit_code == 0
    assert KEY not in "".join(each.output for each in (done, added, failed, found))


def test_an_unknown_model_of_the_api_is_named(filled: Path, run: Run, api: Served) -> None:
    refused = run("reindex", "--model", "jina:jina-embeddings-v99")
    assert refused.exit_code == 5 and "Use jina:jina-embeddings-v3" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ended_by", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.campaign)])
@pytest.mark.timeout(4 * PATIENCE)  # it waits for three processes one after another
def test_an_interrupted_ingest_goes_on_with_what_has_no_vector(home: Path, tmp_path: Path, ended_by: int) -> None:
    """The server is a process of its own too: what it has answered is what is paid for."""
    chats = tmp_path / "lake.jsonl"
    lines = [
        {"session_id": "lake", "message_id": f"l{number}", "role": "user", "content": f"otter number {number}"}
        for number in range(1_200)
    ]
    chats.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.jina_server"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None

    def told(line: str) -> list[int]:
        """What the server does from now on, and its requests and texts until now."""
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(line + "\n")
        server.stdin.flush()
        return [int(number) for number in server.stdout.readline().split()]

    url = server.stdout.readline().strip()
    variables = {
        "APPLIANCE_JINA_URL": url, "APPLIANCE_MODEL_NAME": MODEL,
        "JINA_API_KEY": KEY, "APPLIANCE_JINA_TOKENS_A_MINUTE": "0",
    }  # fmt: skip
    try:
        running = forked_programs.Popen(
            command("ingest", chats), env=environment(**variables), cwd=ROOT,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until(lambda: told("")[0] >= 6)
        told("silence")
        sent = told("silence")[1]
        running.send_signal(ended_by)
        assert running.wait(PATIENCE) != 0
        told("")
        done = forked_programs.run(
            command("reindex", "--pending", "--json"), env=environment(**variables), cwd=ROOT,
            capture_output=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
        assert json.loads(done.stdout)["pending"] == 0
        again = told("")[1] - 1_200
        assert again <= 4 * 64 + 64, f"a batch and a request at most are paid twice, not {again} of {sent}"
    finally:
        server.kill()
        server.communicate()
    with Appliance.open(home, create=False, worker=False) as memory:
        assert memory.status()["counts"]["messages"] == 1_200
        assert not memory.verify().problems
        assert memory.settings.model.name == DEFAULT_MODEL
