"""Errors of the command line in plain words: those of its parser name types and ranges as a programmer would."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (
            r"Invalid value for (?P<option>.+?): (?P<value>\S+) is not in the range (?P<range>.+?)\.?",
            lambda found: f"{_option(found['option'])} must be {found['range']}, not {found['value']}.",
        ),
        (
            r"Invalid value for (?P<option>.+?): (?P<value>'.*') is not a valid (?P<kind>int|float)\w*(?: range)?\.?",
            lambda found: (
                f"{_option(found['option'])} must be a {'whole ' * (found['kind'] == 'int')}number, not"
                f" {found['value']}."
            ),
        ),
        (r"Option '(?P<option>.+)' requires an argument\.?", lambda found: f"{found['option']} needs a value."),
        (
            r"No such option: (?P<option>\S+)(?: Did you mean (?P<one>\S+?)\?| \(Possible options: (?P<some>.*)\))?",
            lambda found: _no_option(found["option"], found["one"] or found["some"] or ""),
        ),
    )
)


_WORDS = re.compile(r"^\[?(QUERY|TEXT|TITLE|VALUE|PERSON|NAME|SUBJECT)\b")
"""The metavar of an argument in which there may be spaces."""


def usage_text(error: Any) -> str:
    """The text of an error of the parser."""
    text = str(error.format_message())
    context = getattr(error, "ctx", None)
    if context is not None and (extra := re.fullmatch(r"Got unexpected extra arguments? ?\((.*)\)", _plural(text))):
        return f"'{context.command_path}' does not take '{extra[1]}'."
    return next((word(found) for pattern, word in _RULES if (found := pattern.fullmatch(text))), text)


def usage_hint(error: Any, named: str) -> str:
    """What to do about an error of the parser. ``named`` is the command that was named, which not every one knows."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else named
    hint = f"See '{command} --help'."
    text = str(error.format_message())
    if context is None:
        return hint
    verbs = list(getattr(context.command, "commands", ()))
    if text.startswith("Got unexpected extra argument"):
        return f"{_extra_hint(context.command.params)}{hint}"
    if text.startswith("No such option") and context.parent is None:
        return f"Options stand behind the command, as in 'appliance search wifi --limit 3'. {hint}"
    if text.startswith("No such command") and context.parent is not None and "Did you mean" not in text:
        alone = f", or nothing ('{command}')" if getattr(context.command, "invoke_without_command", False) else ""
        return f"It takes {', '.join(verbs)}{alone}. {hint}"
    return hint


def _extra_hint(params: Sequence[Any]) -> str:
    """What to do about words that a command does not take."""
    options = {part.name for part in params if str(part.opts[0]).startswith("--")}
    if {"attribute", "value"} <= options:
        return "Give one sentence in quotation marks, or an attribute with --attribute NAME --value VALUE. "
    takes_words = any(_WORDS.search(str(getattr(part, "metavar", ""))) for part in params)
    return "Put text with spaces in quotation marks. " if takes_words else ""


def _plural(text: str) -> str:
    return text.replace("argument(s)", "arguments")


def _option(names: str) -> str:
    """The name of an option of which several are quoted: "'--limit' / '-k'"."""
    return names.split(" / ")[0].strip("'")


def _no_option(option: str, others: str) -> str:
    meant = ", ".join(part.strip() for part in others.split(",") if part.strip())
    return f"There is no option {option}." + (f" Did you mean {meant}?" if meant else "")
