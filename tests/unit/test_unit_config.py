"""Settings: each layer over the one before, each error with its place, nothing ignored silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import config
from appliance.errors import ConfigError
from appliance.paths import Home
from appliance.settings import Settings


@pytest.fixture
def place(home: Path) -> Home:
    home.mkdir()
    return Home(home)


def test_without_a_file_all_is_default(place: Home) -> None:
    settings, origins = config.load_with_origins(place, {})
    assert settings == Settings()
    assert set(origins.values()) == {"default"}
    assert {"user", "model.name", "search.limit", "context.budget", "chunk.overlap"} <= set(origins)


def test_the_environment_goes_over_the_file_and_the_file_over_defaults(place: Home) -> None:
    place.config.write_text('user = "ana"\n[model]\nname = "x"\n[search]\nlimit = 7\n', encoding="utf-8")
    variables = {"APPLIANCE_SEARCH_LIMIT": "9", "APPLIANCE_CHUNK_OVERLAP": "0.25", "PATH": "/bin"}
    settings, origins = config.load_with_origins(place, variables)
    assert (settings.user, settings.model.name, settings.search.limit) == ("ana", "x", 9)
    assert settings.chunk.overlap == 0.25 and settings.context.budget == 8000
    assert origins["user"] == origins["model.name"] == str(place.config)
    assert origins["search.limit"] == "APPLIANCE_SEARCH_LIMIT"
    assert origins["context.budget"] == "default"


def test_the_home_variable_is_no_setting(place: Home) -> None:
    assert config.load(place, {"APPLIANCE_HOME": "/somewhere"}) == Settings()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("colour = 3", "colour"),
        ("[model]\ncolour = 3", "colour"),
        ("[modell]\nname = 'x'", "modell"),
        ("model = 3", "model"),
        ("user = 3", "user"),
        ("[search]\nlimit = '7'", "search.limit"),
        ("[search]\nlimit = 0", "search.limit"),
        ("[search]\nlimit = true", "search.limit"),
        ("[context.shares]\nrecent = 1.5", "context.shares"),
        ("[context.shares]\nolder = 0.5", "context.shares"),
        ("[context]\npreset = 'butler'", "context.preset"),
        ("[context]\nbudget = 3", "context.budget"),
        ("[chunk]\noverlap = -0.1", "chunk.overlap"),
        ("[chunk]\noverlap = nan", "chunk.overlap"),
        ("not toml at all", "TOML"),
        ("a = 1\na = 2", "TOML"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_and_setting(place: Home, text: str, names: str) -> None:
    place.config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        config.load(place, {})
    assert str(place.config) in str(refused.value) and names in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[context]\nbudget = 'lots'", 'context.budget must be a whole number, not "lots".'),
        ("[context]\nbudget = 3", "context.budget must be at least 64, not 3."),
        ("[search]\nlimit = 5000", "search.limit must be at most 1000, not 5000."),
        ("[llm]\ntimeout = 0", "llm.timeout must be more than 0, not 0."),
        ("[context]\nbudgt = 3", "Unknown setting context.budgt."),
        ("[context.shares]\nolder = 0.5", "Unknown setting context.shares.older."),
        ("[context.shares]\nrecent = 2", "context.shares.recent must be at most 1, not 2."),
        ("[context]\npreset = 'x'", 'context.preset must be "assistant", "support", "tutor" or "code", not "x".'),
        ("[context]\nauto_recall = 3", "context.auto_recall must be true or false, not 3."),
        ("[search]\nwithout = 'x'", 'search.without must be a list, not "x".'),
        ("[watch]\nfolders = [1]", "watch.folders must be a list of text, not [1]."),
        ("[profiles]\nx = 3", "profiles.x must be a table, not 3."),
        ("[profiles.x.weights]\ndense = 'a'", 'profiles.x.weights.dense must be a number, not "a".'),
        ("[chunk]\noverlap = nan", "chunk.overlap must be at least 0, not nan."),
        # Correct alone and together: only the budget is wrong.
        ("[working]\ntarget = 0.9\nthreshold = 0.95\nbudget = 'x'", 'working.budget must be a whole number, not "x".'),
    ],
)
def test_a_wrong_setting_is_described_with_its_value(place: Home, text: str, message: str) -> None:
    place.config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        config.load(place, {})
    assert str(refused.value) == f"{place.config}: {message}"


@pytest.mark.parametrize(
    ("variable", "value", "names"),
    [
        ("APPLIANCE_SERCH_LIMIT", "3", "APPLIANCE_SERCH_LIMIT"),
        ("APPLIANCE_SEARCH", "3", "APPLIANCE_SEARCH"),
        ("APPLIANCE_SEARCH_LIMIT", "many", "search.limit"),
        ("APPLIANCE_SEARCH_LIMIT", "0", "search.limit"),
        ("APPLIANCE_SEARCH_LIMIT", "", "search.limit"),
        ("APPLIANCE_CONTEXT_PRESET", "butler", "context.preset"),
    ],
)
def test_a_wrong_variable_is_an_error_that_names_it(place: Home, variable: str, value: str, names: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config.load(place, {variable: value})
    assert names in str(refused.value)


def test_a_file_that_is_not_text_is_an_error(place: Home) -> None:
    place.config.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="can't be read"):
        config.load(place, {})
    place.config.unlink()
    place.config.mkdir()
    with pytest.raises(ConfigError, match="can't be read"):
        config.load(place, {})


def test_every_setting_can_be_given_by_a_variable(place: Home) -> None:
    flat = config.flatten({"a": {"b": 1, "c": {"d": 2}}, "e": 3})
    assert flat == {"a.b": 1, "a.c.d": 2, "e": 3}
    settings = config.load(
        place, {"APPLIANCE_USER": "12", "APPLIANCE_MODEL_THREADS": "2", "APPLIANCE_INDEX_URL": "http://x"}
    )
    assert (settings.user, settings.model.threads, settings.index.url) == ("12", 2, "http://x")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "[working]\ntarget = 0.9\nthreshold = 0.5\n",
            r"working.target \(0.9\) must not exceed working.threshold \(0.5\)",
        ),
        ("[context.shares]\nprofile = 0.9\nrecent = 0.9\n", "context.shares must add up to at most 1, not 1.8"),
    ],
)
def test_settings_that_do_not_go_together_name_their_place(place: Home, written: str, says: str) -> None:
    place.config.write_text(written)
    with pytest.raises(ConfigError, match=says):
        config.load(place, {})
