"""Finding packs, and checking their files against their manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing, UnknownModel
from appliance_models.manifest import MANIFEST_FILE, Manifest, read_manifest, sha256_of

SHIPPED_PACKS = Path(__file__).parent / "packs"

# Hashing takes about 1 ms a megabyte (20 ms for the default pack). At load, larger files are compared by size only;
# `verify_pack` hashes them.
MAX_HASHED_AT_LOAD_BYTES = 32 * 1024 * 1024

Status = Literal["ok", "missing", "changed"]


@dataclass(frozen=True, slots=True)
class PackFileReport:
    """The result of checking one file of a pack."""

    name: str
    path: Path
    status: Status
    detail: str


def pack_folders(extra_folders: Sequence[Path] = ()) -> Iterator[Path]:
    """Every folder with a manifest: the shipped ones, then those in each extra folder, by name."""
    for root in (SHIPPED_PACKS, *extra_folders):
        if root.is_dir():
            yield from sorted(path.parent for path in root.glob(f"*/{MANIFEST_FILE}"))


def find_pack(name: str, extra_folders: Sequence[Path] = ()) -> tuple[Path, Manifest]:
    """The folder and manifest of the first pack called `name`, in the order of `pack_folders`.

    Raises UnknownModel.
    """
    folders = list(pack_folders(extra_folders))
    for folder in folders:
        # The folder's name decides, so that a broken manifest of another pack does no harm.
        if folder.name == name:
            return folder, read_manifest(folder)
    installed = ", ".join(folder.name for folder in folders) or "none"
    added = f" to {extra_folders[-1]}" if extra_folders else ""
    raise UnknownModel(
        f"There is no model {name!r}. Installed: {installed}. 'appliance models import DIR' adds one{added}."
    )


def verify_pack(folder: Path) -> list[PackFileReport]:
    """Hash every file of a pack and compare it with the manifest.

    Raises ModelMissing or ModelCorrupt only for the manifest itself.
    """
    manifest = read_manifest(folder)
    return [_compare(folder, name, manifest, full=True) for name in manifest.files]


def check_pack(folder: Path, manifest: Manifest, *, hash_up_to: int = MAX_HASHED_AT_LOAD_BYTES) -> None:
    """Check a pack before it is loaded: presence and size of all files, hashes of those of up to so many bytes.

    Raises ModelMissing or ModelCorrupt for the first wrong file.
    """
    for name, file in manifest.files.items():
        report = _compare(folder, name, manifest, full=file.bytes <= hash_up_to)
        if report.status != "ok":
            kind = ModelMissing if report.status == "missing" else ModelCorrupt
            raise kind(
                f"The model {manifest.name} can't be used: {report.detail}.", is_shipped=folder.parent == SHIPPED_PACKS
            )


def find_fault(name: str, extra_folders: Sequence[Path] = ()) -> ModelError | None:
    """What is wrong with the files of a pack as far as their names and sizes tell, without reading them; None for a
    model that has no pack."""
    try:
        folder, manifest = find_pack(name, extra_folders)
        check_pack(folder, manifest, hash_up_to=-1)
    except UnknownModel:
        return None
    except ModelError as error:
        return error
    return None


def _compare(folder: Path, name: str, manifest: Manifest, *, full: bool) -> PackFileReport:
    path, expected = folder / name, manifest.files[name]
    if not path.is_file():
        return PackFileReport(name, path, "missing", f"{name} is missing, looked for at {path}")
    detail = ""
    if (size := path.stat().st_size) != expected.bytes:
        detail = f"{path} is damaged: it has {size:,} bytes instead of {expected.bytes:,}"
    elif full and sha256_of(path) != expected.sha256:
        detail = f"{path} is damaged: its content is not that of the model"
    return PackFileReport(name, path, "changed" if detail else "ok", detail)
