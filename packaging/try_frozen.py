"""Tries the frozen build in an empty home folder without a network, and without a Python in PATH.

python packaging/try_frozen.py dist/memory-appliance-0.1.0-linux-x86_64
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from trial.person import Person, few_programs
from trial.steps import use_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    built = parser.parse_args().folder.resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # Wherever it is copied, also where a name has a space.
        program = shutil.copytree(built, home / "my programs/appliance", symlinks=True)
        person = Person(home, [str(program / "appliance")], more={"PATH": str(few_programs(home / "few"))})
        print(f"network: {'none' if person.within else 'as it is, because no namespace is possible here'}")
        use_program(person)


if __name__ == "__main__":
    main()
