"""What a person wants forgotten, what would go with it, and the receipt, in the words of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Message, OnProgress, Receipt

SHOWN = 200
"""Messages of which the first words are shown: more are not read before one says yes."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be forgotten; of ids, a source and words each narrows the others. ``everything`` stands alone."""

    ids: tuple[str, ...] = ()
    source: str = ""
    words: str = ""
    everything: bool = False

    def __bool__(self) -> bool:
        return self != Wish()

    @property
    def contradicts(self) -> bool:
        """Whether everything is wanted, and only some of it."""
        return self.everything and bool(self.ids or self.source or self.words)


@dataclass(frozen=True, slots=True)
class Doomed:
    """What would go: counts, the ``keys`` that say exactly what, the first ``some`` of the messages, and ``erase``,
    which does it."""

    messages: int
    sessions: int
    facts: int
    characters: int
    formats: Mapping[str, int]
    files: Sequence[str]
    keys: tuple[tuple[int, ...], tuple[int, ...], int]
    some: Sequence[Message]
    erase: Callable[[Appliance, OnProgress], Receipt]

    @property
    def count(self) -> int:
        """The number that is typed to say yes: of messages, else of whole sessions, else of facts."""
        return self.messages or self.sessions or self.facts

    @property
    def counted(self) -> str:
        """What that number counts."""
        if self.messages:
            return plural(self.messages, "message")
        return plural(self.sessions, "whole session") if self.sessions else plural(self.facts, "fact")


def look(memory: Appliance, wish: Wish, user: str | None) -> Doomed:
    """What would go by a wish. Nothing is changed.

    Raises:
        ApplianceError: nothing is named, or nothing is like that.
    """
    doomed = memory.forgetting.preview(
        *wish.ids,
        source=wish.source or None,
        query=wish.words or None,
        everything=wish.everything,
        user_id=user,
    )
    some = memory.browsing.messages([f"m{key}" for key in doomed.messages[:SHOWN]])
    return Doomed(
        messages=len(doomed.messages),
        sessions=len(doomed.sessions),
        facts=doomed.facts,
        characters=doomed.characters,
        formats=doomed.formats,
        files=doomed.files,
        keys=(doomed.messages, doomed.sessions, doomed.facts),
        some=some,
        erase=lambda there, progress: there.forgetting.forget(doomed, progress),
    )


def plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes in words."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def words(messages: int, sessions: int, facts: int, characters: int, formats: Mapping[str, int]) -> str:
    """How much goes, or went."""
    where = "".join(f"; {count:,} from {format}" for format, count in formats.items())
    parts = [
        f"{plural(messages, 'message')} ({characters:,} characters{where})",
        *([plural(sessions, "whole session")] if sessions else []),
        *([plural(facts, "fact")] if facts else []),
    ]
    return ", ".join(parts)


def of_doomed(doomed: Doomed) -> str:
    """What would go, in words."""
    return words(doomed.messages, doomed.sessions, doomed.facts, doomed.characters, doomed.formats)


def of_receipt(receipt: Receipt, files: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """A receipt, by names and what stands behind them. ``files`` are those that what was forgotten was read from."""
    proof = receipt.proof
    yield "receipt", f"{receipt.id} · {receipt.at[:19].replace('T', ' ')}"
    yield (
        "erased",
        words(receipt.messages, receipt.sessions, receipt.facts, receipt.characters, receipt.formats),
    )
    if receipt.state == "open":
        yield "state", "open: files of the memory are still to be made anew, which goes on by itself"
        return
    yield "vectors", f"{receipt.vectors:,} erased"
    if not proof.files:
        yield "searched", "no file: it was interrupted, and nobody knows any more what to look for"
        return
    yield "searched", f"{plural(proof.files, 'file')} ({size(proof.bytes)}) for {plural(proof.texts, 'text')}"
    yield "traces", ", ".join(proof.traces) or "none found"
    for path in proof.yours:
        yield "note", f"{path}, an export of yours, still holds it"
    for path in files:
        yield "note", f"read from {path}, which is left alone"
