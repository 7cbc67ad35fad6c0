"""``bench``: measure recall and latency on a known benchmark or on the user's own history."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance import __version__
from appliance.cli import options, output
from appliance.cli.options import flag, option, path_argument
from appliance.cli.sending import confirm_sending
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.paths import Home
    from appliance_models import Embedder

verbs = typer.Typer()

LEGEND = (
    "evidence is the complete search, bm25 words alone, dense meaning alone. recall@10: the share of questions whose"
    " message is among the first ten hits; mrr: 1 if it is always the first."
)
"""Said below the figures of one's own messages."""

Questions = Annotated[int | None, option("--questions", "N", "Ask N questions, the same each time.", min=1)]
Profiles = Annotated[
    list[str] | None,
    option("--profile", "NAME", "Measure this scoring profile (repeatable). Default: evidence, bm25 and dense."),
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
        raise UsageError("Nothing to measure.", hint="Use 'appliance bench recall FILE' or 'appliance bench mine'.")
    options.inherit_options(context, home, json)


@verbs.command("recall")
def recall(
    file: Annotated[str, path_argument("FILE", "LoCoMo, LongMemEval or BEAM JSON, or a BEIR folder.")],
    questions: Questions = None,
    profile: Profiles = None,
    k: Annotated[
        list[int] | None, option("-k --k", "N", "Recall at N (repeatable). Default: 1, 5, 10 and 20.", min=1)
    ] = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="The judgements of a BEIR folder to use (qrels/NAME.tsv).")
    ] = "test",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Measure recall and latency on a known benchmark.

    Each conversation gets a memory of its own in a temporary folder; of your memory, only the model and the scoring
    profiles are used. The default compares the complete search (evidence) with its plain legs (bm25, dense).

    \b
    Examples:
      appliance bench recall locomo10.json
      appliance bench recall longmemeval_s.json --questions 50
      appliance bench recall scifact/ --profile evidence -k 10 -k 100 --json
    """  # fmt: skip
    from appliance.bench import datasets, ir_metrics
    from appliance.bench import recall as benchmark
    from appliance.bench.systems import is_custom
    from appliance.paths import find_home

    path = Path(file).expanduser()
    home_paths = find_home(home)
    systems = _systems(profile, home_paths)
    depths = tuple(sorted(set(k))) if k else ir_metrics.RECALL_DEPTHS
    started = time.perf_counter()
    left_out: datasets.SkippedCounts = Counter()
    name, conversations = datasets.read_benchmark(path, split, left_out)
    if questions is not None:
        conversations = datasets.filter_questions(conversations, datasets.sample_questions(path, split, questions))
    model = _embedder(home_paths)
    with output.step_progress() as on_step:
        outcome = benchmark.run(
            conversations,
            systems,
            depths=depths,
            embedder=model,
            settings=home_paths.config if any(map(is_custom, systems)) and home_paths.config.is_file() else None,
            on_step=on_step,
        )
    shape: dict[str, Any] = {
        "version": __version__,
        "file": output.display_path(path),
        "format": name,
        "model": {"name": model.name, "identity": model.identity},
        "conversations": outcome.conversations,
        "messages": outcome.messages,
        "questions": outcome.questions,
        "cite_unknown": outcome.unknown_citations,
        "left_out": dict(left_out)
        | ({"messages whose id came before": outcome.duplicate_ids} if outcome.duplicate_ids else {}),
        "systems": {system: outcome.figures(system) for system in systems},
        "notes": dict(outcome.notes),
        "seconds": round(time.perf_counter() - started, 1),
    }
    if not outcome.questions:
        raise UsageError("The file has no question that can be measured.", hint=_format_counts(shape["left_out"]))
    if json:
        output.print_json(shape)
    else:
        _print_figures(shape)
        _print_found(shape["systems"])
    _say_summary(shape)


@verbs.command("mine")
def mine(
    questions: Questions = None,
    profile: Profiles = None,
    generation: Annotated[
        list[int] | None,
        option(
            "--generation",
            "N",
            "Measure with these vectors (repeatable), such as those that a change of the model has kept.",
            min=1,
        ),
    ] = None,
    user: options.User = None,
    yes: Annotated[bool, flag("--yes", "Do not ask before texts are sent to an embedding API.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Measure recall and latency on your own messages. The result is compared with the previous run.

    The questions are made from your messages without a model: questions that were answered at once (asked), four
    consecutive words that only one message has (phrase), and four of a message's rarer words in another order
    (keywords). They are stored as ids and offsets, never as text, so that the next run asks the same ones. Run it
    before and after you change the model or the version. The default is 60 questions.

    \b
    Examples:
      appliance bench mine
      appliance bench mine --questions 150 --json
      appliance bench mine --profile evidence --generation 1 --generation 2
    """  # fmt: skip
    from appliance.bench import own_history
    from appliance.paths import find_home

    systems = _systems(profile, find_home(home))
    started = time.perf_counter()
    with options.open_existing(home, "bench mine") as memory:
        for number in dict.fromkeys(generation or ()):  # each is completed before it is measured
            confirm_sending(memory.forecast_reindex(generation=number), yes)
        with output.step_progress() as on_step:
            history_run = own_history.run(
                memory,
                user=user,
                questions=questions or own_history.DEFAULT_QUESTIONS,
                systems=systems,
                generations=generation or (),
                on_step=on_step,
            )
    run_fields = {name: value for name, value in history_run.run.items() if name != "figures"}
    shape: dict[str, Any] = {
        **run_fields,
        "systems": {
            system: {
                "overall": figures["overall"],
                "by_category": {kind: means for kind, means in figures.items() if kind != "overall"},
                "latency_ms": history_run.run["latency_ms"][system],
            }
            for system, figures in history_run.figures.items()
        },
        "gone": history_run.gone,
        "before": history_run.before,
        "notes": dict(history_run.notes),
        "seconds": round(time.perf_counter() - started, 1),
    }
    del shape["latency_ms"]
    if json:
        output.print_json(shape)
    else:
        _print_figures(shape)
        if history_run.before:
            _print_comparison(history_run.before)
    output.say(
        f"{output.plural(shape['questions'], 'question')} about {output.plural(shape['messages'], 'message')},"
        f" with {shape['model']}, in {shape['seconds']:.0f} s"
    )
    if not json:
        output.say(LEGEND)
    if history_run.gone:
        output.say(
            f"{output.plural(history_run.gone, 'question')} of the previous run replaced: the messages are gone."
        )
    _say_notes(history_run.notes)


def _print_comparison(before: Mapping[str, Any]) -> None:
    """Compare the previous run with this one, over the questions that both asked."""
    output.print_line()
    if not before["systems"]:
        output.print_line(f"The run of {output.format_timestamp(before['time'])} asked none of these questions.")
        return
    output.print_line(
        f"The same {output.plural(before['same_questions'], 'question')} on"
        f" {output.format_timestamp(before['time'])}, with version {before['version']}, {before['model']} and"
        f" {output.plural(before['messages'], 'message')}:"
    )
    measures = ("recall@1", "recall@10", "mrr")
    rows = []
    for system, runs in before["systems"].items():
        for kind, old_figures in runs["before"].items():
            changes = (f"{old_figures[name]:.3f} → {runs['now'][kind][name]:.3f}" for name in measures)
            rows.append((system, "all" if kind == "overall" else kind, f"{old_figures['questions']:,}", *changes))
    output.print_table(("system", "questions of", "count", *measures), rows, right=("count", *measures))


def _systems(profile: Sequence[str] | None, home: Home) -> tuple[str, ...]:
    from appliance import config
    from appliance.bench.systems import SYSTEMS, available_profiles

    available = available_profiles(config.load(home))
    for name in profile or ():
        if name not in available:
            raise UsageError(f"There is no profile {name!r}.", hint=f"Use one of {', '.join(available)}.")
    return tuple(dict.fromkeys(profile or SYSTEMS))


def _embedder(home: Home) -> Embedder:
    """The configured model of the user's home, which is only read."""
    import appliance_models
    from appliance import config
    from appliance.errors import ModelUnavailable

    settings = config.load(home).model
    try:
        return appliance_models.load(settings.full_name(), (home.models,), threads=settings.threads or None)
    except appliance_models.ModelError as error:
        raise ModelUnavailable(str(error), hint="'appliance models list' shows the models.") from error


def _print_found(systems: Mapping[str, Any]) -> None:
    """Print for how many questions something was found, and how well scores tell those without an answer apart."""
    rows = []
    for system, figures in systems.items():
        found = figures["found"]
        rows.append((system, "with an answer", f"{found['answerable']:.3f}", ""))
        for kind, share in found["unanswerable"].items():
            rows.append((system, f"without: {kind}", f"{share:.3f}", _auroc(found, kind)))
        if len(found["unanswerable"]) > 1:
            rows.append((system, "without: all", "", _auroc(found, "overall")))
    if rows:
        output.print_line()
        output.print_table(("system", "questions", "found", "AUROC"), rows, right=("found", "AUROC"))


def _auroc(found: Mapping[str, Any], kind: str) -> str:
    return f"{found['auroc'][kind]:.3f}" if kind in found["auroc"] else ""


def _print_figures(shape: Mapping[str, Any]) -> None:
    systems = shape["systems"]
    measure_names = list(dict.fromkeys(name for s in systems.values() for name in s["overall"] if name != "questions"))
    heads = ("system", "questions of", "count", *measure_names)
    rows = []
    for system, figures in systems.items():
        groups = {"all": figures["overall"]}
        if len(figures["by_category"]) > 1:
            groups |= figures["by_category"]
        for kind, means in groups.items():
            cells = (f"{means[name]:.3f}" if name in means else "" for name in measure_names)
            rows.append((system, kind, f"{means['questions']:,}", *cells))
    output.print_table(heads, rows, right=("count", *measure_names))
    output.print_line()
    times = ("p50", "p95", "p99")
    output.print_table(
        ("system", *(f"{name} ms" for name in times)),
        [(system, *(f"{f['latency_ms'][name]:.1f}" for name in times)) for system, f in systems.items()],
        right=tuple(f"{name} ms" for name in times),
    )


def _say_summary(shape: Mapping[str, Any]) -> None:
    counts = (
        f"{output.plural(shape['questions'], 'question')} about {output.plural(shape['messages'], 'message')}"
        f" in {output.plural(shape['conversations'], 'conversation')}"
    )
    output.say(f"{shape['format']}: {counts}, with {shape['model']['name']}, in {shape['seconds']:.0f} s")
    if shape["cite_unknown"]:
        output.say(f"{output.plural(shape['cite_unknown'], 'question')} with unknown evidence, counted as missed")
    if shape["left_out"]:
        output.say(f"left out: {_format_counts(shape['left_out'])}")
    _say_notes(shape["notes"])


def _say_notes(notes: Mapping[str, int]) -> None:
    output.say_notes([f"{note} ({output.plural(count, 'question')})" for note, count in notes.items()])


def _format_counts(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{name}: {count:,}" for name, count in counts.items())
