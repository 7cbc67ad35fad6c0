"""A Python for a kit that brings its own: Debian's, with the libraries that it is linked to, made relocatable.

Debian is a package registry whose Python is built from the sources of CPython alone, is signed, and gets security
updates. Its packages are taken as apt has them now; the bill of materials names their versions and checksums.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kit.archive import SIZE
from kit.targets import Target

VERSION = "3.11"
EXECUTABLE = f"bin/python{VERSION}"
GLIBC = "2.36"
"""Of Debian 12, for which its packages are built."""

ARCHITECTURES: Mapping[str, str] = {"linux-x86_64": "amd64", "linux-aarch64": "arm64"}

PACKAGES = (
    f"python{VERSION}-minimal", f"libpython{VERSION}-minimal", f"libpython{VERSION}-stdlib", "libbz2-1.0", "libexpat1",
    "libffi8", "liblzma5", "libsqlite3-0", "libssl3", "libuuid1", "zlib1g",
)  # fmt: skip

_LIBRARY = re.compile(r"(?:usr/)?lib/[^/]+-linux-gnu/(lib[^/]+\.so\.[^/]*)")
_STANDARD_LIBRARY = f"usr/lib/python{VERSION}/"
_LEFT_OUT = re.compile(
    # For what the program does not do, and, of extensions, all that would need a further library.
    r"(?:test|idlelib|tkinter|turtledemo|lib2to3|ensurepip|pydoc_data|dist-packages)/"
    r"|sitecustomize\.py|EXTERNALLY-MANAGED"
    r"|lib-dynload/(?:_?test|_xxtest|xxlimited|_ctypes_test|_curses|_tkinter|_dbm|_gdbm|_crypt|nis|readline|ossaudiodev)"
)
_EPOCH = 0

SUMS = "SHA256SUMS"
"""A list of its files, by which ``appliance doctor`` finds a damaged one."""


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package."""

    path: Path
    name: str
    version: str
    architecture: str

    @property
    def reference(self) -> str:
        return f"pkg:deb/debian/{self.name}@{self.version}?arch={self.architecture}"


def download(target: Target, folder: Path) -> list[Package]:
    """Fetch the packages of a target with apt, which checks their signatures.

    Raises:
        subprocess.CalledProcessError: apt is not here, or does not know them.
    """
    architecture = ARCHITECTURES[target.platform]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.deb"):
        old.unlink()
    own = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
    options = ["-q", "-o", "APT::Sandbox::User=root", "-o", f"APT::Architecture={architecture}"]
    if architecture != own:  # lists of its own, so that the system's stay as they are
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        options += ["-o", f"APT::Architectures={architecture}", "-o", f"Dir::State::Lists={folder}/lists"]
        options += ["-o", f"Dir::Cache={folder}/cache"]
        _quiet(["apt-get", *options, "update"], folder)
    _quiet(["apt-get", *options, "download", *PACKAGES], folder)
    found = [_read(path) for path in sorted(folder.glob("*.deb"))]
    assert sorted(package.name for package in found) == sorted(PACKAGES), "apt gave other packages"
    return found


def _read(path: Path) -> Package:
    fields = ["Package", "Version", "Architecture"]
    shown = subprocess.run(["dpkg-deb", "-f", path, *fields], check=True, capture_output=True, text=True).stdout
    values = dict(line.split(": ", 1) for line in shown.splitlines())
    return Package(path, *(values[field] for field in fields))


def build(packages: Sequence[Package], folder: Path, patchelf: Path) -> bytes:
    """Make the Python of the packages in an empty folder, and pack it (tar, gzip). Its bytes depend on the packages
    alone.

    Args:
        patchelf: The program that makes it find its libraries wherever it is.
    """
    for package in packages:
        content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package.path], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                if place := _place(member.name.removeprefix("./")):
                    _write(archive, member, folder / place)
    # Of the executable alone: its libraries, and theirs, are looked for there as well.
    _quiet([str(patchelf), "--force-rpath", "--set-rpath", "$ORIGIN/../lib", str(folder / EXECUTABLE)], folder)
    (folder / SUMS).write_text("".join(_sums(folder)), encoding="utf-8")
    return _pack(folder)


def _sums(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            yield f"{digest}  {path.relative_to(folder).as_posix()}\n"


def _place(name: str) -> str | None:
    """Where a file of a package goes; None if it is left out."""
    if name == f"usr/{EXECUTABLE}":
        return EXECUTABLE
    if library := _LIBRARY.fullmatch(name):
        return f"lib/{library[1]}"
    if name.startswith(_STANDARD_LIBRARY) and not _LEFT_OUT.match(name.removeprefix(_STANDARD_LIBRARY)):
        return name.removeprefix("usr/")
    if name.startswith("usr/share/doc/") and name.endswith("/copyright"):
        return f"licences/{name.split('/')[3]}"
    return None


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if not (member.isfile() or member.issym()):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        if "/" not in member.linkname:
            path.symlink_to(member.linkname)
        return
    content = archive.extractfile(member)
    assert content is not None
    path.write_bytes(content.read())
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


def _pack(folder: Path) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                continue
            entry = archive.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = _EPOCH
            entry.mode = 0o755 if path.is_symlink() or path.stat().st_mode & 0o100 else 0o644
            with path.open("rb") if entry.isfile() else io.BytesIO() as content:
                archive.addfile(entry, content)
    return gzip.compress(plain.getvalue(), mtime=_EPOCH)


def before(python: bytes) -> tuple[bytes, int]:
    """What stands before the zip archive of a kit with its own Python: a shell script, and that Python. Returns it, and
    at which byte the Python begins."""
    # The script names its own length, in as many digits whatever it is.
    values = {"size": len(python), "executable": EXECUTABLE, "glibc": GLIBC, "size_line": SIZE.decode()}
    length = len(_SCRIPT.format(first=0, **values))
    script = _SCRIPT.format(first=length + 1, **values)
    assert len(script) == length
    return script.encode() + python, length


def components(packages: Sequence[Package]) -> Iterator[dict[str, object]]:
    """The packages as they stand in a bill of materials."""
    for package in packages:
        digest = hashlib.sha256(package.path.read_bytes()).hexdigest()
        yield {
            "type": "library", "bom-ref": package.reference, "name": package.name, "version": package.version,
            "purl": package.reference, "hashes": [{"alg": "SHA-256", "content": digest}],
            "licenses": [{"license": {"name": f"see python/licences/{package.name}"}}],
        }  # fmt: skip


def _quiet(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)


_SCRIPT = """\
#!/bin/sh
# The memory appliance's offline kit, with a Python of its own: sh FILE install
# After this script follow that Python (tar, gzip), and a zip archive, which it runs.
{{
set -eu
{size_line}kit=$0
case $kit in */*) ;; *) kit=./$kit ;; esac
fail() {{ echo "error: $1" >&2; exit 1; }}
[ "$(wc -c < "$kit")" -eq "$size" ] || fail "$kit is incomplete, or was altered. Copy it again."
folder=$(mktemp -d "${{TMPDIR:-/tmp}}/memory-appliance.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
tail -c +{first:05d} "$kit" | head -c {size} | gzip -dc 2>/dev/null | tar -xf - -C "$folder" 2>/dev/null ||
  fail "$folder can't be filled: its disk is full, or $kit is damaged. TMPDIR=FOLDER names another folder."
"$folder/{executable}" -IS -c '' 2>/dev/null ||
  fail "The kit's Python does not run from $folder. It needs a system with glibc {glibc} or later, and a folder from \
which programs may run: TMPDIR=FOLDER names another one."
status=0
"$folder/{executable}" -IBS "$kit" "$@" || status=$?
exit "$status"
}}
"""
