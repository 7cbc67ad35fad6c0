"""The examination: what is found on this machine, given to the checks, in the order in which a person reads them.

Each check loads the modules that it needs itself: what can't be loaded, because a file is damaged, is a check that
fails, and the others are made."""

from __future__ import annotations

import os
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from appliance.doctor import files
from appliance.doctor.checks import Check, failed, passed
from appliance.runtime.installation import how_to_repair

if TYPE_CHECKING:
    from appliance.doctor.running import OwnerFacts
    from appliance.doctor.stored import StoredFacts
    from appliance.errors import ConfigError
    from appliance.paths import Home
    from appliance.runtime.network import NetworkUse
    from appliance.settings import Settings


def examine(home: Home) -> Iterator[Check]:
    """Check a machine, an installation and a home. Nothing is changed, and no lock taken.

    Args:
        home: It may be missing, damaged, read-only, somebody else's, or in use.
    """
    found = _Found(home)
    for name, check in _OF_THE_MACHINE.items():
        yield from _tried(name, check, found)
    if _is_closed(home):
        return  # of what is in it, nothing can be said
    for name, check in _OF_THE_HOME.items():
        yield from _tried(name, check, found)


class _Found:
    """What several checks need, found when the first of them asks."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.broken: dict[str, str] = {}
        """The errors of checks that do not run, and the first that had each."""

    @cached_property
    def settings(self) -> tuple[Settings, ConfigError | None]:
        return load_settings(self.home)

    @cached_property
    def stored(self) -> StoredFacts:
        from appliance.doctor.stored import stored_facts

        return stored_facts(self.home)

    @cached_property
    def owner(self) -> OwnerFacts:
        from appliance.doctor.running import owner_facts

        return owner_facts(self.home)


def _tried(name: str, check: Callable[[_Found], Check | None], found: _Found) -> Iterator[Check]:
    """The check, if it applies; one that fails, if the system refuses to tell what it needs, or the program's own
    files are damaged."""
    try:
        done = check(found)
    except (OSError, sqlite3.Error) as error:
        done = _refused(name, error)
    except Exception as error:
        done = _refused(name, error) if _is_refusal(error) else _broken(name, error, found)
    if done is not None:
        yield done


def _refused(name: str, error: Exception) -> Check:
    return failed(name, f"it can't be looked at: {error}", "Check the permissions of the home, and its disk.")


def _is_refusal(error: Exception) -> bool:
    try:
        from appliance.errors import ApplianceError
    except Exception:  # a file of the program is damaged
        return False
    return isinstance(error, ApplianceError)


def _broken(name: str, error: Exception, found: _Found) -> Check:
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, ImportError | SyntaxError):  # these name their file
        place = traceback.extract_tb(error.__traceback__)[-1]
        text += f" ({place.filename}, line {place.lineno})"
    first = found.broken.setdefault(text, name)
    detail = f"its part of the program does not run: {text}" if first == name else f"it does not run, as '{first}'"
    return failed(name, detail, how_to_repair())


def _is_closed(home: Home) -> bool:
    try:
        from appliance.doctor import folder
    except Exception:  # each check says it
        return False
    return folder.is_closed(home.root)


def load_settings(home: Home) -> tuple[Settings, ConfigError | None]:
    """The settings of a home; the default ones, and why, if they can't be read."""
    from appliance import config
    from appliance.errors import ConfigError
    from appliance.settings import Settings

    try:
        return config.load(home), None
    except ConfigError as error:
        return Settings(), error


def changed_settings(home: Home, error: ConfigError | None) -> list[str]:
    """The settings that differ from the default ones."""
    if error is not None:
        return []
    import msgspec

    from appliance import config
    from appliance.settings import Settings

    default = config.flatten(msgspec.to_builtins(Settings()))
    values = config.flatten(msgspec.to_builtins(config.load(home)))
    return [name for name, value in values.items() if default.get(name) != value]


def uses(settings: Settings, models: object) -> tuple[tuple[NetworkUse, ...], tuple[NetworkUse, ...]]:
    """The parts that use another machine, and those that use a server on this one, with the model that the memory has.

    Args:
        models: The models of the memory's generations, with the state of each.
    """
    from appliance.runtime.network import loopback_uses, network_uses

    stored_models = models if isinstance(models, dict) else {}
    model = next((name for name, state in stored_models.items() if state == "active"), settings.model.full_name())
    return network_uses(settings, model), loopback_uses(settings, model)


# --- the checks --------------------------------------------------------------------------------------------------


def _version(found: _Found) -> Check:
    from appliance.doctor import program

    return program.check_version()


def _files(found: _Found) -> Check:
    return files.check_files(files.file_facts())


def _python(found: _Found) -> Check:
    from appliance.doctor import program

    return program.check_python(program.python_facts())


def _command(found: _Found) -> Check:
    from appliance.doctor import program
    from appliance.runtime import child_process

    return program.check_command(child_process.own_command(), program.commands_on_path())


def _processor(found: _Found) -> Check:
    from appliance.doctor import machine

    return machine.check_processor(machine.processor_facts())


def _memory(found: _Found) -> Check:
    from appliance.doctor import machine

    return machine.check_memory(machine.memory_facts())


def _locale(found: _Found) -> Check:
    from appliance.doctor import surroundings

    return surroundings.check_locale(surroundings.locale_facts())


def _terminal(found: _Found) -> Check:
    from appliance.doctor import surroundings

    return surroundings.check_terminal(surroundings.terminal_facts())


def _home(found: _Found) -> Check:
    return passed("home", os.fsencode(found.home.root).decode("utf-8", "replace"))


def _file_system(found: _Found) -> Check:
    from appliance.doctor import folder

    return folder.check_file_system(folder.folder_facts(found.home))


def _disk(found: _Found) -> Check:
    from appliance.doctor import folder

    return folder.check_room(folder.folder_facts(found.home))


def _permissions(found: _Found) -> Check | None:
    from appliance.doctor import folder

    facts = folder.permission_facts(found.home)
    return None if facts is None else folder.check_permissions(facts)


def _settings(found: _Found) -> Check:
    from appliance.doctor import settings as settings_checks

    settings, error = found.settings
    changed = changed_settings(found.home, error)
    return settings_checks.check_settings(error, changed, *uses(settings, found.stored.models))


def _models(found: _Found) -> Check:
    from appliance.doctor import program

    return program.check_models(program.model_facts(found.home, found.settings[0], found.stored.models))


def _database(found: _Found) -> Check:
    from appliance.doctor import stored

    return stored.check_database(found.stored, found.home)


def _clock(found: _Found) -> Check:
    from appliance.doctor import machine

    return machine.check_clock(machine.clock_facts(found.stored.changed))


def _owner(found: _Found) -> Check:
    from appliance.doctor import running

    return running.check_owner(found.owner)


def _leftovers(found: _Found) -> Check | None:
    from appliance.doctor import running

    if found.stored.state == "none":
        return None
    return running.check_leftovers(running.leftover_facts(found.home, found.owner, found.stored.unfinished))


def _watches(found: _Found) -> Check | None:
    from appliance.doctor import settings as settings_checks

    facts = settings_checks.watch_facts(found.home, found.settings[0], found.owner.pid)
    return None if facts is None else settings_checks.check_watches(facts)


def _imports(found: _Found) -> Check | None:
    from appliance.doctor import stored

    return stored.check_imports(found.stored)


def _backups(found: _Found) -> Check | None:
    from appliance.doctor import stored

    return stored.check_backups(found.home)


def _service(found: _Found) -> Check | None:
    from appliance.doctor import running
    from appliance.errors import ApplianceError

    if found.settings[1] is not None:  # what the service would be, the settings say
        return None
    try:
        return running.check_service(running.service_state(found.home))
    except ApplianceError as refused:
        return running.failed_service(refused)


_OF_THE_MACHINE: dict[str, Callable[[_Found], Check | None]] = {
    "version": _version,
    "files": _files,
    "python": _python,
    "command": _command,
    "processor": _processor,
    "memory": _memory,
    "locale": _locale,
    "terminal": _terminal,
    "home": _home,
    "file system": _file_system,
    "disk": _disk,
    "permissions": _permissions,
}

_OF_THE_HOME: dict[str, Callable[[_Found], Check | None]] = {
    "settings": _settings,
    "models": _models,
    "database": _database,
    "clock": _clock,
    "owner": _owner,
    "leftovers": _leftovers,
    "watched folders": _watches,
    "imported files": _imports,
    "backups": _backups,
    "service": _service,
}
