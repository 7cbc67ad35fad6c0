"""What Python runs of a kit."""

import sys

from installer.main import run_as_program

sys.exit(run_as_program())
