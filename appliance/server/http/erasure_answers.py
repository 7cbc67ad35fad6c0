"""The answers of erasures as HTTP and the command line print them: previews, what repeats, and receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from appliance.types import EchoKind, Receipt

if TYPE_CHECKING:
    from appliance.types import Echo, ErasurePreview

MAX_SNIPPET_CHARACTERS = 80
"""Characters of what repeats what is erased: enough to recognise it."""


@dataclass(frozen=True, slots=True)
class EchoAnswer:
    """What would still say what is erased. ``message_id`` is null for summaries, facts and blocks of
    core memory, and ``snippet`` for the first two."""

    kind: EchoKind
    id: str
    message_id: str | None
    snippet: str | None


@dataclass(frozen=True, slots=True)
class BlockErasureAnswer:
    """The sentences that go from a block of core memory, with its id ("core:person"); none if the whole block goes."""

    id: str
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class ErasurePreviewAnswer:
    """What would be erased: ids of messages and of whole sessions, characters, messages by format, facts, and exports
    outside of the memory that contain it and are not changed. ``found_in`` are the places where the words of a query
    were looked for, with the number of messages that each leads to, and ``found_elsewhere`` those that don't have the
    words in their text, with these places; ``found_alone`` counts the facts, the sessions and the blocks of core memory
    that are found in a place without any message. ``echoes`` would still say it: near copies, answers that repeat it,
    other messages, summaries, facts and sentences of blocks; ``with_echoes`` erases them too. ``contacts`` counts
    entries of address books. ``blocks`` are the sentences that go from core memory, or whole blocks. If an
    author was named, ``authors`` are the names that its messages were written under ("" for none), with their numbers,
    and ``notes`` say whose a name may be that no author has, and which repeats were not looked for. ``source_files``
    are the files in the zip or folder that the source names; only the owner sees them, and ``files``. ``titles`` are
    those of the first whole sessions, by their ids ("" without one), as far as the caller may read these."""

    messages: tuple[str, ...]
    sessions: tuple[str, ...]
    characters: int
    formats: Mapping[str, int]
    files: tuple[str, ...]
    facts: int
    found_in: Mapping[str, int]
    echoes: Sequence[EchoAnswer]
    contacts: int = 0
    blocks: Sequence[BlockErasureAnswer] = ()
    authors: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    found_elsewhere: Mapping[str, Sequence[str]] = field(default_factory=dict)
    found_alone: Mapping[str, int] = field(default_factory=dict)
    source_files: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoverageAnswer:
    """Of ``of`` erased texts, ``texts`` were long enough to be looked for, in ``files`` files."""

    files: int
    texts: int
    of: int


@dataclass(frozen=True, slots=True)
class ReceiptAnswer(Receipt):
    """A receipt, with the result of the search for traces: ``searched`` is null as long as it has not been done."""

    searched: CoverageAnswer | None = None
    traces: tuple[str, ...] = ()


def receipt_shape(receipt: Receipt) -> dict[str, Any]:
    """A receipt, as ``ReceiptAnswer`` describes it."""
    report = receipt.proof
    coverage = {"files": report.files, "texts": report.texts, "of": report.erased_texts}
    return {**asdict(receipt), "searched": coverage if report.searched else None, "traces": list(report.traces)}


def message_echoes(echoes: Iterable[Echo]) -> list[str]:
    """The ids of the messages among echoes, the others being summaries, facts and blocks."""
    return [echo.id for echo in echoes if echo.kind not in ("summary", "fact", "block")]


def echo_shapes(preview: ErasurePreview, messages: Mapping[str, str]) -> list[dict[str, str | None]]:
    """The echoes of a preview, as ``EchoAnswer`` describes them. ``messages`` are the texts of those that the caller
    may read, by their ids."""
    echoes, ids = preview.echoes, set(message_echoes(preview.echoes))
    texts = {**messages, **{block.id: " ".join(block.texts) for block in preview.block_echoes}}
    return [
        {
            "kind": echo.kind,
            "id": echo.id,
            "message_id": echo.id if echo.id in ids else None,
            "snippet": texts[echo.id][:MAX_SNIPPET_CHARACTERS] if echo.id in texts else None,
        }
        for echo in echoes
    ]


def erasure_preview_shape(preview: ErasurePreview, echoes: Sequence[Mapping[str, str | None]]) -> dict[str, Any]:
    """A preview, as ``ErasurePreviewAnswer`` describes it, with the ``echo_shapes`` of its echoes."""
    shape = {
        **asdict(preview),
        "echoes": echoes,
        "messages": [f"m{key}" for key in preview.messages],
        "sessions": [f"s{key}" for key in preview.sessions],
        "contacts": len(preview.contacts),
        "blocks": [{"id": block.id, "texts": block.texts} for block in preview.blocks],
        "titles": {f"s{key}": title for key, title in preview.titles.items()},
    }
    shape["found_elsewhere"] = {f"m{key}": places for key, places in preview.found_elsewhere.items()}
    del shape["touched"], shape["all_of"], shape["named_facts"], shape["summaries"], shape["block_echoes"]
    del shape["by"]  # the caller knows who it is
    return shape
