"""Named features of a candidate, each about 0 to 1, computed from what the legs and the truth know."""

from __future__ import annotations

from collections.abc import Mapping

from appliance.recall.candidates import Candidate


def features(candidates: Mapping[int, Candidate]) -> dict[int, dict[str, float]]:
    """Each candidate's features, by message key.

    ``dense`` is the cosine of the best chunk; ``own`` and ``window`` are BM25 as a share of the best
    candidate's, because BM25 has no scale of its own.
    """
    best = {
        leg: max((c.scores.get(leg, 0.0) for c in candidates.values()), default=0.0) or 1.0
        for leg in ("own", "window")
    }
    return {
        key: {
            "dense": candidate.scores.get("dense", 0.0),
            "own": candidate.scores.get("own", 0.0) / best["own"],
            "window": candidate.scores.get("window", 0.0) / best["window"],
        }
        for key, candidate in candidates.items()
    }
