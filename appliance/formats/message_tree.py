"""Conversations that are trees: edited prompts and regenerated answers leave side branches.

The links of an export may dangle, form cycles or be missing; every node is still returned exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeLink:
    """A node's parent and children, and its time in seconds."""

    parent: str | None
    children: Sequence[str] = ()
    time: float | None = None


@dataclass(frozen=True, slots=True)
class OrderedNode:
    """A node in reading order; ``is_off_path`` is True off the path that the person last saw."""

    node: str
    parent: str | None
    is_off_path: bool


def reading_order(links: Mapping[str, NodeLink], current: str | None) -> list[OrderedNode]:
    """Every node once: side branches at their fork, then the active path.

    The active path leads from ``current`` up to its root. A part of the tree without ``current`` (a link is
    broken, or the export names no current node) takes its last leaf instead, by time, else by file order.
    Parts are ordered by the time of their first node.
    """
    if not links:
        return []
    parents = _parents(links)
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for node, parent in parents.items():
        if parent is None:
            roots.append(node)
        else:
            children.setdefault(parent, []).append(node)
    position = {node: n for n, node in enumerate(links)}
    for node, siblings in children.items():
        if len(siblings) > 1:
            listed = {child: n for n, child in enumerate(links[node].children)}
            siblings.sort(key=lambda child: listed.get(child, len(listed)))

    # Most conversations are a single tree, which needs no search for its parts.
    parts = [_subtree(root, children) for root in roots] if len(roots) > 1 else [list(links)]
    parts.sort(key=lambda part: _first_time(part, links))
    ordered: list[OrderedNode] = []
    for part in parts:
        root = part[0] if len(parts) > 1 else roots[0]
        nodes = links if len(parts) == 1 else set(part)
        leaf = current if current is not None and current in nodes else _last_leaf(part, children, links, position)
        active = _path(leaf, parents)
        ordered.extend(
            OrderedNode(node, parents[node], node not in active) for node in _subtree(root, children, last=active)
        )
    return ordered


def _parents(links: Mapping[str, NodeLink]) -> dict[str, str | None]:
    """Each node's parent within the tree; a cycle is cut where the walk enters it first."""
    listed: dict[str, str] = {}
    for node, link in links.items():
        for child in link.children:
            if child in links and child != node:
                listed.setdefault(child, node)
    parents = {
        node: link.parent if link.parent in links and link.parent != node else listed.get(node)
        for node, link in links.items()
    }
    done: set[str] = set()
    for start in links:
        path: set[str] = set()
        at: str | None = start
        while at is not None and at not in done:
            path.add(at)
            parent = parents[at]
            if parent in path:
                parents[at] = parent = None
            at = parent
        done |= path
    return parents


def _subtree(root: str, children: Mapping[str, list[str]], last: frozenset[str] = frozenset()) -> list[str]:
    """A root and its descendants, parents before children, and children in ``last`` after their siblings."""
    order: list[str] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        below = children.get(node, ())
        if len(below) < 2:
            stack.extend(below)
        else:
            stack.extend(child for child in below if child in last)
            stack.extend(child for child in reversed(below) if child not in last)
    return order


def _path(leaf: str, parents: Mapping[str, str | None]) -> frozenset[str]:
    path: set[str] = set()
    node: str | None = leaf
    while node is not None:
        path.add(node)
        node = parents[node]
    return frozenset(path)


def _last_leaf(
    part: Sequence[str], children: Mapping[str, list[str]], links: Mapping[str, NodeLink], position: Mapping[str, int]
) -> str:
    def order_key(node: str) -> tuple[float, int]:
        time = links[node].time
        return (float("-inf") if time is None else time, position[node])

    return max((node for node in part if node not in children), key=order_key)


def _first_time(part: Sequence[str], links: Mapping[str, NodeLink]) -> float:
    """The earliest time in a part; parts without any come first, in file order."""
    return min((time for node in part if (time := links[node].time) is not None), default=float("-inf"))
