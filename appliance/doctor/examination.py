"""The examination: what is found on this machine, given to the checks, in the order in which a person reads them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator

import msgspec

from appliance import config
from appliance.doctor import folder, machine, program, running, stored, surroundings
from appliance.doctor import settings as settings_checks
from appliance.doctor.checks import Check, failed, passed
from appliance.errors import ApplianceError, ConfigError
from appliance.paths import Home
from appliance.runtime import child_process
from appliance.runtime.network import NetworkUse, loopback_uses, network_uses
from appliance.settings import Settings


def examine(home: Home) -> Iterator[Check]:
    """Check a machine, an installation and a home. Nothing is changed, and no lock taken.

    Args:
        home: It may be missing, damaged, read-only, somebody else's, or in use.
    """
    yield program.check_version()
    yield program.check_python(program.python_facts())
    yield program.check_command(child_process.own_command(), program.commands_on_path())
    yield machine.check_processor(machine.processor_facts())
    yield machine.check_memory(machine.memory_facts())
    yield surroundings.check_locale(surroundings.locale_facts())
    yield surroundings.check_terminal(surroundings.terminal_facts())
    yield passed("home", os.fsencode(home.root).decode("utf-8", "replace"))
    yield from _tried("file system", lambda: folder.check_file_system(folder.folder_facts(home)))
    yield from _tried("disk", lambda: folder.check_room(folder.folder_facts(home)))
    yield from _tried("permissions", lambda: _permissions(home))
    if folder.is_closed(home.root):
        return  # of what is in it, nothing can be said
    settings, error = load_settings(home)
    facts = stored.stored_facts(home)
    owner = running.owner_facts(home)
    yield settings_checks.check_settings(error, changed_settings(home, error), *uses(settings, facts.models))
    yield from _tried("models", lambda: program.check_models(program.model_facts(home, settings, facts.models)))
    yield stored.check_database(facts, home)
    yield machine.check_clock(machine.clock_facts(facts.changed))
    yield running.check_owner(owner)
    yield from _tried("leftovers", lambda: _leftovers(home, owner, facts))
    yield from _tried("watched folders", lambda: _watches(home, settings, owner))
    yield from _tried("service", lambda: _service(home, error))


def load_settings(home: Home) -> tuple[Settings, ConfigError | None]:
    """The settings of a home; the default ones, and why, if they can't be read."""
    try:
        return config.load(home), None
    except ConfigError as error:
        return Settings(), error


def changed_settings(home: Home, error: ConfigError | None) -> list[str]:
    """The settings that differ from the default ones."""
    if error is not None:
        return []
    default = config.flatten(msgspec.to_builtins(Settings()))
    values = config.flatten(msgspec.to_builtins(config.load(home)))
    return [name for name, value in values.items() if default.get(name) != value]


def uses(settings: Settings, models: object) -> tuple[tuple[NetworkUse, ...], tuple[NetworkUse, ...]]:
    """The parts that use another machine, and those that use a server on this one, with the model that the memory has.

    Args:
        models: The models of the memory's generations, with the state of each.
    """
    stored_models = models if isinstance(models, dict) else {}
    model = next((name for name, state in stored_models.items() if state == "active"), settings.model.full_name())
    return network_uses(settings, model), loopback_uses(settings, model)


def _tried(name: str, check: Callable[[], Check | None]) -> Iterator[Check]:
    """The check, if there is one; one that fails, if the system refuses to tell what it needs."""
    try:
        done = check()
    except (OSError, ApplianceError, sqlite3.Error) as error:
        yield failed(name, f"it can't be looked at: {error}", "Check the permissions of the home, and its disk.")
        return
    if done is not None:
        yield done


def _permissions(home: Home) -> Check | None:
    facts = folder.permission_facts(home)
    return None if facts is None else folder.check_permissions(facts)


def _leftovers(home: Home, owner: running.OwnerFacts, facts: stored.StoredFacts) -> Check | None:
    if facts.state == "none":
        return None
    return running.check_leftovers(running.leftover_facts(home, owner, facts.unfinished))


def _watches(home: Home, settings: Settings, owner: running.OwnerFacts) -> Check | None:
    facts = settings_checks.watch_facts(home, settings, owner.pid)
    return None if facts is None else settings_checks.check_watches(facts)


def _service(home: Home, error: ConfigError | None) -> Check | None:
    if error is not None:  # what the service would be, the settings say
        return None
    try:
        return running.check_service(running.service_state(home))
    except ApplianceError as refused:
        return running.failed_service(refused)
