"""Measures the rules for facts on everyday talk that other hands wrote and described; prints JSON.

python -m tests.eval.observations [--part dev|heldout] [--missed | --found | --unjudged]

LoCoMo's authors describe what each speaker says as *observations* ("Melanie has a dog named Luna"), each with the
message it comes from. The data is read in place (EVAL_DATA, or ../shared/eval
beside the checkout) and is no part of the project.

- **The set.** The observations of lasting things by the words of the observation alone, sorted into classes: tastes,
  people and animals, work, activities, plans, homes, belongings, health. Single events, opinions, feelings and
  compliments are left out, and counted.
- **Recall.** An observation is found if a fact by the same speaker in the same session holds at least half of its
  value's words in common with it, and says something of that class.
- **Precision.** A fact is right or wrong as ``observations_judged.tsv`` says, where a person judged each fact by
  reading its message. The file holds digests, no text. What is not judged is counted by itself. BEAM's messages of the
  user, for which there are no observations, count here too.
- **Halves.** Rules are written while looking at the conversations of ``dev`` only."""

# A class of observations is one pattern, however long.
# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from appliance.memory.facts import phrasing
from appliance.memory.facts.grammar import CHANGE
from appliance.memory.facts.rule_extractor import FactMention, extract_statements
from tests.eval.datasets import FOLDER

DATA = Path(os.environ.get("EVAL_DATA", FOLDER))
JUDGED = Path(__file__).with_name("observations_judged.tsv")
DEV = {"locomo": frozenset(("conv-26", "conv-30", "conv-43")), "beam": frozenset((1, 3, 5, 7))}
PARTS = ("dev", "heldout")
SHARED_WORDS = 0.5  # of a value, that an observation has too

_PEOPLE = (
    r"(?:husband|wife|partner|boyfriend|girlfriend|spouse|sons?|daughters?|kids?|children|child|brothers?|sisters?|siblings?"
    r"|mom|mother|dad|father|parents?|grandma|grandmother|grandpa|grandfather|aunt|uncle|cousins?|family|nephews?|nieces?"
    r"|friends?|roommate|mentor|boss|dogs?|cats?|puppy|puppies|pups?|kittens?|pets?|turtles?|guinea pigs?|fish|horses?)"
)
_JOBS = (
    r"(?:job|career|business|store|shop|studio|company|firm|startup|teacher|dancer|engineer|writer|screenwriter"
    r"|actor|nurse|doctor|player|coach|artist|streamer|gamer|volunteer|degree|school|college|university|internship)"
)
_THEN = (
    r"(?: (?:also|really|currently|now|still|recently|already|just|always|often|usually|actively|truly|especially))?"
)
_LASTING: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"{_THEN} ?(?:{words})\b")
    for name, words in {
        "taste": r"loves?|enjoys?|likes?|adores?|prefers?|hates?|dislikes?|is (?:such )?(?:an? )?(?:big |huge |great )?(?:fan|lover)"
        r"|is (?:very |really )?(?:passionate about|into|interested in|fond of|obsessed with)|'s (?:all-time )?favou?rite"
        r"|'s (?:passion|hobby|hobbies)",
        "people": rf"(?:has|owns|adopted|got) (?:[\w'-]+ ){{1,4}}{_PEOPLE}|'s (?:\w+ )?{_PEOPLE}(?:'s name)? (?:is|are|has|have|lives?|works?|named)"
        r"|is (?:\w+ )?(?:married|single|engaged|divorced|dating)|has been (?:married|dating)|has pets",
        "plan": r"plans?|is (?:\w+ )?(?:planning|hoping|considering|thinking (?:of|about)|saving|preparing|looking (?:into|for|forward))"
        r"|wants?|hopes?|aims?|aspires?|intends?|dreams?|is going to|is searching|is researching|'s (?:goal|dream|plan)",
        "work": rf"works|is working (?:as|at|for|on)|lost (?:his|her|their) job|quit|left (?:his|her) (?:\w+ )?job"
        rf"|(?:is|was|became|owns|runs|has|started|opened|launched|got|is starting|is running|is opening) (?:[\w'-]+ ){{1,4}}{_JOBS}"
        r"|graduated|studies|is studying|is (?:an? )?(?:[\w-]+ )?(?:teacher|dancer|writer|gamer)",
        "activity": r"is learning|is taking|takes|is (?:currently )?reading|is writing|writes|practices|plays|paints|runs|volunteers|collects|cooks"
        r"|goes|does|attends|is part of|is a member|is involved in|signed up|joined|started \w+ing|has been \w+ing|is training|uses|teaches|mentors",
        "home": r"lives?|is living|moved|is (?:originally )?from|comes from|grew up|was born|is based|used to live",
        "belonging": r"has (?:an?|some|lots|many|two|three|\d+)|owns|bought|got (?:an?|new|some)|keeps|drives",
        "health": r"is (?:\w+ )?(?:allergic|intolerant|diabetic|asthmatic)|was diagnosed|suffers|has (?:\w+ )?(?:asthma|diabetes|allerg)",
    }.items()
}  # fmt: skip
_OF_NO_FACT = re.compile(
    r".{0,40}\b(?:encourag|support|admir|appreciat|compliment|advis|suggest|thank|congratul)\w*"
    r"|has (?:an? )?(?:great|good|strong|positive|amazing|wonderful|nice) (?:time|day|sense|bond|belief|feeling)"
)
_ATTRIBUTES: Mapping[str, str] = {
    "taste": "likes dislikes prefers favourite habit diet hobby practises uses owns learns plays project job",
    "people": "relation owns children age job home health partner likes status",
    "plan": "plans wants date project learns studies job employer start looking",
    "work": "job employer studies school project owns team plans learns uses former business degree practises",
    "activity": "learns habit hobby practises project likes uses reads member plays studies owns job writes collects plans",
    "home": "home origin plans birthplace",
    "belonging": "owns likes relation project habit collects practises children uses health pet",
    "health": "health allergy diet",
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_EMPTY = frozenset(
    "a an the of to in on at for with and or my our his her their its is are was be it that this some new very really own"
    " more most all from by as into about up out".split()
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a speaker, who is the person."""

    conversation: str
    session: str
    id: str
    speaker: str
    text: str
    sent_on: date | None


@dataclass(frozen=True, slots=True)
class Observation:
    """A sentence about a speaker, and what class of lasting thing it tells; None for what does not last."""

    conversation: str
    session: str
    speaker: str
    text: str
    cited: str
    kind: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """A fact and its message."""

    message: Message
    fact: FactMention

    @property
    def digest(self) -> str:
        fact, message = self.fact, self.message
        value = phrasing.normalize_value(fact.value)
        parts = (message.conversation, message.id, fact.subject.casefold(), fact.attribute, value, fact.mode)
        return blake2b("\x1e".join(parts).encode(), digest_size=8).hexdigest()


def _in_part(source: str, id: str | int, part: str) -> bool:
    return (id in DEV[source]) == (part == "dev")


def locomo(part: str) -> tuple[list[Message], list[Observation]]:
    """The messages and observations of a half of LoCoMo."""
    messages, observations = [], []
    for sample in json.loads((DATA / "locomo_dev.json").read_text(encoding="utf-8")):
        name, talk = sample["sample_id"], sample["conversation"]
        if not _in_part("locomo", name, part):
            continue
        for session, turns in talk.items():
            if not isinstance(turns, list):
                continue
            when = datetime.strptime(talk[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").date()
            messages += [Message(name, session, turn["dia_id"], turn["speaker"], turn["text"], when) for turn in turns]
        for session, by_speaker in sample["observation"].items():
            for speaker, items in by_speaker.items():
                for text, cited in items:
                    kind = classify(text, speaker)
                    observations.append(
                        Observation(name, session.removesuffix("_observation"), speaker, text, str(cited), kind)
                    )
    return messages, observations


def beam(part: str) -> list[Message]:
    """The user's messages of a half of BEAM."""
    messages = []
    for talk in json.loads((DATA / "beam_dev.json").read_text(encoding="utf-8")):
        if not _in_part("beam", talk["id"], part):
            continue
        when = None
        for item in talk["messages"]:
            if item.get("time_anchor"):
                when = datetime.strptime(item["time_anchor"], "%B-%d-%Y").date()
            if item["role"] == "user":
                name = f"beam-{talk['id']}"
                messages.append(Message(name, str(item["batch"]), str(item["id"]), "user", item["content"], when))
    return messages


def classify(text: str, speaker: str) -> str | None:
    """The class of lasting thing that an observation tells of its speaker."""
    if not text.startswith(speaker):
        return None
    rest = text[len(speaker) :]
    if _OF_NO_FACT.match(rest):
        return None
    return next((name for name, words in _LASTING.items() if words.match(rest)), None)


def _stems(text: str) -> set[str]:
    words = (word.casefold().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    return {_stem(word) for word in words if word not in _EMPTY}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)][:6].rstrip("ey")
    return word[:6].rstrip("ey")


def says(found: Found, observation: Observation) -> bool:
    """Whether a fact says what an observation says."""
    fact, message = found.fact, found.message
    if (message.conversation, message.session, message.speaker) != (
        observation.conversation, observation.session, observation.speaker,
    ):  # fmt: skip
        return False
    allowed = _ATTRIBUTES[observation.kind or ""].split()
    if not {fact.kind, *fact.attribute.split()} & set(allowed):
        return False
    value = fact.value if fact.value not in ("yes", "") else fact.attribute
    mine, theirs = _stems(value), _stems(observation.text.removeprefix(observation.speaker))
    return bool(mine) and len(mine & theirs) / len(mine) >= SHARED_WORDS


def read(messages: Iterable[Message]) -> list[Found]:
    """What the rules find in messages."""
    return [
        Found(message, fact)
        for message in messages
        for fact in extract_statements(message.text, message.sent_on)
        if fact.attribute != CHANGE
    ]


def judgements() -> dict[str, str]:
    """The verdicts, "right" or "wrong", by digest."""
    if not JUDGED.exists():
        return {}
    rows = (line.split("\t", 1) for line in JUDGED.read_text(encoding="utf-8").splitlines() if line)
    return dict(rows)


def _precision(found: Iterable[Found], verdicts: Mapping[str, str]) -> dict[str, Any]:
    counted = Counter(verdicts.get(item.digest, "not judged") for item in found)
    judged = counted["right"] + counted["wrong"]
    precision = round(counted["right"] / judged, 3) if judged else None
    return {"found": counted.total(), **counted, "precision": precision}


def measure(part: str) -> dict[str, Any]:
    """The figures of a half."""
    messages, observations = locomo(part)
    facts, verdicts = read(messages), judgements()
    right = [item for item in facts if verdicts.get(item.digest) != "wrong"]
    lasting = [item for item in observations if item.kind]
    hits = Counter(item.kind for item in lasting if any(says(found, item) for found in right))
    there = Counter(item.kind for item in lasting)
    by_class = {name: f"{hits[name]} of {there[name]}" for name in there}
    return {
        "observations": len(observations), "lasting": len(lasting), "found": hits.total(),
        "recall": round(hits.total() / len(lasting), 3), "by class": by_class,
        "facts in LoCoMo": _precision(facts, verdicts), "facts in BEAM": _precision(read(beam(part)), verdicts),
    }  # fmt: skip


def _listed(part: str, what: str) -> Iterator[str]:
    messages, observations = locomo(part)
    by_id = {(message.conversation, message.id): message for message in messages}
    facts = read(messages)
    if what == "missed":
        for item in observations:
            if item.kind and not any(says(found, item) for found in facts):
                source = by_id.get((item.conversation, item.cited))
                yield f"{item.kind}\t{item.text}\n\t\t{source.text if source else item.cited}"
        return
    verdicts = judgements()
    for item in (*facts, *read(beam(part))):
        verdict = verdicts.get(item.digest, "?")
        if what == "found" or verdict == "?":
            fact, text = item.fact, item.message.text[item.fact.start : item.fact.end]
            said = [fact.subject, fact.attribute, fact.value, fact.mode, fact.since, fact.rule]
            yield f"{item.digest}\t{verdict}\t{json.dumps(said, ensure_ascii=False)}\n\t\t{' '.join(text.split())}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="one half only")
    for option in ("missed", "found", "unjudged"):
        parser.add_argument(f"--{option}", action="store_true", help=f"list what is {option} in the half instead")
    given = parser.parse_args()
    chosen = next((name for name in ("missed", "found", "unjudged") if getattr(given, name)), None)
    if chosen:
        for line in _listed(given.part or "dev", chosen):
            print(line)
    else:
        print(json.dumps({part: measure(part) for part in ([given.part] if given.part else PARTS)}, indent=1))
