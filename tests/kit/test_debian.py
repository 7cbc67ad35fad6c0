"""The manual pages and the Debian package: what they hold, and that two builds are equal."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build_manual
import pytest
from deb import records, tree
from kit import wheels
from kit.targets import Target

from appliance.cli.reference.commands import Argument, Command, Option, Values
from tests.kit.kits import EPOCH, ROOT, write_wheel

NOT_ON_DEBIAN = [tool for tool in ("dpkg-deb", "readelf", "md5sum") if shutil.which(tool) is None]
TARGET = Target("linux-x86_64", "3.11")


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    build_manual.build(folder, EPOCH)
    return folder


def test_text_can_be_no_request_of_roff() -> None:
    verb = Command(
        ("say",), "Say it.",
        "Say .hidden -- it's C:\\dir.\n\n.SH is a word\n\n\b\nExamples:\n  appliance say '.x' ~/ü", "{WORD}",
        (
            Option(("-k", "--key"), "K", "The .key.", Values(), False),
            Option(("--wait", "--no-wait"), "", "Or later.", Values(), False, opposites=("--no-wait",)),
        ),
        (Argument("{WORD}", "'Quoted'.", Values(), False),), (),
    )  # fmt: skip
    lines = build_manual.verb_page(verb, "2026-01-01").splitlines()
    assert "Say .hidden \\-\\- it\\(aqs C:\\edir." in lines
    assert "\\&.SH is a word" in lines and "\\(aqQuoted\\(aq." in lines
    assert "appliance say \\(aq.x\\(aq \\(ti/\\[u00FC]" in lines
    assert "\\fB\\-k\\fR, \\fB\\-\\-key\\fR \\fIK\\fR" in lines
    assert "\\fB\\-\\-wait\\fR / \\fB\\-\\-no\\-wait\\fR" in lines


def test_every_verb_has_a_page_that_mandoc_accepts(manual: Path) -> None:
    pages = sorted((manual / "man/man1").iterdir())
    texts = {page.name: page.read_text(encoding="ascii") for page in pages}
    assert len(texts) > 40 and all(".TH " in text and " 1 2023-11-14 " in text for text in texts.values())
    listed = re.findall(r"^\.BR (appliance\S+) \(1\)$", texts["appliance.1"].replace("\\-", "-"), re.M)
    assert {f"{name}.1" for name in listed} == set(texts) - {"appliance.1"}
    if mandoc := shutil.which("mandoc"):
        lint = subprocess.run([mandoc, "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True)
        assert not lint.stdout
        shown = subprocess.run([mandoc, "-T", "ascii", manual / "man/man1/appliance-facts.1"], capture_output=True)
        plain = re.sub(r".\x08", "", shown.stdout.decode())
        assert "appliance facts history [OPTIONS] {ID|SUBJECT} [ATTRIBUTE]" in " ".join(plain.split())


def small_package(folder: Path, manual: Path, umask: int) -> Path:
    """A package of a program of one line."""
    folder.mkdir()
    files = {
        "appliance/__init__.py": "",
        "appliance/cli.py": "def main(): print('it runs')",
        "appliance/tests/x.py": "",
    }
    more = "License-Expression: MIT\nLicense-File: LICENSE\n"
    paths = [write_wheel(folder, "memory-appliance", "1.2", files, more=more)]
    paths.append(
        write_wheel(folder, "other", "3", {"other.py": "", "other-3.dist-info/LICENSE": "Copyright 2020 Ana\n\nDo."})
    )
    own, other = map(wheels.read_wheel, paths)
    package = tree.Package(ROOT, TARGET, own, [own, other], "1.2-1+py311", "1.2-1+py311-abc", EPOCH)
    before = os.umask(umask)
    try:
        tree.write(package, folder / "files", manual, None)
    finally:
        os.umask(before)
    path = folder / "memory-appliance_1.2-1+py311_amd64.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", folder / "files", path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)})
    return path


@pytest.mark.skipif(bool(NOT_ON_DEBIAN), reason="not on a Debian")
def test_two_builds_of_the_package_are_equal_and_hold_what_it_needs(tmp_path: Path, manual: Path) -> None:
    path = small_package(tmp_path / "a", manual, 0o022)
    assert path.read_bytes() == small_package(tmp_path / "b", manual, 0o077).read_bytes()
    files = tmp_path / "a/files"
    launcher = (files / "usr/bin/appliance").read_text()
    assert "exec /usr/bin/python3.11 -I /opt/memory-appliance/1.2-1+py311-abc" in launcher
    program = files / "opt/memory-appliance/1.2-1+py311-abc"
    ended = subprocess.run([sys.executable, "-I", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "it runs\n" and not (program / "appliance/tests").exists()
    assert "Depends: python3.11, libc6\n" in (files / "DEBIAN/control").read_text()
    share = files / "usr/share"
    assert gzip.decompress((share / "man/man1/appliance-search.1.gz").read_bytes()).startswith(b'.\\"')
    assert (
        "Files: opt/memory-appliance/1.2-1+py311-abc/other.py\n"
        in (share / "doc/memory-appliance/copyright").read_text()
    )
    assert " LICENSE:\n .\n Copyright 2020 Ana\n .\n Do.\n" in (share / "doc/memory-appliance/copyright").read_text()
    unit = (files / "usr/lib/systemd/user/memory-appliance.service").read_text()
    assert "ExecStart=/usr/bin/appliance serve\n" in unit and "IPAddressDeny=any" in unit and "(." not in unit


@pytest.mark.skipif(sys.platform == "win32", reason="scripts for a shell")
@pytest.mark.parametrize(
    ("script", "arguments", "asked"),
    [
        ("prerm", ["upgrade", "2"], ["stop memory-appliance.service"]),
        ("prerm", ["remove"], ["stop memory-appliance.socket memory-appliance.service"]),
        (
            "postinst", ["configure", "1"],
            ["daemon-reload", "--quiet is-enabled memory-appliance.service", "start memory-appliance.service"],
        ),
        ("postinst", ["configure", ""], []),
    ],
)  # fmt: skip
def test_daemons_of_all_users_end_before_an_upgrade_and_start_after_it(
    tmp_path: Path, script: str, arguments: list[str], asked: list[str]
) -> None:
    program, asked_file = tmp_path / "program", tmp_path / "asked"
    (program / "__pycache__").mkdir(parents=True)
    (tmp_path / "systemctl").write_text(
        "#!/bin/sh\n"
        'case "$*" in *list-units*) printf "user@%s.service loaded\\n" 1000 1001; exit ;; esac\n'
        f'echo "$*" >>{asked_file}\n'
        'case "$*" in *1001@*is-enabled*) exit 1 ;; esac\n'
    )
    (tmp_path / "systemctl").chmod(0o755)
    text = records.scripts(sys.executable, str(program))[script].replace("/run/systemd/system", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = subprocess.run(["sh", "-c", text, "sh", *arguments], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = asked_file.read_text().splitlines() if asked_file.exists() else []
    assert [line.removeprefix("--user --machine 1000@ ") for line in lines if "1000@" in line] == asked
    assert not asked or any("1001@" in line for line in lines)
    assert not any("1001@ start" in line for line in lines), "it is not enabled for this user"
    assert (program / "__pycache__").exists() == (script == "postinst")


@pytest.mark.slow
@pytest.mark.skipif(bool(NOT_ON_DEBIAN) or shutil.which("lintian") is None, reason="no lintian here")
def test_lintian_has_nothing_to_say(tmp_path: Path, manual: Path) -> None:
    path = small_package(tmp_path / "a", manual, 0o022)
    as_anyone = ["--no-cfg", "--allow-root"] if os.geteuid() == 0 else ["--no-cfg"]
    found = subprocess.run(["lintian", *as_anyone, path], capture_output=True, text=True)
    assert (found.stdout, found.returncode) == ("", 0)


def test_a_library_of_no_known_package_is_refused() -> None:
    with pytest.raises(LookupError, match=r"libnew\.so\.1"):
        records.control("n", "1", TARGET, 1, ["libc.so.6", "libnew.so.1"], "2.28")
    assert "libc6 (>= 2.28), zlib1g" in records.control("n", "1", TARGET, 1, ["libm.so.6", "libz.so.1"], "2.28")
