"""Machine profiles: which one a machine gets, what it sets, and what wins over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from appliance import Appliance, config, machine_profiles
from appliance.cli.app import app
from appliance.errors import ConfigError
from appliance.machine_profiles import NAMES, PROFILES, Machine, profile_for
from appliance.paths import Home, create_home
from appliance.server.service.plan import plan_for
from appliance.settings import Settings
from appliance_models import HashEmbedder, OnnxEmbedder
from tests.engines import engine_of

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("processors", "memory", "limit", "expected"),
    [
        (2, 8 * GB, 8 * GB, "laptop"),
        (1, 2 * GB, 2 * GB, "laptop"),
        (4, 1 * GB, 1 * GB, "tiny"),
        (16, 64 * GB, 512_000_000, "tiny"),  # a small container on a large machine
        (16, 64 * GB, 64 * GB, "workstation"),
        (16, 64 * GB, 8192 << 20, "workstation"),  # within the service's own limit
        (16, 64 * GB, 4 * GB, "laptop"),
        (16, 8 * GB, 8 * GB, "laptop"),
        (2, 64 * GB, 64 * GB, "laptop"),
        (2, 0, 0, "laptop"),  # the system does not tell
    ],
)
def test_auto_looks_at_memory_and_processors(processors: int, memory: int, limit: int, expected: str) -> None:
    assert profile_for(Machine(processors, memory, limit)) == expected


@pytest.mark.parametrize(
    ("groups", "files", "limits"),
    [
        ("0::/user/app\n", {"user/app/memory.max": "max", "user/memory.max": "536870912"}, [536870912]),
        ("0::/\n", {"memory.max": "700"}, [700]),
        ("5:memory:/a\n3:cpu:/b\n", {"memory/a/memory.limit_in_bytes": "900"}, [900]),
        # The path of a container is one of the system around it.
        ("5:memory:/docker/x\n", {"memory/memory.limit_in_bytes": "800"}, [800]),
        ("0::/a\n", {}, []),
    ],
)
def test_limits_of_control_groups_are_found(
    tmp_path: Path, groups: str, files: dict[str, str], limits: list[int]
) -> None:
    (tmp_path / "self").write_text(groups)
    for name, text in files.items():
        place = tmp_path / "cgroup" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
    assert [*machine_profiles.control_group_limits(tmp_path / "cgroup", tmp_path / "self")] == limits


@pytest.mark.parametrize("name", NAMES)
def test_each_profile_sets_settings_that_exist(home: Path, name: str) -> None:
    effective, origins = config.load_with_origins(Home(home), {"APPLIANCE_PROFILE": name})
    expected = config.flatten(PROFILES[name])  # type: ignore[index]
    for setting, value in expected.items():
        assert origins[setting] == f"profile {name}"
        section, _, field = setting.partition(".")
        assert getattr(getattr(effective, section), field) == value
    assert (effective == Settings(profile="laptop")) == (name == "laptop")


def test_what_a_person_sets_wins_over_the_profile(home: Path) -> None:
    place = create_home(Home(home))
    place.config.write_text('profile = "tiny"\n[model]\nthreads = 3\n', encoding="utf-8")
    effective, origins = config.load_with_origins(place, {"APPLIANCE_INDEX_LEDGER": "float16"})
    assert (effective.model.threads, origins["model.threads"]) == (3, str(place.config))
    assert (effective.index.ledger, origins["index.ledger"]) == ("float16", "APPLIANCE_INDEX_LEDGER")
    assert (effective.model.batch, origins["model.batch"]) == (8, "profile tiny")
    # The variable, which is what --profile sets, wins over the file.
    assert config.load(place, {"APPLIANCE_PROFILE": "laptop"}).model.batch == 0


def test_an_unknown_profile_is_refused_with_those_that_there_are(home: Path) -> None:
    with pytest.raises(ConfigError, match='profile must be "auto", "tiny", "laptop" or "workstation", not "small"'):
        config.load(Home(home), {"APPLIANCE_PROFILE": "small"})
    result = CliRunner().invoke(app, ["serve", "--profile", "small"])
    assert result.exit_code == 2


def test_the_option_chooses_the_profile_of_the_verb(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_profiles.PROFILE_VARIABLE, "laptop")  # which the test's end takes back
    result = CliRunner().invoke(app, ["--profile", "tiny", "config", "--json"])
    assert result.exit_code == 0 and '"profile tiny"' in result.stdout


def test_the_service_starts_with_the_profile_that_it_was_installed_with(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = create_home(Home(home))
    monkeypatch.setenv(machine_profiles.PROFILE_VARIABLE, "tiny")
    plan = plan_for(place)
    assert plan.command[-2:] == ("--profile", "tiny") and plan.memory == 512
    monkeypatch.delenv(machine_profiles.PROFILE_VARIABLE)
    place.config.write_text('profile = "tiny"\n', encoding="utf-8")
    plan = plan_for(place)
    assert plan.command[-1] == str(home) and plan.memory == 512


def test_a_profile_rewrites_no_vectors_and_the_status_says_what_differs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create().add("user", "The lease ends in May.")
        memory.embed_pending()
        assert memory.status()["profile"]["vectors"] == "float16"
    ledger = (home / "vectors" / "g1.ledger").read_bytes()
    monkeypatch.setenv(machine_profiles.PROFILE_VARIABLE, "tiny")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.search("lease").found
        expected = {"name": "tiny", "setting": "tiny", "vectors": "float16", "new_vectors": "int8"}
        assert memory.status()["profile"] == expected
        assert (home / "vectors" / "g1.ledger").read_bytes() == ledger
        memory.reindex(vectors=True)
        assert memory.status()["profile"]["vectors"] == "int8"
        assert memory.search("lease").found
    result = CliRunner().invoke(app, ["status"])
    assert "profile" in result.stdout and "stored as" not in result.stdout


def test_a_model_that_idles_leaves_the_memory_and_comes_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_IDLE", "60")
    with Appliance.open(home, worker=False) as memory:
        models = engine_of(memory)._index_service.models
        model = models.load(models.name)
        assert isinstance(model, OnnxEmbedder)
        before = models.embed_query(model, "the lease").vector
        models.unload_idle()
        assert model._graph is not None  # it was used just now
        models._used_at -= 61
        models.unload_idle()
        assert model._graph is None and model._tokenizer is None
        models._queries = type(models._queries)()
        assert (models.embed_query(model, "the lease").vector == before).all()
