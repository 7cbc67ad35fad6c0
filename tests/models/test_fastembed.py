"""fastembed as a runtime: local files only, whole texts, the same vectors."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from appliance_models import DEFAULT_MODEL, ModelMissing, OnnxEmbedder, TextTooLong, UnknownModel, load

TEXTS = ["The harbour was empty.", "", "👍", "\ud800", "Zwei Karten für heute Abend, bitte."]


def test_a_pack_gives_the_same_vectors_by_fastembed(embedder: OnnxEmbedder) -> None:
    other = load(f"fastembed:{DEFAULT_MODEL}")
    assert (other.identity, other.dimension, other.max_tokens) == (embedder.identity, 384, 256)
    cosines = (other.embed_passages(TEXTS) * embedder.embed_passages(TEXTS)).sum(axis=1)
    # Other fusions of the same graph: rounding differs, the integers don't.
    assert cosines.min() > 0.999
    assert other.embed_query(TEXTS[0]) @ embedder.embed_query(TEXTS[0]) > 0.999
    assert other.count_tokens(TEXTS) == embedder.count_tokens(TEXTS)
    assert other.embed_passages([]).shape == (0, 384)


def test_fastembed_cuts_nothing_either(embedder: OnnxEmbedder) -> None:
    other = load(f"fastembed:{DEFAULT_MODEL}")
    with pytest.raises(TextTooLong, match="Text 0 has 602 tokens"):
        other.embed_passages(["tree " * 600])
    long = "We talked about trains. " * 200
    assert other.embed_query(long) @ embedder.embed_query(long) > 0.999


def test_a_model_that_fastembed_knows_is_read_from_its_folder(pack: Path, embedder: OnnxEmbedder) -> None:
    name = "sentence-transformers/all-MiniLM-L6-v2"
    with pytest.raises(ModelMissing, match="is missing, looked for at"):
        load(f"fastembed:{name}@{pack.parent}")
    for file in ("config.json", "special_tokens_map.json"):
        (pack / file).write_text("{}")
    known = load(f"fastembed:{name}@{pack}")
    assert known.identity.startswith(f"{name}@")
    assert known.embed_query(TEXTS[0]) @ embedder.embed_query(TEXTS[0]) > 0.999
    assert known.max_tokens == 512


def test_a_folder_without_tokenizer_config_is_refused(pack: Path) -> None:
    shutil.copyfile(pack / "tokenizer.json", pack / "unused.json")
    (pack / "tokenizer_config.json").unlink()
    with pytest.raises(ModelMissing, match=r"tokenizer_config\.json is missing"):
        load(f"fastembed:sentence-transformers/all-MiniLM-L6-v2@{pack}")


def test_a_name_that_fastembed_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="fastembed has no model 'nobody/nothing'"):
        load(f"fastembed:nobody/nothing@{tmp_path}")


def test_a_missing_library_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    for name in (f"fastembed:{DEFAULT_MODEL}", f"fastembed:nobody/nothing@{tmp_path}"):
        with pytest.raises(
            ModelMissing, match=r"fastembed, .* is not installed.*\[fastembed\].*appliance models import"
        ):
            load(name)
