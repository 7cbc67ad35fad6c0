"""What is to be forgotten, and what is left of it: counts and proofs, no words."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.types.words import Scope


@dataclass(frozen=True, slots=True)
class Doomed:
    """What would be forgotten: messages, sessions of which nothing would be left and those that are ``touched`` at
    all, characters, and how many messages of each format. ``files`` are those that the messages were read from and
    that are still there. ``facts`` rest on nothing else; ``all_of`` is whose memory is meant as a whole, if one is."""

    messages: tuple[int, ...]
    sessions: tuple[int, ...]
    touched: tuple[int, ...]
    characters: int
    formats: dict[str, int]
    files: tuple[str, ...]
    facts: int = 0
    all_of: Scope | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked through for traces, and where one was found. ``texts`` of the forgotten ones were looked for in
    ``bytes`` of ``files``; ``traces`` are files of the memory, ``yours`` exports in the inbox."""

    files: int = 0
    bytes: int = 0
    texts: int = 0
    traces: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was forgotten, by an id of its own ("e3"): counts, and the proof. ``state`` is "open" as long as files of
    the home are still to be made anew, ``vectors`` how many were erased from the ledger."""

    id: str
    at: str
    state: str
    messages: int
    sessions: int
    characters: int
    vectors: int
    formats: dict[str, int]
    proof: Proof
    facts: int = 0
