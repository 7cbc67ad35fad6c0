"""What a backup, a check of backups and a restoration report."""

from __future__ import annotations

from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup: the moment that it holds, its messages, the bytes of its files, and the bytes that it added to the
    repository. ``version`` is that of the program that made it."""

    id: str
    at: str
    messages: int
    bytes: int
    new_bytes: int
    version: str


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made at ``path``. ``removed`` are the ids of older ones that were removed."""

    path: str
    id: str
    at: str
    messages: int
    bytes: int
    new_bytes: int
    seconds: float
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BackupProblem:
    """A part of a repository that is missing or damaged, and the backups that need it."""

    where: str
    message: str
    backups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BackupCheck:
    """The result of checking a repository: the backups, packs and bytes in it, whether all data was read, and what is
    wrong."""

    backups: int
    packs: int
    bytes: int
    read_data: bool
    problems: tuple[BackupProblem, ...]


@dataclass(frozen=True, slots=True)
class KnownBackups:
    """A folder or file into which backups of this memory were made: their times, the latest last, and whether it can be
    reached now. What can't be reached is as it was last seen."""

    path: str
    times: tuple[str, ...]
    is_reachable: bool


@dataclass(frozen=True, slots=True)
class LostPart:
    """A part that could not be restored or recovered, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A home that was restored from the backup of a moment. ``lost`` are the parts that are missing in it."""

    home: str
    backup: str
    at: str
    messages: int
    bytes: int
    seconds: float
    lost: tuple[LostPart, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """A home that was recovered from a damaged database. ``lost`` are what is missing in it, and what is damaged."""

    home: str
    messages: int
    seconds: float
    lost: tuple[LostPart, ...] = ()
