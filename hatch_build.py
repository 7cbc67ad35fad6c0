"""Writes the commit that a wheel or an sdist is built from into it, as ``appliance/COMMIT``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "appliance/COMMIT"


class CommitHook(BuildHookInterface[Any]):
    """An editable install reads the commit from the clone itself, and an sdist has the file already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable" or (root / NAME).exists() or not (root / ".git").exists():
            return
        command = ["git", "-C", str(root), "rev-parse", "HEAD"]
        try:
            commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):  # no git here, or the clone is somebody else's
            return
        descriptor, self._file = tempfile.mkstemp()
        with os.fdopen(descriptor, "w") as file:
            file.write(commit)
        os.chmod(self._file, 0o644)
        build_data["force_include"][self._file] = NAME

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if file := getattr(self, "_file", None):
            os.unlink(file)
