"""The arguments of the tools with their bounds, the JSON schemas of arguments and results, and how calls are read.

Optional arguments have plain defaults instead of null, which models of all sizes get right most often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from appliance.errors import UsageError
from appliance.runtime.decoding import convert
from appliance.types import Contained, FeedbackKind, StatisticsUnit

MAX_QUERY_CHARACTERS = 2_000
"""Characters of a query; anything longer is a document."""

MAX_TURN_CHARACTERS = 200_000
"""Characters of a turn to remember; a request of either transport holds it with room to spare."""

MAX_IDS = 20
"""Ids in one call: as many as a page of an index lists."""

MAX_CONTEXT_TOKENS = 8_000
"""Tokens of a context at most, as the engine's own default has them."""

Id = Annotated[str, Meta(pattern=r"^m[1-9]\d{0,17}$")]
MessageId = Annotated[str, Meta(pattern=r"^(m[1-9]\d{0,17})?$", description="A message id such as m12.")]
IsoDateText = Annotated[str, Meta(max_length=40, description="2024-03-31, 2024-03-31T09:30+02:00 or last week.")]
Session = Annotated[str, Meta(max_length=300, description="A session id such as s3.")]
Source = Annotated[str, Meta(max_length=60, description="A format such as chatgpt or whatsapp.")]
Authors = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=200)]],
    Meta(max_length=20, description="Only messages by these people: any name or part of one, or an id (p3)."),
]
Contents = Annotated[
    list[Contained], Meta(max_length=6, description="Only messages that have one of these besides words.")
]
Tags = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=100)]],
    Meta(max_length=20, description="Only conversations with one of these tags."),
]
Mentioned = list[Annotated[str, Meta(min_length=1, max_length=400)]]
Cursor = Annotated[
    str, Meta(max_length=400, description="From the answer before, to get what it left; repeat the rest.")
]


class ToolArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Arguments of a tool."""


# --- arguments ------------------------------------------------------------------------------------------------


class SearchArguments(ToolArguments, frozen=True):
    query: Annotated[
        str, Meta(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="What to look for, in plain words.")
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="Hits a page.")] = 10
    session: Session = ""
    role: Annotated[
        Literal["talk", "user", "assistant", "tool", "system"],
        Meta(description="Who said it; talk is people and assistants."),
    ] = "talk"
    since: IsoDateText = ""
    until: IsoDateText = ""
    source: Source = ""
    authors: Authors = []
    participants: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]],
        Meta(max_length=20, description="Only conversations in which all these people wrote."),
    ] = []
    has: Contents = []
    tags: Tags = []
    tools: Annotated[Mentioned, Meta(max_length=20, description="Only turns about a call of one of these tools.")] = []
    files: Annotated[
        Mentioned, Meta(max_length=20, description="Only turns about one of these files: a name or the end of a path.")
    ] = []
    entities: Annotated[
        Mentioned, Meta(max_length=20, description="Only messages that name one of these people, places, products.")
    ] = []
    topics: Annotated[Mentioned, Meta(max_length=20, description="Only conversations about one of these topics.")] = []
    include_archived: Annotated[
        bool, Meta(description="Old, archived messages too; they are searched anyway if nothing else matches well.")
    ] = False
    weak: Annotated[bool, Meta(description="The nearest messages even if nothing matches well.")] = False
    cursor: Cursor = ""


class ContextArguments(ToolArguments, frozen=True):
    query: Annotated[
        str, Meta(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="The question to be answered.")
    ]
    budget: Annotated[int, Meta(ge=50, le=MAX_CONTEXT_TOKENS, description="Tokens at most.")] = 1_500
    session: Annotated[str, Meta(max_length=300, description="The present conversation, if it is kept here.")] = ""
    recall_limit: Annotated[int, Meta(ge=0, description="Messages at most; 0 leaves it to the settings.")] = 0
    min_score: Annotated[float, Meta(ge=0, le=1, description="Their least score; 0 leaves it to the settings.")] = 0.0
    weak: Annotated[bool, Meta(description="The nearest messages even if none is a good match.")] = False


class GetArguments(ToolArguments, frozen=True):
    ids: Annotated[list[Id], Meta(min_length=1, max_length=MAX_IDS, description="Message ids, such as m12.")]
    cursor: Cursor = ""


class TimelineArguments(ToolArguments, frozen=True):
    around: MessageId = ""
    before: Annotated[int, Meta(ge=0, le=25, description="Messages before it.")] = 5
    after: Annotated[int, Meta(ge=0, le=25, description="Messages after it.")] = 5
    session: Session = ""
    since: IsoDateText = ""
    until: IsoDateText = ""
    records: Annotated[bool, Meta(description="Tool, system and hidden records too.")] = False
    limit: Annotated[int, Meta(ge=1, le=100, description="Messages a page.")] = 20
    cursor: Cursor = ""


class AddArguments(ToolArguments, frozen=True):
    text: Annotated[
        str, Meta(min_length=1, max_length=MAX_TURN_CHARACTERS, description="What was said, word for word.")
    ]
    role: Annotated[Literal["user", "assistant"], Meta(description="Who said it.")] = "user"
    session: Annotated[
        str,
        Meta(max_length=300, description="A session id, or any name for this conversation; else one is kept for it."),
    ] = ""
    pin: Annotated[bool, Meta(description="Count as important for ever.")] = False


class FeedbackArguments(ToolArguments, frozen=True):
    ids: Annotated[list[Id], Meta(min_length=1, max_length=MAX_IDS, description="Message ids, such as m12.")]
    kind: Annotated[
        FeedbackKind,
        Meta(description="helpful; used: your answer rests on it; wrong: not true; outdated: true no longer."),
    ]


class SessionsArguments(ToolArguments, frozen=True):
    session: Annotated[str, Meta(max_length=300, description="One session id, for its summary.")] = ""
    title: Annotated[str, Meta(max_length=200, description="Words in the title.")] = ""
    since: IsoDateText = ""
    until: IsoDateText = ""
    source: Annotated[str, Meta(max_length=60, description="A format such as chatgpt; local was begun here.")] = ""
    tags: Tags = []
    limit: Annotated[int, Meta(ge=1, le=50, description="Sessions a page.")] = 20
    cursor: Cursor = ""


class OverviewArguments(ToolArguments, frozen=True):
    show: Annotated[
        Literal["counts", "months", "on_this_day", "attachments"],
        Meta(
            description="counts: messages by unit. months: each with its most important messages. on_this_day: the"
            " same day of earlier years. attachments: files, newest first."
        ),
    ] = "counts"
    by: Annotated[
        list[StatisticsUnit], Meta(max_length=2, description="counts: one or two units. Default: month.")
    ] = []
    day: Annotated[str, Meta(max_length=10, description="on_this_day: 2026-02-06. Default: today.")] = ""
    authors: Authors = []
    source: Source = ""
    has: Contents = []
    tags: Tags = []
    since: IsoDateText = ""
    until: IsoDateText = ""
    cursor: Cursor = ""


FactId = Annotated[str, Meta(pattern=r"^(f[1-9]\d{0,17})?$", description="A fact id such as f7.")]
Kind = Annotated[
    Literal["", "profile", "relation", "preference", "date", "tool", "project", "instruction"],
    Meta(description="Only this kind."),
]


class ReadFactsArguments(ToolArguments, frozen=True):
    action: Annotated[
        Literal["list", "history", "review"],
        Meta(description="list: what holds. history: all that was known of a fact. review: what contradicts."),
    ] = "list"
    id: FactId = ""
    kind: Kind = ""
    as_of: IsoDateText = ""
    cursor: Cursor = ""


class FactsArguments(ToolArguments, frozen=True):
    action: Annotated[
        Literal["list", "history", "review", "add", "confirm", "correct", "reject"],
        Meta(
            description="list: what holds. history: all that was known of a fact. review: what contradicts."
            " add: text. confirm, correct (with text), reject: a fact by id, when the person says so."
        ),
    ] = "list"
    id: FactId = ""
    text: Annotated[
        str,
        Meta(
            max_length=MAX_QUERY_CHARACTERS,
            description="add: one sentence, 'I live in Berlin'. correct: the right value.",
        ),
    ] = ""
    kind: Kind = ""
    as_of: IsoDateText = ""
    cursor: Cursor = ""


_PersonText = Annotated[str, Meta(max_length=300, description="A person: an id (p3), any name, an address or number.")]


class ReadPeopleArguments(ToolArguments, frozen=True):
    action: Annotated[Literal["list", "show"], Meta(description="list: who there is. show: one person in full.")] = (
        "list"
    )
    person: _PersonText = ""
    cursor: Cursor = ""


class PeopleArguments(ToolArguments, frozen=True):
    action: Annotated[
        Literal["list", "show", "merge", "split", "rename", "me", "undo"],
        Meta(
            description="list: who there is. show: one person in full. When the person says so: merge (person and"
            " other are one), split (values are not this person's), rename (name), me (person is the owner), undo."
        ),
    ] = "list"
    person: _PersonText = ""
    other: _PersonText = ""
    values: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=300)]],
        Meta(max_length=50, description="split: addresses, numbers, names or ids of the person; or one other person."),
    ] = []
    name: Annotated[str, Meta(max_length=200, description="rename: the new name.")] = ""
    cursor: Cursor = ""


class ForgetArguments(ToolArguments, frozen=True):
    ids: Annotated[
        list[Annotated[str, Meta(pattern=r"^[ms][1-9]\d{0,17}$")]],
        Meta(max_length=MAX_IDS, description="Message ids (m12) and session ids (s3)."),
    ] = []
    query: Annotated[
        str, Meta(max_length=MAX_QUERY_CHARACTERS, description="Every message with these words as they stand.")
    ] = ""
    source: Annotated[str, Meta(max_length=1_000, description="Everything from a format such as whatsapp.")] = ""
    with_echoes: Annotated[
        bool,
        Meta(
            description="Also copies, answers that repeat it, summaries and facts, which the preview counts as echoes."
        ),
    ] = False
    confirm: Annotated[str, Meta(max_length=64, description="The code from the preview. Without: a preview.")] = ""


class StatusArguments(ToolArguments, frozen=True):
    pass


# --- schemas and reading ------------------------------------------------------------------------------------

A = TypeVar("A", bound=ToolArguments)


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, with an object at its root as the protocol requires."""
    document: dict[str, Any] = msgspec.json.schema(kind)
    definitions: dict[str, Any] = document["$defs"]
    root = {
        name: value for name, value in definitions.pop(kind.__name__).items() if name not in ("title", "description")
    }
    for shape in (root, *definitions.values()):
        shape.pop("title", None)
        for property_schema in shape.get("properties", {}).values():
            if "enum" in property_schema:
                property_schema["type"] = "string"
    return {**root, **({"$defs": definitions} if definitions else {})}


def parse_arguments(kind: type[A], arguments: Mapping[str, Any]) -> A:
    """Arguments, read leniently: null means absent, a single id is a list of one, "10" is a number.

    Raises:
        UsageError: An argument is missing, unknown, of the wrong type or out of bounds.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: value for name, value in arguments.items() if value is not None}
    if isinstance(values.get("ids"), str):
        values["ids"] = values["ids"].replace(",", " ").split()
    unknown = sorted(values.keys() - fields.keys())
    if unknown:
        names = ", ".join(fields) or "none"
        raise UsageError(f"There is no argument {', '.join(map(repr, unknown))}.", hint=f"The arguments are {names}.")
    try:
        return convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).replace("Object missing required field", "Missing argument").partition(" - at ")
        name = where.strip("`").removeprefix("$.")
        raise UsageError(
            f"Invalid argument {name}: {problem}." if name else f"{problem}.", hint="See the tool's input schema."
        ) from error
