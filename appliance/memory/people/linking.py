"""Which identities belong to one person: strong evidence only, and what a person decided.

Nodes are identities: an account's id within its source, an address or a number wherever it stands, or the bare name of
an author of whom nothing else is known, within its source. A profile joins its own nodes. Nothing joins two people who
have only a name in common, except that within one source the same name without any id is the same person, and that
WhatsApp shows contacts by the names of the address book.

What a person decided goes before all evidence: merged nodes are joined first, and evidence joins nothing that was
split. An author with several profiles in one session who are not one person is linked to no person there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import cast

from appliance.lazy_dataclasses import dataclass
from appliance.memory.people import names
from appliance.memory.people.components import Components
from appliance.memory.people.own_person import MAX_COMPARED_NAMES, AuthorNodes, OwnNodes, own_component, own_nodes
from appliance.store import identities
from appliance.store.lexical import fold
from appliance.store.people import CONTACTS, Node, PersonDecision
from appliance.store.profiles import AuthorUse, Profile
from appliance.types import Identity, IdentityKind

NAMES_OF_ADDRESS_BOOK = frozenset({"whatsapp"})
"""Sources that show a contact by the name in the address book, and others by their number or their own name, which the
parser marks."""

_PRIMARY_KINDS = ("id", "address", "number", "handle", "name")


@dataclass(slots=True)
class LinkedPerson:
    """Identities that belong together. ``bare`` are names that an account goes by, which link nothing. ``me`` is the
    person whose memory it is, ``maybe_me`` one who may be."""

    nodes: set[Node]
    identities: set[Identity] = field(default_factory=set)
    bare: set[Identity] = field(default_factory=set)
    evidence: set[str] = field(default_factory=set)
    name: str = ""
    me: bool = False
    maybe_me: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """The people, and for each author of a session the number of the person in ``people``, or None."""

    people: Sequence[LinkedPerson]
    authors: Mapping[tuple[int, str], int | None]


def link(
    profiles: Sequence[Profile], uses: Sequence[AuthorUse], decisions: Sequence[PersonDecision], own_name: str = ""
) -> Links:
    """Derive the people of one scope.

    Args:
        profiles: The accounts and address-book entries.
        uses: The authors of the sessions.
        decisions: What a person decided, oldest first.
        own_name: What the person is called, if the settings say it; a hint.
    """
    graph = _Graph(profiles, uses)
    must, cannot = constraints(decisions)
    joined = Components(cannot)
    for a, b in sorted(must):
        joined.join(a, b, "", by_hand=True)
    for a, b, words in graph.profile_edges():
        joined.join(a, b, words)
    for a, b, words in graph.card_name_edges(joined):
        joined.join(a, b, words)
    authors = {(use.session, use.author): graph.node_of_use(use, joined) for use in uses}
    own = own_nodes(AuthorNodes(uses, graph.profiles, graph.nodes, authors, joined), decisions, own_name)
    first, *others = own.known or (None,)
    for node in others:
        if first is not None:
            joined.join(first, node, own.known[node])
    return _to_links(graph, joined, authors, decisions, own)


def constraints(decisions: Iterable[PersonDecision]) -> tuple[set[tuple[Node, Node]], set[tuple[Node, Node]]]:
    """Return the pairs of nodes that are one person by hand, and those that are not. Later decisions win."""
    must: set[tuple[Node, Node]] = set()
    cannot: set[tuple[Node, Node]] = set()
    for decision in decisions:
        if decision.kind == "merge":
            pairs = {_pair(a, b) for a, b in combinations((*decision.identities, *decision.others), 2) if a != b}
            must |= pairs
            cannot -= pairs
        elif decision.kind == "split":
            pairs = {_pair(a, b) for a in decision.identities for b in decision.others if a != b}
            cannot |= pairs
            # What is left together stays together, also if what was taken off was all that joined it.
            for side in (decision.identities, decision.others):
                must |= {_pair(a, b) for a, b in combinations(side, 2)} - cannot
            must -= pairs
    return must, cannot


def _pair(a: Node, b: Node) -> tuple[Node, Node]:
    return (a, b) if a <= b else (b, a)


class _Graph:
    """The nodes of profiles and uses, and the evidence between them."""

    def __init__(self, profiles: Sequence[Profile], uses: Sequence[AuthorUse]) -> None:
        self.profiles = {profile.key: profile for profile in profiles}
        self.uses = uses
        self._spellings: dict[Node, str] = {}
        numbers = {value for one in profiles for kind, value in one.identities if kind == "number"}
        numbers |= {found[1] for use in uses if (found := _of_author(use.author)) and found[0] == "number"}
        self._international = identities.international_forms(numbers)
        self.shown_names: dict[int, Counter[str]] = defaultdict(Counter)
        for use in uses:
            for key in use.profiles:
                self.shown_names[key][use.author] += 1
        self.contested = self._contested_values()
        self._card_contested = self._contested_cards()
        self.nodes = {profile.key: self._profile_nodes(profile) for profile in profiles}
        self._profiles_by_name: dict[tuple[str, str], set[Node]] = defaultdict(set)
        for use in uses:
            for key in use.profiles:
                if key in self.profiles:
                    self._profiles_by_name[use.source, fold(use.author)].add(self._use_node(use, self.profiles[key]))

    def names_of(self, profile: Profile) -> list[str]:
        """The names of a profile: those that it states, and those of the authors who have it."""
        stated = [value for kind, value in profile.identities if kind == "name"]
        return list(dict.fromkeys((*stated, *self.shown_names.get(profile.key, ()))))

    def to_node(self, source: str, kind: str, value: str) -> Node:
        if kind == "number":
            return "", kind, self._international.get(value, value)
        if kind == "address":
            return "", kind, value
        if kind != "name":
            return source, kind, value
        node = source, kind, fold(value)
        self._spellings.setdefault(node, value)
        return node

    def to_identity(self, source: str, node: Node) -> Identity:
        """A node as a source shows it."""
        return Identity(source, cast(IdentityKind, node[1]), self._spellings.get(node, node[2]))

    def _contested_values(self) -> set[Node]:
        """Addresses and numbers from which several people write: a couple, a mailing list, a machine."""
        found: dict[Node, list[str]] = defaultdict(list)
        for profile in self.profiles.values():
            if not profile.is_card:
                for kind, value in profile.identities:
                    if kind in ("address", "number"):
                        found[self.to_node(profile.source, kind, value)] += self.names_of(profile)
        return {node for node, called in found.items() if _are_several_people(called)}

    def _contested_cards(self) -> set[Node]:
        """Addresses and numbers that several entries of one address book have, under the names of several people."""
        found: dict[tuple[str, Node], list[str]] = defaultdict(list)
        for profile in self.profiles.values():
            if profile.is_card:
                for kind, value in profile.identities:
                    if kind in ("address", "number"):
                        node = self.to_node(profile.source, kind, value)
                        found[profile.source, node] += self.names_of(profile)[:1]
        return {node for (_, node), called in found.items() if _are_several_people(called)}

    def _profile_nodes(self, profile: Profile) -> list[Node]:
        """The nodes of a profile, the one that tells it from others first. Empty if it only has an address or number
        that is not its own."""
        nodes: dict[str, list[Node]] = {kind: [] for kind in _PRIMARY_KINDS}
        for kind, value in profile.identities:
            nodes[kind].append(self.to_node(profile.source, kind, value))
        own = [
            node
            for kind in ("id", "address", "number")
            for node in nodes[kind]
            if node not in self.contested and not (profile.is_card and node in self._card_contested)
        ]
        if own or (not profile.is_card and (nodes["address"] or nodes["number"])):
            return own
        return nodes["handle"][:1] or nodes["name"][:1]

    def profile_edges(self) -> Iterator[tuple[Node, Node, str]]:
        for key in sorted(self.nodes):
            first, *others = self.nodes[key] or [("", "", "")]
            profile = self.profiles[key]
            for other in others:
                called = next(iter(self.names_of(profile)), "")
                where = "The address book" if profile.source == CONTACTS else profile.source.capitalize()
                under = f" under {called}" if called else " for one account"
                yield first, other, f"{where} has {other[2]} and {first[2]}{under}."

    def cards(self) -> dict[str, list[Node]]:
        """The nodes of the address-book entries of each name, without case."""
        found: dict[str, list[Node]] = defaultdict(list)
        for key, nodes in self.nodes.items():
            if nodes and self.profiles[key].is_card:
                for called in self.names_of(self.profiles[key]):
                    found[fold(called)].append(nodes[0])
        return found

    def card_name_edges(self, joined: Components) -> Iterator[tuple[Node, Node, str]]:
        cards = self.cards()
        wanted = {
            (use.source, fold(use.author)): use.author
            for use in self.uses
            if use.source in NAMES_OF_ADDRESS_BOOK and not use.profiles and not _of_author(use.author)
        }
        for (source, folded), author in sorted(wanted.items()):
            nodes = cards.get(folded, [])
            if nodes and len({joined.root(node) for node in nodes}) == 1 and not self._profiles_by_name[source, folded]:
                words = f"{source.capitalize()} shows {author}, a name that one entry of the address book has."
                yield (source, "name", folded), nodes[0], words

    def _use_node(self, use: AuthorUse, profile: Profile) -> Node:
        nodes = self.nodes[profile.key]
        if nodes:
            return nodes[0]
        value = next((value for kind, value in profile.identities if kind in ("address", "number")), "")
        return use.source, "name", f"{fold(use.author)} <{value}>"

    def node_of_use(self, use: AuthorUse, joined: Components) -> Node | None:
        """The node of an author of a session; None if several people have the name there."""
        if use.profiles:
            nodes = [self._use_node(use, self.profiles[key]) for key in use.profiles if key in self.profiles]
            return nodes[0] if len({joined.root(node) for node in nodes}) == 1 else None
        if found := _of_author(use.author):
            node = self.to_node(use.source, *found)
            return node if node not in self.contested else (use.source, "name", fold(use.author))
        known = self._profiles_by_name.get((use.source, fold(use.author)), set())
        if not known:
            return use.source, "name", fold(use.author)
        return next(iter(known)) if len({joined.root(node) for node in known}) == 1 else None


def _of_author(author: str) -> tuple[str, str] | None:
    return identities.of_author(author)


def _are_several_people(called: Sequence[str]) -> bool:
    compared = list(dict.fromkeys(called))[:MAX_COMPARED_NAMES]
    return any(names.contradicts(a, b) for a, b in combinations(compared, 2))


# --- the result ---------------------------------------------------------------------------------------------


def _to_links(
    graph: _Graph,
    joined: Components,
    authors: Mapping[tuple[int, str], Node | None],
    decisions: Sequence[PersonDecision],
    own: OwnNodes,
) -> Links:
    people: list[LinkedPerson] = []
    numbers: dict[int, int] = {}

    def person_of(node: Node) -> LinkedPerson:
        root = joined.root(node)
        if root not in numbers:
            numbers[root] = len(people)
            people.append(LinkedPerson(joined.members(node)))
        return people[numbers[root]]

    shown: dict[int, Counter[str]] = defaultdict(Counter)
    cards: dict[int, list[str]] = defaultdict(list)
    for use in graph.uses:
        node = authors[use.session, use.author]
        if node is not None:
            person = person_of(node)
            shown[id(person)][use.author] += 1
            if not use.profiles and not node[0]:  # an address or a number as the author
                person.identities.add(graph.to_identity(use.source, node))
            elif node == (use.source, "name", fold(use.author)) or node[2].startswith(f"{fold(use.author)} <"):
                value = use.author + node[2][len(fold(use.author)) :]
                person.identities.add(Identity(use.source, "name", value))
            else:
                person.bare.add(Identity(use.source, "name", use.author))
    for key in sorted(graph.nodes):
        profile, nodes = graph.profiles[key], graph.nodes[key]
        for node in nodes:
            person_of(node).identities.add(graph.to_identity(profile.source, node))
        if nodes:
            person = person_of(nodes[0])
            for known, value in profile.identities:
                if known in ("name", "handle") and graph.to_node(profile.source, known, value) not in nodes:
                    person.bare.add(Identity(profile.source, cast(IdentityKind, known), value))
            if profile.is_card:
                cards[id(person)] += graph.names_of(profile)[:1]
            else:
                shown[id(person)].update({value: 0 for kind, value in profile.identities if kind == "name"})
    for node, words in joined.evidence.items():
        if joined.root(node) in numbers:
            person_of(node).evidence |= words
    for person in people:
        person.bare -= person.identities
        person.evidence |= set(_shared_values(person))
        person.name = _name(shown[id(person)], cards[id(person)], person)
    for decision in decisions:
        if decision.kind == "rename" and decision.name:
            for node in decision.identities:
                if joined.root(node) in numbers:
                    person_of(node).name = decision.name
                    break
    if (root := own_component(own, joined, decisions)) in numbers:
        people[numbers[root]].me = True
    for node in own.guessed:
        if joined.root(node) in numbers:
            person_of(node).maybe_me = not person_of(node).me
    by_author = {key: None if node is None else numbers[joined.root(node)] for key, node in authors.items()}
    return Links(people, by_author)


def _shared_values(person: LinkedPerson) -> Iterator[str]:
    """A sentence for each address and number that several sources have."""
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in sorted(person.identities, key=lambda one: (one.kind, one.value, one.source)):
        if one.kind in ("address", "number"):
            sources[one.kind, one.value].append(one.source)
    for (_, value), among in sources.items():
        if len(among) > 1:
            yield f"{', '.join(among[:-1])} and {among[-1]} have {value}."


def _name(shown: Counter[str], cards: Sequence[str], person: LinkedPerson) -> str:
    """What to call a person: as in the address book, else the full name that most conversations have, else any."""
    if cards:
        return cards[0]
    called = {name: count for name, count in shown.items() if _of_author(name) is None}
    if called:
        return min(called, key=lambda name: (not names.is_full(name), -called[name], name))
    return min((one.value for one in person.identities), default="", key=lambda value: (value[:1] == "+", value))
