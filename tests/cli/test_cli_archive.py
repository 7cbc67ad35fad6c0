"""``archive``: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from cli_runs import Run, document

from appliance import Appliance


def test_archive_runs_lists_and_restores(run: Run, filled: Path) -> None:
    planned = document(run("archive", "run", "--dry-run", "--days", "0", "--importance", "1", "--json"))
    assert planned["archived"] == len(planned["messages"]) > 0
    assert list(planned["messages"][0]) == ["message_id", "reason"]
    done = run("archive", "run", "--days", "0", "--importance", "1")
    assert f"{planned['archived']} messages archived" in done.stdout
    assert document(run("archive", "status", "--json"))["archived"] == planned["archived"]
    listed = document(run("archive", "list", "--json"))["messages"]
    assert {one["id"] for one in listed} <= {one["message_id"] for one in planned["messages"]}
    assert run("archive", "restore", listed[0]["id"]).stdout == "1 message restored\n"
    everything = document(run("archive", "restore", "--everything", "--json"))
    assert everything == {"restored": planned["archived"] - 1}


def test_an_empty_archive_reads_well(run: Run, kept: Path) -> None:
    listed = run("archive", "list")
    assert (listed.stdout, listed.stderr) == ("", "No archived messages.\n")
    assert "automatic  yes, from 5,000 messages on" in run("archive").stdout


def test_what_is_not_indexed_yet_is_said_to_be_kept(run: Run, home: Path, chats: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(chats, wait=False)
    for verb in (["run", "--dry-run"], ["run"], ["status"]):
        assert "not indexed yet: their messages are kept" in run("archive", *verb).stderr
    run("reindex", "--pending")
    assert "not indexed" not in run("archive", "status").stderr


def test_what_can_not_be_done_says_why(run: Run, kept: Path) -> None:
    assert "Name what to restore." in run("archive", "restore").stderr
    assert "can't be combined" in run("archive", "restore", "--everything", "m1").stderr
    unknown = run("archive", "policy", "--source", "whatsap", "--days", "30")
    assert unknown.exit_code == 2 and "There is no format 'whatsap'." in unknown.stderr
    assert run("archive", "policy", "--source", "whatsapp").exit_code == 2
    assert run("archive", "restore", "m99999").exit_code == 4


def test_a_policy_is_set_shown_and_removed(run: Run, filled: Path) -> None:
    rule = document(run("archive", "policy", "--source", "whatsapp", "--never", "--json"))["rule"]
    assert (rule["source"], rule["days"]) == ("whatsapp", None)
    assert "whatsapp: never archived" in run("archive", "policy").stdout
    assert run("archive", "policy", "--source", "whatsapp", "--default").stdout == "whatsapp: the settings apply\n"
    assert document(run("archive", "policy", "--json"))["rules"] == []
