"""``doctor``: what is wrong with the machine, the installation or the home, and what to do."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import flag

if TYPE_CHECKING:
    from appliance.doctor.checks import Check
    from appliance.paths import Home

FAILED_EXIT_CODE = 1
"""At least one check failed. The program itself has done all that it was asked to."""

MARKS = {True: "ok", False: "!!"}

MAX_WIDTH = 100
"""Cells of the longest line; in a pipe lines have as many as a small terminal."""


def doctor(
    airgap: Annotated[
        bool, flag("--airgap", "Run the program in a memory that is thrown away, and watch whether it reaches out.")
    ] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Check the machine, the installation and the home; changes nothing.

    Each line is a check: what was found and, if it is wrong, what to do. The memory is not opened, so that this works
    where the home is missing, damaged or in use. 'appliance verify' checks the messages themselves. The exit code is
    1 if a check fails.

    --airgap imports the sample exports, searches, builds a context, opens the screen, and serves over MCP and HTTP:
    in processes whose sockets are watched, and without a network where the system allows that. An attempt to reach
    another machine fails the check.

    \b
    Examples:
      appliance doctor
      appliance doctor --json | jq '.checks[] | select(.ok | not)'
      appliance doctor --airgap
    """  # fmt: skip
    from appliance.paths import find_home

    found = find_home(home)
    checks: list[Check] = []
    for check in _airgap(found) if airgap else _examine(found):
        checks.append(check)
        if not json:
            _print(check)
    wrong = sum(not check.ok for check in checks)
    if json:
        listed = [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix} for c in checks]
        output.print_json({"checks": listed, "ok": not wrong})
    elif wrong:
        output.say(f"{output.plural(wrong, 'check')} of {len(checks)} failed.")
    else:
        output.say(f"All {len(checks)} checks passed.")
    if wrong:
        raise typer.Exit(FAILED_EXIT_CODE)


def _examine(home: Home) -> Iterator[Check]:
    from appliance.doctor.examination import examine

    return examine(home)


def _airgap(home: Home) -> Iterator[Check]:
    from appliance.doctor import airgap
    from appliance.doctor.examination import load_settings, uses
    from appliance.doctor.stored import stored_facts

    settings, error = load_settings(home)
    if error is not None:
        raise error
    yield airgap.check_settings(uses(settings, stored_facts(home).models)[0])
    left = iter(airgap.RUNS)
    for check in airgap.airgap():
        yield check
        if output.is_terminal(sys.stderr) and (name := next(left, None)):
            output.say(f"running {name} …")


def _print(check: Check) -> None:
    for line in lines_of(check, min(shutil.get_terminal_size().columns, MAX_WIDTH)):
        if check.ok:
            output.print_line(line)
        else:
            output.print_styled(line, "bold red" if line.startswith(MARKS[False]) else "red")


def lines_of(check: Check, width: int) -> Iterable[str]:
    """The lines of a check: its mark, name and detail, and what to do below, within so many cells."""
    begin = f"{MARKS[check.ok]}  {check.name:<{NAME_WIDTH}}  "
    blank = " " * len(begin)
    yield from _wrapped(output.one_line(check.detail), begin, blank, width)
    for fix in (check.fix or "").splitlines():
        yield from _wrapped(output.one_line(fix), f"{blank}fix: ", f"{blank}     ", width)


def _wrapped(text: str, begin: str, blank: str, width: int) -> Iterable[str]:
    # A path or a command may be longer than a line: it is not broken, so that it can be copied.
    return textwrap.wrap(
        text, width, initial_indent=begin, subsequent_indent=blank, break_long_words=False, break_on_hyphens=False
    ) or [begin.rstrip()]


NAME_WIDTH = len("watched folders")
