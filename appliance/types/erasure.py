"""What an erasure removes and its lasting record: counts and reports, no words of what was erased."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from appliance.types.core import BlockEditor
from appliance.types.vocabulary import Scope

EchoKind = Literal["copy", "answer", "repetition", "summary", "fact", "block"]

MAX_NAMED_SESSIONS = 10
"""Conversations whose titles a preview names, of those that go whole."""

BLOCK_PREFIX = "core:"
"""Before the label of a block of core memory, it makes the block's id: "core:person"."""


@dataclass(frozen=True, slots=True)
class Echo:
    """Something that would still say what is erased, and its id: a near copy, an assistant's answer that repeats it,
    another message that does, a summary, a fact, or sentences of a block of core memory."""

    kind: EchoKind
    id: str


@dataclass(frozen=True, slots=True)
class BlockErasure:
    """What an erasure takes out of a block of core memory, in its present form and all earlier ones: the sentences
    ``texts``, recognised by their ``digests``, which stay what they are where secrets are hidden. Without ``texts``,
    the whole block goes. ``key`` is that of the store."""

    key: int
    label: str
    read_only: bool = False
    texts: tuple[str, ...] = ()
    digests: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """The id by which an erasure names the block."""
        return f"{BLOCK_PREFIX}{self.label}"


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would remove. ``sessions`` would become empty; ``touched`` are all sessions that would lose a
    message. ``formats`` counts messages by format. ``files`` are the existing files that the messages were read
    from, others that have messages of the same sessions, and watched files in which the texts stand. ``facts`` counts
    those that rest on nothing else or are among ``named_facts``, which have the words themselves. ``all_of`` is the
    scope if its whole memory would be erased. ``found_in`` are the places where words were looked for, with the number
    of messages that each leads to, and ``found_elsewhere`` the messages that don't have them in their text, with these
    places. ``found_alone``
    counts what is found in such a place without any message: facts, sessions by their titles and metadata, and blocks.
    ``echoes`` would stay and still say it; with echoes, they are among what is erased, and ``summaries`` too.
    ``blocks`` is what would be taken out of core memory, and ``block_echoes`` what the echoes among blocks say.
    ``contacts`` are entries of address books, each with the file that holds it, by store keys. If an author was named,
    ``authors`` are the names under which the messages were written ("" for none), with their numbers, and ``notes`` say
    whose a name may be that no author has, and which repeats were not looked for. ``by`` is who erases, as the history
    of a block notes it. If the path of a zip or a folder was named as the source, ``source_files`` are the files in it
    from which something would be erased. ``titles`` are those of the first ``MAX_NAMED_SESSIONS`` of ``sessions``, ""
    where one has none: they are for a person to see, and no receipt keeps them."""

    messages: tuple[int, ...]
    sessions: tuple[int, ...]
    touched: tuple[int, ...]
    characters: int
    formats: dict[str, int]
    files: tuple[str, ...]
    facts: int = 0
    all_of: Scope | None = None
    found_in: dict[str, int] = field(default_factory=dict)
    named_facts: tuple[int, ...] = ()
    echoes: tuple[Echo, ...] = ()
    summaries: tuple[int, ...] = ()
    contacts: tuple[tuple[int, int], ...] = ()
    authors: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    found_elsewhere: dict[int, tuple[str, ...]] = field(default_factory=dict)
    found_alone: dict[str, int] = field(default_factory=dict)
    blocks: tuple[BlockErasure, ...] = ()
    block_echoes: tuple[BlockErasure, ...] = ()
    by: BlockEditor = "person"
    source_files: tuple[str, ...] = ()
    titles: dict[int, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be erased."""
        return not (self.messages or self.sessions or self.facts or self.contacts or self.blocks)


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """Where an erasure searched for traces, and where it found some: ``traces`` are files of the memory, ``yours``
    exports in the inbox. Without ``searched``, it has not searched: it is not finished, or was interrupted and no
    longer knew the texts.

    It read ``files`` files with ``bytes`` bytes on the disk, and ``frames`` compressed parts of them. Of the
    ``erased_texts`` it sought ``texts``, and ``names`` of files, conversations and people, in ``pieces`` pieces; the
    others are too short to be told apart. It asked the full text for ``words`` of their words. ``repeated`` texts
    stay, because another message says the same, such as another user's: that is no trace. ``repeated_by`` are the ids
    of the first of these messages.
    """

    files: int = 0
    bytes: int = 0
    texts: int = 0
    traces: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    searched: bool = False
    erased_texts: int = 0
    names: int = 0
    pieces: int = 0
    words: int = 0
    frames: int = 0
    collections: int = 0
    points: int = 0
    dropped_collections: int = 0
    awaits_server: bool = False
    repeated: int = 0
    repeated_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of an erasure, with an id of its own ("e3"). ``state`` is "open" as long as files of the home still
    have to be rewritten or searched; ``vectors`` counts those erased; ``proof`` is the report. ``backups`` are the
    known folders and files with a backup from before, which may still hold what was erased. ``blocks`` counts the
    blocks of core memory from which something was taken, or that went."""

    id: str
    at: str
    state: str
    messages: int
    sessions: int
    characters: int
    vectors: int
    formats: dict[str, int]
    proof: ErasureReport
    facts: int = 0
    backups: tuple[str, ...] = ()
    blocks: int = 0
