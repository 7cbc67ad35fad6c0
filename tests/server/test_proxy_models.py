"""Models, vectors and completions of texts, asked for by the real OpenAI client."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import openai
import pytest
import tiktoken

from appliance_models.encodings import TABLES, read_ranks
from tests.server.proxy_parts import model, proxy

pytestmark = pytest.mark.usefixtures("socket_enabled")

TEXTS = ["My otter is called Lutz.", "Lutz the otter", "Taxes are due in May."]


def test_a_model_by_its_id(home: Path) -> None:
    with model(lambda body: "") as tiny, proxy(home, tiny.base_url) as there:
        models = there.client().models
        assert [models.retrieve(name).id for name in ("tiny", "hub/large:7b")] == ["tiny", "hub/large:7b"]
        own = models.retrieve(there.memory.status()["model"]["name"])
        assert own.owned_by == "memory-appliance"
        with pytest.raises(openai.NotFoundError, match="no model 'large'") as caught:
            models.retrieve("large")
        assert caught.value.code == "not_found"
    with proxy(home, "") as there, pytest.raises(openai.InternalServerError, match=r"llm\.base_url"):
        there.client().models.retrieve("tiny")


def test_vectors_as_the_client_asks_for_them(home: Path) -> None:
    with proxy(home, "") as there:
        name = there.memory.status()["model"]["name"]
        client = there.client("ana")
        got = client.embeddings.create(model=name, input=TEXTS)  # the client asks for base64
        plain = client.embeddings.create(model=name, input=TEXTS, encoding_format="float")
        assert [one.index for one in got.data] == [0, 1, 2] and got.model == name and got.usage.prompt_tokens > 10
        vectors = np.array([one.embedding for one in got.data])
        assert np.allclose(vectors, [one.embedding for one in plain.data], atol=1e-6)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
        assert len(client.embeddings.create(model=name, input="One", dimensions=vectors.shape[1]).data) == 1
        assert there.said() == []


@pytest.mark.slow
def test_tokens_are_decoded_as_those_of_the_encoding(home: Path) -> None:
    """LangChain sends tokens of cl100k_base to models that it does not know."""
    with proxy(home, "") as there:
        name = there.memory.status()["model"]["name"]
        tokens = tiktoken.Encoding(
            "cl100k_base", pat_str=TABLES["cl100k_base"].pattern, mergeable_ranks=read_ranks("cl100k_base"),
            special_tokens={},
        ).encode(TEXTS[0])  # fmt: skip
        client = there.client()
        (read,), (text,) = (client.embeddings.create(model=name, input=one).data for one in (tokens, TEXTS[0]))
        assert np.allclose(read.embedding, text.embedding)
        assert len(client.embeddings.create(model=name, input=[tokens, tokens[:3]]).data) == 2
        assert len(client.embeddings.create(model=name, input=[*map(float, tokens)]).data) == 1  # type: ignore[list-item]


@pytest.mark.slow
def test_questions_are_embedded_as_questions(home: Path) -> None:
    with proxy(home, "") as there:
        name = there.memory.status()["model"]["name"]
        got = there.client().embeddings.create(model=name, input=["Where?"], extra_body={"input_type": "query"})
        assert len(got.data) == 1


REFUSED: list[tuple[object, int, str]] = [
    ({"input": []}, 400, "empty"),
    ({"input": ""}, 400, "empty"),
    ({"input": ["a", "", "b"]}, 400, "Text 2 of the input is empty"),
    ({"input": ["a", 1]}, 400, "list of texts"),
    ({"input": {"a": 1}}, 400, "list of texts"),
    ({"input": [True]}, 400, "list of texts"),
    ({"input": [10**18]}, 400, "tokens"),
    ({"input": [7.5]}, 400, "list of texts"),
    ({"input": ["a"] * 2_049}, 400, "2,049 texts"),
    ({"input": "a", "dimensions": 7}, 400, "not 7"),
    ({"input": "a", "encoding_format": "hex"}, 400, "encoding_format"),
    ({"input": "a", "model": "text-embedding-3-small"}, 404, "text-embedding-3-small"),
    ({}, 400, "input"),
    ([], 400, "not one for embeddings"),
]


def test_what_can_not_be_embedded_is_refused_in_openais_shape(home: Path) -> None:
    with proxy(home, "") as there, httpx.Client(trust_env=False) as client:
        for body, status, says in REFUSED:
            got = client.post(there.url + "/v1/embeddings", json=body)
            assert got.status_code == status, got.text
            assert says in got.json()["error"]["message"] and got.json()["error"]["type"] == "invalid_request_error"
        got = client.post(there.url + "/v1/completions", content=b"")
        assert (got.status_code, got.json()["error"]["code"]) == (400, "invalid_request")


@pytest.mark.slow
def test_a_text_is_completed_without_memory(home: Path) -> None:
    with model(lambda body: f"{body['prompt']} Lutz") as tiny, proxy(home, tiny.base_url) as there:
        there.memory.sessions.create().add("user", TEXTS[0])
        got = there.client().completions.create(model="tiny", prompt="My otter is called", max_tokens=3)
        assert got.choices[0].text == "My otter is called Lutz"
        assert tiny.asked == [{"model": "tiny", "prompt": "My otter is called", "max_tokens": 3}]
        assert len(there.said()) == 1
