"""The secrets of a memory: looked for in what was stored before, and listed without their words."""

from __future__ import annotations

from collections.abc import Sequence

from appliance import requests as r
from appliance.lazy_dataclasses import dataclass
from appliance.store import messages
from appliance.store import secrets as store
from appliance.store.database import Database
from appliance.store.sql import fetch_int
from appliance.types import OnProgress, Progress, Scope, SecretMark, SecretScan


@dataclass(frozen=True, slots=True)
class SecretService:
    """The marks of secrets in an open home, which belongs to ``owner``."""

    database: Database
    owner: str

    def scan(self, request: r.ScanSecretsRequest, on_progress: OnProgress) -> SecretScan:
        """See ``ScanSecretsRequest``."""
        scanned, total = 0, fetch_int(self.database.read(), "SELECT count(*) FROM message")
        for page in store.pages_of_texts(self.database.read()):
            with self.database.write() as tx:
                # A message may have changed, or be gone, since it was read.
                store.replace_marks(tx, messages.texts(tx, page))
            scanned += len(page)
            on_progress(Progress("scanning", scanned, max(0, total - scanned)))
        return SecretScan(tuple(store.marks(self.database.read())), scanned)

    def list(self, request: r.ListSecretsRequest) -> Sequence[SecretMark]:
        """See ``ListSecretsRequest``."""
        user_id = self.owner if request.user_id is None else request.user_id
        return store.marks(self.database.read(), Scope(user_id, request.namespace))
