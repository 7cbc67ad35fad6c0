"""The bundled sample exports, read, searched and remembered, through the command line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from appliance import Appliance
from tests.golden.surroundings import SAMPLES, asking, document, fixed, normalised, run, without_folders, written

SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "by meaning": {"query": "which food is dangerous for Ben"},
    "by words alone": {"query": "which food is dangerous for Ben", "mode": "lexical"},
    "by vectors alone": {"query": "which food is dangerous for Ben", "mode": "dense"},
    "balanced": {"query": "the freeze of 2.4", "profile": "balanced"},
    "by an exact name": {"query": "KLP-512"},
    "quoted": {"query": 'what was wrong with the "connection pool"'},
    "Spanish": {"query": "¿quién quería volver a Benasque?"},
    "since": {"query": "when are the slides due", "since": "2026-02-20"},
    "until": {"query": "when are the slides due", "until": "2026-02-19"},
    "a time that is named": {"query": "what did we plan in January 2026"},
    "a time that is named by today": {"query": "what was said last month"},
    "as of": {"query": "what was said last month", "as_of": "2026-02-10"},
    "a source": {"query": "cabin", "sources": ["whatsapp"]},
    "a session": {"query": "freeze", "session_id": "release-2-4"},
    "a role": {"query": "ticket", "roles": ["tool"]},
    "somebody else": {"query": "cabin", "user_id": "nobody"},
    "one hit a session": {"query": "Mara", "per_session": 1},
    "without a leg": {"query": "KLP-512", "without": ["own", "quoted"]},
    "why not": {"query": "which food is dangerous for Ben", "why_not": "m1"},
    "nothing in common": {"query": "zzz qqq xxyyzz"},
}

EXPLAINED: tuple[tuple[str, ...], ...] = (
    ("which food is dangerous for Ben",),
    ("KLP-512", "--mode", "lexical"),
    ("when are the slides due", "--since", "2026-02-20", "--profile", "balanced"),
    ('the "connection pool" in February 2026', "--why-not", "m1"),
    ("cabin", "--user", "nobody"),
)

CONTEXTS: Mapping[str, Mapping[str, Any]] = {
    "small": {"query": "what can I cook for Mara and Ben?", "budget": 400},
    "of a tutor": {"query": "when are the slides due?", "preset": "tutor", "budget": 800},
    "shares": {"query": "when do we freeze?", "shares": {"retrieved": 0.7, "recent": 0.1}, "budget": 500},
    "in a session": {"query": "and when was that?", "session_id": "release-2-4", "budget": 700},
    "nothing looked up": {
        "query": "and when was that?", "session_id": "release-2-4", "auto_recall": False, "budget": 700
    },
    "evidence": {"query": "how was the slow first query solved?", "profile": "evidence", "budget": 600},
}  # fmt: skip

TURNS = (
    ("user", "My deadline for the grant is March 15th, and please always answer in metric."),
    ("assistant", "Noted: March 15th, and metric units."),
    ("user", "I moved to Leipzig last month, the rent is 870 euros."),
    ("assistant", "Then I count in euros from now on."),
    ("user", "What did I say about the deadline?"),
)


def make() -> Mapping[str, str]:
    """The golden files of the demo."""
    with fixed(hashed=True):
        taken = document("ingest", *map(str, SAMPLES))
        exported, _ = run("export", "-")
        markdown, _ = run("export", "-", "--format", "markdown")
        found, contexts = _over_http()
        return {
            "demo_export.jsonl": exported,
            "demo_memory.json": written({"ingest": taken, **_memory(), "markdown": _digest(markdown)}),
            "demo_search.json": written(found),
            "demo_explain.txt": "\n".join(_explained(*asked) for asked in EXPLAINED),
            "demo_context.json": written(contexts),
            "demo_command_line.json": written(_on_the_command_line()),
            "demo_session.json": written(_session()),
        }


def _over_http() -> tuple[dict[str, Any], dict[str, Any]]:
    """Searches and contexts by one open memory: the shapes are those of the command line."""
    with Appliance.open(worker=False) as memory, asking(memory) as ask:
        found = {name: _short(ask("/v1/search", {"limit": 4, **body})) for name, body in SEARCHES.items()}
        return found, {name: grouped(ask("/v1/context", body)) for name, body in CONTEXTS.items()}


def _short(found: Any) -> Any:
    """A search without the parts of scores that add nothing, and without the words of summaries, all of which stand
    in demo_memory.json."""
    for hit in found["hits"]:
        hit["why"]["score"] = {name: part for name, part in hit["why"]["score"].items() if part}
    kept = ("rank", "score", "why", "id")
    found["summaries"] = [{key: one[key] for key in kept} for one in found["summaries"]]
    return found


def grouped(context: Any) -> Any:
    """A context with what was left out by its reason, in the order in which it was considered."""
    reasons: dict[str, list[str]] = {}
    for dropped in context["dropped"]:
        reasons.setdefault(dropped["reason"], []).append(dropped["message_id"])
    return {**context, "dropped": {reason: " ".join(ids) for reason, ids in reasons.items()}}


def _explained(*asked: str) -> str:
    out, err = run("search", *asked, "-k", "3", "--explain")
    err = re.sub(r"[\d,]+ ms", "<n> ms", err)
    return f"== {' '.join(asked)}\n{without_folders(out)}-- stderr\n{without_folders(err)}"


def _on_the_command_line() -> dict[str, Any]:
    """A search and a context whole, and how a context is told."""
    context, told = run("context", "what can I cook for Mara and Ben?", "--budget", "300", "--json")
    return {
        "search": document("search", "which food is dangerous for Ben", "-k", "1"),
        "context": grouped(normalised(json.loads(context))),
        "told": normalised(told),
    }


def _memory() -> dict[str, Any]:
    status = document("status")
    message = document("show", "m125")
    return {
        "status": status,
        "facts": document("facts"),
        "what you know": normalised(run("show", "--what-you-know")[0]),
        "summaries": document("summaries"),
        "sessions": document("sessions"),
        "message": {key: message[key] for key in ("message", "place", "variants", "importance")},
    }


def _session() -> Any:
    """A conversation begun by a program, which the memories of the others come to."""
    with Appliance.open(worker=False) as memory:
        session = memory.sessions.create(title="Planning", external_id="planning", metadata={"project": "x"})
        for number, (role, text) in enumerate(TURNS):
            when = datetime(2026, 3, 30, 9, number, tzinfo=UTC)
            session.add(role, text, external_id=f"p{number}", timestamp=when)  # type: ignore[arg-type]
        memory.run_pending_jobs()
        branch = session.branch("p1", title="Another way")
        branch.add("user", "Never mind the grant.", external_id="b0", timestamp=when)
        session.pin()
        shown = {
            "info": session.info,
            "messages": session.messages(),
            "branch": {"info": branch.info, "messages": [one.id for one in branch.messages()]},
            "window": session.window(),
            "context": session.context("when is my deadline?", budget=600),
            "facts": [(one.id, one.text) for one in memory.facts.list()],
            "verify": memory.verify(),
        }
    built = msgspec.to_builtins(shown)
    built["branch"]["info"]["external_id"] = "<random>"
    built["context"] = grouped(built["context"])
    return normalised(built)


def _digest(text: str) -> dict[str, Any]:
    return {
        "begins": text.split("\n")[:12],
        "lines": text.count("\n"),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
