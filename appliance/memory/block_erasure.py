"""What an erasure means in core memory: sentences of blocks that say what is erased, or whole blocks.

A block says much beside what is erased, so that only its sentences and lines go, out of all forms that it had. Blocks
are short and every context has them, therefore also a line of one or two words is looked at, which among messages would
be no evidence.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise

from appliance.errors import UsageError
from appliance.languages.sentence_ends import is_inner_stop
from appliance.store import core_blocks
from appliance.store.core_blocks import StoredBlock
from appliance.timestamps import now
from appliance.types import BlockEditor, BlockErasure, Scope
from appliance.types.erasure import BLOCK_PREFIX

Says = Callable[[str], bool]
"""Whether a text says what is erased."""

_SEPARATOR = re.compile(r"((?<=[.!?…。！？])\s+|\n+)")


def named_blocks(
    db: sqlite3.Connection, scope: Scope, references: Sequence[str]
) -> tuple[list[BlockErasure], list[str]]:
    """Return the blocks that are named as "core:person", which go as a whole, and the other references. What has no
    such block may be the external id of a session."""
    blocks, others = [], []
    for reference in references:
        label = reference.removeprefix(BLOCK_PREFIX)
        found = core_blocks.find(db, scope, label.casefold()) if label != reference else None
        if found is None:
            others.append(reference)
        else:
            blocks.append(_whole(found))
    return blocks, others


def all_blocks(db: sqlite3.Connection, scope: Scope) -> list[BlockErasure]:
    """Return all blocks of a scope, to go as a whole."""
    return [_whole(found) for found in core_blocks.in_scope(db, scope)]


def sentences_that_say(db: sqlite3.Connection, scope: Scope, says: Says) -> list[BlockErasure]:
    """Return the sentences of the blocks of a scope that say something, or two together do, in any of their forms."""
    blocks = []
    for found in core_blocks.in_scope(db, scope):
        sentences: dict[str, None] = {}
        for text in _texts(db, found):
            sentences |= dict.fromkeys(_saying(text, says))
        if sentences:
            digests = tuple(map(_digest, sentences))
            blocks.append(BlockErasure(found.key, found.block.label, found.block.read_only, tuple(sentences), digests))
    return blocks


def labels_that_say(db: sqlite3.Connection, scope: Scope, says: Says) -> list[str]:
    """Return the labels of a scope's blocks that say something."""
    return [found.block.label for found in core_blocks.in_scope(db, scope) if says(found.block.label)]


def require_writable(blocks: Sequence[BlockErasure]) -> None:
    """Check that an assistant names no blocks.

    Raises:
        UsageError: There are some.
    """
    if blocks:
        raise UsageError(
            f"Only the person erases the block {blocks[0].label!r}; nothing was changed.",
            hint=f"'appliance forget {blocks[0].id}' does.",
        )


def settle(
    blocks: Sequence[BlockErasure], by: BlockEditor, everything: bool
) -> tuple[tuple[BlockErasure, ...], list[str]]:
    """Return what goes, each block once, and notes on what stays: with an assistant, what is in blocks that are
    read-only, unless everything goes."""
    merged: dict[int, BlockErasure] = {}
    for block in blocks:
        if (known := merged.get(block.key)) is None or not block.texts:
            merged[block.key] = block
        elif known.texts:
            sentences = dict(zip(known.digests + block.digests, known.texts + block.texts, strict=True))
            merged[block.key] = replace(known, texts=tuple(sentences.values()), digests=tuple(sentences))
    kept = [block for block in merged.values() if block.read_only and by == "assistant" and not everything]
    notes = [
        f"The block {block.label!r} is read-only for assistants, and keeps what it says of it; the person can erase it"
        for block in kept
    ]
    return tuple(block for block in merged.values() if block not in kept), notes


def erase(tx: sqlite3.Connection, blocks: Sequence[BlockErasure], by: BlockEditor) -> tuple[list[str], int]:
    """Take out of core memory what an erasure means, also out of earlier forms. A block that is gone meanwhile is left
    out, also if another one has its key. Returns the texts that went, and of how many blocks.

    A present form that changes gets another number and is noted as changed ``by`` who erases, so that what was made of
    the form before can't bring it back."""
    gone: list[str] = []
    there = [block for block in blocks if core_blocks.label(tx, block.key) == block.label]
    for block in there:
        forms = core_blocks.revisions(tx, block.key)
        description = core_blocks.description(tx, block.key)
        if not block.texts:
            gone += [description, *(form.value for form in forms)]
            core_blocks.delete(tx, block.key)
            continue
        digests = set(block.digests)
        gone += {one for text in (description, *(form.value for form in forms)) for one in _among(text, digests)}
        core_blocks.describe(tx, block.key, _without(description, digests))
        for form in forms:
            if (rest := _without(form.value, digests)) != form.value:
                core_blocks.rewrite(tx, block.key, form.number, rest)
                if form is forms[-1]:
                    core_blocks.renumber_present(tx, block.key, by, now())
    return list(dict.fromkeys(filter(None, gone))), len(there)


def _whole(found: StoredBlock) -> BlockErasure:
    return BlockErasure(found.key, found.block.label, found.block.read_only)


def _texts(db: sqlite3.Connection, found: StoredBlock) -> Iterator[str]:
    """The description of a block, and its forms, the present one first."""
    yield found.block.description
    yield from (form.value for form in reversed(core_blocks.revisions(db, found.key)))


def _sentences(text: str) -> tuple[list[str], list[str]]:
    """The sentences and lines of a text, and what separates them."""
    parts = _SEPARATOR.split(text)
    sentences, separators, at = [parts[0]], list[str](), len(parts[0])
    for separator, part in zip(parts[1::2], parts[2::2], strict=True):
        goes_on = "\n" not in separator and text[at - 1 : at] == "." and is_inner_stop(text, at - 1)
        at += len(separator) + len(part)
        if goes_on:
            sentences[-1] += separator + part
        else:
            separators.append(separator)
            sentences.append(part)
    return sentences, separators


def _saying(text: str, says: Says) -> Iterator[str]:
    sentences, separators = _sentences(text)
    alone = [says(sentence) for sentence in sentences]
    yield from (sentence for sentence, says_it in zip(sentences, alone, strict=True) if says_it and sentence)
    pairs = zip(pairwise(sentences), pairwise(alone), separators, strict=True)
    for (first, second), either, separator in pairs:
        if not any(either) and first and second and says(first + separator + second):
            yield from (first, second)


def _among(text: str, digests: Collection[int]) -> list[str]:
    return [sentence for sentence in _sentences(text)[0] if _digest(sentence) in digests]


def _without(text: str, digests: Collection[int]) -> str:
    """A text without some of its sentences. Between two that stay is the widest of the gaps that were there."""
    sentences, separators = _sentences(text)
    kept, gap = "", ""
    for sentence, separator in zip(sentences, [*separators, ""], strict=True):
        if _digest(sentence) not in digests:
            kept += (gap if kept else "") + sentence
            gap = separator
        else:
            gap = max(gap, separator, key=lambda one: (one.count("\n"), len(one)))
    return kept


def _digest(sentence: str) -> int:
    return int.from_bytes(blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=6).digest())
