"""The files of the Debian package, as they stand on the system."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kit import wheels
from kit.installer.contents import wheel_files
from kit.targets import Target
from kit.wheels import Wheel

from deb import records

NAME = "memory-appliance"
COMMAND = "/usr/bin/appliance"
_OPT = f"opt/{NAME}"


@dataclass(frozen=True, slots=True)
class Package:
    """What a package is built of.

    Attributes:
        version: As dpkg compares it: ``0.1.0-1+py311``.
        label: The name of the program's folder in /opt: a daemon that still runs must not load modules of two versions.
        wheels: The project's own wheel and those that it needs.
        epoch: The time of every file, in seconds since 1970.
    """

    root: Path
    target: Target
    project: Wheel
    wheels: Sequence[Wheel]
    version: str
    label: str
    epoch: int

    @property
    def program(self) -> str:
        """The folder with the modules, without a slash before it."""
        return f"{_OPT}/{self.label}"

    @property
    def python(self) -> str:
        return f"python{self.target.python}"


def write(package: Package, tree: Path, manual: Path, site: Path | None) -> None:
    """Write all files of a package into an empty folder.

    Args:
        manual: The folder that ``build_manual.build`` has written.
        site: The documentation as ``build_docs.build`` has written it, if it is to be in the package.
    """
    program = tree / package.program
    program.mkdir(parents=True)
    for wheel in package.wheels:
        with zipfile.ZipFile(wheel.path) as archive:
            for file in wheel_files(archive, wheel.path.name, wheels.is_used):
                file.write(program)
    _text(program / "__main__.py", records.MAIN)
    _text(tree / COMMAND.lstrip("/"), records.launcher(package.python, f"/{package.program}", COMMAND), 0o755)
    for name, content in records.units(package.root, COMMAND).items():
        _text(tree / "usr/lib/systemd/user" / name, content)
    _text(tree / f"usr/share/applications/{NAME}.desktop", records.DESKTOP)
    for page in sorted((manual / "man/man1").iterdir()):
        _compressed(tree / f"usr/share/man/man1/{page.name}.gz", page.read_bytes())
    for source, place in (
        ("appliance.bash", "bash-completion/completions/appliance"),
        ("_appliance", "zsh/vendor-completions/_appliance"),
        ("appliance.fish", "fish/vendor_completions.d/appliance.fish"),
    ):
        _text(tree / "usr/share" / place, (manual / "completions" / source).read_text(encoding="utf-8"))
    documents = tree / f"usr/share/doc/{NAME}"
    _text(documents / "copyright", records.copyright(package.wheels, package.program))
    _compressed(documents / "changelog.gz", (package.root / "CHANGELOG.md").read_bytes())
    _compressed(
        documents / "changelog.Debian.gz",
        records.changelog(NAME, package.version, package.target.python, package.epoch).encode(),
    )
    if site is not None:
        shutil.copytree(site, documents / "html")
    _text(tree / f"usr/share/lintian/overrides/{NAME}", records.overrides(NAME, package.program))
    _control(package, tree)
    _settle(tree, package.epoch)


def _text(path: Path, content: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")
    path.chmod(mode)


def _compressed(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def _control(package: Package, tree: Path) -> None:
    """Write what dpkg reads."""
    folder = tree / "DEBIAN"
    files = [path for path in sorted(tree.rglob("*")) if path.is_file()]
    kilobytes = sum(-(-path.stat().st_size // 1024) for path in files)
    libraries = _needed_libraries(tree / package.program)
    glibc = wheels.least_system(package.wheels, package.target).get("glibc")
    _text(folder / "control", records.control(NAME, package.version, package.target, kilobytes, libraries, glibc))
    sums = subprocess.run(
        ["md5sum", "--", *(str(path.relative_to(tree)) for path in files)],
        cwd=tree, check=True, capture_output=True, text=True,
    )  # fmt: skip
    _text(folder / "md5sums", sums.stdout)
    for name, script in records.scripts(package.python, f"/{package.program}").items():
        _text(folder / name, script, 0o755)


def _needed_libraries(program: Path) -> set[str]:
    """The names of the shared libraries that the program's own ask of the system."""
    brought, needed = set(), set()
    for path in program.rglob("*.so*"):
        brought.add(path.name)
        shown = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
        needed |= {line.split("[")[1].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line}
    return needed - brought


def _settle(tree: Path, epoch: int) -> None:
    """Give every file and folder the modes and the time of the package, whatever the umask of the builder."""
    for path in [tree, *tree.rglob("*")]:
        is_program = path.is_dir() or (path.stat().st_mode & 0o100 and not path.is_relative_to(tree / _OPT))
        path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (epoch, epoch))
