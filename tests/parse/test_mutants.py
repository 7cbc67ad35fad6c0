"""Every parser recognises what it reads completely, and no word is lost without a word: mutants of each format."""

from __future__ import annotations

import io
import json
import random
import zipfile
from itertools import combinations
from pathlib import Path

import pytest

from appliance.errors import InputError
from appliance.formats import FORMATS
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import MessageRecord
from tests.fuzz import mutations, parsers, reading
from tests.fuzz.samples import SAMPLES, Sample, encoded, marks

# A database has no text to mutate, and an address book no messages; their own tests cut them.
WITHOUT_SAMPLES = {"imessage", "contacts"}
JSON_SAMPLES = [sample for sample in SAMPLES if sample.value is not None]
# The campaign (`python -m tests.fuzz.parsers`) reads a million.
MUTANTS = 15


def identify(sample: Sample) -> str:
    return f"{sample.format}-{sample.name.rpartition('.')[2][:5]}"


each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=identify)
each_json_sample = pytest.mark.parametrize("sample", JSON_SAMPLES, ids=identify)


def test_every_format_has_a_sample() -> None:
    assert {sample.format for sample in SAMPLES} | WITHOUT_SAMPLES == FORMATS.keys()


@each_sample
def test_a_sample_is_read_completely(sample: Sample) -> None:
    outcome = reading.detected(sample.data, sample.name)
    assert outcome.format == sample.format
    assert outcome.said == marks(sample.data.decode())
    assert outcome.problems == outcome.notes == []


def assert_recognised(sample: Sample, data: bytes, name: str) -> None:
    """A reading with ``--format`` that is complete needs no ``--format``."""
    words = marks(sample.data.decode())
    forced = reading.forced(data, name, sample.format)
    is_complete = words <= forced.said and not forced.problems and not forced.is_guess
    try:
        outcome = reading.detected(data, name)
    except InputError:
        assert not is_complete, "it is read completely, and not recognised"
        return
    assert not is_complete or outcome.format == sample.format
    assert words <= outcome.stored or outcome.problems or outcome.notes, words - outcome.stored


@each_json_sample
@pytest.mark.parametrize("name", ["", "upload"], ids=["named", "unnamed"])
def test_optional_keys_may_be_missing(sample: Sample, name: str) -> None:
    for key in mutations.optional_keys(sample.value):
        data = encoded(mutations.without_key(sample.value, key), sample.is_log)
        assert_recognised(sample, data, name or sample.name)


@pytest.mark.slow
@each_json_sample
def test_two_optional_keys_may_be_missing(sample: Sample) -> None:
    for first, second in combinations(mutations.optional_keys(sample.value), 2):
        value = mutations.without_key(mutations.without_key(sample.value, first), second)
        assert_recognised(sample, encoded(value, sample.is_log), sample.name)


@each_sample
def test_mutants(sample: Sample) -> None:
    rng = random.Random(sample.name)
    for _ in range(MUTANTS):
        finding, _ = parsers.check_gentle(sample, rng)
        assert finding is None, finding
        assert (damage := parsers.check_damaged(sample, rng)) is None, damage


@pytest.mark.parametrize("is_list", [False, True])
def test_a_long_document_without_marks_is_known_by_its_beginning(is_list: bool) -> None:
    said = [{"creator": {"name": "Ana" if n % 2 else "Ben"}, "text": f"q{n}z said at noon"} for n in range(4000)]
    value: object = [{"messages": said[:9]}, {"messages": said[9:]}] if is_list else {"messages": said}
    data = json.dumps(value).encode()
    outcome = reading.detected(data, "upload")
    assert (outcome.format, len(outcome.said)) == ("google_chat", 4000)
    assert ["reads all of its beginning" in note.message for note in outcome.notes] == [True]


def test_the_campaign_prints_json() -> None:
    out = io.StringIO()
    assert parsers.main(["--documents", "12", "--formats", "chatgpt,slack"], out) == 0
    result = json.loads(out.getvalue())
    assert (result["documents"], result["crashes"], result["findings"]) == (12, 0, {})
    assert result["formats"].keys() == {"chatgpt", "slack"}
    assert sum(result["words"].values()) == 12 - result["damaged"]


@each_sample
@pytest.mark.parametrize("encoding", mutations.ENCODINGS)
def test_encodings(sample: Sample, encoding: str) -> None:
    if sample.format == "mail":
        pytest.skip("a mailbox is bytes of mail, never UTF-16")
    outcome = reading.detected(sample.data.decode().encode(encoding), sample.name)
    assert (outcome.format, outcome.said) == (sample.format, marks(sample.data.decode()))


def test_pages_whose_classes_have_other_names() -> None:
    (page,) = (sample for sample in SAMPLES if sample.format == "meta" and sample.text)
    outcome = reading.detected(mutations.renamed_classes(page.text).encode(), page.name)
    assert (outcome.format, outcome.said) == ("meta", marks(page.text))
    outcome = reading.detected(mutations.renamed_classes(page.text).encode(), "upload.html")
    assert (outcome.format, outcome.said) == ("meta", marks(page.text))


@pytest.mark.parametrize("wrapping", ["folder", "zip", "top folder in a zip"])
def test_all_samples_in_one_folder_or_zip(tmp_path: Path, wrapping: str) -> None:
    # An export that exists as JSON and as pages is read once.
    samples = [sample for sample in SAMPLES if not sample.name.endswith(".html")]
    root = tmp_path / "exports"
    if wrapping == "folder":
        for sample in samples:
            path = root / sample.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sample.data)
    else:
        root = tmp_path / "exports.zip"
        top = "some person/" if "top" in wrapping else ""
        with zipfile.ZipFile(root, "w") as archive:
            for sample in samples:
                archive.writestr(top + sample.name, sample.data)
    found = [item for item in detect_documents([root]) if isinstance(item, DetectedDocument)]
    assert sorted(str(item.format) for item in found) == sorted(sample.format for sample in samples)
    texts = [r.text for item in found for r in item.parser.parse(item.document) if isinstance(r, MessageRecord)]
    assert marks("\n".join(texts)) == set.union(*(marks(sample.data.decode()) for sample in samples))


def test_other_programs_texts_are_no_records_of_claude_code() -> None:
    prompts = [{"sessionId": "s", "messageId": n, "type": "user", "message": f"prompt {n}"} for n in range(3)]
    with pytest.raises(InputError):
        reading.detected(json.dumps(prompts).encode(), ".gemini/tmp/ab/logs.json")


def test_the_comments_of_a_page_are_no_chat() -> None:
    comment = (
        "<div><div>{}</div><div>A fine ferry, and the pier was fine too.</div><div>Sep 1{}, 2020, 12:26 PM</div></div>"
    )
    comments = "".join(comment.format(name, n) for n, name in enumerate(("Ana", "Ben", "Cleo", "Dan")))
    page = f"<html><head><title>Blog</title></head><body><div><div>{comments}</div></div></body></html>"
    with pytest.raises(InputError):
        reading.detected(page.encode(), "blog.html")


def test_a_list_in_place_of_lines_and_an_object_around_a_list() -> None:
    by_format = {sample.format: sample for sample in JSON_SAMPLES}
    signal, tuned = by_format["signal"], by_format["openai_jsonl"]
    for data, sample in (
        (encoded(signal.value, False), signal),
        (encoded(signal.value, False, indent=1), signal),
        (encoded({"conversations": tuned.value}, False), tuned),
    ):
        outcome = reading.detected(data, sample.name)
        assert (outcome.format, outcome.said) == (sample.format, marks(sample.data.decode()))


def test_records_with_the_fewest_keys_are_recognised() -> None:
    chat = {"name": "Ferry", "type": "personal_chat", "id": 1}
    records: dict[str, tuple[object, bool]] = {
        "telegram": (chat | {"messages": [{"id": 1, "type": "message", "text": "q1z"}]}, False),
        "claude_code": (
            [{"type": "message", "uuid": "u", "sessionId": "s", "role": "user", "content": "q1z"}], True
        ),
        "codex": ([{"payload": {"timestamp": "2025-01-01T00:00:00Z", "role": "user", "content": "q1z"}}], True),
        "discord": ({"messages": [{"author": {"name": "Ana", "isBot": False}, "content": "q1z"}]}, False),
    }  # fmt: skip
    for name, (value, is_log) in records.items():
        outcome = reading.detected(encoded(value, is_log), "upload")
        assert (outcome.format, outcome.said) == (name, {"q1z"})
