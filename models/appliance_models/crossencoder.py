"""Rerankers: models that read a question and a passage together and score how well the passage answers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.errors import ModelCorrupt, TextTooLong
from appliance_models.files import check_pack
from appliance_models.manifest import MODEL_FILE, TOKENIZER_FILE, Manifest, read_manifest
from appliance_models.onnx import available_cores, feeds_of, open_session, run_longest_first
from appliance_models.wordpieces import encode_ids, load_tokenizer, replace_surrogates, token_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

MAX_QUERY_SHARE = 0.5
"""The share of the model's window that a question may take; the rest is for the passage."""


class CrossEncoder:
    """A pack of kind "reranker" run by onnxruntime on the CPU. Thread-safe, and never uses the network.

    The constructor checks the pack's files and loads the model, so that the first search does not wait for it.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`threads`: pairs scored at once, by default one a physical core. Raises ModelMissing or ModelCorrupt."""
        self.manifest: Manifest = read_manifest(folder)
        check_pack(folder, self.manifest)
        self.folder = folder
        self.threads = threads or available_cores()
        self.name = self.manifest.name
        self.max_tokens = self.manifest.max_tokens
        """Tokens of question and passage together, special ones included."""
        self._tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
        self._session, self._inputs = open_session(folder / MODEL_FILE)
        outputs = [item.name for item in self._session.get_outputs() if len(item.shape) == 2]
        if not outputs:
            raise ModelCorrupt(
                f"{folder / MODEL_FILE} has no output of one row a pair. Use an export for sequence classification."
            )
        self._output = "logits" if "logits" in outputs else outputs[0]
        # Run the graph once: its errors should appear here rather than in a search.
        self._logit(self._encode_pair("", ""))

    def accepts_query(self, query: str) -> bool:
        """Whether a question is short enough to leave room for passages."""
        return self._query_length(query) <= self.max_tokens * MAX_QUERY_SHARE

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """The model's logit for each passage, (len(passages),): any real number, larger is better.

        A passage that does not fit with the question is read in windows, of which the best counts. Pairs are not padded
        to one length, so that a pair's score depends on the pair alone.

        Raises TextTooLong for a question that `accepts_query` rejects, ModelCorrupt if the model gives no number.
        """
        length = self._query_length(query)
        if not self.accepts_query(query):
            raise TextTooLong(0, length, int(self.max_tokens * MAX_QUERY_SHARE), self.name)
        pairs: list[Encoding] = []
        owners: list[int] = []
        for number, passage in enumerate(passages):
            for pair in self._encode_windows(query, passage, length):
                pairs.append(pair)
                owners.append(number)
        logits = np.empty(len(pairs), np.float32)

        def score_pair(index: int) -> None:
            logits[index] = self._logit(pairs[index])

        run_longest_first(score_pair, [len(pair.ids) for pair in pairs], self.threads)
        best = np.full(len(passages), -np.inf, np.float32)
        np.maximum.at(best, owners, logits)
        return best

    def _query_length(self, query: str) -> int:
        return len(encode_ids(self._tokenizer, [query])[0])

    def _encode_windows(self, query: str, passage: str, query_length: int) -> list[Encoding]:
        """The question with the passage, in as many windows as necessary."""
        whole = self._encode_pair(query, passage)
        if len(whole.ids) <= self.max_tokens:
            return [whole]
        # Both counts include special tokens; a pair has no more of them than its two texts together.
        passage_limit = self.max_tokens - query_length
        return [self._encode_pair(query, window) for window in token_windows(self._tokenizer, passage, passage_limit)]

    def _encode_pair(self, query: str, passage: str) -> Encoding:
        return self._tokenizer.encode(replace_surrogates(query), replace_surrogates(passage))

    def _logit(self, pair: Encoding) -> float:
        row = feeds_of(self._inputs, pair.ids)
        if "token_type_ids" in row:
            row["token_type_ids"] = np.array([pair.type_ids], np.int64)
        logits = np.asarray(self._session.run([self._output], row)[0])
        if logits.shape != (1, 1):
            raise ModelCorrupt(
                f"{self.folder / MODEL_FILE} gives {logits.shape[-1]} numbers for a pair instead of one. "
                "Correct the labels in the model's config.json, or use a cross-encoder that was trained to rank."
            )
        if not np.isfinite(logits).all():
            raise ModelCorrupt(f"{self.name} gives a number that is not finite. Download the model again.")
        return float(logits[0, 0])
