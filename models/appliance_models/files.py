"""Where packs lie, and whether their files are what their manifests say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance_models.errors import ModelCorrupt, ModelMissing, UnknownModel
from appliance_models.manifest import MANIFEST_FILE, Manifest, read_manifest, sha256_of

SHIPPED_PACKS = Path(__file__).parent / "packs"

# A full hash costs about 1 ms a megabyte (20 ms for the default pack); of larger files only the size is compared at
# load, and `verify_pack` does the rest on demand.
HASH_AT_LOAD_BYTES = 32 * 1024 * 1024

Status = Literal["ok", "missing", "changed"]


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file of a pack against its manifest."""

    name: str
    path: Path
    status: Status
    detail: str


def pack_folders(extra_folders: Sequence[Path] = ()) -> Iterator[Path]:
    """Every folder with a manifest: the shipped ones first, then those inside each extra folder, by name."""
    for root in (SHIPPED_PACKS, *extra_folders):
        if root.is_dir():
            yield from sorted(path.parent for path in root.glob(f"*/{MANIFEST_FILE}"))


def find_pack(name: str, extra_folders: Sequence[Path] = ()) -> tuple[Path, Manifest]:
    """The folder and manifest of the pack called `name`; the first in the order of `pack_folders` wins.

    Raises UnknownModel naming the folders that were searched and the packs that are there.
    """
    seen = []
    for folder in pack_folders(extra_folders):
        # A broken manifest of another pack must not stand in this one's way, so the folder's name decides first.
        if folder.name == name:
            return folder, read_manifest(folder)
        seen.append(folder.name)
    searched = ", ".join(str(root) for root in (SHIPPED_PACKS, *extra_folders))
    raise UnknownModel(
        f"no model called {name!r} in {searched}. Present: {', '.join(seen) or 'none'}. "
        "Use one of these, or import a folder with `appliance models import DIR`"
    )


def verify_pack(folder: Path) -> list[FileReport]:
    """Every file of the pack, hashed anew and compared with the manifest.

    Raises ModelMissing or ModelCorrupt only for the manifest itself.
    """
    manifest = read_manifest(folder)
    return [_compare(folder, name, manifest, full=True) for name in manifest.files]


def check_pack(folder: Path, manifest: Manifest) -> None:
    """The check made at every load: presence and size of all files, and hashes of those small enough.

    Raises ModelMissing or ModelCorrupt for the first file that is wrong.
    """
    for name, file in manifest.files.items():
        report = _compare(folder, name, manifest, full=file.bytes <= HASH_AT_LOAD_BYTES)
        advice = "Reinstall the package if it is a shipped pack, else import the model again"
        if report.status == "missing":
            raise ModelMissing(f"model {manifest.name}: {report.detail}. {advice}")
        if report.status == "changed":
            raise ModelCorrupt(f"model {manifest.name}: {report.detail}. {advice}")


def _compare(folder: Path, name: str, manifest: Manifest, *, full: bool) -> FileReport:
    path, expected = folder / name, manifest.files[name]
    if not path.is_file():
        return FileReport(name, path, "missing", f"{name} is missing, looked for at {path}")
    size = path.stat().st_size
    if size != expected.bytes:
        detail = f"{path} has {size} bytes, its manifest says {expected.bytes}"
        return FileReport(name, path, "changed", detail)
    if full and (digest := sha256_of(path)) != expected.sha256:
        detail = f"{path} has SHA-256 {digest}, its manifest says {expected.sha256}"
        return FileReport(name, path, "changed", detail)
    return FileReport(name, path, "ok", "")
