"""The bodies of requests about people."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from appliance.server.http.bodies import MAX_LIMIT, Name, ScopedBody


class PeopleScopeBody(ScopedBody):
    """Whose people are meant."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"user_id": "ana"}]})


class MeBody(ScopedBody):
    """The person whose memory it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"person": "p1"}]})

    person: Name = Field(description="An id such as p3, or a name, address or number.")


class PersonMergeBody(ScopedBody):
    """The other person that is the same."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"other": "p7"}]})

    other: Name = Field(description="An id such as p3, or a name, address or number.")


class PersonSplitBody(ScopedBody):
    """What is not this person's: identities, or one other person."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"identities": ["ben@work.example"]}]})

    identities: Annotated[list[Name], Field(min_length=1, max_length=MAX_LIMIT)]


class PersonNameBody(ScopedBody):
    """What a person is called."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Helga Brandt"}]})

    name: Name
