"""Tries a Debian package as a person would who has nothing but it, without a network.

    sudo python packaging/try_deb.py PACKAGE [--before OLDER_PACKAGE] [--suite bookworm]
    python packaging/try_deb.py --unpacked PACKAGE [--short]

The first way needs root, debootstrap and iproute2: in a system of its own, which is made once and kept in
build/debian, it installs the package, runs the demo, the MCP handshake, the daemon and the screen as an ordinary user,
and removes the package, which must leave nothing but the memory. With ``--before``, an older package is installed first
and a memory made with it, which the newer one must have kept; an upgrade for which the disk has no room must leave the
older one in use.

The second way only unpacks the package and uses it, in a namespace in which it stands at its place. It needs no root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trial.person import LONGEST, Person
from trial.steps import begin_with_program, ingest_samples, messages_found, step, use_program, wait_for

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build/debian"
NAME = "memory-appliance"
COMMAND = "/usr/bin/appliance"
USER = 1000

SMALL_DISK = 64
"""Megabytes that are free in /opt, too few for the program."""

_IN_TREE = """
tree=$1; shift
ip link set lo up
mount --make-rprivate /
mount --rbind /proc "$tree/proc"
mount --rbind /dev "$tree/dev"
mount -t tmpfs -o mode=1777 tmpfs "$tree/tmp"
mkdir -p "$tree$HOME"
mount --bind "$HOME" "$tree$HOME"
exec /usr/sbin/chroot --userspec={user}:{user} "$tree" sh -c 'cd "$HOME" && exec "$@"' sh "$@"
"""
"""Runs a program in a system tree, with the person's home at the same place as outside."""

_AT_ITS_PLACE = """
files=$1; shift
mount --bind "$files/opt" /opt
exec "$@"
"""

NOT_COMPARED = ("proc", "sys", "dev", "run", "tmp", "var/log", "var/cache/man", "var/lib/dpkg", "opt")
"""Folders whose files an installation may change: logs, indexes, and what dpkg notes, which removes an empty /opt."""


def try_installed(package: Path, before: Path | None, suite: str) -> None:
    """Go through all steps in a system tree."""
    with system_tree(suite) as tree, tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "Zoë Müller")
        home.mkdir()
        for path in (Path(folder), home):
            os.chown(path, USER, USER)
        inside = ["unshare", "--net", "--mount", "sh", "-ec", _IN_TREE.format(user=USER), "sh", str(tree)]
        person = Person(home, [COMMAND], inside)
        files = listed(tree)
        if before is not None:
            step("install the older package", lambda: install(tree, before))
            ingest_samples(person)
            found = messages_found(person)
            step("upgrade without room", lambda: refuse_upgrade(tree, package))
            assert messages_found(person) == found, "the older version does not work any more"
            upgrade_under_a_daemon(tree, package, person)
        else:
            step("install", lambda: install(tree, package))
        if before is not None:
            assert messages_found(person) == found, "the memory finds other messages than before the upgrade"
            person.appliance("verify")
            versions = [path.name for path in (tree / "opt" / NAME).iterdir()]
            assert len(versions) == 1, f"the older version is still there: {versions}"
        print(f"  {size(tree / 'opt') / 1e6:.0f} MB")
        use_program(person)
        assert "appliance-search" in person.run("man", "-w", "appliance", "search"), "no manual page"
        loader = ". /usr/share/bash-completion/bash_completion; _completion_loader appliance"
        shown = person.run("bash", "-c", f"{loader}; complete -p appliance")
        assert "_appliance" in shown, "no completion"
        if (tree / "usr/share/doc" / NAME / "html").exists():
            page = person.appliance("docs", "--print", "backup").strip()
            assert (tree / page.lstrip("/")).is_file(), f"no page {page}"
        ingest_samples(person)
        step("install again", lambda: install(tree, package))
        step("remove", lambda: within(tree, "dpkg", "--remove", NAME))
        step("purge", lambda: within(tree, "dpkg", "--purge", NAME))
        left = sorted(listed(tree) ^ files)
        assert not left, f"purging changes {left[:5]}"
        assert not (tree / "opt" / NAME).exists(), "purging leaves the program"
        assert [*home.rglob("recall.db")], "the memory is gone"


def try_unpacked(package: Path, *, is_short: bool = False) -> None:
    """Use a package without installing it."""
    with tempfile.TemporaryDirectory() as folder:
        files, home = Path(folder, "files"), Path(folder, "Zoë Müller")
        home.mkdir()
        step("unpack", lambda: subprocess.run(["dpkg-deb", "-x", package, files], check=True))
        inside = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-ec", _AT_ITS_PLACE, "sh", str(files)]
        (begin_with_program if is_short else use_program)(Person(home, [f"{files}{COMMAND}"], inside))


@contextmanager
def system_tree(suite: str) -> Iterator[Path]:
    """A copy of a small system with Python, made by debootstrap once."""
    kept = KEPT / suite
    if not kept.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        making = kept.with_name(f"{suite}.new")
        shutil.rmtree(making, ignore_errors=True)
        more = "--include=python3,man-db,bash-completion"
        step(
            "debootstrap",
            lambda: subprocess.run(
                ["debootstrap", "--variant=minbase", more, suite, making], check=True, stdout=subprocess.DEVNULL
            ),
        )
        making.rename(kept)
    copy = Path(tempfile.mkdtemp(dir=KEPT, prefix="trial-"))
    try:
        subprocess.run(["cp", "-a", f"{kept}/.", copy], check=True)
        copy.chmod(0o755)
        yield copy
    finally:
        shutil.rmtree(copy)


def within(tree: Path, *command: str, setup: str = "true") -> subprocess.CompletedProcess[str]:
    """Run a program as root in a system tree, without a network. Exits where it fails."""
    ended = attempt(tree, *command, setup=setup)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended


def attempt(tree: Path, *command: str, setup: str = "true") -> subprocess.CompletedProcess[str]:
    """Run a program as root in a system tree, without a network.

    Args:
        setup: A command for the shell that runs before, in the same namespace.
    """
    script = f'mount --make-rprivate /; mount --rbind /proc "$1/proc"; {setup}; exec chroot "$@"'
    return subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-ec", script, "sh", tree, *command],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"},
    )  # fmt: skip


def install(tree: Path, package: Path) -> None:
    copied = Path(shutil.copy(package, tree / "root"))
    try:
        within(tree, "dpkg", "--install", f"/root/{copied.name}")
    finally:
        copied.unlink()


def refuse_upgrade(tree: Path, package: Path) -> None:
    """Upgrade while /opt has no room for another version."""
    copied = Path(shutil.copy(package, tree / "root"))
    try:
        # What is there moves into a file system that is nearly full.
        full = (
            'mkdir "$1/root/opt"; mount --bind "$1/opt" "$1/root/opt"; used=$(du -sm "$1/opt" | cut -f1);'
            f' mount -t tmpfs -o size=$((used + {SMALL_DISK}))m tmpfs "$1/opt"; cp -a "$1/root/opt/." "$1/opt"'
        )
        ended = attempt(tree, "dpkg", "--install", f"/root/{copied.name}", setup=full)
    finally:
        copied.unlink()
        shutil.rmtree(tree / "root/opt", ignore_errors=True)
    assert ended.returncode != 0 and "No space left on device" in ended.stderr, ended.stdout + ended.stderr
    state = within(tree, "dpkg-query", "--show", "--showformat=${db:Status-Status}", NAME).stdout
    assert state == "installed", f"the older package is {state}"


def upgrade_under_a_daemon(tree: Path, package: Path, person: Person) -> None:
    """Upgrade while a daemon of the older version runs, which no systemd restarts here."""
    before = person.appliance("--version")
    daemon = person.start(COMMAND, "serve", "--port", "0")
    try:
        wait_for(lambda: (person.home / ".local/share/appliance/daemon.json").exists())
        step("upgrade while its daemon runs", lambda: install(tree, package))
        assert person.appliance("--version") != before, "both packages are of one commit"
        answer = person.attempt(COMMAND, "search", "Ben")
        assert "Restart the daemon" in answer.stderr, f"the older daemon is not named:\n{answer.stdout}{answer.stderr}"
    finally:
        daemon.terminate()
        daemon.communicate(timeout=LONGEST)
    # It can't load what it needs to end in order. What was committed stays.
    print(f"  the older daemon ended with {daemon.returncode}")


def listed(tree: Path) -> set[str]:
    """Every file of a system, but for those that may change."""
    found = set()
    for folder, folders, names in os.walk(tree):
        place = Path(folder).relative_to(tree).as_posix()
        folders[:] = [one for one in folders if f"{place}/{one}".removeprefix("./") not in NOT_COMPARED]
        found |= {f"{place}/{one}".removeprefix("./") for one in [*folders, *names]}
    return found


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("--before", type=Path, help="an older package, which is installed first")
    parser.add_argument("--suite", default="bookworm", help="the Debian in which it is tried")
    parser.add_argument("--unpacked", action="store_true", help="only unpack it and use it")
    parser.add_argument("--short", action="store_true", help="with --unpacked: only the demo and the screen")
    chosen = parser.parse_args(arguments)
    if chosen.unpacked:
        try_unpacked(chosen.package.resolve(), is_short=chosen.short)
    elif os.geteuid() != 0:
        parser.error("to install it, be root; --unpacked needs no root")
    else:
        try_installed(chosen.package.resolve(), chosen.before and chosen.before.resolve(), chosen.suite)


if __name__ == "__main__":
    main()
