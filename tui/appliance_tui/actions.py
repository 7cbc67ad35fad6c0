"""Everything that can be done, once: keys, footer, palette and help are all made from this table.

An action's id is what a person re-maps it by in the settings (``[tui.keys]``). Ids begin with where the action is
there: "app" is everywhere, else it is a screen or a part of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Action:
    """``keys`` as Textual names them, several separated by commas; ``does`` is its action string. ``name`` stands in
    the footer, if it is ``shown`` there, and in the palette; ``help`` says more in a sentence. With ``typing`` the keys
    work while a person types, too."""

    id: str
    keys: str
    does: str
    name: str
    help: str
    shown: bool = True
    typing: bool = False

    @property
    def place(self) -> str:
        return self.id.partition(".")[0]


PLACES: dict[str, str] = {
    "app": "Everywhere",
    "recall": "Recall",
    "why": "Why a message was found",
    "conversations": "Conversations",
    "reading": "Reading a conversation",
    "context": "Context",
    "present": "Choosing a conversation",
    "memory": "Memory",
    "inbox": "Inbox",
    "offer": "Files to be read",
    "vitals": "Vitals",
    "forget": "Forgetting",
}
"""Where actions are, in the order of the help."""

SCREENS = ("recall", "conversations", "context", "memory", "inbox", "vitals")
"""The screens, in the order of the bar."""

ACTIONS: tuple[Action, ...] = (
    # --- everywhere
    Action("app.recall", "f1", "go('recall')", "Recall", "Find anything that was said.", False, True),
    Action(
        "app.conversations",
        "f2",
        "go('conversations')",
        "Conversations",
        "Read whole conversations.",
        False,
        True,
    ),
    Action(
        "app.context", "f3", "go('context')", "Context", "See what an assistant would be told.", False, True
    ),
    Action(
        "app.memory", "f4", "go('memory')", "Memory", "What is known of you, and what is open.", False, True
    ),
    Action(
        "app.inbox",
        "f5",
        "go('inbox')",
        "Inbox",
        "The files that were read, and those that wait.",
        False,
        True,
    ),
    Action("app.vitals", "f6", "go('vitals')", "Vitals", "How the memory is, in numbers.", False, True),
    Action("app.help", "question_mark,f10", "help", "Help", "This page."),
    Action("app.palette", "ctrl+p", "command_palette", "Palette", "Find any action by its name.", True, True),
    Action(
        "app.demo",
        "f9",
        "demo",
        "Demo",
        "Look at sample chats, apart from your own; again: back.",
        False,
        True,
    ),
    Action("app.theme", "ctrl+t", "next_theme", "Theme", "The next of the themes.", False, True),
    Action(
        "app.quit", "ctrl+q", "quit", "Quit", "Leave. Nothing is lost: all is stored as it comes.", True, True
    ),
    # --- recall
    Action("recall.search", "slash", "search", "Search", "Go to the search line."),
    Action("recall.open", "enter", "open", "Open", "Open the message in its conversation, at its place."),
    Action("recall.why", "w", "why", "Why", "Why it was found: each leg and each feature, as bars."),
    Action("recall.why_not", "W", "why_not", "Why not", "Why a message that you name was not found.", False),
    Action("recall.filter", "f", "filter", "Filter", "Narrow by user, source, role or time."),
    Action("recall.clear", "x", "clear_filters", "Clear filters", "Drop all filters.", False),
    Action("recall.copy", "y", "copy", "Copy", "Copy the whole message."),
    Action("recall.pin", "p", "pin", "Pin", "Pin the message, or let it go again."),
    Action(
        "recall.forget", "d", "forget", "Forget", "Erase the message for good, after a look at what goes."
    ),
    Action("recall.source", "o", "source", "Source", "Open the file that it came from.", False),
    # --- conversations
    Action("conversations.read", "enter", "read", "Read", "Read the conversation."),
    Action("conversations.title", "slash", "title", "Titles", "Only those with these words in the title."),
    Action(
        "conversations.sort", "s", "sort", "Sort", "By last message, beginning, title, length or importance."
    ),
    Action(
        "conversations.reverse", "S", "reverse", "Turn round", "The same order from its other end.", False
    ),
    Action("conversations.source", "f", "source", "Source", "Only those of one source."),
    Action("conversations.pinned", "P", "pinned", "Pinned", "Only those that are pinned, or all again."),
    Action("conversations.clear", "x", "clear", "All", "Drop all filters.", False),
    Action("conversations.pin", "p", "pin", "Pin", "Pin the conversation, or let it go again."),
    Action("conversations.rename", "r", "rename", "Rename", "Give it a title that stays."),
    Action(
        "conversations.forget",
        "d",
        "forget",
        "Forget",
        "Erase the whole conversation for good, after a look at what goes.",
    ),
    Action("conversations.down", "down,j", "move(1)", "Down", "The next conversation.", False),
    Action("conversations.up", "up,k", "move(-1)", "Up", "The one before.", False),
    Action("conversations.page_down", "pagedown,ctrl+f", "page(1)", "Page down", "A screen further.", False),
    Action("conversations.page_up", "pageup,ctrl+b", "page(-1)", "Page up", "A screen back.", False),
    Action("conversations.first", "home", "first", "First", "The first one.", False),
    Action("conversations.last", "end", "last", "Last", "The last one, once all are listed.", False),
    # --- reading
    Action("reading.back", "escape,q", "back", "Back", "Back to where you came from."),
    Action(
        "reading.next", "down,j", "move(1)", "Next", "The next message; a high one is scrolled first.", False
    ),
    Action("reading.previous", "up,k", "move(-1)", "Previous", "The message before.", False),
    Action("reading.page_down", "pagedown,ctrl+f", "page(1)", "Page down", "A screen further.", False),
    Action("reading.page_up", "pageup,ctrl+b", "page(-1)", "Page up", "A screen back.", False),
    Action("reading.first", "home", "first", "Beginning", "The first message.", False),
    Action("reading.last", "end,G", "last", "End", "The last message.", False),
    Action(
        "reading.next_day", "right_square_bracket", "day(1)", "Next day", "Where the next day begins.", False
    ),
    Action("reading.previous_day", "left_square_bracket", "day(-1)", "Day before", "The day before.", False),
    Action("reading.date", "g", "date", "Date", "Go to a year, a month or a day."),
    Action("reading.fold", "enter,space", "fold", "Unfold", "Show all of a long message, or fold it again."),
    Action("reading.find", "slash", "find", "Find", "Look for words in this conversation."),
    Action("reading.next_found", "n", "found(1)", "Next found", "The next place where they stand.", False),
    Action("reading.previous_found", "N", "found(-1)", "Found before", "The place before.", False),
    Action("reading.summary", "s", "summary", "Summary", "Show all of the summary, or its first lines."),
    Action(
        "reading.quotes",
        "0",
        "quotes",
        "Of the summary",
        "Choose a line of the summary and go to its message; 1 to 9 go there at once.",
        False,
    ),
    Action("reading.copy", "y", "copy", "Copy", "Copy the message as it was written."),
    Action("reading.pin", "p", "pin", "Pin", "Pin the message, or let it go again."),
    Action(
        "reading.forget", "d", "forget", "Forget", "Erase the message for good, after a look at what goes."
    ),
    Action(
        "reading.branches", "b", "branches", "Branches", "Go to what this branched from, or its branches."
    ),
    Action("reading.raw", "m", "raw", "As written", "Show Markdown as it was written, or drawn.", False),
    # --- why
    Action("why.close", "escape,w,q", "dismiss", "Close", "Back to the results."),
    # --- inbox
    Action(
        "inbox.retry",
        "enter",
        "retry",
        "Read again",
        "Read the file again: what is known already is passed over.",
    ),
    Action(
        "inbox.retry_all",
        "R",
        "retry_all",
        "Retry all",
        "Read all again that failed, or were read in part.",
        False,
    ),
    Action("inbox.add", "a", "add", "Add", "Read a file or folder whose path you type."),
    Action(
        "inbox.preview", "v", "preview", "Preview", "What reading the file would bring; nothing is changed."
    ),
    Action(
        "inbox.stop",
        "x",
        "stop",
        "Stop",
        "Break off the reading: what was stored stays, the rest can be read later.",
    ),
    Action("inbox.copy", "y", "copy", "Copy", "Copy the path.", False),
    # --- files to be read
    Action("offer.read", "enter", "read", "Read", "Read them into the memory."),
    Action("offer.preview", "v", "preview", "Preview", "What reading them would bring; nothing is changed."),
    Action("offer.close", "escape", "dismiss", "Close", "Leave them."),
    # --- vitals
    Action("vitals.table", "t", "table", "Table", "The same as plain tables, for those who don't see plots."),
    Action("vitals.months", "m", "months", "Months", "Messages over time: each month, or all until then."),
    Action("vitals.refresh", "r", "refresh", "Refresh", "Look again now.", False),
    # --- context
    Action("context.say", "slash", "say", "Say", "Go to the line in which you type what the user would say."),
    Action(
        "context.open", "enter", "open", "Open", "Open the marked message in its conversation, at its place."
    ),
    Action("context.more", "plus", "share(1)", "More", "Give the marked layer a larger share of the budget."),
    Action("context.less", "minus", "share(-1)", "Less", "Give the marked layer a smaller share."),
    Action(
        "context.larger",
        "right_square_bracket",
        "budget(True)",
        "Larger",
        "The next larger budget of tokens.",
    ),
    Action(
        "context.smaller",
        "left_square_bracket",
        "budget(False)",
        "Smaller",
        "The next smaller budget of tokens.",
    ),
    Action("context.preset", "t", "preset", "Preset", "Share the budget out as the next preset does."),
    Action("context.reset", "0", "reset", "Reset", "The shares of the preset again.", False),
    Action("context.session", "s", "session", "Conversation", "Choose the conversation that goes on."),
    Action("context.copy", "y", "copy", "Copy", "Copy the whole prompt."),
    # --- present
    Action("present.leave", "escape", "leave", "Leave", "Leave it as it was.", True, True),
    Action("present.choose", "enter", "choose", "Take", "Take the marked conversation.", True, True),
    # --- memory
    Action("memory.facts", "1", "view('facts')", "Facts", "What is known of you, with its evidence.", False),
    Action("memory.review", "2", "view('review')", "Review", "What contradicts what holds.", False),
    Action("memory.summaries", "3", "view('summaries')", "Summaries", "What was said, in short.", False),
    Action("memory.pinned", "4", "view('pinned')", "Pinned", "The messages that you pinned.", False),
    Action(
        "memory.open", "enter", "open", "Open", "Open the marked message, or the one that it is known from."
    ),
    Action("memory.accept", "a", "accept", "Accept", "It is so; no message changes it from then on."),
    Action("memory.correct", "c", "correct", "Correct", "Say what it should have been."),
    Action("memory.reject", "r", "reject", "Reject", "It is not so; the same words do not bring it back."),
    Action("memory.add", "n", "add", "Say", "Tell something yourself: a sentence, or name = value."),
    Action("memory.filter", "slash", "filter", "Filter", "Show only what holds some words."),
    Action("memory.which", "s", "which", "State", "Facts that hold, ended, …; summaries of another level."),
    Action("memory.more", "plus", "more", "More", "Read more of the summaries.", False),
    Action("memory.importance", "i", "importance", "Importance", "How important the marked message is."),
    Action("memory.pin", "p", "pin", "Pin", "Pin the marked message, or let it go again."),
    Action("memory.forget", "d", "forget", "Forget", "Erase the marked message for good, or what you name."),
    # --- forgetting
    Action(
        "forget.close",
        "escape",
        "close",
        "Close",
        "Leave; before the number is given nothing changes.",
        True,
        True,
    ),
    Action(
        "forget.receipts",
        "ctrl+r",
        "receipts",
        "Receipts",
        "What was forgotten so far, with its proofs.",
        True,
        True,
    ),
)


def actions(*places: str) -> Iterator[Action]:
    """The actions of some places."""
    return (action for action in ACTIONS if action.place in places)


def bindings(place: str) -> list[Binding]:
    """The keys of a place, as Textual takes them. Only those that work while a person types go before the typing."""
    return [
        Binding(action.keys, action.does, action.name, action.shown, tooltip=action.help, id=action.id)
        for action in actions(place)
    ]
