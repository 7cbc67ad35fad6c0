"""Earlier queries: what is kept, and how one goes back and forth."""

from __future__ import annotations

from appliance.requests.typed_filters import SearchFilters
from appliance_tui.query_history import MAX_QUERIES, STOOD_SECONDS, Query, QueryHistory

NONE = SearchFilters()


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def started() -> QueryHistory:
    return QueryHistory(Clock())


def wait(history: QueryHistory, seconds: float = STOOD_SECONDS) -> None:
    clock = history._clock
    assert isinstance(clock, Clock)
    clock.now += seconds


def typed(
    history: QueryHistory, text: str, filters: SearchFilters = NONE, user: str = "me", stands: float = STOOD_SECONDS
) -> None:
    """Type a text letter by letter, look at its hits, and delete it again."""
    for length in range(1, len(text) + 1):
        history.note(user, text[:length], filters)
    wait(history, stands)
    for length in range(len(text) - 1, -1, -1):
        history.note(user, text[:length], filters)


def test_a_text_that_is_deleted_letter_by_letter_is_one_query() -> None:
    history = started()
    typed(history, "ferry")
    typed(history, "walnut bread")
    assert history.step("me", -1, NONE) == Query("walnut bread")
    assert history.step("me", -1, NONE) == Query("ferry")
    assert history.step("me", -1, NONE) is None
    assert history.step("me", 1, NONE) == Query("walnut bread")
    assert history.is_shown
    assert history.step("me", 1, NONE) == Query("")
    assert not history.is_shown
    assert history.step("me", 1, NONE) is None


def test_what_is_deleted_at_once_is_no_query_and_what_gives_way_to_another_is() -> None:
    history = started()
    typed(history, "wifi", stands=STOOD_SECONDS / 2)
    assert history.step("me", -1, NONE) is None
    history.note("me", "ferry", NONE)
    wait(history)
    history.note("me", "ferry bo", NONE)
    history.note("me", "w", NONE)  # in place of what was selected
    history.note("me", "", NONE)
    assert history.step("me", -1, NONE) == Query("ferry")
    assert history.step("me", -1, NONE) is None


def test_a_query_whose_hit_was_read_is_kept_once() -> None:
    history = started()
    for text in ("f", "fe", "ferry"):
        history.note("me", text, NONE)
    history.add("me")
    for text in ("ferr", "fer", ""):
        history.note("me", text, NONE)
    assert history.step("me", -1, NONE) == Query("ferry")
    assert history.step("me", -1, NONE) is None


def test_filters_belong_to_a_query_and_those_of_the_line_come_back() -> None:
    history = started()
    by_ana = SearchFilters(authors=("ana",))
    typed(history, "ferry", by_ana)
    slack = SearchFilters(sources=("slack",))
    assert history.step("me", -1, slack) == Query("ferry", by_ana)
    assert history.step("me", 1, by_ana) == Query("", slack)


def test_a_changed_query_is_a_new_one() -> None:
    history = started()
    typed(history, "ferry")
    assert history.step("me", -1, NONE) == Query("ferry")
    history.note("me", "ferry", NONE)
    assert history.is_shown
    history.note("me", "ferry boat", NONE)
    assert not history.is_shown
    wait(history)
    history.note("me", "", NONE)
    assert history.step("me", -1, NONE) == Query("ferry boat")
    assert history.step("me", -1, NONE) == Query("ferry")


def test_each_user_has_queries_apart_and_forgetting_drops_all() -> None:
    history = started()
    typed(history, "ferry")
    assert history.step("ana", -1, NONE) is None
    typed(history, "secret", user="ana")
    history.forget()
    assert history.step("me", -1, NONE) is None
    assert history.step("ana", -1, NONE) is None


def test_the_oldest_queries_give_way() -> None:
    history = started()
    for number in range(MAX_QUERIES + 5):
        typed(history, f"q{number}")
    found = []
    while (query := history.step("me", -1, NONE)) is not None:
        found.append(query.text)
    assert len(found) == MAX_QUERIES
    assert found[0] == f"q{MAX_QUERIES + 4}"
    assert found[-1] == "q5"
