"""The blocks of core memory, and the forms that they had."""

from __future__ import annotations

from typing import Literal

from appliance.lazy_dataclasses import dataclass

BlockEditor = Literal["person", "assistant"]
"""Who writes a block of core memory."""

MAX_LABEL_CHARACTERS = 40
"""The characters of a block's label, at most."""

DEFAULT_BLOCK_CHARACTERS = 2_000
"""The limit of a block if none is given: some 500 tokens."""

MAX_ASSISTANT_CHARACTERS = 60
"""The characters of an assistant's name that are kept."""

MAX_CORE_CHARACTERS = 8_000
"""The limits of all blocks of a user in a namespace together, at most: some 2,000 tokens of each context."""


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """A block of core memory: a short text that is in every context of its user and namespace.

    Attributes:
        label: What it is called, lower case; unique within user and namespace.
        value: The text.
        description: What belongs into it.
        limit: The most characters of ``value``.
        read_only: Whether only the person may change it.
        revision: 1 for the first form, one more with each change of ``value``.
        changed_by: Who wrote the present form.
        changed_at: When, as ISO 8601.
        user_id: Whose it is.
        namespace: The namespace within that user's memory.
        assistant: The name of the assistant that wrote the present form; "" if the person did, or it gave none.
    """

    label: str
    value: str
    description: str
    limit: int
    read_only: bool
    revision: int
    changed_by: BlockEditor
    changed_at: str
    user_id: str
    namespace: str = ""
    assistant: str = ""


@dataclass(frozen=True, slots=True)
class BlockRevision:
    """A form of a block's text. ``changed_at`` is when it was written, as ISO 8601; the present form has the highest
    ``number``. ``assistant`` is the name of the assistant that wrote it; "" if the person did, or it gave none."""

    number: int
    value: str
    changed_by: BlockEditor
    changed_at: str
    assistant: str = ""
