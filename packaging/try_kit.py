"""Tries a kit as a person would who has nothing but it: an empty home folder, a bare Python, and no network.

    python packaging/try_kit.py KIT [--before OLDER_KIT | --before-commit HEAD~1] [--short] [--python /usr/bin/python3]

A kit with its own Python (``.run``) is tried without any other: nothing but a shell, tar and gzip is in PATH.

It installs, runs the demo, shakes hands over MCP, opens the screen, and uninstalls. With ``--before``, an older kit is
installed first and a memory made with it, which the newer one must keep, and which the older one must read again after
a rollback, or restore from the backup. Where the system allows it, all of this
runs in an empty network namespace. Prints how long each step took and how large it is; exits with 1 at the first step
that fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from trial.person import Person, few_programs
from trial.steps import let_program_try_itself, step, use_program
from trial.upgrade import try_upgrade

ROOT = Path(__file__).resolve().parents[1]


def try_kit(kit: Path, before: Path | None, python: str, *, is_short: bool = False) -> None:
    """Go through all steps."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        person = Person(home, [str(home / ".local/bin/appliance")])
        if kit.suffix == ".run":
            person.environment["PATH"] = str(few_programs(home / "few"))
        print(f"network: {'none' if person.within else 'as it is, because no namespace is possible here'}")
        if before is not None:
            try_upgrade(person, starter(before, python), starter(kit, python), is_short=is_short)
        else:
            step("install", lambda: person.run(*starter(kit, python), "install"))
        files = [file for file in home.rglob("*") if file.is_file() and not file.is_symlink()]
        print(f"  {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
        (let_program_try_itself if is_short else use_program)(person)
        step("uninstall", lambda: person.run(*starter(kit, python), "uninstall"))
        left = [*(home / ".local/lib").rglob("*"), *(home / ".local/bin").iterdir()]
        assert not left, f"uninstalling leaves {left[0]}"
        known = [home / ".local", home / "exports", home / "few", home / "restored"]
        if before is not None:  # whose libraries wrote more
            known.append(home / ".cache")
        odd = [path for path in home.iterdir() if path not in known]
        assert not odd, f"something was written beside the program and the memory: {odd[0]}"


def starter(kit: Path, python: str) -> tuple[str, str]:
    """What runs a kit."""
    return ("/bin/sh" if kit.suffix == ".run" else python, str(kit))


def kit_of(commit: str, folder: Path, wheels: Path, site: Path | None) -> Path | None:
    """The kit of an older commit for this machine, built by its own script; None if this clone does not have it.

    Args:
        site: A site of the documentation to put into it, to save the time of building its own.
    """
    if subprocess.run(["git", "-C", ROOT, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}"]).returncode != 0:
        return None
    tree = folder / "tree"
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", tree, commit], check=True)
    try:
        script = [sys.executable, str(tree / "packaging/build_kit.py")]
        script += ["--output", str(folder / "kit"), "--wheels", str(wheels)]
        if site is not None and "--site" in Path(script[1]).read_text():  # the first kits had none
            script += ["--site", str(site)]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    (kit,) = (folder / "kit").glob("*.pyz")
    return kit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kit", type=Path)
    parser.add_argument("--before", type=Path, help="an older kit, which is installed first")
    parser.add_argument("--python", default=getattr(sys, "_base_executable", sys.executable))
    parser.add_argument("--before-commit", help="build the older kit of this commit, if this clone has it")
    parser.add_argument("--wheels", type=Path, default=ROOT / "build/kit/wheels", help="for that one")
    parser.add_argument("--site", type=Path, help="a site of the documentation for that one")
    parser.add_argument(
        "--short", action="store_true", help="without the way back to the older kit, and used only by doctor --airgap"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = chosen.before and chosen.before.resolve()
        if chosen.before_commit:
            before = kit_of(
                chosen.before_commit, Path(folder), chosen.wheels.resolve(), chosen.site and chosen.site.resolve()
            )
            if before is None:
                print(f"This clone does not have {chosen.before_commit}, so no upgrade is tried.")
        try_kit(chosen.kit.resolve(), before, chosen.python, is_short=chosen.short)


if __name__ == "__main__":
    main()
