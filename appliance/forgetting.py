"""Forgetting, from end to end: out of the truth first, then out of every file, then the proof.

``forget`` reads top to bottom. When its first step has ended the messages are gone for everybody who asks; what comes
after takes their traces out of the files, and is made up for by ``finish`` when it was interrupted.
"""

from __future__ import annotations

from appliance.memory import forget as forgetting
from appliance.memory.forget import Doomed, Proof, Receipt
from appliance.paths import Home
from appliance.serving import OnProgress, Serving
from appliance.store.database import Database


def forget(home: Home, database: Database, serving: Serving, doomed: Doomed, progress: OnProgress) -> Receipt:
    """Erase what is doomed; the receipt, with what a search of every file of the home for its words found."""
    texts = forgetting.pieces(database.read(), doomed.messages, _size(home))
    key = forgetting.erase(database, doomed)
    vectors = serving.expunge(progress)
    proof = forgetting.search(database.read(), home.root, home.inbox, texts)
    forgetting.close(database, vectors, {key: proof})
    return forgetting.receipt(database.read(), key)


def finish(database: Database, serving: Serving) -> int:
    """Take the traces out of the files that an interrupted ``forget`` left there; 1 if there was one."""
    if not forgetting.is_open(database.read()):
        return 0
    vectors = serving.expunge(lambda done, pending: None)
    no_proofs: dict[int, Proof] = {}
    forgetting.close(database, vectors, no_proofs)
    return 1


def _size(home: Home) -> int:
    return sum(path.stat().st_size for path in home.root.rglob("*") if path.is_file())
