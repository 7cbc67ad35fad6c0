"""Core memory: blocks of bounded size that the person and the assistant edit, and that every context has.

Every change of a text keeps the form before it. A block that is read-only refuses assistants, and the person alone sets
limits, so that what an assistant reads can't make it crowd out the rest of a context.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence

from appliance import requests as r
from appliance.errors import NotFound, UsageError, check_unicode
from appliance.secrets.masking import MASK, MIN_PART_CHARACTERS
from appliance.store import core_blocks as stored
from appliance.store.database import Database
from appliance.store.sql import fetch_int
from appliance.timestamps import now
from appliance.types import BlockRevision, CoreBlock, Scope
from appliance.types.core import (
    DEFAULT_BLOCK_CHARACTERS,
    MAX_ASSISTANT_CHARACTERS,
    MAX_CORE_CHARACTERS,
    MAX_LABEL_CHARACTERS,
)

DESCRIPTIONS = {
    "persona": "How the assistant should be and write.",
    "person": "What is always worth knowing about the person.",
    "project": "What the person is working on now: aims, decisions, what is next.",
}
"""What belongs into blocks with these labels, unless said otherwise."""

MAX_DESCRIPTION_CHARACTERS = 500

MIN_NEW_CHARACTERS = 200
"""A new block gets what the others leave of all limits, but no less; where they leave less, it is refused."""

HIDDEN = MASK * MIN_PART_CHARACTERS
"""Is in every text in which a secret is hidden."""

_LABEL = re.compile(r"[^\W_][\w.-]*")


def normal_label(label: str) -> str:
    """Return a label in the form in which labels are stored and compared.

    Raises:
        UsageError: It is empty, too long, or has other characters than a label may have.
    """
    found = unicodedata.normalize("NFC", label.strip()).casefold()
    if len(found) > MAX_LABEL_CHARACTERS or not _LABEL.fullmatch(found):
        raise UsageError(
            f"{label!r} is not the label of a block.",
            hint="A label is one word of letters, digits, '-', '_' and '.', such as 'persona' or 'project-garden', of "
            f"up to {MAX_LABEL_CHARACTERS} characters.",
        )
    return found


class CoreMemory:
    """The core memory of an open memory. Thread-safe."""

    def __init__(self, database: Database, owner: str) -> None:
        """``owner`` is the user of requests that name none."""
        self._database = database
        self._owner = owner

    def list(self, request: r.ListBlocksRequest) -> Sequence[CoreBlock]:
        """See ``ListBlocksRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        return stored.list_blocks(self._database.read(), scope.user_id, scope.namespace)

    def get(self, request: r.BlockRequest) -> CoreBlock:
        """See ``BlockRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        return _require(self._database.read(), scope, request.label).block

    def history(self, request: r.BlockHistoryRequest) -> Sequence[BlockRevision]:
        """See ``BlockHistoryRequest``."""
        with self._database.lease() as db:
            found = _require(db, self._scope(request.user_id, request.namespace), request.label)
            return stored.revisions(db, found.key)

    def set(self, request: r.SetBlockRequest) -> CoreBlock:
        """See ``SetBlockRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        label = normal_label(request.label)
        with self._database.write() as tx:
            found = stored.find(tx, scope, label)
            _check_revision(request, label, found)
            if found is None:
                _check_new(request, label)
                key = stored.add(tx, scope, label)
                description, limit, read_only = DESCRIPTIONS.get(label, ""), DEFAULT_BLOCK_CHARACTERS, False
                value = ""
                if request.limit is None:
                    limit = max(MIN_NEW_CHARACTERS, min(limit, MAX_CORE_CHARACTERS - _limits(tx, scope)))
            else:
                block, key = found.block, found.key
                description, limit, read_only = block.description, block.limit, block.read_only
                value = block.value
                _check_editor(request, block)
            new_value = value if request.value is None else request.value
            description = description if request.description is None else request.description
            limit = limit if request.limit is None else request.limit
            read_only = read_only if request.read_only is None else request.read_only
            _check_text(description, MAX_DESCRIPTION_CHARACTERS, f"The description of the block {label!r}")
            stored.update(tx, key, description=description, limit=limit, read_only=read_only)
            _check_limits(tx, scope, limit)
            _check_text(new_value, limit, f"The block {label!r}")
            _check_masks(request, value, new_value)
            if found is None or new_value != value:
                stored.add_revision(tx, key, new_value, request.by, now(), assistant=_assistant(request))
            return _require(tx, scope, label).block

    def append(self, request: r.AppendToBlockRequest) -> CoreBlock:
        """See ``AppendToBlockRequest``."""
        if not request.text.strip():
            raise UsageError("There is no text to add to the block.")
        scope = self._scope(request.user_id, request.namespace)
        with self._database.write() as tx:
            found = stored.find(tx, scope, normal_label(request.label))
            before = found.block.value.rstrip() if found is not None else ""
            value = f"{before}\n{request.text}" if before else request.text
            return self.set(
                r.SetBlockRequest(
                    request.label,
                    value,
                    by=request.by,
                    assistant=request.assistant,
                    user_id=scope.user_id,
                    namespace=scope.namespace,
                )
            )

    def replace(self, request: r.ReplaceInBlockRequest) -> CoreBlock:
        """See ``ReplaceInBlockRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        with self._database.write() as tx:
            block = _require(tx, scope, request.label).block
            times = block.value.count(request.old) if request.old else 0
            if times != 1:
                has = "does not have these words" if not times else f"has these words {times} times"
                raise UsageError(
                    f"The block {block.label!r} {has}; nothing was changed.",
                    hint="Give a part of its text that it has once, letter by letter.",
                )
            return self.set(
                r.SetBlockRequest(
                    block.label, block.value.replace(request.old, request.new),
                    by=request.by, assistant=request.assistant, user_id=scope.user_id, namespace=scope.namespace,
                )
            )  # fmt: skip

    def revert(self, request: r.RevertBlockRequest) -> CoreBlock:
        """See ``RevertBlockRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        with self._database.write() as tx:
            found = _require(tx, scope, request.label)
            forms = {form.number: form.value for form in stored.revisions(tx, found.key)}
            if request.number not in forms:
                gap = ", without those that an erasure took" if min(forms) < request.number < max(forms) else ""
                raise NotFound(
                    f"The block {found.block.label!r} has no revision {request.number}.",
                    hint=f"It has {min(forms)} to {max(forms)}{gap}.",
                )
            return self.set(
                r.SetBlockRequest(
                    found.block.label, forms[request.number],
                    by=request.by, assistant=request.assistant, user_id=scope.user_id, namespace=scope.namespace,
                )
            )  # fmt: skip

    def delete(self, request: r.DeleteBlockRequest) -> CoreBlock:
        """See ``DeleteBlockRequest``."""
        with self._database.write() as tx:
            found = _require(tx, self._scope(request.user_id, request.namespace), request.label)
            stored.delete(tx, found.key)
            return found.block

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._owner if user_id is None else user_id, namespace)


def _require(db: sqlite3.Connection, scope: Scope, label: str) -> stored.StoredBlock:
    found = stored.find(db, scope, normal_label(label))
    if found is None:
        labels = [block.label for block in stored.list_blocks(db, scope.user_id, scope.namespace)]
        raise NotFound(
            f"There is no block {label!r} in the core memory.",
            hint=f"It has {', '.join(labels)}." if labels else "It has no blocks yet.",
        )
    return found


def _check_revision(request: r.SetBlockRequest, label: str, found: stored.StoredBlock | None) -> None:
    present = 0 if found is None else found.block.revision
    if request.revision not in (None, present):
        changed = f"has revision {present}, not {request.revision}" if present else "does not exist"
        raise UsageError(f"The block {label!r} {changed}; nothing was changed.", hint="Read it again, then change it.")


def _check_new(request: r.SetBlockRequest, label: str) -> None:
    if request.by == "assistant" and (request.limit is not None or request.read_only):
        raise UsageError(f"Only the person sets the limit of the block {label!r} and makes it read-only.")


def _check_editor(request: r.SetBlockRequest, block: CoreBlock) -> None:
    if request.by == "person":
        return
    if block.read_only:
        raise UsageError(
            f"The block {block.label!r} is read-only for assistants; nothing was changed.",
            hint=f"The person can change that: 'appliance core set {block.label} --writable'.",
        )
    if request.limit not in (None, block.limit) or request.read_only:
        raise UsageError(f"Only the person sets the limit of the block {block.label!r} and makes it read-only.")


def _assistant(request: r.SetBlockRequest) -> str:
    """The name of the assistant that writes, as a program or a token gives it; "" for the person."""
    name = " ".join(request.assistant.split()) if request.by == "assistant" else ""
    return "".join(filter(str.isprintable, name))[:MAX_ASSISTANT_CHARACTERS]


def _check_text(text: str, limit: int, what: str) -> None:
    check_unicode(text, what)
    if len(text) > limit:
        raise UsageError(
            f"{what} would have {len(text):,} characters; its limit is {limit:,}. Nothing was changed.",
            hint="Shorten it: rewrite it with what still matters.",
        )


def _check_masks(request: r.SetBlockRequest, value: str, new_value: str) -> None:
    """Refuse a text that would lose a secret: an assistant sees dots in its place, and writes them back."""
    if request.by == "assistant" and HIDDEN in new_value and HIDDEN not in value:
        raise UsageError(
            "The text has dots where the block has a secret that you don't see; nothing was changed.",
            hint="Append to the block, or replace another part of it.",
        )


def _check_limits(tx: sqlite3.Connection, scope: Scope, limit: int) -> None:
    if limit < 1:
        raise UsageError(f"The limit of a block must be at least 1, not {limit}.")
    if (together := _limits(tx, scope)) > MAX_CORE_CHARACTERS:
        raise UsageError(
            f"The limits of all blocks would be {together:,} characters together; {MAX_CORE_CHARACTERS:,} is the most. "
            "Nothing was changed.",
            hint="The person can lower the limit of a block ('appliance core set LABEL --limit N') or delete one.",
        )


def _limits(tx: sqlite3.Connection, scope: Scope) -> int:
    query = "SELECT coalesce(sum(max_characters), 0) FROM core_block WHERE user_id = ? AND namespace = ?"
    return fetch_int(tx, query, (scope.user_id, scope.namespace))
