"""``models``: list, verify and import embedding models and rerankers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, option
from appliance.errors import ModelUnavailable, NotFound, UsageError
from appliance.paths import Home, create_home, find_home

if TYPE_CHECKING:
    from appliance_models import ModelInfo

verbs = typer.Typer()


@verbs.callback(invoke_without_command=True)
def models(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """List, verify and import models: embedders, and rerankers that read the best hits again.

    \b
    Examples:
      appliance models
      appliance models verify
      appliance models import ~/bge-small-en
    """
    if context.invoked_subcommand is None:
        list_models(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("list")
def list_models(home: options.Home = None, json: options.Json = False) -> None:
    """List the models, shipped and imported.

    \b
    Examples:
      appliance models list
      appliance models list --json
    """
    from appliance import config

    found = find_home(home)
    settings = config.load(found)
    configured = settings.model.name
    listed = [_model_document(info, {configured, settings.rerank.model}) for info in _packs(found)]
    if json:
        output.print_json({"configured": configured, "models": listed})
        return
    heads = ("name", "kind", "dimension", "tokens", "licence", "from", "state")
    output.print_table(heads, [_row(model) for model in listed], right=("dimension", "tokens"))
    for name in filter(None, (configured, settings.rerank.model)):
        if name not in [model["name"] for model in listed]:
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
    folder: Annotated[Path, argument("DIR", "A model folder with an ONNX graph, or a pack.")],
    name: Annotated[str | None, option("--name", "NAME", "Name of the model. Default: the folder's.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Import a model from a folder.

    The model is copied into the home, tested, and gets a manifest. DIR is a published model (config.json,
    tokenizer.json, onnx/model.onnx) or a pack. A cross-encoder with one label is imported as a reranker.

    \b
    Examples:
      appliance models import ~/bge-small-en
      appliance reindex --model bge-small-en
    """  # fmt: skip
    from appliance_models import ModelCorrupt, ModelError, ModelMissing, import_pack

    folder = folder.expanduser()
    if not folder.is_dir():
        raise NotFound("No such folder.", where=output.display_path(folder))
    if name is not None and (not name or Path(name).name != name or name.startswith(".")):
        raise UsageError(f"Invalid model name {name!r}.", hint="Use a plain folder name.")
    into = create_home(find_home(home)).models
    try:
        manifest = import_pack(folder, into, name)
    except (ModelMissing, ModelCorrupt) as error:
        raise ModelUnavailable(str(error)) from error
    except ModelError as error:
        raise UsageError(str(error)) from error
    if manifest.kind == "reranker":
        kind, hint = "a reranker", f'To use it, set rerank.model = "{manifest.name}" in the settings.'
    else:
        kind = f"{manifest.dimension} dimensions"
        hint = f"'appliance reindex --model {manifest.name}' changes the memory to it."
    if json:
        output.print_json(
            {"name": manifest.name, "kind": manifest.kind}
            | {"dimension": manifest.dimension, "folder": output.display_path(into / manifest.name)}
        )
    else:
        output.print_line(f"imported {manifest.name}, {kind}")
    output.say(hint)


def _packs(home: Home) -> list[ModelInfo]:
    from appliance_models import list_models

    return list_models((home.models,))


def _model_document(info: ModelInfo, configured: set[str]) -> dict[str, Any]:
    manifest = info.manifest
    return {
        "name": info.name,
        "kind": manifest.kind if manifest else None,
        "configured": info.name in configured,
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
        model["problem"] or ("configured" if model["configured"] else "installed"),
    )


def _file_report(model: str, file: str, status: str, detail: str) -> dict[str, Any]:
    return {"model": model, "file": file, "status": status, "detail": detail}
