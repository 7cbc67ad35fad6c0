"""``models``: the models that are there, embedders and rerankers, whether they are whole, and taking in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import options, out
from appliance.errors import ModelUnavailable, NotFound, UsageError
from appliance.paths import Home, create_home, find_home

if TYPE_CHECKING:
    from appliance_models import ModelInfo

verbs = typer.Typer()


@verbs.callback(invoke_without_command=True)
def models(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """List, check and import models: embedders, and rerankers that read the best hits once more.

    \b
    Examples:
      appliance models
      appliance models verify
      appliance models import ~/bge-small-en
    """
    if context.invoked_subcommand is None:
        list_models(home, json)
    else:
        options.hand_down(context, home, json)


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
    listed = [_described(info, {configured, settings.rerank.model}) for info in _packs(found)]
    if json:
        out.document({"configured": configured, "models": listed})
        return
    heads = ("name", "kind", "dimension", "tokens", "licence", "from", "state")
    out.table(heads, [_row(model) for model in listed], right=("dimension", "tokens"))
    for wanted in filter(None, (configured, settings.rerank.model)):
        if wanted not in [model["name"] for model in listed]:
            out.say(f"note: the settings name {wanted}, which is not one of these")


@verbs.command("verify")
def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One model; else all.", show_default=False)
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Hash every file of the models and compare with their manifests.

    Ends with 5 when a file is missing or has changed.

    \b
    Examples:
      appliance models verify
      appliance models verify all-minilm-l6-v2-int8 --json
    """  # fmt: skip
    from appliance_models import ModelError, verify_pack

    packs = _packs(find_home(home))
    chosen = [info for info in packs if name in (None, info.name)]
    if not chosen:
        present = ", ".join(info.name for info in packs) or "none"
        raise ModelUnavailable(f"no model called {name!r}", hint=f"present: {present}")
    files: list[dict[str, Any]] = []
    for info in chosen:
        try:
            checked = verify_pack(info.folder)
        except ModelError as error:
            files.append(_file(info.name, "manifest.json", "changed", str(error)))
            continue
        files += [_file(info.name, report.name, report.status, report.detail) for report in checked]
    wrong = [file for file in files if file["status"] != "ok"]
    if json:
        out.document({"ok": not wrong, "files": files})
    else:
        out.table(("model", "file", "state"), [(f["model"], f["file"], f["status"]) for f in files])
    for file in wrong:
        out.say(f"{file['model']}: {file['detail']}")
    if wrong:
        out.say("reinstall the program if it is a shipped model, else remove its folder and import it again")
        raise typer.Exit(ModelUnavailable.exit_code)


@verbs.command("import")
def import_model(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A model folder with an ONNX graph, or a pack.")
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its name here; else the folder's.", show_default=False),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Copy a model from a folder into the home, try it, and give it a manifest.

    DIR is a model as it is published (config.json, tokenizer.json, onnx/model.onnx), or a pack. A
    cross-encoder with one label is taken in as a reranker.

    \b
    Examples:
      appliance models import ~/bge-small-en
      appliance reindex --model bge-small-en
    """  # fmt: skip
    from appliance_models import ModelCorrupt, ModelError, ModelMissing, import_pack

    folder = folder.expanduser()
    if not folder.is_dir():
        raise NotFound("no such folder", where=out.path(folder))
    if name is not None and (not name or Path(name).name != name or name.startswith(".")):
        raise UsageError(f"{name!r} can't be the name of a model", hint="a plain folder name")
    into = create_home(find_home(home)).models
    try:
        manifest = import_pack(folder, into, name)
    except (ModelMissing, ModelCorrupt) as error:
        raise ModelUnavailable(str(error)) from error
    except ModelError as error:
        raise UsageError(str(error)) from error
    if json:
        out.document(
            {"name": manifest.name, "kind": manifest.kind}
            | {"dimension": manifest.dimension, "folder": out.path(into / manifest.name)}
        )
    if manifest.kind == "reranker":
        if not json:
            out.line(f"imported {manifest.name}, a reranker")
        out.say(f'rerank.model = "{manifest.name}" in the settings lets it read the best hits once more')
        return
    if not json:
        out.line(f"imported {manifest.name}, {manifest.dimension} dimensions")
    out.say(f"'appliance reindex --model {manifest.name}' moves the memory to it")


def _packs(home: Home) -> list[ModelInfo]:
    from appliance_models import list_models

    return list_models((home.models,))


def _described(info: ModelInfo, configured: set[str]) -> dict[str, Any]:
    manifest = info.manifest
    return {
        "name": info.name,
        "kind": manifest.kind if manifest else None,
        "configured": info.name in configured,
        "shipped": info.shipped,
        "folder": out.path(info.folder),
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
        model["problem"] or ("configured" if model["configured"] else "there"),
    )


def _file(model: str, file: str, status: str, detail: str) -> dict[str, Any]:
    return {"model": model, "file": file, "status": status, "detail": detail}
