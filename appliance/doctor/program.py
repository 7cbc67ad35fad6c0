"""The program: its Python, its libraries, its models, and which command starts it."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from appliance import __version__
from appliance.build_commit import build_commit
from appliance.doctor.checks import Check, Fault, failed, judged, passed
from appliance.paths import Home
from appliance.runtime.installation import how_to_repair
from appliance.settings import JINA_PREFIX, Settings

MIN_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """The interpreter: version, bits of an address, where it is, and the version and functions of its SQLite."""

    version: tuple[int, int, int]
    bits: int
    path: str
    sqlite: str
    has_full_text: bool


def python_facts() -> PythonFacts:
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
            has_full_text = True
        except sqlite3.OperationalError:
            has_full_text = False
    version = sys.version_info
    return PythonFacts(
        (version.major, version.minor, version.micro), struct.calcsize("P") * 8, sys.executable,
        sqlite3.sqlite_version, has_full_text,
    )  # fmt: skip


def check_python(facts: PythonFacts) -> Check:
    """Version and bits of Python, and what its SQLite can do."""
    version, wanted = ".".join(map(str, facts.version)), ".".join(map(str, MIN_PYTHON))
    faults = []
    if facts.version[:2] < MIN_PYTHON:
        faults.append(Fault(f"Python {version} is too old", f"Install the program with Python {wanted} or later."))
    if facts.bits < 64:
        faults.append(Fault(f"Python {version} is a {facts.bits}-bit one", "Install the program with a 64-bit Python."))
    if not facts.has_full_text:
        faults.append(
            Fault(f"its SQLite {facts.sqlite} lacks full text (FTS5)", "Install a Python whose SQLite has FTS5.")
        )
    details = (f"{version}, {facts.bits} bit, {facts.path}", f"SQLite {facts.sqlite} with full text")
    return judged("python", details, faults)


def check_version() -> Check:
    """Which version this is, for a report."""
    commit = build_commit()
    return passed("version", __version__ + (f" ({commit[:10]})" if commit else ""), platform.platform(terse=True))


# --- the command ----------------------------------------------------------------------------------------


def commands_on_path() -> list[str]:
    """Every command of this name on the PATH, in its order; once, where folders are links to another, as /bin is."""
    folders = filter(None, os.environ.get("PATH", "").split(os.pathsep))
    found = [command for folder in folders if (command := shutil.which("appliance", path=folder))]
    return [*{os.path.realpath(command): command for command in reversed(found)}.values()][::-1]


def check_command(own: Sequence[str], on_path: Sequence[str]) -> Check:
    """Whether the name of the command means this installation.

    Args:
        own: What starts this program.
        on_path: The commands of this name on the PATH.
    """
    shown = " ".join(own)
    if not on_path:
        return passed("command", shown, "not on the PATH")
    if len(own) == 1 and not _is_same(own[0], on_path[0]):
        return failed(
            "command",
            f"'appliance' starts {on_path[0]}, and this is {own[0]}",
            f"Put {Path(own[0]).parent} before {Path(on_path[0]).parent} on the PATH, or uninstall the other one.",
        )
    others = [command for command in on_path[1:] if not _is_same(command, on_path[0])]
    return passed("command", shown, f"later on the PATH: {', '.join(others)}" if others else "")


def _is_same(command: str, other: str) -> bool:
    return os.path.realpath(command) == os.path.realpath(other)


# --- models -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The installed models, those that are needed by a name and why, and what is wrong with files of which model."""

    installed: tuple[str, ...]
    needed: Mapping[str, str]
    damaged: Mapping[str, str]
    shipped: frozenset[str]
    files: int


def model_facts(home: Home, settings: Settings, in_use: Mapping[str, str]) -> ModelFacts:
    """
    Args:
        in_use: The models of the memory's generations, with the state of each.
    """
    from appliance_models import ModelError, list_models, verify_pack

    damaged, files = {}, 0
    models = list_models((home.models,))
    for info in models:
        try:
            reports = verify_pack(info.folder)
        except (ModelError, OSError) as error:
            damaged[info.name] = str(error)
            continue
        files += len(reports)
        wrong = [report.detail for report in reports if report.status != "ok"]
        if wrong:
            damaged[info.name] = wrong[0]
    needed = {name: "vectors of the memory" for name, state in in_use.items() if state == "active"}
    needed |= {settings.model.full_name(): "model.name"}
    if settings.rerank.model:
        needed[settings.rerank.model] = "rerank.model"
    return ModelFacts(
        tuple(info.name for info in models),
        {base: reason for name, reason in needed.items() if (base := _installed_name(name)) is not None},
        damaged,
        frozenset(info.name for info in models if info.shipped),
        files,
    )


def _installed_name(name: str) -> str | None:
    """The pack that a model's name needs; None if it needs none of this home."""
    from appliance_models import pack_name

    if name.startswith(JINA_PREFIX) or "@" in name:
        return None
    return pack_name(name)


def check_models(facts: ModelFacts) -> Check:
    """Whether the models that are needed are there, and whole."""
    faults = [
        Fault(
            detail if name in detail else f"{name}: {detail}",
            how_to_repair()
            if name in facts.shipped
            else f"Remove the folder of {name} and import it again: 'appliance models import DIR'.",
        )
        for name, detail in facts.damaged.items()
    ]
    faults += [
        Fault(
            f"{name} is not installed ({reason})",
            "Import it ('appliance models import DIR'), or choose another one ('appliance models use NAME').",
        )
        for name, reason in facts.needed.items()
        if name not in facts.installed
    ]
    used = ", ".join(facts.needed) or "none needed"
    return judged(
        "models", (f"{used}; {len(facts.installed)} installed, {facts.files} files as they should be",), faults
    )
