"""How much more memory this process may map, where its address space is limited (``ulimit -v``).

Native libraries end the process, or hang, where the system refuses them memory in the middle of their work. So what
needs much of it looks first whether there is enough.
"""

from __future__ import annotations

import os
import sys

from appliance.errors import OutOfMemory

MEMORY_HINT = "Close other programs, or raise this process's limit ('ulimit -v'), then try again. Nothing is damaged."


def available_bytes() -> int | None:
    """What is left of this process's address space; None where it is not limited, or no limit is kept."""
    if sys.platform != "linux":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with open("/proc/self/statm", "rb") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return max(0, limit - used)


def require_memory(needed: int, purpose: str) -> None:
    """
    Args:
        needed: The bytes needed.
        purpose: Completes "There is too little memory to …".

    Raises:
        OutOfMemory: There are fewer; the error gives both numbers.
    """
    available = available_bytes()
    if available is not None and available < needed:
        raise OutOfMemory(
            f"There is too little memory to {purpose}: {needed / 1e6:,.0f} MB are needed,"
            f" {available / 1e6:,.0f} MB are left to this process.",
            hint=MEMORY_HINT,
        )
