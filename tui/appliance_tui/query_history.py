"""Earlier queries of the search line, of each user apart. They are kept in this process alone: words of a message that
is forgotten must not survive in a file."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field

from appliance.lazy_dataclasses import dataclass
from appliance.requests.typed_filters import SearchFilters

MAX_QUERIES = 100
"""Queries that are kept of a user."""


@dataclass(frozen=True, slots=True)
class Query:
    """What was searched for."""

    text: str
    filters: SearchFilters = field(default_factory=SearchFilters)


class QueryHistory:
    """Queries in the order in which they were made, and the one that is shown again."""

    def __init__(self) -> None:
        self._queries: defaultdict[str, list[Query]] = defaultdict(list)
        self._typed = Query("")
        self._before = SearchFilters()
        self._position: int | None = None

    def note(self, user: str, text: str, filters: SearchFilters) -> None:
        """Take the present text of the line. Where it is cleared, what it was before is a query: of a text that is
        typed or deleted letter by letter, the longest."""
        if self._position is not None and Query(text, filters) == self._queries[user][self._position]:
            return
        self._position = None
        if not text.strip():
            self.add(user)
            self._typed = Query("")
        elif not self._typed.text.startswith(text) or filters != self._typed.filters:
            self._typed = Query(text, filters)

    def add(self, user: str) -> None:
        """Keep the query that is typed: a hit of it is read, or the line is cleared."""
        if self._typed.text.strip():
            earlier = [query for query in self._queries[user] if query != self._typed]
            self._queries[user] = [*earlier, self._typed][-MAX_QUERIES:]

    def forget(self) -> None:
        """Drop all queries: words of what is forgotten may be in them."""
        self._queries.clear()
        self._typed, self._position = Query(""), None

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
