"""The status of an open home: counts, health, what waits, and which parts use the network."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from appliance import config, machine_profiles
from appliance import requests as r
from appliance.engine import embedding_api
from appliance.errors import ConfigError
from appliance.memory.status import status
from appliance.paths import Home, is_there
from appliance.runtime.metrics import Metrics
from appliance.runtime.power import PowerGate
from appliance.runtime.workers import Scheduler
from appliance.settings import Settings
from appliance.store import generation_states, generations
from appliance.store.damage_scans import DamageScans
from appliance.store.database import Database
from appliance.store.vectors import stored_dtype
from appliance.types import IndexStatus, UnfinishedImport

if TYPE_CHECKING:
    from appliance.engine.fact_extraction import FactExtractionJob
    from appliance.engine.index_service import IndexService
    from appliance.memory.summaries import SummaryService


CHUNK_SCAN_SECONDS = 0.5
"""How long a status looks for messages that would be split otherwise now, once the settings of chunks have changed."""

DAMAGE_SCAN_SECONDS = 0.5
"""Seconds for which a status goes on with each scan for damage: some 50,000 messages, and the tables of as many."""


def home_status(
    home: Home,
    database: Database,
    settings: Settings,
    configured_model: str,
    summaries: SummaryService,
    facts: FactExtractionJob,
    scheduler: Scheduler,
    metrics: Metrics,
    scans: DamageScans,
    index: IndexStatus,
    index_service: IndexService,
    unfinished_imports: Sequence[UnfinishedImport],
    power: PowerGate,
    folders: Sequence[Path],
) -> dict[str, Any]:
    """See ``StatusRequest``. The arguments are those of ``memory.status``, the services whose work may wait, the
    workers, the scans for damage, the imports that were broken off, what says whether heavy work waits, and the
    watched folders of the settings."""
    configured_model = _configured_now(home, settings, configured_model)
    summary_state, fact_state = summaries.state(r.SummaryStateRequest()), facts.state()
    generation = generation_states.active(database.read())
    network = embedding_api.network_status(home, settings, generation.model if generation else configured_model)
    damaged = scans.run(database.read(), DAMAGE_SCAN_SECONDS)
    trouble = network["api"]["trouble"] if network["api"] else ""
    found = status(
        home, database.read(), configured_model, scheduler.last_error, metrics, damaged, index, trouble,
        index_service.is_building, unfinished_imports, missing_folders=[path for path in folders if not is_there(path)],
        embeds_unasked=scheduler.embeds_unasked,
        model_trouble="" if generation is None else index_service.models.trouble(generation),
    )  # fmt: skip
    otherwise = None if damaged else index_service.chunk_changes.count(CHUNK_SCAN_SECONDS)
    queues = {**found["queues"], "sessions": summary_state["due"], "facts": fact_state["due"]}
    queues["summaries_lag_seconds"] = round(summaries.lag(), 3)
    found["chunked_otherwise"] = otherwise and asdict(otherwise)
    found["unchecked_tables"] = scans.unchecked
    vectors = None if generation is None else stored_dtype(generations.ledger_path(home, generation.id))
    found["profile"] = {
        "name": machine_profiles.resolve(settings.profile),
        "setting": settings.profile,
        "vectors": vectors,  # a ledger keeps the kind that it began with
        "new_vectors": settings.index.ledger,
    }
    found["settings_changed"] = _changed_since(home, settings)
    found["power"] = {**asdict(power.power), "paused": power.is_paused}
    return {**found, **network, "queues": queues, "summaries": summary_state, "facts": fact_state}


FOLLOWED = ("watch.folders", "model.", "tui.")
"""The settings that are read anew where they are used, by their names or the beginnings of them."""


def _changed_since(home: Home, settings: Settings) -> list[str]:
    """The settings that are others by now in the files and variables that this process reads than when it opened the
    home, by their names. Of a machine profile only its own name counts, not what it sets."""
    with suppress(ConfigError):
        loaded, origins = config.load_with_origins(home)
        now, before = (config.flatten(msgspec.to_builtins(one)) for one in (loaded, settings))
        changed = [name for name in sorted({*now, *before}) if now.get(name) != before.get(name)]
        return [
            name for name in changed if not name.startswith(FOLLOWED) and origins.get(name, "") != _of_profile(loaded)
        ]
    return []


def _of_profile(settings: Settings) -> str:
    """The origin of what the machine profile sets."""
    return f"profile {machine_profiles.resolve(settings.profile)}"


def _configured_now(home: Home, settings: Settings, model: str) -> str:
    """The configured model as the settings name it now: 'appliance models use' may have changed them since the home was
    opened. A caller's own model stays."""
    if model != settings.model.full_name():
        return model
    with suppress(ConfigError):
        return config.load(home).model.full_name()
    return model
