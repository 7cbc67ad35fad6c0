"""The rows of the People screen: people, and pairs of people who may be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual.content import Content

from appliance_tui.widgets.display_text import day, fit_width, one_line
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Person, PersonProposal

MIN_NAME_WIDTH = 20
"""Cells that a name keeps, whatever other columns there are."""

NAME_SHARE = 0.35
"""The share of a row that a name has at least: the columns are for what is left."""


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person."""

    person: Person

    @property
    def key(self) -> str:
        return self.person.id


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """Two people who may be one."""

    a: Person
    b: Person
    reason: str

    @property
    def key(self) -> str:
        return f"{self.a.id} {self.b.id}"


Row = PersonRow | ProposalRow


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the list of people: its heading, its cells, and its text for a person."""

    heading: str
    width: int
    text: Callable[[Person], str]
    right: bool = False


def person_sources(person: Person) -> list[str]:
    """The sources that a person is known from, address books last."""
    sources = {identity.source for identity in person.identities}
    return sorted(sources, key=lambda source: (source == "contacts", source))


def aliases(person: Person) -> list[str]:
    """The other names of a person, as sources write them."""
    names = dict.fromkeys(one_line(identity.value) for identity in person.identities if identity.kind == "name")
    return [name for name in names if name.casefold() != one_line(person.name).casefold()]


COLUMNS = (
    Column("messages", 8, lambda person: f"{person.messages:,}", right=True),
    Column("last said", 10, lambda person: day(person.last)),
    Column("sources", 18, lambda person: ", ".join(person_sources(person))),
    Column("conv.", 6, lambda person: f"{person.sessions:,}", right=True),
    Column("since", 10, lambda person: day(person.first)),
)
"""The columns behind the name, the most telling first: a narrow list has the first ones."""

ORDER = ("messages", "conv.", "sources", "since", "last said")
"""The order in which columns stand."""


def fitting_columns(width: int) -> list[Column]:
    """The columns that a list of ``width`` cells has room for, in their order."""
    room = width - max(MIN_NAME_WIDTH, round(width * NAME_SHARE))
    chosen: list[Column] = []
    for column in COLUMNS:
        if (room := room - column.width - 2) < 0:
            break
        chosen.append(column)
    return sorted(chosen, key=lambda column: ORDER.index(column.heading))


def render_headings(width: int) -> Content:
    """The headings of the columns, for a list of ``width`` cells."""
    columns = fitting_columns(width)
    name_width = width - sum(column.width + 2 for column in columns)
    cells = (f"  {_cell(column, column.heading)}" for column in columns)
    return Content.styled(fit_width("name", name_width) + "".join(cells), MUTED)


def render_row(row: Row, width: int) -> Content:
    """A person or a proposal as a line of ``width`` cells."""
    if isinstance(row, ProposalRow):
        pair_width = max(MIN_NAME_WIDTH, width * 3 // 5)
        return Content.assemble((fit_width(_pair(row), pair_width), "bold"), ("  " + one_line(row.reason), MUTED))
    person = row.person
    columns = fitting_columns(width)
    name_width = max(1, width - sum(column.width + 2 for column in columns))
    name = one_line(person.name)
    note = " (you)" if person.me else " (automated)" if person.automated else ""
    others = ", ".join(aliases(person))
    shown_name = fit_width(name + note, min(name_width, cell_len(name + note)))
    left = name_width - cell_len(shown_name)
    rest = "  " + fit_width(others, left - 2) if others and left > 4 else " " * left
    return Content.assemble(
        (shown_name, "bold"), (rest, MUTED), *((f"  {_cell(column, column.text(person))}", MUTED) for column in columns)
    )


def _cell(column: Column, text: str) -> str:
    return f"{text:>{column.width}}" if column.right else fit_width(text, column.width)


def _pair(row: ProposalRow) -> str:
    return f"{one_line(row.a.name)} ({row.a.id}) = {one_line(row.b.name)} ({row.b.id})"


def searchable_text(person: Person) -> str:
    """What the filter of the list looks in: name, id, addresses, numbers and sources."""
    parts = [part for identity in person.identities for part in (identity.value, identity.source)]
    return " ".join((person.name, person.id, *dict.fromkeys(parts))).casefold()


def filter_rows(rows: Sequence[Row], typed: str, texts: Mapping[str, str]) -> list[Row]:
    """The rows that contain all words of a filter. ``texts`` are the searchable texts of people by id."""
    terms = typed.casefold().split()
    if not terms:
        return list(rows)

    def matches(row: Row) -> bool:
        text = texts[row.person.id] if isinstance(row, PersonRow) else f"{texts[row.a.id]} {texts[row.b.id]}"
        return all(term in text for term in terms)

    return [row for row in rows if matches(row)]


ORDERS: dict[str, Callable[[Person], Any]] = {
    "messages": lambda person: -person.messages,
    "last said": lambda person: person.last or "",
    "name": lambda person: person.name.casefold(),
    "conversations": lambda person: -person.sessions,
    "since": lambda person: person.first or "~",
}
"""The orders of people, by their labels: the most, the latest and the earliest first."""


def sort_people(people: Sequence[Person], order: str) -> list[Person]:
    """People in an order, those that are equal in it by name; machines behind people."""
    by_name = sorted(people, key=ORDERS["name"])
    found = sorted(by_name, key=ORDERS[order], reverse=order == "last said")
    return sorted(found, key=lambda person: person.automated)


def proposal_rows(people: Sequence[Person], proposals: Sequence[PersonProposal]) -> list[ProposalRow]:
    """Proposals with their people."""
    known = {person.id: person for person in people}
    return [
        ProposalRow(known[one.a], known[one.b], one.reason) for one in proposals if one.a in known and one.b in known
    ]
