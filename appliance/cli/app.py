"""The verbs in their groups, and the one place where an outcome becomes an exit code.

0 done · 1 done in part, or a bug · 2 wrong usage or settings · 3 the store refuses
4 not found · 5 a model is missing or damaged · 130 interrupted
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from appliance import __version__
from appliance.cli import (
    about,
    care,
    facts,
    find,
    forgetting,
    intake,
    keeping,
    mcp,
    measuring,
    models,
    out,
    read,
    screen,
    serving,
    sessions,
    summaries,
    tokens,
    tour,
    watching,
)
from appliance.errors import ApplianceError, StoreError

INTERRUPTED = 130
BUG = 1

MACHINE = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOSPC,
    errno.EPERM,
    errno.EROFS,
}
"""What the machine refuses; anything else that the system says is a slip of ours."""

# typer does not export the base of its usage errors, and has it from click or from itself by its version.
_USAGE: type[Any] = typer.BadParameter.__mro__[2]

VERBS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Begin": {"demo": tour.demo},
    "In": {"ingest": intake.ingest, "watch": watching.watch, "add": intake.add},
    "Out": {
        "search": find.search,
        "context": find.context,
        "sessions": sessions.verbs,
        "show": read.show,
        "summaries": summaries.verbs,
        "facts": facts.verbs,
        "export": read.export,
    },
    "Keep": {"pin": keeping.pin, "unpin": keeping.unpin, "correct": keeping.correct},
    "Care": {
        "status": care.status,
        "verify": care.verify,
        "reindex": care.reindex,
        "forget": forgetting.forget,
        "models": models.verbs,
        "tokens": tokens.verbs,
        "bench": measuring.verbs,
    },
    "Run": {"tui": screen.tui, "serve": serving.serve, "mcp": mcp.verbs},
    "About": {"config": about.config, "path": about.path, "version": about.version},
}


class Program(TyperGroup):
    """The whole command line: help by groups, every outcome as an exit code."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """The verbs under their groups' names."""
        for group, verbs in VERBS.items():
            with formatter.section(group):
                formatter.write_dl([(verb, self.commands[verb].get_short_help_str(200)) for verb in verbs])

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run and exit; typer's own way of ending knows neither our exit codes nor ``--json``."""
        sys.exit(outcome(self, sys.argv[1:] if args is None else list(args)))


def outcome(program: Program, arguments: list[str]) -> int:
    """Run one command line; what went wrong is told, and is an exit code."""
    out.prepare()
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
        _report_usage(error, as_json)
        return int(error.exit_code)
    except BrokenPipeError:
        # Whoever read us has had enough, and there is nobody to tell.
        out.let_go()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        out.say("\nInterrupted. What was committed stays; the same command goes on from there.")
        return INTERRUPTED
    except OSError as error:
        if error.errno not in MACHINE:
            traceback.print_exc()
            _report_bug(error, as_json)
            return BUG
        where = None if error.filename is None else out.path(error.filename)
        if where is None:  # a stream, and most likely our own stdout
            out.let_go()
        refusal = StoreError(error.strerror or str(error), where=where, hint="see to the disk and its rights")
        _report(refusal, as_json)
        return refusal.exit_code
    except Exception as error:
        traceback.print_exc()
        _report_bug(error, as_json)
        return BUG


def _report(error: ApplianceError, as_json: bool) -> None:
    out.say(f"error: {error}" + (f"\n  {error.hint}" if error.hint else ""))
    if as_json:
        _error_document(type(error).__name__, str(error.args[0]), error.where, error.hint)


def _report_usage(error: Any, as_json: bool) -> None:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "appliance"
    hint = f"'{command} --help' shows how"
    out.say(f"error: {error.format_message()}\n  {hint}")
    if as_json:
        _error_document("UsageError", error.format_message(), command, hint)


def _report_bug(error: Exception, as_json: bool) -> None:
    hint = (
        "this is a bug: please report it to the project's issue tracker, with the lines on stderr"
        " and what 'appliance version' prints"
    )
    out.say(f"\nerror: {type(error).__name__}: {error}\n  {hint}")
    if as_json:
        _error_document(type(error).__name__, str(error), None, hint)


def _error_document(kind: str, message: str, where: str | None, hint: str | None) -> None:
    out.document({"error": {"type": kind, "message": message, "where": where, "hint": hint}})


def _version(asked: bool) -> None:
    if asked:
        out.line(f"appliance {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """A memory of your own: chat exports in, the right memories out, all on this machine.

    \b
    Examples:
      appliance demo
      appliance ingest ~/Downloads/chatgpt-export.zip
      appliance search "when does the lease end"

    'appliance VERB --help' tells more about a verb. All is kept in one folder ('appliance path').
    """
    if context.invoked_subcommand is None:
        out.line(context.get_help())


def _build() -> typer.Typer:
    # Plain help: rich's would cost more time than all the rest of it.
    built = typer.Typer(
        name="appliance",
        cls=Program,
        callback=_root,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    for verbs in VERBS.values():
        for name, verb in verbs.items():
            if isinstance(verb, typer.Typer):
                built.add_typer(verb, name=name)
            else:
                built.command(name)(verb)
    return built


app = _build()
"""The typer application, for tests and for shells that complete."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        app(args=arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
