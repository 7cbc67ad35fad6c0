"""What a kit is built for: an operating system, a processor and a version of Python."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass

OLDEST_GLIBC = 5
NEWEST_GLIBC = 28
"""The minor versions of glibc 2 for which wheels are taken: 2.28 (2018) is the newest that a kit may ask for."""

OLDEST_MACOS = 11
NEWEST_MACOS = 14

LEGACY_GLIBC = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}
"""The older names of three of the platforms of wheels."""


@dataclass(frozen=True, slots=True)
class Target:
    """A platform ("linux-x86_64") and a version of Python ("3.11")."""

    platform: str
    python: str

    @property
    def tag(self) -> str:
        """As it stands in the name of a kit: "linux-x86_64-py311"."""
        return f"{self.platform}-py{self.python.replace('.', '')}"

    @property
    def wheel_platforms(self) -> Sequence[str]:
        """The platform tags of wheels that run there, as pip takes them."""
        system, _, machine = self.platform.partition("-")
        if system == "linux":
            tags = [f"manylinux_2_{minor}_{machine}" for minor in range(NEWEST_GLIBC, OLDEST_GLIBC - 1, -1)]
            return [*tags, *(f"{name}_{machine}" for name in LEGACY_GLIBC), f"linux_{machine}"]
        if system == "macos":
            versions = [f"{major}_0" for major in range(NEWEST_MACOS, OLDEST_MACOS - 1, -1)] + [
                "10_15",
                "10_12",
                "10_9",
            ]
            return [f"macosx_{version}_{kind}" for version in versions for kind in (machine, "universal2")]
        return ["win_amd64"]

    @property
    def markers(self) -> dict[str, str]:
        """The values of environment markers there (PEP 508)."""
        system, _, machine = self.platform.partition("-")
        names = {
            "linux": ("posix", "linux", "Linux"),
            "macos": ("posix", "darwin", "Darwin"),
            "windows": ("nt", "win32", "Windows"),
        }
        os_name, sys_platform, platform_system = names[system]
        return {
            "os_name": os_name,
            "sys_platform": sys_platform,
            "platform_system": platform_system,
            "platform_machine": "AMD64" if system == "windows" else machine,
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_version": f"{self.python}.0",
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }


PLATFORMS = ("linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64", "windows-x86_64")
PYTHONS = ("3.11", "3.12", "3.13")


def this_machine() -> Target:
    """The target that this Python is."""
    system, machine = {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform], sysconfig.get_platform()
    processor = next(one for one in ("x86_64", "aarch64", "arm64", "amd64") if machine.endswith(one))
    return Target(f"{system}-{processor.replace('amd64', 'x86_64')}", f"{sys.version_info[0]}.{sys.version_info[1]}")
