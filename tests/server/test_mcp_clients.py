"""A client's settings: the right keys in the right file, and nothing else of it touched."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from appliance.cli.app import app
from appliance.errors import UsageError
from appliance.runtime import child_process
from appliance.server.mcp import settings_files
from appliance.server.mcp.clients import CLIENTS, RemoteServerEntry, SettingsLocations, StdioServerEntry

LOCAL = StdioServerEntry("/opt/appliance/bin/appliance", ("mcp", "--read-only"), {"APPLIANCE_HOME": "/home/ana/größe"})
REMOTE = RemoteServerEntry("http://127.0.0.1:7707/mcp", "secret")
ENTRY = {"command": "/x", "args": ["mcp"], "env": {"A": 'q"\\ü\n'}}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home folder, on a system that follows freedesktop.org."""
    folder = tmp_path / "person"
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(sys, "platform", "linux")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["mcp", *arguments])


def backups(path: Path) -> list[Path]:
    return sorted(one for one in path.parent.iterdir() if one.suffix == ".bak")


# --- forms and places --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "linux", "mac", "windows"),
    [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json",
         "Library/Application Support/Claude/claude_desktop_config.json", "R/Claude/claude_desktop_config.json"),
        ("claude-code", ".claude.json", ".claude.json", ".claude.json"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json",
         "R/Code/User/mcp.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", ".codeium/windsurf/mcp_config.json",
         ".codeium/windsurf/mcp_config.json"),
        ("zed", ".config/zed/settings.json", ".config/zed/settings.json", "R/Zed/settings.json"),
        ("lm-studio", ".lmstudio/mcp.json", ".lmstudio/mcp.json", ".lmstudio/mcp.json"),
        ("opencode", ".config/opencode/opencode.json", ".config/opencode/opencode.json",
         ".config/opencode/opencode.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
    ],
)  # fmt: skip
def test_each_client_has_its_file(name: str, linux: str, mac: str, windows: str) -> None:
    home = Path("/p")
    one = CLIENTS[name]
    assert one.file(SettingsLocations("linux", home, {})) == home / linux
    assert one.file(SettingsLocations("darwin", home, {})) == home / mac
    assert one.file(SettingsLocations("win32", home, {"APPDATA": "/p/R"})) == home / windows


@pytest.mark.parametrize(
    ("name", "place", "local", "remote"),
    [
        ("claude-desktop", "mcpServers", {"command", "args", "env"}, None),
        ("claude-code", "mcpServers", {"type", "command", "args", "env"}, {"type", "url", "headers"}),
        ("cursor", "mcpServers", {"command", "args", "env"}, {"url", "headers"}),
        ("vscode", "servers", {"type", "command", "args", "env"}, {"type", "url", "headers"}),
        ("windsurf", "mcpServers", {"command", "args", "env"}, {"serverUrl", "headers"}),
        ("zed", "context_servers", {"command", "args", "env"}, {"url", "headers"}),
        ("lm-studio", "mcpServers", {"command", "args", "env"}, {"url", "headers"}),
        ("opencode", "mcp", {"type", "command", "environment", "enabled"}, {"type", "url", "headers", "enabled"}),
        ("codex", "mcp_servers", {"command", "args", "env"}, {"url", "http_headers"}),
    ],
)
def test_each_client_has_its_keys(name: str, place: str, local: set[str], remote: set[str] | None) -> None:
    one = CLIENTS[name]
    assert one.keys == (place,) and set(one.entry(LOCAL)) == local
    assert LOCAL.command in str(one.entry(LOCAL)) and "/home/ana/größe" in str(one.entry(LOCAL))
    if remote is None:
        with pytest.raises(UsageError, match="only in its own screens"):
            one.entry(REMOTE)
    else:
        entry = one.entry(REMOTE)
        assert set(entry) == remote and REMOTE.url in entry.values()
        assert {"Authorization": "Bearer secret"} in entry.values()


def test_every_client_is_documented_with_where_its_form_is_from() -> None:
    text = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    for one in CLIENTS.values():
        assert f"`{one.name}`" in text
    assert text.count("https://") >= len(CLIENTS)


# --- merged into what is there -------------------------------------------------------------------------------


def test_install_and_uninstall_leave_the_rest_as_it_was(person: Path, home: Path) -> None:
    file = person / ".cursor" / "mcp.json"
    file.parent.mkdir()
    before = {"zero": 0.5, "mcpServers": {"other": {"command": "größe", "args": ["\u2028"]}}, "last": [None, True]}
    file.write_text(json.dumps(before, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")
    file.chmod(0o640)
    old = file.read_bytes()

    assert run("install", "cursor", "--write", "--user", "ana").exit_code == 0
    after = json.loads(file.read_text("utf-8"))
    entry = after["mcpServers"].pop("appliance")
    assert after == before and list(after) == list(before)
    assert Path(entry["command"]).is_absolute() and entry["args"][-3:] == ["mcp", "--user", "ana"]
    assert entry["env"] == {"APPLIANCE_HOME": str(home)}
    assert file.read_text("utf-8").startswith('{\n    "zero"') and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [one.read_bytes() for one in backups(file)] == [old]

    assert run("install", "cursor", "--write", "--user", "ana").exit_code == 0
    assert len(backups(file)) == 1
    assert run("uninstall", "cursor", "--write").exit_code == 0
    assert file.read_bytes() == old
    assert run("uninstall", "cursor", "--write").exit_code == 0
    assert len(backups(file)) == 2 and sorted(os.listdir(file.parent))[0] == "mcp.json"


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_file_that_is_not_there_is_made_for_the_person_alone(person: Path, name: str) -> None:
    found = run("install", name, "--write", "--json")
    document = json.loads(found.stdout)
    path = Path(document["path"])
    assert found.exit_code == 0 and document["changed"] and document["backup"] is None
    assert path.is_relative_to(person) and stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text("utf-8")
    whole: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    printed = run("install", name).stdout
    assert (tomllib.loads(printed) if path.suffix == ".toml" else json.loads(printed)) == whole
    for key in CLIENTS[name].keys:
        whole = whole[key]
    assert list(whole) == ["appliance"]


def test_without_write_nothing_is_written(person: Path) -> None:
    for name in CLIENTS:
        assert run("install", name).exit_code == 0
        assert run("uninstall", name).exit_code == 0
    assert not list(person.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  // my servers\n  "mcpServers": {}\n}', "comments"),
        ('{"mcpServers": {"a": {"command": "x"},}}', "trailing commas"),
        ('{"mcpServers": {} /* here */}', "comments"),
        ('{"a": 1,\n "b": }', "line 2, column 7"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[1]", "not an object"),
        ('{"a": 1, "a": 2}', "duplicate key"),
    ],
)
def test_what_can_t_be_kept_is_not_touched(person: Path, text: str, words: str) -> None:
    file = person / ".lmstudio" / "mcp.json"
    file.parent.mkdir()
    file.write_text(text)
    found = run("install", "lm-studio", "--write")
    assert found.exit_code == 2 and words in found.stderr and str(file) in found.stderr
    assert file.read_text() == text and not backups(file)


def test_a_file_that_is_no_text_is_not_touched(person: Path) -> None:
    file = person / ".lmstudio" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(b'{"a": "\xff"}')
    assert run("install", "lm-studio", "--write").exit_code == 2
    assert file.read_bytes() == b'{"a": "\xff"}'


def test_links_marks_and_line_ends_stay(person: Path) -> None:
    real = person / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(b'\xef\xbb\xbf{\r\n\t"mcpServers": {}\r\n}\r\n')
    link = person / ".lmstudio" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    assert run("install", "lm-studio", "--write").exit_code == 0
    raw = real.read_bytes()
    assert link.is_symlink() and raw.startswith(b'\xef\xbb\xbf{\r\n\t"mcpServers"')
    assert raw.count(b"\n") == raw.count(b"\r\n") > 5
    assert run("uninstall", "lm-studio", "--write").exit_code == 0
    assert json.loads(real.read_bytes().decode("utf-8-sig")) == {"mcpServers": {}}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_can_t_be_written_is_told(person: Path) -> None:
    (person / ".lmstudio").mkdir(mode=0o500)
    found = run("install", "lm-studio", "--write")
    assert found.exit_code == 3 and ".lmstudio" in found.stderr


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}')

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", cut)
    with pytest.raises(KeyboardInterrupt):
        settings_files.put(file, ("mcpServers",), "appliance", ENTRY)
    assert file.read_text() == '{"mcpServers": {}}'
    assert not [one for one in tmp_path.iterdir() if one.suffix == ".new"]


# --- TOML ----------------------------------------------------------------------------------------------------

CODEX = """\
# my settings
model = "gpt" # the good one

[mcp_servers.other]
command = "x"
text = '''
[mcp_servers.appliance]
not a table
'''

# about the next table
[history]
persistence = "none"
"""


def test_a_toml_file_keeps_its_comments(person: Path) -> None:
    file = person / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(CODEX)
    assert run("install", "codex", "--write").exit_code == 0
    text = file.read_text()
    assert text.startswith(CODEX)
    assert tomllib.loads(text)["mcp_servers"]["appliance"]["args"][-1] == "mcp"
    assert run("install", "codex", "--write").exit_code == 0 and file.read_text() == text
    assert run("install", "codex", "--write", "--read-only").exit_code == 0
    assert tomllib.loads(file.read_text())["mcp_servers"]["appliance"]["args"][-1] == "--read-only"
    assert run("uninstall", "codex", "--write").exit_code == 0
    assert file.read_text() == CODEX


def test_a_table_between_others_is_replaced_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'a = 1\n\n[mcp_servers."appliance"]\ncommand = "old"\n[mcp_servers.appliance.env]\nB = "c"\n\n'
        "# of b\n[b]\nc = 2\n"
    )
    settings_files.put(file, ("mcp_servers",), "appliance", ENTRY)
    text = file.read_text()
    assert tomllib.loads(text) == {"a": 1, "b": {"c": 2}, "mcp_servers": {"appliance": ENTRY}}
    assert "# of b\n[b]" in text and "old" not in text


@pytest.mark.parametrize(
    "env",
    ['[mcp_servers.appliance.env]\nB = "c" # of B\nA = "old" # of A\n', 'env = { A = "old" }\n', "env.A = 'old'\n", ""],
)
def test_an_entry_that_changes_keeps_its_place_and_its_comments(tmp_path: Path, env: str) -> None:
    file = tmp_path / "config.toml"
    text = (
        "# all\n[mcp_servers.one]\na = 1 # of a\n\n# mine\n[mcp_servers.appliance] # here\n# above\n"
        f'command = "old" # of command\ngone = 3\n{env}\n\n# of b\n[b]\nc = 0x10\n# end\n'
    )
    file.write_text(text)
    settings_files.put(file, ("mcp_servers",), "appliance", ENTRY)
    after = file.read_text()
    assert tomllib.loads(after) == {"mcp_servers": {"one": {"a": 1}, "appliance": ENTRY}, "b": {"c": 16}}
    assert after.startswith(text[: text.index('"old"')]) and '/x" # of command\n' in after
    assert after.endswith("\n\n# of b\n[b]\nc = 0x10\n# end\n")
    assert ("# of A" in after) == ("# of A" in env)
    settings_files.put(file, ("mcp_servers",), "appliance", None)
    kept = "# all\n[mcp_servers.one]\na = 1 # of a\n\n# mine\n\n\n# of b\n[b]\nc = 0x10\n# end\n"
    assert file.read_text() == kept


def test_an_entry_in_two_places_of_a_toml_file_is_one(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    text = (
        '[mcp_servers.appliance]\ncommand = "old"\n\n# of b\n[b]\nc = 2\n\n'
        '[mcp_servers.appliance.env]\nB = "d"\n\n# of e\n[e]\n'
    )
    for entry, wanted in ((ENTRY, {"mcp_servers": {"appliance": ENTRY}}), (None, {})):
        file.write_text(text)
        settings_files.put(file, ("mcp_servers",), "appliance", entry)
        after = file.read_text()
        assert tomllib.loads(after) == {**wanted, "b": {"c": 2}, "e": {}}
        assert "# of b\n[b]\nc = 2\n" in after and after.endswith("# of e\n[e]\n")


def test_line_ends_of_a_toml_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# all\r\na = 1\r\n")
    settings_files.put(file, ("mcp_servers",), "appliance", ENTRY)
    raw = file.read_bytes()
    assert raw.startswith(b"# all\r\na = 1\r\n\r\n[") and raw.count(b"\n") == raw.count(b"\r\n")
    settings_files.put(file, ("mcp_servers",), "appliance", None)
    assert file.read_bytes() == b"# all\r\na = 1\r\n"


PIECES = (
    "# a comment\n",
    "\n",
    "k{0} = 0x0F  # of k\n",
    "[t{0}]  # of t\n",
    "[[list{0}]]\nx = 1\n",
    "[mcp_servers.s]\nargs = [ 1,  2, # two\n]\n",
    "'a b{0}' = '''\n[x]\n'''\n",
)


@given(st.lists(st.sampled_from(PIECES), max_size=8).filter(lambda some: some.count(PIECES[5]) < 2))
@example([PIECES[5], PIECES[4]])
def test_a_toml_file_is_the_same_after_install_and_uninstall(pieces: list[str]) -> None:
    text = "".join(piece.format(number) for number, piece in enumerate(pieces))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.toml"
        file.write_text(text)
        for entry in (ENTRY, {"url": "http://127.0.0.1"}, ENTRY):
            settings_files.put(file, ("mcp_servers",), "appliance", entry)
            after = file.read_text()
            assert tomllib.loads(after)["mcp_servers"]["appliance"] == entry
            assert not Counter(text.splitlines()) - Counter(after.splitlines())
        settings_files.put(file, ("mcp_servers",), "appliance", None)
        assert file.read_text().rstrip("\n") == text.rstrip("\n")


def test_a_toml_file_whose_order_would_change_is_added_to_and_then_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    text = "[mcp_servers.a]\n[[list]]\n# of b\n[mcp_servers.b]\n"
    file.write_text(text)
    settings_files.put(file, ("mcp_servers",), "appliance", ENTRY)
    after = file.read_text()
    assert after.startswith(text) and tomllib.loads(after)["mcp_servers"]["appliance"] == ENTRY
    with pytest.raises(UsageError, match="can't be changed safely"):
        settings_files.put(file, ("mcp_servers",), "appliance", None)
    assert file.read_text() == after


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {appliance = {command = "x"}}\n',
        'mcp_servers.appliance.command = "x"\n',
        'mcp_servers = "none"\n',
        "[[mcp_servers]]\na = 1\n",
        '[mcp_servers]\nappliance = {command = "x"}\n',
        "a = \n",
    ],
)
def test_a_toml_file_in_another_form_is_not_touched(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        settings_files.put(file, ("mcp_servers",), "appliance", ENTRY)
    assert str(file) in str(refused.value) and refused.value.hint
    assert file.read_text() == text


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.dictionaries(
        words, words | st.lists(words) | st.booleans() | st.dictionaries(words, words, min_size=1), min_size=1
    )
)
def test_whatever_an_entry_holds_is_read_back_from_toml(entry: Any) -> None:
    text = settings_files.shown(Path("c.toml"), ("mcp_servers",), "my server", entry)
    assert tomllib.loads(text) == {"mcp_servers": {"my server": entry}}


# --- over HTTP --------------------------------------------------------------------------------------------------


def test_http_takes_the_daemon_s_address_and_the_token_s_file(person: Path, home: Path) -> None:
    home.mkdir()
    assert run("install", "cursor", "--http").exit_code == 4
    (home / "token").write_text("owners-token\n")
    (home / "config.toml").write_text("[server]\nport = 9999\n")
    entry = json.loads(run("install", "cursor", "--http").stdout)["mcpServers"]["appliance"]
    assert entry == {"url": "http://127.0.0.1:9999/mcp", "headers": {"Authorization": "Bearer owners-token"}}
    (home / "daemon.json").write_text('{"url": "http://127.0.0.1:4242"}')
    other = home / "ana.token"
    other.write_text("anas-token")
    entry = json.loads(run("install", "windsurf", "--http", "--token-file", str(other)).stdout)["mcpServers"][
        "appliance"
    ]
    assert entry == {"serverUrl": "http://127.0.0.1:4242/mcp", "headers": {"Authorization": "Bearer anas-token"}}
    assert run("install", "cursor", "--http", "--write").exit_code == 0
    assert stat.S_IMODE((person / ".cursor" / "mcp.json").stat().st_mode) == 0o600
    for wrong in (
        ("cursor", "--http", "--user", "ana"),
        ("claude-desktop", "--http"),
        ("cursor", "--token-file", str(other)),
        ("nano",),
    ):
        assert run("install", *wrong).exit_code == 2
    other.write_text("two words")
    assert run("install", "cursor", "--http", "--token-file", str(other)).exit_code == 2


def test_what_is_installed_is_what_starts(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = child_process.own_command()
    assert Path(command[0]).is_absolute() and Path(command[0]).exists()
    entry = json.loads(run("--user", "ana", "install", "cursor", "--namespace", "work").stdout)["mcpServers"][
        "appliance"
    ]
    assert entry["args"][len(command) - 1 :] == ["mcp", "--user", "ana", "--namespace", "work"]
    monkeypatch.setenv(child_process.COMMAND_VARIABLE, "/opt/bin/appliance")  # of a kit, which outlives its upgrades
    assert child_process.own_command() == ("/opt/bin/appliance",)
