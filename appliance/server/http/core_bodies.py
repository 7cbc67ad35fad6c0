"""The bodies of requests about core memory."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from appliance.server.http.bodies import MAX_EXACT_INTEGER, WHOLE_NUMBER, ScopedBody, Text
from appliance.types import BlockEditor
from appliance.types.core import MAX_CORE_CHARACTERS

Editor = Annotated[BlockEditor, Field(description="Who writes. Only the owner's token writes as the person.")]


class BlockBody(ScopedBody):
    """What to write to a block; what is left out or null stays as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": "Answer briefly. No emoji."}]})

    value: str | None = Field(None, description="The text, in full.")
    description: str | None = Field(None, description="What belongs into the block.")
    limit: Annotated[int, Field(ge=1, le=MAX_CORE_CHARACTERS), WHOLE_NUMBER] | None = Field(
        None, description="The most characters of the text."
    )
    read_only: bool | None = Field(None, description="Whether only the person may change the block.")
    revision: Annotated[int, Field(ge=0, le=MAX_EXACT_INTEGER), WHOLE_NUMBER] | None = Field(
        None, description="Write only if this is the revision of the present form; 0: only if there is no such block."
    )
    by: Editor = "person"


class AppendToBlockBody(ScopedBody):
    """A line to add to a block."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Lives in Munich since March 2024."}]})

    text: Text
    by: Editor = "person"


class ReplaceInBlockBody(ScopedBody):
    """A part of a block, which it has once, and what takes its place."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"old": "Berlin", "new": "Munich"}]})

    old: Text
    new: str
    by: Editor = "person"


class RevertBlockBody(ScopedBody):
    """The revision of a block to go back to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"revision": 3}]})

    revision: Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER), WHOLE_NUMBER]
    by: Editor = "person"
