"""The bodies of requests, with all bounds, so that the OpenAPI document has them too.

Names are those of the Python calls. Unknown fields are refused.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    model_validator,
)

from appliance import timestamps
from appliance.errors import UsageError
from appliance.types import (
    Contained,
    FactKind,
    FeedbackKind,
    HitOrder,
    Level,
    Mode,
    Role,
    SharingLayerName,
    StorageScope,
)
from appliance.types.vocabulary import MAX_FILTER_VALUES, MAX_TAG_CHARACTERS

MAX_TTL_SECONDS = 100 * 366 * 24 * 60 * 60
"""Seconds; no longer time to live is useful."""

MAX_LIMIT = 1000
"""The most hits, sessions, messages or summaries in one answer."""

MAX_QUERY_CHARACTERS = 8192
"""Characters of a query; anything longer is a document."""

MAX_NEIGHBOURS = 25
"""The most turns before and after a hit."""

DEFAULT_PAGE_SIZE = 50
"""The default limit of a list."""

MAX_EXACT_INTEGER = 2**53 - 1
"""The largest whole number that every client reads from JSON exactly; the database takes larger ones."""

NON_BLANK_PATTERN = r"[^\s\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
"""A character that is not white space, by any common definition."""

_DATE_SCHEMAS = [
    {"type": "string", "format": "date", "examples": ["2026-02-06"]},
    {"type": "string", "format": "date-time", "examples": ["2026-02-06T10:30:00+01:00"]},
]


def _check_whole_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_not_blank(text: str) -> str:
    if re.search(NON_BLANK_PATTERN, text) is None:
        raise ValueError("must not be empty")
    return text


def _check_date(text: str) -> str:
    try:
        timestamps.parse_bound(text, end=True)
        timestamps.parse_as_of(text)
    except (UsageError, OverflowError) as error:
        raise ValueError(
            "must be a date or a time, such as 2026-02-06, 2026-02-06T10:30:00+01:00 or last week"
        ) from error
    return text


def _parse_timestamp(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value.upper() else None
        if parsed is not None:
            timestamps.iso(parsed)
            return parsed
    except (ValueError, OverflowError):
        pass
    raise ValueError("must be an ISO 8601 date and time, such as 2026-02-06T10:30:00+01:00")


DateText = Annotated[str, AfterValidator(_check_date), WithJsonSchema({"anyOf": _DATE_SCHEMAS})]
"""A date or a time that bounds a range."""

Timestamp = Annotated[
    datetime | None,
    Strict(False),
    BeforeValidator(_parse_timestamp),
    WithJsonSchema({"anyOf": [_DATE_SCHEMAS[1], {"type": "null"}]}),
]
"""The time of a message; without a UTC offset its zone is unknown."""

Text = Annotated[
    str, AfterValidator(_check_not_blank), WithJsonSchema({"type": "string", "pattern": NON_BLANK_PATTERN})
]
"""Text that is not blank."""

WHOLE_NUMBER = BeforeValidator(_check_whole_number)
"""Accepts whole numbers that JSON writes as 3.0."""

Name = Annotated[str, Field(min_length=1)]
Query = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS)]

Tag = Annotated[
    str,
    Field(max_length=MAX_TAG_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\x85\ufeff\s#][^\x00-\x1f\x7f]*$"),
]
"""A tag as ``store.tags`` takes it: one line that has more than spaces and "#"."""
Mentioned = Annotated[str, Field(min_length=1, max_length=400)]
"""The name of a tool, a file or an entity, or the words of a topic."""

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE_NUMBER]
MAX_VALUES = Field(max_length=MAX_FILTER_VALUES)
"""Bounds the values of a filter."""

Leg = Literal["dense", "own", "window", "quoted", "title", "time", "file"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Ttl = Annotated[int, Field(ge=0, le=MAX_TTL_SECONDS), WHOLE_NUMBER]


class RequestBody(BaseModel):
    """Base of every body. Strict: "5" is not a number, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScopedBody(RequestBody):
    """Whose memory is meant; by default the token's user, or the configured user."""

    user_id: Name | None = None
    namespace: str | None = None


class FilteredBody(ScopedBody):
    """The filters of messages. Dates are as in ``Appliance.search``."""

    roles: Annotated[list[Role], MAX_VALUES] | None = Field(None, description="By default user and assistant.")
    sources: Annotated[list[str], MAX_VALUES] | None = Field(None, description="Names of formats.")
    authors: Annotated[list[Name], MAX_VALUES] | None = Field(
        None, description="People: ids (p3), any name or a part of one, addresses; case does not matter."
    )
    participants: Annotated[list[Name], MAX_VALUES] | None = Field(
        None, description="Only conversations in which all these people wrote, named as authors are."
    )
    has: Annotated[list[Contained], MAX_VALUES] | None = Field(
        None, description="What the messages have besides words: any of these."
    )
    tags: Annotated[list[Tag], MAX_VALUES] | None = Field(None, description="Tags of sessions, of which one suffices.")
    tools: Annotated[list[Mentioned], MAX_VALUES] | None = Field(
        None, description="Tools whose calls the messages are about: any of these."
    )
    files: Annotated[list[Mentioned], MAX_VALUES] | None = Field(
        None, description="Files that the messages are about, by name or the end of a path: any of these."
    )
    entities: Annotated[list[Mentioned], MAX_VALUES] | None = Field(
        None, description="People, places, products and the like that the messages name: any of these."
    )
    topics: Annotated[list[Mentioned], MAX_VALUES] | None = Field(
        None, description="Topics of conversations: any of these."
    )
    since: DateText | None = None
    until: DateText | None = Field(None, description="A date includes the whole day.")


# --- search ------------------------------------------------------------------------------------------------


class SearchBody(FilteredBody):
    """A search. Scope, dates and profiles are as in ``Appliance.search``."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "when does the lease end", "limit": 5, "since": "2026-01-01"}]}
    )

    query: Query = Field(description="What to search for.")
    limit: Limit | None = Field(None, description="The most hits; by default that of the settings.")
    offset: Annotated[int, Field(ge=0, le=MAX_EXACT_INTEGER), WHOLE_NUMBER] = Field(
        0, description="How many hits to skip."
    )
    sort: HitOrder = Field("score", description="Best first, or all messages with the words, newest first.")
    count: bool = Field(False, description="Count all hits up to 10,000; else `total` may be a lower bound.")
    neighbours: Annotated[int, Field(ge=0, le=MAX_NEIGHBOURS), WHOLE_NUMBER] = Field(
        0, description="How many turns before and after each hit to return with it."
    )
    min_score: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description="The least score of a hit. By default none is returned if the best is no good match, else all.",
    )
    mode: Mode = "hybrid"
    profile: str | None = Field(None, description="The scoring profile.")
    without: Annotated[list[Leg], MAX_VALUES] | None = Field(None, description="Legs to leave out.")
    per_session: Annotated[int, Field(ge=0, le=MAX_LIMIT), WHOLE_NUMBER] | None = Field(
        None, description="The most hits of one session; 0 for no limit."
    )
    variants: bool | None = Field(
        None,
        description="Whether messages that say the same as a better hit by the same author are hits of their own."
        " By default only where all messages are listed: sorted by time, or without words.",
    )
    agent_id: str | None = Field(None, description="Only sessions with this agent.")
    session_id: str | None = Field(None, description="Only this session, by id or external id.")
    as_of: DateText | None = Field(None, description="Search the memory as it was then.")
    asked_in: str | None = Field(None, description="The session in which the query is asked.")
    include_archived: bool = Field(False, description="Search archived messages too, in one ranking.")
    why_not: str | None = Field(None, description="A message id; the answer explains why it is not a hit.")
    generation: Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER), WHOLE_NUMBER] | None = Field(
        None, description="Search in this generation of vectors, which a change of the model has kept."
    )


class ContextBody(FilteredBody):
    """A request for the context of a question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "when is my deadline?", "session_id": "s12", "budget": 2000}]}
    )

    query: Query
    session_id: str | None = Field(None, description="The present conversation.")
    agent_id: str | None = None
    budget: Annotated[int, Field(ge=64, le=10_000_000), WHOLE_NUMBER] | None = Field(
        None, description="The most tokens."
    )
    encoding: str | None = Field(None, description="A token encoding, or the name of the assistant's model.")
    profile: str | None = None
    counted: bool = Field(True, description="Whether the messages in it count as recalled.")
    preset: Literal["assistant", "support", "tutor", "code"] | None = None
    shares: dict[SharingLayerName, Share] | None = Field(
        None, description="Shares of the budget by layer; their sum is at most 1."
    )
    auto_recall: bool | None = Field(None, description="False leaves retrieved messages out.")
    recall_limit: Annotated[int, Field(ge=0, le=MAX_EXACT_INTEGER), WHOLE_NUMBER] | None = Field(
        None, description="The most messages of other sessions; by default as the session or the settings say."
    )
    min_score: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The least score of such a message. By default there are none if the best is no good match."
    )


class TagsBody(RequestBody):
    """Tags for a session."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tags": ["garden", "to do"]}]})

    tags: Annotated[list[Tag], Field(min_length=1, max_length=100)]


class SummarySearchBody(ScopedBody):
    """A search for summaries."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "what was decided about the boiler"}]})

    query: Query
    limit: Limit = 10
    agent_id: str | None = None
    session_id: str | None = None
    level: Level | None = None


# --- writes -------------------------------------------------------------------------------------------------


class MessageBody(RequestBody):
    """A message."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "user", "text": "My deadline is March 15th"}]})

    text: Text
    role: Role = "user"
    author: str | None = None
    external_id: Name | None = Field(None, description="An existing external id makes this an edit.")
    timestamp: Timestamp = Field(None, description="By default now.")
    reply_to: str | None = Field(None, description="The external id of the message that this one replies to.")
    metadata: dict[str, Any] = Field(default_factory=dict)
    agent_id: str | None = Field(None, description="The agent that adds it.")


class NewMessageBody(MessageBody, ScopedBody):
    """A message and its session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"role": "user", "text": "My deadline is March 15th", "session_id": "house"}]}
    )

    session_id: Name | None = Field(
        None, description="An id, an external id, or a name for a new session; by default a new session."
    )


class FeedbackBody(RequestBody):
    """What a recalled message was worth."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message_id": "m345", "kind": "helpful"}]})

    message_id: Annotated[str, Field(min_length=1)] = Field(description="A message, by id or external id.")
    kind: FeedbackKind = Field(description="helpful, used (an answer rests on it), wrong or outdated.")


class WindowOptionsBody(RequestBody):
    """The working memory of one session; the settings give the defaults."""

    strategy: Literal["summary_buffer", "buffer_window"] | None = None
    budget: Annotated[int, Field(ge=64, le=10_000_000), WHOLE_NUMBER] | None = None
    threshold: Share | None = None
    target: Share | None = None
    keep: Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE_NUMBER] | None = None
    turns: Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE_NUMBER] | None = None
    encoding: Name | None = None


class SessionOptionsBody(RequestBody):
    """A session's own options; null removes one."""

    auto_recall: bool | None = Field(None, description="Whether its contexts retrieve from other sessions.")
    independent: bool | None = Field(
        None, description="Whether its messages are items by themselves, not found by the words of their neighbours."
    )
    working: WindowOptionsBody | None = None

    def to_stored(self) -> dict[str, Any]:
        stored = self.model_dump(exclude_unset=True)
        if self.working is not None:
            stored["working"] = self.working.model_dump(exclude_none=True)
        return stored


class NewSessionBody(ScopedBody):
    """A new session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Garden plans", "metadata": {"project": "garden"}}]}
    )

    title: Text | None = Field(None, description="By default derived from the first messages.")
    agent_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    external_id: Name | None = Field(None, description="An existing one finds that session.")
    ttl: Ttl | None = Field(None, description="Seconds without a new message after which it expires; 0 for never.")
    storage_scope: StorageScope | None = Field(None, description="What it shares with other sessions.")
    options: SessionOptionsBody | None = None
    private: bool = Field(False, description="Keep it only in the server's memory, until the server stops.")


class SessionPatchBody(RequestBody):
    """Changes to a session; absent fields stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Garden plans", "pinned": True}]})

    title: Text = ""
    pinned: bool = False
    ttl: Ttl | None = None
    storage_scope: StorageScope = "all"
    options: SessionOptionsBody = Field(default_factory=lambda: SessionOptionsBody.model_validate({}))


class BranchBody(RequestBody):
    """The start of a branch."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Another way"}]})

    at: Name | None = Field(None, description="The last message that both share; by default the session's last.")
    title: Text | None = None


# --- facts ----------------------------------------------------------------------------------------------


class FactSentenceBody(ScopedBody):
    """A fact as a sentence, read as a message would be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "I live in Berlin"}]})

    text: Text


class FactValueBody(ScopedBody):
    """A fact as an attribute with its value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"attribute": "city", "value": "Berlin"}]})

    attribute: Text
    value: Text
    kind: FactKind = "profile"
    subject: Text = "me"


class FactCorrectionBody(RequestBody):
    """The right value of a fact."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": "Potsdam"}]})

    value: Text


# --- forgetting -----------------------------------------------------------------------------------------


MAX_UNCONFIRMED = 20
"""Messages that a selection without ids may erase for the owner without a confirmation."""


class ForgetBody(ScopedBody):
    """A selection to erase for good; all but everything, with_echoes, dry_run and confirm narrow each other."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ids": ["m345"], "dry_run": True}],
            "anyOf": [
                {"required": ["ids"]},
                {"required": ["source"]},
                {"required": ["query"]},
                {"required": ["title"]},
                {"required": ["author"]},
                {"required": ["author_name"]},
                {"required": ["since"]},
                {"required": ["until"]},
                {"required": ["everything"], "properties": {"everything": {"const": True}}},
            ],
        }
    )

    ids: Annotated[list[Name], Field(min_length=1, max_length=MAX_LIMIT)] = Field(
        default_factory=list,
        description="Messages (m345) and sessions (s12); the owner's also facts (f7) and blocks (core:person).",
    )
    source: Name = Field("", description="A format, or the path of an ingested file, zip or folder.")
    query: Text = Field(
        "",
        description="Exact whole words, in messages, authors, titles, metadata, names of files, facts and core memory.",
    )
    title: Text = Field("", description="Whole words of the titles of conversations, as they stand.")
    author: Text = Field(
        "", description="A person: an id (p3), or any whole name, address or number; with all of the person's names."
    )
    author_name: Text = Field("", description="An author's whole name as it is written.")
    since: DateText | None = None
    until: DateText | None = Field(None, description="A date includes the whole day.")
    everything: bool = Field(False, description="The user's whole memory, if nothing else is selected.")
    with_echoes: bool = Field(
        False, description="Also near copies, answers that repeat it, and summaries, facts and blocks that say it."
    )
    dry_run: bool = Field(False, description="Only preview the erasure.")
    confirm: Annotated[str | int | None, WHOLE_NUMBER] = Field(
        None,
        description="The code that a preview has given, which erases exactly what that has shown, or the number of"
        " messages in it; if there is another selection or number by now, nothing is erased. Other tokens than the"
        " owner's need it for all that is not named by ids; the owner's for more than"
        f" {MAX_UNCONFIRMED} messages that are not, everything included.",
    )

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        unselecting = {"dry_run", "confirm", "with_echoes", "user_id", "namespace", "everything"}
        if not (self.everything or self.model_fields_set - unselecting):
            raise ValueError("Nothing is selected to forget; give ids, a source, a query or everything")
        return self
