"""Everything a person can do, in one table: keys, footer, command palette and help are made from it.

The id of an action is its key under ``[tui.keys]`` in the settings. It begins with the place of the action: "app" for
everywhere, else a screen or a dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person can do. ``keys`` are Textual's names, separated by commas; ``action`` is its action string.
    ``name`` is the label in footer and palette, ``help`` a sentence."""

    id: str
    keys: str
    action: str
    name: str
    help: str
    show_in_footer: bool = True

    @property
    def place(self) -> str:
        return self.id.partition(".")[0]


PLACES: dict[str, str] = {
    "app": "Everywhere",
    "recall": "Recall",
    "why": "Why a message matched",
    "conversations": "Conversations",
    "reading": "Reading a conversation",
    "context": "Context",
    "present": "Choosing a conversation",
    "memory": "Memory",
    "inbox": "Inbox",
    "offer": "Importing files",
    "vitals": "Vitals",
    "people": "People",
    "calendar": "Calendar",
    "attachments": "Attachments",
    "forget": "Forgetting messages",
}
"""Where actions apply, in the order of the help."""

SCREENS = ("recall", "conversations", "context", "memory", "inbox", "vitals", "people")
"""The screens, in the order of the bar."""

ACTIONS: tuple[Action, ...] = (
    Action("app.recall", "f1", "go('recall')", "Recall", "Search all messages.", False),
    Action("app.conversations", "f2", "go('conversations')", "Conversations", "Browse and read conversations.", False),
    Action("app.context", "f3", "go('context')", "Context", "See the context that an assistant gets.", False),
    Action("app.memory", "f4", "go('memory')", "Memory", "Facts about you, summaries and pinned messages.", False),
    Action("app.inbox", "f5", "go('inbox')", "Inbox", "Imported files and files in the queue.", False),
    Action("app.vitals", "f6", "go('vitals')", "Vitals", "Health, size and speed of the memory.", False),
    Action("app.people", "f7", "go('people')", "People", "Who wrote the messages, in all sources.", False),
    Action("app.help", "question_mark,f10", "help", "Help", "This page."),
    Action("app.palette", "ctrl+p", "command_palette", "Palette", "Find an action by name."),
    Action("app.demo", "f9", "demo", "Demo", "Show sample chats; press again to return to your own.", False),
    Action("app.watch_found", "f8", "watch_found", "Watch", "Import and follow what an empty memory found.", False),
    Action("app.calendar", "ctrl+y", "calendar", "Calendar", "The days of a year; pick one and read it.", False),
    Action("app.theme", "ctrl+t", "next_theme", "Theme", "Switch to the next theme.", False),
    Action("app.suspend", "ctrl+z", "suspend_process", "Suspend", "Leave for the shell; 'fg' returns.", False),
    Action("app.quit", "ctrl+q", "quit", "Quit", "Quit. Everything is already stored."),
    Action("recall.search", "slash", "search", "Search", "Go to the search line."),
    Action("recall.open", "enter", "open", "Open", "Open the message in its conversation."),
    Action("recall.why", "w", "why", "Why", "Why the message matched: each part of its score."),
    Action("recall.why_not", "W", "why_not", "Why not", "Why a given message did not match.", False),
    Action("recall.filter", "f", "filter", "Filter", "Filter by user, source, role or time."),
    Action("recall.sort", "s", "sort", "Sort", "Best hits first, or the newest."),
    Action("recall.clear", "x", "clear_filters", "Clear filters", "Clear all filters.", False),
    Action("recall.copy", "y", "copy", "Copy", "Copy the whole message."),
    Action("recall.pin", "p", "pin", "Pin", "Pin or unpin the message."),
    Action("recall.forget", "d", "forget", "Forget", "Erase the message for good, after a preview."),
    Action("recall.source", "o", "source", "Source", "Open the file that the message came from.", False),
    Action("recall.person", "P", "person", "Person", "Who wrote the message, on the People screen.", False),
    Action("conversations.read", "enter", "read", "Read", "Read the conversation."),
    Action("conversations.title", "slash", "title", "Titles", "Filter by words in the title."),
    Action("conversations.sort", "s", "sort", "Sort", "Sort by last message, start, title, length or importance."),
    Action("conversations.reverse", "S", "reverse", "Reverse", "Reverse the order.", False),
    Action("conversations.source", "f", "source", "Source", "Filter by source."),
    Action("conversations.pinned", "P", "pinned", "Pinned", "Show only pinned conversations, or all."),
    Action("conversations.clear", "x", "clear", "All", "Clear all filters.", False),
    Action("conversations.pin", "p", "pin", "Pin", "Pin or unpin the conversation."),
    Action("conversations.rename", "r", "rename", "Rename", "Change the title; imports no longer replace it."),
    Action("conversations.forget", "d", "forget", "Forget", "Erase the conversation for good, after a preview."),
    Action("conversations.tags", "t", "tags", "Tags", "Change the tags of the conversation."),
    Action("conversations.calendar", "c", "calendar", "Calendar", "The days of a year; pick one and read it."),
    Action("conversations.attachments", "A", "attachments", "Files", "The files of the conversation, or all.", False),
    Action("conversations.down", "down,j", "move(1)", "Down", "Next conversation.", False),
    Action("conversations.up", "up,k", "move(-1)", "Up", "Previous conversation.", False),
    Action("conversations.page_down", "pagedown,ctrl+f", "page(1)", "Page down", "One screen down.", False),
    Action("conversations.page_up", "pageup,ctrl+b", "page(-1)", "Page up", "One screen up.", False),
    Action("conversations.first", "home", "first", "First", "First conversation.", False),
    Action("conversations.last", "end", "last", "Last", "Last conversation listed.", False),
    Action("reading.back", "escape,q", "back", "Back", "Go back."),
    Action("reading.next", "down,j", "move(1)", "Next", "Next message; a tall one scrolls first.", False),
    Action("reading.previous", "up,k", "move(-1)", "Previous", "Previous message.", False),
    Action("reading.page_down", "pagedown,ctrl+f", "page(1)", "Page down", "One screen down.", False),
    Action("reading.page_up", "pageup,ctrl+b", "page(-1)", "Page up", "One screen up.", False),
    Action("reading.first", "home", "first", "Start", "First message.", False),
    Action("reading.last", "end,G", "last", "End", "Last message.", False),
    Action("reading.next_hit", "right_square_bracket", "hit(1)", "Next hit", "Next hit, or the next day.", False),
    Action("reading.previous_hit", "left_square_bracket", "hit(-1)", "Previous hit", "Previous hit, or day.", False),
    Action("reading.next_day", "right_curly_bracket", "day(1)", "Next day", "Start of the next day.", False),
    Action("reading.previous_day", "left_curly_bracket", "day(-1)", "Previous day", "Start of the day before.", False),
    Action("reading.date", "g", "date", "Date", "Go to a year, a month or a day."),
    Action("reading.fold", "enter,space", "fold", "Unfold", "Unfold or fold a long message."),
    Action("reading.find", "slash", "find", "Find", "Find words in this conversation."),
    Action("reading.next_found", "n", "found(1)", "Next match", "Next match of the words.", False),
    Action("reading.previous_found", "N", "found(-1)", "Previous match", "Previous match of the words.", False),
    Action("reading.summary", "s", "summary", "Summary", "Show the whole summary, or its first lines."),
    Action("reading.quotes", "0", "quotes", "Quotes", "Choose a quoted message; 1 to 9 go there directly.", False),
    Action("reading.copy", "y", "copy", "Copy", "Copy the message as written."),
    Action("reading.pin", "p", "pin", "Pin", "Pin or unpin the message."),
    Action("reading.forget", "d", "forget", "Forget", "Erase the message for good, after a preview."),
    Action("reading.attachments", "o", "attachments", "Files", "Open a file that is attached to the message.", False),
    Action("reading.person", "P", "person", "Person", "Who wrote the message, on the People screen.", False),
    Action("reading.branches", "b", "branches", "Branches", "Go to the parent conversation or to a branch."),
    Action("reading.raw", "m", "raw", "As written", "Show Markdown as written, or formatted.", False),
    Action("why.close", "escape,w,q", "dismiss", "Close", "Back to the results."),
    Action("inbox.retry", "enter", "retry", "Retry", "Import the file again; known messages are skipped."),
    Action("inbox.retry_all", "R", "retry_all", "Retry all", "Import all failed and partly read files again.", False),
    Action("inbox.add", "a", "add", "Add", "Import a file or folder by its path."),
    Action("inbox.preview", "v", "preview", "Preview", "What an import would add; changes nothing."),
    Action("inbox.stop", "x", "stop", "Stop", "Stop the import; what is stored stays, the rest can be imported later."),
    Action("inbox.copy", "y", "copy", "Copy", "Copy the path.", False),
    Action("offer.read", "enter", "read", "Import", "Import the files."),
    Action("offer.preview", "v", "preview", "Preview", "What the import would add; changes nothing."),
    Action("offer.close", "escape", "dismiss", "Close", "Close without importing."),
    Action("vitals.table", "t", "table", "Table", "Show tables instead of plots, for screen readers."),
    Action("vitals.months", "m", "months", "Months", "Messages per month, or the running total."),
    Action("vitals.refresh", "r", "refresh", "Refresh", "Refresh now.", False),
    Action("context.say", "slash", "say", "Message", "Go to the line for the user's message."),
    Action("context.open", "enter", "open", "Open", "Open the selected message in its conversation."),
    Action("context.more", "plus", "share(1)", "More", "Give the selected layer a larger share of the budget."),
    Action("context.less", "minus", "share(-1)", "Less", "Give the selected layer a smaller share."),
    Action("context.larger", "right_square_bracket", "budget(True)", "Larger", "Next larger token budget."),
    Action("context.smaller", "left_square_bracket", "budget(False)", "Smaller", "Next smaller token budget."),
    Action("context.preset", "t", "preset", "Preset", "Use the shares of the next preset."),
    Action("context.reset", "0", "reset", "Reset", "Restore the shares of the preset.", False),
    Action("context.session", "s", "session", "Conversation", "Choose the current conversation."),
    Action("context.copy", "y", "copy", "Copy", "Copy the whole prompt."),
    Action("present.leave", "escape", "leave", "Cancel", "Close without choosing."),
    Action("present.choose", "enter", "choose", "Choose", "Choose the selected conversation."),
    Action("memory.facts", "1", "view('facts')", "Facts", "Facts about you, with their evidence.", False),
    Action("memory.review", "2", "view('review')", "Review", "Statements that contradict current facts.", False),
    Action("memory.summaries", "3", "view('summaries')", "Summaries", "Summaries of conversations.", False),
    Action("memory.pinned", "4", "view('pinned')", "Pinned", "Pinned messages.", False),
    Action("memory.open", "enter", "open", "Open", "Open the selected message, or the latest evidence."),
    Action("memory.accept", "a", "accept", "Accept", "Confirm the fact; messages no longer change it."),
    Action("memory.correct", "c", "correct", "Correct", "Correct the fact."),
    Action("memory.reject", "r", "reject", "Reject", "Reject the fact; the same words do not bring it back."),
    Action("memory.add", "n", "add", "Add", "Add a fact: a sentence, or name = value."),
    Action("memory.filter", "slash", "filter", "Filter", "Filter by words."),
    Action("memory.which", "s", "which", "Show", "Show current, ended, … facts; summaries of another level."),
    Action("memory.more", "plus", "more", "More", "Load more summaries.", False),
    Action("memory.importance", "i", "importance", "Importance", "Importance of the selected message."),
    Action("memory.pin", "p", "pin", "Pin", "Pin or unpin the selected message."),
    Action("memory.forget", "d", "forget", "Forget", "Erase the selected message, or others, for good."),
    Action("people.open", "enter", "open", "Messages", "Search all messages of the person, in all sources."),
    Action("people.filter", "slash", "filter", "Filter", "Filter by name, address, number or source."),
    Action("people.sort", "s", "sort", "Sort", "Sort by messages, last message, name, conversations or start."),
    Action("people.accept", "a", "accept", "Same", "Accept the proposal: both are one person."),
    Action("people.reject", "r", "reject", "Different", "Reject the proposal: they are two people."),
    Action("people.merge", "m", "merge", "Merge", "Choose another person who is the same."),
    Action("people.split", "S", "split", "Split", "Take an account off: it is another person's."),
    Action("people.rename", "n", "rename", "Name", "Change what the person is called."),
    Action("people.me", "M", "set_me", "Me", "This person is you; facts are read again."),
    Action("people.undo", "u", "undo", "Undo", "Undo the last decision about people."),
    Action("people.calendar", "c", "calendar", "Calendar", "The days on which the person wrote."),
    Action("people.contacts", "b", "contacts", "Contacts", "Also people who are only in an address book.", False),
    Action("people.people", "1", "view('people')", "People", "The people.", False),
    Action("people.proposals", "2", "view('proposals')", "Proposals", "Pairs who may be one person.", False),
    Action("calendar.open", "enter", "open", "Read", "Read the day; choose a conversation if it has several."),
    Action("calendar.back", "escape,q", "back", "Back", "Back to the year, then to the screen before."),
    Action("calendar.next", "n", "next_day(1)", "Next day", "Next day with messages."),
    Action("calendar.previous", "N", "next_day(-1)", "Previous", "Previous day with messages.", False),
    Action("calendar.year_before", "left_square_bracket", "year(-1)", "Year before", "The year before."),
    Action("calendar.year_after", "right_square_bracket", "year(1)", "Year after", "The year after."),
    Action("calendar.today", "t", "today", "Today", "Go to today."),
    Action("calendar.filter", "f", "filter", "Filter", "Count only a person's messages, a source's, a tag's."),
    Action("calendar.clear", "ctrl+x", "clear", "All", "Clear the filters.", False),
    Action("calendar.right", "right,l", "move(7)", "Week after", "The week after.", False),
    Action("calendar.left", "left,h", "move(-7)", "Week before", "The week before.", False),
    Action("calendar.down", "down,j", "move(1)", "Day after", "The day after.", False),
    Action("calendar.up", "up,k", "move(-1)", "Day before", "The day before.", False),
    Action("calendar.first", "home,g", "end(False)", "First", "First day with messages.", False),
    Action("calendar.last", "end,G", "end(True)", "Last", "Last day with messages.", False),
    Action("attachments.open", "enter", "open", "Open", "Open the file with the program for it."),
    Action("attachments.read", "r", "read", "Message", "Read the message that carries the file."),
    Action("attachments.all", "a", "all", "All", "The files of all conversations, or of this one."),
    Action("attachments.kind", "f", "kind", "Kind", "Only images, audio, video or other files."),
    Action("attachments.close", "escape,q", "close", "Close", "Close the list."),
    Action("forget.close", "escape", "close", "Close", "Close; nothing changes before you confirm."),
    Action("forget.receipts", "ctrl+r", "receipts", "Receipts", "Receipts of earlier erasures."),
)


def actions(*places: str) -> Iterator[Action]:
    """The actions of some places."""
    return (action for action in ACTIONS if action.place in places)


def bindings(place: str) -> list[Binding]:
    """The keys of a place as Textual's bindings."""
    return [
        Binding(action.keys, action.action, action.name, action.show_in_footer, tooltip=action.help, id=action.id)
        for action in actions(place)
    ]


class ActionProvider(Provider):
    """The command palette: the actions of the current screen and those of everywhere."""

    async def discover(self) -> Hits:
        for action in self._available_actions():
            yield DiscoveryHit(f"{action.name}  {self._keys(action)}", self._run(action), action.name, action.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._available_actions():
            score = max(matcher.match(action.name), matcher.match(action.help))
            if score > 0:
                yield Hit(score, matcher.highlight(action.name), self._run(action), action.name, action.help)

    def _available_actions(self) -> list[Action]:
        return [*actions(getattr(self.screen, "PLACE", "")), *actions("app")]

    def _keys(self, action: Action) -> str:
        active = self.screen.active_bindings.values()
        return " ".join(self.app.get_key_display(entry.binding) for entry in active if entry.binding.id == action.id)

    def _run(self, action: Action) -> Callable[[], Coroutine[None, None, None]]:
        async def run() -> None:
            await self.app.run_action(action.action, self.app if action.place == "app" else self.screen)

        return run
