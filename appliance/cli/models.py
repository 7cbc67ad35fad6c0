"""``models``: list, verify, import, use and remove embedding models and rerankers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import model_reports, options, output
from appliance.cli.options import argument, option, path_argument
from appliance.errors import ModelUnavailable, NotFound, UsageError
from appliance.paths import Home, create_home, find_home

if TYPE_CHECKING:
    from appliance_models import ModelInfo

verbs = typer.Typer()

_RESERVED_CHARACTERS = frozenset("/\\:@")
"""Separate the parts of a path, or of a name such as "fastembed:NAME" and "NAME/256"."""


UNUSABLE_EXIT_CODE = 1
"""The exit code when a model was imported, and can't be used for this memory."""


@verbs.callback(invoke_without_command=True)
def models(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """List, verify and import models: embedders, and rerankers that read the best hits again.

    \b
    Examples:
      appliance models
      appliance models verify
      appliance models import ~/bge-small-en
      appliance models use bge-small-en
    """
    if context.invoked_subcommand is None:
        list_models(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("list")
def list_models(home: options.Home = None, json: options.Json = False) -> None:
    """List the models, shipped and imported, and the generations of vectors that were made with them.

    \b
    Examples:
      appliance models list
      appliance models list --json
    """
    from appliance import config
    from appliance.settings import JINA_PREFIX

    found = find_home(home)
    settings = config.load(found)
    configured = settings.model.full_name()
    named = {_base_name(name): name for name in (configured, settings.rerank.model)}
    in_use = _models_in_use(found)
    listed = [_model_document(info, named, in_use) for info in _packs(found)]
    stored = [] if not found.database.exists() else _generation_documents(found)
    if json:
        output.print_json({"configured": configured, "models": listed, "generations": stored})
        return
    heads = ("name", "kind", "dimension", "tokens", "licence", "from", "state")
    output.print_table(heads, [_row(model) for model in listed], right=("dimension", "tokens"))
    if len(stored) > 1:
        output.print_line()
        model_reports.print_generations(stored)
    for name in filter(None, (configured, settings.rerank.model)):
        is_api = name.startswith(JINA_PREFIX)
        if not is_api and _base_name(name) not in [model["name"] for model in listed]:
            output.say(f"note: The settings name {name}, which is not installed.")


@verbs.command("verify")
def verify(
    name: Annotated[str | None, argument("NAME", "One model. Default: all.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Check the model files for damage.

    The hash of each file must be that in the manifest. The exit code is 5 if a file is missing or has changed.

    \b
    Examples:
      appliance models verify
      appliance models verify minilm-l6-dialogue-int8 --json
    """  # fmt: skip
    from appliance_models import ModelError, verify_pack

    packs = _packs(find_home(home))
    chosen = [info for info in packs if name in (None, info.name)]
    if not chosen:
        present = ", ".join(info.name for info in packs) or "none"
        raise ModelUnavailable(f"There is no model {name!r}.", hint=f"Installed: {present}.")
    files: list[dict[str, Any]] = []
    for info in chosen:
        try:
            checked = verify_pack(info.folder)
        except ModelError as error:
            files.append(_file_report(info.name, "manifest.json", "changed", str(error)))
            continue
        files += [_file_report(info.name, report.name, report.status, report.detail) for report in checked]
    wrong = [file for file in files if file["status"] != "ok"]
    if json:
        output.print_json({"ok": not wrong, "files": files})
    else:
        output.print_table(("model", "file", "state"), [(f["model"], f["file"], f["status"]) for f in files])
    for file in wrong:
        output.say(f"{file['model']}: {file['detail']}")
    if wrong:
        output.say("If the model is shipped, reinstall the program; otherwise remove its folder and import it again.")
        raise typer.Exit(ModelUnavailable.exit_code)


@verbs.command("import")
def import_model(
    folder: Annotated[str, path_argument("DIR", "A model folder with an ONNX graph, a cache with one, or a pack.")],
    name: Annotated[
        str | None, option("--name", "NAME", "Name of the model. Default: the pack's or the folder's.")
    ] = None,
    graph: Annotated[
        str | None, option("--graph", "FILE", "The ONNX file in DIR to use. Default: the best for this processor.")
    ] = None,
    pooling: Annotated[
        str | None,
        option("--pooling", "KIND", "How token vectors become one: mean, cls, last, or output of the graph."),
    ] = None,
    query_prefix: Annotated[str | None, option("--query-prefix", "TEXT", "Text before every query.")] = None,
    passage_prefix: Annotated[str | None, option("--passage-prefix", "TEXT", "Text before every message.")] = None,
    max_tokens: Annotated[
        int | None, option("--max-tokens", "N", "The length that the model was trained to read.", min=3)
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Compare it with the present model on your own messages.")
    ] = True,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Import a model from a folder, and compare it with the present one.

    The model is copied into the home, tested, and gets a manifest. DIR is a published model (config.json,
    tokenizer.json, onnx/model.onnx), an export of sentence-transformers, a model in the cache of fastembed or a hub, or
    a pack. A cross-encoder with one label is imported as a reranker.

    Then both models embed a sample of your messages and answer the same questions about them, as in 'bench mine', which
    takes some minutes. Nothing is moved to the new model until you say so.

    \b
    Examples:
      appliance models import ~/bge-small-en
      appliance models import ~/fastembed_cache/models--qdrant--bge-small-en-v1.5-onnx-q --no-measure
      appliance reindex --model bge-small-en
    """  # fmt: skip
    from appliance_models import ImportOptions, ModelCorrupt, ModelError, ModelMissing, import_pack

    source = Path(folder).expanduser()
    if not source.is_dir():
        raise NotFound("There is no such folder.", where=output.display_path(source))
    if name is not None and (not name or name.startswith(".") or _RESERVED_CHARACTERS & set(name)):
        reserved = " ".join(sorted(_RESERVED_CHARACTERS))
        raise UsageError(f"Invalid model name {name!r}.", hint=f"Use a plain folder name, without any of {reserved}")
    found = create_home(find_home(home))
    chosen = ImportOptions(graph, pooling, query_prefix, passage_prefix, max_tokens)
    try:
        report = import_pack(source, found.models, name, chosen)
    except (ModelMissing, ModelCorrupt) as error:
        raise _refusal(error) from error
    except ModelError as error:
        raise UsageError(str(error)) from error
    manifest = report.manifest
    document: dict[str, Any] = {"name": manifest.name, "kind": manifest.kind, "dimension": manifest.dimension}
    document["folder"] = output.display_path(found.models / manifest.name)
    if report.graph:
        document["graph"] = report.graph
    if not json:
        model_reports.print_import(report)
    if manifest.kind == "reranker":
        hint = f'To use it, set rerank.model = "{manifest.name}" in the settings.'
    else:
        document["facts"] = model_reports.facts(report)
        document["measures"], hint, is_usable = _measure(home, found, manifest.name, json, wanted=measure)
    if json:
        output.print_json(document)
    output.say(hint)
    if manifest.kind == "embedder" and not is_usable:
        raise typer.Exit(UNUSABLE_EXIT_CODE)


@verbs.command("measure")
def measure_model(
    name: Annotated[str, argument("NAME", "An embedding model that is shipped or imported.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Compare a model with the present one on your own messages, as after an import.

    Both embed a sample of your messages and answer the same questions about them, which takes some minutes. Nothing is
    moved.

    \b
    Examples:
      appliance models measure bge-small-en
    """
    found = find_home(home)
    _dimension(name, found)
    measures, hint, is_usable = _measure(home, found, name, json, wanted=True)
    if json:
        output.print_json({"name": name, "measures": measures})
    output.say(hint)
    if not is_usable:
        raise typer.Exit(UNUSABLE_EXIT_CODE)


@verbs.command("use")
def use(
    name: Annotated[str, argument("NAME", "An embedding model that is shipped or imported.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Make a model the configured one.

    New memories embed with it. A memory that has vectors keeps its model until 'appliance reindex --model NAME' moves
    it; this command says what that would do.

    \b
    Examples:
      appliance models use bge-small-en
      appliance models use minilm-l6-dialogue-int8
    """
    from appliance import config
    from appliance.settings import JINA_PREFIX

    if not name.strip():
        raise UsageError("The name of the model is empty.", hint="'appliance models' shows what is installed.")
    found = find_home(home)
    before = config.load(found)
    is_api = name.startswith(JINA_PREFIX)
    full_name = before.model.full_name(name)
    dimension = _dimension(full_name, found)
    config.write_setting(create_home(found), "model", "name", name)
    settings, origins = config.load_with_origins(found)
    configured, full = settings.model.full_name(), settings.model.full_name(name)
    serving = next((used for used, state in _models_in_use(found).items() if state == "active"), None)
    chunks = 0
    if serving not in (None, full):
        with options.open_existing(home, "models use") as memory:
            chunks = memory.status()["counts"]["chunks"]
    if json:
        output.print_json(
            {"configured": configured, "dimension": dimension, "serving": serving}
            | {"reindex": serving not in (None, full), "chunks": chunks}
        )
    else:
        output.print_line(f"model.name is {name}" + (f", with {dimension} dimensions" if dimension else ""))
    if is_api:
        output.say(f"note: {name} is asked over the network: every message is sent to {settings.jina.url}.")
    if configured != full:
        output.say(f"note: {origins['model.name']} sets {settings.model.name}, which counts before the settings file.")
    if serving is None and found.daemon.exists():
        output.say(
            "note: The memory is empty. A running daemon begins it with the model that its settings named before,"
            " unless it reads them again first: 'kill -HUP' it, or restart it."
        )
    if serving in (None, full):
        return
    output.say(
        f"The memory still uses {serving}. 'appliance reindex --model {name}' embeds its"
        f" {output.plural(chunks, 'chunk')} again; {serving} serves until that has ended."
    )


@verbs.command("remove")
def remove(
    name: Annotated[str, argument("NAME", "An imported model.")], home: options.Home = None, json: options.Json = False
) -> None:
    """Remove an imported model from the home.

    A model is kept while vectors of the memory were made with it, or the settings name it.

    \b
    Examples:
      appliance models remove bge-small-en
    """
    found = find_home(home)
    named = [info for info in _packs(found) if info.name == name]
    if not named:
        raise NotFound(f"There is no model {name!r}.", hint="'appliance models' shows what is installed.")
    info = min(named, key=lambda info: info.shipped)
    if info.shipped:
        raise UsageError(f"{name} comes with the program and can't be removed.")
    if len(named) == 1:  # else an earlier version imported a copy of one that comes with the program, which stays
        _refuse_if_needed(name, found)
    shutil.rmtree(info.folder)
    if json:
        output.print_json({"removed": name})
    else:
        output.print_line(f"removed {name}")


def _refuse_if_needed(name: str, found: Home) -> None:
    """Raise UsageError if vectors of the memory were made with a model, or the settings name it."""
    from appliance import config

    states = {state for used, state in _models_in_use(found).items() if _base_name(used) == name}
    if states:
        raise UsageError(
            f"Vectors of this memory were made with {name}.",
            hint="'appliance reindex --drop-old' removes those that are kept for a rollback or not complete."
            if "active" not in states
            else "Move it to another model first: 'appliance reindex --model NAME'.",
        )
    settings = config.load(found)
    if name == _base_name(settings.model.name):
        raise UsageError(f"The settings name {name}.", hint="Choose another one first: 'appliance models use NAME'.")
    if name == _base_name(settings.rerank.model):
        hint = f"Take it out of the settings first: rerank.model in {output.display_path(found.config)}."
        raise UsageError(f"{name} reads the best hits of each search again (rerank.model).", hint=hint)


def _measure(
    home: str | None, found: Home, name: str, json: bool, *, wanted: bool
) -> tuple[dict[str, Any] | None, str, bool]:
    """Compare a model with the present one, and print what comes of it. Returns the measures, None if there are none;
    what to do, because a model is only offered for a memory when it has been measured on it; and whether it can be used
    at all, as far as is known."""
    from appliance import config
    from appliance.bench import model_comparison
    from appliance.errors import ApplianceError
    from appliance_models import ModelError, load

    present = next((used for used, state in _models_in_use(found).items() if state == "active"), None)
    if present is None:
        output.say("The memory is empty, so there is nothing to measure the model with.")
        return None, f"'appliance models use {name}' lets the memory begin with it.", True
    later = f"'appliance models measure {name}' compares it with {present} on your messages, before you move to it."
    if not wanted:
        return None, later, True
    if present == name:
        return None, f"The memory uses {name} already.", True
    threads = config.load(found).model.threads or None
    try:
        with options.open_existing(home, "models import") as memory, output.step_progress() as on_step:
            outcome = model_comparison.compare(
                memory,
                lambda: load(present, (found.models,), threads),
                lambda: load(name, (found.models,), threads),
                on_step=on_step,
            )
    except model_comparison.UnusableModel as error:
        output.say(f"note: The models were not compared: {error}")
        return None, f"{name} can't be used for this memory. 'appliance models remove {name}' removes it.", False
    except (ApplianceError, ModelError, OSError) as error:
        # The import is complete whatever becomes of the comparison.
        output.say(f"note: The models were not compared: {error}")
        return None, later, True
    if not json:
        model_reports.print_comparison(outcome)
    hint = f"'appliance reindex --model {name}' changes the memory to it."
    return model_reports.comparison_document(outcome), hint, True


def _generation_documents(home: Home) -> list[dict[str, Any]]:
    from appliance.store.model_use import generations_of
    from appliance.timestamps import iso_from_microseconds

    return [
        {
            "id": one.generation.id,
            "model": one.generation.model,
            "dimension": one.generation.dimension,
            "state": one.generation.state,
            "complete_at": one.generation.complete_at and iso_from_microseconds(one.generation.complete_at),
            "messages": one.messages,
            "disk_bytes": one.disk_bytes,
        }
        for one in generations_of(home)
    ]


def _models_in_use(home: Home) -> dict[str, str]:
    """The models of the memory's generations, with the state of each."""
    from appliance.store.model_use import models_of_generations

    return models_of_generations(home)


def _dimension(name: str, home: Home) -> int:
    """The dimension of an embedding model that is installed or behind an API. Raises ModelUnavailable if there is no
    such model, or it can't be loaded."""
    from appliance.settings import JINA_PREFIX
    from appliance_models import ModelError, load, split_name

    try:
        if name.startswith(JINA_PREFIX):
            from appliance_models.jina import dimension_of

            base, dimensions = split_name(name)
            return dimension_of(base.removeprefix(JINA_PREFIX), dimensions)
        return load(name, (home.models,)).dimension
    except ModelError as error:
        raise _refusal(error) from error


def _base_name(name: str) -> str:
    """The pack of a model, whatever its name ends in or begins with."""
    from appliance_models import pack_name

    return pack_name(name)


def _packs(home: Home) -> list[ModelInfo]:
    from appliance_models import list_models

    return list_models((home.models,))


def _model_document(info: ModelInfo, configured: Mapping[str, str], in_use: Mapping[str, str]) -> dict[str, Any]:
    manifest = info.manifest
    states = {name: state for name, state in in_use.items() if _base_name(name) == info.name}
    return {
        "name": info.name,
        "kind": manifest.kind if manifest else None,
        "configured": info.name in configured,
        "in_use": "active" in states.values(),
        "kept": "kept" in states.values(),
        "used_as": {state: name for name, state in states.items()}
        | ({"configured": configured[info.name]} if info.name in configured else {}),
        "shipped": info.shipped,
        "folder": output.display_path(info.folder),
        "dimension": manifest.dimension if manifest else None,
        "max_tokens": manifest.max_tokens if manifest else None,
        "licence": manifest.licence if manifest else None,
        "identity": manifest.identity if manifest else None,
        "problem": info.problem or None,
    }


def _row(model: dict[str, Any]) -> tuple[str, ...]:
    return (
        model["name"],
        model["kind"] or "",
        str(model["dimension"] or ""),
        str(model["max_tokens"] or ""),
        model["licence"] or "",
        "shipped" if model["shipped"] else "imported",
        model["problem"] or ", ".join(_states(model)) or "installed",
    )


def _states(model: dict[str, Any]) -> list[str]:
    names = {"in_use": "in use", "kept": "kept for a rollback", "configured": "configured"}
    told = {field: name for field, name in names.items() if model[field]}
    for field, state in (("in_use", "active"), ("kept", "kept"), ("configured", "configured")):
        used = model["used_as"].get(state, model["name"])
        if field in told and used != model["name"]:
            told[field] += f" as {used}"
    return list(told.values())


def _file_report(model: str, file: str, status: str, detail: str) -> dict[str, Any]:
    return {"model": model, "file": file, "status": status, "detail": detail}


def _refusal(error: Exception) -> ModelUnavailable:
    """An error of a model: its first sentence says what is wrong, the others what to do."""
    message, _, hint = str(error).partition(". ")
    return ModelUnavailable(message.rstrip(".") + ".", hint=hint or "'appliance models' shows what is installed.")
