"""How hits and contexts look: a few lines a hit on a terminal, one line a hit in a pipe."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from appliance.cli import out
from appliance.reasons import MEANINGS, RAW_SCORES
from appliance.store.lexical import stem

if TYPE_CHECKING:
    from rich.text import Text

    from appliance.types import Context, Hit, Hits, WhyNot

SHORTEST_WORD = 3
"""Shorter words of a query are too common to be worth marking."""

NOTHING = 0.005
"""A part of a score that shows as 0.00 says nothing."""

_WORD = re.compile(r"\w+")


def verdict(why_not: WhyNot) -> str:
    """Why a message is not among the hits, in one line."""
    return f"{why_not.message_id} is {why_not.stage}: {why_not.words}"


def show(hits: Hits, *, explain: bool) -> None:
    """Print hits, with the parts of their scores if asked for."""
    if out.on_terminal():
        _draw(hits, explain)
    else:
        _list(hits, explain)


def _draw(hits: Hits, explain: bool) -> None:
    console = out.console()
    best = max((_largest_part(hit) for hit in hits), default=0.0)
    for hit in hits:
        console.print(head(hit), soft_wrap=True)
        console.print(quoted(hit.snippet, hits.query))
        if explain:
            for row in reasons(hit, best):
                console.print("    " + row, style="dim", soft_wrap=True)
        console.print()


def head(hit: Hit) -> Text:
    """A hit's first line: rank, session, who, when, where from, id."""
    from rich.text import Text

    text = Text(f"{hit.rank:>2}  ", style="bold")
    text.append(out.one_line(hit.session_title or hit.external_session_id), style="bold cyan")
    about = [
        out.one_line(hit.author or hit.role),
        out.moment(hit.timestamp),
        hit.source.format,
        hit.message_id,
    ]
    if folded := hit.why.get("folded"):
        about.append(f"and {len(folded):,} more found like it")
    text.append("  " + " · ".join(about), style="dim")
    return text


def quoted(snippet: str, query: str) -> Text:
    """A snippet, wrapped and set in, with the words of the query marked."""
    from rich.text import Text

    wide = max(20, shutil.get_terminal_size().columns - 5)
    lines = textwrap.wrap(out.one_line(snippet), wide) or ["(no text)"]
    text = Text(textwrap.indent("\n".join(lines), "    "))
    stems = {stem(w) for w in _WORD.findall(query) if len(w) >= SHORTEST_WORD}
    for found in _WORD.finditer(text.plain):
        if stem(found.group()) in stems:
            text.stylize("bold yellow", *found.span())
    return text


def reasons(hit: Hit, full: float) -> Iterator[str]:
    """The parts of a score, one a line: a bar, the contribution, what it stands for, and the leg behind it."""
    parts: Mapping[str, float] = hit.why.get("score", {})
    legs: Mapping[str, Mapping[str, Any]] = hit.why.get("legs", {})
    for name, part in sorted(parts.items(), key=lambda item: -item[1]):
        if abs(part) < NOTHING:
            continue
        meaning = MEANINGS.get(name, name)
        leg = f" ({_leg(name, legs[name])})" if name in legs else ""
        yield f"{out.bar(part, full):<{out.BAR}} {part:>6.2f}  {name}: {meaning}{leg}"
    for name in sorted(legs.keys() - parts.keys()):
        yield f"{'':<{out.BAR}} {'':>6}  {name}: {MEANINGS.get(name, name)} ({_leg(name, legs[name])})"
    yield f"{'':<{out.BAR}} {hit.score:>6.2f}  in all"
    if folded := hit.why.get("folded"):
        yield f"{'':<{out.BAR}} {'':>6}  says the same as {', '.join(folded)}"


def _leg(name: str, leg: Mapping[str, Any]) -> str:
    rank, score = leg.get("rank"), leg.get("score")
    place = f"rank {rank}" if rank is not None else "scored, not proposed"
    return place if score is None else f"{RAW_SCORES.get(name, 'score')} {score:.2f}, {place}"


def _largest_part(hit: Hit) -> float:
    return max(hit.why.get("score", {}).values(), default=0.0)


def _list(hits: Sequence[Hit], explain: bool) -> None:
    rows = [
        [
            str(hit.rank),
            f"{hit.score:.3f}",
            hit.message_id,
            hit.session_id,
            hit.timestamp or "-",
            hit.source.format,
            hit.author or hit.role,
            f"{hit.session_title or hit.external_session_id}: {hit.snippet}",
        ]
        for hit in hits
    ]
    if not explain:
        if rows:
            out.columns(rows)
        return
    best = max((_largest_part(hit) for hit in hits), default=0.0)
    for hit, row in zip(hits, rows, strict=True):
        out.columns([row])
        for reason in reasons(hit, best):
            out.line("    " + reason)


def tell_context(context: Context) -> None:
    """Tell how a context came about, on stderr: its text alone is the data."""
    out.say(f"{context.tokens:,} of {context.budget:,} tokens ({context.encoding})")
    for layer in context.layers:
        if layer.items:
            kinds = _counted([item.fidelity for item in layer.items])
            what = {"profile": "fact", "summary": "sentence"}.get(layer.name, "message")
            out.say(
                f"  {layer.name}: {out.plural(len(layer.items), what)}, {layer.tokens:,} tokens ({kinds})"
            )
    if context.dropped:
        out.say(f"  left out: {_counted([dropped.reason for dropped in context.dropped])}")
    out.notes(context.notes)


def _counted(values: Sequence[str]) -> str:
    return ", ".join(f"{values.count(value)} {value}" for value in dict.fromkeys(values))
