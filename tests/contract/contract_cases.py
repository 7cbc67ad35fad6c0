"""One run over every request of a memory, in an order in which each finds what it needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import requests as r
from appliance.errors import ApplianceError
from appliance.requests import Request, result_type
from appliance.transports.base import Transport
from appliance.types import Stream
from tests.summary_talk import chat

Results = Mapping[str, Any]
"""The results of the cases before, by their names."""

TALK = (
    ("harbour", "assistant", "The ferry to Ischia leaves at nine from the second pier."),
    ("harbour", "user", "I live in Naples, and my sister is called Rosa."),
    ("harbour", "assistant", "Then take the ferry at nine, and meet Rosa on the pier."),
    ("harbour", "user", "What did the harbour master say about the storm?"),
    ("kitchen", "user", "Which flour did we use for the bread?"),
    ("kitchen", "assistant", "I used spelt flour, 500 grams, and no yeast."),
    ("kitchen", "user", "Please always answer in grams."),
)


def talk_lines() -> list[dict[str, Any]]:
    """The lines of the conversations with which a home begins."""
    return [
        {
            "session_id": session,
            "message_id": f"{session}-{number}",
            "role": role,
            "session_title": session.title(),
            "timestamp": f"2026-02-{number + 1:02}T10:00:00Z",
            "content": text,
        }
        for number, (session, role, text) in enumerate(TALK)
    ] + chat("signals", 24)


def write_inputs(folder: Path) -> None:
    """Write the files that the cases name."""
    (folder / "drop").mkdir()
    buoys: list[dict[str, Any]] = [
        {"session_id": "buoys", "message_id": f"b{n}", "role": "user", "content": f"Buoy {n} of the fairway"}
        for n in range(600)
    ]
    buoys[0]["metadata"] = {"attachments": [{"name": "buoy.jpg"}]}
    (folder / "buoy.jpg").write_bytes(b"\xff\xd8 a picture")
    dropped = {"session_id": "dropped", "message_id": "d1", "role": "user", "content": "A jellyfish in the drop"}
    (folder / "buoys.jsonl").write_text("".join(json.dumps(line) + "\n" for line in buoys))
    (folder / "drop" / "chat.jsonl").write_text(json.dumps(dropped) + "\n")


@dataclass(frozen=True)
class Case:
    """A request. ``build`` is given the folder of the inputs and the results of the cases before."""

    name: str
    build: Callable[[Path, Results], Request[Any]]


def case(name: str, build: Callable[[Path, Results], Request[Any]] | Request[Any]) -> Case:
    return Case(name, build if callable(build) else lambda folder, done: build)


CASES: Sequence[Case] = (
    # in
    case("ingest", lambda folder, done: r.IngestRequest(folder / "buoys.jsonl")),
    case("ingest again", lambda folder, done: r.IngestRequest([folder / "buoys.jsonl", folder / "missing.jsonl"])),
    case("ingest a format", lambda folder, done: r.IngestRequest(folder / "buoys.jsonl", format="carrier pigeon")),
    case("embed", r.EmbedRequest()),
    case("jobs", r.RunJobsRequest()),
    case("watched folders", lambda folder, done: r.ListWatchedFoldersRequest([folder / "drop"])),
    case("discover", r.DiscoverRequest(seconds=0.0)),
    case("watched folders nowhere", lambda folder, done: r.ListWatchedFoldersRequest([folder / "nowhere"])),
    case("watching add", r.AddWatchedRequest([])),
    case("watching remove", r.RemoveWatchedRequest(["/nowhere at all"])),
    case("watch", lambda folder, done: r.WatchRequest([folder / "drop"], once=True)),
    # out
    case("search", r.SearchRequest("when does the ferry leave", limit=3, roles=["assistant"])),
    case("search dates", r.SearchRequest("bread", since="2026-01-01", until="2026-03-01")),
    case("search why not", r.SearchRequest("spelt", limit=1, why_not="harbour-0")),
    case("search one source", r.SearchRequest("spelt", sources=["slack"])),
    case("search authors", r.SearchRequest("spelt", authors=["ana", "nobody"])),
    case("search page", r.SearchRequest("the harbour", limit=2, offset=1, sort="time", count=True, neighbours=1)),
    case("search offset", r.SearchRequest("the harbour", offset=-1)),
    case("search mode", r.SearchRequest("spelt", mode="sideways")),  # type: ignore[arg-type]
    case("search limit", r.SearchRequest("spelt", limit=0)),
    case("context", r.ContextRequest("where does my sister live?", budget=600, encoding="cl100k_base")),
    case("context session", r.ContextRequest("and then?", session_id="s1", budget=500, shares={"retrieved": 0.5})),
    case("context small", r.ContextRequest("bread", budget=0)),
    case("context narrowed", r.ContextRequest("bread", budget=400, since="2020-01-01", roles=["user"], tags=["x"])),
    case("message", r.MessageRequest("harbour-2")),
    case("message unknown", r.MessageRequest("m9999")),
    case("variants", r.VariantsRequest("m1")),
    case("versions", r.VersionsRequest("m1")),
    case("export", r.ExportRequest()),
    case("export of nobody", r.ExportRequest(user_id="nobody")),
    case("markdown", r.ExportMarkdownRequest()),
    case("html", r.ExportHtmlRequest()),
    case("export of some", r.ExportRequest(ids=("m2", "s1"))),
    case("markdown of some", r.ExportMarkdownRequest(ids=("harbour-2", "m1"))),
    case("html of nothing", r.ExportHtmlRequest(ids=("m9999",))),
    # sessions
    case("create", r.CreateSessionRequest(title="Trip", external_id="trip", metadata={"a": [1, "ü"]})),
    case("create badly", r.CreateSessionRequest(ttl=-1)),
    case("add", lambda folder, done: r.AddMessageRequest(
        done["create"].id, "user", "The lighthouse opens at seven", external_id="trip-1", author="Ana")),
    case("add badly", lambda folder, done: r.AddMessageRequest(done["create"].id, "owner", "x")),  # type: ignore[arg-type]
    case("session", r.SessionRequest("trip")),
    case("session of another", r.SessionRequest("trip", user_id="eve")),
    case("resume", r.ResumeSessionRequest()),
    case("list", r.ListSessionsRequest(sort="title", limit=2)),
    case("list on", lambda folder, done: r.ListSessionsRequest(sort="title", limit=2, after=done["list"].next)),
    case("list badly", r.ListSessionsRequest(after="no cursor")),
    case("messages", r.SessionMessagesRequest("trip")),
    case("window", lambda folder, done: r.WindowRequest(done["create"].id)),
    case("branch", lambda folder, done: r.BranchRequest(done["create"].id, "trip-1", title="Other trip")),
    case("branch badly", lambda folder, done: r.BranchRequest(done["create"].id, "harbour-1")),
    case("rename", lambda folder, done: r.RenameSessionRequest(done["create"].id, "The trip")),
    case("pin session", lambda folder, done: r.PinSessionRequest(done["create"].id)),
    case("unpin session", lambda folder, done: r.UnpinSessionRequest(done["create"].id)),
    case("ttl", lambda folder, done: r.SetTtlRequest(done["create"].id, 3_600)),
    case("storage scope", lambda folder, done: r.SetStorageScopeRequest(done["create"].id, "none")),
    case("configure", lambda folder, done: r.ConfigureSessionRequest(done["create"].id, {"auto_recall": False})),
    case("session after that", lambda folder, done: r.SessionRequest(done["create"].id)),
    case("clear to see", lambda folder, done: r.ClearSessionRequest(done["create"].id, dry_run=True)),
    case("clear", lambda folder, done: r.ClearSessionRequest(done["create"].id)),
    case("delete", lambda folder, done: r.DeleteSessionRequest(done["create"].id)),
    case("delete again", lambda folder, done: r.DeleteSessionRequest(done["create"].id)),
    # core memory
    case("core of nobody", r.ListBlocksRequest("nobody")),
    case("set block", r.SetBlockRequest("Persona", "Speaks like a harbour master.", limit=200)),
    case("set block as it was", r.SetBlockRequest("persona", "Speaks like a ferryman.", revision=9)),
    case("append to block", r.AppendToBlockRequest("persona", "Is brief.", by="assistant")),
    case("replace in block", r.ReplaceInBlockRequest("persona", "brief", "patient", by="assistant")),
    case("replace what is not there", r.ReplaceInBlockRequest("persona", "rude", "kind")),
    case("block", r.BlockRequest("persona")),
    case("block unknown", r.BlockRequest("boat")),
    case("block badly", r.BlockRequest("two words")),
    case("block history", r.BlockHistoryRequest("persona")),
    case("revert block", r.RevertBlockRequest("persona", 1)),
    case("blocks", r.ListBlocksRequest()),
    case("context with core", r.ContextRequest("where does the ferry leave?", budget=400)),
    case("delete block", r.DeleteBlockRequest("persona")),
    # facts
    case("facts", r.ListFactsRequest(as_of="2026-02-20")),
    case("facts badly", r.ListFactsRequest(kind="gossip")),  # type: ignore[arg-type]
    case("profile", r.ProfileRequest()),
    case("review", r.ReviewFactsRequest()),
    case("add fact", r.AddFactRequest(attribute="boat", value="a dinghy")),
    case("add undoably", r.AddFactUndoablyRequest("I live in Kirkwall")),
    case("undo adding", lambda folder, done: r.UndoFactRequest(done["add undoably"].undo)),
    case("fact", lambda folder, done: r.FactRequest(done["add fact"][0].id)),
    case("fact unknown", r.FactRequest("f999")),
    case("decide", lambda folder, done: r.DecideFactRequest(done["add fact"][0].id, "confirm")),
    case("undo decision", lambda folder, done: r.UndoFactRequest(done["decide"].undo)),
    case("undo no decision", r.UndoFactRequest(b"no decision")),
    case("confirm", lambda folder, done: r.ConfirmFactRequest(done["add fact"][0].id)),
    case("correct", lambda folder, done: r.CorrectFactRequest(done["add fact"][0].id, "a sloop")),
    case("history", r.FactHistoryRequest("me", "boat")),
    case("reject", lambda folder, done: r.RejectFactRequest(done["correct"].id)),
    case("facts pending", r.PendingFactsRequest()),
    # people
    case("add by a person", r.AddMessageRequest("s3", "user", "I bake on Sundays.", author="Rosa")),
    case("add by another", r.AddMessageRequest("s2", "user", "The pier is closed.", author="Rosa Amato")),
    case("people", r.ListPeopleRequest()),
    case("person", r.PersonRequest("Rosa Amato")),
    case("person unknown", r.PersonRequest("p999")),
    case("me unknown", r.MeRequest()),
    case("merge", r.MergePeopleRequest("Rosa", "Rosa Amato")),
    case("rename person", r.RenamePersonRequest("Rosa", "Aunt Rosa")),
    case("split badly", r.SplitPersonRequest("Aunt Rosa", ["Ben"])),
    case("split person", r.SplitPersonRequest("Aunt Rosa", ["Rosa"])),
    case("set me", r.SetMeRequest("Rosa Amato")),
    case("undo", r.UndoPeopleRequest()),
    # summaries
    case("make summaries", r.MakeSummariesRequest("s3")),
    case("run summaries", r.RunSummariesRequest(max_seconds=0)),
    case("summaries", r.ListSummariesRequest(session_id="s3", limit=3)),
    case("summary", lambda folder, done: r.SummaryRequest(done["summaries"][0].id)),
    case("summary unknown", r.SummaryRequest("sum999")),
    case("search summaries", r.SearchSummariesRequest("the harbour crane", limit=2)),
    case("summaries pending", r.PendingSummariesRequest()),
    case("summary state", r.SummaryStateRequest()),
    # pins
    case("pin", r.PinRequest("harbour-1")),
    case("pin unknown", r.PinRequest("m9999")),
    case("pinned", r.PinnedRequest("me")),
    case("importance", r.ImportanceRequest("harbour-1")),
    case("unpin", r.UnpinRequest("harbour-1")),
    case("recalled", r.RecalledRequest(["m1", "m2"])),
    case("feedback", r.FeedbackRequest("harbour-1", "helpful")),
    case("feedback on nothing", r.FeedbackRequest("m9999", "used")),
    case("feedback taken back", r.WithdrawFeedbackRequest("harbour-1", "helpful")),
    case("no feedback to take back", r.WithdrawFeedbackRequest("harbour-1", "used")),
    case("feedback of no kind", r.FeedbackRequest("harbour-1", "good")),  # type: ignore[arg-type]
    # overview
    case("counts", r.CountsRequest()),
    case("counts of a user", r.CountsRequest("nobody")),
    case("outline", r.OutlineRequest("harbour")),
    case("outline unknown", r.OutlineRequest("s99")),
    case("some messages", r.MessagesRequest(["m3", "m1", "m9999"])),
    case("too many messages", r.MessagesRequest(["m1"] * 501)),
    case("matches", r.MatchesRequest("the ferries at nine", ["m3", "m1", "m9999"])),
    case("too many to match", r.MatchesRequest("ferry", ["m1"] * 501)),
    case("choices", r.ChoicesRequest()),
    case("activity", r.ActivityRequest()),
    case("files", r.WatchedFilesRequest(limit=5)),
    case("folders", r.FoldersRequest()),
    case("imported files", r.ImportedFilesRequest(limit=5)),
    case("too many imported files", r.ImportedFilesRequest(limit=5_000)),
    case("file problems", r.FileProblemsRequest(dismissed=True)),
    case("too many file problems", r.FileProblemsRequest(limit=5_000)),
    case("dismiss problems", r.DismissProblemsRequest(["/nowhere"], gone=True)),
    case("watched", r.ListWatchedRequest()),
    case("give up import", r.GiveUpImportRequest("/nowhere")),
    case("unfinished imports", r.UnfinishedImportsRequest(user_id="me")),
    case("imported sessions", lambda folder, done: r.ImportedSessionsRequest(done["imported files"][0].path)),
    case("attachments", r.ListAttachmentsRequest(["image"], limit=5)),
    case("attachments of a kind", r.ListAttachmentsRequest(["smell"])),  # type: ignore[list-item]
    case("files of a message", lambda folder, done: r.MessageAttachmentsRequest(done["attachments"][0].message_id)),
    case("files of no message", r.MessageAttachmentsRequest("m9999")),
    case("attachment", lambda folder, done: r.AttachmentRequest(done["attachments"][0].id)),
    case("attachment unknown", r.AttachmentRequest("m1.7")),
    case("attachment file", lambda folder, done: r.AttachmentFileRequest(done["attachments"][0].id)),
    case("statistics", r.StatisticsRequest(["role", "hour"])),
    case("statistics badly", r.StatisticsRequest(["mood"])),  # type: ignore[list-item]
    case("on this day", r.OnThisDayRequest("2027-02-06")),
    case("on no day", r.OnThisDayRequest("someday")),
    case("start page", r.StartPageRequest(limit=2)),
    case("start page of nothing", r.StartPageRequest(limit=0)),
    case("day", r.DayRequest("2026-02-06", limit=1)),
    case("no day", r.DayRequest("someday")),
    case("timeline", r.TimelineRequest(limit=1)),
    case("timeline narrowed", r.TimelineRequest(limit=1, roles=["assistant"], files=["main.go"], until="2030-01-01")),
    case("tag", lambda folder, done: r.TagSessionRequest(done["list"][0].id, ["#Sea", "to do"])),
    case("tag badly", lambda folder, done: r.TagSessionRequest(done["list"][0].id, [" "])),
    case("tags", r.ListTagsRequest()),
    case("search tags", r.SearchRequest("flour", tags=["sea", "shore"])),
    case("search with pictures", r.SearchRequest("buoy", has=["image", "link"])),
    case("search with smells", r.SearchRequest("buoy", has=["smell"])),  # type: ignore[list-item]
    case("untag", lambda folder, done: r.UntagSessionRequest(done["list"][0].id, ["sea"])),
    # the archive
    case("archive", r.RunArchiveRequest(days=0, importance=1.0)),
    case("archive before the beginning", r.RunArchiveRequest(days=-1)),
    case("archive status", r.ArchiveStatusRequest()),
    case("index status", r.IndexStatusRequest()),
    case("move the index to where it is", r.MoveIndexRequest("embedded")),
    case("claim an embedded index", r.ClaimIndexRequest()),
    case("archived", r.ListArchivedRequest()),
    case("retention", r.SetRetentionRequest(session_id="harbour", days=30)),
    case("restore from the archive", r.RestoreArchivedRequest(everything=True)),
    case("restore nothing", r.RestoreArchivedRequest()),
    # erasure and maintenance
    case("export of everything", r.ExportRequest(state=True)),
    case("preview of nothing", r.PreviewErasureRequest()),
    case("preview", r.PreviewErasureRequest(["kitchen"])),
    case("forget", lambda folder, done: r.ForgetRequest(done["preview"])),
    case("receipts", r.ReceiptsRequest()),
    case("backup", lambda folder, done: r.BackupRequest(folder / "backups")),
    case("known backups", r.KnownBackupsRequest()),
    case("backup among other files", lambda folder, done: r.BackupRequest(folder / "drop")),
    case("secrets scan", r.ScanSecretsRequest()),
    case("secrets list", r.ListSecretsRequest()),
    case("status", r.StatusRequest()),
    case("verify", r.VerifyRequest(deep=True)),
    case("reindex", r.ReindexRequest()),
    case("forecast a reindex", r.ForecastReindexRequest()),
    case("warm up", r.WarmUpRequest()),
    case("metrics", r.MetricsRequest()),
    case("events", r.EventsRequest()),
    case("interactive use", r.InteractiveUseRequest()),
)  # fmt: skip


@dataclass(frozen=True)
class Failed:
    """An error as it reached the caller."""

    kind: type[ApplianceError]
    message: str
    where: str | None
    hint: str | None


def run(transport: Transport, folder: Path) -> dict[str, tuple[Request[Any], Any]]:
    """Send the request of every case; each with its result, the items of its stream, or its error."""
    done: dict[str, Any] = {}
    sent: dict[str, tuple[Request[Any], Any]] = {}
    for one in CASES:
        request = one.build(folder, done)
        try:
            done[one.name] = _read(request, transport.send(request))
        except ApplianceError as error:
            done[one.name] = Failed(type(error), str(error.args[0]), error.where, error.hint)
        sent[one.name] = request, done[one.name]
    return sent


def _read(request: Request[Any], result: Any) -> Any:
    if getattr(result_type(type(request)), "__origin__", None) is not Stream:
        return result
    if isinstance(request, r.EventsRequest):
        result.close()  # it never ends by itself
    items = list(result)
    result.close()
    return items
