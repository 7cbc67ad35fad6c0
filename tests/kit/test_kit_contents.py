"""What goes into a kit: the wheels of its target, their licences and a bill of materials, byte for byte the same."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from kit import archive, bill, licences, wheels
from kit.targets import Target, this_machine

from tests.kit.kits import EPOCH, ROOT, write_wheel

LINUX, WINDOWS = Target("linux-x86_64", "3.11"), Target("windows-x86_64", "3.13")

CONSTRAINTS = """\
anyio==4.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via mcp
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:cc
    # via typer
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:dd
numpy==2.5.0 ; python_full_version >= '3.12' \\
    --hash=sha256:ee
"""


def test_pins_are_those_of_the_target() -> None:
    assert [*wheels.pinned_for(CONSTRAINTS, LINUX)] == [
        "anyio==4.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb", "numpy==2.4.6 \\\n    --hash=sha256:dd",
    ]  # fmt: skip
    assert [one.partition(" ")[0] for one in wheels.pinned_for(CONSTRAINTS, WINDOWS)] == [
        "anyio==4.0", "colorama==0.4.6", "numpy==2.5.0",
    ]  # fmt: skip


def test_every_pin_of_this_project_holds_on_some_target() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    names = {one.partition("==")[0] for target in (LINUX, WINDOWS) for one in wheels.pinned_for(constraints, target)}
    for package in ("numpy", "onnxruntime", "qdrant-edge-py", "tokenizers", "colorama", *wheels.LEFT_OUT, "pip"):
        assert package in names


def test_what_only_left_out_packages_need_goes_with_them(tmp_path: Path) -> None:
    project = write_wheel(
        tmp_path, "memory-appliance", "1.0", {}, ["tokenizers>=0.20", "pyjwt[crypto]", "odd; extra == 'dev'"]
    )
    others = [
        write_wheel(tmp_path, "tokenizers", "1.0", {}, ["huggingface-hub", "numpy"]),
        write_wheel(tmp_path, "huggingface-hub", "1.0", {}, ["fsspec", "numpy"]),
        write_wheel(tmp_path, "pyjwt", "1.0", {}, ["cryptography; extra == 'crypto'", "sphinx; extra == 'docs'"]),
        *(write_wheel(tmp_path, name, "1.0", {}) for name in ("fsspec", "numpy", "cryptography", "sphinx", "odd")),
    ]  # fmt: skip
    pinned = [wheels.read_wheel(path) for path in others]
    found = wheels.needed(wheels.read_wheel(project), pinned, LINUX)
    assert [one.name for one in found] == ["cryptography", "memory-appliance", "numpy", "pyjwt", "tokenizers"]
    with pytest.raises(LookupError, match="numpy is needed on linux-x86_64-py311"):
        wheels.needed(wheels.read_wheel(project), [one for one in pinned if one.name != "numpy"], LINUX)


def test_each_package_has_its_licence_and_stands_in_the_bill(tmp_path: Path) -> None:
    model = {"appliance_models/packs/a/model.onnx": "graph", "appliance_models/packs/a/README": "no model"}
    project = wheels.read_wheel(
        write_wheel(tmp_path, "memory-appliance", "1.0", model, ["old"], "License-Expression: Apache-2.0\n")
    )
    more = "Classifier: License :: OSI Approved :: MIT License\n"
    texts = {"old-2.0.dist-info/LICENSE.txt": "as is", "old-2.0.dist-info/licenses/vendored/COPYING": "too"}
    old = wheels.read_wheel(write_wheel(tmp_path, "old", "2.0", texts, more=more))
    found = licences.entries([project, old])
    assert found["licences/old/LICENSE.txt"] == b"as is" and found["licences/old/vendored/COPYING"] == b"too"
    listed = found["licences/README.txt"].decode()
    assert "old 2.0: MIT License\n" in listed and "memory-appliance 1.0: Apache-2.0 (no text in its wheel)" in listed

    made = json.loads(bill.document(project, [project, old], LINUX))
    assert (made["bomFormat"], made["specVersion"], made["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "1.6",
        "memory-appliance",
    )
    library, graph = made["components"]
    assert (library["purl"], library["hashes"][0]["content"]) == (
        "pkg:pypi/old@2.0",
        hashlib.sha256(old.path.read_bytes()).hexdigest(),
    )
    assert (graph["type"], graph["name"]) == ("machine-learning-model", "appliance_models/packs/a/model.onnx")
    assert {"ref": "pkg:pypi/memory-appliance@1.0", "dependsOn": ["pkg:pypi/old@2.0"]} in made["dependencies"]


def test_the_same_entries_make_the_same_file_which_python_runs(tmp_path: Path) -> None:
    entries: dict[str, bytes | Path] = {"__main__.py": b"print('it runs')", "b.txt": b"b", "a.txt": b"a"}
    first = archive.write(tmp_path / "first.pyz", entries, EPOCH)
    second = archive.write(tmp_path / "second.pyz", dict(reversed(entries.items())), EPOCH)
    assert first == second == hashlib.sha256((tmp_path / "second.pyz").read_bytes()).hexdigest()
    ran = subprocess.run([sys.executable, tmp_path / "first.pyz"], capture_output=True, text=True, check=True)
    assert ran.stdout == "it runs\n"


def test_this_machine_is_a_target() -> None:
    here = this_machine()
    assert here.tag.endswith(f"-py3{sys.version_info[1]}") and here.wheel_platforms
