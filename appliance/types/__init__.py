"""The values that travel through the program. All are frozen; none depends on a store, a file or a model.

In:  a parser yields ``SessionRecord``, ``MessageRecord`` and ``InputProblem`` values, in the order of the file.
Out: a search yields ``Hit`` values; a ``Context`` is made of ``Layer`` and ``ContextItem`` values.

Parsers set these metadata keys where the export has them, and only these keys have a meaning:
``hidden`` (system or injected context that a person never saw), ``branch`` (off the active path),
``sidechain`` (agents among themselves), ``attachments`` (``[{"name", "text"}]``), ``reactions``,
``tools``, ``files``, ``edited``, ``deleted``.
"""

from __future__ import annotations

from appliance.types.erasure import ErasurePreview, ErasureReport, Receipt
from appliance.types.overview import Activity, FilterChoices, Outline, WatchedFile
from appliance.types.progress import Histogram, MetricsSnapshot, OnProgress, Progress, Stream, WatchEvent
from appliance.types.records import (
    FileReport,
    IngestReport,
    InputProblem,
    MessageRecord,
    OnEmbedded,
    OnFile,
    OnRead,
    Record,
    SessionRecord,
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
from appliance.types.stored import (
    Event,
    Fact,
    Importance,
    Message,
    Quote,
    RemovalResult,
    SessionInfo,
    SessionPage,
    Summary,
    Window,
)
from appliance.types.verification import SourceCoverage, VerifyReport
from appliance.types.vocabulary import (
    LEVELS,
    LOCAL,
    ROLES,
    FactKind,
    FactState,
    Fidelity,
    FileStatus,
    LayerName,
    Level,
    Metadata,
    Mode,
    Role,
    Scope,
    SessionOrder,
    StorageScope,
)

__all__ = [
    "LEVELS",
    "LOCAL",
    "ROLES",
    "Activity",
    "Context",
    "ContextItem",
    "Dropped",
    "ErasurePreview",
    "ErasureReport",
    "Event",
    "Fact",
    "FactKind",
    "FactState",
    "Fidelity",
    "FileReport",
    "FileStatus",
    "FilterChoices",
    "Filters",
    "Histogram",
    "Hit",
    "Hits",
    "Importance",
    "IngestReport",
    "InputProblem",
    "Layer",
    "LayerName",
    "Level",
    "Message",
    "MessageRecord",
    "Metadata",
    "MetricsSnapshot",
    "Mode",
    "OnEmbedded",
    "OnFile",
    "OnProgress",
    "OnRead",
    "Outline",
    "Progress",
    "Quote",
    "Receipt",
    "Record",
    "RemovalResult",
    "Role",
    "Scope",
    "SessionInfo",
    "SessionOrder",
    "SessionPage",
    "SessionPart",
    "SessionRecord",
    "Source",
    "SourceCoverage",
    "StorageScope",
    "Stream",
    "Summary",
    "SummaryHit",
    "VerifyReport",
    "WatchEvent",
    "WatchedFile",
    "WhyNot",
    "Window",
]
