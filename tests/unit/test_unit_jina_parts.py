"""What the Jina backend does without a server: tokens, pauses, the key, the token account, what uses the network."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import types
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import EmbeddingApiError
from appliance.runtime import network
from appliance.runtime.network import loopback_uses, network_uses
from appliance.settings import LATE_SUFFIX, Settings
from appliance.store.token_account import FileTokenAccount, TokenUsage, read_usage
from appliance_models import DEFAULT_MODEL, encoding_for, load, registry
from appliance_models.errors import ApiError
from appliance_models.jina_key import find_key
from appliance_models.jina_limits import parse_retry_after, pause
from appliance_models.jina_tokens import MAX_UNDERCOUNT, SPECIAL_TOKENS, estimate_tokens, halves, windows

TALK = """Ross, can you pick up the twins at half past three? I have that appointment with Dr. Okonkwo-Reyes, and I
can't move it again. The code for the gate is 4471, and the school's number is in the kitchen, on the fridge."""


# --- tokens ---------------------------------------------------------------------------------------------------


def test_the_estimate_of_prose_lies_above_what_tokenizers_of_english_count() -> None:
    (estimated,) = estimate_tokens([TALK])
    for counted in (load(DEFAULT_MODEL).count_tokens([TALK])[0], encoding_for().count(TALK) + SPECIAL_TOKENS):
        assert counted <= estimated <= 1.6 * counted


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 2),
        (" \n\t ", 2),
        ("word", 3),
        ("words", 4),
        ("Berlin", 4),
        ("NASA", 4),
        ("2024", 4),
        ("don't", 5),
        ("a, b", 5),
        ("camelCaseName", 6),
        ("Übergröße", 5),
        ("привет мир", 5),
        ("我在北京", 7),
        ("한국어", 6),
        ("สวัสดี", 6),
        ("👍", 4),
        ("…", 5),
        ("ﷺ", 12),
    ],
)
def test_tokens_by_kind_of_character(text: str, tokens: int) -> None:
    assert estimate_tokens([text]) == [tokens]


@given(st.text())
def test_the_estimate_is_within_its_bound_of_a_piece_a_character(text: str) -> None:
    import unicodedata

    words = unicodedata.normalize("NFKC", text).split()
    most = sum(len(word) + 1 for word in words)
    (estimated,) = estimate_tokens([text])
    assert most / MAX_UNDERCOUNT <= estimated - SPECIAL_TOKENS <= 2 * most + len(text)


@given(st.text(min_size=1), st.integers(3, 20))
def test_windows_are_the_whole_text(text: str, limit: int) -> None:
    parts = windows(text, limit)
    assert "".join(parts) == text
    assert all(len(part) == 1 or count <= limit for part, count in zip(parts, estimate_tokens(parts), strict=True))


@given(st.text(min_size=2))
def test_halves_are_two_parts(text: str) -> None:
    first, second = halves(text)
    assert first + second == text and first and second


# --- pauses ---------------------------------------------------------------------------------------------------


def test_a_pause_is_a_random_share_of_a_time_that_doubles_up_to_a_bound() -> None:
    assert [pause(attempt, None, 1.0) for attempt in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert pause(3, None, 0.0) == 0 and pause(3, None, 0.25) == 2
    assert pause(0, 20.0, 0.5) == 20.5


def test_retry_after_has_seconds_or_a_date() -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert parse_retry_after("30") == 30 and parse_retry_after("-5") == 0
    assert parse_retry_after("Thu, 01 Jan 2026 12:01:00 GMT", now) == 60
    assert parse_retry_after("Thu, 01 Jan 2026 11:00:00 GMT", now) == 0
    assert parse_retry_after("Thu, 01 Jan 2026 12:01:00 -0000", now) == 60
    for nothing in (None, "", "soon", "1.5e999", "٣"):
        assert parse_retry_after(nothing) in (None, 3.0)


# --- the key --------------------------------------------------------------------------------------------------


def keyring(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    module = types.ModuleType("keyring")

    def get_password(service: str, name: str) -> str | None:
        assert (service, name) == ("memory-appliance", "JINA_API_KEY")
        if isinstance(answer, Exception):
            raise answer
        found: str | None = answer
        return found

    module.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)


def test_the_key_comes_from_the_environment_or_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    keyring(monkeypatch, "from the keyring".replace(" ", "_"))
    assert find_key() == "from_the_keyring"
    monkeypatch.setenv("JINA_API_KEY", " jina_x \n")
    assert find_key() == "jina_x"


@pytest.mark.parametrize("answer", [None, "", RuntimeError("locked")])
def test_without_a_key_the_error_says_where_to_put_it(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    keyring(monkeypatch, answer)
    with pytest.raises(ApiError) as refused:
        find_key()
    assert "JINA_API_KEY" in refused.value.hint and "keyring" in refused.value.hint


def test_without_keyring_installed_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    with pytest.raises(ApiError, match="no key"):
        find_key()


@pytest.mark.parametrize("key", ["jina_a\r\nX: y", "jina_ä", "two words"])
def test_what_is_no_key_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("JINA_API_KEY", key)
    with pytest.raises(ApiError) as refused:
        find_key()
    assert key not in f"{refused.value!r} {refused.value.hint}"


# --- the token account ----------------------------------------------------------------------------------------


def test_reserved_tokens_are_on_the_disk_before_they_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "jina.json"
    account = FileTokenAccount(path, 0)
    assert account.usage() == TokenUsage() and not path.exists()
    account.reserve(100)
    assert read_usage(path).tokens == 100
    account.settle(100, 80)
    account.reserve(50)
    account.settle(50, None)
    account.reserve(70)
    account.settle(70, 0)
    assert read_usage(path) == TokenUsage(tokens=130, counted=80, estimated=100)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert FileTokenAccount(path, 0).usage().tokens == 130, "a later process goes on"


def test_the_cap_holds_across_processes(tmp_path: Path) -> None:
    path = tmp_path / "jina.json"
    FileTokenAccount(path, 1_000).reserve(900)
    later = FileTokenAccount(path, 1_000)
    later.reserve(100)
    with pytest.raises(EmbeddingApiError, match=r"cap of 1,000 tokens .* leaves 0, and 1 are needed") as refused:
        later.reserve(1)
    assert "jina.token_cap" in str(refused.value.hint)
    FileTokenAccount(path, 0).reserve(10**9)


def test_forecasts_are_corrected_once_enough_was_counted(tmp_path: Path) -> None:
    account = FileTokenAccount(tmp_path / "jina.json", 0)
    account.reserve(9_000)
    account.settle(9_000, 6_000)
    assert account.usage().correction == 1
    account.reserve(9_000)
    account.settle(9_000, 6_000)
    assert account.usage().correction == pytest.approx(2 / 3)


@pytest.mark.parametrize("data", [b"{oh no", b"", b'{"tokens": -5}', b'{"tokens": "many"}'])
def test_a_damaged_count_is_no_zero(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "jina.json"
    path.write_bytes(data)
    account = FileTokenAccount(path, 0)
    for ask in (account.usage, lambda: account.reserve(1), lambda: account.require(1)):
        with pytest.raises(EmbeddingApiError, match=r"jina\.json") as refused:
            ask()
        assert "delete it" in str(refused.value.hint)
    account.note_trouble("not kept")
    assert path.read_bytes() == data


def test_where_nothing_can_be_written_a_cap_forbids_sending(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "jina.json"
    with pytest.raises(EmbeddingApiError, match="can't be counted"):
        FileTokenAccount(path, 1_000).reserve(1)
    free = FileTokenAccount(path, 0)
    free.reserve(5)
    assert free.usage().tokens == 5


def test_the_last_trouble_is_kept_until_it_is_over(tmp_path: Path) -> None:
    path = tmp_path / "jina.json"
    account = FileTokenAccount(path, 0)
    account.note_trouble("")
    assert not path.exists()
    account.note_trouble("The Jina API can't be reached.")
    kept = json.loads(path.read_bytes())
    assert kept["trouble"] == "The Jina API can't be reached." and kept["trouble_at"].startswith("20")
    account.note_trouble("")
    assert read_usage(path).trouble == read_usage(path).trouble_at == ""


# --- the network ----------------------------------------------------------------------------------------------


def settings(**sections: dict[str, Any]) -> Settings:
    import msgspec

    return msgspec.convert(sections, Settings)


def test_names_of_models_are_read_alike_everywhere() -> None:
    assert LATE_SUFFIX == registry.LATE_SUFFIX
    plain, late = settings(model={"dimensions": 128}).model, settings(model={"late_chunking": True}).model
    assert plain.full_name("a+late") == "a+late/128" and plain.full_name("a/64") == "a/64"
    assert late.full_name("a/64") == "a+late/64" == late.full_name("a+late/64") and late.full_name("a") == "a+late"
    both = settings(model={"late_chunking": True, "dimensions": 128}).model
    assert both.full_name() == f"{DEFAULT_MODEL}+late/128" and registry.split_name("a+late/64") == ("a+late", 64)


def test_what_uses_the_network() -> None:
    assert network.JINA_PREFIX == registry.JINA_PREFIX
    assert network_uses(Settings(), DEFAULT_MODEL) == ()
    (jina,) = network_uses(Settings(), "jina:jina-embeddings-v3")
    assert (jina.part, jina.address, jina.setting) == ("Jina API", "https://api.jina.ai/v1", "model.name")
    beyond = settings(llm={"base_url": "http://10.0.0.5:11434/v1"}, index={"url": "https://qdrant.example"})
    assert [use.setting for use in network_uses(beyond, DEFAULT_MODEL)] == ["llm.base_url", "index.url"]
    at_home = settings(
        llm={"base_url": "http://127.0.0.1:11434/v1"}, index={"url": "http://[::1]:6333"},
        jina={"url": "http://localhost:9/v1"},
    )  # fmt: skip
    assert network_uses(at_home, "jina:jina-embeddings-v3") == ()
    assert [(use.part, use.address) for use in loopback_uses(at_home, "jina:jina-embeddings-v3")] == [
        ("Jina API", "http://localhost:9/v1"), ("language model", "http://127.0.0.1:11434/v1"),
        ("Qdrant server", "http://[::1]:6333"),
    ]  # fmt: skip
    assert loopback_uses(beyond, DEFAULT_MODEL) == ()
    nodes = settings(index={"url": "http://127.0.0.1:6333,https://second.example"})
    assert [use.address for use in network_uses(nodes, DEFAULT_MODEL)] == ["https://second.example"]
    assert [use.address for use in loopback_uses(nodes, DEFAULT_MODEL)] == ["http://127.0.0.1:6333"]
    assert not network.is_on_this_machine("http://[::1"), "what can't be read is no loopback"


def test_nothing_of_it_is_loaded_unless_it_is_chosen() -> None:
    ended = subprocess.run(
        [
            sys.executable, "-c",
            "import sys; from appliance import Appliance; import appliance.engine.engine, appliance_models.registry\n"
            "print([name for name in sys.modules if 'jina' in name or name in ('httpx', 'keyring')])",
        ],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )  # fmt: skip
    assert ended.stdout.strip() == "[]"
