"""``appliance doctor --airgap`` as a whole: it is clean, and what reaches out makes it fail."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.doctor import airgap_runs
from appliance.doctor.airgap import RUNS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")

ROOT = Path(__file__).parents[2]

# As a library with telemetry would: it waits until a part of the program is loaded, which only a search loads.
PLANT = """
import sys
from importlib.abc import MetaPathFinder

class Plant(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "appliance.cli.search":
            sys.meta_path.remove(self)
            reach_out()

def reach_out():
    import socket
    try:
        socket.create_connection(("telemetry.invalid", 443), timeout=1)
    except OSError:
        pass
    {native}

sys.meta_path.insert(0, Plant())
"""

NATIVE = "from appliance.doctor.airgap_process import plant_native; plant_native()"

RUN = """
import json, sys
from appliance.doctor.airgap import airgap
print(json.dumps([[c.name, c.ok, c.detail, c.fix] for c in airgap(sys.argv[1:])]))
"""


def run(folder: Path | None, *runs: str) -> dict[str, tuple[bool, str, str]]:
    """The checks by name, with a folder before all others that Python imports from."""
    paths = [str(folder)] if folder else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)])}
    ended = subprocess.run(
        [sys.executable, "-P", "-c", RUN, *runs], env=environment, capture_output=True, text=True, timeout=250
    )
    assert ended.returncode == 0, ended.stderr
    return {name: (ok, detail, fix) for name, ok, detail, fix in json.loads(ended.stdout)}


def has_namespace() -> bool:
    """Whether the system allows what the kernel's counts need. Without it, native code could really reach out."""
    ended = subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL, check=False)
    return ended.returncode == 0


def test_a_loopback_interface_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(airgap_runs.http.client.HTTPConnection, "connect", refuse)
    with pytest.raises(airgap_runs.Failure, match="loopback interface is down") as caught:
        airgap_runs._ask("http://127.0.0.1:7707", "/health/live", None)
    assert "ip link set lo up" in caught.value.fix


@pytest.mark.slow
def test_a_planted_connection_is_caught_in_the_run_that_makes_it(tmp_path: Path) -> None:
    is_isolated = has_namespace()
    (tmp_path / "sitecustomize.py").write_text(PLANT.format(native=NATIVE if is_isolated else ""))
    checks = run(tmp_path, "ingest", "search", "files")
    assert all(checks[name][0] for name in ("isolation", "ingest", "files")), checks
    ok, detail, fix = checks["search"]
    assert not ok and "sitecustomize:14 tried getaddrinfo telemetry.invalid" in detail and "pip list" in fix
    if is_isolated:
        assert "one of native code" in checks["isolation"][1]
        assert "the kernel counted 1 attempt to" in detail and "strace" in fix


@pytest.mark.campaign
def test_the_program_is_silent() -> None:
    checks = run(None, *RUNS)
    assert len(checks) == 8 and all(ok for ok, _, _ in checks.values()), checks
