"""``export`` of some conversations and messages, and as HTML."""

from __future__ import annotations

import errno
import json
import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cli_runs import Run, document


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_some_messages_and_conversations_are_exported(run: Run, kept: Path, tmp_path: Path) -> None:
    exported = [json.loads(line) for line in run("export", "-", "m7", "s1", "m6", "m2").stdout.splitlines()]
    assert [line["message_id"] for line in exported if line["session_id"] == "trip"] == [
        "trip-1", "trip-2", "trip-3", "trip-4",
    ]  # fmt: skip
    others = [line for line in exported if line["session_id"] != "trip"]
    assert len(others) == 2 and "record" not in exported[0]
    target = tmp_path / "some.jsonl"
    assert run("export", target, "s1").exit_code == 0
    again = document(run("ingest", target, "--home", tmp_path / "second", "--json"))
    assert again["totals"]["new"] == 4


@pytest.mark.slow
def test_an_unknown_id_exports_nothing(run: Run, kept: Path, tmp_path: Path) -> None:
    result = run("export", tmp_path / "x.md", "m1", "m999", "--format", "markdown")
    assert result.exit_code != 0 and "m999" in result.stderr
    assert list(tmp_path.glob("*x.md*")) == []


HOSTILE = "keys \x1b[2J \x9b31m \x7f \u202egpj.exe\u202c and \u2067turned\u2069"
"""Escape sequences in seven and in eight bits, and marks that turn round what follows."""
CONTROLS = set("\x1b\x9b\x7f\u202e\u202c\u2067\u2069")


@pytest.mark.parametrize("format", ["jsonl", "markdown", "html"])
def test_an_export_to_a_terminal_controls_nothing_and_one_to_a_pipe_is_whole(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    run("add", HOSTILE)
    piped = run("export", "-", "--format", format).stdout
    monkeypatch.setattr("appliance.cli.output.is_terminal", lambda stream=None: True)
    shown = run("export", "-", "--format", format).stdout
    assert not CONTROLS & set(shown) and "gpj.exe" in shown
    if format == "jsonl":
        assert json.loads(shown.splitlines()[0]) == json.loads(piped.splitlines()[0])
        assert json.loads(piped.splitlines()[0])["content"] == HOSTILE


def test_no_verb_prints_what_turns_the_line_round_or_controls_the_terminal(run: Run, home: Path) -> None:
    run("add", HOSTILE, "--session", HOSTILE, "--author", HOSTILE)
    for arguments in (["search", "keys"], ["show", "m1"], ["show", "s1"], ["sessions"], ["context", "keys"]):
        assert not CONTROLS & set(run(*arguments).output), arguments
    for arguments in (["search", "keys", "--json"], ["show", "m1", "--json"]):
        printed = run(*arguments).stdout
        assert not CONTROLS & set(printed) and "\u202e" in json.dumps(json.loads(printed), ensure_ascii=False)


def test_a_page_has_the_messages_and_no_way_out(run: Run, tmp_path: Path) -> None:
    hostile = '<script>alert(1)</script> <img src=https://example.org/x.png onerror=go()> & "quoted" ]]>'
    line = {"session_id": "a<b", "session_title": "<b>Title", "role": "user", "author": "<i>Ann", "content": hostile}
    answer = {"session_id": "a<b", "role": "assistant", "content": "two\n  lines"}
    source = tmp_path / "chat.jsonl"
    source.write_text("\n".join(map(json.dumps, (line, answer))), encoding="utf-8")
    run("ingest", source)
    target = tmp_path / "out.html"
    assert run("export", target, "--format", "html").exit_code == 0
    text = target.read_text(encoding="utf-8")
    page = Page(text)
    assert hostile in page.text and "<b>Title" in page.text and "<i>Ann" in page.text and "two\n  lines" in page.text
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "p", "article", "b", "time",
    }  # fmt: skip
    attributes = {name for _, given in page.tags for name in given}
    assert attributes <= {"charset", "http-equiv", "content", "name", "class", "dir", "lang"}
    assert "default-src 'none'" in text and "url(" not in text and text.endswith("</html>\n")


def test_a_page_shows_control_characters_and_keeps_directions_apart(run: Run, tmp_path: Path) -> None:
    line = {
        "session_id": "a", "session_title": "\u202etitle", "role": "user", "author": "\u202eAnn",
        "content": "bell \x07 null \x00 next \x85 end \uffff tab \t\nשלום one\nsecond",
        "metadata": {"attachments": [{"name": "in\u202efdp.exe"}, {"name": "b.png"}]},
    }  # fmt: skip
    source = tmp_path / "chat.jsonl"
    source.write_text(json.dumps(line), encoding="utf-8")
    run("ingest", source)
    assert run("export", tmp_path / "out.html").exit_code == 0
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "bell \\x07 null \\x00 next \\x85 end \\uffff tab \t\nשלום one\nsecond" in page.text
    assert '<html lang="en">' in text and "unicode-bidi: plaintext" in text
    isolated = [given for tag, given in page.tags if tag in ("h1", "b", "bdi") or given.get("class") == "text"]
    assert len(isolated) == 5 and all((one["lang"], one["dir"]) == ("", "auto") for one in isolated)


def test_markdown_is_imported_as_it_was(run: Run, tmp_path: Path) -> None:
    said = ["# Not a heading", "**Bo** · 2026-01-01\n\nimitated", "```\nopen", "Ünïcode\n\n- list"]
    lines = [
        {"session_id": "a", "session_title": "Plans", "role": role, "content": text}
        | {"timestamp": f"2026-01-0{n}T10:00:00Z"}
        | ({"author": "Ann"} if n % 2 else {})
        for n, (text, role) in enumerate(zip(said, ("user", "assistant", "tool", "assistant"), strict=True), 1)
    ]  # fmt: skip
    source = tmp_path / "chat.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run("ingest", source)
    assert run("export", tmp_path / "out.md").exit_code == 0
    second = ("--home", tmp_path / "second")
    assert document(run("ingest", tmp_path / "out.md", *second, "--json"))["totals"]["new"] == 4
    exported = [[json.loads(line) for line in run("export", "-", *home).stdout.splitlines()] for home in ((), second)]
    kept = ("session_title", "role", "author", "content", "timestamp")
    first, again = ([{key: line.get(key) for key in kept} for line in each if "content" in line] for each in exported)
    assert first == again and len(first) == 4


def test_the_suffix_says_the_format(run: Run, kept: Path, tmp_path: Path) -> None:
    for name, begins in (("a.html", "<!"), ("b.HTM", "<!"), ("c.md", "<!"), ("d.json", "{"), ("e", "{")):
        assert run("export", tmp_path / name, "s1").exit_code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins), name
    run("export", tmp_path / "f.html", "s1", "--format", "jsonl")
    assert (tmp_path / "f.html").read_text(encoding="utf-8").startswith("{")


def test_an_id_in_the_place_of_the_file_is_refused(
    run: Run, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("export", "s1")
    assert result.exit_code == 2 and "appliance export s1.jsonl s1" in result.stderr
    assert not list(tmp_path.glob("s1*"))
    assert run("export", "./s1", "s1").exit_code == 0 and (tmp_path / "s1").is_file()


def test_a_full_disk_wants_room(run: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)
    told = run("export", tmp_path / "all.jsonl")
    assert (
        told.exit_code == 3 and "all.jsonl: The disk has no room for the export; nothing was exported." in told.stderr
    )
    assert "Make room there, or name a file on another disk." in told.stderr and not (tmp_path / "all.jsonl").exists()
