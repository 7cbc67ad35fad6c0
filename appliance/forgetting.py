"""Forgetting, from end to end: out of the truth first, then out of every file, then the proof.

``Forgetting.forget`` reads top to bottom. When its first step has ended the messages are gone for everybody who asks;
what comes after takes their traces out of the files, and is made up for by ``finish`` when it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable

from appliance.memory import forget as forgetting
from appliance.paths import Home, sizes
from appliance.serving import Serving
from appliance.store.database import Database
from appliance.types import Doomed, Event, OnProgress, Proof, Receipt, Scope
from appliance.upkeep import GoesOn


class Forgetting:
    """What a memory is to forget: look first (``preview``), then ``forget``."""

    def __init__(
        self, home: Home, database: Database, serving: Serving, owner: str, tell: Callable[[Event], None]
    ) -> None:
        """``owner`` is the user whose memory is meant when a call names none, ``tell`` is told of each forgetting."""
        self._home = home
        self._database = database
        self._serving = serving
        self._owner = owner
        self._tell = tell

    def preview(
        self,
        *references: str,
        source: str | None = None,
        query: str | None = None,
        everything: bool = False,
        user_id: str | None = None,
        namespace: str = "",
    ) -> Doomed:
        """What ``forget`` would erase of a user's memory: messages and sessions of the given ids, those from a
        ``source`` (a format or a file's path), those that hold ``query`` as it stands; together they narrow each
        other. ``everything`` of the user where nothing else is named. Nothing is changed.

        Raises:
            UsageError: nothing is named, or words too frequent to find.
            NotFound: no such message or session of this user, or nothing from such a source.
        """
        return forgetting.select(
            self._database.read(),
            Scope(self._owner if user_id is None else user_id, namespace),
            references=references,
            source=source,
            query=query,
            everything=everything,
        )

    def forget(self, doomed: Doomed, progress: OnProgress = lambda done, pending: None) -> Receipt:
        """Erase, for good, what ``preview`` found: from the database, its log and its free pages, the full text, the
        vectors and the index; then look for its words in every file of the home. The same exports read again do not
        bring it back, unless ``ingest(again=True)``."""
        texts = forgetting.pieces(self._database.read(), doomed.messages, self._size())
        key = forgetting.erase(self._database, doomed)
        counts = {"messages": len(doomed.messages), "sessions": len(doomed.sessions)}
        self._tell(Event("forgotten", "", {**counts, "receipt": key}))
        vectors = self._serving.expunge(progress)
        proof = forgetting.search(self._database.read(), self._home.root, self._home.inbox, texts)
        forgetting.close(self._database, vectors, {key: proof})
        return forgetting.receipt(self._database.read(), key)

    def receipts(self) -> list[Receipt]:
        """What was forgotten so far, the latest first: counts and proofs, no words."""
        return forgetting.receipts(self._database.read())

    def finish(self, goes_on: GoesOn) -> int:
        """Take the traces out of the files that an interrupted ``forget`` left there; 1 if there was one."""
        if not forgetting.is_open(self._database.read()):
            return 0
        vectors = self._serving.expunge(lambda done, pending: None)
        no_proofs: dict[int, Proof] = {}
        forgetting.close(self._database, vectors, no_proofs)
        return 1

    def _size(self) -> int:
        return sum(one.st_size for one in sizes(self._home.root))
