"""Imports a model folder, as others lay it out (see ``model_folder``), as a pack with a manifest."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing
from appliance_models.external_data import external_data_files
from appliance_models.families import Family, find_family
from appliance_models.files import SHIPPED_PACKS
from appliance_models.graph_choice import choose_graph
from appliance_models.manifest import (
    COPIED_FILES,
    LEGAL_FILES,
    MANIFEST_FILE,
    MODEL_FILE,
    OUTPUT_POOLING,
    PAIR_POOLING,
    POOLINGS,
    TOKENIZER_FILE,
    Manifest,
    describe_files,
    parse_manifest,
    read_manifest,
    render_manifest,
)
from appliance_models.model_folder import FolderFacts, ModelFolder, find_model, read_facts, require_files

if TYPE_CHECKING:
    from appliance_models.onnx import GraphOutputs

PROBE_TEXT = "A short sentence to test the model."
_UNFINISHED = ".import-"
NEW_SECONDS = 60.0
"""An import takes less until it holds its folder."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What replaces the facts that a folder gives. None leaves a fact as it is found.

    `model_file` is a graph of the folder, by its relative path; `max_tokens` the length to which texts are chunked.
    """

    model_file: str | None = None
    pooling: str | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """An imported model: the graph that was chosen and the others that were there, by their paths in the folder; and
    where each fact comes from ("pooling": "1_Pooling", "known of the family bge-en", "assumed" ...)."""

    manifest: Manifest
    graph: str = ""
    other_graphs: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


def import_pack(
    folder: Path, destination: Path, name: str | None = None, options: ImportOptions | None = None
) -> ImportReport:
    """Copy the model in `folder` to `destination/<name>` as a pack, completely or not at all.

    `folder` is a pack, a hub's repository or its cache, an export of sentence-transformers, or a cache of fastembed. A
    sequence classifier has one logit and becomes a reranker. Links are followed. The copy is loaded and tested on a
    sentence before it is named, by default as the folder is, or as the pack's manifest says.

    Raises ModelMissing, ModelCorrupt, and ModelError if a pack of that name exists or comes with the program, or an
    option does not fit.
    """
    model = find_model(folder)
    options = options or ImportOptions()
    is_pack = (model.path / MANIFEST_FILE).is_file()
    name = name or (read_manifest(model.path).name if is_pack else model.name)
    target = destination / name
    if (SHIPPED_PACKS / name).exists():
        raise ModelError(f"A model that comes with the program is named {name}. Give another name (--name).")
    if target.exists():
        raise _exists_error(target)
    destination.mkdir(parents=True, exist_ok=True)
    _discard_unfinished(destination)
    with (
        _named_when_full(destination),
        tempfile.TemporaryDirectory(dir=destination, prefix=_UNFINISHED) as temporary,
        _held(Path(temporary)),
    ):
        pack = Path(temporary, name)
        pack.mkdir()
        if is_pack:
            if options != ImportOptions():
                raise ModelError(f"{model.path} is a pack: its manifest says all, and options can't change it.")
            report = ImportReport(_copy_pack(model.path, pack))
        else:
            report = _convert(model, pack, options)
        _check_runs(pack, report.manifest)
        _sync([path for path in pack.rglob("*") if path.is_file()])
        try:
            pack.rename(target)
        except OSError as error:
            if target.exists():  # another import was faster
                raise _exists_error(target) from error
            raise
        if os.name == "posix":  # Windows can't sync a folder
            _sync([destination])
    return report


def _exists_error(target: Path) -> ModelError:
    return ModelError(
        f"There is a model {target.name} already ({target}). Import it under another name (--name), or remove that one "
        f"first ('appliance models remove {target.name}')."
    )


@contextmanager
def _named_when_full(destination: Path) -> Iterator[None]:
    """Within it, the error of a full disk names the folder that is full; that of a copy names what was copied."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, error.strerror, str(destination)) from error
        raise


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other imports from taking ``folder`` for one that was broken off."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _discard_unfinished(destination: Path) -> None:
    """Remove what imports left behind whose process was killed. Windows does not tell those from others."""
    if sys.platform == "win32":
        return
    import fcntl

    for folder in destination.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):  # it is in use, or has just gone
            if time.time() - folder.stat().st_mtime < NEW_SECONDS:
                continue
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _copy_pack(folder: Path, pack: Path) -> Manifest:
    """Copy a pack, under its own name or another one. A name is part of what identifies vectors, so that those of the
    same pack under two names are not mixed."""
    found = read_manifest(folder)
    manifest = replace(found, name=pack.name)
    for name in (MANIFEST_FILE, *manifest.files):
        _copy(folder / name, pack / name)
    if manifest != found:
        (pack / MANIFEST_FILE).write_text(render_manifest(manifest), encoding="utf-8")
    return manifest


def _convert(model: ModelFolder, pack: Path, options: ImportOptions) -> ImportReport:
    folder = model.path
    graph, others = choose_graph(folder, options.model_file or "")
    facts = read_facts(model)
    require_files(folder, [TOKENIZER_FILE] if options.max_tokens else [TOKENIZER_FILE, "config.json"])
    for data in external_data_files(graph):
        if not (graph.parent / data).is_file():
            raise ModelMissing(f"{graph} has its weights in {graph.parent / data}, which is missing. Copy it there.")
        _copy(graph.parent / data, pack / data)
    _copy(graph, pack / MODEL_FILE)
    for file in (*COPIED_FILES, *LEGAL_FILES):
        if (folder / file).is_file() and not (pack / file).exists():
            _copy(folder / file, pack / file)
    family = None if facts.is_reranker else find_family(filter(None, (model.source, model.name, facts.source)))
    raw, origins = _describe(model, pack, facts, family, options)
    manifest = parse_manifest(raw, folder / "config.json")
    (pack / MANIFEST_FILE).write_text(render_manifest(manifest), encoding="utf-8")
    return ImportReport(manifest, graph.relative_to(folder).as_posix(), tuple(others), origins)


def _describe(
    model: ModelFolder, pack: Path, facts: FolderFacts, family: Family | None, options: ImportOptions
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of the manifest, and where those that alter vectors come from."""
    positions = facts.max_positions or options.max_tokens
    max_tokens = options.max_tokens or facts.max_tokens or positions
    if positions is None or max_tokens is None:
        raise ModelCorrupt(
            f"{model.path / 'config.json'} doesn't say how many tokens the model reads (max_position_embeddings). "
            "Say it with --max-tokens."
        )
    if max_tokens > positions:
        raise ModelError(f"{model.path.name} reads at most {positions} tokens, so --max-tokens can't be {max_tokens}.")
    raw: dict[str, Any] = {
        "name": pack.name,
        "files": {file: {"sha256": entry.sha256, "bytes": entry.bytes} for file, entry in describe_files(pack).items()},
        "max_tokens": max_tokens,
        "max_positions": positions,
        "licence": facts.licence,
        "source": facts.source or model.name,
    }
    if facts.is_reranker:
        raw |= {"kind": "reranker", "dimension": 1, "pooling": PAIR_POOLING}
        return raw | {"normalise": False, "query_prefix": "", "passage_prefix": ""}, {}
    outputs = _probe(pack)
    pooling, origin = _choose_pooling(model, facts, family, options, outputs)
    origins = {"pooling": origin}
    output, dimension = outputs.pooled if pooling == OUTPUT_POOLING else outputs.tokens
    if pooling != OUTPUT_POOLING and facts.hidden_size not in (None, dimension):
        raise ModelCorrupt(
            f"{model.path / 'config.json'} says hidden_size {facts.hidden_size}, and the graph gives {dimension} "
            "numbers a token: they are of different models. Download the model again."
        )
    for prefix in ("query_prefix", "passage_prefix"):
        raw[prefix], origins[prefix] = _choose_prefix(
            getattr(options, prefix), getattr(facts, prefix), family, getattr(family, prefix, "")
        )
    # The stores expect unit length, because hits are compared by cosine.
    return raw | {
        "kind": "embedder", "dimension": dimension, "pooling": pooling, "normalise": True, "output": output
    }, origins  # fmt: skip


def _choose_pooling(
    model: ModelFolder, facts: FolderFacts, family: Family | None, options: ImportOptions, outputs: GraphOutputs
) -> tuple[str, str]:
    """The pooling, and where it comes from. Raises ModelCorrupt if the graph lacks what it needs."""
    has_tokens, has_pooled = bool(outputs.tokens[1]), bool(outputs.pooled[1])
    if options.pooling is not None:
        chosen, origin = options.pooling, "given"
        if chosen not in POOLINGS:
            raise ModelError(f"There is no pooling {chosen!r}. Use one of {', '.join(POOLINGS)}.")
        if not (has_pooled if chosen == OUTPUT_POOLING else has_tokens):
            kind = "pooled" if chosen == OUTPUT_POOLING else "token-level"
            raise ModelError(f"The graph has no {kind} output, so it can't be pooled by {chosen!r}.")
        return chosen, origin
    if not has_tokens:
        return OUTPUT_POOLING, "the graph gives one vector a text"
    if facts.has_dense_layer or (facts.pooling and facts.pooling not in POOLINGS):
        if has_pooled:
            return OUTPUT_POOLING, "the graph pools by itself"
        what = "a Dense layer after pooling" if facts.has_dense_layer else f"the pooling {facts.pooling}"
        raise ModelCorrupt(
            f"{model.path} has {what}, which its graph leaves out and this program can't add. Export the whole model "
            "(a graph with the output sentence_embedding), or use another one."
        )
    if facts.pooling:
        return facts.pooling, "1_Pooling"
    if family is not None:
        return family.pooling, f"known of the family {family.name}"
    return "mean", "assumed; --pooling says otherwise"


def _choose_prefix(given: str | None, found: str, family: Family | None, known: str) -> tuple[str, str]:
    if given is not None:
        return given, "given"
    if found:
        return found, "config_sentence_transformers.json"
    return known, f"known of the family {family.name}" if family is not None else "assumed"


def _copy(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    except FileNotFoundError:
        raise ModelMissing(f"{source} is missing; the model is incomplete. Download it again.") from None


def _probe(pack: Path) -> GraphOutputs:
    from appliance_models.onnx import probe_outputs
    from appliance_models.wordpieces import encode_ids, load_tokenizer

    (ids,) = encode_ids(load_tokenizer(pack / TOKENIZER_FILE), [PROBE_TEXT])
    return probe_outputs(pack / MODEL_FILE, ids)


def _check_runs(pack: Path, manifest: Manifest) -> None:
    """Load the pack and embed a sentence. Raises ModelCorrupt if that fails or the numbers are not finite (which a
    reranker checks itself)."""
    import numpy as np

    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.onnx import OnnxEmbedder

    if manifest.kind == "reranker":
        CrossEncoder(pack, threads=1).score(PROBE_TEXT, [PROBE_TEXT])
    elif not np.isfinite(OnnxEmbedder(pack, threads=1).embed_query(PROBE_TEXT)).all():
        raise ModelCorrupt(f"{manifest.name} gives numbers that are not finite. Download the model again.")


def _sync(paths: list[Path]) -> None:
    for path in paths:
        # Windows syncs only files that are open for writing; a folder opens only for reading.
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
