"""The values that travel through the program. All are frozen; none knows a store, a file or a model.

In:  a parser yields ``SessionRecord``, ``MessageRecord`` and ``Problem`` values, in the order of the file.
Out: a search yields ``Hit`` values; a context is ``Context``, made of ``Layer`` and ``ContextItem``.

Metadata keys that parsers set when the export says so, and nothing else reads meaning into:
``hidden`` (system or injected context that a person never saw), ``branch`` (off the active path),
``sidechain`` (agents among themselves), ``attachments`` (``[{"name", "text"}]``), ``reactions``,
``tools``, ``files``, ``edited``, ``deleted``.
"""

from __future__ import annotations

from appliance.types.browsed import Activity, Choices, Outline, WatchedFile
from appliance.types.forgotten import Doomed, Proof, Receipt
from appliance.types.found import (
    Context,
    ContextItem,
    Dropped,
    Filters,
    Hit,
    Hits,
    Layer,
    Part,
    Source,
    SummaryHit,
    WhyNot,
)
from appliance.types.incoming import (
    FileReport,
    IngestReport,
    MessageRecord,
    OnFile,
    OnProgress,
    OnRead,
    Problem,
    Record,
    SessionRecord,
)
from appliance.types.kept import (
    Event,
    Fact,
    Importance,
    Message,
    Quote,
    Removed,
    SessionInfo,
    SessionPage,
    Summary,
    Window,
)
from appliance.types.words import (
    LEVELS,
    LOCAL,
    ROLES,
    FactKind,
    FactState,
    Fidelity,
    FileStatus,
    Level,
    Metadata,
    Mode,
    Role,
    Scope,
    StorageScope,
)

__all__ = [
    "LEVELS",
    "LOCAL",
    "ROLES",
    "Activity",
    "Choices",
    "Context",
    "ContextItem",
    "Doomed",
    "Dropped",
    "Event",
    "Fact",
    "FactKind",
    "FactState",
    "Fidelity",
    "FileReport",
    "FileStatus",
    "Filters",
    "Hit",
    "Hits",
    "Importance",
    "IngestReport",
    "Layer",
    "Level",
    "Message",
    "MessageRecord",
    "Metadata",
    "Mode",
    "OnFile",
    "OnProgress",
    "OnRead",
    "Outline",
    "Part",
    "Problem",
    "Proof",
    "Quote",
    "Receipt",
    "Record",
    "Removed",
    "Role",
    "Scope",
    "SessionInfo",
    "SessionPage",
    "SessionRecord",
    "Source",
    "StorageScope",
    "Summary",
    "SummaryHit",
    "WatchedFile",
    "WhyNot",
    "Window",
]
