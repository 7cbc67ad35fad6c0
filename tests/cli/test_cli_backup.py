"""``backup`` and ``restore``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_runs import Run, document

from appliance import Backups
from tests.passphrases import make_quick


def test_backup_list_verify_and_restore_print_their_shapes(run: Run, kept: Path, tmp_path: Path) -> None:
    made = document(run("backup", tmp_path / "backups", "--json"))
    assert list(made) == ["path", "id", "at", "messages", "bytes", "new_bytes", "seconds", "removed"]
    assert (made["path"], made["messages"]) == (str(tmp_path / "backups"), 10)
    listed = document(run("backup", "list", tmp_path / "backups", "--json"))
    assert [one["id"] for one in listed["backups"]] == [made["id"]]
    checked = document(run("backup", "verify", tmp_path / "backups", "--read-data", "--json"))
    assert (checked["ok"], checked["backups"], checked["read_data"]) == (True, 1, True)
    restored = document(run("restore", tmp_path / "backups", "--home", tmp_path / "new", "--json"))
    assert (restored["home"], restored["messages"], restored["lost"]) == (str(tmp_path / "new"), 10, [])
    assert document(run("verify", "--home", tmp_path / "new", "--json"))["ok"]


def test_a_restored_memory_has_its_index_or_says_how_to_make_it(run: Run, kept: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "backups")
    restored = run("restore", tmp_path / "backups", "--home", tmp_path / "new")
    assert restored.exit_code == 0 and "reindex" not in restored.stderr
    counts = document(run("status", "--home", tmp_path / "new", "--json"))["counts"]
    assert counts["pending"] == 0 and (tmp_path / "new" / "index" / "g1").is_dir()
    later = run("restore", tmp_path / "backups", "--home", tmp_path / "later", "--no-wait")
    assert f"Make it with 'appliance reindex --pending --home {tmp_path / 'later'}'" in later.stderr
    assert document(run("status", "--home", tmp_path / "later", "--json"))["counts"]["pending"] > 0
    run("reindex", "--pending", "--home", tmp_path / "later")
    assert document(run("status", "--home", tmp_path / "later", "--json"))["health"] == "ok"


def test_backup_reads_well(run: Run, kept: Path, tmp_path: Path) -> None:
    assert f"{tmp_path / 'backups'}: 10 messages, " in run("backup", tmp_path / "backups").stdout
    again = run("backup", tmp_path / "backups", "--keep", "1d")
    assert "0 bytes new" in again.stdout and "Removed 1 older backup." in again.stderr
    assert "no problems" in run("backup", "verify", tmp_path / "backups").stdout
    assert "not read (--read-data reads it)" in run("backup", "verify", tmp_path / "backups").stdout


def test_damage_ends_verify_with_3(run: Run, kept: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "backups")
    (pack,) = (tmp_path / "backups" / "packs").iterdir()
    pack.unlink()
    done = run("backup", "verify", tmp_path / "backups")
    assert done.exit_code == 3
    assert f"packs/{pack.name}" in done.stdout and "It is missing." in done.stdout


def test_no_memory_has_to_exist_to_look_at_backups(
    run: Run, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("backup", tmp_path / "backups")
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "elsewhere"))
    assert run("backup", "list", tmp_path / "backups").exit_code == 0
    assert run("backup", "verify", tmp_path / "backups").exit_code == 0
    assert not (tmp_path / "elsewhere").exists()
    assert run("restore", tmp_path / "backups").exit_code == 0, "into the default home, which does not exist"


def test_restore_refuses_an_existing_home(run: Run, kept: Path, tmp_path: Path) -> None:
    run("backup", tmp_path / "backups")
    done = run("restore", tmp_path / "backups")
    assert done.exit_code == 3 and "already a memory" in done.stderr


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_passphrase_comes_from_the_environment_or_a_file(
    run: Run, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    if quick:
        make_quick(monkeypatch)
    (tmp_path / "words").write_text("correct horse\n")
    assert run("backup", tmp_path / "a", "--encrypt", "--passphrase-file", tmp_path / "words").exit_code == 0
    refused = run("backup", "list", tmp_path / "a")
    assert refused.exit_code == 2 and "A passphrase is needed." in refused.stderr
    monkeypatch.setenv("APPLIANCE_BACKUP_PASSPHRASE", "correct horse")
    assert run("restore", tmp_path / "a", "--home", tmp_path / "new").exit_code == 0
    done = run("backup", tmp_path / "b")
    assert done.exit_code == 0, done.stderr
    assert not Backups.has_passphrase(tmp_path / "b"), "a passphrase in the environment encrypts nothing unasked"


def test_status_names_the_latest_backup(run: Run, home: Path, tmp_path: Path) -> None:
    run("add", "The bicycle lock opens with 4471")
    assert re.search(r"^backup +none; 'appliance backup FOLDER' makes one$", run("status").stdout, re.M)
    made = document(run("backup", tmp_path / "backups", "--json"))
    expected = {"path": made["path"], "at": made["at"], "is_there": True, "other": None}
    assert document(run("status", "--json"))["backup"] == expected
    assert f"in {tmp_path / 'backups'}" in run("status").stdout
    run("backup", tmp_path / "second")
    (tmp_path / "second").rename(tmp_path / "away")
    shown = run("status").stdout
    assert re.search(rf"in {tmp_path / 'backups'}; that of .* in {tmp_path / 'second'} is not there", shown)
    (tmp_path / "backups").rename(tmp_path / "away too")
    assert re.search("^backup +none can be found; .*makes a new one$", run("status").stdout, re.M)


def test_a_misspelt_command_is_no_folder(run: Run, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("backup", "lst")
    assert refused.exit_code == 2 and "'backup list'" in refused.stderr and not (tmp_path / "lst").exists()
    assert run("backup", "./lst").exit_code == 0 and (tmp_path / "lst").is_dir()


def test_without_a_folder_it_says_what_is_missing(run: Run, kept: Path) -> None:
    done = run("backup")
    assert (
        done.exit_code == 2 and "Missing argument 'FOLDER|FILE'" in done.output and "backup make --help" in done.output
    )


def test_the_only_backup_in_a_file_is_replaced_only_when_told(run: Run, kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "one.backup"
    assert run("backup", target).exit_code == 0
    before = target.read_bytes()
    refused = run("backup", target)
    assert refused.exit_code == 2 and "--force" in refused.stderr and target.read_bytes() == before
    assert run("backup", target, "--force").exit_code == 0 and target.read_bytes() != before
