"""How-to sequences that worked: what somebody asked how to do, the steps that they were given or that were run, and
the words that say that it worked. All of it is quoted.

A procedure ends with its confirmation and is read backwards from there: the steps stand between it and the question
or error that they answer. Whatever is in doubt is none: an outcome that only thanks, steps behind a failure, a list of
choices, something else that helped in the end.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from appliance.memory import howto
from appliance.memory.howto import is_how_to
from appliance.types import Message, Quote

__all__ = ["Draft", "Procedure", "Stretch", "draft", "find", "is_how_to", "read", "stretches"]

LOOK_BACK = 12
"""Messages of talk before the confirmation among which its question must be: who asked longer ago has had other
things in between."""

BETWEEN = 1
"""Further turns of the person between the steps and the word that they worked, such as where to find something."""

SHORTEST_REQUEST = 3
"""Words of a request; less is "go on", and says not what was done."""

END = 64
"""Characters at either end of a turn that tell whether it takes something back."""

MOST_STEPS = 40
LONGEST_STEP = 2_000
"""Characters of a step; of a longer one its beginning is quoted, up to the end of a line."""

MOST_RECORDS = 400
"""Records of tools between a question and its confirmation that are read, the latest."""

CHANGED = 2
"""So many commands that change something must have been run where nobody but the program says that all went well."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """Steps that worked: ``goal`` is the question or the error, ``confirmed`` where it is said that they worked. It
    covers the ``messages`` from ``first`` to ``last``, by their ids."""

    goal: Quote
    steps: tuple[Quote, ...]
    confirmed: Quote
    first: str
    last: str
    messages: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a procedure may be: from the question (``goal``) to what tells the ``outcome``, by their places in the
    talk. Steps count behind ``failed``, the last word that something failed, else the question. ``requested`` says that
    it is no question but something that was to be done; ``confirmed`` is where the outcome says that it worked."""

    goal: int
    failed: int
    outcome: int
    requested: bool
    confirmed: howto.Found | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A procedure as a summary of level "procedure" is made of it."""

    text: str
    quotes: tuple[Quote, ...]
    metadata: Mapping[str, Any]
    first: str
    last: str
    messages: int


def find(messages: Sequence[Message]) -> list[Procedure]:
    """The procedures of a conversation: its messages in order, with the records of tools between them."""
    said = [message for message in messages if is_said(message)]
    place = {message.id: number for number, message in enumerate(messages)}
    ran = {
        number for number, (one, other) in enumerate(pairwise(said), 1) if place[other.id] - place[one.id] > 1
    }
    found = []
    for stretch in stretches(said, ran):
        after, until = place[said[stretch.failed].id], place[said[stretch.outcome].id]
        procedure = read(stretch, said, [m for m in messages[after:until] if m.role == "tool"])
        if procedure is not None:
            found.append(procedure)
    return found


def draft(procedure: Procedure) -> Draft:
    """A procedure as it is stored and searched: the question, then its steps, a line each."""
    goal, steps = _line(procedure.goal.text), [_line(step.text) for step in procedure.steps]
    return Draft(
        text="\n".join([goal, *steps]),
        quotes=(procedure.goal, *procedure.steps, procedure.confirmed),
        metadata={"goal": goal, "steps": steps, "confirmed": _line(procedure.confirmed.text)},
        first=procedure.first,
        last=procedure.last,
        messages=procedure.messages,
    )


def _line(text: str) -> str:
    return " ".join(text.split())


# --- where one may be --------------------------------------------------------------------------------


def stretches(said: Sequence[Message], ran: Container[int] = ()) -> Iterator[Stretch]:
    """Where procedures may be, in the order of the conversation. ``said`` is what was said in the open, ``ran`` the
    places in it that have records of tools directly before them."""
    behind = 0
    ran_since = False
    for number, message in enumerate(said):
        ran_since = ran_since or number in ran
        if message.role != "user":
            continue
        confirmed = howto.worked(message.text)
        # Without a word of the person only what was run can tell.
        stretch = _before(said, number, behind, confirmed) if confirmed or ran_since else None
        if stretch is not None:
            yield stretch
        if confirmed is not None:
            behind = number
        ran_since = False


def _before(
    said: Sequence[Message], outcome: int, behind: int, confirmed: howto.Found | None
) -> Stretch | None:
    """What an outcome is the outcome of, and the last failure on the way to it."""
    person = said[outcome]
    if confirmed is None and (howto.failed(person.text) or _takes_back(person.text)):
        return None
    failed = answered = request = -1
    between = 0
    for number in range(outcome - 1, max(behind, outcome - LOOK_BACK) - 1, -1):
        message = said[number]
        if _speaker(message) != _speaker(person):
            answered = max(answered, number)
            continue
        fails = howto.failed(message.text)
        if howto.error(message.text) or (howto.how_to(message.text) and not fails):
            if answered <= number:
                return None
            return Stretch(number, max(failed, number), outcome, False, confirmed)
        if fails:
            failed = max(failed, number)
        elif failed < 0:
            request = max(request, number)
            between += 1
        if between > BETWEEN or confirmed is None:
            break
    if (
        request < 0
        or answered < request
        or len(said[request].text[: howto.LOOKED_AT].split()) < SHORTEST_REQUEST
    ):
        return None
    return Stretch(request, request, outcome, True, confirmed)


def is_said(message: Message) -> bool:
    """Whether a message was said in the open, and stands."""
    marks = message.metadata
    unseen = marks.get("hidden") or marks.get("sidechain") or marks.get("branch") or marks.get("deleted")
    return message.role in ("user", "assistant") and not unseen


def _speaker(message: Message) -> tuple[str, str | None]:
    return message.role, message.author


# --- what it says ------------------------------------------------------------------------------------


_TAKES_BACK = re.compile(
    r"\W*(?:no|nope|wait|stop|hold on|hmm|actually|undo|revert|nein|halt|warte|doch nicht|espera|para|deshaz)\b",
    re.IGNORECASE,
)


def _takes_back(text: str) -> bool:
    """Whether what was done does not count as accepted after a turn: a correction, or a question, which may be a
    doubt."""
    return text[-END:].rstrip().endswith(("?", "？")) or _TAKES_BACK.match(text[:END]) is not None


def read(stretch: Stretch, said: Sequence[Message], records: Sequence[Message]) -> Procedure | None:
    """The procedure of a stretch; None where there is none. ``records`` are those of tools between its last failure and
    its outcome."""
    asked, outcome = said[stretch.goal], said[stretch.outcome]
    goal = howto.how_to(asked.text) or howto.error(asked.text) or next(howto.sentences(asked.text), None)
    commands, success = _run(records[-MOST_RECORDS:])
    if stretch.confirmed is None:
        confirmed = success if len(commands) >= CHANGED else None
    else:
        confirmed = _quote(outcome, stretch.confirmed)
    person = _speaker(asked)
    told = [
        step
        for message in said[stretch.failed + 1 : stretch.outcome]
        if _speaker(message) != person
        for step in steps(message)
    ]
    chosen = commands or ([] if stretch.requested else told)
    if goal is None or confirmed is None or not chosen:
        return None
    last = outcome if stretch.confirmed else said[stretch.outcome - 1]
    covered = stretch.outcome - stretch.goal + (1 if stretch.confirmed else 0) + len(records)
    return Procedure(_quote(asked, goal), tuple(chosen[:MOST_STEPS]), confirmed, asked.id, last.id, covered)


def _quote(message: Message, at: howto.Found) -> Quote:
    return Quote(message.id, at.start, at.end, message.text[at.start : at.end])


_ITEM = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]+)?(?:\*\*|__)?(?:(?:step|schritt|paso)[ \t]+)?(\d{1,2})(?:[.):]"
    r"|\b[ \t]*[-–])[ \t*_]*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n?", re.MULTILINE)
_INLINE = re.compile(
    r"(?:^|(?<=[.!?:;\n]))[^.!?\n`]{0,120}?\b(?:run|type|execute|enter|use|try|launch|issue|call|add|führe"
    r"|tippe|gib|nutze"
    r"|verwende|starte|ejecuta|usa|escribe|prueba|corre|lanza"
    r"|introduce)\b[^.!?\n`]{0,80}`[^`\n]{2,300}`[^.!?\n`]{0,200}[.!]?",
    re.IGNORECASE,
)
_CHOICES = re.compile(
    r"\b(?:options|alternatives|(?:several|two|three|four|a few|some|different|many|multiple"
    r"|various) (?:\w+ )?(?:ways|methods"
    r"|approaches|possibilities|reasons|causes)|either of|possible (?:causes|reasons)|could be (?:caused|due)"
    r"|möglichkeiten|varianten|alternativen|mögliche ursachen|verschiedene (?:wege|gründe)"
    r"|opciones|alternativas|(?:varias|dos|tres|distintas) (?:formas|maneras)|posibles causas)\b",
    re.IGNORECASE,
)
_READ = 20_000
"""Characters of an answer in which steps are looked for."""


def steps(message: Message) -> list[Quote]:
    """The steps that a message gives: the items of its numbered list, else its blocks of code, else the sentences that
    name a command. A list of choices or causes has none."""
    text = message.text[:_READ]
    items = list(_ITEM.finditer(text))
    listed = _in_order(items)
    fenced = list(_blocks(text))
    lead = text[: listed[0].start()] if len(listed) > 1 else text[: fenced[0][0]] if fenced else text
    if _CHOICES.search(lead[-400:]):
        return []
    if len(listed) > 1:
        ends = [*(item.start() for item in listed[1:]), _end_of_list(text, listed[-1].end())]
        spans = [(item.start(), end) for item, end in zip(listed, ends, strict=True)]
    elif fenced:
        spans = fenced
    else:
        spans = [found.span() for found in _INLINE.finditer(text)]
    return [step for start, end in spans if (step := _step(message, start, end)) is not None]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """What stands within fences, without them; one that is never closed goes on to the end."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group(1).startswith(opened.group(1)):
            if text[opened.end() : fence.start()].strip():
                yield opened.end(), fence.start()
            opened = None
    if opened is not None and text[opened.end() :].strip():
        yield opened.end(), len(text)


def _in_order(items: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The first run of items that count 1, 2, 3 …"""
    run: list[re.Match[str]] = []
    for item in items:
        if int(item.group(1)) == len(run) + 1:
            run.append(item)
    return run


def _end_of_list(text: str, start: int) -> int:
    """Where the last item ends: at the first empty line that neither code nor an indented line follows."""
    at = start
    while True:
        at = text.find("\n\n", at)
        if at < 0:
            return len(text)
        if text.count("```", start, at) % 2 == 0 and not text[at:].lstrip("\n").startswith(
            (" ", "\t", "```", "- ", "* ")
        ):
            return at
        at += 2


def _step(message: Message, start: int, end: int) -> Quote | None:
    text = message.text[start:end]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    if end - start > LONGEST_STEP:
        line = message.text.rfind("\n", start, start + LONGEST_STEP)
        end = line if line > start else start + LONGEST_STEP
    return Quote(message.id, start, end, message.text[start:end]) if end > start else None


# --- what was run ------------------------------------------------------------------------------------

_SHELLS = frozenset(
    "bash shell sh zsh powershell run_command execute_command run_shell_command terminal exec exec_command local_shell"
    " run_terminal_cmd run_in_terminal container.exec unified_exec execute_bash command".split()
)
_COMMAND = re.compile(r"^(?:command|cmd|script|commandline|input|code): ?", re.IGNORECASE | re.MULTILINE)
_NEXT_ARGUMENT = re.compile(
    r"\n(?:description|timeout|timeout_ms|run_in_background|workdir|cwd|justification|sandbox_permissions"
    r"|yield_time_ms"
    r"|max_output_tokens|toolSummary|blocking|explanation|is_background|with_escalated_permissions|login|shell|tty"
    r"|restart|requires_approval|safetoautorun): ",
    re.IGNORECASE,
)
_LOOKS = re.compile(
    r'^[\s\["]*(?:(?:bash|sh|zsh)",\s*"-l?c",\s*")?(?:cd [^&;|\n]{1,200}&&\s*)?'
    r"(?:ls|ll|dir|cat|bat|cd|pwd|echo|grep|rg|ag|head|tail|find|fd|wc|which|where|type|file|stat|tree|less"
    r"|more|man|env"
    r"|printenv|whoami|hostname|date|df|du|ps|top|free|uname|id|history|sed -n|awk|jq|nl|diff"
    r"|git (?:status|log|diff|show|branch|blame|grep|ls-files|rev-parse|remote)|\S+ --?(?:version|help))\b",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"exit(?:ed with)?[ _](?:code|status)[\"']?\s?[:=]?\s?(-?\d{1,4})|return ?code\D{1,3}(\d{1,4})",
    re.IGNORECASE,
)
_SUCCESS = re.compile(
    r"^[^\n]{0,160}?(?:exit(?:ed with)?[ _](?:code|status)[\"']?\s?[:=]?\s?0\b|completed successfully"
    r"|build success\w*"
    r"|\b[1-9]\d* passed\b|all tests pass\w*|successfully (?:installed|built|created|deployed|updated"
    r"|migrated))[^\n]{0,160}",
    re.IGNORECASE | re.MULTILINE,
)
_TROUBLE = re.compile(
    r"Traceback \(most recent|command not found|No such file or directory|Permission denied|\bfatal:|npm ERR!"
    r"|\b[1-9]\d* (?:failed|errors?)\b|\*\*\*.{0,80}\bError \d|^(?:.{0,80}\b)?error(?:\[\w+\])?:|\b\w+(?:Error"
    r"|Exception):|Segmentation fault|\bFAILED\b"
    r"|BUILD FAIL|doesn't want to proceed|interrupted by user|timed out|was rejected|aborted",
    re.IGNORECASE | re.MULTILINE,
)
_RESULT = 4_000
"""Characters at each end of a result that are looked at for its outcome."""


def _run(records: Sequence[Message]) -> tuple[list[Quote], Quote | None]:
    """The commands that were run and did not fail, those that only look left out, and what the last of them says of
    having gone well."""
    waiting: dict[str, Message] = {}
    done: dict[str, Quote] = {}
    success: Quote | None = None
    for record in records:
        kind, _ = _kind_and_name(record)
        if kind == "call":
            waiting[record.external_id] = record
        elif kind == "result" and waiting:
            # A result names the call that it answers; where it does not, it follows it.
            answered = record.reply_to if record.reply_to in waiting else next(iter(waiting))
            call = waiting.pop(answered)
            command = _command(call)
            if command is None or _LOOKS.match(command.text):
                continue
            if _went_wrong(record.text):
                success = None
                continue
            done.pop(command.text, None)
            done[command.text] = command
            success = _says_success(record)
    return list(done.values()), success


def _kind_and_name(record: Message) -> tuple[str, str]:
    tools = record.metadata.get("tools")
    first = tools[0] if isinstance(tools, list) and tools and isinstance(tools[0], dict) else {}
    return str(first.get("kind") or ""), str(first.get("name") or "")


def _command(call: Message) -> Quote | None:
    """What a call of a shell runs."""
    if _kind_and_name(call)[1].lower() not in _SHELLS:
        return None
    named = _COMMAND.search(call.text, 0, _RESULT)
    if named is None:
        return None
    end = min(len(call.text), named.end() + 2 * LONGEST_STEP)
    following = _NEXT_ARGUMENT.search(call.text, named.end(), end)
    return _step(call, named.end(), following.start() if following else end)


def _went_wrong(text: str) -> bool:
    ends = text[:_RESULT] + "\n" + text[-_RESULT:] if len(text) > 2 * _RESULT else text
    code = _EXIT.search(ends)
    if code is not None:
        return int(code.group(1) or code.group(2)) != 0
    return _TROUBLE.search(ends) is not None


def _says_success(record: Message) -> Quote | None:
    for begin in (0, max(0, len(record.text) - _RESULT)):
        found = _SUCCESS.search(record.text, begin, begin + _RESULT)
        if found is not None:
            return _step(record, found.start(), found.end())
    return None
