"""``search`` and ``context``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_runs import CLEAR_SCREEN, Run, document

from appliance.cli import hit_pages

HIT_KEYS = [
    "rank", "score", "message_id", "external_id", "session_id", "external_session_id", "session_title", "role",
    "author", "timestamp", "text", "snippet", "source", "tier", "why", "before",
    "after", "time", "corrected", "document", "folded",
]  # fmt: skip
CONTEXT_KEYS = ["query", "budget", "tokens", "encoding", "layers", "messages", "text", "dropped", "notes", "found"]


def test_search_prints_a_line_a_hit(run: Run, kept: Path) -> None:
    result = run("search", "QX-4471", "-k", "2")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("1  ")
    assert "Lisbon: The blue one near the river, reservation QX-4471" in lines[0]
    assert "2 of 7 hits (1 likely, 6 less likely) in" in result.stderr and "--offset" not in result.stderr
    assert run("search", "QX-4471", "-k", "2", "--sort", "time").stderr.count("--offset") == 0
    assert run("search", "the blue one", "-k", "1", "--sort", "time").stderr.endswith("; --offset 1 shows the next\n")


def test_search_says_when_all_hits_are_weak(run: Run, kept: Path) -> None:
    assert "; weak matches only, the best score is 0." in run("search", "spaceship", "--min-score", "0").stderr
    folded = run("search", "QX-4471")
    assert "weak" not in folded.stderr and len(folded.stdout.splitlines()) == 1
    assert "1 of 7 hits (1 likely, 6 less likely) in" in folded.stderr
    assert folded.stderr.endswith("; --all lists the unlikely ones too\n")
    assert "Did you mean file:main.go?" in run("search", "fil:main.go").stderr


def test_search_prints_the_contracts_shape(run: Run, kept: Path) -> None:
    found = document(run("search", "QX-4471", "--json"))
    assert list(found) == [
        "query", "mode", "hits", "total", "total_is_exact", "likely", "more", "found", "took_ms", "notes", "times",
        "summaries",
    ]  # fmt: skip
    assert (found["query"], found["mode"]) == ("QX-4471", "hybrid")
    hit = found["hits"][0]
    assert list(hit) == HIT_KEYS
    assert set(hit["source"]) == {"format", "path"}
    assert hit["tier"] == "hot"
    assert hit["external_id"] == "trip-3"
    assert 0.9 < hit["score"] <= 1


def test_search_prints_every_hit_page_by_page(run: Run, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hit_pages, "PAGE_HITS", 3)
    whole = document(run("search", "the blue one", "-k", "1000", "--json"))
    paged = document(run("search", "the blue one", "--all", "--json"))
    assert paged.keys() == whole.keys() and len(paged["hits"]) > 3
    assert {**paged, "took_ms": 0} == {**whole, "took_ms": 0}
    assert document(run("search", "zzzz", "--mode", "lexical", "--all", "--json"))["hits"] == []
    shown = run("search", "the blue one", "--all")
    assert len(shown.stdout.splitlines()) == paged["total"] and f"{paged['total']} hits" in shown.stderr
    beyond = run("search", "the blue one", "--offset", "1000")
    assert (beyond.stdout, beyond.exit_code) == ("", 0) and f"There are only {paged['total']} hits." in beyond.stderr


def test_search_prints_csv_with_whole_texts(run: Run, kept: Path) -> None:
    found = document(run("search", "the blue one", "--json"))["hits"]
    rows = list(csv.DictReader(io.StringIO(run("search", "the blue one", "--csv").stdout)))
    assert [(row["message_id"], row["text"]) for row in rows] == [(hit["message_id"], hit["text"]) for hit in found]
    refused = run("search", "x", "--csv", "--json")
    assert refused.exit_code == 2 and "exclude each other" in refused.stderr
    assert run("search", "x", "--all", "-k", "3").exit_code == 2
    explained = run("search", "the blue one", "--csv", "--why-not", "m1").stdout
    assert len(list(csv.DictReader(io.StringIO(explained)))) == len(found)


@pytest.mark.slow
def test_equal_messages_are_one_row_of_a_ranking_and_each_a_row_of_a_list(run: Run, tmp_path: Path) -> None:
    export = tmp_path / "chat.jsonl"
    answers = ["Ok, will do", "The plumber comes at nine", "Ok, will do", "ok,  will do", "Ok, will do"]
    export.write_text("".join(json.dumps({"session_id": "c", "author": "Timo", "role": "user", "content": text,
                                          "timestamp": f"2024-05-0{day}T10:00:00Z"}) + "\n"
                              for day, text in enumerate(answers, 1)), encoding="utf-8")  # fmt: skip
    assert run("ingest", str(export)).exit_code == 0
    ranked = run("search", "will do")
    (row,) = [line for line in ranked.stdout.splitlines() if "will do" in line]
    assert row.endswith("(×4)")
    assert sorted(hit["folded"] for hit in document(run("search", "will do", "--json"))["hits"]) in ([3], [0, 3])
    listed = run("search", "author:Timo")
    assert len(listed.stdout.splitlines()) == 5 and "5 hits" in listed.stderr and "×" not in listed.stdout
    for arguments in (["--all"], ["--csv"], ["--sort", "time"]):
        assert run("search", "will do", *arguments).stdout.lower().count("will do") == 4, arguments


def test_search_shows_the_turns_around_a_hit(run: Run, kept: Path) -> None:
    lines = run("search", "QX-4471", "-k", "1", "-C", "1").stdout.splitlines()
    assert lines[0].startswith("- ") and "book the hotel" in lines[0] and lines[1].startswith("1 ")


def test_explain_tells_the_parts_and_the_legs(run: Run, kept: Path) -> None:
    shown = run("search", "QX-4471", "-k", "1", "--explain").stdout
    assert "closeness in meaning (dense: cosine" in shown
    assert "search words that it has (own: BM25" in shown
    assert "total" in shown


def test_a_time_in_the_question_is_told_and_counts(run: Run, kept: Path) -> None:
    result = run("search", "blue on 2026-02-02", "--explain")
    assert "Preferring messages by their time: 2026-02-02." in result.stderr
    assert "sent about the time in the search (time" in result.stdout
    assert "sent about the time" not in run("search", "blue on 2026-02-02", "--explain", "--without", "time").stdout


def test_a_time_alone_lists_its_messages(run: Run, kept: Path) -> None:
    result = run("search", "what was said on 2026-02-02")
    assert "all messages of its time (2026-02-02) are hits" in result.stderr


def test_a_bound_is_named_with_its_preposition(run: Run, kept: Path) -> None:
    result = run("search", "what was said before March 2026 or since 2026-02-02?")
    assert "Preferring messages by their time: before March 2026 and since 2026-02-02.\n" in result.stderr


def test_a_time_without_messages_is_named(run: Run, kept: Path) -> None:
    result = run("search", "what was said on 8 May 2023 or 2026-02-02?")
    assert "note: No messages from 8 May 2023.\n" in result.stderr
    assert "all messages of its time (8 May 2023 or 2026-02-02) are hits" in result.stderr


def test_a_session_can_be_bounded_and_a_profile_named(run: Run, kept: Path) -> None:
    found = document(run("search", "the blue one", "--per-session", "1", "--profile", "bm25", "--json"))
    sessions = [hit["external_session_id"] for hit in found["hits"]]
    assert sessions and len(sessions) == len(set(sessions))
    assert all(list(hit["why"]["score"]) == ["own"] for hit in found["hits"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--profile", "best"], "no profile 'best'"),
        (["--without", "smell"], "no leg 'smell'"),
        (["--as-of", "soon"], "Invalid date 'soon'."),
    ],
)
def test_what_there_is_not_is_named(run: Run, kept: Path, options: list[str], says: str) -> None:
    result = run("search", "soup", *options)
    assert result.exit_code == 2 and says in result.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--session", "help"], {"help-2", "help-3", "help-4"}),
        (["--role", "assistant"], {"help-3", "help-4"}),
        (["--role", "tool", "--role", "system"], {"help-1", "help-5"}),
        (["--since", "2026-02-05", "--session", "trip"], {"trip-4"}),
        (["--until", "2026-02-02", "--session", "trip"], {"trip-1"}),
        (["--as-of", "2026-02-02", "--session", "trip"], {"trip-1"}),
        (["--source", "whatsapp"], set()),
        (["--source", "native", "--source", "whatsapp", "--session", "help", "--role", "user"], {"help-2"}),
        (["--mode", "lexical", "--role", "user"], {"help-2"}),
    ],
)
def test_search_narrows(run: Run, kept: Path, options: list[str], expected: set[str]) -> None:
    found = document(run("search", "thicken a soup", "-k", "20", "--min-score", "0", "--json", *options))
    assert {hit["external_id"] for hit in found["hits"]} == expected


def test_search_keeps_to_its_user(run: Run, kept: Path) -> None:
    assert "cellar" not in run("search", "cellar key").stdout
    assert "cellar" in run("search", "cellar key", "--user", "ana").stdout
    unknown = run("search", "cellar key", "--user", "anna").stderr
    assert "nothing is stored for user 'anna'" in unknown and "Did you mean --user ana?" in unknown
    unlike = run("sessions", "--user", "zorn").stderr.splitlines()
    assert unlike[0] == "No conversations match for user 'zorn'."
    assert unlike[1].startswith("--user names another: ") and "ana" in unlike[1]


def test_nothing_found_is_said_and_is_no_failure(run: Run, kept: Path) -> None:
    result = run("search", "zzzz", "--mode", "lexical")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No matches" in result.stderr


@pytest.mark.parametrize(
    "options", [["--mode", "psychic"], ["--role", "king"], ["--since", "whenever"], ["-k", "0"], ["--nonsense"]]
)
def test_search_refuses_what_can_not_be(run: Run, kept: Path, options: list[str]) -> None:
    result = run("search", "x", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_is_refused(run: Run, kept: Path, query: str) -> None:
    for filters in ([], ["--source", "native"], ["--since", "2020-01-01"]):
        refused = run("search", query, *filters)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith("error: The query is empty.")


def test_search_of_an_unknown_session_is_not_found(run: Run, kept: Path) -> None:
    assert run("search", "x", "--session", "s99").exit_code == 4


def test_a_chat_can_not_steer_the_terminal(run: Run, kept: Path) -> None:
    for verb in (["search", "picture"], ["show", "trip"], ["context", "picture"]):
        shown = run(*verb)
        assert "␛[2J" in shown.stdout, verb
        assert "\x1b" not in shown.output, verb
    found = document(run("search", "picture", "--session", "trip", "--json"))
    assert any(CLEAR_SCREEN in hit["text"] for hit in found["hits"])


def test_context_prints_the_text_alone(run: Run, kept: Path) -> None:
    result = run("context", "which hotel is it?")
    assert result.exit_code == 0
    assert result.stdout == run_clean(document(run("context", "which hotel is it?", "--json"))["text"])
    assert result.stdout.startswith("# Memories") and not result.stdout.endswith("\n\n")
    assert "of 8,000 tokens" in result.stderr


def run_clean(text: str) -> str:
    return text.replace("\x1b", "␛")


def test_context_prints_the_contracts_shape(run: Run, kept: Path) -> None:
    built = document(run("context", "which hotel?", "--session", "help", "--budget", "100", "--json"))
    assert list(built) == CONTEXT_KEYS
    assert built["tokens"] <= built["budget"] == 100
    for layer in built["layers"]:
        assert list(layer) == ["name", "tokens", "items"]
        for item in layer["items"]:
            assert list(item) == ["message_id", "text", "tokens", "fidelity", "why"]
    assert {layer["name"] for layer in built["layers"]} >= {"retrieved", "recent"}
    assert all(set(message) == {"role", "content"} for message in built["messages"])
    assert all(set(dropped) == {"message_id", "reason"} for dropped in built["dropped"])


def test_context_refuses_an_empty_budget(run: Run, kept: Path) -> None:
    for verb in (["context", "x"], ["sessions", "private"]):
        result = run(*verb, "--budget", "0")
        assert (result.exit_code, result.stderr) == (2, "error: --budget must be at least 1.\n")


def test_context_takes_a_preset_shares_and_no_recall(run: Run, kept: Path) -> None:
    def tokens(*options: str) -> dict[str, int]:
        built = document(run("context", "which hotel?", "--session", "help", "--json", *options))
        return {layer["name"]: layer["tokens"] for layer in built["layers"]}

    assert list(tokens()) == ["core", "profile", "retrieved", "summary", "recent"]
    assert tokens("--preset", "code")["recent"]
    assert not tokens("--share", "recent=0")["recent"]
    alone = tokens("--no-recall")
    assert alone["recent"] and not alone["retrieved"]
    for wrong in (["--preset", "butler"], ["--share", "recent"], ["--share", "recent=2"], ["--share", "old=0.1"]):
        refused = run("context", "x", *wrong)
        assert refused.exit_code == 2 and wrong[1].partition("=")[0] in refused.output


def test_context_names_another_encoding(run: Run, kept: Path) -> None:
    built = document(run("context", "x", "--encoding", "cl100k_base", "--json"))
    assert built["encoding"] == "cl100k_base"


def test_why_not_says_where_a_message_fell_out(run: Run, kept: Path) -> None:
    (first,) = document(run("search", "QX-4471", "-k", "1", "--json"))["hits"]
    other = "m1" if first["message_id"] != "m1" else "m2"
    asked = ("search", "QX-4471", "-k", "1", "--why-not")
    assert (
        run(*asked, other)
        .stdout.splitlines()[-1]
        .startswith((f"{other} ranks below the hits. It is hit ", f"{other} was "))
    )
    report = document(run(*asked, first["message_id"], "--json"))
    assert report["why_not"]["stage"] == "shown"
    assert run(*asked, "m999999").exit_code != 0


def test_a_query_that_is_not_text_is_refused(run: Run, kept: Path) -> None:
    refused = run("search", "caf\udce9")  # a byte of Latin-1, as Python keeps it in an argument
    assert refused.exit_code == 2 and "is not text in UTF-8" in refused.stderr and "Traceback" not in refused.stderr
