"""The values that travel through the program. All are frozen; none depends on a store, a file or a model.

In:  a parser yields ``SessionRecord``, ``MessageRecord``, ``ParticipantRecord`` and ``InputProblem`` values, in the
     order of the file.
Out: a search yields ``Hit`` values; a ``Context`` is made of ``Layer`` and ``ContextItem`` values.

Parsers set these metadata keys where the export has them, and only these keys have a meaning:
``hidden`` (system or injected context that a person never saw), ``branch`` (off the active path),
``sidechain`` (agents among themselves), ``attachments`` (``[{"name", "text"}]``), ``reactions``,
``tools``, ``files``, ``edited``, ``deleted``. The program itself sets ``document`` of a message that is a page of an
attached document.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types.archive import ArchivedMessage, ArchiveReport, ArchiveStatus, RetentionRule
    from appliance.types.attachments import AttachedFile, Attachment, AttachmentKind, AttachmentPage, Contained
    from appliance.types.backup import (
        BackupCheck,
        BackupInfo,
        BackupProblem,
        BackupReport,
        KnownBackups,
        LostPart,
        RecoveryReport,
        RestoreReport,
    )
    from appliance.types.core import BlockEditor, BlockRevision, CoreBlock
    from appliance.types.discovery import Discovery, FoundHistory, OnDiscovered
    from appliance.types.documents import DocumentPage, PageText, document_page
    from appliance.types.erasure import BlockErasure, Echo, EchoKind, ErasurePreview, ErasureReport, Receipt
    from appliance.types.index import IndexStatus
    from appliance.types.overview import (
        Activity,
        FileProblem,
        FilterChoices,
        ImportedFile,
        ImportedSession,
        MessageMatches,
        Outline,
        Owner,
        ReindexForecast,
        TagCount,
        UnfinishedImport,
        WatchedFile,
        WatchedFolder,
    )
    from appliance.types.people import (
        Identity,
        IdentityKind,
        PeopleChange,
        PeopleList,
        Person,
        PersonConversation,
        PersonDetails,
        PersonProposal,
        PersonSource,
        RecalledMessage,
    )
    from appliance.types.progress import (
        Histogram,
        MetricsSnapshot,
        OnProgress,
        Progress,
        Stream,
        WatchChange,
        WatchEvent,
    )
    from appliance.types.records import (
        ContactRecord,
        FileReport,
        IngestReport,
        InputProblem,
        MessageRecord,
        OnEmbedded,
        OnFile,
        OnRead,
        ParticipantRecord,
        Record,
        SessionRecord,
        StateRecord,
    )
    from appliance.types.search import (
        Context,
        ContextItem,
        Dropped,
        Filters,
        Hit,
        Hits,
        Layer,
        SessionPart,
        Source,
        SummaryHit,
        WhyNot,
    )
    from appliance.types.secrets import SecretMark, SecretPolicy, SecretScan
    from appliance.types.start_page import RecentSession, StartPage, Waiting
    from appliance.types.statistics import (
        Anniversary,
        SessionDay,
        Statistics,
        StatisticsRow,
        StatisticsUnit,
        TimelineMonth,
    )
    from appliance.types.stored import (
        Event,
        Fact,
        FactAddition,
        FactChange,
        FactDecision,
        Importance,
        Message,
        MessageVersion,
        Quote,
        RemovalResult,
        SessionInfo,
        SessionPage,
        Summary,
        Window,
    )
    from appliance.types.verification import ChunkedOtherwise, SourceCoverage, VerifyReport
    from appliance.types.vocabulary import (
        FEEDBACK_KINDS,
        LEVELS,
        LOCAL,
        ROLES,
        UNVERIFIED,
        FactKind,
        FactState,
        FeedbackKind,
        Fidelity,
        FileStatus,
        HitOrder,
        LayerName,
        Level,
        Metadata,
        Mode,
        Role,
        Scope,
        SessionOrder,
        SharingLayerName,
        StorageScope,
        TimeOf,
    )

_MODULE_BY_NAME = {
    name: module
    for module, names in {
        "archive": "ArchivedMessage ArchiveReport ArchiveStatus RetentionRule",
        "attachments": "AttachedFile Attachment AttachmentKind AttachmentPage Contained",
        "backup": (
            "BackupCheck BackupInfo BackupProblem BackupReport KnownBackups LostPart RecoveryReport RestoreReport"
        ),
        "core": "BlockEditor BlockRevision CoreBlock",
        "discovery": "Discovery FoundHistory OnDiscovered",
        "documents": "DocumentPage PageText document_page",
        "erasure": "BlockErasure Echo EchoKind ErasurePreview ErasureReport Receipt",
        "index": "IndexStatus",
        "overview": (
            "Activity FileProblem FilterChoices ImportedFile ImportedSession MessageMatches Outline Owner "
            "ReindexForecast TagCount UnfinishedImport WatchedFile WatchedFolder"
        ),
        "people": (
            "Identity IdentityKind PeopleChange PeopleList Person PersonConversation PersonDetails "
            "PersonProposal PersonSource RecalledMessage"
        ),
        "progress": "Histogram MetricsSnapshot OnProgress Progress Stream WatchChange WatchEvent",
        "records": (
            "ContactRecord FileReport IngestReport InputProblem MessageRecord OnEmbedded OnFile OnRead "
            "ParticipantRecord Record SessionRecord StateRecord"
        ),
        "search": "Context ContextItem Dropped Filters Hit Hits Layer SessionPart Source SummaryHit WhyNot",
        "secrets": "SecretMark SecretPolicy SecretScan",
        "start_page": "RecentSession StartPage Waiting",
        "statistics": "Anniversary SessionDay Statistics StatisticsRow StatisticsUnit TimelineMonth",
        "stored": (
            "Event Fact FactAddition FactChange FactDecision Importance Message MessageVersion Quote RemovalResult "
            "SessionInfo SessionPage Summary Window"
        ),
        "verification": "ChunkedOtherwise SourceCoverage VerifyReport",
        "vocabulary": (
            "FEEDBACK_KINDS LEVELS LOCAL ROLES UNVERIFIED FactKind FactState FeedbackKind Fidelity FileStatus HitOrder "
            "LayerName Level Metadata Mode Role Scope SessionOrder SharingLayerName StorageScope TimeOf"
        ),
    }.items()
    for name in names.split()
}
"""The module of each name, which is loaded when the name is first used: to make all of these classes takes 50 ms."""

__all__ = [
    "FEEDBACK_KINDS",
    "LEVELS",
    "LOCAL",
    "ROLES",
    "UNVERIFIED",
    "Activity",
    "Anniversary",
    "ArchiveReport",
    "ArchiveStatus",
    "ArchivedMessage",
    "AttachedFile",
    "Attachment",
    "AttachmentKind",
    "AttachmentPage",
    "BackupCheck",
    "BackupInfo",
    "BackupProblem",
    "BackupReport",
    "BlockEditor",
    "BlockErasure",
    "BlockRevision",
    "ChunkedOtherwise",
    "ContactRecord",
    "Contained",
    "Context",
    "ContextItem",
    "CoreBlock",
    "Discovery",
    "DocumentPage",
    "Dropped",
    "Echo",
    "EchoKind",
    "ErasurePreview",
    "ErasureReport",
    "Event",
    "Fact",
    "FactAddition",
    "FactChange",
    "FactDecision",
    "FactKind",
    "FactState",
    "FeedbackKind",
    "Fidelity",
    "FileProblem",
    "FileReport",
    "FileStatus",
    "FilterChoices",
    "Filters",
    "FoundHistory",
    "Histogram",
    "Hit",
    "HitOrder",
    "Hits",
    "Identity",
    "IdentityKind",
    "Importance",
    "ImportedFile",
    "ImportedSession",
    "IndexStatus",
    "IngestReport",
    "InputProblem",
    "KnownBackups",
    "Layer",
    "LayerName",
    "Level",
    "LostPart",
    "Message",
    "MessageMatches",
    "MessageRecord",
    "MessageVersion",
    "Metadata",
    "MetricsSnapshot",
    "Mode",
    "OnDiscovered",
    "OnEmbedded",
    "OnFile",
    "OnProgress",
    "OnRead",
    "Outline",
    "Owner",
    "PageText",
    "ParticipantRecord",
    "PeopleChange",
    "PeopleList",
    "Person",
    "PersonConversation",
    "PersonDetails",
    "PersonProposal",
    "PersonSource",
    "Progress",
    "Quote",
    "RecalledMessage",
    "Receipt",
    "RecentSession",
    "Record",
    "RecoveryReport",
    "ReindexForecast",
    "RemovalResult",
    "RestoreReport",
    "RetentionRule",
    "Role",
    "Scope",
    "SecretMark",
    "SecretPolicy",
    "SecretScan",
    "SessionDay",
    "SessionInfo",
    "SessionOrder",
    "SessionPage",
    "SessionPart",
    "SessionRecord",
    "SharingLayerName",
    "Source",
    "SourceCoverage",
    "StartPage",
    "StateRecord",
    "Statistics",
    "StatisticsRow",
    "StatisticsUnit",
    "StorageScope",
    "Stream",
    "Summary",
    "SummaryHit",
    "TagCount",
    "TimeOf",
    "TimelineMonth",
    "UnfinishedImport",
    "VerifyReport",
    "Waiting",
    "WatchChange",
    "WatchEvent",
    "WatchedFile",
    "WatchedFolder",
    "WhyNot",
    "Window",
    "document_page",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    return value
