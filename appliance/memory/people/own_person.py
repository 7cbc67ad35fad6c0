"""The person whose memory it is: which identities are the person's, and which may be.

What an export states (the account of an archive), what the settings say and what the person decides is known. What
follows from the name of a file, or from who takes part in all conversations, is a guess: exports of several people may
lie side by side. A guess counts only where nothing contradicts it; two people who write in one conversation are never
one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from appliance.lazy_dataclasses import dataclass
from appliance.memory.people import names
from appliance.memory.people.components import Components
from appliance.store.lexical import fold
from appliance.store.people import Node, PersonDecision
from appliance.store.profiles import AuthorUse, Profile

FORMATS_THAT_GUESS = frozenset({"whatsapp"})
"""Formats that name no account: the name of the file tells whose export it is."""

MAX_COMPARED_NAMES = 40
"""Names of one person that are compared with those of another."""

MIN_CHATS_OF_NICKNAME = 2
"""With fewer chats, a guess with another name than the known one is more likely another person than a nickname."""


@dataclass(frozen=True, slots=True)
class OwnNodes:
    """The nodes of the person whose memory it is, each with a sentence why, the surest first; and the nodes that may
    be the person's as well, though something speaks against it."""

    known: Mapping[Node, str]
    guessed: frozenset[Node] = frozenset()


@dataclass(frozen=True, slots=True)
class AuthorNodes:
    """What is derived of the authors before the person is known: their ``uses``, the ``profiles`` with their
    ``nodes``, the node of each author of a session, and what is ``joined``."""

    uses: Sequence[AuthorUse]
    profiles: Mapping[int, Profile]
    nodes: Mapping[int, Sequence[Node]]
    authors: Mapping[tuple[int, str], Node | None]
    joined: Components

    def names_of(self, node: Node) -> list[str]:
        """The names under which the person with a node wrote."""
        root = self.joined.root(node)
        found = (
            use.author for use in self.uses
            if (other := self.authors[use.session, use.author]) is not None and self.joined.root(other) == root
        )  # fmt: skip
        return list(dict.fromkeys(found))[:MAX_COMPARED_NAMES]

    def sessions_of(self, node: Node) -> set[int]:
        """The sessions in which the person with a node wrote."""
        root = self.joined.root(node)
        return {
            session for (session, _), other in self.authors.items()
            if other is not None and self.joined.root(other) == root
        }  # fmt: skip


def own_nodes(found: AuthorNodes, decisions: Iterable[PersonDecision], own_name: str) -> OwnNodes:
    """Return the nodes of the person: as decided, else as the exports and the settings say.

    Who says who they are, and names the person that the exports name, confirms it: the exports go on to count.
    """
    by_exports = _by_exports(found, own_name, ())
    chosen = next((one for one in reversed(list(decisions)) if one.kind == "me"), None)
    if chosen is None:
        return by_exports
    roots = {found.joined.root(node) for node in chosen.identities}
    if any(found.joined.root(node) in roots for node in by_exports.known):
        return _by_exports(found, own_name, chosen.identities[:1])
    return OwnNodes(dict.fromkeys(chosen.identities[:1], _BY_HAND))


def own_component(own: OwnNodes, joined: Components, decisions: Sequence[PersonDecision]) -> int | None:
    """The root of the one person whose memory it is, after all joins. Where a split has parted the person, it is who
    was left, unless the other was chosen since."""
    sets = {joined.root(node): joined.members(node) for node in own.known}
    chosen = next((one for one in reversed(decisions) if one.kind == "me"), None)
    if chosen is not None:
        by_hand = {root: members for root, members in sets.items() if members & set(chosen.identities)}
        sets = by_hand or sets
    for split in reversed(decisions):
        if split.kind == "split" and len(sets) > 1:
            parted = {root for root, members in sets.items() if members & set(split.identities)}
            left = {root for root, members in sets.items() if members & set(split.others)} - parted
            if left:
                sets = {root: members for root, members in sets.items() if root not in parted}
    return next(iter(sets), None)


_BY_HAND = "You say that this is you."
_STATED = "The exports say that both are yours."
_IN_SETTINGS = "The settings call you so."


def _by_exports(found: AuthorNodes, own_name: str, chosen: Sequence[Node]) -> OwnNodes:
    known = dict.fromkeys(chosen, _BY_HAND)
    known |= {node: _STATED for node in sorted(_stated(found)) if node not in known}
    if own_name.strip():
        hinted = {
            node for use in found.uses
            if fold(use.author) == fold(own_name) and (not use.profiles or use.source in FORMATS_THAT_GUESS)
            and (node := found.authors[use.session, use.author]) is not None
        }  # fmt: skip
        known |= {node: _IN_SETTINGS for node in sorted(hinted) if node not in known}
    roots = {found.joined.root(node) for node in known}
    guesses = [one for one in _guesses(found) if found.joined.root(one.node) not in roots]
    kept = _without_contradiction(found, known, own_name, guesses)
    left_out = {one.node for one in guesses} - {one.node for one in kept}
    return OwnNodes(known | {one.node: one.reason for one in kept}, frozenset(left_out))


def _stated(found: AuthorNodes) -> set[Node]:
    """The accounts that exports call the person's."""
    return {
        found.nodes[key][0] for key, profile in found.profiles.items()
        if profile.me and profile.source not in FORMATS_THAT_GUESS and found.nodes[key]
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Guess:
    """A node that may be the person's: the format, the number of chats that say so, and the names of the writer."""

    node: Node
    source: str
    chats: int
    names: Sequence[str]
    sessions: frozenset[int]
    reason: str


def _guesses(found: AuthorNodes) -> list[_Guess]:
    by_file_name: dict[Node, set[int]] = defaultdict(set)
    for use in found.uses:
        is_own = use.source in FORMATS_THAT_GUESS and any(found.profiles[key].me for key in use.profiles)
        if is_own and (node := found.authors[use.session, use.author]) is not None:
            by_file_name[node].add(use.session)
    told = {
        use.source for use in found.uses
        if any(found.profiles[key].me for key in use.profiles)
    }  # fmt: skip
    reasons = {
        node: (len(chats), "The names of chat files say that {name} exported {source}.")
        for node, chats in by_file_name.items()
    }
    for node in _common_partners(found, told):
        reasons.setdefault(node, (MIN_CHATS_OF_NICKNAME, "{name} takes part in all chats of two in {source}."))
    guesses: list[_Guess] = []
    for node, (chats, words) in sorted(reasons.items()):
        called = found.names_of(node)
        name = next(iter(called), node[2])
        sessions = frozenset(found.sessions_of(node))
        reason = words.format(name=name, source=node[0])
        guesses.append(_Guess(node, node[0], chats, called, sessions, reason))
    return guesses


def _without_contradiction(
    found: AuthorNodes, known: Mapping[Node, str], own_name: str, guesses: Sequence[_Guess]
) -> list[_Guess]:
    """The guesses that fit what is known, and one another. Of two that contradict each other, one counts if it has a
    known name and the other has not; else none does."""
    called = [own_name, *(name for node in known for name in found.names_of(node))]
    full = [name for name in called if names.is_full(name)]
    sessions = set[int]().union(*(found.sessions_of(node) for node in known))
    fitting = [one for one in guesses if not one.sessions & sessions and not _has_another_name(one, full)]
    known_names = {one.node for one in fitting if any(not names.contradicts(a, b) for a in one.names for b in full)}
    dropped: set[Node] = set()
    for a, b in combinations(fitting, 2):
        if found.joined.root(a.node) != found.joined.root(b.node) and _are_two_people(a, b):
            is_known = [one.node in known_names for one in (a, b)]
            dropped |= {one.node for one, kept in zip((a, b), is_known, strict=True) if not kept or all(is_known)}
    return [one for one in fitting if one.node not in dropped]


def _has_another_name(guess: _Guess, full_names: Sequence[str]) -> bool:
    """Whether a full name is not that of the person; a nickname may be anybody's, if more than one chat speaks for
    it."""
    own = [name for name in guess.names if guess.chats < MIN_CHATS_OF_NICKNAME or names.is_full(name)]
    return any(names.contradicts(a, b) for a in own for b in full_names)


def _are_two_people(a: _Guess, b: _Guess) -> bool:
    """Whether both write in one conversation, or under names of two people: full ones, or any in one messenger."""
    if a.sessions & b.sessions:
        return True
    pairs = [
        (x, y) for x in a.names for y in b.names if a.source == b.source or (names.is_full(x) and names.is_full(y))
    ]
    return any(names.contradicts(x, y) for x, y in pairs)


def _common_partners(found: AuthorNodes, told: set[str]) -> Iterator[Node]:
    """The one who takes part in all conversations of two of a format, where they are with different others: who
    exported them. Only for formats whose exports do not say it (``told``)."""
    by_session: dict[tuple[str, int], list[Node | None]] = defaultdict(list)
    for use in found.uses:
        if use.source not in told and use.is_among_people:
            by_session[use.source, use.session].append(found.authors[use.session, use.author])
    pairs: dict[str, list[dict[int, Node]]] = defaultdict(list)
    for (source, _), nodes in by_session.items():
        if len(nodes) == 2:
            pairs[source].append({found.joined.root(node): node for node in nodes if node is not None})
    for source, of_source in pairs.items():
        common = set.intersection(*(set(pair) for pair in of_source))
        if len(common) == 1 and len({frozenset(pair) for pair in of_source}) > 1 and source != "mail":
            yield of_source[0][common.pop()]
