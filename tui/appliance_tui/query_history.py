"""Earlier queries of the search line, of each user apart. They are kept in this process alone: words of a message that
is forgotten must not survive in a file."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from appliance.requests.typed_filters import SearchFilters

MAX_QUERIES = 100
"""Queries that are kept of a user."""

STOOD_SECONDS = 1.0
"""Seconds that a text stands in the line before it counts as a query: its hits were looked at."""


@dataclass(frozen=True, slots=True)
class Query:
    """What was searched for."""

    text: str
    filters: SearchFilters = field(default_factory=SearchFilters)


class QueryHistory:
    """Queries in the order in which they were made, and the one that is shown again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._queries: defaultdict[str, list[Query]] = defaultdict(list)
        self._clock = clock
        self._present = self._stood = Query("")
        self._since = clock()
        self._before = SearchFilters()
        self._position: int | None = None

    def note(self, user: str, text: str, filters: SearchFilters) -> None:
        """Take the present text of the line. Where it is cleared, or another takes its place, what stood there before
        is a query: of a text that is typed or deleted letter by letter, the longest that stood for a while."""
        now = self._clock()
        if self._position is None and self._present.text.strip() and now - self._since >= STOOD_SECONDS:
            self._stand(self._present)
        self._present, self._since = Query(text, filters), now
        if self._position is not None and self._present == self._queries[user][self._position]:
            return
        self._position = None
        stood = self._stood.text
        if not text.strip() or not (text.startswith(stood) or stood.startswith(text)):
            self._keep(user)

    def _stand(self, query: Query) -> None:
        if not self._stood.text.startswith(query.text) or query.filters != self._stood.filters:
            self._stood = query

    def add(self, user: str) -> None:
        """Keep the query that is in the line: a hit of it is read."""
        if self._present.text.strip():
            self._stand(self._present)
            self._keep(user, ends=False)

    def _keep(self, user: str, *, ends: bool = True) -> None:
        """Add the query that stood; it ``ends`` where another text begins."""
        if self._stood.text.strip():
            earlier = [query for query in self._queries[user] if query != self._stood]
            self._queries[user] = [*earlier, self._stood][-MAX_QUERIES:]
        if ends:
            self._stood = Query("")

    def forget(self) -> None:
        """Drop all queries: words of what is forgotten may be in them."""
        self._queries.clear()
        self._present, self._stood, self._position = Query(""), Query(""), None

    def has_queries(self, user: str) -> bool:
        """Whether a user has earlier queries."""
        return bool(self._queries[user])

    @property
    def is_shown(self) -> bool:
        """Whether an earlier query is in the line, unchanged."""
        return self._position is not None

    def step(self, user: str, by: int, filters: SearchFilters) -> Query | None:
        """The query before (``by`` -1) or after (1) the one that is shown; after the last the empty line that there
        was, with its ``filters``. None if there is no other."""
        queries = self._queries[user]
        if self._position is None:
            self._before = filters
        position = (len(queries) if self._position is None else self._position) + by
        if position < 0 or position > len(queries) or not queries:
            return None
        self._position = position if position < len(queries) else None
        return queries[position] if position < len(queries) else Query("", self._before)
