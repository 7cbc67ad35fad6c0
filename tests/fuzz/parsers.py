"""The property campaign over all parsers: mutated exports, and what a reading must keep of them.

    python -m tests.fuzz.parsers [--documents 1000000] [--seconds S] [--seed N] [--formats F,G] [--report FILE]

prints JSON. No mutant may raise. Of a mutant that leaves the words in place, every word is stored or the file's report
says what was lost; and a mutant that a parser reads completely is recognised as that parser's format. ``--report`` has
a finding a line, with the bytes of the mutant.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

from appliance.errors import InputError
from tests.fuzz import mutations, reading
from tests.fuzz.samples import SAMPLES, Sample, marks

# Of three mutants one has damaged bytes.
DAMAGED_SHARE = 1 / 3


@dataclass(frozen=True)
class Finding:
    """What is wrong with the reading of a mutant: "crash", "unrecognised", "misrecognised" or "silent"."""

    kind: str
    format: str
    name: str
    changes: tuple[str, ...]
    detail: str
    data: bytes = field(repr=False)


def check_gentle(sample: Sample, rng: random.Random) -> tuple[Finding | None, str]:
    """Mutate a sample, leave its words in place, and read it; a finding, and what became of the words: "stored",
    "named" as lost, or "refused" as a whole."""
    data, changes, _ = mutations.gentle(sample, rng)

    def found(kind: str, detail: str) -> Finding:
        return Finding(kind, sample.format, sample.name, tuple(changes), detail, data)

    words = marks(sample.data.decode())
    try:
        forced = reading.forced(data, sample.name, sample.format)
        is_complete = words <= forced.said and not forced.problems and not forced.is_guess
        try:
            outcome = reading.detected(data, sample.name)
        except InputError as error:
            return found("unrecognised", str(error)) if is_complete else None, "refused"
    except Exception:
        return found("crash", traceback.format_exc()), "refused"
    if is_complete and outcome.format != sample.format:
        return found("misrecognised", str(outcome.format)), "stored"
    lost = words - outcome.stored
    if lost and not outcome.problems and not outcome.notes:
        return found("silent", " ".join(sorted(lost))), "silent"
    return None, "named" if lost else "stored"


def check_damaged(sample: Sample, rng: random.Random) -> Finding | None:
    """Damage the bytes of a mutant, and read it."""
    data, changes, _ = mutations.gentle(sample, rng)
    data = mutations.damaged(data, rng)
    try:
        reading.forced(data, sample.name, sample.format)
        try:
            reading.detected(data, sample.name if rng.random() < 0.5 else "upload")
        except InputError:
            return None
    except Exception:
        return Finding("crash", sample.format, sample.name, (*changes, "damaged"), traceback.format_exc(), data)
    return None


@dataclass
class Campaign:
    """The counts of a campaign."""

    documents: int = 0
    damaged: int = 0
    words: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    examples: list[Finding] = field(default_factory=list)


def campaign(
    documents: int, seed: int = 0, seconds: float = float("inf"), formats: frozenset[str] = frozenset()
) -> Iterator[Campaign]:
    """Read mutants until one of the limits, and yield the counts after each."""
    rng = random.Random(seed)
    samples = [sample for sample in SAMPLES if not formats or sample.format in formats]
    counts = Campaign()
    end = time.monotonic() + seconds
    while counts.documents < documents and time.monotonic() < end:
        sample = rng.choice(samples)
        counts.documents += 1
        counts.formats[sample.format] += 1
        if rng.random() < DAMAGED_SHARE:
            counts.damaged += 1
            finding = check_damaged(sample, rng)
        else:
            finding, outcome = check_gentle(sample, rng)
            counts.words[outcome] += 1
        counts.examples.clear()
        if finding is not None:
            counts.findings[f"{finding.kind} {finding.format}"] += 1
            counts.examples.append(finding)
        yield counts


def main(arguments: list[str], out: TextIO = sys.stdout) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.parsers")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", default="", help="comma-separated; all by default")
    parser.add_argument("--report", type=Path, help="a finding a line")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    counts = Campaign()
    report = given.report.open("a", encoding="utf-8") if given.report else None
    for counts in campaign(
        given.documents, given.seed, given.seconds, frozenset(filter(None, given.formats.split(",")))
    ):
        for finding in counts.examples if report else ():
            print(json.dumps(asdict(finding) | {"data": finding.data.hex()}), file=report, flush=True)
    if report:
        report.close()
    result = {
        "documents": counts.documents, "damaged": counts.damaged, "words": dict(counts.words),
        "crashes": sum(n for kind, n in counts.findings.items() if kind.startswith("crash")),
        "findings": dict(counts.findings), "formats": dict(sorted(counts.formats.items())), "seed": given.seed,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    print(json.dumps(result), file=out)
    return 1 if counts.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
