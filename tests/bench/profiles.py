"""What each machine profile costs and finds: the same import and the same questions under each, one after the other.

    python -m tests.bench.profiles [--messages 3000] [--questions 60] [--processors 1] [--limit 512] [--idle]

Each profile imports the messages by ``appliance ingest`` in a process group of its own, of which the memory is sampled;
then a process of its own asks. Recall is that of the message from which a question's words are, among the first ten;
``as_laptop`` is how much of the first ten of "laptop" is among those of the profile. ``--processors`` pins everything
to so many, ``--limit`` lets each process have so many MB of private memory (RLIMIT_DATA). With ``--idle``, a daemon of
each profile is left alone until its model has gone, some three minutes. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from appliance.machine_profiles import NAMES, PROFILE_VARIABLE, PROFILES
from tests.bench import material, measure

SAMPLE_SECONDS = 0.02
FIRST = 10
WARM_UP = 5
QUESTION_WORDS = 6
LONG_EVERY, LONG_SENTENCES = 10, 30
IDLE_SECONDS = 200
"""Longer than ``model.idle`` of any profile and the interval of background jobs together."""

_WORD = re.compile(r"\w+")


class GroupMemory(threading.Thread):
    """Samples the memory of all processes of a group; the peaks are in MB."""

    def __init__(self, group: int) -> None:
        super().__init__(daemon=True)
        self._group = group
        self._ended = threading.Event()
        self.private = self.resident = 0.0

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            found = [group_member for group_member in map(_memory, _members(self._group)) if group_member]
            self.private = max(self.private, sum(private for private, _ in found))
            self.resident = max(self.resident, sum(resident for _, resident in found))

    def end(self) -> measure.Document:
        """The peaks: private memory, and all that is resident. Pages that processes share count in each."""
        self._ended.set()
        self.join()
        return {"private_mb": round(self.private, 1), "resident_mb": round(self.resident, 1)}


def _members(group: int) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == group:
            found.append(name)
    return found


def _memory(process: str) -> tuple[float, float] | None:
    """Private and resident MB of a process; None if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("RssAnon", "VmRSS"))}
    return (int(sizes["RssAnon"]) / 1024, int(sizes["VmRSS"]) / 1024) if len(sizes) == 2 else None


def environment(home: Path, profile: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
    paths = os.pathsep.join(map(str, measure.PATHS))
    return {**kept, "APPLIANCE_HOME": str(home), PROFILE_VARIABLE: profile, "PYTHONPATH": paths}


def run(command: Sequence[str], home: Path, profile: str, limit: int) -> tuple[str, measure.Document]:
    """Run a command of a profile. Returns what it prints, and seconds and memory.

    Raises:
        CalledProcessError: It fails.
    """

    def confine() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (limit << 20, limit << 20))

    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=measure.ROOT,
        env=environment(home, profile), start_new_session=True, preexec_fn=confine,
    )  # fmt: skip
    memory = GroupMemory(process.pid)
    memory.start()
    out, error = process.communicate()
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        sys.stderr.write(error)
        raise subprocess.CalledProcessError(process.returncode, command)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return out, {"seconds": round(took, 2), "processor_seconds": round(spent, 2), **memory.end()}


def chats(texts: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Messages of one user; every tenth is as long as an assistant's answer."""
    records, chance = material.chats(texts, count, ["me"])["me"], random.Random(5)
    pool = material.sentences(texts)
    for record in records[::LONG_EVERY]:
        record["content"] = " ".join(chance.choices(pool, k=LONG_SENTENCES))
    return records


def known_items(records: Sequence[Mapping[str, Any]], count: int) -> list[tuple[str, str]]:
    """Questions made of words of messages, with the external ids of these."""
    chance = random.Random(4)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        record = chance.choice(records)
        words = _WORD.findall(record["content"])
        if len(words) > QUESTION_WORDS:
            asked = " ".join(chance.sample(words, QUESTION_WORDS))
            found.append((f"When did we talk about {asked}?", record["message_id"]))
    return found


def ask(questions: Sequence[str]) -> measure.Document:
    """Carried out in the process of a profile: seconds of each search, and the external ids of the first hits."""
    from appliance import Appliance

    with Appliance.open(create=False, worker=False) as memory:
        for question in questions[:WARM_UP]:
            memory.search(question, limit=FIRST)
        seconds, spent, found = [], [], []
        for question in [*questions[WARM_UP:], *questions[:WARM_UP]]:
            began, worked = time.perf_counter(), time.process_time()
            hits = memory.search(question, limit=FIRST)
            seconds.append(time.perf_counter() - began)
            spent.append(time.process_time() - worked)
            found.append([hit.external_id for hit in hits])
    return {"seconds": seconds, "spent": spent, "found": [*found[-WARM_UP:], *found[:-WARM_UP]]}


def measured(
    profile: str, folder: Path, items: Sequence[tuple[str, str]], limit: int, laptop: Sequence[Sequence[str]] | None
) -> tuple[measure.Document, list[list[str]]]:
    """The figures of a profile, and what it found."""
    home = folder / profile
    _, ingest = run(["appliance", "ingest", str(folder / "chats.jsonl")], home, profile, limit)
    (folder / "questions.json").write_text(json.dumps([question for question, _ in items]))
    out, memory = run(["tests.bench.profiles", "--ask", str(folder / "questions.json")], home, profile, limit)
    answers = json.loads(out)
    found: list[list[str]] = answers["found"]
    recall = sum(item in ids for (_, item), ids in zip(items, found, strict=True)) / len(items)
    shared = [
        len({*mine} & {*theirs}) / max(1, len(theirs)) for mine, theirs in zip(found, laptop or found, strict=True)
    ]
    figures = {
        "settings": PROFILES[profile],  # type: ignore[index]
        "ingest": ingest,
        "search": {
            "ms": measure.percentiles(answers["seconds"]), "processor_ms": measure.percentiles(answers["spent"]),
            "private_mb": memory["private_mb"], "resident_mb": memory["resident_mb"],
        },
        "recall_at_10": round(recall, 3),
        "as_laptop": round(sum(shared) / len(shared), 3),
        "disk_mb": round(measure.disk_bytes(home) / 1e6, 1),
    }  # fmt: skip
    return figures, found


def idle_daemons(folder: Path, profiles: Sequence[str]) -> dict[str, measure.Document]:
    """The memory of a daemon of each profile: when it has searched, and when it was left alone."""
    with ExitStack() as stack:
        daemons = {}
        for profile in profiles:
            home = folder / profile
            process = subprocess.Popen(
                [sys.executable, "-m", "appliance", "serve", "--port", "0"], env=environment(home, profile),
                cwd=measure.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.terminate)
            while not (home / "daemon.json").exists():
                time.sleep(0.1)
            command = [sys.executable, "-m", "appliance", "search", "the landlord and the lease"]
            subprocess.run(
                command, env=environment(home, profile), cwd=measure.ROOT, stdout=subprocess.DEVNULL, check=True
            )
            daemons[profile] = str(process.pid)
        after_search = {profile: _memory(pid) for profile, pid in daemons.items()}
        time.sleep(IDLE_SECONDS)
        return {
            profile: {
                name: dict(zip(("private_mb", "resident_mb"), map(round, found or (0, 0)), strict=True))
                for name, found in (("after_a_search", after_search[profile]), ("idle", _memory(pid)))
            }
            for profile, pid in daemons.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=3_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--processors", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        print(json.dumps(ask(json.loads(arguments.ask.read_text()))))
        return
    if arguments.processors:
        os.sched_setaffinity(0, {*range(arguments.processors)})
    texts, words_from = material.texts()
    records = chats(texts, arguments.messages)
    items = known_items(records, arguments.questions)
    figures: dict[str, measure.Document] = {}
    laptop: list[list[str]] | None = None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        material.write_jsonl(folder / "chats.jsonl", records)
        for profile in sorted(NAMES, key=lambda name: name != "laptop"):
            figures[profile], found = measured(profile, folder, items, arguments.limit, laptop)
            laptop = laptop or found
        idle = idle_daemons(folder, NAMES) if arguments.idle else None
    measure.show(
        {
            "benchmark": "profiles",
            "machine": measure.machine(),
            "processors": arguments.processors or os.cpu_count(),
            "limit_mb": arguments.limit or None,
            "messages": len(records),
            "words": words_from,
            "profiles": figures,
            "idle": idle,
        }
    )


if __name__ == "__main__":
    main()
