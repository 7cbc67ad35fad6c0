"""``python -m appliance`` is ``appliance``."""

from __future__ import annotations

import sys

from appliance.cli import main

# Worker processes of a library import this module under another name.
if __name__ == "__main__":
    sys.exit(main())
