"""``bench``: how well and how fast things are found, on a known benchmark or on one's own history."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance import __version__
from appliance.cli import options, out
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.bench.recall import OnStep
    from appliance.paths import Home
    from appliance_models import Embedder

verbs = typer.Typer()

PROFILES_HELP = (
    "Measure this ranking, built in or your own; may be repeated. evidence, bm25 and dense unless given."
)

Questions = Annotated[
    int | None,
    typer.Option(
        "--questions", metavar="N", min=1, help="Ask N of them; the same each time.", show_default=False
    ),
]
Profiles = Annotated[
    list[str] | None,
    typer.Option("--profile", metavar="NAME", help=PROFILES_HELP, show_default=False),
]


@verbs.callback(invoke_without_command=True)
def bench(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Measure recall and latency, on a known benchmark or on your own history.

    \b
    Examples:
      appliance bench recall locomo10.json
      appliance bench mine
    """
    if context.invoked_subcommand is None:
        raise UsageError("nothing to measure is named", hint="'appliance bench recall FILE' does")
    options.hand_down(context, home, json)


@verbs.command("recall")
def recall(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="LoCoMo, LongMemEval or BEAM JSON, or a BEIR folder."),
    ],
    questions: Questions = None,
    profile: Profiles = None,
    k: Annotated[
        list[int] | None,
        typer.Option(
            "-k",
            "--k",
            metavar="N",
            min=1,
            help="Recall at N; may be repeated. 1, 5, 10 and 20 unless given.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option("--split", metavar="NAME", help="Which judgements of a BEIR folder (qrels/NAME.tsv)."),
    ] = "test",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Measure how well the messages that answer a benchmark's questions are found, and how fast.

    Each conversation is read into a memory of its own in a temporary folder; yours is not touched, only its
    model and profiles are used. The product's search (evidence) stands beside its plain legs (bm25, dense).

    \b
    Examples:
      appliance bench recall locomo10.json
      appliance bench recall longmemeval_s.json --questions 50
      appliance bench recall scifact/ --profile evidence -k 10 -k 100 --json
    """  # fmt: skip
    from appliance.bench import material, measures
    from appliance.bench import recall as running
    from appliance.bench.systems import is_own
    from appliance.paths import find_home

    file = file.expanduser()
    found = find_home(home)
    systems = _systems(profile, found)
    depths = tuple(sorted(set(k))) if k else measures.DEPTHS
    began = time.perf_counter()
    left_out: material.LeftOut = Counter()
    name, conversations = material.read(file, split, left_out)
    if questions is not None:
        conversations = material.only(conversations, material.spread(file, split, questions))
    model = _embedder(found)
    with _steps() as on_step:
        outcome = running.run(
            conversations,
            systems,
            depths=depths,
            embedder=model,
            settings=found.config if any(map(is_own, systems)) and found.config.is_file() else None,
            on_step=on_step,
        )
    shape: dict[str, Any] = {
        "version": __version__,
        "file": out.path(file),
        "format": name,
        "model": {"name": model.name, "identity": model.identity},
        "conversations": outcome.conversations,
        "messages": outcome.messages,
        "questions": outcome.questions,
        "cite_unknown": outcome.unknown,
        "left_out": dict(left_out)
        | ({"messages whose id came before": outcome.same} if outcome.same else {}),
        "systems": {system: outcome.figures(system) for system in systems},
        "notes": dict(outcome.notes),
        "seconds": round(time.perf_counter() - began, 1),
    }
    if not outcome.questions:
        raise UsageError("it holds no question that can be measured", hint=_listed(shape["left_out"]))
    if json:
        out.document(shape)
    else:
        _show(shape)
    _tell(shape)


@verbs.command("mine")
def mine(
    questions: Questions = None,
    profile: Profiles = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Measure how well your own messages are found, and compare with the run before.

    Questions are made from the messages, without a model, and kept as ids and offsets, never as text, so that
    the next run asks the same: questions that were answered at once, asked again (asked); four words in a row
    that one message alone has (phrase); four of a message's rarer words in another order (keywords). Run it
    before and after a change of the model or the version. 60 questions are asked unless told otherwise.

    \b
    Examples:
      appliance bench mine
      appliance bench mine --questions 150 --json
    """  # fmt: skip
    from appliance.bench import mine as running
    from appliance.paths import find_home

    systems = _systems(profile, find_home(home))
    began = time.perf_counter()
    with options.reading(home, "bench mine") as memory, _steps() as on_step:
        measured = running.run(
            memory, user=user, questions=questions or running.QUESTIONS, systems=systems, on_step=on_step
        )
    facts = {name: value for name, value in measured.run.items() if name != "figures"}
    shape: dict[str, Any] = {
        **facts,
        "systems": {
            system: {
                "overall": figures["overall"],
                "by_category": {kind: means for kind, means in figures.items() if kind != "overall"},
                "latency_ms": measured.run["latency_ms"][system],
            }
            for system, figures in measured.figures.items()
        },
        "gone": measured.gone,
        "before": measured.before,
        "notes": dict(measured.notes),
        "seconds": round(time.perf_counter() - began, 1),
    }
    del shape["latency_ms"]
    if json:
        out.document(shape)
    else:
        _show(shape)
        if measured.before:
            _show_before(measured.before)
    out.say(
        f"{out.plural(shape['questions'], 'question')} about {out.plural(shape['messages'], 'message')},"
        f" with {shape['model']}, in {shape['seconds']:.0f} s"
    )
    if measured.gone:
        out.say(f"questions of the run before that hold no more: {measured.gone:,} (others took their place)")
    _tell_notes(measured.notes)


def _show_before(before: Mapping[str, Any]) -> None:
    """The run before and this one, over the questions that both asked."""
    out.line()
    if not before["systems"]:
        out.line(f"The run of {out.moment(before['time'])} asked none of these questions.")
        return
    out.line(
        f"The same {out.plural(before['same_questions'], 'question')} on {out.moment(before['time'])}, with version"
        f" {before['version']}, {before['model']} and {out.plural(before['messages'], 'message')}:"
    )
    told = ("recall@1", "recall@10", "mrr")
    rows = []
    for system, runs in before["systems"].items():
        for kind, then in runs["before"].items():
            changes = (f"{then[name]:.3f} → {runs['now'][kind][name]:.3f}" for name in told)
            rows.append((system, "all" if kind == "overall" else kind, f"{then['questions']:,}", *changes))
    out.table(("system", "questions of", "count", *told), rows, right=("count", *told))


def _systems(profile: Sequence[str] | None, home: Home) -> tuple[str, ...]:
    from appliance import config
    from appliance.bench.systems import SYSTEMS, known

    present = known(config.load(home))
    for name in profile or ():
        if name not in present:
            raise UsageError(f"no profile {name!r}", hint="one of " + ", ".join(present))
    return tuple(dict.fromkeys(profile or SYSTEMS))


def _embedder(home: Home) -> Embedder:
    """The configured model of the person's own home, which is only read."""
    import appliance_models
    from appliance import config
    from appliance.errors import ModelUnavailable

    settings = config.load(home).model
    try:
        return appliance_models.load(settings.name, (home.models,), threads=settings.threads or None)
    except appliance_models.ModelError as error:
        raise ModelUnavailable(str(error), hint="'appliance models list' shows what there is") from error


def _show(shape: Mapping[str, Any]) -> None:
    systems = shape["systems"]
    measured = list(
        dict.fromkeys(name for s in systems.values() for name in s["overall"] if name != "questions")
    )
    heads = ("system", "questions of", "count", *measured)
    rows = []
    for system, figures in systems.items():
        every = {"all": figures["overall"]}
        if len(figures["by_category"]) > 1:
            every |= figures["by_category"]
        for kind, means in every.items():
            shown = (f"{means[name]:.3f}" if name in means else "" for name in measured)
            rows.append((system, kind, f"{means['questions']:,}", *shown))
    out.table(heads, rows, right=("count", *measured))
    out.line()
    times = ("p50", "p95", "p99")
    out.table(
        ("system", *(f"{name} ms" for name in times)),
        [(system, *(f"{f['latency_ms'][name]:.1f}" for name in times)) for system, f in systems.items()],
        right=tuple(f"{name} ms" for name in times),
    )


def _tell(shape: Mapping[str, Any]) -> None:
    counts = (
        f"{out.plural(shape['questions'], 'question')} to {out.plural(shape['messages'], 'message')}"
        f" in {out.plural(shape['conversations'], 'conversation')}"
    )
    out.say(f"{shape['format']}: {counts}, with {shape['model']['name']}, in {shape['seconds']:.0f} s")
    if shape["cite_unknown"]:
        out.say(f"questions that cite what is not there: {shape['cite_unknown']:,} (they count, as missed)")
    if shape["left_out"]:
        out.say(f"left out: {_listed(shape['left_out'])}")
    _tell_notes(shape["notes"])


def _tell_notes(notes: Mapping[str, int]) -> None:
    out.notes([f"{note} ({out.plural(count, 'question')})" for note, count in notes.items()])


def _listed(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{what}: {count:,}" for what, count in counts.items())


@contextmanager
def _steps() -> Iterator[OnStep]:
    """What a run tells of itself, drawn on stderr if it is a terminal, silent if not."""
    if not out.on_terminal(sys.stderr):
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
    text = TextColumn("{task.description}", markup=False)
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=console, transient=True) as drawn:
        task = drawn.add_task("reading", total=None)
        yield lambda what, done, total: drawn.update(
            task, description=out.one_line(what), completed=done, total=total or None
        )
