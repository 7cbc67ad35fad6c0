"""What the frozen program starts with: its own processes, else the command line."""

from __future__ import annotations

import os
import sys

# PyInstaller's loader lets this process find its libraries. Programs that it starts, as an editor, need their own.
if "LD_LIBRARY_PATH_ORIG" in os.environ:
    os.environ["LD_LIBRARY_PATH"] = os.environ.pop("LD_LIBRARY_PATH_ORIG")
else:
    os.environ.pop("LD_LIBRARY_PATH", None)

from appliance.runtime.child_process import run_module_if_asked

if not run_module_if_asked(sys.argv[1:]):
    from appliance.cli import main

    sys.exit(main())
