"""The completion for zsh: a file ``_appliance`` for its ``fpath``, which can be sourced as well."""

from __future__ import annotations

import re
from collections.abc import Iterator

from appliance.cli.reference.commands import Argument, Command, Option, Values

_HEAD = """\
#compdef appliance
# Completion of 'appliance' for zsh. Written by 'appliance completion zsh'.

_appliance_words_or_files() {
  local -a offered
  offered=("$@")
  _alternative 'values:value:compadd -a offered' 'files:file:_files'
}

_appliance_commands_or_files() {
  _alternative "commands:command:$1" 'files:file:_files'
}
"""

_HELP = """\
_appliance_help() {
  if (( CURRENT == 2 )); then
    _appliance_commands
  elif (( CURRENT == 3 )) && (( $+functions[_appliance_commands_${words[2]}] )); then
    _appliance_commands_${words[2]}
  else
    _message 'no more commands'
  fi
}
"""

_TAIL = """\
if [[ $funcstack[1] == _appliance ]]; then
  _appliance "$@"
else
  compdef _appliance appliance
fi
"""


def script(program: Command) -> str:
    """The script that zsh reads."""
    parts = [_HEAD]
    for command in program.walk():
        if command.commands:
            parts.append(_list(command))
        if command.path != ("help",):
            parts.append(_function(command))
    return "\n".join([*parts, _HELP, _TAIL])


def _identifier(command: Command, prefix: str = "_appliance") -> str:
    return "_".join((prefix, *command.path))


def _list(command: Command) -> str:
    """The function that offers the commands of a command."""
    lines = [f"    {_quoted(f'{inner.path[-1]}:{inner.summary}')}" for inner in command.commands]
    return "\n".join([
        f"{_identifier(command, '_appliance_commands')}() {{", "  local -a commands", "  commands=(", *lines, "  )",
        "  _describe -t commands command commands", "}", "",
    ])  # fmt: skip


def _function(command: Command) -> str:
    """The function that completes the words behind a command."""
    specs = [spec for option in command.accepted_options for spec in _option(option)]
    begin, end = f"{_identifier(command)}() {{", ["}", ""]
    if not command.commands:
        specs += [_argument(number, argument) for number, argument in enumerate(command.arguments, 1)]
        return "\n".join([begin, " \\\n    ".join(["  _arguments -S :", *specs]), *end])
    offering = _identifier(command, "_appliance_commands")
    if command.accepted_arguments:  # of the default command: "backup FOLDER"
        offering = f' _appliance_commands_or_files "{offering}"'
    specs += [_quoted(f"1:command:{offering}"), "'*::argument:->command'"]
    cases = [f"    {inner.path[-1]}) {_identifier(inner)} && result=0 ;;" for inner in command.commands]
    return "\n".join([
        begin, '  local curcontext="$curcontext" state line result=1', "  typeset -A opt_args",
        " \\\n    ".join(["  _arguments -C -S :", *specs]) + " && result=0",
        "  [[ $state == command ]] || return result",
        f'  curcontext="${{curcontext%:*}}:appliance{"".join(f"-{name}" for name in command.path)}-$line[1]:"',
        "  case $line[1] in", *cases, "  esac", "  return result", *end,
    ])  # fmt: skip


def _option(option: Option) -> Iterator[str]:
    """The specifications of ``_arguments`` for the names of an option."""
    for name in option.names:
        again = "*" if option.repeatable else f"({' '.join(option.names)})" if len(option.names) > 1 else ""
        behind = "" if not option.metavar else "=" if name.startswith("--") else "+"
        value = f":{_escaped(option.metavar)}:{_action(option.values)}" if option.metavar else ""
        yield _quoted(f"{again}{name}{behind}[{_escaped(_sentence(option.help))}]{value}")


def _argument(number: int, argument: Argument) -> str:
    place = "*" if argument.repeatable else str(number)
    return _quoted(f"{place}:{_escaped(argument.metavar)}:{_action(argument.values)}")


def _action(values: Values) -> str:
    """What offers the values. With a space before it, zsh calls it as it stands."""
    if values.paths == "folder":
        return "_files -/"
    if values.paths:
        return f" _appliance_words_or_files {' '.join(values.choices)}" if values.choices else "_files"
    if any(choice.endswith("=") for choice in values.choices):
        return f' compadd -S "" -- {" ".join(values.choices)}'
    return f"({' '.join(values.choices)})" if values.choices else " "


def _sentence(text: str) -> str:
    """The first sentence: the list of options is one line for each."""
    return re.split(r"(?<=[.;:]) ", text, maxsplit=1)[0].rstrip(".;:")


def _escaped(text: str) -> str:
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
