"""What requests say, checked as they come in: every bound that the memory has stands in the OpenAPI document, too.

Names are those of the Python calls. What is unknown is refused, never passed over.
"""

from __future__ import annotations

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

from appliance import moments
from appliance.errors import UsageError
from appliance.types import FactKind, Level, Mode, Role, StorageScope

HUNDRED_YEARS = 100 * 366 * 24 * 60 * 60
"""Seconds; a longer time to live counts for no more."""

MOST = 1000
"""Hits, sessions, messages or summaries of one answer."""

PAGE = 50
"""Of a list, unless another limit is given."""

SAYS_SOMETHING = r"[^\s\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
"""Some sign that is no white space, for whoever counts which signs as white."""

_WHEN = [
    {"type": "string", "format": "date", "examples": ["2026-02-06"]},
    {"type": "string", "format": "date-time", "examples": ["2026-02-06T10:30:00+01:00"]},
]


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _a_time(text: str) -> str:
    try:
        moments.bound(text, end=True)
        moments.asked(text)
    except (UsageError, OverflowError) as error:
        raise ValueError(
            "no ISO 8601 date or time: such as 2026-02-06, or 2026-02-06T10:30:00+01:00"
        ) from error
    return text


def _a_moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value.upper() else None
        if found is not None:
            moments.iso(found)
            return found
    except (ValueError, OverflowError):
        pass
    raise ValueError("no ISO 8601 moment: such as 2026-02-06T10:30:00+01:00")


When = Annotated[str, AfterValidator(_a_time), WithJsonSchema({"anyOf": _WHEN})]
"""A day or a moment, which bounds a range."""

Moment = Annotated[
    datetime | None,
    Strict(False),
    BeforeValidator(_a_moment),
    WithJsonSchema({"anyOf": [_WHEN[1], {"type": "null"}]}),
]
"""When something was said; without a zone, in an unknown one."""

Text = Annotated[str, Field(pattern=SAYS_SOMETHING)]
"""Words: not nothing, and not white space alone."""

WHOLE = BeforeValidator(_whole)
"""Of a whole number, which JSON may write as 3.0."""

Name = Annotated[str, Field(min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MOST), WHOLE]
Leg = Literal["dense", "own", "window", "quoted", "title", "time"]
LayerName = Literal["profile", "retrieved", "summary", "recent"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Ttl = Annotated[int, Field(ge=0, le=HUNDRED_YEARS), WHOLE]


class Asked(BaseModel):
    """Base of every body: strict, so that "5" is no number, and without room for what nobody knows."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Whose(Asked):
    """Whose memory is meant; the configured user's, or the token's, unless named."""

    user_id: Name | None = None
    namespace: str | None = None


# --- out ------------------------------------------------------------------------------------------------


class SearchAsked(Whose):
    """A search. Scope, dates and profiles are as in ``Appliance.search``."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "when does the lease end", "limit": 5, "since": "2026-01-01"}]
        }
    )

    query: str = Field(description="What is looked for, in words.")
    limit: Limit | None = Field(None, description="How many hits at most; as the settings say unless given.")
    mode: Mode = "hybrid"
    profile: str | None = Field(None, description="The weights of the ranking.")
    without: list[Leg] | None = Field(None, description="What is not to propose candidates.")
    per_session: Annotated[int, Field(ge=0, le=MOST), WHOLE] | None = Field(
        None, description="At most so many hits of one session; 0 sets no limit."
    )
    agent_id: str | None = Field(None, description="In sessions in which this agent takes part.")
    session_id: str | None = Field(None, description="Within this session, by id or external id.")
    roles: list[Role] | None = Field(None, description="user and assistant unless named.")
    sources: list[str] | None = Field(None, description="Names of formats.")
    since: When | None = None
    until: When | None = Field(None, description="A day counts whole.")
    as_of: When | None = Field(None, description="As if it were then.")
    asked_in: str | None = Field(None, description="The session that asks.")
    why_not: str | None = Field(None, description="A message; the answer says why it is not among the hits.")


class ContextAsked(Whose):
    """What an assistant is to be given for a question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "when is my deadline?", "session_id": "s12", "budget": 2000}]
        }
    )

    query: str
    session_id: str | None = Field(None, description="The present conversation.")
    agent_id: str | None = None
    budget: Annotated[int, Field(ge=64, le=10_000_000), WHOLE] | None = Field(
        None, description="Tokens at most."
    )
    encoding: str | None = Field(None, description="An encoding, or the name of the assistant's model.")
    profile: str | None = None
    counted: bool = Field(True, description="Whether the memories in it count as recalled.")
    preset: Literal["assistant", "support", "tutor", "code"] | None = None
    shares: dict[LayerName, Share] | None = Field(
        None, description="Shares of the budget by layer, at most 1 together."
    )
    auto_recall: bool | None = Field(None, description="False looks nothing up.")


class SummariesAsked(Whose):
    """A search for summaries."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "what was decided about the boiler"}]}
    )

    query: str
    limit: Limit = 10
    agent_id: str | None = None
    session_id: str | None = None
    level: Level | None = None


# --- in -------------------------------------------------------------------------------------------------


class Turn(Asked):
    """A message, as somebody says it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"role": "user", "text": "My deadline is March 15th"}]}
    )

    text: Text
    role: Role = "user"
    author: str | None = None
    external_id: Name | None = Field(None, description="One that the session has already makes this an edit.")
    timestamp: Moment = Field(None, description="Now unless given.")
    reply_to: str | None = Field(None, description="The external id of the message that this answers.")
    metadata: dict[str, Any] = Field(default_factory=dict)
    agent_id: str | None = Field(None, description="The agent that adds it.")


class NewMessage(Turn, Whose):
    """A message, and the session that it goes to."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"role": "user", "text": "My deadline is March 15th", "session_id": "house"}]
        }
    )

    session_id: Name | None = Field(
        None,
        description="An id, an external id, or the name of a session that is to be begun; without one, a new one is.",
    )


class Working(Asked):
    """The working memory of one session; what is left out is as the settings have it."""

    strategy: Literal["summary_buffer", "buffer_window"] | None = None
    budget: Annotated[int, Field(ge=64, le=10_000_000), WHOLE] | None = None
    threshold: Share | None = None
    target: Share | None = None
    keep: Annotated[int, Field(ge=1, le=MOST), WHOLE] | None = None
    turns: Annotated[int, Field(ge=1, le=MOST), WHOLE] | None = None
    encoding: Name | None = None


class Options(Asked):
    """What a session says for itself; null takes an option away."""

    auto_recall: bool | None = Field(None, description="Whether memories of others come into its contexts.")
    working: Working | None = None

    def kept(self) -> dict[str, Any]:
        """As the memory keeps them."""
        found = self.model_dump(exclude_unset=True)
        if self.working is not None:
            found["working"] = self.working.model_dump(exclude_none=True)
        return found


class NewSession(Whose):
    """A conversation that is begun."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Garden plans", "metadata": {"project": "garden"}}]}
    )

    title: Text | None = Field(None, description="Found in what is said first unless given.")
    agent_id: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    external_id: Name | None = Field(None, description="One that is there already is found again.")
    ttl: Ttl | None = Field(None, description="Seconds without a new message; 0 for ever.")
    storage_scope: StorageScope | None = Field(None, description="What it gives to other sessions.")
    options: Options | None = None
    private: bool = Field(False, description="Kept in the server's memory only; gone when it ends.")


class SessionChanged(Asked):
    """What is to be another way with a session; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Garden plans", "pinned": True}]})

    title: Text = ""
    pinned: bool = False
    ttl: Ttl | None = None
    storage_scope: StorageScope = "all"
    options: Options = Field(default_factory=lambda: Options.model_validate({}))


class BranchAsked(Asked):
    """Where a branch is to begin."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Another way"}]})

    at: Name | None = Field(None, description="The last message that both share; the last one unless named.")
    title: Text | None = None


# --- facts ----------------------------------------------------------------------------------------------


class FactTold(Whose):
    """A fact as a sentence, read as a message would be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "I live in Berlin"}]})

    text: Text


class FactGiven(Whose):
    """A fact as an attribute with its value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"attribute": "city", "value": "Berlin"}]})

    attribute: Text
    value: Text
    kind: FactKind = "profile"
    subject: Text = "me"


class Correction(Asked):
    """What a fact should have been."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": "Potsdam"}]})

    value: Text


# --- forgetting -----------------------------------------------------------------------------------------


class ForgetAsked(Whose):
    """What is to be erased for good: ids, a source and words together narrow each other."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ids": ["m345"], "dry_run": True}],
            "anyOf": [
                {"required": ["ids"]},
                {"required": ["source"]},
                {"required": ["query"]},
                {"required": ["everything"], "properties": {"everything": {"const": True}}},
            ],
        }
    )

    ids: Annotated[list[Name], Field(min_length=1, max_length=MOST)] = Field(
        default_factory=list, description="Messages (m345) and sessions (s12)."
    )
    source: Name = Field("", description="A format's name, or the path of a file that was read.")
    query: Text = Field("", description="Words as they stand.")
    everything: bool = Field(False, description="All of the user's memory, where nothing else is named.")
    dry_run: bool = Field(False, description="Only say what would go.")

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not (self.everything or self.model_fields_set & {"ids", "source", "query"}):
            raise ValueError("nothing is named to forget: name ids, a source or a query, or everything")
        return self
