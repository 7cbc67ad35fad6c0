"""What a person works in: language and encoding, and the terminal."""

from __future__ import annotations

import locale
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.doctor.checks import Check, Fault, failed, judged, passed

MIN_COLUMNS, MIN_LINES = 80, 24
"""The screen shows less in a smaller one."""

_UTF8 = frozenset({"utf-8", "utf8", "cp65001"})


@dataclass(frozen=True, slots=True)
class LocaleFacts:
    """The encodings of files' names, of text and of what is printed, and the locale by its variables."""

    file_names: str
    text: str
    output: str
    language: str


def locale_facts(environment: Mapping[str, str] | None = None) -> LocaleFacts:
    environment = os.environ if environment is None else environment
    language = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), "")
    return LocaleFacts(
        sys.getfilesystemencoding(), locale.getencoding(), getattr(sys.stdout, "encoding", None) or "utf-8", language
    )


def check_locale(facts: LocaleFacts) -> Check:
    """Whether names and texts in all languages pass."""
    wrong = {
        "file names": facts.file_names, "printed text": facts.output,
    }  # fmt: skip
    wrong = {what: encoding for what, encoding in wrong.items() if encoding.lower() not in _UTF8}
    language = f"locale {facts.language}" if facts.language else "no locale is set"
    if wrong:
        named = ", ".join(f"{what} in {encoding}" for what, encoding in wrong.items())
        breaks = (
            "names such as 'Gespräch.zip' may not open"
            if "file names" in wrong
            else "other characters print as escapes"
        )
        return failed("locale", f"{named} ({language}): {breaks}", "Set a UTF-8 locale: 'export LC_ALL=C.UTF-8'.")
    return passed("locale", f"{facts.file_names}, {language}")


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """What stdout is connected to.

    Attributes:
        is_terminal: Whether stdin and stdout are a terminal.
        kind: TERM.
        colours: COLORTERM.
        columns, lines: Its size.
        in_tmux: Whether tmux runs it.
        no_colour: Whether NO_COLOR is set.
    """

    is_terminal: bool
    kind: str
    colours: str
    columns: int
    lines: int
    in_tmux: bool
    no_colour: bool


def terminal_facts(environment: Mapping[str, str] | None = None) -> TerminalFacts:
    environment = os.environ if environment is None else environment
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    columns, lines = shutil.get_terminal_size()
    return TerminalFacts(
        is_terminal, environment.get("TERM", ""), environment.get("COLORTERM", ""), columns, lines,
        bool(environment.get("TMUX")), bool(environment.get("NO_COLOR")),
    )  # fmt: skip


def check_terminal(facts: TerminalFacts) -> Check:
    """Whether the screen can be drawn in it."""
    if not facts.is_terminal:
        return passed("terminal", "this is none; 'appliance tui' needs one, other verbs do not")
    faults = []
    if facts.kind in ("", "dumb", "unknown") and sys.platform != "win32":
        faults.append(
            Fault(
                f"TERM is {facts.kind or 'not set'}, so that the screen can't move its cursor",
                "Use another terminal, or set TERM: 'export TERM=xterm-256color'.",
            )
        )
    elif facts.in_tmux and not facts.kind.startswith(("tmux", "screen")):
        faults.append(
            Fault(
                f"TERM is {facts.kind} within tmux, so that keys and colours may be wrong",
                "Write 'set -g default-terminal tmux-256color' into ~/.tmux.conf, and do not set TERM in the shell.",
            )
        )
    size = f"{facts.columns} x {facts.lines}"
    if facts.columns < MIN_COLUMNS or facts.lines < MIN_LINES:
        size += f", small: the screen wants {MIN_COLUMNS} x {MIN_LINES}"
    return judged("terminal", (facts.kind, size, _colours(facts)), faults)


def _colours(facts: TerminalFacts) -> str:
    if facts.no_colour:
        return "no colours, by NO_COLOR"
    if facts.colours in ("truecolor", "24bit"):
        return "all colours"
    return "256 colours" if "256" in facts.kind else "16 colours"
