"""Token counts for budgets: exact, from disk, and honest about what was counted with."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped, unused-ignore]

from appliance_models import ModelCorrupt, ModelMissing, TokenCounter, encoding_for, encodings
from appliance_models.encodings import TABLES, TABLES_FOLDER, read_ranks, table_path
from tests.waits import spent


def test_known_counts() -> None:
    counter = encoding_for("cl100k_base")
    assert (counter.name, counter.note) == ("cl100k_base", "")
    # Published examples of cl100k_base.
    assert counter.count("tiktoken is great!") == 6
    assert counter.count("antidisestablishmentarianism") == 6
    assert counter.count("お誕生日おめでとう") == 9
    assert counter.count("") == 0


def test_known_counts_of_o200k_base() -> None:
    counter = encoding_for("gpt-4o")
    assert (counter.name, counter.note) == ("o200k_base", "")
    # Published examples of o200k_base.
    assert counter.count("tiktoken is great!") == 6
    assert counter.count("antidisestablishmentarianism") == 6
    assert counter.count("お誕生日おめでとう") == 8


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_published_one(name: str) -> None:
    lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in read_ranks(name).items())
    assert hashlib.sha256(b"".join(lines)).hexdigest() == TABLES[name].published_sha256


def test_the_tables_come_with_their_licence() -> None:
    assert "OpenAI, Shantanu Jain" in (TABLES_FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "tiktoken" in (TABLES_FOLDER / "NOTICE").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        *dict.fromkeys(
            "gpt-4o gpt-4o-mini gpt-4o-2024-08-06 chatgpt-4o-latest gpt-4.1 gpt-4.1-nano gpt-4.5-preview gpt-5 gpt-5.1"
            " gpt-5-mini o1 o1-preview o3-mini o3 o4-mini ft:gpt-4o-mini:us gpt-oss:20b openai/gpt-4o GPT-4o".split(),
            "o200k_base",
        ).items(),
        *dict.fromkeys(
            "gpt-4 gpt-4-turbo gpt-4-0613 gpt-4-32k gpt-3.5-turbo gpt-3.5-turbo-16k gpt-35-turbo ft:gpt-3.5-turbo:us"
            " text-embedding-3-small text-embedding-3-large text-embedding-ada-002 openai/gpt-4-turbo".split(),
            "cl100k_base",
        ).items(),
    ],
)
def test_a_model_counts_in_its_own_encoding(model: str, encoding: str) -> None:
    assert encodings._encoding_name(model) == (encoding, "")


@pytest.mark.parametrize(
    "model", ["llama3.1:8b", "claude-sonnet-4", "gpt-4all", "gpt-4.9x", "o1ive", "gpt-4omni2", "", "gpt"]
)
def test_a_name_that_only_looks_alike_is_none_of_them(model: str) -> None:
    name, note = encodings._encoding_name(model)
    assert name == "cl100k_base"
    assert note == f"no encoding known for {model}; approximated with cl100k_base"


def test_a_model_nobody_knows_is_an_approximation_and_says_so() -> None:
    counter = encoding_for("some-local-model")
    assert counter.name == "cl100k_base"
    assert counter.note == "no encoding known for some-local-model; approximated with cl100k_base"


def test_an_encoding_without_a_table_is_an_approximation_and_says_so() -> None:
    counter = encoding_for("text-davinci-003")
    assert (counter.name, counter.note) == ("cl100k_base", "no table of p50k_base; approximated with cl100k_base")


def test_a_missing_or_damaged_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"o200k_base\.ranks\.zst is missing\. Reinstall"):
        read_ranks("o200k_base", tmp_path)
    content = bytearray(table_path("o200k_base").read_bytes())
    content[1000] ^= 1
    table_path("o200k_base", tmp_path).write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"o200k_base\.ranks\.zst is not the token table of o200k_base"):
        read_ranks("o200k_base", tmp_path)


def test_nothing_is_written_to_temporary_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TMPDIR", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    encodings._load_encoding.cache_clear()
    encoding_for("gpt-4").count("hello")
    assert list(tmp_path.iterdir()) == []


def test_what_looks_like_a_special_token_is_text() -> None:
    assert encoding_for().count("<|endoftext|>") > 1


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return encoding_for()


@pytest.fixture(scope="module")
def oracles() -> dict[str, tiktoken.Encoding]:
    """tiktoken's own encodings, with its patterns, around the tables of this package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            openai_public, "load_tiktoken_bpe", lambda url, **_: read_ranks(Path(url).name.removesuffix(".tiktoken"))
        )
        return {name: tiktoken.Encoding(**getattr(openai_public, name)()) for name in TABLES}


@pytest.mark.parametrize("name", TABLES)
@given(text=st.text())
def test_counts_are_tiktokens_own(name: str, oracles: dict[str, tiktoken.Encoding], text: str) -> None:
    assert encoding_for(name).count(text) == len(oracles[name].encode(text, disallowed_special=()))


@pytest.mark.parametrize("character", ["a", "=", " ", "\n", "漢", "👍"])
def test_long_repetitions_stay_affordable(counter: TokenCounter, character: str) -> None:
    text = character * 100_000
    # Linear it takes 50 ms; quadratic it would take minutes.
    assert spent(lambda: counter.count(text)) < 5
    assert counter.count(text) > 0
