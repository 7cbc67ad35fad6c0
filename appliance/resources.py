"""What a memory gives out: its sessions, facts, summaries and the like, each with its verbs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from appliance import requests as r
from appliance.errors import ApplianceError
from appliance.paths import absolute_path
from appliance.requests import is_private_id
from appliance.types import (
    ArchiveReport,
    BlockEditor,
    Context,
    ErasurePreview,
    IndexStatus,
    OnEmbedded,
    OnProgress,
    Receipt,
    SecretScan,
    SessionInfo,
)
from appliance.verbs import OpeningVerb, SessionVerb, Verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from appliance.transports.base import Transport


class Session:
    """A conversation by its id ("s12"). A handle, not a copy: what it shows is read when it is asked for."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    add = SessionVerb(lambda: r.AddMessageRequest)
    window = SessionVerb(lambda: r.WindowRequest)
    rename = SessionVerb(lambda: r.RenameSessionRequest)
    pin = SessionVerb(lambda: r.PinSessionRequest)
    unpin = SessionVerb(lambda: r.UnpinSessionRequest)
    set_ttl = SessionVerb(lambda: r.SetTtlRequest)
    set_storage_scope = SessionVerb(lambda: r.SetStorageScopeRequest)
    configure = SessionVerb(lambda: r.ConfigureSessionRequest)
    clear = SessionVerb(lambda: r.ClearSessionRequest)
    delete = SessionVerb(lambda: r.DeleteSessionRequest)
    messages = SessionVerb(lambda: r.SessionMessagesRequest)
    tag = SessionVerb(lambda: r.TagSessionRequest)
    untag = SessionVerb(lambda: r.UntagSessionRequest)

    @property
    def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now.

        Raises:
            NotFound: The session was deleted, or has expired.
        """
        return self._transport.send(r.SessionRequest(self.id))

    @property
    def is_private(self) -> bool:
        """Whether the session is kept in this process's memory only."""
        return is_private_id(self.id)

    @property
    def title(self) -> str | None:
        """The title, as it is now."""
        return self.info.title

    @property
    def auto_recall(self) -> bool:
        """Whether memories of other sessions come into its contexts by themselves."""
        return bool(self.info.options.get("auto_recall", True))

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        encoding: str | None = None,
        agent_id: str | None = None,
        profile: str | None = None,
        preset: str | None = None,
        shares: Mapping[str, float] | None = None,
        auto_recall: bool | None = None,
        recall_limit: int | None = None,
        min_score: float | None = None,
    ) -> Context:
        """Build what an assistant in this session is given for ``query``, as ``Appliance.context`` does."""
        return self._transport.send(
            r.ContextRequest(
                query, session_id=self.id, budget=budget, encoding=encoding, agent_id=agent_id, profile=profile,
                preset=preset, shares=shares, auto_recall=auto_recall, recall_limit=recall_limit, min_score=min_score,
            )
        )  # fmt: skip

    def branch(self, at: str | None = None, *, title: str | None = None, external_id: str | None = None) -> Session:
        """Begin a session with the same past, up to and including the message ``at`` (by default the last one).

        Raises:
            UsageError: There is no message yet, ``at`` is of another session, or the external id is taken.
            NotFound: There is no such message.
        """
        request = r.BranchRequest(self.id, at, title=title, external_id=external_id)
        return Session(self._transport, self._transport.send(request).id)

    def __repr__(self) -> str:
        try:
            info = self.info
        except ApplianceError as error:
            return f"Session({self.id!r}, {type(error).__name__})"
        return f"Session({self.id!r}, user_id={info.user_id!r}, format={info.format!r}, messages={info.messages})"


class _Resource:
    """Some verbs of a memory, under a name of their own."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        verbs = (name for name in dir(type(self)) if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(verbs)})"


class Sessions(_Resource):
    """The sessions of a memory."""

    create = OpeningVerb(lambda: r.CreateSessionRequest, Session)
    resume = OpeningVerb(lambda: r.ResumeSessionRequest, Session)
    info = Verb(lambda: r.SessionRequest)
    list = Verb(lambda: r.ListSessionsRequest)
    messages = Verb(lambda: r.SessionMessagesRequest)
    tags = Verb(lambda: r.ListTagsRequest)

    def get(self, id: str, *, user_id: str | None = None) -> Session:
        """Return the handle of the session with this id or external id.

        Args:
            id: The session's id ("s12") or external id.
            user_id: Only if it is this user's.

        Raises:
            NotFound: There is none.
        """
        return Session(self._transport, self._transport.send(r.SessionRequest(id, user_id=user_id)).id)


class Core(_Resource):
    """Core memory: short texts (blocks) that are in every context, and that the person and the assistant edit."""

    list = Verb(lambda: r.ListBlocksRequest)
    get = Verb(lambda: r.BlockRequest)
    set = Verb(lambda: r.SetBlockRequest)
    append = Verb(lambda: r.AppendToBlockRequest)
    replace = Verb(lambda: r.ReplaceInBlockRequest)
    history = Verb(lambda: r.BlockHistoryRequest)
    revert = Verb(lambda: r.RevertBlockRequest)
    delete = Verb(lambda: r.DeleteBlockRequest)


class Facts(_Resource):
    """What is known of the person, as it changed. Ids are "f7"."""

    list = Verb(lambda: r.ListFactsRequest)
    profile = Verb(lambda: r.ProfileRequest)
    review = Verb(lambda: r.ReviewFactsRequest)
    get = Verb(lambda: r.FactRequest)
    history = Verb(lambda: r.FactHistoryRequest)
    confirm = Verb(lambda: r.ConfirmFactRequest)
    correct = Verb(lambda: r.CorrectFactRequest)
    reject = Verb(lambda: r.RejectFactRequest)
    decide = Verb(lambda: r.DecideFactRequest)
    undo = Verb(lambda: r.UndoFactRequest)
    add = Verb(lambda: r.AddFactRequest)
    add_undoably = Verb(lambda: r.AddFactUndoablyRequest)
    pending = Verb(lambda: r.PendingFactsRequest)


class People(_Resource):
    """The people who wrote the messages, across sources. Ids are "p3"."""

    list = Verb(lambda: r.ListPeopleRequest)
    get = Verb(lambda: r.PersonRequest)
    merge = Verb(lambda: r.MergePeopleRequest)
    split = Verb(lambda: r.SplitPersonRequest)
    rename = Verb(lambda: r.RenamePersonRequest)
    me = Verb(lambda: r.MeRequest)
    set_me = Verb(lambda: r.SetMeRequest)
    undo = Verb(lambda: r.UndoPeopleRequest)


class Summaries(_Resource):
    """What was said in short, at four levels: exchange, topic, session and procedure. Ids are "sum7"."""

    list = Verb(lambda: r.ListSummariesRequest)
    get = Verb(lambda: r.SummaryRequest)
    search = Verb(lambda: r.SearchSummariesRequest)
    pending = Verb(lambda: r.PendingSummariesRequest)
    state = Verb(lambda: r.SummaryStateRequest)
    make = Verb(lambda: r.MakeSummariesRequest)
    run_pending = Verb(lambda: r.RunSummariesRequest)


class Pins(_Resource):
    """What a person pins, how important messages are, and what they were worth."""

    pin = Verb(lambda: r.PinRequest)
    unpin = Verb(lambda: r.UnpinRequest)
    pinned = Verb(lambda: r.PinnedRequest)
    importance = Verb(lambda: r.ImportanceRequest)
    note_recalled = Verb(lambda: r.RecalledRequest)
    feedback = Verb(lambda: r.FeedbackRequest)
    withdraw_feedback = Verb(lambda: r.WithdrawFeedbackRequest)


class Overview(_Resource):
    """What is there, without searching for it."""

    counts = Verb(lambda: r.CountsRequest)
    outline = Verb(lambda: r.OutlineRequest)
    messages = Verb(lambda: r.MessagesRequest)
    matches = Verb(lambda: r.MatchesRequest)
    filter_choices = Verb(lambda: r.ChoicesRequest)
    activity = Verb(lambda: r.ActivityRequest)
    files = Verb(lambda: r.WatchedFilesRequest)
    imported_files = Verb(lambda: r.ImportedFilesRequest)
    imported_sessions = Verb(lambda: r.ImportedSessionsRequest)
    file_problems = Verb(lambda: r.FileProblemsRequest)
    dismiss_problems = Verb(lambda: r.DismissProblemsRequest)
    unfinished_imports = Verb(lambda: r.UnfinishedImportsRequest)
    give_up_import = Verb(lambda: r.GiveUpImportRequest)
    folders = Verb(lambda: r.FoldersRequest)
    start_page = Verb(lambda: r.StartPageRequest)


class Watching(_Resource):
    """The folders and files of the setting ``watch.folders``."""

    list = Verb(lambda: r.ListWatchedRequest)
    add = Verb(lambda: r.AddWatchedRequest)
    remove = Verb(lambda: r.RemoveWatchedRequest)


class Attachments(_Resource):
    """The files that messages carry. Ids are "m345.1"."""

    list = Verb(lambda: r.ListAttachmentsRequest)
    of_message = Verb(lambda: r.MessageAttachmentsRequest)
    get = Verb(lambda: r.AttachmentRequest)
    file = Verb(lambda: r.AttachmentFileRequest)


class Archive(_Resource):
    """The archive: what is old and unimportant, compressed, out of the way and still found."""

    status = Verb(lambda: r.ArchiveStatusRequest)
    list = Verb(lambda: r.ListArchivedRequest)
    restore = Verb(lambda: r.RestoreArchivedRequest)
    set_retention = Verb(lambda: r.SetRetentionRequest)

    def run(
        self,
        *,
        dry_run: bool = False,
        days: int | None = None,
        importance: float | None = None,
        progress: OnEmbedded = lambda done, pending: None,
    ) -> ArchiveReport:
        """Archive what is due; see ``requests.RunArchiveRequest``. ``progress`` is called with the messages that are
        archived and those that are left."""
        request = r.RunArchiveRequest(dry_run=dry_run, days=days, importance=importance)
        return self._transport.send(request, step_progress(progress))


class Index(_Resource):
    """Where the index is: in the home, or on a Qdrant server."""

    status = Verb(lambda: r.IndexStatusRequest)
    claim = Verb(lambda: r.ClaimIndexRequest)

    def move(self, target: str, *, progress: OnEmbedded = lambda done, pending: None) -> IndexStatus:
        """Move the index; see ``requests.MoveIndexRequest``. ``progress`` is called with the points that are copied and
        those that are left."""
        return self._transport.send(r.MoveIndexRequest(target), step_progress(progress))


class Erasure(_Resource):
    """Forgetting for good: look first (``preview``), then ``forget``."""

    receipts = Verb(lambda: r.ReceiptsRequest)

    def preview(
        self,
        *references: str,
        source: str | None = None,
        query: str | None = None,
        title: str | None = None,
        author: str | None = None,
        author_name: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        everything: bool = False,
        with_echoes: bool = False,
        echo_ids: Sequence[str] = (),
        by: BlockEditor = "person",
        user_id: str | None = None,
        namespace: str = "",
    ) -> ErasurePreview:
        """Show what ``forget`` would erase of a user's memory; see ``requests.PreviewErasureRequest``."""
        if source is not None and _is_path(source):
            source = str(absolute_path(os.path.expanduser(source)))  # sources are named so
        return self._transport.send(
            r.PreviewErasureRequest(
                references, source=source, query=query, title=title, author=author, author_name=author_name,
                since=since, until=until, everything=everything, with_echoes=with_echoes, echo_ids=echo_ids,
                by=by, user_id=user_id, namespace=namespace,
            )
        )  # fmt: skip

    def forget(
        self,
        preview: ErasurePreview,
        progress: OnEmbedded = lambda done, pending: None,
        *,
        on_wait: Callable[[str], None] = lambda waits_for: None,
    ) -> Receipt:
        """Erase for good what a preview found; see ``requests.ForgetRequest``. ``progress`` is called with the chunks
        that are done and those that are left, ``on_wait`` with what it waits for, if that takes longer than a
        second."""
        embedded = step_progress(progress)
        return self._transport.send(
            r.ForgetRequest(preview),
            lambda step: on_wait(step.waits_for) if step.stage == "waiting" else embedded(step),
        )


def _is_path(source: str) -> bool:
    """Whether what names a source is a path, and not a format."""
    if os.sep in source or not os.path.exists(source):
        return os.sep in source
    from appliance.formats import formats

    return source not in formats()


class Secrets(_Resource):
    """Keys, tokens, card numbers and passwords in messages: where they are, without their words."""

    list = Verb(lambda: r.ListSecretsRequest)

    def scan(self, *, progress: OnEmbedded = lambda done, pending: None) -> SecretScan:
        """Look for secrets in all stored messages; see ``requests.ScanSecretsRequest``. ``progress`` is called with the
        messages that are read and those that are left."""
        return self._transport.send(r.ScanSecretsRequest(), step_progress(progress))


def step_progress(progress: OnEmbedded) -> OnProgress:
    """Return what calls ``progress`` with what is done and what is left."""
    return lambda step: progress(step.done, step.pending) if step.stage != "waiting" else None
