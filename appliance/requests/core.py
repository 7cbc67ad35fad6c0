"""Requests about core memory: short texts that are in every context. A user is the configured one unless named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import BlockEditor, BlockRevision, CoreBlock


@dataclass(frozen=True, slots=True)
class ListBlocksRequest(Request[Sequence[CoreBlock]]):
    """List the blocks of core memory, in the order in which contexts have them: the oldest first.

    Args:
        user_id: Whose blocks.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "core.list"

    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class BlockRequest(Request[CoreBlock]):
    """Read a block of core memory.

    Args:
        label: Its label, without regard to case.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is none with this label.
    """

    name: ClassVar[str] = "core.get"

    label: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class SetBlockRequest(Request[CoreBlock]):
    """Write a block of core memory, or begin one. What is None stays as it is. The form before stays in its history.

    Args:
        label: Its label: a word of letters, digits, "-", "_" and ".", without regard to case.
        value: The text, in full.
        description: What belongs into the block.
        limit: The most characters of the text.
        read_only: Whether only the person may change the block.
        revision: Write only if this is the revision of the present form; 0: only if there is no such block.
        by: Who writes.
        assistant: The name of the assistant that writes, for the history.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        UsageError: The label is invalid, the text is longer than the limit, the limits of all blocks together are too
            large, the block has another revision, or an assistant writes to a read-only block or changes what belongs
            to the person: the limit, or whether the block is read-only.
    """

    name: ClassVar[str] = "core.set"
    repeatable: ClassVar[bool] = False

    label: str
    value: str | None = None
    _: KW_ONLY
    description: str | None = None
    limit: int | None = None
    read_only: bool | None = None
    revision: int | None = None
    by: BlockEditor = "person"
    assistant: str = ""
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class AppendToBlockRequest(Request[CoreBlock]):
    """Add a line to a block of core memory, or begin a block with it.

    Args:
        label: Its label.
        text: What to add, after a line break.
        by: Who writes.
        assistant: The name of the assistant that writes, for the history.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        UsageError: The text is empty, or the block refuses it, as in ``core.set``.
    """

    name: ClassVar[str] = "core.append"
    repeatable: ClassVar[bool] = False

    label: str
    text: str
    _: KW_ONLY
    by: BlockEditor = "person"
    assistant: str = ""
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ReplaceInBlockRequest(Request[CoreBlock]):
    """Replace a part of a block of core memory.

    Args:
        label: Its label.
        old: The part, letter by letter; the block has it once.
        new: What takes its place; empty to remove it.
        by: Who writes.
        assistant: The name of the assistant that writes, for the history.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such block.
        UsageError: The block does not have the part, or more than once, or refuses the change, as in ``core.set``.
    """

    name: ClassVar[str] = "core.replace"
    repeatable: ClassVar[bool] = False

    label: str
    old: str
    new: str
    _: KW_ONLY
    by: BlockEditor = "person"
    assistant: str = ""
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class BlockHistoryRequest(Request[Sequence[BlockRevision]]):
    """List the forms of a block's text, the first one first, the present one last. The latest 200 are kept.

    Args:
        label: Its label.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such block.
    """

    name: ClassVar[str] = "core.history"

    label: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RevertBlockRequest(Request[CoreBlock]):
    """Write an earlier form of a block again, as its latest one.

    Args:
        label: Its label.
        number: The number of the form, as ``core.history`` gives it.
        by: Who writes.
        assistant: The name of the assistant that writes, for the history.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such block, or no such form of it.
        UsageError: The block refuses it, as in ``core.set``.
    """

    name: ClassVar[str] = "core.revert"
    repeatable: ClassVar[bool] = False

    label: str
    number: int
    _: KW_ONLY
    by: BlockEditor = "person"
    assistant: str = ""
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class DeleteBlockRequest(Request[CoreBlock]):
    """Delete a block of core memory with its history. Returns what it was.

    Args:
        label: Its label.
        user_id: Whose block.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such block.
    """

    name: ClassVar[str] = "core.delete"
    repeatable: ClassVar[bool] = False

    label: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
