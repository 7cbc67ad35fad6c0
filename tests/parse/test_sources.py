"""From paths to documents: folders, zips, what is skipped and why; detection."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from appliance.errors import InputError, UsageError
from appliance.formats import FORMATS, detect
from appliance.formats.base import Document
from appliance.ingest.sources import DetectedDocument, UnreadSource, detect_documents, expand
from appliance.types import InputProblem, MessageRecord

LINE = b'{"session_id":"s","role":"user","content":"x"}\n'
CHAT = json.dumps(
    [{"title": "t", "mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["x"]}}}}}]
)


def names(found: list, kind: type, base: Path) -> list[str]:
    prefix = f"{base.as_posix()}/"
    paths = [f.document.name if isinstance(f, DetectedDocument) else f.path for f in found if isinstance(f, kind)]
    return [p.removeprefix(prefix) for p in paths]


def zipped(path: Path, members: list[tuple[str, bytes | str]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def outcomes(found: list, base: Path) -> dict[str, str]:
    """The reason of each path that was not read."""
    return {
        f.path.removeprefix(f"{base}/"): (f.errors + f.notes)[0].message for f in found if isinstance(f, UnreadSource)
    }


LITTER = {
    "__MACOSX": "a file of the operating system",
    ".DS_Store": "a file of the operating system",
    "._b.jsonl": "a file of the operating system",
    "~$b.jsonl": "still being written by a program",
    "d.jsonl.part": "still being written by a program",
    "node_modules": "a folder of a program's own files",
    ".git": "a folder of a program's own files",
    ".ssh": "keys and passwords are not read",
}


def test_a_folder_sorted_without_litter(tmp_path):
    for name in ("b.jsonl", "a/c.jsonl", "a/.hidden.jsonl", ".claude/projects/p/s.jsonl", *LITTER):
        path = tmp_path / name
        if name in ("__MACOSX", "node_modules", ".git", ".ssh"):
            path = path / "x.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(LINE)
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "photo.JPG").write_bytes(b"\xff\xd8")
    (tmp_path / "notes.txt").write_text("milk, bread")
    found = list(detect_documents([tmp_path]))
    expected = [".claude/projects/p/s.jsonl", "a/.hidden.jsonl", "a/c.jsonl", "b.jsonl"]
    assert names(found, DetectedDocument, tmp_path) == expected
    passed = outcomes(found, tmp_path)
    assert passed.keys() == {"a/loop", "notes.txt", "photo.JPG"} | LITTER.keys()
    assert passed.items() >= LITTER.items()
    assert {f.status for f in found if isinstance(f, UnreadSource)} == {"skipped"}


def test_hidden_folders_in_a_zip_are_read(tmp_path):
    path = zipped(
        tmp_path / "x.zip",
        [
            ("WhatsApp Chat with Ana.txt", "31/12/2024, 10:00 - Ana: x\n31/12/2024, 10:01 - Ben: y\n"),
            ("home/.claude/projects/p/s.jsonl", LINE),
            ("home/.codex/sessions/2025/01/02/s.jsonl", LINE),
            ("home/.git/objects/a.jsonl", LINE),
            ("home/.git/objects/b.jsonl", LINE),
            ("__MACOSX/home/._s.jsonl", LINE),
            ("home/.DS_Store", b"x"),
        ],
    )
    found = list(detect_documents([path]))
    assert names(found, DetectedDocument, path) == [
        "WhatsApp Chat with Ana.txt",
        "home/.claude/projects/p/s.jsonl",
        "home/.codex/sessions/2025/01/02/s.jsonl",
    ]
    assert outcomes(found, path) == {
        "__MACOSX": "a file of the operating system",
        "home/.DS_Store": "a file of the operating system",
        "home/.git": "a folder of a program's own files",
    }


def test_the_beginning_of_a_hidden_file_is_not_quoted(tmp_path):
    (tmp_path / ".tool").mkdir()
    for name in (".tool/settings.json", ".profile", "open.json"):
        (tmp_path / name).write_text('{"key": "sk-secret"}')
    reasons = outcomes(list(detect_documents([tmp_path])), tmp_path)
    del reasons[str(tmp_path)]
    assert {name for name, reason in reasons.items() if "sk-" in reason} == {"open.json"}


def test_a_member_whose_name_leads_out_of_the_zip_is_read_with_a_note(tmp_path):
    path = zipped(tmp_path / "x.zip", [("../up/a.jsonl", LINE), ("b/../../c.jsonl", LINE)])
    found = list(detect_documents([path]))
    assert names(found, DetectedDocument, path) == ["../up/a.jsonl", "b/../../c.jsonl"]
    for item in found:
        records = list(item.parser.parse(item.document))
        assert sum(isinstance(record, MessageRecord) for record in records) == 1
        assert any("leads out" in r.message and r.harmless for r in records if isinstance(r, InputProblem))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.zip"]


def test_what_the_user_named_must_be_readable(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("milk, bread")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    empty = tmp_path / "nothing"
    empty.mkdir()
    zero = tmp_path / "conversations.json"
    zero.touch()
    found = list(detect_documents([notes, tmp_path / "gone.json", fifo, empty, zero]))
    assert [f.status for f in found] == ["failed"] * 5
    reasons = [f.errors[0].message for f in found]
    assert "milk, bread" in reasons[0]
    assert "--format" in found[0].hint
    assert "No such file" in reasons[1]
    assert reasons[2] == "not a regular file"
    assert reasons[3] == "the folder is empty"
    assert "0 bytes" in reasons[4]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINE)
    path.chmod(0)
    (found,) = detect_documents([path])
    assert found.errors[0].message == "can't be read: Permission denied"


def test_a_folder_that_may_not_be_entered_costs_only_itself(tmp_path, monkeypatch):
    """``Path.is_file`` raises for what lies in such a folder; root may enter it, so that it is played here."""
    (tmp_path / "a.jsonl").write_bytes(LINE)
    sealed = tmp_path / "sealed"
    sealed.mkdir()
    real_stat, real_listdir = os.stat, os.listdir

    def stat(path, **more):
        if sealed in Path(os.fsdecode(path)).parents:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real_stat(path, **more)

    def listdir(path):
        if Path(path) == sealed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real_listdir(path)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "listdir", listdir)
    chat, refused = detect_documents([tmp_path])
    assert chat.format == "native"
    assert (refused.path, refused.errors[0].message, refused.hint) == (
        str(sealed), "can't be read: Permission denied", "check its permissions",
    )  # fmt: skip


def test_a_zip_is_known_by_its_content(tmp_path):
    path = zipped(
        tmp_path / "export.backup",
        [
            ("export/conversations.json", CHAT),
            ("export/chat.html", "<html>"),
            ("export/user.json", "{}"),
            ("export/message_feedback.json", "[]"),
            ("export/file-1.png", b"\x89PNG"),
            ("export/strange.json", '{"a": 1}'),
            ("export/inner.zip", b"PK\x03\x04"),
            ("__MACOSX/export/._conversations.json", b"\x00\x05"),
        ],
    )
    found = list(detect_documents([path]))
    assert names(found, DetectedDocument, path) == ["export/conversations.json"]
    assert len([f for f in found if isinstance(f, UnreadSource)]) == 7
    assert {f.status for f in found if isinstance(f, UnreadSource)} == {"skipped"}
    (chat,) = (f for f in found if isinstance(f, DetectedDocument))
    # The zip is closed by now; a document can be opened again all the same, and twice at once.
    with chat.document.open() as one, chat.document.open() as two:
        assert one.read() == two.read() == CHAT.encode()


def test_duplicate_names_and_wrong_sizes(tmp_path):
    path = tmp_path / "x.zip"
    with pytest.warns(UserWarning, match="Duplicate name"):
        zipped(path, [("a.jsonl", LINE), ("a.jsonl", LINE * 2)])
    found = [f for f in detect_documents([path]) if isinstance(f, DetectedDocument)]
    counts = [sum(isinstance(r, MessageRecord) for r in f.parser.parse(f.document)) for f in found]
    assert counts == [1, 2]
    assert len({f.document.name for f in found}) == 2


def test_a_bad_member_does_not_cost_the_others(tmp_path):
    path = zipped(tmp_path / "x.zip", [("a.jsonl", LINE * 50), ("b.jsonl", LINE * 60)])
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo("a.jsonl").header_offset + 30 + len("a.jsonl")
    raw[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(raw)
    found = list(detect_documents([path]))
    assert names(found, DetectedDocument, path) == ["b.jsonl"]
    (bad,) = (f for f in found if isinstance(f, UnreadSource))
    assert (bad.status, bad.path) == ("failed", f"{path}/a.jsonl")


def test_a_zip_bomb_is_stopped_and_what_came_before_it_is_kept(tmp_path):
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.jsonl", "w", force_zip64=True) as member,
    ):
        member.write(LINE * 3)
        for _ in range(200):
            member.write(b" " * (1 << 20) + b"\n")
    assert path.stat().st_size < 1 << 20
    (found,) = detect_documents([path])
    records = list(found.parser.parse(found.document))
    assert sum(isinstance(record, MessageRecord) for record in records) == 3
    (problem,) = (record for record in records if isinstance(record, InputProblem))
    assert "250 times its size" in problem.message


def test_an_encrypted_member_is_refused(tmp_path):
    path = zipped(tmp_path / "x.zip", [("a.jsonl", LINE)])
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    (found,) = detect_documents([path])
    assert (found.status, found.errors[0].message) == ("failed", "encrypted")


def test_a_cut_zip_and_a_zip_without_chats(tmp_path):
    path = zipped(tmp_path / "x.zip", [("photo.jpg", b"x" * 500)])
    *_, last = detect_documents([path])
    assert (last.status, last.errors[0].message) == ("failed", "no chat export found")
    path.write_bytes(path.read_bytes()[:45])
    found, media = detect_documents([path])
    assert found.status == "partial"
    assert "the zip is cut off within photo.jpg" in found.errors[0].message
    assert media.status == "skipped"


def test_names_without_the_utf8_flag(tmp_path):
    path = tmp_path / "x.zip"
    info = zipfile.ZipInfo("WhatsApp Chat with Zoé.txt")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "31/12/2024, 10:00 - Ana: x\n")
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"\x00\x08", b"\x00\x00"))
    (document,) = expand([path])
    assert document.name.endswith("/WhatsApp Chat with Zoé.txt")


def document(text: str | bytes, name: str = "x") -> Document:
    data = text.encode() if isinstance(text, str) else text
    return Document(name, len(data), lambda: io.BytesIO(data))


@pytest.mark.parametrize("text", ["", " \n", "[]", "{}", "null", "[\n]\n", "\ufeff"])
def test_nothing_in_it(text):
    name, parser = detect(document(text))
    assert name is None
    (note,) = parser.parse(document(text))
    assert note.harmless


def test_content_comes_before_the_name():
    assert detect(document(CHAT, "claude-export/_chat.txt"))[0] == "chatgpt"
    assert detect(document(LINE, "conversations.json"))[0] == "native"
    assert detect(document("31/12/2024, 10:00 - Ana: x\n", "a.json"))[0] == "whatsapp"


def test_names_break_ties_and_nothing_else_does():
    both = json.dumps([json.loads(CHAT)[0] | {"chat_messages": []}])
    name, parser = detect(document(both, "claude.json"))
    assert name == "claude"
    first = next(iter(parser.parse(document(both))))
    assert "chatgpt (0.95)" in first.message
    with pytest.raises(InputError, match=r"chatgpt \(0\.95\).*equally"):
        detect(document(both, "x.json"))


def test_a_forced_format():
    assert detect(document("whatever"), "whatsapp")[0] == "whatsapp"
    with pytest.raises(UsageError) as error:
        detect(document("whatever"), "icq")
    assert "native" in error.value.hint


@pytest.mark.parametrize(
    "text",
    ["Dear diary, 31/12/2024 was fine.", '{"a": 1}', "[1, 2, 3]", "a,b\n1,2\n", "2026-01-01 10:00:00 - INFO: up\n"],
)
def test_other_files_are_not_recognised(text):
    with pytest.raises(InputError) as error:
        detect(document(text))
    assert error.value.where == "x"
    assert "--format" in error.value.hint


def test_for_what_is_no_text_another_file_is_asked_for():
    with pytest.raises(InputError, match="no text") as error:
        detect(document(b"\x00\x01\x02\xff"))
    assert error.value.where == "x"
    assert "name one of them" in error.value.hint


def test_an_unreadable_document():
    def opened() -> object:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(InputError, match="Permission denied"):
        detect(Document("x", 1, opened))


def test_many_problems_are_summed_up():
    data = document(b"nonsense\n" * 3000)
    problems = list(detect(data, "native")[1].parse(data))
    assert len(problems) == 1001
    assert "2000 more" in problems[-1].message


def test_every_sample_of_the_collection_is_known_for_what_it_is(exports):
    """The folder names the format; the skipped files have no turns, or are of a kind that no parser reads."""
    named = {
        "claude_ai": "claude", "codex_cli": "codex", "facebook": "meta", "gemini_aistudio": "aistudio",
        "gemini_takeout": "gemini", "instagram": "meta", "mbox": "mail", "other_agents": "agents",
        "team_chat": "agents",
    }  # fmt: skip
    texts = {"plaintext", "teams"}
    passed: set[str] = set()
    for folder in sorted(path for path in exports.iterdir() if path.is_dir()):
        for found in detect_documents([folder]):
            if isinstance(found, UnreadSource):
                passed.add(Path(found.path).name)
            elif folder.name in texts:
                assert found.format in {"markdown", "whatsapp", "irc"}, found.document.name
            else:
                assert found.format == named.get(folder.name, folder.name), found.document.name
    assert passed <= {
        "group_info.json", "user_info.json", "summary.json", "channels.json", "users.json",
        "integration_logs.json", "tiny.png", "stray.txt",
    }  # fmt: skip


def test_every_format_has_a_page_that_is_linked():
    docs = Path(__file__).parents[2] / "docs"
    index = (docs / "formats.md").read_text(encoding="utf-8")
    for name in FORMATS:
        assert (docs / "formats" / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {name}\n"), name
        assert f"[{name}](formats/{name}.md)" in index, name
