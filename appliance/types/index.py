"""Where the index is, and how it is."""

from __future__ import annotations

from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of the index. ``place`` is "embedded" or the URLs of the server, ``collection`` the serving collection
    there; ``points`` are those in it, on a server an estimate, None if they were not counted (in a status, or where
    nothing can be written); ``expected`` are those that it is to have. ``pending`` chunks wait for it. ``trouble`` says
    why it can't be used, and ``warnings`` what else is to be known. ``unused`` are other collections of this memory on
    servers."""

    place: str
    collection: str
    points: int | None
    expected: int
    pending: int
    trouble: str = ""
    warnings: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
