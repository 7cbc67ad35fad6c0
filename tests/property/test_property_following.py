"""A log that is read as it grows gives what readings of the whole give, wherever it was when it was read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.ingest import following
from appliance.ingest.following import FollowedLogs
from appliance.types import Scope
from appliance_models import HashEmbedder
from tests.examples import examples
from tests.growing_logs import EARLIER, KINDS, SESSION, log_of, read, record, state

scopes = (Scope(f"user{number}") for number in itertools.count())


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    home = tmp_path_factory.mktemp("following") / "memory"
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([0, 0, 0, 1, 2, 3, 5])), min_size=3, max_size=24),
    st.lists(st.floats(0.05, 1), min_size=2, max_size=6),
)
@settings(max_examples=examples(100, costly=True))
def test_any_pieces_give_what_the_whole_gives(
    memory: Appliance, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], places: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    earlier = folder / f"{EARLIER}.jsonl"
    shared = [record(n, "prompt" if n % 2 else "answer", EARLIER, n - 1 if n else None) for n in range(6)]
    earlier.write_text("".join(json.dumps(one) + "\n" for one in shared))
    data, path = log_of(steps), folder / f"{SESSION}.jsonl"
    whole, pieces, logs = next(scopes), next(scopes), FollowedLogs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "MIN_BYTES", 1)
        for scope in (whole, pieces):
            read(memory, earlier, scope, FollowedLogs())
        for place in (*sorted(places), 1):
            path.write_bytes(data[: int(len(data) * place)])
            read(memory, path, pieces, logs)
            read(memory, path, whole, FollowedLogs())  # one that has read nothing yet reads the whole
            assert state(memory, pieces) == state(memory, whole)
