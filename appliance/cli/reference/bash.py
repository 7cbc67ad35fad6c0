"""The completion for bash, from version 3.2 on (macOS has it), with or without the package bash-completion."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from appliance.cli.reference.commands import Command, Values

_Fact = TypeVar("_Fact")

_SCRIPT = """\
# Completion of 'appliance' for bash. Written by 'appliance completion bash'.

_appliance_commands() {
  case "$1" in
@COMMANDS@
    *) commands= ;;
  esac
}

_appliance_options() {
  case "$1" in
@OPTIONS@
  esac
}

_appliance_takes_value() {
  case "$1:$2" in
@VALUED@
    *) return 1 ;;
  esac
}

_appliance_values() {
  choices= paths=
  case "$1:$2" in
@VALUES@
  esac
}

_appliance() {
  local current=${COMP_WORDS[COMP_CWORD]} prefix= command= option= position=0 is_help= only_arguments= word i
  local commands options choices paths IFS=$' \\t\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      # '--mode=hybrid' comes as three words.
      [[ $word == = ]] || option=
      continue
    elif [[ -n $only_arguments ]]; then
      position=$((position + 1))
      continue
    elif [[ $word == -- ]]; then
      only_arguments=1
      continue
    elif [[ $word == -* ]]; then
      if _appliance_takes_value "$command" "$word"; then option=$word; fi
      continue
    elif [[ -z $command && -z $is_help && $word == help ]]; then
      is_help=1
      continue
    fi
    _appliance_commands "$command"
    if [[ -n $word && $position == 0 && " $commands " == *" $word "* ]]; then
      command="${command:+$command }$word"
    else
      position=$((position + 1))
    fi
  done
  if [[ -n $option && $current == = ]]; then current=; fi
  if [[ -z $option && -z $only_arguments && $current == --*=* ]]; then
    option=${current%%=*} prefix=${current%%=*}= current=${current#*=}
  fi
  if [[ -n $option ]]; then
    _appliance_values "$command" "$option"
  elif [[ -n $is_help ]]; then
    _appliance_commands "$command"
    choices=$commands paths=
  elif [[ $current == -* && -z $only_arguments ]]; then
    _appliance_options "$command"
    choices=$options paths=
  else
    _appliance_values "$command" "$position"
    _appliance_commands "$command"
    if [[ $position == 0 ]]; then choices="$choices $commands"; fi
  fi
  if [[ $choices == *= ]]; then compopt -o nospace 2>/dev/null; fi
  COMPREPLY=($(compgen -P "$prefix" -W "$choices" -- "$current"))
  # Left to readline, which quotes names and knows '~'; else, as in bash 3.2, names as they are.
  IFS=$'\\n'
  if [[ $paths == file && -z $prefix ]]; then
    compopt -o default 2>/dev/null || COMPREPLY+=($(compgen -f -- "$current"))
  elif [[ $paths == folder && -z $prefix ]]; then
    compopt -o dirnames 2>/dev/null || COMPREPLY+=($(compgen -d -- "$current"))
  elif [[ -n $paths ]]; then
    COMPREPLY+=($(compgen -P "$prefix" -A "${paths/folder/directory}" -- "$current"))
  fi
}

complete -F _appliance appliance
"""


def script(program: Command) -> str:
    """The script that bash reads."""
    commands = [*program.walk()]
    lines = {
        "@COMMANDS@": [
            _line(_path(one), f"commands={_words(inner.path[-1] for inner in one.commands)}")
            for one in commands
            if one.commands
        ],
        "@OPTIONS@": [
            _line(_path(one), f"options={_words(name for option in one.accepted_options for name in option.names)}")
            for one in commands
        ],
        "@VALUED@": [
            _line(pattern, "return 0") for pattern, is_valued in _uniform(_valued(commands)).items() if is_valued
        ],
        "@VALUES@": [
            _line(pattern, f"choices={_words(values.choices)} paths={values.paths}")
            for pattern, values in _uniform(_values(commands)).items()
            if values != Values()
        ],
    }
    text = _SCRIPT
    for place, written in lines.items():
        text = text.replace(place, "\n".join(written))
    return text


def _line(pattern: str, action: str) -> str:
    return f"    {pattern}) {action} ;;"


def _path(command: Command) -> str:
    return shlex.quote(" ".join(command.path))


def _words(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _valued(commands: Iterable[Command]) -> Iterator[tuple[str, str, bool]]:
    for command in commands:
        for option in command.accepted_options:
            for name in option.names:
                yield _path(command), name, bool(option.metavar)


def _values(commands: Iterable[Command]) -> Iterator[tuple[str, str, Values]]:
    for command in commands:
        for option in command.accepted_options:
            for name in option.names:
                yield _path(command), name, option.values
        for number, argument in enumerate(command.accepted_arguments):
            yield _path(command), f"[{number}-9]*" if argument.repeatable else str(number), argument.values


def _uniform(facts: Iterable[tuple[str, str, _Fact]]) -> Mapping[str, _Fact]:
    """Patterns of "command:name" with what holds for them. What holds for an option wherever it is, is said once."""
    by_name: dict[str, list[tuple[str, _Fact]]] = defaultdict(list)
    for path, name, fact in facts:
        by_name[name].append((path, fact))
    patterns: dict[str, _Fact] = {}
    for name, found in by_name.items():
        if name.startswith("-") and all(fact == found[0][1] for _, fact in found):
            patterns[f"*:{name}"] = found[0][1]
        else:
            patterns |= {f"{path}:{name}": fact for path, fact in found}
    return patterns
