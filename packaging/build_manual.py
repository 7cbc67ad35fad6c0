"""Writes the manual pages and the completions, from the command line itself.

    python packaging/build_manual.py [--output build/manual]

``man/man1/appliance.1`` describes the program, ``appliance-VERB.1`` a verb with its commands; ``completions`` has the
files for bash, zsh and fish. They are dated by the last commit, or by SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("", "models", "tui")]  # these sources, whatever is installed

from appliance import __version__  # noqa: E402
from appliance.cli import app  # noqa: E402
from appliance.cli.reference.commands import Argument, Command, Option, read_commands  # noqa: E402
from appliance.cli.reference.shells import SCRIPTS  # noqa: E402

COMPLETIONS = {"bash": "appliance.bash", "zsh": "_appliance", "fish": "appliance.fish"}
"""The name of the file of each shell."""

EVERYWHERE = ("--home", "--json", "--help")
"""Options of every command, which appliance(1) describes."""

_WIDTH = 72
_ESCAPES = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
}  # fmt: skip

EXIT_CODES = (
    ("0", "Done."),
    ("1", "Done in part: some inputs failed, and each is named. Or a bug in the program."),
    ("2", "Wrong usage, or wrong settings."),
    ("3", "The store refuses: it is in use, damaged, of a newer version, or can't be written."),
    ("4", "Not found."),
    ("5", "A model is missing or damaged."),
    ("130", "Interrupted. What was committed until then is kept."),
)

ENVIRONMENT = (
    ("APPLIANCE_HOME", "The folder of the memory, unless --home names one."),
    (
        "APPLIANCE_SECTION_NAME",
        "A setting, in place of that of config.toml: APPLIANCE_CONTEXT_BUDGET is the budget of [context]. 'appliance"
        " config' lists all settings.",
    ),
    ("APPLIANCE_BACKUP_PASSPHRASE", "The passphrase of encrypted backups, which is asked for otherwise."),
    ("VISUAL, EDITOR", "What 'appliance core edit' opens a block with."),
    ("NO_COLOR", "If it is set and not empty, nothing is coloured."),
)

FILES = (
    ("~/.local/share/appliance", "The memory on Linux. 'appliance path' lists the locations of all its files."),
    ("config.toml", "Its settings, in the folder of the memory."),
    ("recall.db", "The messages and all that is known of them. Vectors and index are made from it."),
)


def build(into: Path, epoch: int | None = None) -> None:
    """Write ``man/man1`` and ``completions`` into a folder.

    Args:
        epoch: The date of the pages, in seconds since 1970; by default that of the last commit.
    """
    program = read_commands()
    date = datetime.fromtimestamp(_epoch() if epoch is None else epoch, UTC).date().isoformat()
    pages, completions = into / "man/man1", into / "completions"
    for folder in (pages, completions):
        folder.mkdir(parents=True, exist_ok=True)
    _write(pages / "appliance.1", program_page(program, date))
    for verb in program.commands:
        _write(pages / f"appliance-{verb.path[0]}.1", verb_page(verb, date))
    for shell, name in COMPLETIONS.items():
        _write(completions / name, SCRIPTS[shell](program))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _epoch() -> int:
    if stated := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(stated)
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(git, check=True, capture_output=True, text=True).stdout)


def program_page(program: Command, date: str) -> str:
    """appliance(1)."""
    paragraphs, examples = _parts(program.help)
    by_name = {verb.path[0]: verb for verb in program.commands}
    lines = [
        *_title("appliance", date),
        *_section("NAME", f"appliance \\- {_escaped(_lower('An offline memory of your own conversations'))}"),
        *_section("SYNOPSIS", ".B appliance", ".I VERB", _escaped("[OPTIONS] [ARGUMENTS]"), ".br",
                  ".B appliance help", _escaped("[VERB]")),
        *_section("DESCRIPTION", *_paragraphs(paragraphs)),
        *_section("VERBS"),
    ]  # fmt: skip
    for group, names in app.VERBS.items():
        lines += [f".SS {_escaped(group)}"]
        for name in names:
            lines += [".TP", f".BR appliance\\-{_escaped(name)} (1)", *_text(by_name[name].summary)]
    everywhere = [option for option in by_name["status"].options if option.names[0] in EVERYWHERE]
    version = [option for option in program.options if option.names == ("--version",)]
    lines += _section("OPTIONS", *_text("Every verb takes these:"), *_options(everywhere), ".PP",
                      *_text("The program itself takes:"), *_options(version))  # fmt: skip
    lines += _section("ENVIRONMENT", *_terms(ENVIRONMENT))
    lines += _section("FILES", *_terms(FILES))
    lines += _section("EXIT STATUS", *_terms(EXIT_CODES))
    lines += _section("EXAMPLES", *_literal(examples))
    verbs = [f".BR appliance\\-{_escaped(name)} (1)" for name in ("ingest", "search", "tui", "mcp", "backup")]
    lines += _section("SEE ALSO", *_separated(verbs))
    return _page(lines)


def verb_page(verb: Command, date: str) -> str:
    """appliance-VERB(1)."""
    paragraphs, examples = _parts(verb.help)
    lines = [
        *_title(f"appliance-{verb.path[0]}", date),
        *_section("NAME", *_text(f"appliance-{verb.path[0]} - {_lower(verb.summary)}")),
        *_section("SYNOPSIS", *_synopsis(verb)),
        *_section("DESCRIPTION", *_paragraphs(paragraphs)),
        *_arguments(verb, ".SH ARGUMENTS"),
        *_section("OPTIONS", *_options(_own(verb)), *([".PP"] if _own(verb) else []), *_common_options()),
    ]
    if verb.commands:
        lines.append(".SH COMMANDS")
        for command in verb.commands:
            said, shown = _parts(command.help)
            lines += [f".SS {_escaped(command.name)} {_escaped(command.usage)}", *_paragraphs(said)]
            lines += [*_arguments(command, ""), *_options(_own(command))]
            lines += [".PP", *_literal(shown)] if shown else []
    if examples:
        lines += _section("EXAMPLES", *_literal(examples))
    lines += _section("SEE ALSO", ".BR appliance (1)")
    return _page(lines)


# --- the parts of a page -------------------------------------------------------------------------------------


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _title(name: str, date: str) -> Iterator[str]:
    yield '.\\" Written by packaging/build_manual.py from the command line itself.'
    yield f'.TH {name.upper()} 1 {date} "Memory appliance {__version__}" "Memory appliance"'
    yield ".nh"  # an option that is hyphenated can't be copied
    yield ".ad l"


def _section(heading: str, *lines: str) -> Iterator[str]:
    yield f".SH {heading}"
    yield from lines


def _synopsis(verb: Command) -> Iterator[str]:
    yield f".B {_escaped(verb.name)}"
    yield _escaped(verb.usage)
    for command in verb.commands:
        yield ".br"
        yield f".B {_escaped(command.name)}"
        yield _escaped(command.usage)


def _arguments(command: Command, heading: str) -> Iterator[str]:
    described = [argument for argument in command.arguments if argument.help]
    if described and heading:
        yield heading
    for argument in described:
        yield from (".TP", f".I {_escaped(_bare(argument))}", *_text(argument.help))


def _bare(argument: Argument) -> str:
    return argument.metavar.strip("[]{}…")


def _own(command: Command) -> Sequence[Option]:
    return [option for option in command.options if option.names[0] not in EVERYWHERE]


def _options(options: Iterable[Option]) -> Iterator[str]:
    for option in options:
        names = option.written(lambda name: f"\\fB{_escaped(name)}\\fR")
        yield from (".TP", f"{names} \\fI{_escaped(option.metavar)}\\fR" if option.metavar else names)
        yield from _text(option.help)


def _common_options() -> Iterator[str]:
    names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in EVERYWHERE)
    yield f"{names}: see"
    yield ".BR appliance (1)."


def _terms(terms: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in terms:
        yield from (".TP", f".B {_escaped(term)}", *_text(text))


def _separated(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"{line} ," if number < len(lines) else line for number, line in enumerate(lines, 1))


def _parts(help: str) -> tuple[Sequence[str], Sequence[str]]:
    """The paragraphs of a description, and the lines of its examples."""
    paragraphs: list[str] = []
    examples: list[str] = []
    for paragraph in help.split("\n\n"):
        if paragraph.startswith("\b\nExamples:"):
            examples += [line.strip() for line in paragraph.splitlines()[2:]]
        elif paragraph.startswith("\b\n"):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return paragraphs, examples


def _paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield from _literal(paragraph.splitlines()[1:]) if paragraph.startswith("\b\n") else _text(paragraph)


def _literal(lines: Iterable[str]) -> Iterator[str]:
    yield from (".nf", *(_escaped(line) for line in lines), ".fi")


def _text(text: str) -> list[str]:
    """Filled text, a sentence on a line of its own."""
    lines = []
    for sentence in re.split(r"(?<=[.;:]) +(?=[A-Z'\-])", " ".join(text.split())):
        lines += textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [_escaped(line) for line in lines]


def _lower(text: str) -> str:
    """A sentence as the NAME section has it."""
    return (text[0].lower() + text[1:]).rstrip(".")


def _escaped(text: str) -> str:
    """Text as roff reads it: in ASCII, and no line is taken for a request."""
    escaped = "".join(_ESCAPES.get(sign, sign if sign.isascii() else f"\\[u{ord(sign):04X}]") for sign in text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build/manual")
    build(parser.parse_args().output)


if __name__ == "__main__":
    main()
