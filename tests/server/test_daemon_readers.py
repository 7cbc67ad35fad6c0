"""The reader processes of a daemon: started when searches meet, and gone with it however it ends."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.daemons import end, filled, running
from tests.waits import until


def readers(process: int) -> set[int]:
    """The reader processes of a daemon."""
    children = {
        int(one) for file in Path(f"/proc/{process}/task").glob("*/children") for one in file.read_text().split()
    }
    return {one for one in children if b"appliance.engine.reader_process" in command(one)}


def command(process: int) -> bytes:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("dies", [False, True])
def test_readers_search_for_a_daemon_and_end_with_it(home: Path, dies: bool) -> None:
    filled(home)
    (home / "config.toml").write_text("[server]\nreaders = 2\nrate = 0\n")
    with running(home) as daemon, httpx.Client(base_url=daemon.url, trust_env=False, timeout=120) as client:
        headers = {"authorization": f"Bearer {daemon.token}"}

        def ids(number: int) -> list[str]:
            answer = client.post("/v1/search", json={"query": "ferry to Ischia"}, headers=headers).raise_for_status()
            return [hit["message_id"] for hit in answer.json()["hits"]]

        alone = ids(0)
        assert alone and not readers(daemon.process.pid)
        with ThreadPoolExecutor(8) as threads:

            def many() -> set[int]:
                assert list(threads.map(ids, range(24))) == [alone] * 24
                return readers(daemon.process.pid)

            found = until(many, "a reader")
        if dies:
            os.kill(daemon.process.pid, signal.SIGKILL)
            daemon.process.wait()
        else:
            assert end(daemon)[0] == 0
        until(lambda: not any(map(command, found)), "the end of the readers")
