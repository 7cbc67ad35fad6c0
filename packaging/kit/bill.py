"""The bill of materials of a kit, in CycloneDX 1.6."""

from __future__ import annotations

import hashlib
import json
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

from kit import licences
from kit.targets import Target
from kit.wheels import Wheel

_PACKS = "appliance_models/packs/"
_KINDS = {"onnx": "machine-learning-model", "npy": "data", "zst": "data"}
_NAMESPACE = uuid.UUID("9b0e4c0a-0c6f-5a3e-9d2c-1f5d7a6b8e11")
"""Serial numbers are derived from the content, so that two builds of the same sources have the same one."""


def document(
    project: Wheel, wheels: Sequence[Wheel], target: Target, others: Sequence[Mapping[str, object]] = ()
) -> bytes:
    """The bill of materials: each wheel, and the models that the project's own wheel carries, with their SHA-256.

    Args:
        others: Further components.
    """
    components: list[Mapping[str, object]] = (
        [_library(wheel) for wheel in wheels if wheel is not project] + _models(project) + [*others]
    )
    needs = {wheel.name: {name for name, _ in wheel.requirements(target)} for wheel in wheels}
    edges = [
        {
            "ref": _reference(wheel),
            "dependsOn": sorted(_reference(other) for other in wheels if other.name in needs[wheel.name]),
        }
        for wheel in wheels
    ]
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": _library(project) | {"type": "application"},
            "properties": [{"name": "target", "value": target.tag}],
        },
        "components": components,
        "dependencies": edges,
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    return (json.dumps({**body, "serialNumber": f"urn:uuid:{serial}"}, indent=1, sort_keys=True) + "\n").encode()


def _reference(wheel: Wheel) -> str:
    return f"pkg:pypi/{wheel.name}@{wheel.version}"


def _library(wheel: Wheel) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": _reference(wheel),
        "name": wheel.name,
        "version": wheel.version,
        "purl": _reference(wheel),
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.path.read_bytes()).hexdigest()}],
        "licenses": [{"license": {"name": licences.expression(wheel)}}],
    }


def _models(project: Wheel) -> list[dict[str, Any]]:
    """The embedding models and token tables in the project's wheel."""
    with zipfile.ZipFile(project.path) as archive:
        found = []
        for name in sorted(archive.namelist()):
            if name.startswith(_PACKS) and (kind := _KINDS.get(name.rpartition(".")[2])):
                digest = hashlib.sha256(archive.read(name)).hexdigest()
                found.append({"type": kind, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]})
        return found
