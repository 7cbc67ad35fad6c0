"""What goes into a kit: the wheels of its target, their licences and a bill of materials, byte for byte the same."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest
from kit import archive, bill, licences, share, wheels
from kit.installer import contents
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


def test_what_an_installation_does_without_is_not_in_a_kit(tmp_path: Path) -> None:
    unused = ("f2py/a.py", "a/tests/b/c.py", "b.pyi")
    files = dict.fromkeys((f"numpy/{name}" for name in (*unused, "f2pyx.py", "tests.py")), "")
    whole = wheels.read_wheel(write_wheel(tmp_path, "numpy", "1.0", files))
    slim = wheels.slim(whole, tmp_path / "slim")
    info = [f"numpy-1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")]
    assert slim.names() == ["numpy/f2pyx.py", "numpy/tests.py", *info]
    with zipfile.ZipFile(slim.path) as archive:
        assert archive.testzip() is None and b"Name: numpy" in archive.read(info[0])
        rows = archive.read("numpy-1.0.dist-info/RECORD").decode().splitlines()
    assert [row.partition(",")[0] for row in rows] == slim.names()
    scripts = wheels.read_wheel(write_wheel(tmp_path, "a", "1.0", {"a.py": "", "a-1.0.data/scripts/a": ""}))
    with zipfile.ZipFile(wheels.slim(scripts, tmp_path).path) as archive:
        assert [one.path for one in contents.wheel_files(archive, "a")] == [
            "a.py", *(f"a-1.0.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")),
        ]  # fmt: skip
    with pytest.raises(ValueError, match=r"holds b-1\.0\.data/data/b: not a module"):
        wheels.slim(wheels.read_wheel(write_wheel(tmp_path, "b", "1.0", {"b-1.0.data/data/b": ""})), tmp_path)
    assert wheels.slim(slim, tmp_path / "slim") is slim and wheels.slim(whole, tmp_path / "slim") == slim


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


def test_man_pages_completions_and_the_site_go_where_they_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {
        "build_manual": (
            "man/man1/appliance.1",
            "completions/appliance.bash",
            "completions/_appliance",
            "completions/appliance.fish",
        ),
        "build_docs": ("index.html", "reference/cli.html"),
    }
    for name, files in scripts.items():
        (tmp_path / f"{name}.py").write_text(
            "def build(into):\n"
            f"    for name in {files}:\n"
            "        (into / name).parent.mkdir(parents=True, exist_ok=True)\n"
            "        (into / name).write_text(name)\n"
        )
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {place: path.read_text() for place, path in share.built(tmp_path / "made")}
    for name in scripts:
        monkeypatch.delitem(sys.modules, name)
    assert found == {
        "man/man1/appliance.1": "man/man1/appliance.1",
        "bash-completion/completions/appliance": "completions/appliance.bash",
        "zsh/site-functions/_appliance": "completions/_appliance",
        "fish/vendor_completions.d/appliance.fish": "completions/appliance.fish",
        "doc/memory-appliance/html/index.html": "index.html",
        "doc/memory-appliance/html/reference/cli.html": "reference/cli.html",
    }


# What could differ between two machines is set in the process that builds.
BUILD = """
import os, sys
from pathlib import Path
from kit import archive, bill, licences, wheels
from kit.targets import Target
folder, mask, turned = Path(sys.argv[1]), int(sys.argv[2], 8), sys.argv[3] == "turned"
os.umask(mask)
found = [wheels.read_wheel(path) for path in sorted(folder.glob("*.whl"))]
target = Target("linux-x86_64", "3.11")
packages = wheels.needed(found[0], found[1:], target)
entries = {"__main__.py": b"", "bom.cdx.json": bill.document(found[0], packages, target)}
entries |= licences.entries(packages) | {f"wheels/{one.path.name}": one.path for one in packages}
entries = dict(reversed(entries.items())) if turned else entries
print(archive.write(Path.cwd() / "kit.pyz", entries, 1_700_000_000))
"""


@pytest.mark.slow
def test_two_builds_are_equal_wherever_they_are_made(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for name in ("b", "c", "d"):
        write_wheel(made, name, "1.0", {f"{name}-1.0.dist-info/LICENSE": name})
    write_wheel(made, "a", "1.0", {}, ["b", "c", "d"])
    sums = set()
    for number, (mask, turned, zone) in enumerate([("022", "", "UTC"), ("077", "turned", "Asia/Tokyo")]):
        folder = tmp_path / f"tree ä {number}"
        folder.mkdir()
        for path in sorted(made.iterdir(), reverse=bool(turned)):
            shutil.copyfile(path, folder / path.name)
        environment = os.environ | {"PYTHONHASHSEED": str(number), "TZ": zone, "PYTHONPATH": str(ROOT / "packaging")}
        command = [sys.executable, "-c", BUILD, str(folder), mask, turned]
        ran = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
        sums.add(ran.stdout)
    assert len(sums) == 1


def test_the_oldest_system_is_that_of_the_wheel_that_needs_most(tmp_path: Path) -> None:
    def wheel(*tags: str) -> wheels.Wheel:
        return wheels.Wheel(Path(f"a-1.0-cp311-cp311-{'.'.join(tags)}.whl"), "a", "1.0", Message())

    pure = wheels.Wheel(Path("b-1.0-py3-none-any.whl"), "b", "1.0", Message())
    older, newer = wheel("manylinux2014_x86_64", "manylinux_2_28_x86_64"), wheel("manylinux_2_27_x86_64")
    assert wheels.least_system([pure, older], LINUX) == {"glibc": "2.17"}
    assert wheels.least_system([older, newer], LINUX) == {"glibc": "2.27"}
    assert wheels.least_system([pure], LINUX) == {}
    macos = [wheel("macosx_11_0_arm64"), wheel("macosx_10_9_universal2"), wheel("macosx_13_4_arm64")]
    assert wheels.least_system(macos, Target("macos-arm64", "3.11")) == {"macos": "13.4"}


def test_this_machine_is_a_target() -> None:
    here = this_machine()
    assert here.tag.endswith(f"-py3{sys.version_info[1]}") and here.wheel_platforms
