"""The verbs of a memory, each declared once: a frozen request that names its result.

A client builds a request and hands it to a transport; a transport runs it on an engine in this process or sends it to
the daemon. HTTP, MCP and the command line build the same requests. A request's docstring is the documentation of the
verb, and its fields are the verb's arguments: ``client.Appliance`` takes both from here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appliance.requests.archive import (
        ArchiveStatusRequest,
        ListArchivedRequest,
        RestoreArchivedRequest,
        RunArchiveRequest,
        SetRetentionRequest,
    )
    from appliance.requests.backups import BackupRequest, KnownBackupsRequest
    from appliance.requests.base import PRIVATE_ID_BYTES, PRIVATE_PREFIX, Request, is_private_id, result_type
    from appliance.requests.core import (
        AppendToBlockRequest,
        BlockHistoryRequest,
        BlockRequest,
        DeleteBlockRequest,
        ListBlocksRequest,
        ReplaceInBlockRequest,
        RevertBlockRequest,
        SetBlockRequest,
    )
    from appliance.requests.facts import (
        AddFactRequest,
        AddFactUndoablyRequest,
        ConfirmFactRequest,
        CorrectFactRequest,
        DecideFactRequest,
        FactHistoryRequest,
        FactRequest,
        ListFactsRequest,
        PendingFactsRequest,
        ProfileRequest,
        RejectFactRequest,
        ReviewFactsRequest,
        UndoFactRequest,
    )
    from appliance.requests.index import ClaimIndexRequest, IndexStatusRequest, MoveIndexRequest
    from appliance.requests.ingestion import (
        AddWatchedRequest,
        DiscoverRequest,
        EmbedRequest,
        ExportHtmlRequest,
        ExportMarkdownRequest,
        ExportRequest,
        IngestRequest,
        ListWatchedFoldersRequest,
        ListWatchedRequest,
        RemoveWatchedRequest,
        RunJobsRequest,
        WatchRequest,
    )
    from appliance.requests.maintenance import (
        ActivityRequest,
        ChoicesRequest,
        CountsRequest,
        EventsRequest,
        FeedbackRequest,
        FoldersRequest,
        ForecastReindexRequest,
        ForgetRequest,
        ImportanceRequest,
        InteractiveUseRequest,
        MatchesRequest,
        MessagesRequest,
        MetricsRequest,
        OutlineRequest,
        PinnedRequest,
        PinRequest,
        PreviewErasureRequest,
        RecalledRequest,
        ReceiptsRequest,
        ReindexRequest,
        StatusRequest,
        UnpinRequest,
        VerifyRequest,
        WarmUpRequest,
        WatchedFilesRequest,
        WithdrawFeedbackRequest,
    )
    from appliance.requests.overviews import (
        AttachmentFileRequest,
        AttachmentRequest,
        DayRequest,
        DismissProblemsRequest,
        FileProblemsRequest,
        GiveUpImportRequest,
        ImportedFilesRequest,
        ImportedSessionsRequest,
        ListAttachmentsRequest,
        ListTagsRequest,
        MessageAttachmentsRequest,
        OnThisDayRequest,
        StartPageRequest,
        StatisticsRequest,
        TagSessionRequest,
        TimelineRequest,
        UnfinishedImportsRequest,
        UntagSessionRequest,
    )
    from appliance.requests.people import (
        ListPeopleRequest,
        MeRequest,
        MergePeopleRequest,
        PersonRequest,
        RenamePersonRequest,
        SetMeRequest,
        SplitPersonRequest,
        UndoPeopleRequest,
    )
    from appliance.requests.searching import (
        ContextRequest,
        MessageRequest,
        SearchRequest,
        VariantsRequest,
        VersionsRequest,
    )
    from appliance.requests.secrets import ListSecretsRequest, ScanSecretsRequest
    from appliance.requests.sessions import (
        AddMessageRequest,
        BranchRequest,
        ClearSessionRequest,
        ConfigureSessionRequest,
        CreateSessionRequest,
        DeleteSessionRequest,
        ListSessionsRequest,
        PinSessionRequest,
        RenameSessionRequest,
        ResumeSessionRequest,
        SessionMessagesRequest,
        SessionRequest,
        SetStorageScopeRequest,
        SetTtlRequest,
        UnpinSessionRequest,
        WindowRequest,
    )
    from appliance.requests.summaries import (
        ListSummariesRequest,
        MakeSummariesRequest,
        PendingSummariesRequest,
        RunSummariesRequest,
        SearchSummariesRequest,
        SummaryRequest,
        SummaryStateRequest,
    )

_MODULE_BY_NAME = {
    name: module
    for module, names in {
        "base": "PRIVATE_ID_BYTES PRIVATE_PREFIX Request is_private_id result_type",
        "searching": "ContextRequest MessageRequest SearchRequest VariantsRequest VersionsRequest",
        "maintenance": (
            "ActivityRequest ChoicesRequest CountsRequest EventsRequest FeedbackRequest FoldersRequest "
            "ForecastReindexRequest ForgetRequest ImportanceRequest InteractiveUseRequest MatchesRequest "
            "MessagesRequest MetricsRequest OutlineRequest PinnedRequest PinRequest PreviewErasureRequest "
            "RecalledRequest ReceiptsRequest ReindexRequest StatusRequest UnpinRequest VerifyRequest WarmUpRequest "
            "WatchedFilesRequest WithdrawFeedbackRequest"
        ),
        "sessions": (
            "AddMessageRequest BranchRequest ClearSessionRequest ConfigureSessionRequest CreateSessionRequest "
            "DeleteSessionRequest ListSessionsRequest PinSessionRequest RenameSessionRequest "
            "ResumeSessionRequest SessionMessagesRequest SessionRequest SetStorageScopeRequest SetTtlRequest "
            "UnpinSessionRequest WindowRequest"
        ),
        "archive": (
            "ArchiveStatusRequest ListArchivedRequest RestoreArchivedRequest RunArchiveRequest SetRetentionRequest"
        ),
        "backups": "BackupRequest KnownBackupsRequest",
        "core": (
            "AppendToBlockRequest BlockHistoryRequest BlockRequest DeleteBlockRequest ListBlocksRequest "
            "ReplaceInBlockRequest RevertBlockRequest SetBlockRequest"
        ),
        "facts": (
            "AddFactRequest AddFactUndoablyRequest ConfirmFactRequest CorrectFactRequest DecideFactRequest "
            "FactHistoryRequest FactRequest ListFactsRequest PendingFactsRequest ProfileRequest RejectFactRequest "
            "ReviewFactsRequest UndoFactRequest"
        ),
        "index": "ClaimIndexRequest IndexStatusRequest MoveIndexRequest",
        "ingestion": (
            "AddWatchedRequest DiscoverRequest EmbedRequest ExportHtmlRequest ExportMarkdownRequest "
            "ExportRequest IngestRequest ListWatchedFoldersRequest ListWatchedRequest RemoveWatchedRequest "
            "RunJobsRequest WatchRequest"
        ),
        "overviews": (
            "AttachmentFileRequest AttachmentRequest DayRequest DismissProblemsRequest FileProblemsRequest "
            "GiveUpImportRequest ImportedFilesRequest ImportedSessionsRequest "
            "ListAttachmentsRequest ListTagsRequest MessageAttachmentsRequest OnThisDayRequest "
            "StartPageRequest StatisticsRequest TagSessionRequest TimelineRequest "
            "UnfinishedImportsRequest UntagSessionRequest"
        ),
        "people": (
            "ListPeopleRequest MeRequest MergePeopleRequest PersonRequest RenamePersonRequest SetMeRequest "
            "SplitPersonRequest UndoPeopleRequest"
        ),
        "secrets": "ListSecretsRequest ScanSecretsRequest",
        "summaries": (
            "ListSummariesRequest MakeSummariesRequest PendingSummariesRequest RunSummariesRequest "
            "SearchSummariesRequest SummaryRequest SummaryStateRequest"
        ),
    }.items()
    for name in names.split()
}
"""The module of each name, which is loaded when the name is first used: to make all of these classes takes 50 ms."""

__all__ = [
    "PRIVATE_ID_BYTES",
    "PRIVATE_PREFIX",
    "ActivityRequest",
    "AddFactRequest",
    "AddFactUndoablyRequest",
    "AddMessageRequest",
    "AddWatchedRequest",
    "AppendToBlockRequest",
    "ArchiveStatusRequest",
    "AttachmentFileRequest",
    "AttachmentRequest",
    "BackupRequest",
    "BlockHistoryRequest",
    "BlockRequest",
    "BranchRequest",
    "ChoicesRequest",
    "ClaimIndexRequest",
    "ClearSessionRequest",
    "ConfigureSessionRequest",
    "ConfirmFactRequest",
    "ContextRequest",
    "CorrectFactRequest",
    "CountsRequest",
    "CreateSessionRequest",
    "DayRequest",
    "DecideFactRequest",
    "DeleteBlockRequest",
    "DeleteSessionRequest",
    "DiscoverRequest",
    "DismissProblemsRequest",
    "EmbedRequest",
    "EventsRequest",
    "ExportHtmlRequest",
    "ExportMarkdownRequest",
    "ExportRequest",
    "FactHistoryRequest",
    "FactRequest",
    "FeedbackRequest",
    "FileProblemsRequest",
    "FoldersRequest",
    "ForecastReindexRequest",
    "ForgetRequest",
    "GiveUpImportRequest",
    "ImportanceRequest",
    "ImportedFilesRequest",
    "ImportedSessionsRequest",
    "IndexStatusRequest",
    "IngestRequest",
    "InteractiveUseRequest",
    "KnownBackupsRequest",
    "ListArchivedRequest",
    "ListAttachmentsRequest",
    "ListBlocksRequest",
    "ListFactsRequest",
    "ListPeopleRequest",
    "ListSecretsRequest",
    "ListSessionsRequest",
    "ListSummariesRequest",
    "ListTagsRequest",
    "ListWatchedFoldersRequest",
    "ListWatchedRequest",
    "MakeSummariesRequest",
    "MatchesRequest",
    "MeRequest",
    "MergePeopleRequest",
    "MessageAttachmentsRequest",
    "MessageRequest",
    "MessagesRequest",
    "MetricsRequest",
    "MoveIndexRequest",
    "OnThisDayRequest",
    "OutlineRequest",
    "PendingFactsRequest",
    "PendingSummariesRequest",
    "PersonRequest",
    "PinRequest",
    "PinSessionRequest",
    "PinnedRequest",
    "PreviewErasureRequest",
    "ProfileRequest",
    "RecalledRequest",
    "ReceiptsRequest",
    "ReindexRequest",
    "RejectFactRequest",
    "RemoveWatchedRequest",
    "RenamePersonRequest",
    "RenameSessionRequest",
    "ReplaceInBlockRequest",
    "Request",
    "RestoreArchivedRequest",
    "ResumeSessionRequest",
    "RevertBlockRequest",
    "ReviewFactsRequest",
    "RunArchiveRequest",
    "RunJobsRequest",
    "RunSummariesRequest",
    "ScanSecretsRequest",
    "SearchRequest",
    "SearchSummariesRequest",
    "SessionMessagesRequest",
    "SessionRequest",
    "SetBlockRequest",
    "SetMeRequest",
    "SetRetentionRequest",
    "SetStorageScopeRequest",
    "SetTtlRequest",
    "SplitPersonRequest",
    "StartPageRequest",
    "StatisticsRequest",
    "StatusRequest",
    "SummaryRequest",
    "SummaryStateRequest",
    "TagSessionRequest",
    "TimelineRequest",
    "UndoFactRequest",
    "UndoPeopleRequest",
    "UnfinishedImportsRequest",
    "UnpinRequest",
    "UnpinSessionRequest",
    "UntagSessionRequest",
    "VariantsRequest",
    "VerifyRequest",
    "VersionsRequest",
    "WarmUpRequest",
    "WatchRequest",
    "WatchedFilesRequest",
    "WindowRequest",
    "WithdrawFeedbackRequest",
    "is_private_id",
    "result_type",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
    return value


def load() -> None:
    """Load every request now, so that none of a daemon waits for its module."""
    for module in dict.fromkeys(_MODULE_BY_NAME.values()):
        import_module(f"{__name__}.{module}")


@cache
def request_named(verb: str) -> type[Request[Any]]:
    """The request of a verb, by its ``name``. Loads no more modules than it has to look into.

    Raises:
        KeyError: There is no such verb.
    """
    from appliance.requests.base import Request

    for module in dict.fromkeys(_MODULE_BY_NAME.values()):
        for kind in vars(import_module(f"{__name__}.{module}")).values():
            if isinstance(kind, type) and issubclass(kind, Request) and getattr(kind, "name", None) == verb:
                return kind
    raise KeyError(verb)
