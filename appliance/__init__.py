"""An offline-first memory for a person's own machine.

    from appliance import Appliance

    with Appliance.open("~/memory") as memory:
        memory.ingest("export.zip")
        for hit in memory.search("deployment issue", limit=3):
            print(hit.timestamp, hit.author, hit.snippet)

Importing this package loads nothing heavy; the names below are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from os import environ as _environ
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.async_client import AsyncAppliance, AsyncSession
    from appliance.backups import Backups
    from appliance.client import Appliance
    from appliance.errors import (
        ApplianceError,
        ConfigError,
        DaemonGone,
        DiskFull,
        EmbeddingApiError,
        EndpointError,
        HomeError,
        HomeLocked,
        HomeReadOnly,
        IncompleteExport,
        IndexUnavailable,
        InputError,
        ModelUnavailable,
        NotFound,
        OutOfMemory,
        StoreCorrupt,
        StoreError,
        StoreVersion,
        UsageError,
    )
    from appliance.paths import Home
    from appliance.resources import (
        Archive,
        Attachments,
        Core,
        Erasure,
        Facts,
        Index,
        Overview,
        People,
        Pins,
        Secrets,
        Session,
        Sessions,
        Summaries,
        Watching,
    )
    from appliance.settings import Settings
    from appliance.subscriptions import Events, Watcher
    from appliance.types import (
        Activity,
        Anniversary,
        ArchivedMessage,
        ArchiveReport,
        ArchiveStatus,
        Attachment,
        AttachmentPage,
        BackupCheck,
        BackupInfo,
        BackupProblem,
        BackupReport,
        BlockErasure,
        BlockRevision,
        Context,
        ContextItem,
        CoreBlock,
        Discovery,
        DocumentPage,
        Dropped,
        Echo,
        ErasurePreview,
        ErasureReport,
        Event,
        Fact,
        FactAddition,
        FactChange,
        FileProblem,
        FileReport,
        FilterChoices,
        FoundHistory,
        Histogram,
        Hit,
        Hits,
        Identity,
        Importance,
        ImportedFile,
        ImportedSession,
        IndexStatus,
        IngestReport,
        InputProblem,
        KnownBackups,
        Layer,
        LostPart,
        Message,
        MessageMatches,
        MessageVersion,
        MetricsSnapshot,
        Outline,
        Owner,
        PeopleChange,
        PeopleList,
        Person,
        PersonConversation,
        PersonDetails,
        PersonProposal,
        PersonSource,
        Progress,
        Quote,
        RecalledMessage,
        Receipt,
        RecentSession,
        ReindexForecast,
        RemovalResult,
        RestoreReport,
        RetentionRule,
        Scope,
        SecretMark,
        SecretScan,
        SessionDay,
        SessionInfo,
        SessionPage,
        Source,
        SourceCoverage,
        StartPage,
        Statistics,
        StatisticsRow,
        Summary,
        SummaryHit,
        TagCount,
        TimelineMonth,
        UnfinishedImport,
        VerifyReport,
        Waiting,
        WatchChange,
        WatchedFile,
        WatchedFolder,
        WhyNot,
        Window,
    )

__version__ = "0.3.0"

if _guard := _environ.get("MEMORY_APPLIANCE_SOCKET_GUARD"):  # before anything else of this package is loaded
    import_module(f"{__name__}.runtime.socket_guard").install(_guard)

_LAZY_EXPORTS = {
    name: module
    for module, names in {
        "async_client": "AsyncAppliance AsyncSession",
        "backups": "Backups",
        "client": "Appliance",
        "settings": "Settings",
        "errors": (
            "ApplianceError ConfigError DaemonGone DiskFull EmbeddingApiError EndpointError HomeError HomeLocked "
            "HomeReadOnly IncompleteExport IndexUnavailable InputError ModelUnavailable NotFound OutOfMemory "
            "StoreCorrupt StoreError StoreVersion UsageError"
        ),
        "paths": "Home",
        "resources": (
            "Archive Attachments Core Erasure Facts Index Overview People Pins Secrets Session Sessions Summaries "
            "Watching"
        ),
        "subscriptions": "Events Watcher",
        "types": (
            "Activity ArchivedMessage ArchiveReport ArchiveStatus BackupCheck BackupInfo BackupProblem "
            "BackupReport BlockErasure BlockRevision Context ContextItem CoreBlock Dropped Echo ErasurePreview "
            "ErasureReport Event Fact FactAddition FactChange FileProblem FileReport Anniversary Attachment "
            "AttachmentPage Discovery DocumentPage FoundHistory RecentSession SessionDay StartPage Statistics "
            "StatisticsRow TagCount TimelineMonth "
            "FilterChoices Histogram Hit Hits Identity Importance ImportedFile ImportedSession IndexStatus "
            "IngestReport InputProblem KnownBackups "
            "Layer LostPart Message MessageMatches MessageVersion MetricsSnapshot Outline Owner PeopleChange "
            "PeopleList Person PersonConversation "
            "PersonDetails PersonProposal PersonSource Progress Quote RecalledMessage Receipt ReindexForecast "
            "RemovalResult RestoreReport RetentionRule Scope SecretMark SecretScan SessionInfo SessionPage Source "
            "SourceCoverage Summary SummaryHit UnfinishedImport VerifyReport Waiting WatchChange WatchedFile "
            "WatchedFolder WhyNot Window"
        ),
    }.items()
    for name in names.split()
}
"""The module of each public name."""

__all__ = [
    "Activity",
    "Anniversary",
    "Appliance",
    "ApplianceError",
    "Archive",
    "ArchiveReport",
    "ArchiveStatus",
    "ArchivedMessage",
    "AsyncAppliance",
    "AsyncSession",
    "Attachment",
    "AttachmentPage",
    "Attachments",
    "BackupCheck",
    "BackupInfo",
    "BackupProblem",
    "BackupReport",
    "Backups",
    "BlockErasure",
    "BlockRevision",
    "ConfigError",
    "Context",
    "ContextItem",
    "Core",
    "CoreBlock",
    "DaemonGone",
    "Discovery",
    "DiskFull",
    "DocumentPage",
    "Dropped",
    "Echo",
    "EmbeddingApiError",
    "EndpointError",
    "Erasure",
    "ErasurePreview",
    "ErasureReport",
    "Event",
    "Events",
    "Fact",
    "FactAddition",
    "FactChange",
    "Facts",
    "FileProblem",
    "FileReport",
    "FilterChoices",
    "FoundHistory",
    "Histogram",
    "Hit",
    "Hits",
    "Home",
    "HomeError",
    "HomeLocked",
    "HomeReadOnly",
    "Identity",
    "Importance",
    "ImportedFile",
    "ImportedSession",
    "IncompleteExport",
    "Index",
    "IndexStatus",
    "IndexUnavailable",
    "IngestReport",
    "InputError",
    "InputProblem",
    "KnownBackups",
    "Layer",
    "LostPart",
    "Message",
    "MessageMatches",
    "MessageVersion",
    "MetricsSnapshot",
    "ModelUnavailable",
    "NotFound",
    "OutOfMemory",
    "Outline",
    "Overview",
    "Owner",
    "People",
    "PeopleChange",
    "PeopleList",
    "Person",
    "PersonConversation",
    "PersonDetails",
    "PersonProposal",
    "PersonSource",
    "Pins",
    "Progress",
    "Quote",
    "RecalledMessage",
    "Receipt",
    "RecentSession",
    "ReindexForecast",
    "RemovalResult",
    "RestoreReport",
    "RetentionRule",
    "Scope",
    "SecretMark",
    "SecretScan",
    "Secrets",
    "Session",
    "SessionDay",
    "SessionInfo",
    "SessionPage",
    "Sessions",
    "Settings",
    "Source",
    "SourceCoverage",
    "StartPage",
    "Statistics",
    "StatisticsRow",
    "StoreCorrupt",
    "StoreError",
    "StoreVersion",
    "Summaries",
    "Summary",
    "SummaryHit",
    "TagCount",
    "TimelineMonth",
    "UnfinishedImport",
    "UsageError",
    "VerifyReport",
    "Waiting",
    "WatchChange",
    "WatchedFile",
    "WatchedFolder",
    "Watcher",
    "Watching",
    "WhyNot",
    "Window",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY_EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY_EXPORTS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_EXPORTS})
