"""Which requests are prompts of the front end, and which are what a person says."""

from __future__ import annotations

import json

import pytest

from appliance.errors import UsageError
from appliance.server.openai_proxy import tasks, turns
from appliance.server.openai_proxy.wrapping import words_of_person
from tests.server.front_end_requests import ANSWER, OTTER, TASKS, TURNS, FrontEndRequest


def recognised(request: FrontEndRequest, header: str = "") -> str | None:
    return tasks.recognise(turns.read(json.dumps(request.body).encode()).shape, header)


@pytest.mark.parametrize("request_", TASKS, ids=lambda one: one.id)
def test_a_prompt_of_the_front_end_is_recognised(request_: FrontEndRequest) -> None:
    assert recognised(request_) == request_.kind


@pytest.mark.parametrize("request_", TURNS, ids=lambda one: f"{one.client} {one.source[:20]}")
def test_what_a_person_says_is_none(request_: FrontEndRequest) -> None:
    assert recognised(request_) is None


def test_every_pattern_recognises_a_request() -> None:
    texts = [" ".join(text.lower().split()) for one in TASKS for _, text in one.messages]
    for pattern in tasks.PATTERNS:
        assert any(all(phrase in text for phrase in pattern.phrases) for text in texts), pattern


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("title_generation", "title"),
        ("tags_generation", "tags"),
        ("follow_up_generation", "follow_up"),
        ("autocomplete-generation", "autocomplete"),
        ("memory_extraction", "other"),
        ("  Title ", "title"),
        ("", None),
        ("  ", None),
    ],
)
def test_a_header_names_a_task(header: str, kind: str | None) -> None:
    assert recognised(FrontEndRequest("", None, "", (("user", OTTER),)), header) == kind


def test_a_header_says_that_it_is_none() -> None:
    assert {recognised(request, "none") for request in TASKS} == {None}


def test_the_first_header_with_a_name_counts() -> None:
    assert tasks.task_header(["", " tags ", "title"]) == "tags" and tasks.task_header([]) == ""
    with pytest.raises(UsageError, match="100 characters"):
        tasks.task_header(["x" * 101])


def test_long_requests_are_read_at_their_ends_only() -> None:
    long = f"Summarize {'x ' * 500_000}"
    transcript = f"User: {OTTER}\nAssistant: {ANSWER}\n" * 10_000
    assert recognised(FrontEndRequest("", None, "", (("user", long),))) is None
    titled = (("user", f"{transcript}\nWrite a title for the conversation above. Answer with the title only."),)
    assert recognised(FrontEndRequest("", None, "", titled)) == "title"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'### Task:\nAnswer.\n\n<context>\n<source id="1">A pond.</source>\n</context>\n\n{OTTER}', OTTER),
        (f"### Task:\nAnswer.\n<context>\nA pond.\n</context>\n\n<user_query>\n{OTTER}\n</user_query>\n", OTTER),
        (f"<task>\n{OTTER}\n</task>\n<environment_details>\n# Files\notter.py\n</environment_details>", OTTER),
        (f"<feedback>\n{OTTER}\n</feedback>", OTTER),
        (f"{OTTER}\n\n<environment_details>\n# Time\n</environment_details>\n", OTTER),
    ],
)
def test_the_words_of_a_person_are_told_from_what_a_client_puts_around_them(text: str, words: str) -> None:
    assert words_of_person(text) == words


@pytest.mark.parametrize(
    "text",
    [
        OTTER,
        "### Task:\nClean the pond. <context>It is green.</context>",
        "<task></task>",
        "Use <task>x</task> here, please.",
        "<environment_details>\nall\n</environment_details>",
        "<task>a</task> and <task>b</task> too",
    ],
)
def test_other_messages_are_a_persons_words_as_they_are(text: str) -> None:
    assert words_of_person(text) == text
