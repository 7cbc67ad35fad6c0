"""``help``, and the completions for shells, each tried in its shell."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_runs import Run, document

from appliance.cli import app
from appliance.cli.help import find_command
from appliance.cli.options import named_path
from appliance.cli.reference import shells
from appliance.cli.reference.commands import KNOWN_VALUES, Command, Values, read_commands
from tests.waits import PATIENCE


@pytest.fixture(scope="module")
def program() -> Command:
    return read_commands()


@pytest.fixture
def folder(tmp_path: Path, program: Command) -> Path:
    """A folder with the scripts, and things that could be completed."""
    for shell, script in shells.SCRIPTS.items():
        (tmp_path / f"script.{shell}").write_text(script(program))
    (tmp_path / "chats of Zoë").mkdir()
    (tmp_path / "chat.json").touch()
    return tmp_path


@pytest.mark.parametrize("verbs", [[], ["search"], ["facts", "list"], ["help"]])
def test_help_is_what_the_option_prints(run: Run, verbs: list[str]) -> None:
    shown = run("help", *verbs)
    assert (shown.exit_code, shown.stdout) == (0, run(*verbs, "-h" if verbs else "--help").stdout)


def test_help_as_json(run: Run) -> None:
    shown = document(run("help", "tag", "add", "--json"))
    assert shown == {"command": "appliance tag add", "help": run("tag", "add", "--help").stdout.rstrip("\n")}


@pytest.mark.parametrize(
    ("verbs", "said"),
    [
        ("serch", "No such command 'serch'. Did you mean 'search', 'service', 'serve'?\n  See 'appliance --help'."),
        ("facts lst", "No such command 'lst'. Did you mean 'list'?\n  See 'appliance facts --help'."),
        ("search x", "'appliance search' has no commands.\n  See 'appliance search --help'."),
    ],
)
def test_help_of_what_is_not_there_names_what_is(run: Run, verbs: str, said: str) -> None:
    result = run("help", *verbs.split())
    assert (result.exit_code, result.stdout) == (2, "") and said in result.stderr


def test_help_loads_only_the_verb_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    load = app._load
    monkeypatch.setattr(app, "_load", lambda place: loaded.append(place) or load(place))
    assert find_command(["facts", "list"]).command_path == "appliance facts list"
    assert loaded == ["facts.verbs"]


def test_what_takes_a_path_is_offered_paths(program: Command) -> None:
    """By the types of the parameters: the metavar alone decides otherwise."""

    def typed(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        for parameter in command.params:
            if "Path" in type(parameter.type).__name__ or parameter.type.name == named_path.__name__:
                yield path, parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        for name, inner in getattr(command, "commands", {}).items():
            yield from typed(inner, (*path, name))

    offered = {
        (command.path, name)
        for command in program.walk()
        for values, names in [
            *((option.values, option.names) for option in command.options),
            *((argument.values, (argument.metavar,)) for argument in command.arguments),
        ]
        if values.paths
        for name in names
    }
    wanted = {(path, name) for path, name in typed(typer.main.get_command(app.app), ())}
    assert len(wanted) > 5 and not {
        (path, name) for path, name in wanted if not any(path == one and name in other for one, other in offered)
    }


def test_the_known_values_are_those_of_options_that_are_there(program: Command) -> None:
    seen = {(name, option.metavar) for one in program.walk() for option in one.options for name in option.names}
    seen |= {("", argument.metavar.strip("[]{}…")) for one in program.walk() for argument in one.arguments}
    assert not set(KNOWN_VALUES) - seen
    by_name = {one.name: one for one in program.walk()}
    (kind,) = [option for option in by_name["appliance facts list"].options if option.names == ("--kind",)]
    assert "preference" in kind.values.choices
    assert [one.values for one in by_name["appliance search"].options if "--mode" in one.names] == [
        Values(("hybrid", "dense", "lexical"))
    ]


def test_an_unknown_shell_is_refused(run: Run) -> None:
    assert run("completion", "fish").stdout.startswith("# Completion of 'appliance' for fish.")
    result = run("completion", "tcsh")
    assert result.exit_code == 2 and "Use one of bash, zsh, fish." in result.stderr


# --- in the shells -------------------------------------------------------------------------------------------

OFFERED: Mapping[str, str] = {
    "appliance sea": "search",
    "appliance search --mo": "--mode",
    "appliance --profile ti": "tiny",
    "appliance --profile tiny tui --profile lap": "laptop",
    "appliance search --mode ": "dense hybrid lexical",
    "appliance search --mode=hy": "--mode=hybrid",
    "appliance search x --mode dense --sor": "--sort",
    "appliance facts --kind tool rev": "review",
    "appliance facts --kind to": "tool",
    "appliance facts list --sta": "--state",
    "appliance help facts rev": "review",
    "appliance help search ": "",
    "appliance feedback ": "",
    "appliance feedback m1 ": "helpful outdated used wrong",
    "appliance mcp install claude-d": "claude-desktop",
    "appliance context q --share rec": "recent=",
    "appliance export --format mark": "markdown",
    "appliance completion z": "zsh",
    "appliance backup ver": "verify",
    "appliance backup --enc": "--encrypt",
    "appliance ingest chat.": "chat.json",
    "appliance ingest --format what": "whatsapp",
    "appliance search -- --mo": "",
}
"""What is typed, and what each shell offers."""


def need(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    return found


def lines_of(command: Sequence[str], folder: Path) -> list[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not ended.stderr
    return ended.stdout.splitlines()


def test_bash_offers_verbs_options_values_and_paths(folder: Path) -> None:
    typed = "\n".join("offer " + line + ('""' if line.endswith(" ") else "") for line in OFFERED)
    (folder / "try.bash").write_text(
        "source ./script.bash\noffer() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _appliance\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\" | sort | paste -sd' '; }\n" + typed + "\n"
        "COMP_WORDS=(appliance search --mode = hy); COMP_CWORD=4; _appliance; echo \"$COMPREPLY\"\n"
        "COMP_WORDS=(appliance ingest --home chats); COMP_CWORD=3; _appliance; echo \"$COMPREPLY\"\n"
    )  # fmt: skip
    lines = lines_of([need("bash"), "--norc", "try.bash"], folder)
    assert dict(zip(OFFERED, lines, strict=False)) == OFFERED
    assert lines[len(OFFERED) :] == ["hybrid", "chats of Zoë"], "'=' is a word of its own in an interactive shell"


@pytest.mark.slow
def test_fish_offers_the_same(folder: Path) -> None:
    offered = dict([*OFFERED.items()][::2])  # a call takes 50 ms
    lines = "\n".join(f"offer '{line}'" for line in offered)
    (folder / "try.fish").write_text(
        "source ./script.fish\nfunction offer\n  echo (complete -C $argv[1] | cut -f1 | sort)\nend\n" + lines + "\n"
    )
    assert dict(zip(offered, lines_of([need("fish"), "--no-config", "try.fish"], folder), strict=True)) == offered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "options", "prepared"),
    [
        ("bash", ["--norc", "--noprofile", "-i"], "source ./script.bash; bind 'set bell-style none'"),
        ("zsh", ["-f", "-i"], "autoload -Uz compinit; compinit -D -u; source ./script.zsh; setopt nobeep"),
    ],
)
def test_the_tab_key_completes_the_line(folder: Path, shell: str, options: list[str], prepared: str) -> None:
    typed = {
        "sea": "search",
        "search --mode hy": "search --mode hybrid",
        "facts --kind tool rev": "facts --kind tool review",
        "help facts rev": "help facts review",
        "feedback m1 help": "feedback m1 helpful",
        "ingest chat.": "ingest chat.json",
        "ingest --home chats": "ingest --home chats of Zoë",
        "backup --enc": "backup --encrypt",
        "backup chat.": "backup chat.json",
    }
    # The command itself says what it was given.
    (folder / "appliance").write_text('#!/bin/sh\necho "<${*%/}>"\n')
    (folder / "appliance").chmod(0o755)
    program = need(shell)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb"}
        os.execve(program, [shell, *options], environment | {"LC_ALL": "C.UTF-8", "PS1": "$ "})
    said = ""
    try:
        os.write(terminal, f"{prepared}; echo '<'ready'>'\r".encode())
        for line, completed in ({"": "ready"} | typed).items():
            if line:
                os.write(terminal, f"appliance {line}\t\r".encode())
            until = time.monotonic() + PATIENCE
            while f"<{completed}>" not in said and time.monotonic() < until:
                if select.select([terminal], [], [], 0.1)[0]:
                    said += os.read(terminal, 1 << 16).decode(errors="replace")
            assert f"<{completed}>" in said, said
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
