"""The completion for fish, from version 3 on."""

from __future__ import annotations

from collections.abc import Iterator

from appliance.cli.reference.commands import Command, Option, Values

_HEAD = """\
# Completion of 'appliance' for fish. Written by 'appliance completion fish'.

set -g __appliance_commands @COMMANDS@
set -g __appliance_valued @VALUED@

# Prints the command that has been typed so far, and the number of its arguments.
function __appliance_state
    set -l command ''
    set -l arguments 0
    set -l skipped 0
    set -l only_arguments 0
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if test $skipped = 1
            set skipped 0
        else if test $only_arguments = 1
            set arguments (math $arguments + 1)
        else if test "$word" = --
            set only_arguments 1
        else if string match -q -- '-*' $word
            if contains -- "$command:$word" $__appliance_valued
                set skipped 1
            end
        else if test $arguments = 0; and contains -- (string trim -- "$command $word") $__appliance_commands
            set command (string trim -- "$command $word")
        else
            set arguments (math $arguments + 1)
        end
    end
    echo "$command:$arguments"
end

# Whether a command has been typed; with a number, whether it has so many arguments.
function __appliance_is
    set -l state (string split -- : (__appliance_state))
    test "$state[1]" = "$argv[1]"
    and begin
        not set -q argv[2]
        or test $state[2] = $argv[2]
    end
end

# Erases what an earlier version of this file has said.
complete -c appliance -e
complete -c appliance -f
"""


def script(program: Command) -> str:
    """The script that fish reads."""
    commands = [*program.walk()]
    paths = [" ".join(command.path) for command in commands if command.path]
    top = [command for command in program.commands if command.path != ("help",)]
    paths += [f"help {' '.join(command.path)}" for one in top for command in one.walk()]
    valued = [
        f"{' '.join(command.path)}:{name}"
        for command in commands
        for option in command.accepted_options
        if option.metavar
        for name in option.names
    ]
    lines = [line for command in commands for line in _lines(command)]
    for parent in (program, *(one for one in top if one.commands)):
        lines += [
            f"complete -c appliance -n {_is(('help', *parent.path), 0)} -a {inner.path[-1]} -d {_quoted(inner.summary)}"
            for inner in parent.commands
            if inner.path != ("help",)
        ]
    head = _HEAD.replace("@COMMANDS@", " ".join(map(_quoted, paths))).replace(
        "@VALUED@", " ".join(map(_quoted, valued))
    )
    return head + "\n" + "\n".join(lines) + "\n"


def _is(path: tuple[str, ...], arguments: int | None = None) -> str:
    return _quoted(f"__appliance_is {_quoted(' '.join(path))}" + ("" if arguments is None else f" {arguments}"))


def _lines(command: Command) -> Iterator[str]:
    for inner in command.commands:
        description = _quoted(inner.summary)
        yield f"complete -c appliance -n {_is(command.path, 0)} -a {inner.path[-1]} -d {description}"
    for option in command.accepted_options:
        yield f"complete -c appliance -n {_is(command.path)} {_option(option)} -d {_quoted(option.help)}"
    if command.path != ("help",):
        for number, argument in enumerate(command.accepted_arguments):
            if argument.values != Values():
                place = _is(command.path, None if argument.repeatable else number)
                yield f"complete -c appliance -n {place} {_offered(argument.values)}"


def _option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    if not option.metavar:
        return names
    return f"{names} {_offered(option.values)}" if option.values.paths == "file" else (
        f"{names} -x {_offered(option.values)}".rstrip()
    )  # fmt: skip


def _offered(values: Values) -> str:
    words = " ".join(values.choices)
    if values.paths == "folder":
        words = f"{words} (__fish_complete_directories)".strip()
    offered = f"-a {_quoted(words)}" if words else ""
    return f"-r -F {offered}".rstrip() if values.paths == "file" else offered


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
