"""Requests that look over a memory, look after it, and erase from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import Any, ClassVar

from appliance.requests.base import Request
from appliance.types import (
    Activity,
    BlockEditor,
    ErasurePreview,
    Event,
    FeedbackKind,
    FilterChoices,
    Importance,
    Message,
    MessageMatches,
    MetricsSnapshot,
    Outline,
    Receipt,
    ReindexForecast,
    Stream,
    VerifyReport,
    WatchedFile,
)

# --- health -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatusRequest(Request[dict[str, Any]]):
    """Report counts, model, disk use and health, in the shape that ``appliance status --json`` prints."""

    name: ClassVar[str] = "status"


@dataclass(frozen=True, slots=True)
class VerifyRequest(Request[VerifyReport]):
    """Check that every character lies in a chunk and that all stores agree. Nothing is written.

    Args:
        deep: Also count each chunk's tokens, to prove that the model reads it to its end.

    Raises:
        ModelUnavailable: ``deep`` is given, and the model can't be loaded.
    """

    name: ClassVar[str] = "verify"

    _: KW_ONLY
    deep: bool = False


@dataclass(frozen=True, slots=True)
class ReindexRequest(Request[int]):
    """Rebuild full text and index from the database and the vectors. Returns how many chunks were indexed.

    Args:
        model: Move to this embedding model. The old vectors serve until the new set is complete, and are kept. A
            change that was interrupted goes on where it ended.
        vectors: Compute all vectors again with the present model.
        tokens: Compute the token vectors again, and nothing else.
        rollback: Go back to the generation of vectors that served before; the present one is kept.
        drop_old: Remove the generations that are kept, and what an interrupted change has left. Returns their number.
        generation: With ``rollback`` or ``drop_old``: only this generation, as ``status`` numbers them.

    Raises:
        ModelUnavailable: The model can't be loaded. Nothing was changed.
        UsageError: There is no generation to go back to, or ``generation`` is that which serves.
        NotFound: There is no such ``generation``.
        EmbeddingApiError: The model is behind an API that can't be asked, or it would send more than may be sent. The
            present vectors go on serving.
    """

    name: ClassVar[str] = "reindex"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    long_running: ClassVar[bool] = True

    _: KW_ONLY
    model: str | None = None
    vectors: bool = False
    tokens: bool = False
    rollback: bool = False
    drop_old: bool = False
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ForecastReindexRequest(Request[ReindexForecast]):
    """Forecast what a reindex sends to an embedding API: with a model, of all vectors, or back to a generation. Reads
    the messages that it would send if the model is behind one; nothing is sent. What an interrupted change has embedded
    is not counted again.

    Args:
        model: The embedding model; by default the present one.
        rollback: Forecast a rollback, which embeds what the generation lacks.
        generation: The generation of the rollback; or, without ``rollback``, a generation that ``embed_pending`` is to
            complete.

    Raises:
        ModelUnavailable: The model can't be loaded.
        UsageError, NotFound: There is no such generation to go back to.
    """

    name: ClassVar[str] = "forecast_reindex"

    model: str | None = None
    _: KW_ONLY
    rollback: bool = False
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class WarmUpRequest(Request[None]):
    """Load the index and the model before the first search, which then takes no longer than the others."""

    name: ClassVar[str] = "warm_up"


@dataclass(frozen=True, slots=True)
class MetricsRequest(Request[MetricsSnapshot]):
    """Read what the memory counts and times of its own work: numbers and fixed names, no words."""

    name: ClassVar[str] = "metrics"


@dataclass(frozen=True, slots=True)
class EventsRequest(Request[Stream[Event]]):
    """Yield what happens in the memory from now on, until the iterator is closed.

    A reader that is too slow misses the oldest events; an event of the kind "missed" says how many."""

    name: ClassVar[str] = "subscribe"
    resumable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class InteractiveUseRequest(Request[Stream[None]]):
    """Let background work go on in small steps only, until the stream is closed: somebody looks at a screen in this
    process, whose frames must not be late."""

    name: ClassVar[str] = "interactive_use"


# --- pins and usage -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PinRequest(Request[Message]):
    """Pin a message: its importance is 1.0, whatever it says.

    Args:
        reference: Its id or external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "pins.pin"

    reference: str


@dataclass(frozen=True, slots=True)
class UnpinRequest(Request[Message]):
    """Unpin a message: its importance follows again from what it says and how it is used.

    Args:
        reference: Its id or external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "pins.unpin"

    reference: str


@dataclass(frozen=True, slots=True)
class PinnedRequest(Request[list[Message]]):
    """List what a user has pinned, the latest first.

    Args:
        user_id: Whose pins.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "pins.pinned"

    user_id: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ImportanceRequest(Request[Importance]):
    """Report how important a message is now, with every part of the score.

    Args:
        reference: Its id or external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "pins.importance"

    reference: str


@dataclass(frozen=True, slots=True)
class RecalledRequest(Request[None]):
    """Count messages as recalled now. The counts are written in the background.

    Args:
        message_ids: Their ids.
    """

    name: ClassVar[str] = "pins.note_recalled"

    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class FeedbackRequest(Request[Importance]):
    """Say what a recalled message was worth. This moves its importance, and with it the tokens that it may take in a
    context, and its rank among messages that match about equally well there; a context marks what is wrong or outdated.
    Searches with another profile than "balanced" rank as before, and nothing is hidden. Of "helpful", "wrong" and
    "outdated" the last one holds; what "used" adds halves in 30 days. Returns its importance from now on, with every
    part.

    Args:
        reference: The id or external id of the message.
        kind: "helpful", "used" (an answer rests on it), "wrong" or "outdated".

    Raises:
        NotFound: There is no such message.
        UsageError: There is no such kind of feedback.
    """

    name: ClassVar[str] = "pins.feedback"

    reference: str
    kind: FeedbackKind


@dataclass(frozen=True, slots=True)
class WithdrawFeedbackRequest(Request[Importance]):
    """Take back the latest feedback of a kind on a message. An earlier judgement holds again. Returns the importance of
    the message from now on, with every part.

    Args:
        reference: The id or external id of the message.
        kind: "helpful", "used", "wrong" or "outdated".

    Raises:
        NotFound: There is no such message, or it has no feedback of this kind.
        UsageError: There is no such kind of feedback.
    """

    name: ClassVar[str] = "pins.withdraw_feedback"

    reference: str
    kind: FeedbackKind


# --- an overview --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountsRequest(Request[dict[str, int]]):
    """Count the ``messages``, the ``sessions`` (those of tools alone included), and how many chunks of all users are
    ``pending`` (not found by meaning yet).
    ``status`` says more, and takes longer.

    Args:
        user_id: Only this user's messages and sessions; by default those of all users.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "overview.counts"

    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class OutlineRequest(Request[Outline]):
    """Read a session's messages in order, without their texts. A branch begins with those that it shares.

    Args:
        session: The session's id or external id.

    Raises:
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "overview.outline"

    session: str


@dataclass(frozen=True, slots=True)
class MessagesRequest(Request[list[Message]]):
    """Read messages by their ids, in that order. Those that no longer exist are left out.

    Args:
        ids: At most 500 ids.

    Raises:
        UsageError: There are more.
    """

    name: ClassVar[str] = "overview.messages"

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class MatchesRequest(Request[list[MessageMatches]]):
    """Find what of a query stands in messages, as a search sees its words: by stem, and without stop words unless the
    query has no others. Messages without any of the words, and those that no longer exist, are left out.

    Args:
        query: The query.
        ids: At most 500 ids of messages.

    Returns:
        The matches, in the order of the ids.

    Raises:
        UsageError: There are more ids.
    """

    name: ClassVar[str] = "overview.matches"

    query: str
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChoicesRequest(Request[FilterChoices]):
    """List the values that a search can be filtered by.

    Args:
        user_id: Whose memory; by default the configured user's.
        namespace: The namespace within that memory.
    """

    name: ClassVar[str] = "overview.filter_choices"

    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ActivityRequest(Request[list[Activity]]):
    """Count the messages of each month, by source.

    Args:
        user_id: Whose memory; by default the configured user's.
        namespace: The namespace within that memory.
    """

    name: ClassVar[str] = "overview.activity"

    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class WatchedFilesRequest(Request[list[WatchedFile]]):
    """List the files that were found in watched folders, and those imported by hand that could not be read completely:
    those that wait first, then the latest read.

    Args:
        limit: The most files.
    """

    name: ClassVar[str] = "overview.files"

    _: KW_ONLY
    limit: int = 1_000


@dataclass(frozen=True, slots=True)
class FoldersRequest(Request[list[str]]):
    """List the folders that are watched: the inbox in the home, and those of the settings."""

    name: ClassVar[str] = "overview.folders"


# --- erasure ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PreviewErasureRequest(Request[ErasurePreview]):
    """Show what ``forget`` would erase of a user's memory. Nothing is changed. The arguments narrow each other.

    Args:
        references: Ids of messages and sessions, of facts, which go with the messages that state them, and of blocks
            of core memory ("core:person"), which go as a whole.
        source: A format, or the path of an imported file, or of a zip or a folder for all files in it, which the
            preview lists (``source_files``).
        query: Whole words as they stand, in messages and their earlier versions, authors, titles, metadata, names of
            files, facts and core memory; the preview says in which (``found_in``).
        title: Whole words of the titles of conversations, as they stand: "Box 15" is not in "Box 150". The preview
            names the conversations that go whole (``titles``).
        author: A person's id ("p3"), "me", or a whole name, address or number, without case and accents: everything
            that this person wrote under any name; the preview lists the names (``authors``). A part of a name means
            no one, other than in a search.
        author_name: An author's whole name as it is written, also where several people have it.
        since: Only messages from this day or time on: ISO 8601, or words such as "last week" or "March 2024".
        until: Only messages up to this time, or to the end of this day.
        everything: All of the user's messages, if nothing else is named.
        with_echoes: Also near copies, answers that repeat it, and summaries, facts and sentences of blocks that say it,
            which the preview lists as ``echoes`` in any case.
        echo_ids: With echoes, only those with these ids, as the preview names them; all by default. Other ids are
            ignored.
        by: Who erases: for an assistant, blocks that are read-only stay as they are.
        user_id: Whose memory; by default the configured user's.
        namespace: The namespace within that memory.

    Raises:
        UsageError: Nothing is named, the words are too frequent to look up, or several people have the author's
            name: the error lists them.
        NotFound: The user has no such message or session, or nothing from such a source.
    """

    name: ClassVar[str] = "erasure.preview"

    references: Sequence[str] = ()
    _: KW_ONLY
    source: str | None = None
    query: str | None = None
    title: str | None = None
    author: str | None = None
    author_name: str | None = None
    since: str | date | None = None
    until: str | date | None = None
    everything: bool = False
    with_echoes: bool = False
    echo_ids: Sequence[str] = ()
    by: BlockEditor = "person"
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ForgetRequest(Request[Receipt]):
    """Erase for good what a preview found: from the database, its log and its free pages, the full text, the vectors
    and the index. Then look for its words in every file of the home.

    Importing the same exports again does not bring the messages back, unless ``again`` is given.

    Args:
        preview: What is erased.
    """

    name: ClassVar[str] = "erasure.forget"
    repeatable: ClassVar[bool] = False
    long_running: ClassVar[bool] = True

    preview: ErasurePreview


@dataclass(frozen=True, slots=True)
class ReceiptsRequest(Request[list[Receipt]]):
    """List the receipts of everything that was forgotten, the latest first: counts and reports, no words."""

    name: ClassVar[str] = "erasure.receipts"
