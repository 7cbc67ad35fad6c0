"""BEIR folders (Thakur et al. 2021): corpus.jsonl, queries.jsonl, and judgements in qrels/SPLIT.tsv.

A document is one message in a session of its own, so that it has no neighbours; its title is the first line of its
text. Queries without a judgement above 0 in the split are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion, NativeRecord, SkippedCounts, elements
from appliance.errors import InputError
from appliance.lazy_dataclasses import dataclass

CORPUS, QUERIES, JUDGEMENTS = "corpus.jsonl", "queries.jsonl", "qrels"


class _Document(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str
    title: str | None = None


class _Query(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str


@dataclass(frozen=True, slots=True)
class BeirCorpus:
    """The corpus as records, read from the file in each iteration. ``left_out`` gets the number of empty documents."""

    path: Path
    left_out: SkippedCounts

    def __iter__(self) -> Iterator[NativeRecord]:
        empty = 0
        for element in elements(self.path):
            document = element.convert_to(_Document)
            text = f"{document.title}\n{document.text}" if document.title else document.text
            if not text.strip():
                empty += 1
                continue
            yield {"session_id": document.id, "message_id": document.id, "role": "user", "content": text}
        if empty:
            self.left_out["empty documents"] = empty


def conversations(folder: Path, split: str, left_out: SkippedCounts) -> Iterator[BenchmarkCorpus]:
    """One corpus for the whole folder.

    Raises:
        InputError: A file is missing or damaged.
    """
    for name in (CORPUS, QUERIES):
        if not (folder / name).is_file():
            raise InputError(
                f"The folder has no {name}.",
                where=str(folder),
                hint="A BEIR folder has corpus.jsonl, queries.jsonl and qrels.",
            )
    judged = _judgements(folder / JUDGEMENTS, split)
    questions = []
    for element in elements(folder / QUERIES):
        query = element.convert_to(_Query)
        relevant = judged.pop(query.id, frozenset())
        if relevant:
            questions.append(BenchmarkQuestion(query.text, relevant, split))
        else:
            left_out[f"queries that {split}.tsv has no relevant document for"] += 1
    if judged:
        left_out[f"judged queries that {QUERIES} does not have"] += len(judged)
    yield BenchmarkCorpus(folder.name, BeirCorpus(folder / CORPUS, left_out), tuple(questions))


def _judgements(folder: Path, split: str) -> dict[str, frozenset[str]]:
    """The relevant documents of each query that has any."""
    path = folder / f"{split}.tsv"
    if not path.is_file():
        present = ", ".join(sorted(p.stem for p in folder.glob("*.tsv"))) or "none"
        raise InputError(
            f"There are no judgements {split!r}.", where=str(folder), hint=f"Use --split with one of {present}."
        )
    found: dict[str, set[str]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        cells = line.decode("utf-8", "replace").split("\t")
        if cells == [""] or (number == 1 and cells[0] == "query-id"):
            continue
        try:
            query, document, score = cells
            relevant = int(score) > 0
        except ValueError as error:
            raise InputError(
                "The line is not 'query-id<TAB>corpus-id<TAB>score'.", where=f"{path}, line {number}"
            ) from error
        if relevant:
            found.setdefault(query, set()).add(document)
    return {query: frozenset(documents) for query, documents in found.items()}
