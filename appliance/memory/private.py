"""A conversation that is kept in memory only: nothing of it reaches the disk, and it is gone with the program."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from appliance import moments
from appliance.errors import NotFound, UsageError
from appliance.memory.session import AUTO_RECALL, PrivateHost, check_turn, one_line, options_text
from appliance.store import naming
from appliance.types import Context, Message, Removed, Role, Scope, SessionInfo, Window

if TYPE_CHECKING:
    from collections.abc import MutableMapping

PRIVATE = "private"
"""The format name of these conversations, which no stored one has."""


class PrivateSession:
    """A conversation with the verbs of a ``Session`` that stores nothing. Its contexts know the long-term memory
    of its user, which learns nothing from it. Ids begin with "private-"."""

    def __init__(
        self,
        host: PrivateHost,
        scope: Scope,
        title: str | None,
        metadata: Mapping[str, Any],
        options: Mapping[str, Any],
        others: MutableMapping[str, PrivateSession],
    ) -> None:
        """``others`` are all that there are, from which a deleted one goes."""
        self.id = f"private-{secrets.token_hex(8)}"
        self._host = host
        self._others = others
        self._turns: list[Message] = []
        self._added = 0
        self._info: SessionInfo | None = SessionInfo(
            id=self.id,
            external_id=self.id,
            title=title,
            user_id=scope.user_id,
            namespace=scope.namespace,
            agent_id=scope.agent_id or "",
            format=PRIVATE,
            messages=0,
            first_at=None,
            last_at=None,
            created_at=moments.iso(datetime.now(UTC)),
            metadata=metadata,
            storage_scope="none",
            options=options,
            agents=(scope.agent_id,) if scope.agent_id else (),
        )

    @property
    def info(self) -> SessionInfo:
        """Title, scope, counts and times, as they are now.

        Raises:
            NotFound: it was deleted.
        """
        if self._info is None:
            raise NotFound(f"there is no session {self.id!r} any more")
        times = [turn.timestamp for turn in self._turns] or [None]
        return replace(self._info, messages=len(self._turns), first_at=times[0], last_at=times[-1])

    @property
    def title(self) -> str | None:
        return self.info.title

    @property
    def auto_recall(self) -> bool:
        """Whether memories of other conversations come into its contexts by themselves."""
        return bool(self.info.options.get(AUTO_RECALL, True))

    def add(
        self,
        role: Role,
        text: str,
        *,
        author: str | None = None,
        external_id: str | None = None,
        timestamp: datetime | None = None,
        reply_to: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
    ) -> Message:
        """Keep a turn in memory. An ``external_id`` that it has already makes this an edit.

        Raises:
            UsageError: the role is unknown, or the text is empty.
        """
        check_turn(role, text, timestamp, metadata)
        info = self.info
        self._added += 1
        turn = Message(
            id=f"{self.id}-{self._added}",
            session_id=self.id,
            external_id=external_id or secrets.token_hex(8),
            role=role,
            author=author,
            timestamp=moments.iso(timestamp or datetime.now(UTC)),
            text=text,
            reply_to=reply_to,
            metadata={**(metadata or {}), **({"agent": agent_id} if agent_id else {})},
        )
        places = {each.external_id: place for place, each in enumerate(self._turns)}
        place = places.get(turn.external_id)
        if place is None:
            self._turns.append(turn)
        else:
            old = self._turns[place]
            turn = replace(turn, id=old.id, timestamp=turn.timestamp if timestamp else old.timestamp)
            self._turns[place] = turn
        if info.title is None and role == "user":
            found = naming.title(text)
            self._info = replace(info, title=found, title_found=found is not None)
        if agent_id and agent_id not in info.agents:
            self._info = replace(self._info or info, agents=(*info.agents, agent_id))
        return turn

    def messages(self) -> list[Message]:
        """All turns, in order."""
        _ = self.info
        return [*self._turns]

    def window(self) -> Window:
        """Its working memory, as a stored session has it, made anew each time."""
        options, talk = (
            self.info.options,
            [turn for turn in self._turns if turn.role in ("user", "assistant")],
        )
        return self._host.making.of_messages(self.id, talk, options)

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
    ) -> Context:
        """What an assistant in this conversation would be given for ``query``: the memories of its user, and its
        own turns; see Appliance.context."""
        info = self.info
        return self._host.context(
            query,
            user_id=info.user_id,
            namespace=info.namespace,
            budget=budget,
            encoding=encoding,
            agent_id=agent_id,
            profile=profile,
            preset=preset,
            shares=shares,
            auto_recall=self.auto_recall if auto_recall is None else auto_recall,
            window=self.window(),
            counted=False,
        )

    def branch(self, at: str | None = None, *, title: str | None = None) -> PrivateSession:
        """A private conversation with the same turns up to and including ``at`` (all without), and a future of
        its own.

        Raises:
            UsageError: there is no turn yet, or ``at`` names none of them.
        """
        info = self.info
        ids = [each for turn in self._turns for each in (turn.id, turn.external_id)]
        if not ids or (at is not None and at not in ids):
            raise UsageError(
                f"message {at!r} is not of {self.id}" if ids else f"{self.id} has no message yet"
            )
        scope = Scope(info.user_id, info.namespace, info.agent_id)
        title = one_line(title) if title is not None else info.title
        branch = PrivateSession(self._host, scope, title, info.metadata, info.options, self._others)
        end = len(self._turns) if at is None else ids.index(at) // 2 + 1
        branch._turns = self._turns[:end]
        self._others[branch.id] = branch
        return branch

    def rename(self, title: str) -> None:
        """Give it another title."""
        self._info = replace(self.info, title=one_line(title), title_found=False)

    def pin(self) -> None:
        """
        Raises:
            UsageError: always: it can't be kept.
        """
        raise _not_kept(self.id)

    def unpin(self) -> None:
        """Nothing to do: it is never pinned."""

    def set_ttl(self, seconds: int | None) -> None:
        """
        Raises:
            UsageError: always: it stays as long as the program.
        """
        raise _not_kept(self.id)

    def set_storage_scope(self, scope: str) -> None:
        """
        Raises:
            UsageError: another one than "none" is named: it gives nothing.
        """
        if scope != "none":
            raise _not_kept(self.id)

    def configure(self, options: Mapping[str, Any]) -> None:
        """Set some of its options, and leave the others; None takes one away.

        Raises:
            UsageError: an option has a value that can't be.
        """
        merged = {
            name: value for name, value in {**self.info.options, **options}.items() if value is not None
        }
        options_text(self._host.making, merged)
        self._info = replace(self.info, options=merged)

    def clear(self, *, dry_run: bool = False) -> Removed:
        """Forget all its turns; a title that was found in them too."""
        info = self.info
        removed = Removed(len(self._turns))
        if not dry_run:
            self._turns.clear()
            if info.title_found:
                self._info = replace(info, title=None, title_found=False)
        return removed

    def delete(self, *, dry_run: bool = False) -> Removed:
        """Forget it."""
        removed = self.clear(dry_run=dry_run)
        if not dry_run:
            self._info = None
            self._others.pop(self.id, None)
        return removed

    def __repr__(self) -> str:
        return f"PrivateSession({self.id!r})"


def _not_kept(id: str) -> UsageError:
    return UsageError(f"{id} is private: it is kept in memory only, and gives nothing to others")
