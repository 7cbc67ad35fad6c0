"""Rerankers: models that read a question and a passage together and say how well the one answers the other."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from appliance_models.errors import ModelCorrupt, TextTooLong
from appliance_models.files import check_pack
from appliance_models.manifest import MODEL_FILE, TOKENIZER_FILE, Manifest, read_manifest
from appliance_models.onnx import available_cores, open_session
from appliance_models.pieces import encode_ids, load_tokenizer, readable, token_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

LONGEST_QUERY = 0.5
"""The share of the model's window that a question may take: with more, little of a passage would stand beside it."""


class CrossEncoder:
    """A pack of kind "reranker" run by onnxruntime on the CPU. Thread-safe. Touches no network, ever.

    Making one checks the pack's files and loads the model, so that what is scored later takes its own time only.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`threads`: pairs worked on at once, physical cores by default.

        Raises ModelMissing or ModelCorrupt.
        """
        self.manifest: Manifest = read_manifest(folder)
        check_pack(folder, self.manifest)
        self.folder = folder
        self.threads = threads or available_cores()
        self._tokenizer = load_tokenizer(folder / TOKENIZER_FILE)
        self._session, self._inputs = open_session(folder / MODEL_FILE)
        outputs = [item.name for item in self._session.get_outputs() if len(item.shape) == 2]
        if not outputs:
            raise ModelCorrupt(
                f"{folder / MODEL_FILE} has no output of one row a pair: use an export for sequence classification"
            )
        self._output = "logits" if "logits" in outputs else outputs[0]
        # What is wrong with the graph shows here, and not in somebody's search.
        self._logit(self._pair("", ""))

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def max_tokens(self) -> int:
        """Tokens of question and passage together, special ones included."""
        return self.manifest.max_tokens

    def takes(self, query: str) -> bool:
        """Whether a question is short enough to leave room for passages."""
        return self._length(query) <= self.max_tokens * LONGEST_QUERY

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """The model's logit for each passage, (len(passages),), the larger the better; any real number.

        A passage that does not fit beside the question is read in windows, and its best one counts: nothing is
        cut off. A pair's score depends on the pair alone, so pairs are never padded to one length: each thread
        takes the longest that is left. Raises TextTooLong for a question that `takes` denies, and ModelCorrupt for
        a model that answers with something else than a number.
        """
        length = self._length(query)
        if not self.takes(query):
            raise TextTooLong(0, length, int(self.max_tokens * LONGEST_QUERY), self.name)
        pairs: list[Encoding] = []
        owners: list[int] = []
        for number, passage in enumerate(passages):
            for pair in self._pairs(query, passage, length):
                pairs.append(pair)
                owners.append(number)
        logits = np.empty(len(pairs), np.float32)

        def one(place: int) -> None:
            logits[place] = self._logit(pairs[place])

        order = sorted(range(len(pairs)), key=lambda place: -len(pairs[place].ids))
        if len(order) < 2 or self.threads < 2:
            for place in order:
                one(place)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                for _ in pool.map(one, order):
                    pass
        best = np.full(len(passages), -np.inf, np.float32)
        np.maximum.at(best, owners, logits)
        return best

    def _length(self, query: str) -> int:
        return len(encode_ids(self._tokenizer, [query])[0])

    def _pairs(self, query: str, passage: str, query_length: int) -> list[Encoding]:
        """The passage beside the question, in as many windows as it takes."""
        whole = self._pair(query, passage)
        if len(whole.ids) <= self.max_tokens:
            return [whole]
        # Both are counted with special tokens: a pair has no more of them than its two texts alone.
        room = self.max_tokens - query_length
        return [self._pair(query, window) for window in token_windows(self._tokenizer, passage, room)]

    def _pair(self, query: str, passage: str) -> Encoding:
        return self._tokenizer.encode(readable(query), readable(passage))

    def _logit(self, pair: Encoding) -> float:
        feeds = {
            "input_ids": pair.ids,
            "attention_mask": [1] * len(pair.ids),
            "token_type_ids": pair.type_ids,
        }
        row = {name: np.array([feeds[name]], np.int64) for name in self._inputs}
        logits = np.asarray(self._session.run([self._output], row)[0])
        if logits.shape != (1, 1):
            raise ModelCorrupt(
                f"{self.folder / MODEL_FILE} gives {logits.shape[-1]} numbers a pair, and a reranker one: "
                "correct the labels in the model's config.json, or use a cross-encoder that was trained to rank"
            )
        if not np.isfinite(logits).all():
            raise ModelCorrupt(f"{self.name} answers with a number that is not finite: get the model again")
        return float(logits[0, 0])
