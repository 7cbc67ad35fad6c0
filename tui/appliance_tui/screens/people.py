"""People: who wrote the messages, in all sources; who may be one person; and the decisions about both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static, Tab, Tabs

from appliance.errors import ApplianceError
from appliance_tui.details import DetailList, DetailPart
from appliance_tui.frame import tab_label
from appliance_tui.namesakes import names_apart
from appliance_tui.person_details import identity_labels, other_people, person_parts, proposal_parts
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.selecting import SelectingScreen
from appliance_tui.widgets.display_text import one_line
from appliance_tui.widgets.person_rows import (
    ORDERS,
    PersonRow,
    ProposalRow,
    Row,
    filter_rows,
    proposal_rows,
    render_headings,
    render_row,
    searchable_text,
    sort_people,
)
from appliance_tui.widgets.prompt_line import PromptLine
from appliance_tui.widgets.rows import MARK, ActionRows, RowList
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, error_text, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import PeopleChange, PeopleList, Person

VIEWS = ("people", "proposals")

DETAIL_PAUSE_SECONDS = 0.03
"""Seconds that the selection rests on a row before its details are loaded."""

CHANGE_PAUSE_SECONDS = 0.5
"""Seconds after a change in the memory before the list is loaded again: an import makes many."""

FOR_PERSON = ("merge", "split", "rename", "me", "set_me", "calendar", "select", "extend")
"""Actions that need a person, by their ids and as they are carried out."""

EMPTY_HINT = "No people yet. They come from the authors of imported chats and mails."
NO_PROPOSALS_HINT = "No proposals: no two people look like the same person."


@dataclass(frozen=True, slots=True)
class AuthorReference:
    """An author as a message names it; ``name`` None for the person whose memory it is."""

    name: str | None
    source: str


class HeadingLine(Static):
    """The headings of the columns of the list of people."""

    def on_resize(self, event: events.Resize) -> None:
        self.update(render_headings(max(1, self.content_size.width - len(MARK))))


class PeopleScreen(SelectingScreen):
    """A list of people, in which several can be selected, or of proposals, and the details of the current one."""

    CSS_PATH = "people.tcss"
    PLACE = "people"
    rows_pending = True

    def __init__(self) -> None:
        super().__init__()
        # As an attribute: each key that is shown or pressed looks at it.
        self._rows = ActionRows[Row](render_row, key=lambda row: row.key, id="people-rows")
        self._rows.rows_selectable = True
        self._view = "people"
        self._order = next(iter(ORDERS))
        self._filter = ""
        self._with_contacts = False
        self._list: PeopleList | None = None
        self._texts: Mapping[str, str] = {}
        self._pairs: Sequence[ProposalRow] = ()
        self._wanted: AuthorReference | None = None
        self._notes_of_list: Sequence[str] = ()

    def body(self) -> ComposeResult:
        yield Tabs(*(Tab(tab_label(self.app, f"people.{view}"), id=view) for view in VIEWS), id="people-views")
        with Horizontal(id="people-split"):
            with Vertical(id="people-pane"):
                yield HeadingLine("", id="people-headings", markup=False)
                yield self._rows
            with Vertical(id="person-pane"):
                yield DetailList(id="person")
        yield PromptLine(id="people-ask")
        yield Static("Loading…", id="people-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self._detail_queries = SerialWorker(self, self.appliance.memory_worker)
        self.watch(self.app, "user", self._user_changed, init=False)
        self._rows.focus()

    def _user_changed(self) -> None:
        self.rows_pending = True
        self._load()

    def on_screen_resume(self) -> None:
        self._load()  # the memory may have changed while another screen was shown

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "missed"):
            self._load(CHANGE_PAUSE_SECONDS)

    @property
    def selectable(self) -> ActionRows[Row]:
        return self._rows

    def show_selection(self) -> None:
        self._show_note(" · ".join(filter(None, [self.selection_note(), *self._notes_of_list])))

    def find_author(self, author: AuthorReference) -> None:
        """Select the person who is an author, as soon as the list is loaded."""
        self._wanted = author
        if self.is_mounted:
            self.query_one(Tabs).active = "people"
            self._show()

    def action_show_proposals(self) -> None:
        """Show all proposals."""
        self._drop_filter()
        self._show()
        self.action_view("proposals")

    def _load(self, pause: float = 0.0) -> None:
        begin(self, partial(self._load_list, pause), "people", exclusive=True)

    async def _load_list(self, pause: float) -> None:
        await asyncio.sleep(pause)
        user = self.appliance.user
        with show_errors(self._show_note):
            # With address books: somebody who is only there may be one with somebody who wrote.
            people, texts, pairs = await self._queries.run_query(lambda memory: _load_people(memory, user))
            self._list, self._texts, self._pairs = people, texts, pairs
            self.appliance.names_by_id = names_apart(people)
            self._show()
        self.rows_arrived()

    def _visible_people(self) -> list[Person]:
        """The people of the list, without those who are only in an address book unless these are wanted, too."""
        return [person for person in self._list or () if person.messages or self._with_contacts]

    def _proposals(self) -> list[ProposalRow]:
        return [row for row in self._pairs if row.a.messages or row.b.messages or self._with_contacts]

    def _show(self) -> None:
        if self._list is None:
            return
        people, proposals = self._visible_people(), self._proposals()
        rows: Sequence[Row] = proposals
        if self._view == "people":
            rows = [PersonRow(person) for person in sort_people(people, self._order)]
        shown = filter_rows(rows, self._filter, self._texts)
        self._rows.show(shown)
        self._rows.keep_selected({person.id for person in self._list} if self._view == "people" else ())
        self._select_wanted()
        self.query_one("#proposals", Tab).label = tab_label(self.app, "people.proposals", len(proposals))
        self.query_one("#people-headings").display = self._view == "people"
        title = f"{len(shown):,}" + (f" · by {self._order}" if self._view == "people" else "")
        self.query_one("#people-pane").border_title = title
        self._notes_of_list = self._notes(shown)
        self.show_selection()

    def _notes(self, shown: Sequence[Row]) -> list[str]:
        assert self._list is not None
        notes = [f"filter: {one_line(self._filter)}, esc clears it"] if self._filter else []
        if not shown and not self._filter:
            notes.append(EMPTY_HINT if self._view == "people" else NO_PROPOSALS_HINT)
        hidden = sum(not person.messages for person in self._list)
        if hidden and not self._with_contacts and self._view == "people":
            notes.append(f"{hidden:,} only in an address book (b shows them)")
        if self._list.people and not any(person.me for person in self._list):
            maybe = [person for person in self._list if person.id in self._list.maybe_me]
            names = " or ".join(f"{one_line(person.name)} ({person.id})" for person in maybe[:3])
            notes.append(f"You may be {names}; M on that person says so" if names else "M says which person you are")
        return notes

    def _select_wanted(self) -> None:
        """Select the person who is the author that another screen asks for."""
        wanted, self._wanted = self._wanted, None
        if wanted is None or self._list is None:
            return
        person = _person_of(self._list, wanted)
        if person is None:
            unknown = "It is not known who you are. Select yourself and press M."
            text = f"No person has the name {one_line(wanted.name)}." if wanted.name else unknown
            self.notify(text, timeout=4, markup=False)
            return
        if all(row.key != person.id for row in self._rows.items):
            self._drop_filter()
            self._rows.show([PersonRow(one) for one in sort_people(self._visible_people(), self._order)])
        self._rows.mark(person.id)

    def _show_note(self, text: str) -> None:
        self.query_one("#people-note", Static).update(text)

    @on(Tabs.TabActivated)
    def _switch_view(self, event: Tabs.TabActivated) -> None:
        view = event.tab.id or VIEWS[0]
        if view != self._view:
            self._view = view
            self._drop_filter()  # it is of the other list
            self._rows.rows_selectable = view == "people"
            self._show()

    @on(RowList.Moved, "#people-rows")
    def _schedule_details(self) -> None:
        self.refresh_bindings()
        begin(self, partial(self._show_details, self._rows.chosen), "person", exclusive=True)

    async def _show_details(self, row: Row | None) -> None:
        await asyncio.sleep(DETAIL_PAUSE_SECONDS)
        parts: list[DetailPart] = []
        if isinstance(row, ProposalRow):
            parts = list(proposal_parts(row))
        elif row is not None:
            user, id = self.appliance.user, row.person.id
            names = {person.id: person.name for person in self._list or ()}
            try:
                parts = await self._detail_queries.run_query(lambda memory: _load_person(memory, id, user, names))
            except ApplianceError as error:  # the person is gone
                parts = [DetailPart(Content(error_text(error)))]
        self.query_one("#person", DetailList).show(parts)

    @property
    def _person(self) -> Person | None:
        """The selected person."""
        row = self._rows.chosen
        return row.person if isinstance(row, PersonRow) else None

    def _marked_proposals(self) -> list[ProposalRow]:
        """The selected proposal, or those about the selected person."""
        row = self._rows.chosen
        if isinstance(row, ProposalRow):
            return [row]
        if row is None:
            return []
        return [one for one in self._proposals() if row.person.id in (one.a.id, one.b.id)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Decisions about a proposal need one, and those about a person need a person."""
        if action in ("accept", "reject"):
            return bool(self._marked_proposals())
        if action in FOR_PERSON:
            return self._person is not None
        return super().check_action(action, parameters)

    def why_not(self, id: str) -> str:
        """As ``ListScreen``."""
        name = id.removeprefix("people.").removesuffix("_back")
        if self._list is None or name not in ("open", "accept", "reject", *FOR_PERSON):
            return ""
        if self._rows.chosen is None:
            return f"No {'person' if self._view == 'people' else 'proposal'} is listed."
        if name in FOR_PERSON and self._person is None:
            return "Select a person first (press 1 for people)."
        return "" if name not in ("accept", "reject") or self._marked_proposals() else "No proposal about this person."

    def action_view(self, view: str) -> None:
        self.query_one(Tabs).active = view
        self._rows.focus()

    @on(RowList.Opened, "#people-rows")
    @on(DetailList.OptionSelected, "#person")
    def action_open(self) -> None:
        """Search all messages of the selected people; from the details, read the highlighted conversation."""
        detail = self.query_one("#person", DetailList)
        if self.focused is detail:
            part = detail.highlighted_part
            if part is not None and part.target:
                begin(self, partial(self._read, part), "read", exclusive=True)
            return
        match self._rows.chosen:
            case PersonRow(person):
                self.app.call_later(self.appliance.search_people, person.id)
            case ProposalRow(a, b):
                self.app.call_later(self.appliance.search_people, a.id, b.id)

    async def _read(self, part: DetailPart) -> None:
        with self.appliance.report_errors():
            if part.session_id:
                self.appliance.read(part.session_id)
                return
            message = await self.appliance.memory_worker.run_query(lambda memory: memory.message(part.message_id))
            self.appliance.read(message.session_id, message.id)

    def action_sort(self) -> None:
        orders = list(ORDERS)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self._show()

    def action_contacts(self) -> None:
        self._with_contacts = not self._with_contacts
        self._show()

    def _drop_filter(self) -> None:
        self._filter = ""
        self.query_one(PromptLine).drop_draft("filter")

    def action_back(self) -> None:
        """Clear the filter; without one, go from the details to the list, and from there to the screen before."""
        if self._filter:
            self._drop_filter()
            self._show()
            self.refresh_bindings()
        elif self.focused is not None and self.focused is not self._rows:
            self._rows.focus()
        else:
            self.appliance.action_go(self.appliance.mode_before)

    def action_filter(self) -> None:
        self.query_one(PromptLine).ask("filter", "Filter", self._filter, "a name, an address or a source")

    def action_rename(self) -> None:
        if (person := self._person) is not None:
            self.query_one(PromptLine).ask(f"rename {person.id}", f"{person.id} is called", one_line(person.name))

    @on(PromptLine.Changed)
    def _filter_changed(self, event: PromptLine.Changed) -> None:
        if event.purpose == "filter":
            self._filter = event.text
            self._show()

    @on(PromptLine.Closed)
    def _prompt_closed(self) -> None:
        self._rows.focus()

    @on(PromptLine.Submitted)
    def _prompt_submitted(self, event: PromptLine.Submitted) -> None:
        line, text = self.query_one(PromptLine), event.text.strip()
        verb, _, id = event.purpose.partition(" ")
        if verb == "filter":
            line.close()
        elif not text:
            self.notify("Type a name first.", timeout=3)
        else:
            user = self.appliance.user
            self._decide(lambda memory: memory.people.rename(id, text, user_id=user), line.finish)

    @work(exclusive=True, group="decide")
    async def action_accept(self) -> None:
        if (row := await self._choose_proposal("Which of these is the same person?")) is not None:
            user = self.appliance.user
            self._decide(lambda memory: memory.people.merge(row.a.id, row.b.id, user_id=user))

    @work(exclusive=True, group="decide")
    async def action_reject(self) -> None:
        if (row := await self._choose_proposal("Which of these is another person?")) is not None:
            user = self.appliance.user
            self._decide(lambda memory: memory.people.split(row.a.id, [row.b.id], user_id=user))

    async def _choose_proposal(self, question: str) -> ProposalRow | None:
        """The proposal that is meant; asked for if there are several about the selected person."""
        rows = self._marked_proposals()
        if len(rows) < 2:
            return rows[0] if rows else None
        own = self._person.id if self._person is not None else ""
        options = []
        for row in rows:
            other = row.b if row.a.id == own else row.a
            options.append(PickerOption("", f"{one_line(other.name)} ({other.id})", one_line(row.reason)))
        chosen = await self.app.push_screen_wait(PickerScreen(question, options))
        return None if chosen is None else rows[_index(options, chosen)]

    def action_merge(self) -> None:
        """Make one person of the selected ones, or of the current one and another that is chosen."""
        if len(self.selection) > 1:
            user, ids = self.appliance.user, tuple(self.selection)
            self._decide(partial(_merge_all, ids=ids, user=user), self._rows.clear_selection)
        else:
            self._choose_other()

    @work(exclusive=True, group="decide")
    async def _choose_other(self) -> None:
        if (person := self._person) is None or self._list is None:
            return
        others = other_people(self._list, person)
        options = [PickerOption("", one_line(other.name), one_line(note)) for other, note in others]
        title = f"{one_line(person.name)} ({person.id}) is the same person as"
        chosen = await self.app.push_screen_wait(PickerScreen(title, options))
        if chosen is not None:
            other, user = others[_index(options, chosen)][0].id, self.appliance.user
            self._decide(lambda memory: memory.people.merge(person.id, other, user_id=user))

    @work(exclusive=True, group="decide")
    async def action_split(self) -> None:
        if (person := self._person) is None:
            return
        accounts = identity_labels(person)
        if len(accounts) < 2:
            self.notify(f"{one_line(person.name)} has one account; there is nothing to split off.", timeout=4)
            return
        options = [PickerOption("", one_line(value), where) for value, where in accounts]
        title = f"Not an account of {one_line(person.name)} ({person.id})"
        chosen = await self.app.push_screen_wait(PickerScreen(title, options))
        if chosen is not None:
            value, user = accounts[_index(options, chosen)][0], self.appliance.user
            self._decide(lambda memory: memory.people.split(person.id, [value], user_id=user))

    def action_set_me(self) -> None:
        if (person := self._person) is not None:
            user = self.appliance.user
            self._decide(lambda memory: memory.people.set_me(person.id, user_id=user))

    def action_undo(self) -> None:
        user = self.appliance.user
        self._decide(lambda memory: memory.people.undo(user))

    def _decide(
        self, work: Callable[[Appliance], PeopleChange | str], on_done: Callable[[], None] = lambda: None
    ) -> None:
        """Carry out a decision, say what it changed, and load the list again."""

        async def run() -> None:
            with self.appliance.report_errors():
                worker = self.appliance.memory_worker
                change = await self.appliance.changes.in_turn(partial(worker.run_command, work))
                on_done()
                words = change if isinstance(change, str) else change.words
                self.notify(one_line(words), timeout=4, markup=False)
                await self.appliance.refresh_name_keys()
            self._load()

        begin(self, run, "change")

    def action_calendar(self) -> None:
        if (person := self._person) is not None:
            self.appliance.show_calendar(authors=(person.id,))


def _merge_all(memory: Appliance, ids: Sequence[str], user: str | None) -> str:
    """Make one person of several, and say so."""
    person = ids[0]
    for other in ids[1:]:
        (merged, *_) = memory.people.merge(person, other, user_id=user).people
        person = merged.id
    undo = f"u takes back one of {len(ids) - 1:,} merges at a time."
    return f"{len(ids):,} people are one person, {merged.name} ({person}). {undo}"


def _load_people(memory: Appliance, user: str | None) -> tuple[PeopleList, dict[str, str], list[ProposalRow]]:
    """The people with what the filter searches, and the pairs who may be one: a mailbox has thousands."""
    people = memory.people.list(user, everyone=True)
    return people, {person.id: searchable_text(person) for person in people}, proposal_rows(people, people.proposals)


def _load_person(memory: Appliance, id: str, user: str | None, names: dict[str, str]) -> list[DetailPart]:
    found = memory.people.get(id, user_id=user)
    counted = memory.statistics(["month"], authors=[id], user_id=user)
    return list(person_parts(found, {row.keys[0]: row.messages for row in counted.rows}, names))


def _person_of(people: Sequence[Person], author: AuthorReference) -> Person | None:
    """The person who is an author: by the name in its source, else by a name that one person alone has."""
    if author.name is None:
        return next((person for person in people if person.me), None)
    name = author.name.casefold()
    named = [
        (person, identity.source)
        for person in people
        for identity in person.identities
        if identity.value.casefold() == name
    ]
    in_source = {person.id: person for person, source in named if source == author.source}
    anywhere = {person.id: person for person, _ in named} | {
        person.id: person for person in people if person.name.casefold() == name
    }
    for found in (in_source, anywhere):
        if found:
            return max(found.values(), key=lambda person: person.messages)
    return None


def _index(options: Sequence[PickerOption], chosen: PickerOption) -> int:
    """The place of the chosen option; two may look alike."""
    return next(number for number, option in enumerate(options) if option is chosen)
