"""Requests that find messages and build contexts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import ClassVar

from appliance.requests.base import Request
from appliance.types import Contained, Context, HitOrder, Hits, Message, MessageVersion, Mode, Role, Window


@dataclass(frozen=True, slots=True)
class SearchRequest(Request[Hits]):
    """Find the messages that answer a query best: one hit a message, best first.

    Args:
        query: What is looked for, in plain words. A question for what somebody wrote or said ("everything Diego wrote",
            "what did Mum say about the boiler") finds only their messages, unless nothing of them matches well. Without
            words, all messages that pass the filters are hits, the newest first.
        limit: The most hits to return; by default the setting ``search.limit``.
        offset: How many hits to skip. The order does not depend on it: the ranked candidates come first, and then every
            other message with a word of the query (with all its quoted phrases, if it has any), the best first.
        sort: "score", or "time": every message with a word of the query, the newest first; in the mode "dense" the
            ranked candidates.
        count: Whether to count all hits, up to 10,000, which costs about 10 microseconds a hit. Without it,
            ``hits.total`` may be a lower bound.
        neighbours: How many turns before and after each hit to return with it.
        min_score: The least score of a hit, 0 to 1. By default there is no hit at all if the best is no good match, and
            all of them if it is; 0 returns the nearest in any case.
        mode: "hybrid", "dense" (by meaning) or "lexical" (by words).
        profile: The scoring profile, by name; by default the setting ``search.profile``.
        without: Legs of the search that do not run, out of ``retrieval.weights.LEGS``.
        per_session: The most hits of one session; 0 for no limit.
        variants: Whether messages that say the same as a better hit by the same author are hits of their own. By
            default they are folded under it in a ranking, and hits of their own where all messages are listed: sorted
            by time, or without words.
        user_id: Whose memory is searched; by default the configured user's.
        namespace: The namespace within that memory.
        agent_id: Only sessions in which this agent takes part.
        session_id: Only this session, by its id or external id.
        roles: Only these roles; by default user and assistant.
        sources: Only these formats.
        authors: Only messages by these people: ids ("p3"), "me", or names, parts of names, addresses or numbers,
            without case. A person is found by any name, whatever the messages call them.
        has: Only messages that have any of these besides words, or are pages of a document.
        tags: Only conversations with any of these tags.
        participants: Only conversations in which all these people wrote, named in the same ways.
        tools: Only messages about a call of any of these tools ("bash"): the call and its result, and the turns around
            them. "*" stands for any characters, here and in files.
        files: Only messages about any of these files: that name or carry it, or whose turn touched it. A file is given
            by its name, with or without the suffix, or by the end of its path ("endpoints.py", "api/endpoints.py").
        entities: Only messages that name any of these people, places, products and the like.
        topics: Only conversations about any of these topics: its words are in the title or in several messages.
        since: Only messages from this day or time on: ISO 8601, or words such as "last week" or "March 2024".
        until: Only messages up to this time, or to the end of this day.
        as_of: Search as if it were this day or time.
        asked_in: The session that asks. It finds its own messages even if it shares none.
        include_archived: Search archived messages too, in one ranking with the others. Without it, a search looks there
            only if it finds nothing good, unless the setting ``archive.look`` is off.
        why_not: A message to explain: ``hits.why_not`` says at which stage it dropped out.
        generation: Search in this generation of vectors, one that is kept after a change of the model, to compare it
            with the serving one; by default the serving one.

    Returns:
        The hits. ``found`` is False if nothing is a good match. ``notes`` says which leg could not run, and which value
        of a filter nothing has.

    Raises:
        UsageError: A role, author, tool, file, entity, topic, mode, order, profile, leg, date, limit, offset or minimum
            score is invalid, or a filter has more than 250 values.
        NotFound: No such session or generation, or no message ``why_not``.
        ModelUnavailable: The model of a kept generation can't be loaded.
    """

    name: ClassVar[str] = "search"

    query: str
    _: KW_ONLY
    limit: int | None = None
    offset: int = 0
    sort: HitOrder = "score"
    count: bool = False
    neighbours: int = 0
    min_score: float | None = None
    mode: Mode = "hybrid"
    profile: str | None = None
    without: Collection[str] | None = None
    per_session: int | None = None
    variants: bool | None = None
    user_id: str | None = None
    namespace: str = ""
    agent_id: str | None = None
    session_id: str | None = None
    roles: Sequence[Role] | None = None
    sources: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    has: Sequence[Contained] | None = None
    tags: Sequence[str] | None = None
    participants: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    files: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    since: str | date | None = None
    until: str | date | None = None
    as_of: str | date | None = None
    asked_in: str | None = None
    include_archived: bool = False
    why_not: str | None = None
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ContextRequest(Request[Context]):
    """Build what an assistant is given for a query, within an exact token budget.

    The context has five layers: core memory, what is known of the person, the memories that answer the query, and,
    with a session, its running summary and latest turns. A short follow-up ("and when was that?") is resolved
    from these turns.

    Args:
        query: What the person says or asks.
        session_id: The session in which it is said. Its summary and turns are part of the context.
        user_id: Whose memory is used; by default the configured user's.
        namespace: The namespace within that memory.
        agent_id: Only sessions in which this agent takes part.
        budget: The most tokens; by default the setting ``context.budget``.
        encoding: The tokens' encoding, or the name of the assistant's model if its encoding is known; by default the
            setting ``context.encoding``.
        profile: The scoring profile, by name; by default the setting ``context.profile``.
        counted: Whether the memories in the context count as recalled. Give False for a call that leaves no trace.
        window: The working memory of a conversation that is not stored, in place of a session's.
        preset: How the budget is shared among the layers: assistant, support, tutor or code.
        shares: Shares of the budget by layer, in place of a preset. ``context.shares`` says where unused tokens go.
        auto_recall: Whether anything is recalled at all. By default the session's option decides, then the settings.
        leave_out: Texts that the assistant has anyway; memories that say the same are left out.
        tags: Memories only from sessions with any of these tags.
        recall_limit: The most messages of other sessions. By default the session's option decides, then the settings,
            which set no limit. Summaries are not counted; with 0 there are none either.
        min_score: The least score of a message of another session, 0 to 1; 0 for the nearest in any case. By default
            the session's option decides, then the settings; without either, there are none if the best is not good
            enough to rely on, and all of them if it is.
        sources: Memories only of these formats; this and what follows as in a search.
        authors: Only messages by these people.
        participants: Only from conversations in which all these people wrote.
        roles: Only messages with these roles; by default user and assistant.
        has: Only messages that have any of these besides words, or are pages of a document.
        tools: Only messages about a call of any of these tools.
        files: Only messages about any of these files.
        entities: Only messages that name any of these.
        topics: Only conversations about any of these topics.
        since: Only messages from this day or time on.
        until: Only messages up to this time, or to the end of this day.

    Returns:
        The context. ``tokens`` never exceeds ``budget``. ``found`` is False if no memory is a good match.

    Raises:
        UsageError: The budget is below 1, an encoding, profile, preset or share is unknown, or the limit, minimum
            score or a filter is invalid.
        NotFound: No such session.
    """

    name: ClassVar[str] = "context"

    query: str
    _: KW_ONLY
    session_id: str | None = None
    user_id: str | None = None
    namespace: str = ""
    agent_id: str | None = None
    budget: int | None = None
    encoding: str | None = None
    profile: str | None = None
    counted: bool = True
    window: Window | None = None
    preset: str | None = None
    shares: Mapping[str, float] | None = None
    auto_recall: bool | None = None
    leave_out: Collection[str] = ()
    tags: Sequence[str] | None = None
    recall_limit: int | None = None
    min_score: float | None = None
    sources: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    participants: Sequence[str] | None = None
    roles: Sequence[Role] | None = None
    has: Sequence[Contained] | None = None
    tools: Sequence[str] | None = None
    files: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    since: str | date | None = None
    until: str | date | None = None


@dataclass(frozen=True, slots=True)
class MessageRequest(Request[Message]):
    """Read one message.

    Args:
        reference: Its id ("m345") or its external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "message"

    reference: str


@dataclass(frozen=True, slots=True)
class VersionsRequest(Request[list[MessageVersion]]):
    """List the earlier forms of a message that was edited or corrected, the first one first.

    Args:
        reference: The message's id or external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "versions"

    reference: str


@dataclass(frozen=True, slots=True)
class VariantsRequest(Request[list[Message]]):
    """List the messages that say the same as one message, itself among them, in order of time.

    Args:
        reference: The message's id or external id.

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "variants"

    reference: str
