"""Everything a person can do, in one table: keys, footer, command palette and help are made from it.

The id of an action is its key under ``[tui.keys]`` in the settings. It begins with the place of the action: "app" for
everywhere, else a screen or a dialog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content


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
    "list": "In every list",
    "line": "On the search line",
    "question": "On a line that asks for something",
    "picker": "Choosing from a list",
    "palette": "Finding an action",
    "help": "Reading this page",
    "recall": "Recall",
    "why": "Why a message matched",
    "conversations": "Conversations",
    "reading": "Reading a conversation",
    "context": "Context",
    "present": "Choosing a conversation",
    "jump": "Going somewhere",
    "memory": "Memory",
    "inbox": "Inbox",
    "offer": "Importing files",
    "vitals": "Vitals",
    "people": "People",
    "calendar": "Calendar",
    "attachments": "Attachments",
    "forget": "Forgetting messages",
    "export": "Exporting",
}
"""Where actions apply, in the order of the help."""

SHORT_PLACES = {
    **PLACES,
    "reading": "Reading",
    "forget": "Forget",
    "why": "Why",
    "present": "Choose",
    "question": "Question",
    "picker": "Choose",
    "palette": "Palette",
    "help": "Help",
    "jump": "Go to",
    "offer": "Import",
}
"""The places in a word, as the palette names them."""

SCREENS = ("recall", "conversations", "context", "memory", "inbox", "vitals", "people")
"""The screens, in the order of the bar."""

ACTIONS: tuple[Action, ...] = (
    Action("app.recall", "f1", "go('recall')", "Recall", "Search all messages."),
    Action("app.conversations", "f2", "go('conversations')", "Conversations", "Browse and read conversations.", False),
    Action("app.context", "f3", "go('context')", "Context", "See the context that an assistant gets.", False),
    Action(
        "app.memory", "f4", "go('memory')", "Memory", "Facts about you, summaries, pinned messages, core memory.", False
    ),
    Action("app.inbox", "f5", "go('inbox')", "Inbox", "Imported files and files in the queue.", False),
    Action("app.vitals", "f6", "go('vitals')", "Vitals", "Health, size and speed of the memory.", False),
    Action("app.people", "f7", "go('people')", "People", "Who wrote the messages, in all sources.", False),
    Action("app.help", "f10,question_mark", "help", "Help", "This page."),
    Action("app.jump", "colon", "jump", "Go to", "Go to a screen, a conversation, a person, a date or a message."),
    Action("app.palette", "ctrl+p", "command_palette", "Palette", "Find an action of any screen by name."),
    Action("app.switch_user", "ctrl+g", "switch_user", "User", "Show the memory of another user.", False),
    Action("app.demo", "f9", "demo", "Demo", "Show sample chats; press again to return to your own.", False),
    Action(
        "app.watch_found", "f8", "watch_found", "Import all", "Import all that was found on this machine, and watch it."
    ),
    Action("app.undo", "u", "undo", "Undo", "Take back your last pin, tag, title, feedback, fact, decision or text."),
    Action("app.calendar", "ctrl+y", "calendar", "Calendar", "The days of a year; pick one and read it.", False),
    Action("app.forget", "f12", "forget", "Forget", "Erase by words, title, person, time or file."),
    Action("app.theme", "ctrl+t", "next_theme", "Theme", "Switch to the next theme.", False),
    Action("app.suspend", "ctrl+z", "suspend_process", "Suspend", "Leave for the shell; 'fg' returns.", False),
    Action("app.quit", "ctrl+q", "quit", "Quit", "Quit. Everything is already stored."),
    Action("list.down", "down,j", "list_step(1)", "Down", "Next item; a tall message scrolls first.", False),
    Action("list.up", "up,k", "list_step(-1)", "Up", "Previous item.", False),
    Action("list.page_down", "pagedown,ctrl+f", "list_page(1)", "Page down", "One screen down.", False),
    Action("list.page_up", "pageup,ctrl+b", "list_page(-1)", "Page up", "One screen up.", False),
    Action("list.first", "home,g", "list_end(False)", "First", "First item.", False),
    Action("list.last", "end,G", "list_end(True)", "Last", "Last item.", False),
    Action("list.type", "slash", "list_type", "Type", "Go to the line to type in.", False),
    Action("line.leave", "tab", "leave", "Commands", "Leave the line for the list, where letters are commands."),
    Action("line.down", "down", "move(1)", "Next", "Next item of the list; the query after an earlier one."),
    Action("line.up", "up", "move(-1)", "Earlier", "Previous item; on an empty line, the query before."),
    Action("question.answer", "enter", "submit", "Enter", "Take what is typed."),
    Action("question.leave", "escape", "leave", "Cancel", "Close the line; nothing changes."),
    Action("picker.choose", "enter", "choose", "Choose", "Choose the selected row."),
    Action("picker.close", "escape", "leave", "Close", "Close without choosing."),
    Action("picker.next", "down", "list_step(1)", "Next", "Next row."),
    Action("picker.previous", "up", "list_step(-1)", "Previous", "Previous row."),
    Action("palette.run", "enter", "run", "Run", "Do what is selected."),
    Action("palette.close", "escape", "close", "Close", "Close without doing anything."),
    Action("palette.next", "down", "step(1)", "Next", "Next action."),
    Action("palette.previous", "up", "step(-1)", "Previous", "Previous action."),
    Action("help.close", "escape", "dismiss", "Close", "Close this page."),
    Action("help.down", "down", "list_step(1)", "Down", "Scroll down."),
    Action("help.up", "up", "list_step(-1)", "Up", "Scroll up."),
    Action("recall.type", "tab", "type_on", "Type on", "Back to the search line, to type on."),
    Action("recall.search", "slash", "search", "Search", "Go to the search line."),
    Action("recall.open", "enter", "open", "Open", "Open the message in its conversation."),
    Action("recall.pin", "p", "pin", "Pin", "Pin or unpin the message."),
    Action("recall.unpin", "delete", "unpin", "Unpin", "On the start page: unpin the selected message."),
    Action("recall.why", "w", "why", "Why", "Why the message matched: each part of its score."),
    Action("recall.tags", "t", "tags", "Tags", "Tag the conversation, or all selected ones."),
    Action("recall.export", "x", "export", "Export", "Save the message or all selected ones: Markdown, HTML, JSONL."),
    Action("recall.select", "space", "select", "Select", "Select the message or unselect it; escape clears."),
    Action("recall.why_not", "W", "why_not", "Why not", "Why a given message did not match.", False),
    Action(
        "recall.filter", "f", "filter", "Filter", "Filter by person, source, role, tag, user or time; drop a filter."
    ),
    Action("recall.sort", "s", "sort", "Sort", "Best hits first, or the newest."),
    Action("recall.clear", "X", "clear_filters", "Clear filters", "Clear all filters; f drops one of them."),
    Action("recall.copy", "y", "copy", "Copy", "Copy the whole message."),
    Action(
        "recall.feedback", "v", "feedback", "Worth", "Say what the message was worth: helpful, used, wrong or outdated."
    ),
    Action("recall.forget", "d", "forget", "Forget", "Erase the message for good, after a preview."),
    Action("recall.source", "o", "source", "Source", "Open the file that the message came from.", False),
    Action("recall.extend", "shift+down", "extend(1)", "Select on", "Select this message and the next one.", False),
    Action(
        "recall.extend_back", "shift+up", "extend(-1)", "Select back", "Select this message and the one before.", False
    ),
    Action("recall.editor", "e", "editor", "Editor", "Read the message in $EDITOR, or all selected ones."),
    Action(
        "recall.back",
        "escape",
        "back",
        "Start page",
        "Twice in a row: the start page; on its line, up brings the search back.",
    ),
    Action("recall.person", "P", "person", "Person", "Who wrote the message, on the People screen.", False),
    Action("conversations.read", "enter", "read", "Read", "Read the conversation."),
    Action("conversations.clear", "X,escape", "clear", "All", "Clear all filters."),
    Action("conversations.title", "slash", "title", "Titles", "Filter by words in the title."),
    Action("conversations.sort", "s", "sort", "Sort", "Sort by last message, start, title, length or importance."),
    Action("conversations.reverse", "S", "reverse", "Reverse", "Reverse the order.", False),
    Action("conversations.source", "f", "source", "Source", "Filter by source or tag; or list those of tools too."),
    Action("conversations.pinned", "P", "pinned", "Pinned", "Show only pinned conversations, or all."),
    Action("conversations.pin", "p", "pin", "Pin", "Pin or unpin the conversation."),
    Action(
        "conversations.select", "space", "select", "Select", "Select the conversation or unselect it; escape clears."
    ),
    Action("conversations.rename", "r", "rename", "Rename", "Change the title; imports no longer replace it."),
    Action("conversations.forget", "d", "forget", "Forget", "Erase the conversation for good, after a preview."),
    Action(
        "conversations.extend",
        "shift+down",
        "extend(1)",
        "Select on",
        "Select this conversation and the next one.",
        False,
    ),
    Action(
        "conversations.extend_back",
        "shift+up",
        "extend(-1)",
        "Select back",
        "Select this conversation and the one before.",
        False,
    ),
    Action(
        "conversations.export",
        "x",
        "export",
        "Export",
        "Save the conversation or all selected ones: Markdown, HTML, JSONL.",
    ),
    Action("conversations.editor", "e", "editor", "Editor", "Read the conversation in $EDITOR, or all selected ones."),
    Action("conversations.tags", "t", "tags", "Tags", "Tag the conversation, or all selected ones.", False),
    Action("conversations.calendar", "c", "calendar", "Calendar", "The days of a year; pick one and read it."),
    Action("conversations.attachments", "A", "attachments", "Files", "The files of the conversation, or all.", False),
    Action("reading.back", "escape,q", "back", "Back", "Go back."),
    Action("reading.pin", "p", "pin", "Pin", "Pin or unpin the message."),
    Action("reading.find", "slash", "find", "Find", "Find words in this conversation."),
    Action("reading.select", "space", "select", "Select", "Select the message or unselect it; escape clears."),
    Action("reading.next_hit", "right_square_bracket", "hit(1)", "Next hit", "Next hit, or the next day."),
    Action("reading.next_found", "n", "found(1)", "Next match", "Next match of the words."),
    Action("reading.forget", "d", "forget", "Forget", "Erase the message for good, after a preview."),
    Action("reading.fold", "enter,tab", "fold", "Unfold", "Unfold or fold a long message."),
    Action("reading.summary", "s", "summary", "Summary", "The whole summary, none of it, or its first lines."),
    Action("reading.copy", "y", "copy", "Copy", "Copy the message as written."),
    Action(
        "reading.feedback",
        "v",
        "feedback",
        "Worth",
        "Say what the message was worth: helpful, used, wrong or outdated.",
    ),
    Action("reading.previous_hit", "left_square_bracket", "hit(-1)", "Previous hit", "Previous hit, or day.", False),
    Action("reading.next_day", "right_curly_bracket", "day(1)", "Next day", "Start of the next day.", False),
    Action("reading.previous_day", "left_curly_bracket", "day(-1)", "Previous day", "Start of the day before.", False),
    Action("reading.date", "D", "date", "Date", "Go to a date, or a time such as 'last May'."),
    Action("reading.previous_found", "N", "found(-1)", "Previous match", "Previous match of the words.", False),
    Action("reading.quotes", "0", "quotes", "Quotes", "Choose a quoted message; 1 to 9 go there directly.", False),
    Action("reading.attachments", "o", "attachments", "Files", "Open a file that is attached to the message.", False),
    Action("reading.files", "A", "files", "All files", "The files of the conversation, or all.", False),
    Action("reading.person", "P", "person", "Person", "Who wrote the message, on the People screen.", False),
    Action("reading.branches", "b", "branches", "Branches", "Go to the parent conversation or to a branch."),
    Action("reading.raw", "m", "raw", "As written", "Show Markdown as written, or formatted.", False),
    Action("reading.extend", "shift+down", "extend(1)", "Select on", "Select this message and the next one.", False),
    Action(
        "reading.extend_back", "shift+up", "extend(-1)", "Select back", "Select this message and the one before.", False
    ),
    Action("reading.export", "x", "export", "Export", "Save the message or all selected ones: Markdown, HTML, JSONL."),
    Action("reading.editor", "e", "editor", "Editor", "Read the conversation in $EDITOR, or what is selected."),
    Action("reading.tags", "t", "tags", "Tags", "Tag the conversation, or all selected ones.", False),
    Action("why.close", "escape,w,q", "dismiss", "Close", "Back to the results."),
    Action("why.down", "down", "list_step(1)", "Down", "Scroll down."),
    Action("why.up", "up", "list_step(-1)", "Up", "Scroll up."),
    Action(
        "inbox.retry",
        "enter",
        "retry",
        "Retry",
        "Import the file again if it was not read completely; else choose among what it gave.",
    ),
    Action("inbox.other_list", "tab", "other_list", "Other list", "Go to the imported files, or to the watched ones."),
    Action("inbox.retry_all", "R", "retry_all", "Retry all", "Import all failed and partly read files again.", False),
    Action("inbox.resume", "r", "resume", "Resume", "Read the rest of the imports that were broken off."),
    Action("inbox.give_up", "X", "give_up", "Give up", "Leave a stopped import as it is; what was read stays.", False),
    Action("inbox.contents", "i", "contents", "Contents", "What the file gave: choose a conversation to read."),
    Action("inbox.add", "a", "add", "Add", "Import a file or folder by its path."),
    Action("inbox.filter", "slash", "filter", "Filter", "Filter by words of the path or the reason."),
    Action("inbox.clear", "escape", "clear", "All", "Clear the filter.", False),
    Action("inbox.preview", "v", "preview", "Preview", "What an import would add; changes nothing."),
    Action("inbox.stop", "x", "stop", "Stop", "Stop the import; what is stored stays, the rest can be imported later."),
    Action("inbox.copy", "y", "copy", "Copy", "Copy the path.", False),
    Action("offer.read", "enter", "read", "Import", "Import the files."),
    Action("offer.preview", "v", "preview", "Preview", "What the import would add; changes nothing."),
    Action("offer.complete", "tab", "complete", "Complete", "Complete the name of the file or folder."),
    Action("offer.close", "escape", "close", "Close", "Back from the preview; else close without importing."),
    Action("vitals.table", "t", "table", "Table", "Show tables instead of plots, for screen readers."),
    Action("vitals.months", "m", "months", "Months", "Messages per month, or the running total."),
    Action("vitals.refresh", "r", "refresh", "Refresh", "Refresh now.", False),
    Action("context.say", "slash", "say", "Message", "Go to the line for the user's message."),
    Action("context.open", "enter", "open", "Open", "Open the selected message in its conversation."),
    Action(
        "context.feedback",
        "v",
        "feedback",
        "Worth",
        "Say what the selected memory was worth: helpful, used, wrong or outdated.",
    ),
    Action(
        "context.more", "plus", "share(1)", "More of the layer", "Give the selected layer a larger share of the budget."
    ),
    Action("context.less", "minus", "share(-1)", "Less of it", "Give the selected layer a smaller share."),
    Action("context.larger", "right_square_bracket", "budget(True)", "Larger budget", "Next larger token budget."),
    Action("context.smaller", "left_square_bracket", "budget(False)", "Smaller budget", "Next smaller token budget."),
    Action("context.preset", "t", "preset", "Preset", "Use the shares of the next preset."),
    Action("context.reset", "0", "reset", "Reset", "Restore the shares of the preset.", False),
    Action("context.session", "s", "session", "Conversation", "Choose the current conversation."),
    Action("context.copy", "y", "copy", "Copy", "Copy the whole prompt."),
    Action("present.leave", "escape", "leave", "Close", "Close without choosing."),
    Action("present.choose", "enter", "choose", "Choose", "Choose the selected conversation."),
    Action("jump.leave", "escape", "leave", "Close", "Close and stay here."),
    Action("jump.choose", "enter", "choose", "Go", "Go to the selected place."),
    Action("memory.facts", "1", "view('facts')", "Facts", "Facts about you, with their evidence.", False),
    Action("memory.review", "2", "view('review')", "Review", "Statements that contradict current facts.", False),
    Action("memory.summaries", "3", "view('summaries')", "Summaries", "Summaries of conversations.", False),
    Action("memory.pinned", "4", "view('pinned')", "Pinned", "Pinned messages.", False),
    Action("memory.core", "5", "view('core')", "Core memory", "Short texts that every context has.", False),
    Action("memory.open", "enter", "open", "Open", "Open the selected message, or the latest evidence."),
    Action("memory.accept", "a", "accept", "Accept", "Confirm the fact; messages no longer change it."),
    Action("memory.correct", "c", "correct", "Correct", "Correct the fact, or a block of one line."),
    Action("memory.reject", "r", "reject", "Reject", "Reject the fact; the same words do not bring it back."),
    Action("memory.versions", "v", "versions", "Versions", "The texts that a block of core memory had; choose one."),
    Action("memory.limit", "l", "limit", "Limit", "The most characters of a block of core memory."),
    Action("memory.protect", "o", "protect", "Only you", "Whether only you may change a block, or assistants too."),
    Action("memory.add", "n", "add", "Add", "Add a fact: a sentence, or name = value; a block: name = text."),
    Action("memory.filter", "slash", "filter", "Filter", "Filter by words."),
    Action("memory.clear", "escape", "clear", "All", "Clear the filter.", False),
    Action("memory.which", "s", "which", "Show", "Show current, ended, … facts; summaries of another level."),
    Action("memory.more", "plus", "more", "More", "Load more summaries.", False),
    Action("memory.importance", "i", "importance", "Importance", "Importance of the selected message."),
    Action("memory.pin", "p", "pin", "Pin", "Pin or unpin the selected message."),
    Action("memory.forget", "d", "forget", "Forget", "Erase the selected message, block, or others, for good."),
    Action("memory.select", "space", "select", "Select", "Select the entry or unselect it; escape clears."),
    Action("memory.extend", "shift+down", "extend(1)", "Select on", "Select this entry and the next one.", False),
    Action(
        "memory.extend_back", "shift+up", "extend(-1)", "Select back", "Select this entry and the one before.", False
    ),
    Action("memory.export", "x", "export", "Export", "Save the entry or all selected ones: Markdown, HTML, JSONL."),
    Action("memory.editor", "e", "editor", "Editor", "Read the entries in $EDITOR; change a block of core memory."),
    Action("export.save", "enter", "save", "Save", "Save to the path."),
    Action("export.close", "escape", "dismiss", "Close", "Close without saving."),
    Action("export.format", "tab", "format(1)", "Format", "Next format."),
    Action("export.format_back", "shift+tab", "format(-1)", "Format back", "Previous format.", False),
    Action("people.open", "enter", "open", "Messages", "Search all messages of the person, in all sources."),
    Action("people.filter", "slash", "filter", "Filter", "Filter by name, address, number or source."),
    Action(
        "people.clear",
        "escape",
        "back",
        "Back",
        "Clear the filter; else back to the list, then to the screen before.",
        False,
    ),
    Action("people.sort", "s", "sort", "Sort", "Sort by messages, last message, name, conversations or start."),
    Action("people.accept", "a", "accept", "Same", "Accept the proposal: both are one person."),
    Action("people.reject", "r", "reject", "Different", "Reject the proposal: they are two people."),
    Action(
        "people.merge", "m", "merge", "Merge", "Make one of the selected people, or choose another who is the same."
    ),
    Action("people.select", "space", "select", "Select", "Select the person or unselect it; escape clears."),
    Action("people.extend", "shift+down", "extend(1)", "Select on", "Select this person and the next one.", False),
    Action(
        "people.extend_back", "shift+up", "extend(-1)", "Select back", "Select this person and the one before.", False
    ),
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
    Action("calendar.filter", "f", "filter", "Filter", "Count only some people's messages, some sources' or tags'."),
    Action("calendar.clear", "X", "clear", "All", "Clear the filters.", False),
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
    Action("forget.erase", "enter", "erase", "Go on", "To the line for the number; with the number in it, erase."),
    Action("forget.close", "escape", "close", "Close", "Close; nothing changes before you confirm."),
    Action("forget.choose", "space", "choose", "Choose", "Erase also the selected item that repeats it.", False),
    Action("forget.echoes", "ctrl+o", "echoes", "Repeats", "Erase also all that repeats it, or nothing of it."),
    Action("forget.receipts", "ctrl+r", "receipts", "Receipts", "Receipts of earlier erasures."),
    Action("forget.copy", "y", "copy", "Copy", "Copy the receipt."),
    Action("forget.save", "ctrl+s", "save", "Save", "Save the receipt to a file that only you can read."),
)


HELP_SHARE = 0.1
"""What a match in the sentence of an action counts: less than any in a name."""


def actions(*places: str) -> Iterator[Action]:
    """The actions of some places."""
    return (action for action in ACTIONS if action.place in places)


def bindings(place: str) -> list[Binding]:
    """The keys of a place as Textual's bindings."""
    return [
        Binding(action.keys, action.action, action.name, action.show_in_footer, tooltip=action.help, id=action.id)
        for action in actions(place)
    ]


@runtime_checkable
class SaysWhyNot(Protocol):
    """A screen that knows which actions would do nothing now."""

    def why_not(self, id: str) -> str:
        """Why an action would do nothing now; "" if it does something, or says so itself."""


class ActionProvider(Provider):
    """The command palette: every action, by the name of its screen. One of another screen goes there first."""

    async def discover(self) -> Hits:
        for action in self._offered_actions():
            yield DiscoveryHit(
                f"{_title(action)}  {self._keys(action)}", self._run(action), _title(action), action.help
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._offered_actions():
            title = _title(action)
            score = matcher.match(title) or HELP_SHARE * _has_words(action.help, query)
            if score > 0:
                shown = Content.assemble(matcher.highlight(title), (f"  {self._keys(action)}", "$foreground-muted"))
                yield Hit(score, shown, self._run(action), title, action.help)

    def _offered_actions(self) -> Iterator[Action]:
        """Those of the current screen first. Dialogs and a conversation have theirs while they are open."""
        place = getattr(self.screen, "PLACE", "")
        yield from actions(place)
        yield from actions("app", "list")
        if not self.screen.is_modal:
            yield from actions(*(screen for screen in SCREENS if screen != place))

    def _keys(self, action: Action) -> str:
        return display_keys(action, self.app._keymap)

    def _run(self, action: Action) -> Callable[[], Coroutine[None, None, None]]:
        async def run() -> None:
            app, place = self.app, action.place
            if place in SCREENS and place != app.current_mode:
                await app.switch_mode(place)
            if place in SCREENS and place != getattr(app.screen, "PLACE", ""):  # a conversation is open on it
                await app.run_action(f"go({place!r})", app)
            if isinstance(app.screen, SaysWhyNot) and (reason := app.screen.why_not(action.id)):
                app.notify(reason, timeout=3)
                return
            await app.run_action(action.action, app if place == "app" else app.screen)

        return run


def _has_words(sentence: str, query: str) -> bool:
    """Whether words of a sentence begin with those of a query: a sentence has most letters of any word somewhere."""
    words = re.findall(r"\w+", sentence.casefold())
    return all(any(word.startswith(part) for word in words) for part in re.findall(r"\w+", query.casefold()))


def _title(action: Action) -> str:
    return action.name if action.place in ("app", "list") else f"{SHORT_PLACES[action.place]}: {action.name}"


def display_keys(action: Action, keymap: Mapping[str, str]) -> str:
    """The keys of an action as a person reads them, with those of the settings."""
    return " ".join(map(display_key, keymap.get(action.id, action.keys).split(",")))


def first_key(id: str, keymap: Mapping[str, str]) -> str:
    """The first key of an action, by its id, as a person reads it."""
    keys = keymap.get(id) or next(action.keys for action in ACTIONS if action.id == id)
    return display_key(keys.partition(",")[0])


_DISPLAY = {
    "ctrl": "^", "escape": "esc", "question_mark": "?", "slash": "/", "colon": ":", "plus": "+", "minus": "-",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "up": "↑", "down": "↓", "pageup": "pgup", "pagedown": "pgdn",
}  # fmt: skip


def display_key(key: str) -> str:
    """A key as a person reads it."""
    return "+".join(_DISPLAY.get(part, part) for part in key.split("+")).replace("^+", "^")
