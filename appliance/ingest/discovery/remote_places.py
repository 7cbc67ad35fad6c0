"""What is not on this machine although it looks so: network drives, and files that a cloud has and this disk has not.

Discovery leaves them alone, because to look at them wakes a network or starts a download. Nothing here touches them:
mounts are read from the system's table, links are read and not followed.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from appliance.ingest.discovery.places import Platform

MAX_LINKS = 40
"""Links behind each other that are followed, as the kernel does."""

_NETWORK_TYPES = re.compile(
    r"nfs\d?|cifs|smb\w*|afpfs|webdav|davfs\d?|ncpfs|9p|afs|ceph|glusterfs|lustre|autofs"
    r"|fuse\.(?:sshfs|rclone|s3fs|gcsfuse|davfs\d?|gvfsd-fuse|curlftpfs|glusterfs|mergerfs-nfs|onedriver)"
)
_MAC_MOUNT = re.compile(r"^.+? on (/.*) \((\w+)[,)]", re.MULTILINE)
_MAC_MOUNT_COMMAND = "/sbin/mount"
_MOUNTS_FILE = Path("/proc/self/mounts")
_MOUNTS_SECONDS = 2.0

# Windows: the content is recalled from the cloud when it is read; macOS: SF_DATALESS.
_RECALLED = 0x1000 | 0x40000 | 0x400000
_DATALESS = 0x40000000


def network_folders(platform: Platform, home: Path) -> frozenset[str]:
    """The folders at which a network drive is mounted, or would be when it is looked at; not that of the person's home,
    which is in use anyway."""
    try:
        if platform == "linux":
            found = linux_mounts(_MOUNTS_FILE.read_text("utf-8", "surrogateescape"))
        elif platform == "mac":
            # It asks the kernel for what it knows, and no server.
            done = subprocess.run(
                [_MAC_MOUNT_COMMAND], capture_output=True, timeout=_MOUNTS_SECONDS, check=True, encoding="utf-8",
                errors="surrogateescape",
            )  # fmt: skip
            found = mac_mounts(done.stdout)
        else:
            return frozenset()
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(folder for folder in found if not home.is_relative_to(folder))


def linux_mounts(text: str) -> set[str]:
    """The network folders of a table of mounts as Linux writes it."""
    rows = (line.split(" ") for line in text.splitlines())
    return {_unescaped(row[1]) for row in rows if len(row) > 2 and _NETWORK_TYPES.fullmatch(row[2])}


def mac_mounts(text: str) -> set[str]:
    """The network folders of what macOS' ``mount`` prints."""
    return {folder for folder, kind in _MAC_MOUNT.findall(text) if _NETWORK_TYPES.fullmatch(kind)}


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def is_remote(path: Path, network: Iterable[str]) -> bool:
    """Whether a path lies on a network drive, also by links. A UNC path does."""
    folders = tuple(network)
    if str(path).startswith(("\\\\", "//")):
        return True
    if not folders:
        return False
    seen = 0
    current, waiting = Path(path.anchor), list(reversed(path.parts[1:]))
    while waiting:
        current = Path(os.path.normpath(current / waiting.pop()))
        if str(current) in folders:
            return True
        try:
            target = os.readlink(current)
        except OSError:
            continue
        seen += 1
        if seen > MAX_LINKS:
            return False
        link = Path(os.path.normpath(current.parent / target))
        current, waiting = Path(link.anchor), [*waiting, *reversed(link.parts[1:])]
    return False


def is_in_the_cloud(info: os.stat_result) -> bool:
    """Whether the content of a file is fetched from a cloud when it is read (OneDrive, iCloud)."""
    if getattr(info, "st_file_attributes", 0) & _RECALLED:
        return True
    return bool(getattr(info, "st_flags", 0) & _DATALESS) and stat.S_ISREG(info.st_mode)
