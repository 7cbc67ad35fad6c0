"""Sets of identities that belong together, none of which holds two that must stay apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from appliance.store.people import Node


class Components:
    """Sets of nodes that are joined, with the evidence for each join.

    Args:
        cannot: Pairs of nodes that no evidence joins.
    """

    def __init__(self, cannot: Iterable[tuple[Node, Node]]) -> None:
        self._members: dict[Node, set[Node]] = {}
        self._apart: dict[Node, set[Node]] = defaultdict(set)
        self.evidence: dict[Node, set[str]] = {}
        for a, b in cannot:
            self._apart[a].add(b)
            self._apart[b].add(a)

    def members(self, node: Node) -> set[Node]:
        return self._members.setdefault(node, {node})

    def root(self, node: Node) -> int:
        """A number that all nodes of a set have, until the next join."""
        return id(self.members(node))

    def join(self, a: Node, b: Node, words: str, *, by_hand: bool = False) -> None:
        first, second = self.members(a), self.members(b)
        if first is second:
            return
        if self._apart and not by_hand and any(self._apart[one] & second for one in first if one in self._apart):
            return
        if words:
            self.evidence.setdefault(a, set()).add(words)
        if len(first) < len(second):
            first, second = second, first
        first |= second
        for node in second:
            self._members[node] = first
