"""How-to sequences that worked: what somebody asked how to do, the proposed steps or the commands that ran, and the
words that confirm that they worked. All of it is quoted.

A procedure is read backwards from its confirmation: the steps stand between it and the question or error that they
answer. A doubtful case is no procedure: an outcome that only thanks, steps after a failure, a list of choices,
something else that helped in the end."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from appliance.lazy_dataclasses import dataclass
from appliance.memory import how_to, prose_steps
from appliance.types import Message, Quote

# The question is among so many conversational messages before the confirmation: after a longer time other things have
# come between.
MAX_LOOKBACK_TURNS = 12
# Further turns of the person between the steps and the confirmation, such as where to find something.
MAX_TURNS_BETWEEN = 1
MIN_REQUEST_WORDS = 3  # a request of fewer words is "go on", and does not say what was done
EDGE_CHARACTERS = 64  # at either end of a turn, which show whether it retracts something
MAX_STEPS = 40
MIN_INLINE_STEPS = 2  # with fewer commands, sentences around them say what to do
MAX_STEP_CHARACTERS = 2_000  # a longer step is quoted up to the end of a line
MAX_TOOL_RECORDS = 400  # latest records of tools between a question and its confirmation that are read
# So many commands must have changed something where no person but only the program says that all went well.
MIN_CHANGING_COMMANDS = 2


@dataclass(frozen=True, slots=True)
class Procedure:
    """Steps that worked. ``goal`` is the question or the error, ``confirmed`` the quote that says that the steps
    worked.

    It covers ``messages`` messages, from ``first`` to ``last``, which are ids."""

    goal: Quote
    steps: tuple[Quote, ...]
    confirmed: Quote
    first: str
    last: str
    messages: int

    @property
    def text(self) -> str:
        """The procedure as it is stored and searched: the goal, then its steps, a line each."""
        return "\n".join(_collapse_spaces(quote.text) for quote in (self.goal, *self.steps))

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return self.goal, *self.steps, self.confirmed

    @property
    def metadata(self) -> Mapping[str, Any]:
        goal, *steps, confirmed = (_collapse_spaces(quote.text) for quote in self.quotes)
        return {"goal": goal, "steps": steps, "confirmed": confirmed}


@dataclass(frozen=True, slots=True)
class ProcedureSpan:
    """Where a procedure may be: places in the conversation, from the question (``goal``) to the ``outcome``.

    Steps count after ``last_failure``, the last word that something failed, else the question. ``requested`` says
    that the goal is a task and no question. ``confirmed`` is where the outcome says that it worked."""

    goal: int
    last_failure: int
    outcome: int
    requested: bool
    confirmed: how_to.HowToSpan | None


def find(messages: Sequence[Message]) -> list[Procedure]:
    """Return the procedures of a conversation: its messages in order, with the records of tools between them."""
    turns = [message for message in messages if is_visible_turn(message)]
    index_by_id = {message.id: number for number, message in enumerate(messages)}
    turns_after_tools = {
        number
        for number, (earlier, later) in enumerate(pairwise(turns), 1)
        if index_by_id[later.id] - index_by_id[earlier.id] > 1
    }
    found = []
    for span in find_spans(turns, turns_after_tools):
        after, until = index_by_id[turns[span.last_failure].id], index_by_id[turns[span.outcome].id]
        procedure = extract(span, turns, [m for m in messages[after:until] if m.role == "tool"])
        if procedure is not None:
            found.append(procedure)
    return found


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def find_spans(turns: Sequence[Message], turns_after_tools: Container[int] = ()) -> Iterator[ProcedureSpan]:
    """Yield where procedures may be, in the order of the conversation.

    Args:
        turns: The conversational messages.
        turns_after_tools: The places of those that directly follow records of tools.
    """
    last_outcome = 0
    has_tools_since = False
    for number, message in enumerate(turns):
        has_tools_since = has_tools_since or number in turns_after_tools
        if message.role != "user":
            continue
        confirmed = how_to.find_success(message.text)
        if confirmed is None and number and turns[number - 1].role == "assistant" and steps(turns[number - 1]):
            confirmed = how_to.find_result(message.text)
        # Where the person says nothing, only the commands that ran can tell.
        span = _span_before(turns, number, last_outcome, confirmed) if confirmed or has_tools_since else None
        if span is not None:
            yield span
        if confirmed is not None:
            last_outcome = number
        has_tools_since = False


def _span_before(
    turns: Sequence[Message], outcome: int, last_outcome: int, confirmed: how_to.HowToSpan | None
) -> ProcedureSpan | None:
    """The goal of an outcome, and the last failure between the two."""
    outcome_message = turns[outcome]
    if confirmed is None and (how_to.reports_failure(outcome_message.text) or _retracts(outcome_message.text)):
        return None
    failed = answered = request = -1
    intervening = 0
    for number in range(outcome - 1, max(last_outcome, outcome - MAX_LOOKBACK_TURNS) - 1, -1):
        message = turns[number]
        if _speaker(message) != _speaker(outcome_message):
            answered = max(answered, number)
            continue
        is_failure = how_to.reports_failure(message.text)
        if how_to.find_error(message.text) or (how_to.find_how_to(message.text) and not is_failure):
            if answered <= number:
                return None
            return ProcedureSpan(number, max(failed, number), outcome, False, confirmed)
        if is_failure:
            failed = max(failed, number)
        elif failed < 0:
            request = max(request, number)
            intervening += 1
        if intervening > MAX_TURNS_BETWEEN or confirmed is None:
            break
    if request < 0 or answered < request:
        return None
    words = turns[request].text[: how_to.SCAN_CHARACTERS].split()
    return ProcedureSpan(request, request, outcome, True, confirmed) if len(words) >= MIN_REQUEST_WORDS else None


def is_visible_turn(message: Message) -> bool:
    """Whether a message was said openly, and still stands."""
    metadata = message.metadata
    is_hidden = metadata.get("hidden") or metadata.get("sidechain") or metadata.get("branch") or metadata.get("deleted")
    return message.role in ("user", "assistant") and not is_hidden


def _speaker(message: Message) -> tuple[str, str | None]:
    return message.role, message.author


_RETRACTION = re.compile(
    r"\W*(?:no|nope|wait|stop|hold on|hmm|actually|undo|revert|nein|halt|warte|doch nicht|espera|para|deshaz)\b",
    re.IGNORECASE,
)


def _retracts(text: str) -> bool:
    """Whether a turn does not accept what was done: it corrects something, or it is a question, which may be a
    doubt."""
    is_question = text[-EDGE_CHARACTERS:].rstrip().endswith(("?", "？"))
    return is_question or _RETRACTION.match(text[:EDGE_CHARACTERS]) is not None


def extract(span: ProcedureSpan, turns: Sequence[Message], records: Sequence[Message]) -> Procedure | None:
    """Return the procedure of a span; None where it has none. ``records`` are the records of tools between the
    span's last failure and its outcome."""
    goal_message, outcome = turns[span.goal], turns[span.outcome]
    text = goal_message.text
    commands, success = _executed_commands(records[-MAX_TOOL_RECORDS:])
    goal = how_to.find_how_to(text) or how_to.find_error(text)
    goal = goal or (None if commands else how_to.find_need(text)) or next(how_to.sentences(text), None)
    if span.confirmed is None:
        confirmed = success if len(commands) >= MIN_CHANGING_COMMANDS else None
    else:
        confirmed = _quote_span(outcome, span.confirmed)
    chosen = commands
    if not commands and (not span.requested or how_to.find_need(text)):
        proposals = [m for m in turns[span.last_failure + 1 : span.outcome] if _speaker(m) != _speaker(goal_message)]
        explicit = span.confirmed is not None and how_to.find_success(outcome.text) is not None
        chosen = [step for message in proposals for step in steps(message, single=explicit)]
    if goal is None or confirmed is None or not chosen:
        return None
    last = outcome if span.confirmed else turns[span.outcome - 1]
    count = span.outcome - span.goal + (1 if span.confirmed else 0) + len(records)
    goal_quote = _quote_span(goal_message, goal)
    return Procedure(goal_quote, tuple(chosen[:MAX_STEPS]), confirmed, goal_message.id, last.id, count)


def _quote_span(message: Message, span: how_to.HowToSpan) -> Quote:
    return Quote(message.id, span.start, span.end, message.text[span.start : span.end])


_ITEM = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]+)?(?:\*\*|__)?(?:(?:step|schritt|paso)[ \t]+)?(\d{1,2})(?:[.):]"
    r"|\b[ \t]*[-–])[ \t*_]*(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n?", re.MULTILINE)
_INLINE = re.compile(
    r"(?:^|(?<=[.!?:;\n]))[^.!?\n`]{0,120}?\b(?:run|type|execute|enter|use|try|launch|issue|call|add|führe|tippe|gib"
    r"|nutze|verwende|starte|ejecuta|usa|escribe|prueba|corre|lanza"
    r"|introduce)\b[^.!?\n`]{0,80}`[^`\n]{2,300}`[^.!?\n`]{0,200}[.!]?",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(
    r"\b(?:options|alternatives|(?:several|two|three|four|a few|some|different|many|multiple|various) (?:\w+ )?(?:ways"
    r"|methods|approaches|possibilities|reasons|causes)|either of|possible (?:causes|reasons)|could be (?:caused|due)"
    r"|möglichkeiten|varianten|alternativen|mögliche ursachen|verschiedene (?:wege|gründe)|opciones|alternativas"
    r"|(?:varias|dos|tres|distintas) (?:formas|maneras)|posibles causas)\b",
    re.IGNORECASE,
)
_SCAN_CHARACTERS = 20_000  # of an answer in which steps are looked for


def steps(message: Message, *, single: bool = False) -> list[Quote]:
    """Return the steps that a message proposes: the items of its numbered list, else its blocks of code, else the
    sentences that name a command. A list of choices or causes has no steps. With ``single``, one thing to do is a step
    too: it is one if somebody says that it worked, and else as often a suggestion."""
    text = message.text[:_SCAN_CHARACTERS]
    listed = _consecutive_items(_ITEM.finditer(text))
    fenced = _blocks(text)
    lead = text[: listed[0].start()] if len(listed) > 1 else text[: fenced[0][0]] if fenced else text
    if _ALTERNATIVES.search(lead[-400:]):
        return []
    if len(listed) > 1:
        ends = [*(item.start() for item in listed[1:]), _end_of_list(text, listed[-1].end())]
        spans = [(item.start(), end) for item, end in zip(listed, ends, strict=True)]
    elif fenced:
        spans = fenced
    else:
        spans = [found.span() for found in _INLINE.finditer(text)]
        if len(spans) < MIN_INLINE_STEPS:
            actions = 1 if single else prose_steps.MIN_ACTIONS
            told = prose_steps.find_steps(text, actions) or prose_steps.find_commands(text)
            spans = [(span.start, span.end) for span in told] or spans
    return [step for start, end in spans if (step := _step_quote(message, start, end)) is not None]


def _blocks(text: str) -> list[tuple[int, int]]:
    """What stands within fences; a fence that is never closed goes on to the end."""
    spans = []
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif fence.group(1).startswith(opening.group(1)):
            spans.append((opening.end(), fence.start()))
            opening = None
    if opening is not None:
        spans.append((opening.end(), len(text)))
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _consecutive_items(items: Iterator[re.Match[str]]) -> list[re.Match[str]]:
    """The first run of items numbered 1, 2, 3 …"""
    run: list[re.Match[str]] = []
    for item in items:
        if int(item.group(1)) == len(run) + 1:
            run.append(item)
    return run


def _end_of_list(text: str, start: int) -> int:
    """The end of the last item: the first empty line that neither code nor an indented line follows."""
    at = text.find("\n\n", start)
    while at >= 0:
        continues = text[at:].lstrip("\n").startswith((" ", "\t", "```", "- ", "* "))
        if not continues and text.count("```", start, at) % 2 == 0:
            return at
        at = text.find("\n\n", at + 2)
    return len(text)


def _step_quote(message: Message, start: int, end: int) -> Quote | None:
    text = message.text[start:end]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    if end - start > MAX_STEP_CHARACTERS:
        line = message.text.rfind("\n", start, start + MAX_STEP_CHARACTERS)
        end = line if line > start else start + MAX_STEP_CHARACTERS
    return Quote(message.id, start, end, message.text[start:end]) if end > start else None


_SHELLS = frozenset(
    "bash shell sh zsh powershell run_command execute_command run_shell_command terminal exec exec_command local_shell"
    " run_terminal_cmd run_in_terminal container.exec unified_exec execute_bash command".split()
)
_COMMAND = re.compile(r"^(?:command|cmd|script|commandline|input|code): ?", re.IGNORECASE | re.MULTILINE)
_NEXT_ARGUMENT = re.compile(
    r"\n(?:description|timeout|timeout_ms|run_in_background|workdir|cwd|justification|sandbox_permissions"
    r"|yield_time_ms|max_output_tokens|toolSummary|blocking|explanation|is_background|with_escalated_permissions|login"
    r"|shell|tty|restart|requires_approval|safetoautorun): ",
    re.IGNORECASE,
)
_READ_ONLY_COMMAND = re.compile(
    r'^[\s\["]*(?:(?:bash|sh|zsh)",\s*"-l?c",\s*")?(?:cd [^&;|\n]{1,200}&&\s*)?'
    r"(?:ls|ll|dir|cat|bat|cd|pwd|echo|grep|rg|ag|head|tail|find|fd|wc|which|where|type|file|stat|tree|less"
    r"|more|man|env"
    r"|printenv|whoami|hostname|date|df|du|ps|top|free|uname|id|history|sed -n|awk|jq|nl|diff"
    r"|git (?:status|log|diff|show|branch|blame|grep|ls-files|rev-parse|remote)|\S+ --?(?:version|help))\b",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"exit(?:ed with)?[ _](?:code|status)[\"']?\s?[:=]?\s?(-?\d{1,4})|return ?code\D{1,3}(\d{1,4})", re.IGNORECASE
)
_SUCCESS = re.compile(
    r"^[^\n]{0,160}?(?:exit(?:ed with)?[ _](?:code|status)[\"']?\s?[:=]?\s?0\b|completed successfully|build success\w*"
    r"|\b[1-9]\d* passed\b|all tests pass\w*|successfully (?:installed|built|created|deployed|updated"
    r"|migrated))[^\n]{0,160}",
    re.IGNORECASE | re.MULTILINE,
)
_FAILURE = re.compile(
    r"Traceback \(most recent|command not found|No such file or directory|Permission denied|\bfatal:|npm ERR!"
    r"|\b[1-9]\d* (?:failed|errors?)\b|\*\*\*.{0,80}\bError \d|^(?:.{0,80}\b)?error(?:\[\w+\])?:|\b\w+(?:Error"
    r"|Exception):|Segmentation fault|\bFAILED\b"
    r"|BUILD FAIL|doesn't want to proceed|interrupted by user|timed out|was rejected|aborted",
    re.IGNORECASE | re.MULTILINE,
)
_RESULT_EDGE_CHARACTERS = 4_000  # at each end of a result that are searched for its outcome


def _executed_commands(records: Sequence[Message]) -> tuple[list[Quote], Quote | None]:
    """The commands that ran and did not fail, without those that only read, and the words of the last one that
    report success."""
    pending_calls: dict[str, Message] = {}
    completed: dict[str, Quote] = {}
    success: Quote | None = None
    for record in records:
        kind, _ = _kind_and_name(record)
        if kind == "call":
            pending_calls[record.external_id] = record
        elif kind == "result" and pending_calls:
            # A result names the call that it answers, or else it follows it.
            answered = record.reply_to if record.reply_to in pending_calls else next(iter(pending_calls))
            command = _command(pending_calls.pop(answered))
            if command is None or _READ_ONLY_COMMAND.match(command.text):
                continue
            if _indicates_failure(record.text):
                success = None
                continue
            completed.pop(command.text, None)
            completed[command.text] = command
            success = _success_quote(record)
    return list(completed.values()), success


def _kind_and_name(record: Message) -> tuple[str, str]:
    tools = record.metadata.get("tools")
    first = tools[0] if isinstance(tools, list) and tools and isinstance(tools[0], dict) else {}
    return str(first.get("kind") or ""), str(first.get("name") or "")


def _command(call: Message) -> Quote | None:
    """The command of a call of a shell."""
    if _kind_and_name(call)[1].lower() not in _SHELLS:
        return None
    named = _COMMAND.search(call.text, 0, _RESULT_EDGE_CHARACTERS)
    if named is None:
        return None
    end = min(len(call.text), named.end() + 2 * MAX_STEP_CHARACTERS)
    following = _NEXT_ARGUMENT.search(call.text, named.end(), end)
    return _step_quote(call, named.end(), following.start() if following else end)


def _indicates_failure(text: str) -> bool:
    if len(text) > 2 * _RESULT_EDGE_CHARACTERS:
        text = text[:_RESULT_EDGE_CHARACTERS] + "\n" + text[-_RESULT_EDGE_CHARACTERS:]
    if code := _EXIT.search(text):
        return int(code.group(1) or code.group(2)) != 0
    return _FAILURE.search(text) is not None


def _success_quote(record: Message) -> Quote | None:
    for begin in (0, max(0, len(record.text) - _RESULT_EDGE_CHARACTERS)):
        found = _SUCCESS.search(record.text, begin, begin + _RESULT_EDGE_CHARACTERS)
        if found is not None:
            return _step_quote(record, found.start(), found.end())
    return None
