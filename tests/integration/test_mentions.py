"""What is found by the tools that were called, the files that were touched, the names and the topics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.cli.app import run
from appliance.errors import UsageError
from appliance.server.access.grants import OWNER
from appliance.server.mcp import read_tools, schemas, timeline
from appliance.server.mcp.access import McpAccess
from appliance.store import mentions
from appliance.types import Hits
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.http_calls import application, calling, owner


def line(session: str, number: int, role: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {
        "session_id": session, "message_id": f"{session}-{number}", "role": role, "content": text,
        "timestamp": f"2024-03-01T10:{number:02}:00Z", "metadata": metadata,
    }  # fmt: skip


def call(session: str, number: int, tool: str, text: str, *files: str) -> dict[str, Any]:
    touched = {"files": list(files)} if files else {}
    return line(session, number, "tool", text, tools=[{"kind": "call", "name": tool}], **touched)


LINES = (
    line("api", 1, "user", "The list answers with all rows at once. Please page it."),
    line("api", 2, "assistant", "I limit it to fifty rows."),
    call("api", 3, "Edit", "Edit\nold: rows", "/srv/shop/api/endpoints.py"),
    line("api", 4, "tool", "see helpers.py and views.py", tools=[{"kind": "result", "name": "Edit"}]),
    line("api", 5, "assistant", "Done, with a cursor."),
    line("api", 6, "user", "Thanks. Now the colours of the chart."),
    line("api", 7, "assistant", "The chart is blue."),
    call("ops", 1, "Bash", "Bash\ncommand: pytest tests/smoke.py"),
    line("ops", 2, "assistant", "All tests pass."),
    call("ops", 3, "mcp__github__create_issue", "create"),
    line("ops", 4, "user", "The settings stand in conf/app.toml, mark that."),
    line("look", 1, "user", "How are the colours of the map made?"),
    call("look", 2, "Read", "Read", "/srv/shop/map.go"),
    line("look", 3, "assistant", "I read map.go: they come from a list."),
    line("fix", 1, "user", "The legend is too small, please."),
    call("fix", 2, "apply_patch", "apply_patch", "/srv/shop/map.go"),
    line("fix", 3, "assistant", "It has twelve points now."),
    line("trip", 1, "user", "Mark and Marie Curie met in Lisbon."),
    line("trip", 2, "assistant", "Lisbon has good trains."),
    line("trip", 3, "user", "Then we take the trains to the coast of Lisbon."),
    line("other", 1, "user", "I once was in Lisbon, but today the garden is wet."),
    *(line("other", number, "user", f"The garden has {number} beds.") for number in range(2, 8)),
)


def filled(folder: Path) -> Appliance:
    path = folder / "chats.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in LINES), "utf-8")
    memory = Appliance.open(folder / "home", worker=False, embedder=HashEmbedder())
    memory.ingest(path)
    return memory


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """For tests that change nothing."""
    with filled(tmp_path_factory.mktemp("read")) as memory:
        yield memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Appliance]:
    with filled(tmp_path) as memory:
        yield memory


def ids(hits: Hits) -> set[str]:
    return {hit.external_id for hit in hits}


def test_a_file_finds_the_turns_that_touched_it(read_only: Appliance) -> None:
    turns = {"api-1", "api-2", "api-5"}
    for name in (
        "endpoints.py",
        "ENDPOINTS.py",
        "endpoints",
        "api/endpoints.py",
        "/srv/shop/api/endpoints.py",
        "end*.py",
    ):
        assert ids(read_only.search("", files=[name], limit=50)) == turns, name
    assert ids(read_only.search("", files=["points.py"])) == set()
    assert ids(read_only.search("", files=["endpoints.py"], roles=["tool"])) == {"api-3"}
    assert ids(read_only.search("the chart", files=["endpoints.py"], min_score=0)) <= turns
    assert ids(read_only.search("", files=["views.py"])) == set()  # what a tool returned


def test_a_file_is_found_where_a_message_or_a_command_names_it(read_only: Appliance) -> None:
    assert ids(read_only.search("", files=["app.toml"])) == {"ops-4"}
    assert ids(read_only.search("", files=["tests/smoke.py"])) == {"ops-2"}


def test_a_tool_finds_its_calls_and_the_turns_around_them(read_only: Appliance) -> None:
    assert ids(read_only.search("", tools=["bash"])) == {"ops-2"}
    assert ids(read_only.search("", tools=["Bash"], roles=["tool"])) == {"ops-1"}
    assert ids(read_only.search("", tools=["create_issue"], roles=["tool"])) == {"ops-3"}
    assert ids(read_only.search("", tools=["edit", "bash"], files=["smoke.py"])) == {"ops-2"}


def test_an_entity_is_a_name_and_not_the_word(read_only: Appliance) -> None:
    assert ids(read_only.search("", entities=["mark"])) == {"trip-1"}
    assert ids(read_only.search("", entities=["Marie Curie"])) == {"trip-1"}
    assert ids(read_only.search("", entities=["lisbon"])) == {"trip-1", "trip-2", "trip-3", "other-1"}
    assert ids(read_only.search("", entities=["GARDEN"])) == set()


def test_a_topic_is_of_a_conversation_and_no_word_in_passing(read_only: Appliance) -> None:
    assert ids(read_only.search("", topics=["Lisbon"])) == {"trip-1", "trip-2", "trip-3"}
    assert {one.partition("-")[0] for one in ids(read_only.search("", topics=["bed garden"], limit=50))} == {"other"}


def test_archived_messages_are_found_by_them_too(memory: Appliance) -> None:
    assert memory.archive.run(importance=1.0).archived > 0

    def find(**filters: Any) -> set[str]:
        return ids(memory.search("", include_archived=True, limit=50, **filters))

    assert find(files=["endpoints.py"]) == {"api-1", "api-2", "api-5"}
    assert find(entities=["Marie Curie"]) == {"trip-1"}
    assert find(topics=["Lisbon"]) == {"trip-1", "trip-2", "trip-3"}


def test_what_nothing_has_is_said(read_only: Appliance) -> None:
    (note,) = read_only.search("", files=["endpoint.py"]).notes
    assert note == "no file 'endpoint.py'; did you mean endpoints.py?"
    assert read_only.search("", tools=["nosuch"]).notes[0].startswith("no tool 'nosuch'; there are ")
    assert read_only.search("", entities=["Bremen"]).notes == ("no message names 'Bremen'",)
    assert read_only.search("", topics=["chess"]).notes == ("no conversation is about 'chess'",)
    for name in ("tools", "files", "entities", "topics"):
        with pytest.raises(UsageError, match="empty"):
            read_only.search("x", **{name: [" "]})


def test_a_question_that_names_a_file_finds_its_turns_first(read_only: Appliance) -> None:
    hits = read_only.search("what did I change in endpoints.py")
    assert ids(hits[:3]) == {"api-1", "api-2", "api-5"}  # type: ignore[arg-type]
    assert hits[0].why["score"]["file"] > 0 and hits.found
    assert not any("letter by letter" in note for note in hits.notes)
    without = read_only.search("what did I change in endpoints.py", without=["file"])
    assert not any(hit.why["score"]["file"] for hit in without)
    why_not = read_only.search("x", files=["app.toml"], why_not="api-1").why_not
    assert why_not is not None and why_not.stage == "filtered"


@pytest.mark.parametrize(
    "question", ["what did I change in map.go", "was habe ich in map.go geändert?", "¿qué cambié en map.go?"]
)
def test_what_was_changed_is_asked_of_the_turns_that_changed_it(read_only: Appliance, question: str) -> None:
    hits = read_only.search(question)
    assert ids(hits[:2]) == {"fix-1", "fix-3"} and hits.found  # type: ignore[arg-type]
    assert {"look-3", "look-1"} <= ids(hits), "what only read it is behind, and not lost"
    does = read_only.search("what does map.go do")
    assert {hit.why["score"]["file"] for hit in does if hit.external_id in ("fix-1", "look-1")} == {30.0}


def test_an_edited_message_has_the_mentions_of_its_new_form(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(path.read_text("utf-8").replace("conf/app.toml", "conf/main.toml"), "utf-8")
    assert memory.ingest(path).files[0].updated == 1
    assert ids(memory.search("", files=["app.toml"])) == set()
    assert ids(memory.search("", files=["main.toml"])) == {"ops-4"}


def test_an_existing_home_gets_the_mentions_of_its_messages(memory: Appliance) -> None:
    query = "SELECT * FROM mention ORDER BY message_id, kind, name, path"
    database = engine_of(memory)._database
    before = database.read().execute(query).fetchall()
    with database.write() as tx:
        tx.execute("DELETE FROM mention")
        mentions.register(tx)
        tx.execute(mentions.FILL_SQL)
    assert database.read().execute(query).fetchall() == before != []


def test_metadata_that_is_no_list_of_names_has_no_mentions() -> None:
    for metadata in ("", "{", "[]", '{"tools": 3}', '{"tools": [null, {"name": 4}, ""], "files": {"path": "a.py"}}'):
        assert mentions.mentions_of("tool", "a.py", metadata) == []
    assert mentions.mentions_of("tool", "", '{"files": ["\\ud800.py"]}') == [("file", "?.py", "?.py")]
    many = " ".join(f"part{number}.py" for number in range(200))
    assert len(mentions.mentions_of("user", many, "{}")) == mentions.MAX_MENTIONS


def test_what_a_session_withholds_says_nothing_of_what_it_shares(memory: Appliance) -> None:
    memory.sessions.get("api").set_storage_scope("conversational")
    assert ids(memory.search("", files=["endpoints.py"])) == set()
    assert not any("endpoints" in note for note in memory.search("", files=["nosuch.py"]).notes)
    assert not any(hit.why["score"]["file"] for hit in memory.search("what did I change in endpoints.py", min_score=0))
    assert ids(memory.search("", files=["endpoints.py"], session_id="api")) == {"api-1", "api-2", "api-5"}
    assert "endpoints.py" not in memory.overview.filter_choices().files
    memory.sessions.get("trip").set_storage_scope("none")
    assert memory.search("", entities=["Marie Curie"]).notes == ("no message names 'Marie Curie'",)


FILTERS: dict[str, list[str]] = {"files": ["endpoints.py"], "tools": ["edit"]}
TYPED = "file:endpoints.py tool:edit"
TURNS = {"api-1", "api-2", "api-5"}


def test_http_and_mcp_have_the_same_filters(read_only: Appliance) -> None:
    with calling(application(read_only), owner(read_only)) as http:
        hits = http.post("/v1/search", json={"query": "the chart", "min_score": 0, **FILTERS}).json()["hits"]
        assert {hit["external_id"] for hit in hits} == TURNS
        assert http.post("/v1/search", json={"query": "x", "files": [""]}).status_code == 422
    arguments = schemas.SearchArguments(query="the chart", weak=True, **FILTERS)  # type: ignore[arg-type]
    found = read_tools.search(McpAccess(read_only, OWNER, "here"), arguments)
    assert {read_only.message(hit.id).external_id for hit in found.hits} == TURNS


def test_the_command_line_has_them_as_options_and_in_the_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(tmp_path).close()
    for arguments in (["file:endpoints.py tool:edit"], ["tool:edit", "--file", "endpoints.py"]):
        assert run(["search", *arguments, "--home", str(tmp_path / "home"), "--json"]) == 0
        assert {hit["external_id"] for hit in json.loads(capsys.readouterr().out)["hits"]} == TURNS
    assert run(["search", "entity:Lisbon topic:trains", "--home", str(tmp_path / "home"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["hits"]) == 3


def recalled(memory: Appliance, ids: Iterable[str]) -> set[str | None]:
    return {memory.message(id).external_id for id in ids if id.startswith("m")}


def of_context(memory: Appliance, **filters: Any) -> set[str | None]:
    context = memory.context("the chart of the rows", min_score=0, counted=False, **filters)
    return recalled(memory, (item.message_id for layer in context.layers for item in layer.items))


def test_contexts_and_timelines_are_narrowed_by_the_filters_of_a_search(read_only: Appliance) -> None:
    assert of_context(read_only, **FILTERS) == TURNS
    assert {"trip-2", "trip-3"} <= of_context(read_only, topics=["Lisbon"]) <= {"trip-1", "trip-2", "trip-3"}
    assert of_context(read_only, since="2024-03-01T10:07:00Z", until="2024-03-01T10:07:30Z") == {"api-7", "other-7"}
    assert of_context(read_only, roles=["assistant"], files=["endpoints.py"]) == {"api-2", "api-5"}
    assert of_context(read_only, sources=["telegram"]) == of_context(read_only, authors=["Nobody"]) == set()
    (month,) = read_only.timeline(limit=10, **FILTERS)  # type: ignore[arg-type]
    assert {one.external_id for one in month.top} == TURNS and month.messages == 3
    assert [one.messages for one in read_only.timeline(topics=["Lisbon"], roles=["assistant"])] == [1]
    assert read_only.timeline(sources=["telegram"]) == []
    with pytest.raises(UsageError, match="empty"):
        read_only.context("x", files=[" "])
    with calling(application(read_only), owner(read_only)) as http:
        asked = {"query": "the chart of the rows", "min_score": 0, "counted": False, **FILTERS}
        layers = http.post("/v1/context", json=asked).json()["layers"]
        assert recalled(read_only, (one["message_id"] for layer in layers for one in layer["items"])) == TURNS
        months = http.get("/v1/timeline", params={"file": "endpoints.py", "tool": "edit"}).json()["months"]
        assert [one["messages"] for one in months] == [3]
    access = McpAccess(read_only, OWNER, "here")
    found = read_tools.context(access, schemas.ContextArguments(query="the chart", weak=True, filters=TYPED))
    assert recalled(read_only, found.ids) == TURNS
    stretches = timeline.timeline(access, schemas.TimelineArguments(filters=TYPED)).stretches
    assert recalled(read_only, (one.id for stretch in stretches for one in stretch.lines)) == TURNS


def test_a_typed_filter_over_mcp_that_is_none_is_refused(read_only: Appliance) -> None:
    access = McpAccess(read_only, OWNER, "here")
    for filters in ("fil:main.go", "file:main.go and more", "user:ben"):
        with pytest.raises(UsageError, match="is no filter"):
            timeline.timeline(access, schemas.TimelineArguments(filters=filters))
        with pytest.raises(UsageError, match="is no filter"):
            read_tools.context(access, schemas.ContextArguments(query="x", filters=filters))


@pytest.mark.slow
def test_the_command_line_narrows_contexts_and_timelines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path).close()
    home = ["--home", str(tmp_path / "home"), "--json"]
    assert run(["context", "file:endpoints.py the chart", "--tool", "edit", "--min-score", "0", *home]) == 0
    layers = json.loads(capsys.readouterr().out)["layers"]
    shown = {item["message_id"] for layer in layers for item in layer["items"] if layer["name"] == "retrieved"}
    assert shown and shown <= {"m1", "m2", "m5"}
    assert run(["context", "fil:endpoints.py the chart", *home]) == 0
    assert "Did you mean file:endpoints.py?" in capsys.readouterr().err
    assert run(["timeline", "--file", "endpoints.py", "--role", "assistant", *home]) == 0
    assert [one["messages"] for one in json.loads(capsys.readouterr().out)["months"]] == [2]
