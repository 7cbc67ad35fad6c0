"""``appliance tokens``: given out, listed and taken back, without the memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.cli.app import run
from appliance.errors import ConfigError, NotFound, UsageError
from appliance.paths import create_home, find_home
from appliance.server.access import tokens
from tests.http_calls import application, bearer, calling


def test_a_token_is_shown_once_and_opens_what_it_says(memory: Appliance, capsys: pytest.CaptureFixture[str]) -> None:
    # The memory is open, and its lock held: that hinders nobody.
    assert run(["tokens", "new", "kitchen", "--user", "ana", "--namespace", "house", "--read-only"]) == 0
    said = capsys.readouterr()
    token = said.out.strip()
    assert "only time" in said.err and len(token) >= 40
    with calling(application(memory), bearer(token)) as client:
        told = client.get("/v1/status").json()
    assert (told["name"], told["user_id"], told["namespace"], told["read_only"]) == ("kitchen", "ana", "house", True)
    assert run(["tokens", "list", "--json"]) == 0
    listed = capsys.readouterr().out
    (one,) = json.loads(listed)["tokens"]
    assert (one["name"], one["user_id"], one["read_only"]) == ("kitchen", "ana", True)
    assert token not in listed and "digest" not in listed


def test_a_token_is_taken_back(memory: Appliance, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tokens", "new", "kitchen", "--user", "ana", "--json"]) == 0
    token = json.loads(capsys.readouterr().out)["token"]
    with calling(application(memory), bearer(token)) as client:
        assert client.get("/v1/facts").status_code == 200
        assert run(["tokens", "revoke", "kitchen"]) == 0
        assert client.get("/v1/facts").status_code == 401
    assert run(["tokens", "revoke", "kitchen"]) == 4
    assert "no token 'kitchen'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["token", "tokens.json"])
def test_a_folder_in_place_of_tokens_is_named(home: Path, name: str) -> None:
    (home / name).mkdir(parents=True)
    with pytest.raises(ConfigError, match=name):
        tokens.owner_token(create_home(find_home())), tokens.issued_tokens(find_home())


def test_a_list_without_tokens_says_how_to_give_one_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tokens"]) == 0
    assert "appliance tokens new" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["owner", "", "a b", "-x", "x" * 65, "a/b"])
def test_a_name_that_can_not_be(home: Path, name: str) -> None:
    with pytest.raises(UsageError):
        tokens.issue(create_home(find_home(home)), name, user_id="ana")


def test_a_name_is_given_once(home: Path) -> None:
    made = create_home(find_home(home))
    tokens.issue(made, "kitchen", user_id="ana")
    with pytest.raises(UsageError, match="already"):
        tokens.issue(made, "kitchen", user_id="ben")
    with pytest.raises(UsageError, match="The user is empty"):
        tokens.issue(made, "cellar", user_id="")
    with pytest.raises(NotFound):
        tokens.revoke(made, "attic")


def test_tokens_given_out_at_once_are_all_kept(home: Path) -> None:
    made = create_home(find_home(home))
    threads = [
        threading.Thread(target=tokens.issue, args=(made, f"t{number}"), kwargs={"user_id": "ana"})
        for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.name for one in tokens.issued_tokens(made)) == sorted(f"t{number}" for number in range(12))


def test_the_owners_token_is_one_however_many_ask_first(home: Path) -> None:
    made = create_home(find_home(home))
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(tokens.owner_token(made))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def test_the_command_line_begins_without_what_serves(home: Path) -> None:
    script = (
        "import sys\nfrom appliance.cli.app import run\n"
        "assert run(['tokens', 'new', 'kitchen', '--user', 'ana', '--json']) == 0\n"
        "heavy = {'fastapi', 'starlette', 'uvicorn', 'pydantic', 'httpx', 'mcp'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
