"""The small files of the Debian package: launcher, units, control, scripts, copyright, changelog, overrides."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from kit import licences
from kit.targets import Target
from kit.wheels import Wheel

MAINTAINER = "The memory appliance <packages@memory-appliance.invalid>"
"""The project has no address of its own; ".invalid" says so to programs."""

ARCHITECTURES = {"linux-x86_64": "amd64", "linux-aarch64": "arm64"}

_LIBRARIES: Mapping[str, str] = {
    "libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1", "libz.so.1": "zlib1g",
}  # fmt: skip
"""Packages of the libraries that the system has to bring, beside glibc."""

_GLIBC = re.compile(r"(?:lib(?:c|m|dl|pthread|rt|util)\.so\.\d|ld-linux[-a-z0-9_]*\.so\.\d)")

MAIN = """\
# Python runs this file when it is given the folder, and finds the folder's modules before all others.
import sys

# Worker processes of a library import this module under another name.
if __name__ == "__main__":
    from appliance.cli import main

    sys.exit(main())
"""

DESKTOP = """\
[Desktop Entry]
Type=Application
Name=Memory appliance
Comment=Search the conversations that you have had
Exec=appliance tui
Terminal=true
Categories=Utility;
Keywords=memory;chat;search;
"""


def launcher(python: str, program: str, command: str) -> str:
    """The command of the package. ``-I``: whatever is set for other Pythons, and wherever one stands."""
    return textwrap.dedent(f"""\
        #!/bin/sh
        export MEMORY_APPLIANCE_COMMAND={command}
        exec /usr/bin/{python} -I {program} "$@"
        """)


def units(root: Path, command: str) -> Mapping[str, str]:
    """The units of systemd for the person's own manager: for the memory at its usual place, with the usual settings."""
    sys.path[:0] = [str(root)]
    from appliance.server.service.plan import ServicePlan
    from appliance.server.service.systemd import unit_files
    from appliance.settings import ServerSettings

    server = ServerSettings()
    plan = ServicePlan((command, "serve"), Path(), server.host, server.port, only_loopback=True)
    origin = (
        "Of the package memory-appliance, for the usual home and settings.\n"
        "# 'appliance service install' writes units by your own, which go before these."
    )
    return unit_files(plan, origin, home="")


def control(
    name: str, version: str, target: Target, kilobytes: int, libraries: Iterable[str], glibc: str | None
) -> str:
    """What dpkg knows of the package.

    Args:
        kilobytes: The size of its files.
        libraries: The shared libraries that it needs of the system.
        glibc: The oldest version with which they run, if there is one.

    Raises:
        LookupError: A library is needed whose package is not known.
    """
    needed = {"libc6": f"libc6 (>= {glibc})" if glibc else "libc6"}
    for library in sorted(libraries):
        if _GLIBC.fullmatch(library):
            continue
        if library not in _LIBRARIES:
            raise LookupError(f"the package of {library} is not known: add it to packaging/deb/records.py")
        needed[_LIBRARIES[library]] = _LIBRARIES[library]
    depends = ", ".join([f"python{target.python}", *(needed[one] for one in sorted(needed))])
    return textwrap.dedent(f"""\
        Package: {name}
        Version: {version}
        Architecture: {ARCHITECTURES[target.platform]}
        Maintainer: {MAINTAINER}
        Installed-Size: {kilobytes}
        Depends: {depends}
        Section: utils
        Priority: optional
        Description: offline memory of a person's own conversations
         It reads the exports of chat programs and assistants, makes every message
         searchable by words and by meaning, and gives an assistant the right
         memories. Everything stays on this machine.
         .
         It comes with its models and all libraries, for Python {target.python}.
        """)


_USERS = """\
# The manager of every user who is logged in, if systemd runs here.
of_each_user() {
    [ -d /run/systemd/system ] || return 0
    systemctl --no-legend --quiet list-units 'user@*' | sed -n 's/.*user@\\([0-9]*\\)\\.service.*/\\1/p' |
        while read -r user; do "$@" </dev/null || true; done
}
"""

_POSTINST = """\
#!/bin/sh
set -e
{users}
start() {{
    systemctl --user --machine "$user@" daemon-reload
    ! systemctl --user --machine "$user@" --quiet is-enabled {service} ||
        systemctl --user --machine "$user@" start {service}
}}

# Some files are templates of other programs, which are no Python yet.
{python} -I -m compileall -q -j 0 {program} >/dev/null || true
if [ "$1" = configure ] && [ -n "$2" ]; then
    of_each_user start
fi
"""

_PRERM = """\
#!/bin/sh
set -e
{users}
stop() {{
    systemctl --user --machine "$user@" stop $units
}}

# A daemon can't end in order when its files are gone.
units={service}
[ "$1" = upgrade ] || units="{socket} {service}"
of_each_user stop
find {program} -type d -name __pycache__ -prune -exec rm -rf {{}} +
"""


def scripts(python: str, program: str) -> Mapping[str, str]:
    """What dpkg runs. People can't write byte code where the program is, so that it is made when it is installed. The
    daemons of people end before an upgrade, and those that start at login start again after it."""
    unit = "memory-appliance"
    words = {
        "users": _USERS, "python": python, "program": program, "service": f"{unit}.service", "socket": f"{unit}.socket",
    }  # fmt: skip
    return {"postinst": _POSTINST.format(**words), "prerm": _PRERM.format(**words)}


def changelog(name: str, version: str, python: str, epoch: int) -> str:
    """The changelog of the package itself; that of the program stands beside it."""
    date = format_datetime(datetime.fromtimestamp(epoch, UTC))
    program = version.rpartition("-")[0]
    return (
        f"{name} ({version}) unstable; urgency=medium\n\n"
        f"  * Version {program} with its libraries, for Python {python}.\n\n"
        f" -- {MAINTAINER}  {date}\n"
    )


# --- copyright ----------------------------------------------------------------------------------------------

_COMMON = {
    "Apache-2.0": r"^[ \t]*Apache License[ \t]*\n[ \t]*Version 2\.0, January 2004.*?END OF TERMS AND CONDITIONS",
    "GPL-3": r"^[ \t]*GNU GENERAL PUBLIC LICENSE[ \t]*\n[ \t]*Version 3,.*?END OF TERMS AND CONDITIONS",
}
"""Texts that every Debian has: they are named, not repeated."""

_COPYRIGHT = re.compile(
    r"^\W*(?:Copyright|\(c\)|©)\s.*(?:\d{4}|\bauthors?\b|\bcontributors\b).*$", re.IGNORECASE | re.M
)


def copyright(wheels: Sequence[Wheel], program: str) -> str:
    """The licences of all that is in the package, as DEP-5 has them."""
    stanzas = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: memory-appliance"
    ]
    own = [wheel for wheel in wheels if wheel.name == "memory-appliance"]
    for wheel in [*own, *(wheel for wheel in wheels if wheel not in own)]:
        texts = list(licences.texts(wheel))
        files = ["*"] if wheel in own else [f"{program}/{top}" for top in _tops(wheel)]
        holders = sorted({" ".join(line.split()) for _, text in texts for line in _holders(text)})
        holders = holders or [f"the authors of {wheel.name}"]
        stanzas.append("\n".join([
            f"Files: {_folded(files)}", f"Copyright: {_folded(holders)}", f"License: {_short_name(wheel)}",
            f" {wheel.name} {wheel.version}: {licences.expression(wheel)}", *_licence_lines(texts),
        ]))  # fmt: skip
    return "\n\n".join(stanzas) + "\n"


def _tops(wheel: Wheel) -> Iterator[str]:
    """The folders and modules that a wheel brings."""
    seen = set()
    for name in wheel.names():
        top, slash, _ = name.partition("/")
        if top not in seen:
            seen.add(top)
            yield f"{top}/*" if slash else top


def _holders(text: bytes) -> list[str]:
    lines = _COPYRIGHT.findall(text.decode(errors="replace"))
    return [re.sub(r"^\W+(?=\w)", "", line.strip()) for line in lines if "[yyyy]" not in line and "{yyyy}" not in line]


def _short_name(wheel: Wheel) -> str:
    """A name for the licence of one package: two packages with the same licence have texts of their own."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', licences.expression(wheel)).strip('-')}~{wheel.name}"


def _licence_lines(texts: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    for name, content in texts:
        text = content.decode(errors="replace")
        for common, pattern in _COMMON.items():
            reference = f"[the text of /usr/share/common-licenses/{common}]"
            text = re.sub(pattern, reference, text, flags=re.DOTALL | re.MULTILINE)
        yield from (" .", f" {name}:", " .")
        for line in text.splitlines():
            yield f" {line.rstrip()}" if line.strip() else " ."


def _folded(values: Sequence[str]) -> str:
    return "\n ".join(values)


# --- lintian ------------------------------------------------------------------------------------------------


_OVERRIDES: Mapping[str, Sequence[str]] = {
    "The package is not Debian's: what comes from elsewhere belongs into /opt.": ["dir-or-file-in-opt"],
    "The libraries are the wheels of their makers, by checksum as constraints.txt pins them, which are not changed.": [
        "embedded-library",
        "unstripped-binary-or-object",
        "library-not-linked-against-libc",
        "shared-library-lacks-prerequisites",
    ],
    "Modules of these wheels that can be run from a clone of their makers. Nothing runs them here.": [
        "script-not-executable",
        "unusual-interpreter",
    ],
    "A template of textual-serve. The program serves a page of its own, which may load nothing from elsewhere.": [
        "privacy-breach-generic"
    ],
    "deb-systemd-invoke of Debian 12 can neither reload the managers of people nor restart only what runs.": [
        "maintainer-script-calls-systemctl"
    ],
}
"""What lintian finds and why it is meant."""


def overrides(name: str, program: str) -> str:
    """The overrides for lintian: those about files, for the files of the program alone."""
    lines = []
    for reason, tags in _OVERRIDES.items():
        lines.append(f"# {reason}")
        place = program.rpartition("/")[0]
        lines += [f"{name}: {tag} *" + ("" if "maintainer" in tag else f"[{place}/*]") for tag in tags]
    return "\n".join(lines) + "\n"
