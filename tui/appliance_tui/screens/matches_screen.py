"""A screen with a conversation, in which words are looked for and gone through."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import partial
from typing import Any

from appliance_tui.conversation_search import ConversationSearch, batches
from appliance_tui.selecting import SelectingScreen
from appliance_tui.widgets.display_text import pluralize
from appliance_tui.widgets.match_highlights import words_pattern
from appliance_tui.widgets.selectable_transcript import SelectableTranscript
from appliance_tui.workers import begin, show_errors


class MatchesScreen(SelectingScreen):
    """A conversation and what is looked for in it. What leads to it and what is done with its messages is a
    subclass's."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.hits: list[int] = []
        """The indices of the messages that match."""
        self._search_in: ConversationSearch | None = None
        self._matching_words: dict[str, str] = {}
        self._run: range | None = None
        """The messages that the search that runs has looked through, in one piece; None if none runs."""

    @property
    def _is_searching(self) -> bool:
        return self._run is not None

    def must_wait_for_match(self, by: int) -> bool:
        """Whether the next match (``by`` 1) or the previous one (-1) is not known yet: it may lie where has not been
        searched."""
        if self._run is None:
            return False
        mark = self.transcript.mark
        following = bisect_left(self.hits, mark + 1)
        return by < 0 or mark not in self._run or following == len(self.hits) or self.hits[following] not in self._run

    @property
    def transcript(self) -> SelectableTranscript:
        return self.query_one(SelectableTranscript)

    @property
    def selectable(self) -> SelectableTranscript:
        return self.transcript

    def action_find(self) -> None:
        """Ask for words to look for."""
        raise NotImplementedError

    def _show_position(self) -> None:
        raise NotImplementedError

    def _show_note(self, text: str) -> None:
        raise NotImplementedError

    def _end_search(self) -> None:
        """Look for nothing."""
        self.workers.cancel_group(self, "find")
        self._search_in, self.transcript.search_pattern, self._run = None, None, None
        self._set_matches([])
        self.appliance.input_queue.resume()

    def _match_text(self, search: ConversationSearch, mark: int) -> str:
        """ "match 2 of 7" on a message that matches, "7 matches" on others; with what was typed, if that is it."""
        count = len(self.hits)
        if not count:
            none = "searching …" if self._is_searching else "no matches"
            return f"{search.quoted}: {none}" if search.quoted else none
        index = bisect_left(self.hits, mark)
        if index < count and self.hits[index] == mark:
            text = f"{search.quoted or 'match'} {index + 1:,} of {count:,}"
        else:
            text = f"{search.quoted} in {pluralize(count, 'message')}" if search.quoted else _matches(count)
        return f"{text}{', searching …' if self._is_searching else ''}  n N"

    def _begin_search(
        self, search: ConversationSearch, *, goes_to_first: bool = False, start: int | None = None
    ) -> None:
        """Look for something in the conversation, from the current message on or another that is to be the current one;
        ``goes_to_first`` shows the first match as soon as it is found."""
        self._search_in = search
        self._matching_words = {}
        self.transcript.search_pattern = search.pattern
        self._set_matches([])
        start = self.transcript.mark if start is None else start
        self._run = run = range(start, start)
        begin(self, partial(self._search, run, goes_to_first), "find", exclusive=True)

    def _set_matches(self, indices: list[int]) -> None:
        self.hits = self.transcript.match_indices = indices
        self.transcript.refresh()

    def _add_matches(self, indices: Iterable[int], words: Iterable[str]) -> None:
        """Add messages that match, and words to mark."""
        for index in indices:
            place = bisect_left(self.hits, index)
            if place == len(self.hits) or self.hits[place] != index:
                self.hits.insert(place, index)
        new = {word.casefold(): word for word in words if word.casefold() not in self._matching_words}
        if new:
            self._matching_words |= new
            self.transcript.search_pattern = words_pattern(self._matching_words.values())
        self.transcript.refresh()

    async def _search(self, run: range, goes_to_first: bool) -> None:
        """Search the conversation from the message where ``run`` begins to the end, then from the start. A later search
        takes its place."""
        transcript = self.transcript
        layout, search = transcript.conversation_layout, self._search_in
        try:
            if layout is None or search is None:
                return
            ids = layout.outline.ids
            with show_errors(self._show_note):
                for searched in batches(len(ids), run.start):
                    batch = await self.appliance.memory_worker.run_query(search.query(ids[searched]))
                    if transcript.conversation_layout is not layout:  # the conversation has changed
                        return
                    if searched.start >= run.start:
                        self._run = run = range(run.start, searched.stop)
                    first = not self.hits
                    self._add_matches((layout.index_by_id[id] for id in batch.ids), batch.words)
                    if first and batch.ids and goes_to_first:
                        transcript.seek(layout.index_by_id[batch.ids[0]])
                    self._show_position()
                    self.appliance.input_queue.resume()
        finally:
            if self._run is run:
                self._run = None
                self.appliance.input_queue.resume()
        self._show_position()

    def action_found(self, by: int) -> None:
        """Go to the next match (``by`` 1) or the previous one (-1); as no list does, it does not turn round."""
        if self._search_in is None:
            self.action_find()
        elif self.hits:
            mark = self.transcript.mark
            index = bisect_left(self.hits, mark + 1) if by > 0 else bisect_left(self.hits, mark) - 1
            if 0 <= index < len(self.hits):
                self.transcript.seek(self.hits[index])
            elif mark in self.hits:
                self.notify("This is the last match." if by > 0 else "This is the first match.", timeout=2)
            else:
                self.notify(f"No match {'after' if by > 0 else 'before'} this message.", timeout=2)
        elif not self._is_searching:
            self._begin_search(self._search_in, goes_to_first=True)


def _matches(count: int) -> str:
    return f"{count:,} match{'' if count == 1 else 'es'}"
