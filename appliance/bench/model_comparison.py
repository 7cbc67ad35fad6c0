"""Compares two embedding models on a sample of a person's own history, before anything is moved to either.

The sample is whole sessions. Each model gets a memory of its own with them, in a folder of the home that goes at the
end, and both are asked the same known-item questions (``known_items``): by the model's vectors alone, and by the whole
search.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from appliance.bench import known_items
from appliance.bench.ir_metrics import MAX_DEPTH
from appliance.bench.known_items import KINDS
from appliance.bench.own_history import DEFAULT_QUESTIONS, EXTRA_HITS, answer_rank, measures_by_kind
from appliance.bench.systems import search
from appliance.client import Appliance
from appliance.config import load
from appliance.errors import ApplianceError, ModelUnavailable, UsageError
from appliance.ingest.normalize import is_conversational
from appliance.paths import FILE_MODE, FOLDER_MODE, SAMPLE_PREFIX, Home, discard_samples
from appliance.retrieval.weights import DENSE, EVIDENCE
from appliance.runtime.metrics import resident_memory
from appliance.store import vectors
from appliance.types import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import Embedder, SpannedText

SYSTEMS = (DENSE.name, EVIDENCE.name)

EMBEDDING_SECONDS = 60.0
"""About how long each model may embed the sample."""

MIN_MESSAGES, MAX_MESSAGES = 300, 3_000
"""The size of a sample: large enough that a tenth of recall shows, small enough for a minute."""

MAX_SESSION_MESSAGES = 400
"""The most messages of one session in the sample, its first ones, so that several sessions are in it."""

SPEED_TEXTS = 32
"""Texts that are embedded first, to choose the size of the sample."""

INDEX_BYTES_PER_NUMBER = 2.5
"""What a number of a vector takes in the index: float16, and four bits of the quantised copy."""

MIN_DIFFERENCE = 0.1
"""The least difference in recall that tells two models apart with so few questions."""

Verdict = Literal["better", "alike", "worse"]


class UnusableModel(ApplianceError):
    """The model that is compared with the present one can't be run on this memory."""


OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ModelMeasures:
    """What one model did with the sample.

    Attributes:
        texts_per_second: How many chunks it embeds in a second, on all processors.
        memory_bytes: What the process grew by when it was loaded and first run; None where the system does not tell.
        chunks: The chunks that it makes of the sample.
        seconds: How long it took to embed and index them.
        figures: The measures of each system ("dense", "evidence") by kind of question.
    """

    name: str
    dimension: int
    texts_per_second: float
    memory_bytes: int | None
    chunks: int
    seconds: float
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class MoveForecast:
    """What moving the whole memory to a model takes: chunks to embed, seconds, and bytes on the disk for its vectors
    and index, which are there beside the present ones while it works."""

    chunks: int
    seconds: float
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Two models on the same sample of ``messages`` and ``questions``."""

    messages: int
    questions: int
    present: ModelMeasures
    candidate: ModelMeasures
    forecast: MoveForecast

    @property
    def recall(self) -> tuple[float, float]:
        """The share of questions whose answer is among the first ten of the whole search: of the present model, and of
        the other one."""
        present, candidate = (
            one.figures[EVIDENCE.name]["overall"]["recall@10"] for one in (self.present, self.candidate)
        )
        return present, candidate

    @property
    def verdict(self) -> Verdict:
        """What the other model finds, against the present one."""
        present, candidate = self.recall
        if abs(candidate - present) < MIN_DIFFERENCE:
            return "alike"
        return "better" if candidate > present else "worse"


class _TimedEmbedder:
    """An embedder that counts the passages it embeds, and the seconds that this takes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.texts = 0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._timed(texts):
            return self._checked(self._embedder.embed_passages(texts))

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> Any:
        with self._timed(texts):
            found, tokens = cast("Any", self._embedder).embed_passages_with_tokens(texts)
            return self._checked(found), tokens

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        with self._timed([span for text in texts for span in text.spans]):
            return self._checked(cast("Any", self._embedder).embed_spans(texts))

    def embed_spans_with_tokens(self, texts: Sequence[SpannedText]) -> Any:
        with self._timed([span for text in texts for span in text.spans]):
            found, tokens = cast("Any", self._embedder).embed_spans_with_tokens(texts)
            return self._checked(found), tokens

    def _checked(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        """Raises ModelCorrupt for a vector that no memory can keep."""
        from appliance_models import ModelCorrupt

        if not isfinite(float(found.sum())):
            raise ModelCorrupt(f"{self._embedder.name} gives numbers that are not finite for some of your messages.")
        return found

    @contextmanager
    def _timed(self, texts: Sequence[object]) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started
        self.texts += len(texts)


@dataclass(slots=True)
class _Candidate:
    """A model whose memory of the sample is being made and asked."""

    embedder: _TimedEmbedder
    memory_bytes: int | None
    chunks: int = 0
    seconds: float = 0.0
    ranks: dict[str, dict[str, int | None]] = field(default_factory=lambda: {system: {} for system in SYSTEMS})

    def measures(self) -> ModelMeasures:
        embedder = self.embedder
        return ModelMeasures(
            name=embedder.name,
            dimension=embedder.dimension,
            texts_per_second=round(embedder.texts / max(embedder.seconds, 1e-9), 1),
            memory_bytes=self.memory_bytes,
            chunks=self.chunks,
            seconds=self.seconds,
            figures={system: measures_by_kind(ranks) for system, ranks in self.ranks.items()},
        )


def compare(
    memory: Appliance,
    present: Callable[[], Embedder],
    candidate: Callable[[], Embedder],
    *,
    user: str | None = None,
    questions: int = DEFAULT_QUESTIONS,
    on_step: OnStep = lambda what, done, total: None,
) -> ModelComparison:
    """Compare the present model of a memory with another one.

    Args:
        memory: The memory, of which nothing is changed.
        present: Loads the present model.
        candidate: Loads the other one.
        user: Whose messages are sampled.
        questions: How many questions are asked.
        on_step: Called with the progress.

    Raises:
        UsageError: No question can be made from the messages, or an index server would get the sample.
        UnusableModel: The other model can't be run.
        ModelError, ModelUnavailable: The present one can't be run.
    """
    messages = _sample_texts(memory, user, SPEED_TEXTS)
    if not messages:
        raise UsageError("The memory is empty, so there is nothing to measure with.")
    # The first brings the libraries that all share, and is held, so that the second takes memory of its own.
    first = _load(present, messages)
    own = _load(present, messages)
    with _of_candidate():
        other = _load(candidate, messages)
        speed = _speed(other.embedder, messages)
    del first
    size = int(min(max(EMBEDDING_SECONDS * speed, MIN_MESSAGES), MAX_MESSAGES))
    with _folder(memory.home) as folder:
        sample, count = _write_sample(memory, user, size, folder)
        asked = _run(own, folder / "present", sample, None, questions, on_step)
        with _of_candidate():
            _run(other, folder / "candidate", sample, asked, questions, on_step)
    return ModelComparison(count, len(asked), own.measures(), other.measures(), _forecast(memory, own, other))


@contextmanager
def _of_candidate() -> Iterator[None]:
    """Within it, an error of a model is one of the model that is compared with the present one."""
    from appliance_models import ModelError

    try:
        yield
    except ModelError as error:
        raise UnusableModel(str(error)) from error
    except ModelUnavailable as error:
        raise UnusableModel(str(error.args[0])) from error


def _load(load_model: Callable[[], Embedder], texts: Sequence[str]) -> _Candidate:
    """A model that has run, with how much this process grew by it."""
    before = resident_memory()
    model = load_model()
    model.embed_passages(_readable(model, texts[:2]))
    after = resident_memory()
    grown = sum(after.values()) - sum(before.values()) if before is not None and after is not None else None
    return _Candidate(_TimedEmbedder(model), grown if grown is None else max(grown, 0))


def _readable(embedder: Embedder | _TimedEmbedder, texts: Sequence[str]) -> list[str]:
    """The beginnings of texts that a model reads to their end: as in a memory, which splits them."""
    positions, cut = int(getattr(embedder, "max_positions", embedder.max_tokens)), list(texts)
    while True:
        counts = embedder.count_tokens(cut)
        if all(count <= positions for count in counts):
            return cut
        cut = [text[: len(text) // 2] if count > positions else text for text, count in zip(cut, counts, strict=True)]


def _speed(embedder: _TimedEmbedder, texts: Sequence[str]) -> float:
    """Texts a second of a model that has run before."""
    embedder.embed_passages(_readable(embedder, texts))
    speed = embedder.texts / max(embedder.seconds, 1e-9)
    embedder.texts, embedder.seconds = 0, 0.0
    return speed


def _run(
    model: _Candidate,
    home: Path,
    sample: Path,
    questions: Sequence[known_items.KnownItemQuestion] | None,
    number: int,
    on_step: OnStep,
) -> Sequence[known_items.KnownItemQuestion]:
    """Make a memory of the sample with a model, and ask it; returns the questions, made from it if none are given."""
    name = model.embedder.name
    embedder = cast("Embedder", model.embedder)
    with Appliance.open(home, worker=False, embedder=embedder, purpose="a measurement") as copy:
        copy.ingest(sample, format="native", wait=False)
        started = time.perf_counter()
        copy.embed_pending(lambda done, pending: on_step(f"{name}: embedding", done, done + pending))
        model.seconds = time.perf_counter() - started
        model.chunks = copy.status()["counts"]["chunks"]
        if questions is None:
            on_step("looking for questions", 0, 0)
            counts_by_kind = {kind: (number + 2 - place) // 3 for place, kind in enumerate(KINDS)}
            questions = known_items.select_questions(copy, None, [], counts_by_kind)
            if not questions:
                raise UsageError(
                    "No question can be made from this history.",
                    hint="It needs messages of a dozen words, or questions with answers.",
                )
        for place, question in enumerate(questions):
            on_step(f"{name}: asking", place, len(questions))
            for system in SYSTEMS:
                hits = search(copy, system, question.query, MAX_DEPTH + EXTRA_HITS)
                model.ranks[system][question.item.name] = answer_rank(hits, question)
    return questions


def _forecast(memory: Appliance, own: _Candidate, other: _Candidate) -> MoveForecast:
    status = memory.status()
    present_chunks = status["counts"]["chunks"]
    chunks = round(present_chunks * other.chunks / max(own.chunks, 1))
    seconds = chunks * other.seconds / max(other.chunks, 1)
    dimension, present_dimension = other.embedder.dimension, status["model"]["dimension"] or own.embedder.dimension
    rest = status["disk_bytes"]["index"] - present_chunks * INDEX_BYTES_PER_NUMBER * present_dimension
    index = max(rest, 0) * chunks / max(present_chunks, 1) + chunks * INDEX_BYTES_PER_NUMBER * dimension
    return MoveForecast(
        chunks, seconds, round(vectors.min_file_bytes(dimension, chunks, memory.settings.index.ledger) + index)
    )


# --- the sample ----------------------------------------------------------------------------------------


@contextmanager
def _folder(home: Home) -> Iterator[Path]:
    """A folder for copies of messages, within the home and left out of its backups; what an earlier measurement left
    behind when it was killed goes first."""
    home.uploads.mkdir(mode=FOLDER_MODE, exist_ok=True)
    discard_samples(home)
    with tempfile.TemporaryDirectory(prefix=SAMPLE_PREFIX, dir=home.uploads) as folder:
        if load(Home(Path(folder) / "present")).index.url:
            raise UsageError(
                "A measurement can't use the server in index.url: the sample does not belong there.",
                hint="Unset APPLIANCE_INDEX_URL, or use --no-measure.",
            )
        yield Path(folder)


def _sampled_sessions(memory: Appliance, user: str | None) -> Iterator[list[Message]]:
    """The conversational messages of each session, in an order that is the same each time."""
    infos = sorted(memory.sessions.list(user_id=user), key=lambda info: blake2b(info.external_id.encode()).digest())
    for info in infos:
        messages = [one for one in memory.sessions.messages(info.id) if is_conversational(one)]
        if messages:
            yield messages[:MAX_SESSION_MESSAGES]


def _sample_texts(memory: Appliance, user: str | None, number: int) -> list[str]:
    """The beginnings of some messages, each short enough for any model."""
    texts: list[str] = []
    for messages in _sampled_sessions(memory, user):
        texts += [message.text[:400] for message in messages[: number - len(texts)]]
        if len(texts) >= number:
            break
    return texts


def _write_sample(memory: Appliance, user: str | None, size: int, folder: Path) -> tuple[Path, int]:
    """Write sessions as native JSONL until they have ``size`` messages. Returns the file and the number of messages."""
    path, count = folder / "sample.jsonl", 0
    path.touch(mode=FILE_MODE)
    with path.open("wb") as file:
        for messages in _sampled_sessions(memory, user):
            for message in messages[: size - count]:
                file.write(msgspec.json.encode(_native(message)) + b"\n")
                count += 1
            if count >= size:
                break
    return path, count


def _native(message: Message) -> dict[str, Any]:
    fields = {"author": message.author, "timestamp": message.timestamp}
    return {
        "session_id": message.session_id,
        "message_id": message.id,
        "role": message.role,
        "content": message.text,
        **{name: value for name, value in fields.items() if value is not None},
    }
