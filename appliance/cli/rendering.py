"""How hits and contexts are printed: a few lines per hit on a terminal, one line per hit in a pipe."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from appliance.cli import output
from appliance.store.lexical import stem
from appliance.types.labels import FEATURE_LABELS, RAW_SCORE_LABELS
from appliance.types.reasons import reason

if TYPE_CHECKING:
    from rich.text import Text

    from appliance.types import Context, Hit, Hits, Message

MIN_HIGHLIGHT_LENGTH = 3
"""Shorter words of a query are too common to highlight."""

MIN_SHOWN_SCORE = 0.005
"""A smaller part of a score would show as 0.00."""

_WORD = re.compile(r"\w+")


def print_hits(hits: Hits, *, explain: bool) -> None:
    """Print hits, and with ``explain`` the parts of their scores."""
    best = max((part for hit in hits for part in hit.why.get("score", {}).values()), default=0.0)
    if output.is_terminal():
        console = output.console()
        for hit in hits:
            console.print(_heading(hit), soft_wrap=True)
            for turn in hit.before:
                console.print(_turn_line(turn), style="dim", soft_wrap=True)
            console.print(_highlighted_snippet(hit.snippet, hits.query))
            for turn in hit.after:
                console.print(_turn_line(turn), style="dim", soft_wrap=True)
            for line in _score_lines(hit, best) if explain else ():
                console.print(output.clean("    " + line), style="dim", soft_wrap=True)
            console.print()
        return
    rows = [list(_rows(hit)) for hit in hits]
    if not explain:
        output.print_columns([row for of_hit in rows for row in of_hit])
        return
    for hit, of_hit in zip(hits, rows, strict=True):
        output.print_columns(of_hit)
        for line in _score_lines(hit, best):
            output.print_line("    " + line)


def _rows(hit: Hit) -> Iterator[list[str]]:
    """A hit as columns, between the turns before and after it, which have no rank and no score."""
    title = hit.session_title or hit.external_session_id

    def row(rank: str, score: str, at: Hit | Message, id: str, text: str) -> list[str]:
        text = f"{text} (corrected by you on {at.corrected[:10]})" if at.corrected else text
        time = output.time_of(at) if at.timestamp else "-"
        return [rank, score, id, hit.session_id, time, hit.source.format, at.who, f"{title}: {text}"]

    yield from (row("-", "-", turn, turn.id, turn.text) for turn in hit.before)
    times = f" ({_times_text(hit)})" if hit.folded else ""
    yield row(str(hit.rank), f"{hit.score:.2f}", hit, hit.message_id, hit.snippet + times)
    yield from (row("-", "-", turn, turn.id, turn.text) for turn in hit.after)


def _times_text(hit: Hit) -> str:
    """How many messages a hit stands for, itself and those that say the same."""
    return f"×{hit.folded + 1:,}"


def _turn_line(turn: Message) -> str:
    """A turn before or after a hit, on one line of a terminal."""
    line = output.one_line(f"{output.time_of(turn)} {turn.who}: {turn.text}")
    return "    " + textwrap.shorten(line, max(20, shutil.get_terminal_size().columns - 5), placeholder=" …")


def _heading(hit: Hit) -> Text:
    """The first line of a hit: rank, session, author, time, format and id."""
    from rich.text import Text

    text = Text(f"{hit.rank:>2}  ", style="bold")
    text.append(output.one_line(hit.session_title or hit.external_session_id), style="bold cyan")
    author, time = output.one_line(hit.who), output.time_of(hit)
    details = [author, time, hit.source.format, hit.message_id]
    if hit.folded:
        details.append(_times_text(hit))
    if hit.tier == "archived":
        details.append("archived")
    text.append("  " + " · ".join(details), style="dim")
    return text


def _highlighted_snippet(snippet: str, query: str) -> Text:
    """A snippet, wrapped and indented, with the words of the query highlighted."""
    from rich.text import Text

    width = max(20, shutil.get_terminal_size().columns - 5)
    lines = textwrap.wrap(output.one_line(snippet), width) or ["(no text)"]
    text = Text(textwrap.indent("\n".join(lines), "    "))
    stems = {stem(w) for w in _WORD.findall(query) if len(w) >= MIN_HIGHLIGHT_LENGTH}
    for match in _WORD.finditer(text.plain):
        if stem(match.group()) in stems:
            text.stylize("bold yellow", *match.span())
    return text


def _score_lines(hit: Hit, max_part: float) -> Iterator[str]:
    """Why a message was found, and the parts of its score, one per line: a bar, the contribution, its label, its name
    in the profiles and what its leg gives."""
    yield reason(hit.why, hit.author)
    parts: Mapping[str, float] = hit.why.get("score", {})
    legs: Mapping[str, Mapping[str, Any]] = hit.why.get("legs", {})

    def line(bar: str, number: str, text: str) -> str:
        return f"{bar:<{output.BAR_WIDTH}} {number:>6}  {text}"

    def label(name: str) -> str:
        return f"{FEATURE_LABELS.get(name, name)} ({_leg_text(name, legs[name]) if name in legs else name})"

    for name, part in sorted(parts.items(), key=lambda item: -item[1]):
        if abs(part) >= MIN_SHOWN_SCORE:
            yield line(output.format_bar(part, max_part), f"{part:.2f}", label(name))
    for name in sorted(legs.keys() - parts.keys()):
        yield line("", "", label(name))
    yield line("", f"{hit.points:.2f}", "total, which orders the hits")
    yield line("", f"{hit.score:.2f}", "score: how likely it is what was asked for; 1 is certain")
    if duplicates := hit.why.get("variants"):
        yield line("", "", f"same as {', '.join(duplicates)}")


def _leg_text(name: str, leg: Mapping[str, Any]) -> str:
    rank, score = leg.get("rank"), leg.get("score")
    rank_text = f"rank {rank}" if rank is not None else "not a candidate of this leg"
    return f"{name}: " + (
        rank_text if score is None else f"{RAW_SCORE_LABELS.get(name, 'score')} {score:.2f}, {rank_text}"
    )


def print_context_report(context: Context) -> None:
    """Print to stderr how a context was built: stdout has its text alone."""
    output.say(f"{context.tokens:,} of {context.budget:,} tokens ({context.encoding})")
    for layer in context.layers:
        if layer.items:
            kinds = _count_values([item.fidelity for item in layer.items])
            noun = {"core": "block", "profile": "fact", "summary": "sentence"}.get(layer.name, "message")
            output.say(f"  {layer.name}: {output.plural(len(layer.items), noun)}, {layer.tokens:,} tokens ({kinds})")
    if context.dropped:
        output.say("  left out:")
        for reason, count in Counter(dropped.reason for dropped in context.dropped).most_common():
            output.say(f"    {count:,}: {reason}")
    output.say_notes(context.notes)


def _count_values(values: Sequence[str]) -> str:
    return ", ".join(f"{values.count(value)} {value}" for value in dict.fromkeys(values))
