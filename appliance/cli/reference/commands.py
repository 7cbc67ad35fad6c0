"""Every command with its options and arguments, read from the application itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

import typer

Paths = Literal["", "file", "folder"]
_PATH_METAVARS: Mapping[str, Paths] = {
    "DIR": "folder", "FOLDER": "folder", "FILE": "file", "PATH": "file", "SRC": "file",
}  # fmt: skip
_CHOICE = re.compile(r"[a-z][a-z_-]*")


@dataclass(frozen=True, slots=True)
class Values:
    """What a shell may offer for a value.

    Attributes:
        choices: Words. One that ends in "=" is a beginning.
        paths: Whether it can be a file, or a folder only.
    """

    choices: tuple[str, ...] = ()
    paths: Paths = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Attributes:
        names: As they are typed: ``("-k", "--limit")``.
        metavar: The name of its value; empty if it takes none.
        help: What ``--help`` says of it, with its default and its bounds.
        repeatable: Whether it may be given several times.
        opposites: Those of its names that turn it off: ``("--no-wait",)``.
    """

    names: tuple[str, ...]
    metavar: str
    help: str
    values: Values
    repeatable: bool
    opposites: tuple[str, ...] = ()

    def written(self, style: Callable[[str], str] = str) -> str:
        """Its names, each in a style: ``-k, --limit`` or ``--wait / --no-wait``."""
        names = [style(name) for name in self.names if name not in self.opposites]
        return " / ".join(filter(None, (", ".join(names), ", ".join(map(style, self.opposites)))))


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a command: ``[ID]…`` as the usage has it."""

    metavar: str
    help: str
    values: Values
    repeatable: bool
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        path: Its names, from the verb on; empty for the program.
        summary: Its first sentence.
        help: Its description: paragraphs, of which one that begins with a line ``\\b`` keeps its lines.
        usage: What stands behind its name: ``[OPTIONS] {QUERY}``.
        commands: Its own commands.
        default: Which of them is meant where none is named, as in ``backup FOLDER``; empty if none.
    """

    path: tuple[str, ...]
    summary: str
    help: str
    usage: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    commands: tuple[Command, ...]
    default: str = ""

    @property
    def name(self) -> str:
        return " ".join(("appliance", *self.path))

    @property
    def accepted_options(self) -> tuple[Option, ...]:
        """Its options, and those of its default command."""
        more = [option for one in self._defaults for option in one.options if option not in self.options]
        return (*self.options, *more)

    @property
    def accepted_arguments(self) -> tuple[Argument, ...]:
        """Its arguments, or those of its default command."""
        return self.arguments or tuple(argument for one in self._defaults for argument in one.arguments)

    @property
    def _defaults(self) -> Sequence[Command]:
        return [one for one in self.commands if one.path[-1] == self.default]

    def walk(self) -> Iterator[Command]:
        """This command and all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def read_commands() -> Command:
    """The program with all its commands."""
    from appliance.cli import app

    program: Any = typer.main.get_command(app.app)
    return _read(program, program.context_class(program, info_name="appliance", **program.context_settings), ())


def _read(command: Any, context: Any, path: tuple[str, ...]) -> Command:
    options, arguments = [], []
    for parameter in command.get_params(context):
        values = _values(parameter)
        if parameter.param_type_name == "argument":
            help = parameter.help or ""
            metavar, is_repeatable = parameter.make_metavar(context), parameter.nargs == -1
            arguments.append(Argument(metavar, help, values, is_repeatable, parameter.required))
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            names = (*parameter.opts, *parameter.secondary_opts)
            metavar = "" if parameter.is_flag else parameter.make_metavar(context)
            ordered = tuple(sorted(names, key=lambda name: name.startswith("--")))
            opposites = tuple(parameter.secondary_opts)
            options.append(Option(ordered, metavar, record[1], values, parameter.multiple, opposites))
    return Command(
        path,
        command.get_short_help_str(200),
        inspect.cleandoc(command.help or ""),
        " ".join(command.collect_usage_pieces(context)),
        tuple(options),
        tuple(arguments),
        tuple(
            _read(inner, inner.context_class(inner, info_name=name, parent=context), (*path, name))
            for name, inner in getattr(command, "commands", {}).items()
        ),
        getattr(command, "default_command", ""),
    )


def _values(parameter: Any) -> Values:
    """The values of a parameter, by its metavar: lower case is meant as it stands, upper case is a kind of value."""
    if getattr(parameter, "is_flag", False) or not parameter.metavar:
        return Values()
    metavar = parameter.metavar.strip("[]{}…. ")
    parts = metavar.split("|")
    name = parameter.opts[0] if parameter.param_type_name == "option" else ""
    choices = [part for part in parts if _CHOICE.fullmatch(part)]
    kinds: set[Paths] = {_PATH_METAVARS[part] for part in parts if part in _PATH_METAVARS}
    if known := KNOWN_VALUES.get((name, metavar)):
        choices += known()
    return Values(tuple(choices), "file" if "file" in kinds else "folder" if kinds else "")


def _formats() -> Sequence[str]:
    from appliance.formats import FORMATS

    return tuple(FORMATS)


def _fact_kinds() -> Sequence[str]:
    from appliance.types.vocabulary import FactKind

    return get_args(FactKind)


def _fact_states() -> Sequence[str]:
    from appliance.types.vocabulary import FactState

    return get_args(FactState)


def _statistics_units() -> Sequence[str]:
    from appliance.types.statistics import StatisticsUnit

    return get_args(StatisticsUnit)


def _layers() -> Sequence[str]:
    from appliance.types.vocabulary import SharingLayerName

    return [f"{layer}=" for layer in get_args(SharingLayerName)]


def _legs() -> Sequence[str]:
    from appliance.retrieval.weights import LEGS

    return LEGS


def _profiles() -> Sequence[str]:
    from appliance.retrieval.weights import BUILT_IN

    return tuple(BUILT_IN)


def _encodings() -> Sequence[str]:
    from appliance_models.encodings import TABLES

    return tuple(TABLES)


def _themes() -> Sequence[str]:
    from appliance.settings import TuiSettings

    return [theme for theme in get_args(get_type_hints(TuiSettings)["theme"]) if theme]


def _clients() -> Sequence[str]:
    from appliance.server.mcp.clients import CLIENTS

    return tuple(CLIENTS)


def _verbs() -> Sequence[str]:
    from appliance.cli.app import VERBS

    return [name for verbs in VERBS.values() for name in verbs]


KNOWN_VALUES: Mapping[tuple[str, str], Callable[[], Sequence[str]]] = {
    ("--source", "FORMAT"): _formats,
    ("--source", "FORMAT|PATH"): _formats,
    ("--format", "F"): _formats,
    ("--kind", "KIND"): _fact_kinds,
    ("--state", "STATE"): _fact_states,
    ("--by", "UNIT"): _statistics_units,
    ("--share", "LAYER=NUMBER"): _layers,
    ("--without", "LEG"): _legs,
    ("--profile", "NAME"): _profiles,
    ("--encoding", "NAME"): _encodings,
    ("--theme", "NAME"): _themes,
    ("", "CLIENT"): _clients,
    ("", "PAGE"): _verbs,
}
"""By the name of an option, none for an argument, and its metavar: where the words are that it takes."""
