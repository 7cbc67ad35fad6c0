"""``config``, ``path``, ``version``, and the help of every verb."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, cast

import pytest
import typer
from cli_runs import Run, document
from typer.testing import CliRunner

from appliance import Appliance, __version__, config
from appliance.build_commit import build_commit
from appliance.cli import owner_settings
from appliance.cli.app import VERBS, CommandGroup, build
from appliance.engine.home_status import _changed_since
from appliance.near_names import did_you_mean
from appliance.paths import Home

NAMES = [name for verbs in VERBS.values() for name in verbs]
INNER = ["sessions new", "models list", "models verify", "models import"]


def test_config_says_where_each_setting_comes_from(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[search]\nlimit = 3\n")
    monkeypatch.setenv("APPLIANCE_USER", "ana")
    report = document(run("config", "--json"))
    assert report["file"] == str(home / "config.toml")
    settings = report["settings"]
    assert settings["search.limit"] == {"value": 3, "origin": str(home / "config.toml")}
    assert settings["user"] == {"value": "ana", "origin": "APPLIANCE_USER"}
    assert settings["context.budget"] == {"value": 8000, "origin": "default"}
    assert "search.limit" in run("config").stdout


def test_a_near_name_is_offered(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Did you mean search.limit?" in run("config", "searh.limit").stderr
    assert "only shows settings" in run("config", "set").stderr
    monkeypatch.setenv("APPLIANCE_SERCH_LIMIT", "3")
    assert "Did you mean APPLIANCE_SEARCH_LIMIT? " in run("config").stderr
    assert did_you_mean("lst", ("list", "last", "make")) == "Did you mean list or last? "
    assert did_you_mean("photo", ("list", "make")) == ""


def test_variables_that_the_owner_does_not_follow_are_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = cast("Appliance", SimpleNamespace(
        is_attached=True, is_attached_to_daemon=True, home=Home(home), settings=config.load(Home(home), {})
    ))  # fmt: skip
    for name, value in (("PROFILE", "tiny"), ("SEARCH_LIMIT", "3"), ("CHUNK_OVERLAP", "0.15"), ("LLM_API_KEY", "x1")):
        monkeypatch.setenv(f"APPLIANCE_{name}", value)
    same = config.environment_variable("chunk.overlap")
    monkeypatch.setenv(same, str(owner.settings.chunk.overlap))
    owner_settings.say_ignored(owner)
    said = capsys.readouterr().err
    assert "APPLIANCE_PROFILE=tiny (--profile)" in said and "APPLIANCE_SEARCH_LIMIT=3" in said
    assert same not in said and "APPLIANCE_LLM_API_KEY=…" in said and "have no effect here" in said
    assert _changed_since(Home(home), owner.settings) == ["llm.api_key", "profile", "search.limit"]
    for name in ("PROFILE", "SEARCH_LIMIT", "LLM_API_KEY"):
        monkeypatch.delenv(f"APPLIANCE_{name}")
    owner_settings.say_ignored(owner)
    assert capsys.readouterr().err == "" and _changed_since(Home(home), owner.settings) == []


@pytest.mark.slow
def test_a_token_opens_the_only_users_memory(run: Run, home: Path) -> None:
    run("add", "the boat is blue", "--user", "ana")
    assert document(run("tokens", "new", "one", "--json"))["user_id"] == "ana"
    run("add", "the boat is red")
    refused = run("tokens", "new", "two")
    assert refused.exit_code == 2 and "the memory is of ana, me" in refused.stderr


def test_config_says_what_a_setting_does(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_SEARCH_LIMIT", "3")
    monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", "secret-key")
    shown = run("config", "search.limit", "tui", "index.api_key").stdout
    assert shown.split("\n\n")[1].splitlines() == [
        "search.limit = 3  (APPLIANCE_SEARCH_LIMIT)",
        "  Hits of a search that names no number.",
        "  Values: whole number from 1 to 1000. Default: 10. Variable: APPLIANCE_SEARCH_LIMIT.",
    ]
    assert "tui.keys = {}" in shown and "search.profile" not in shown and "secret-key" not in shown
    assert document(run("config", "--json", "search.limit"))["settings"]["search.limit"] == {
        "value": 3, "origin": "APPLIANCE_SEARCH_LIMIT", "default": 10, "values": "whole number from 1 to 1000",
        "variable": "APPLIANCE_SEARCH_LIMIT", "text": "Hits of a search that names no number.",
    }  # fmt: skip
    refused = run("config", "search", "sea")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "no setting or group of settings named 'sea'" in refused.stderr


def test_docs_opens_the_page_or_prints_where_it_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    refused = run("docs")
    assert refused.exit_code == 4
    assert "build_docs.py" in refused.stderr
    page = tmp_path / "share/doc/memory-appliance/html/reference/cli/search.html"
    page.parent.mkdir(parents=True)
    (page.parents[2] / "index.html").touch()
    page.touch()
    opened: list[Path] = []
    monkeypatch.setattr("appliance.documentation.open_in_browser", lambda page: not opened.append(page))
    assert run("docs", "search", "--print").stdout == f"{page}\n"
    assert document(run("docs", "search", "--json")) == {"page": str(page)}
    assert not opened
    assert run("docs", "search").stdout == ""
    assert opened == [page]
    monkeypatch.setattr("appliance.documentation.open_in_browser", lambda page: False)
    assert run("docs", "search").stdout == f"{page}\n"
    assert run("docs", "nonsense").exit_code == 4


@pytest.mark.parametrize("verb", ["config", "status", "ingest x", "models list"])
def test_a_wrong_setting_is_a_usage_error(run: Run, filled: Path, verb: str) -> None:
    (filled / "config.toml").write_text("[search]\nlimit = 'many'\n")
    result = run(*verb.split())
    assert result.exit_code == 2
    assert "config.toml" in result.stderr


WRONG = (
    ("search wifi --limit 0", "--limit must be at least 1, not 0.", "See 'appliance search --help'."),
    ("search wifi -k many", "--limit must be a whole number, not 'many'.", "See 'appliance search --help'."),
    ("serve --port 99999", "--port must be from 0 to 65535, not 99999.", "See 'appliance serve --help'."),
    ("timeline Zork", "'appliance timeline' does not take 'Zork'.", "See 'appliance timeline --help'."),
    ("search wifi code", "'appliance search' does not take 'code'.", "Put text with spaces in quotation marks. See"),
    (
        "tag s1",
        "No such command 's1'.",
        "It takes add, remove, list, or nothing ('appliance tag'). See 'appliance tag --help'.",
    ),
    (
        "mcp serve",
        "No such command 'serve'.",
        "It takes install, uninstall, or nothing ('appliance mcp'). See 'appliance mcp --help'.",
    ),
    ("tui --user", "--user needs a value.", "See 'appliance tui --help'."),
    ("verify --foo", "There is no option --foo.", "See 'appliance verify --help'."),
    ("search wifi --limt 3", "There is no option --limt. Did you mean --limit", "See 'appliance search --help'."),
    ("--home /tmp", "There is no option --home.", "Options stand behind the command, as in"),
    ("pin s3", "s3 is the id of a conversation, not of a message.", "'appliance sessions pin s3' pins it."),
    ("feedback s3 used", "s3 is the id of a conversation, not of a message.", "'appliance show s3' lists"),
)


def test_a_wrong_command_line_says_what_is_wrong_in_plain_words(run: Run, filled: Path) -> None:
    for arguments, text, hint in WRONG:
        result = run(*arguments.split())
        said = " ".join(result.stderr.split())
        assert result.exit_code in (2, 4) and said.startswith(f"error: {text}") and hint in said, arguments


def test_path_lists_the_places(run: Run, home: Path, tmp_path: Path) -> None:
    places = document(run("path", "--json"))
    assert places["home"] == str(home)
    assert places["database"] == str(home / "recall.db")
    assert str(tmp_path / "other") in run("path", "--home", tmp_path / "other").stdout
    assert not home.exists()


def test_version_names_what_it_stands_on(run: Run) -> None:
    versions = document(run("version", "--json"))
    assert list(versions) == ["appliance", "commit", "python", "sqlite", "qdrant-edge-py", "onnxruntime"]
    commit = build_commit()
    assert run("--version").stdout == f"appliance {__version__}" + (f" ({commit[:10]})" if commit else "") + "\n"
    assert run("version").stdout.startswith("appliance       " + __version__)


def test_an_empty_home_is_refused(run: Run) -> None:
    result = run("path", "--home", "")
    assert result.exit_code == 2
    assert "--home is empty" in result.stderr
    for command in ("add hello --user", "search hello --user", "export - --user", "reindex --model"):
        result = run(*command.split(), "")
        assert (result.exit_code, result.stderr.splitlines()[0]) == (2, f"error: {command.split()[-1]} is empty.")


@pytest.mark.parametrize("verb", NAMES + INNER)
def test_every_verbs_help_has_an_example_and_the_common_options(run: Run, verb: str) -> None:
    result = run(*verb.split(), "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"  appliance {verb}" in result.stdout or f"appliance {verb} " in result.stdout
    assert "--home DIR" in result.stdout
    assert "--json" in result.stdout
    assert "\\b" not in result.stdout


def test_the_help_lists_every_verb_in_its_group(run: Run) -> None:
    shown = run("--help").stdout
    for name in NAMES:
        assert f"\n  {name} " in shown
    assert run().stdout == shown
    assert all(len(row) <= 80 for row in shown.splitlines())


@pytest.mark.parametrize("arguments", [["serch"], ["search"], ["show"], ["--nonsense"], ["models", "paint"]])
def test_wrong_usage_is_two_and_points_to_the_help(run: Run, arguments: list[str]) -> None:
    result = run(*arguments, "--json") if arguments != ["--nonsense"] else run(*arguments)
    assert result.exit_code == 2
    assert "--help'." in result.stderr
    if result.stdout:
        assert document(result)["error"]["type"] == "UsageError"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("search two words", "Put text with spaces in quotation marks. See 'appliance search --help'."),
        ("search hello --author", "See 'appliance search --help'."),
        ("people rename p3 Ana --user", "See 'appliance people rename --help'."),
        ("status now", "See 'appliance status --help'."),
    ],
)
def test_wrong_usage_leads_to_the_help_of_the_verb(run: Run, arguments: str, hint: str) -> None:
    assert run(*arguments.split()).stderr.endswith(f"\n  {hint}\n")


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (ZeroDivisionError("by zero"), 1, "This is a bug. Please report it"),
        (KeyboardInterrupt(), 130, "Everything committed so far is kept"),
        (PermissionError(13, "Permission denied", "/some/file"), 3, "error: /some/file: Permission denied"),
        (OSError(9, "Bad file descriptor"), 1, "This is a bug. Please report it"),
    ],
)
def test_what_a_verb_raises_becomes_an_exit_code(raised: BaseException, code: int, told: str) -> None:
    def verb(json: Annotated[bool, typer.Option("--json")] = False) -> None:
        raise raised

    program = typer.Typer(cls=CommandGroup)
    program.callback()(lambda: None)
    program.command("fail")(verb)
    for options in ([], ["--json"]):
        result = CliRunner().invoke(program, ["fail", *options])
        assert result.exit_code == code
        assert told in result.stderr
        assert ("Traceback" in result.stderr) == (code == 1)
    if code != 130:
        assert document(result)["error"]["type"] in (type(raised).__name__, "StoreError")


def test_config_keeps_a_key_to_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_LLM_API_KEY", "s3cret")
    shown = run("config")
    assert "s3cret" not in shown.stdout and "(set)" in shown.stdout
    values = document(run("config", "--json"))["settings"]
    assert values["llm.api_key"] == {"value": "(set)", "origin": "APPLIANCE_LLM_API_KEY"}


@pytest.mark.parametrize("verb", NAMES)
def test_a_verb_that_is_built_alone_is_the_same(run: Run, verb: str) -> None:
    alone = build(verb)
    assert [*alone.registered_commands, *alone.registered_groups][0].name == verb
    assert CliRunner().invoke(alone, [verb, "--help"]).stdout == run(verb, "--help").stdout
