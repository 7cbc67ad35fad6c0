"""The arguments of the tools with their bounds, the JSON schemas of arguments and results, and how calls are read.

Optional arguments have plain defaults instead of null, which models of all sizes get right most often. A model reads
the list of tools with each conversation, so that schemas leave out what it does not need: see ``UNLISTED``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from appliance.errors import UsageError
from appliance.requests.typed_filters import FILTER_NAMES, NO_CURSOR, SearchFilters, extract_filters
from appliance.runtime.decoding import convert
from appliance.types import Contained, FeedbackKind, StatisticsUnit
from appliance.types.core import MAX_CORE_CHARACTERS

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
IsoDateText = Annotated[str, Meta(max_length=40, description="2024-03-31 or last week.")]
Session = Annotated[str, Meta(max_length=300, description="A session id such as s3.")]
Source = Annotated[str, Meta(max_length=60, description="A format such as chatgpt or whatsapp.")]
Authors = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=200)]],
    Meta(max_length=20, description="By these people: names, parts of them, or ids (p3)."),
]
Contents = Annotated[list[Contained], Meta(max_length=6, description="With one of these.")]
Tags = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=100)]],
    Meta(max_length=20, description="In conversations with one of these tags."),
]
Mentioned = list[Annotated[str, Meta(min_length=1, max_length=400)]]
TypedFilters = Annotated[
    str,
    Meta(max_length=400, description="Only author:ana source:slack tag:x file:a.py tool:bash topic:y since:2026-03."),
]
Cursor = Annotated[str, Meta(max_length=400, description="next of the last answer; repeat the other arguments.")]


class ToolArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Arguments of a tool."""


# --- arguments ------------------------------------------------------------------------------------------------


class SearchArguments(ToolArguments, frozen=True):
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="What to look for.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="Hits a page.")] = 10
    session: Session = ""
    role: Annotated[
        Literal["talk", "user", "assistant", "tool", "system"], Meta(description="talk: people and assistants.")
    ] = "talk"
    since: IsoDateText = ""
    until: IsoDateText = ""
    source: Source = ""
    authors: Authors = []
    participants: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=200)]],
        Meta(max_length=20, description="In conversations of all these people."),
    ] = []
    has: Contents = []
    tags: Tags = []
    tools: Annotated[Mentioned, Meta(max_length=20, description="About a call of one of these tools.")] = []
    files: Annotated[Mentioned, Meta(max_length=20, description="About a file: its name or the end of its path.")] = []
    entities: Annotated[Mentioned, Meta(max_length=20, description="That name one of these.")] = []
    topics: Annotated[Mentioned, Meta(max_length=20, description="In conversations about one of these.")] = []
    include_archived: Annotated[bool, Meta(description="Archived too; else only if nothing else matches well.")] = False
    weak: Annotated[bool, Meta(description="The nearest, even if none matches well.")] = False
    cursor: Cursor = ""


class ContextArguments(ToolArguments, frozen=True):
    query: Annotated[
        str, Meta(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="The question to be answered.")
    ]
    budget: Annotated[int, Meta(ge=50, le=MAX_CONTEXT_TOKENS, description="Tokens at most.")] = 1_500
    session: Annotated[str, Meta(max_length=300, description="The present conversation, if it is kept here.")] = ""
    recall_limit: Annotated[int, Meta(ge=0, description="Messages at most; 0: as set.")] = 0
    min_score: Annotated[float, Meta(ge=0, le=1, description="Their least score; 0: as set.")] = 0.0
    filters: TypedFilters = ""
    weak: Annotated[bool, Meta(description="The nearest, even if none matches well.")] = False


class GetArguments(ToolArguments, frozen=True):
    ids: Annotated[list[Id], Meta(min_length=1, max_length=MAX_IDS, description="Message ids, such as m12.")]
    cursor: Cursor = ""


class TimelineArguments(ToolArguments, frozen=True):
    around: MessageId = ""
    person: Annotated[
        str, Meta(max_length=300, description="What this person wrote: id (p3), name, address or number.")
    ] = ""
    before: Annotated[int, Meta(ge=0, le=25, description="Messages before it.")] = 5
    after: Annotated[int, Meta(ge=0, le=25, description="Messages after it.")] = 5
    session: Session = ""
    since: IsoDateText = ""
    until: IsoDateText = ""
    filters: TypedFilters = ""
    records: Annotated[bool, Meta(description="Tool, system and hidden records too.")] = False
    limit: Annotated[int, Meta(ge=1, le=100, description="Messages a page.")] = 20
    cursor: Cursor = ""


class AddArguments(ToolArguments, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TURN_CHARACTERS, description="Word for word.")]
    role: Annotated[Literal["user", "assistant"], Meta(description="Who said it.")] = "user"
    session: Annotated[str, Meta(max_length=300, description="A session id, or a name for this conversation.")] = ""
    pin: Annotated[bool, Meta(description="Important for ever.")] = False


class UpdateArguments(ToolArguments, frozen=True):
    id: Annotated[str, Meta(pattern=r"^m[1-9]\d{0,17}$", description="The message, such as m12.")]
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TURN_CHARACTERS, description="Its new text, in full.")]


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
            description="counts: by unit. months: with their most important messages. on_this_day: of earlier years."
            " attachments: newest first."
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
    Literal["", "profile", "relation", "preference", "date", "tool", "project", "instruction", "note"],
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
            description="list: what holds. history: of one fact, by id. review: what contradicts. When the person says"
            " so: add (text); confirm, correct (text), reject (id)."
        ),
    ] = "list"
    id: FactId = ""
    text: Annotated[
        str, Meta(max_length=MAX_QUERY_CHARACTERS, description="add: 'I live in Berlin'. correct: the right value.")
    ] = ""
    kind: Kind = ""
    as_of: IsoDateText = ""
    cursor: Cursor = ""


_PersonText = Annotated[str, Meta(max_length=300, description="Id (p3), name, address or number.")]


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
            description="list, show (person). When the person says so: merge (person and other are one), split (values"
            " are not person's), rename (name), me (person is the owner), undo."
        ),
    ] = "list"
    person: _PersonText = ""
    other: _PersonText = ""
    values: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=300)]],
        Meta(max_length=50, description="split: addresses, numbers, names or ids."),
    ] = []
    name: Annotated[str, Meta(max_length=200, description="The new name.")] = ""
    cursor: Cursor = ""


Label = Annotated[str, Meta(max_length=40, description="A block: persona, person, project-garden.")]


class ReadCoreArguments(ToolArguments, frozen=True):
    action: Annotated[
        Literal["list", "history"], Meta(description="list: all blocks. history: the texts that a block had.")
    ] = "list"
    label: Label = ""
    cursor: Cursor = ""


class CoreArguments(ToolArguments, frozen=True):
    action: Annotated[
        Literal["list", "history", "append", "replace", "rewrite", "revert"],
        Meta(
            description="list: all blocks. history: earlier texts. append: a line (text). replace: old by text."
            " rewrite: all by text. revert: to revision."
        ),
    ] = "list"
    label: Label = ""
    text: Annotated[str, Meta(max_length=MAX_CORE_CHARACTERS, description="What to write.")] = ""
    old: Annotated[
        str, Meta(max_length=MAX_CORE_CHARACTERS, description="A part that the block has once, as it stands.")
    ] = ""
    revision: Annotated[int, Meta(ge=0, description="rewrite: only if it is still the present one.")] = 0
    cursor: Cursor = ""


class ForgetArguments(ToolArguments, frozen=True):
    ids: Annotated[
        list[Annotated[str, Meta(pattern=r"^[ms][1-9]\d{0,17}$")]],
        Meta(max_length=MAX_IDS, description="Message ids (m12) and session ids (s3)."),
    ] = []
    query: Annotated[str, Meta(max_length=MAX_QUERY_CHARACTERS, description="All with these words as they stand.")] = ""
    source: Annotated[str, Meta(max_length=1_000, description="Everything from a format such as whatsapp.")] = ""
    with_echoes: Annotated[bool, Meta(description="Also copies, answers, summaries, facts, blocks that say it.")] = (
        False
    )
    confirm: Annotated[str, Meta(max_length=64, description="The preview's code.")] = ""


class StatusArguments(ToolArguments, frozen=True):
    pass


# --- schemas and reading ------------------------------------------------------------------------------------

UNLISTED = frozenset(("maxLength", "minLength", "maxItems"))
"""Bounds that a call meets by itself, or else learns of by an error."""

A = TypeVar("A", bound=ToolArguments)


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, with an object at its root as the protocol requires.

    What is ``UNLISTED`` is left out, and so are defaults that are empty, which a model expects anyway."""
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
            for described in (property_schema, property_schema.get("items", {})):
                for name in UNLISTED & described.keys():
                    del described[name]
            if not property_schema.get("default", True):
                del property_schema["default"]
    return {**root, **({"$defs": definitions} if definitions else {})}


def parse_arguments(kind: type[A], arguments: Mapping[str, Any]) -> A:
    """Arguments, read leniently: null means absent, a single value is a list of one, "10" is a number.

    Raises:
        UsageError: An argument is missing, unknown, of the wrong type or out of bounds.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: value for name, value in arguments.items() if value is not None}
    if isinstance(values.get("ids"), str):
        values["ids"] = values["ids"].strip("[] ").replace('"', " ").replace(",", " ").split()
    unknown = sorted(values.keys() - fields.keys())
    if unknown:
        names = ", ".join(fields) or "none"
        raise UsageError(f"There is no argument {', '.join(map(repr, unknown))}.", hint=f"The arguments are {names}.")
    properties = _properties(kind)
    for name, value in values.items():
        if isinstance(value, str) and properties[name].get("type") == "array":
            values[name] = _as_list(value)
    try:
        return convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _argument_error(str(error), values, properties) from error


@cache
def _properties(kind: type[ToolArguments]) -> Mapping[str, Any]:
    """The JSON schemas of the arguments, by name."""
    properties: dict[str, Any] = msgspec.json.schema(kind)["$defs"][kind.__name__]["properties"]
    return properties


def choices(kind: type[ToolArguments], name: str) -> list[str]:
    """The values that an argument may have; none if any."""
    values: list[str] = _properties(kind).get(name, {}).get("enum", [])
    return values


def _as_list(text: str) -> object:
    """A list that a model sent as its JSON, or a single value in place of a list."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = text
    return found if isinstance(found, list) else [text]


_TYPE_NAMES = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "an object",
}  # fmt: skip
_BOUND = re.compile(r"Expected `(?P<type>\w+)`(?P<length> of length)? (?P<sign>[<>]=) (?P<bound>[\d.]+)$")
_WRONG_TYPE = re.compile(r"Expected `(\w+)`, got `(\w+)`$")


def _argument_error(problem: str, values: Mapping[str, Any], properties: Mapping[str, Any]) -> UsageError:
    """What msgspec says of an argument, in words that name what it takes."""
    problem, _, where = problem.partition(" - at ")
    place = where.strip("`").removeprefix("$.")
    if not place:
        missing = problem.removeprefix("Object missing required field ").strip("`")
        return UsageError(
            f"The argument {missing} is missing.", hint=_description(missing, properties.get(missing, {}))
        )
    name, _, number = place.rstrip("]").partition("[")
    allowed, value = properties[name], values[name]
    hint = _description(name, allowed)
    if number.isdecimal():
        allowed, value = allowed.get("items", {}), value[int(number)]
    if "enum" in allowed:
        names = ", ".join(one for one in allowed["enum"] if one)
        return UsageError(
            f"Invalid argument {place}: {value!r:.60} is not one of its values.", hint=f"Use one of {names}."
        )
    if "regex" in problem:
        problem = f"{value!r:.60} has another form"
    elif bound := _BOUND.match(problem):
        unit = "" if not bound["length"] else " items" if bound["type"] == "array" else " characters"
        at_most = bound["sign"] == "<="
        problem = f"it takes at {'most' if at_most else 'least'} {float(bound['bound']):,g}{unit}"
        if bound["length"] and not at_most and bound["bound"] == "1":
            problem = "it is empty"
    elif wrong := _WRONG_TYPE.match(problem):
        problem = f"it takes {_TYPE_NAMES.get(wrong[1], wrong[1])}, not {_TYPE_NAMES.get(wrong[2], wrong[2])}"
    return UsageError(f"Invalid argument {place}: {problem}.", hint=hint)


def _description(name: str, allowed: Mapping[str, Any]) -> str:
    about = allowed.get("description")
    return f"{name}: {about}" if about else "See the tool's input schema."


def parse_filters(text: str) -> dict[str, Any]:
    """The filters of a text as arguments of a search, without those that are not given.

    Raises:
        UsageError: A part of the text is no filter, or names another user.
    """
    rest, filters = extract_filters(text, SearchFilters(), NO_CURSOR)
    if rest.strip() or filters.user is not None:
        names = ", ".join(name for name in FILTER_NAMES if name != "user")
        raise UsageError(
            f"{rest.strip() or 'user'!r} is no filter.", hint=f"The filters are {names}, as in file:main.go."
        )
    return {name: value for name, value in filters.search_arguments(None).items() if value is not None}
