"""The verbs in their groups, and the only place that turns an outcome into an exit code.

0 done · 1 done in part, or a bug · 2 wrong usage or settings · 3 the store refuses
4 not found · 5 a model is missing or damaged · 130 interrupted
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from appliance import __version__
from appliance.cli import options, output
from appliance.cli.verb_group import MAX_HELP_CHARACTERS, describe_ranges, group_class
from appliance.errors import ApplianceError, OutOfMemory, StoreError, UsageError
from appliance.runtime.address_space import MEMORY_HINT

INTERRUPTED_EXIT_CODE = 130
BUG_EXIT_CODE = 1

MACHINE_ERRNOS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOSPC,
    errno.EPERM,
    errno.EROFS,
}
"""Errors of the machine; any other OSError is a bug of this program."""

_OF_DAMAGED_FILES = (ImportError, SyntaxError, AttributeError, NameError, ValueError, EOFError)
"""What Python raises for a module that is missing, or not as it was."""

# typer does not export the base of its usage errors; by version, it is click's or its own.
_USAGE: type[Any] = typer.BadParameter.__mro__[2]

VERBS: dict[str, dict[str, str]] = {
    "Getting started": {"demo": "demo.demo"},
    "Import": {
        "discover": "discover.discover",
        "ingest": "ingest.ingest",
        "watch": "watch.watch",
        "add": "ingest.add",
        "sources": "sources.verbs",
    },
    "Search and read": {
        "search": "search.search",
        "context": "search.context",
        "sessions": "sessions.verbs",
        "show": "show.show",
        "attachments": "attachments.verbs",
        "start-page": "start_page.start_page",
        "stats": "statistics.stats",
        "on-this-day": "statistics.on_this_day",
        "timeline": "statistics.timeline",
        "summaries": "summaries.verbs",
        "facts": "facts.verbs",
        "people": "people.verbs",
        "export": "show.export",
    },
    "Edit": {
        "pin": "pins.pin",
        "unpin": "pins.unpin",
        "feedback": "pins.feedback",
        "correct": "pins.correct",
        "tag": "tags.verbs",
        "core": "core.verbs",
    },
    "Maintain": {
        "status": "maintenance.status",
        "verify": "maintenance.verify",
        "doctor": "doctor.doctor",
        "reindex": "maintenance.reindex",
        "index": "index.verbs",
        "archive": "archive.verbs",
        "backup": "backup.verbs",
        "restore": "backup.restore",
        "recover": "recover.recover",
        "forget": "forget.forget",
        "secrets": "secrets.verbs",
        "models": "models.verbs",
        "tokens": "tokens.verbs",
        "bench": "bench.verbs",
    },
    "Run": {"tui": "tui.tui", "serve": "serve.serve", "service": "service.verbs", "mcp": "mcp.verbs"},
    "About": {
        "help": "help.show_help",
        "docs": "about.docs",
        "config": "about.config",
        "path": "about.path",
        "version": "about.version",
        "completion": "completion.completion",
    },
}
"""The verbs of each group, and where each lies in this package. A module is loaded when its verb is run or all are
listed: to load all of them takes longer than most verbs do."""

KIT_VERBS = {
    "rollback": "Go back to the version before an upgrade.",
    "uninstall": "Remove the program. Memories and backups stay.",
}
"""What the command that the offline kit installs does before it starts this program (``packaging/kit``)."""


class CommandGroup(TyperGroup):
    """The whole command line: help in groups, every outcome as an exit code."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        describe_ranges(self)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """List the verbs in their groups."""
        for group, verbs in VERBS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [(verb, self.commands[verb].get_short_help_str(MAX_HELP_CHARACTERS)) for verb in verbs]
                )
        if (Path(sys.prefix) / "installer").is_dir():
            with formatter.section("This installation"):
                formatter.write_dl(list(KIT_VERBS.items()))

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run and exit. typer's own method knows neither our exit codes nor ``--json``."""
        sys.exit(run_command(self, sys.argv[1:] if args is None else list(args)))


def run_command(program: CommandGroup, arguments: list[str]) -> int:
    """Run one command line, report an error, and return the exit code."""
    output.prepare_streams()
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        with program.make_context("appliance", arguments) as context:
            program.invoke(context)
        sys.stdout.flush()
        return 0
    except typer.Exit as ended:
        return ended.exit_code
    except ApplianceError as error:
        _report(error, as_json)
        return error.exit_code
    except _USAGE as error:
        _report_usage(error, as_json, _command_path(program, arguments))
        return int(error.exit_code)
    except BrokenPipeError:
        # The reader of stdout has ended, as "head" does.
        output.discard_stdout()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        output.say("\nInterrupted. Everything committed so far is kept; run the same command again to continue.")
        return INTERRUPTED_EXIT_CODE
    except OSError as error:
        if error.errno not in MACHINE_ERRNOS:
            return _report_bug(error, as_json)
        where = None if error.filename is None else output.display_path(error.filename)
        if where is None:  # a stream, most likely our own stdout
            output.discard_stdout()
        refusal = StoreError(f"{error.strerror or error}.", where=where, hint="Check the disk and its permissions.")
        _report(refusal, as_json)
        return refusal.exit_code
    except UnicodeEncodeError:
        if not (garbled := next((one for one in arguments if not _is_text(one)), None)):
            raise
        refused = UsageError(f"{ascii(garbled)[1:-1]} is not text in UTF-8.", hint="Type or paste it again.")
        _report(refused, as_json)
        return refused.exit_code
    except MemoryError:
        shortage = OutOfMemory("This process gets no more memory.", hint=MEMORY_HINT)
        _report(shortage, as_json)
        return shortage.exit_code
    except Exception as error:
        return _report_bug(error, as_json)


def _is_text(argument: str) -> bool:
    """Whether an argument was valid UTF-8: Python keeps other bytes as halves of surrogate pairs."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _report(error: ApplianceError, as_json: bool) -> None:
    output.say_error(str(error), error.hint)
    if as_json:
        _print_error(type(error).__name__, str(error.args[0]), error.where, error.hint)


def _command_path(program: CommandGroup, arguments: Sequence[str]) -> str:
    """The command that arguments name, with its groups: not every usage error says of which one it is."""
    names, command = ["appliance"], cast("Any", program)
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument)
        if command is None:
            break
        names.append(argument)
    return " ".join(names)


def _report_usage(error: Any, as_json: bool, named: str) -> None:
    from appliance.cli.usage_errors import usage_hint, usage_text

    context = getattr(error, "ctx", None)
    command = context.command_path if context else named
    text, hint = usage_text(error), usage_hint(error, named)
    output.say_error(text, hint)
    if as_json:
        _print_error("UsageError", text, command, hint)


def _report_bug(error: Exception, as_json: bool) -> int:
    if isinstance(error, _OF_DAMAGED_FILES) and (refusal := _damaged_program(error)):
        _report(refusal, as_json)
        return refusal.exit_code
    hint = "This is a bug. Please report it with the lines above and the output of 'appliance version'."
    traceback.print_exc()
    output.say("")
    output.say_error(f"{type(error).__name__}: {error}", hint)
    if as_json:
        _print_error(type(error).__name__, str(error), None, hint)
    return BUG_EXIT_CODE


def _damaged_program(error: Exception) -> ApplianceError | None:
    """What to say of an error if files of the program are damaged."""
    from appliance.doctor.files import damage

    if (check := damage(error)) is None:
        return None
    return ApplianceError(f"The program's files are damaged ({error}): {check.detail}.", hint=check.fix)


def _print_error(kind: str, message: str, where: str | None, hint: str | None) -> None:
    output.print_json({"error": {"type": kind, "message": message, "where": where, "hint": hint}})


def _print_version(requested: bool) -> None:
    if requested:
        from appliance.build_commit import build_commit

        commit = build_commit()
        output.print_line(f"appliance {__version__}" + (f" ({commit[:10]})" if commit else ""))
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    profile: options.MachineProfile = None,
) -> None:
    """Your own memory: import chat exports, then search them. Everything stays on this machine.

    \b
    Examples:
      appliance demo
      appliance ingest ~/Downloads/chatgpt-export.zip
      appliance search "when does the lease end"

    'appliance help VERB' describes a verb. The memory is one folder; 'appliance path' shows where.
    """
    if context.invoked_subcommand is None:
        output.print_line(context.get_help())


def build(only: str | None = None) -> typer.Typer:
    """The command line, with all verbs or with one: to read the signatures of all takes longer than most verbs do."""
    # Plain help: rich's would take longer than everything else.
    built = typer.Typer(
        name="appliance",
        cls=CommandGroup,
        callback=_root,
        invoke_without_command=True,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for verbs in VERBS.values():
        for name, place in verbs.items():
            if only not in (None, name):
                continue
            verb = _load(place)
            if isinstance(verb, typer.Typer):
                built.add_typer(verb, name=name, cls=group_class(verb))
            else:
                built.command(name)(verb)
    return built


def is_verb(name: str) -> bool:
    return any(name in verbs for verbs in VERBS.values())


def _load(place: str) -> Callable[..., None] | typer.Typer:
    module, _, name = place.partition(".")
    verb: Callable[..., None] | typer.Typer = getattr(import_module(f"appliance.cli.{module}"), name)
    return verb


def __getattr__(name: str) -> Any:
    """``app``: the typer application with all verbs, for tests and for shell completion."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    built = globals()[name] = build()
    return built


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    named = [*arguments[2 if arguments[:1] == ["--profile"] else 0 :]][:1]
    verb = named[0] if named and is_verb(named[0]) else None
    try:
        build(verb)(args=arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
