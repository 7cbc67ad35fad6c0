"""Core memory that says what is erased: its sentences are offered, whole blocks are named, and receipts are true."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance, ErasurePreview
from appliance.errors import NotFound, UsageError
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

KEYS = "The spare keys are with Mrs. Aydın"


def offered(preview: ErasurePreview) -> dict[str, tuple[str, ...]]:
    assert [echo.id for echo in preview.echoes if echo.kind == "block"] == [one.id for one in preview.block_echoes]
    return {block.id: block.texts for block in preview.block_echoes}


def test_sentences_of_a_block_are_offered_and_erased_out_of_all_forms(memory: Appliance, home: Path) -> None:
    said = memory.sessions.create().add("user", KEYS)
    memory.core.set("person", "Lives in Bremen. Spare keys: with Mrs. Aydın.\nPlays the viola.")
    memory.core.append("person", "Has a cat.")
    memory.core.replace("person", "Spare keys: with Mrs. Aydın.", "Mrs. Aydın has the spare keys!", by="assistant")
    memory.core.set("persona", "Answer briefly.")
    preview = memory.erasure.preview(said.id)
    assert offered(preview) == {"core:person": ("Mrs. Aydın has the spare keys!", "Spare keys: with Mrs. Aydın.")}
    assert preview.blocks == (), "it is only offered"

    receipt = memory.erasure.forget(memory.erasure.preview(said.id, with_echoes=True))
    assert (receipt.messages, receipt.blocks, receipt.proof.traces) == (1, 1, ())
    assert receipt.proof.erased_texts == receipt.proof.texts == 3
    block = memory.core.get("person")
    assert block.value == "Lives in Bremen.\nPlays the viola.\nHas a cat."
    assert (block.revision, block.changed_by) == (4, "person"), "what was made of revision 3 can't bring it back"
    assert [form.number for form in memory.core.history("person")] == [1, 2, 4]
    assert not holding(home, "Aydın".encode())
    assert memory.core.get("persona").value == "Answer briefly."
    with pytest.raises(NotFound, match="no revision 3") as caught:
        memory.core.revert("person", 3)
    assert "took" in (caught.value.hint or "")


@pytest.mark.slow
def test_what_a_block_still_says_is_no_trace(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", f"{KEYS}, and she is at home every day until noon.")
    memory.core.set("person", f"{KEYS}, and she is at home every day until noon.")
    memory.core.set("house", "", description=f"{KEYS}, and she is at home every day until noon.")
    receipt = memory.erasure.forget(memory.erasure.preview(said.id))
    assert receipt.proof.traces == () and receipt.blocks == 0
    assert "Aydın" in memory.core.get("person").value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "value", "gone"),
    [
        ("I'm allergic to penicillin.", "Allergies: penicillin\nLikes tea.", ("Allergies: penicillin",)),
        ("I'm allergic to penicillin.", "- penicillin\n- pollen", ("- penicillin",)),
        ("My locker code is 4711.", "Drives a van. Locker 4711.", ("Locker 4711.",)),
        (
            "Wir ziehen im August nach Wien.",
            "Zieht im August nach Wien, mit Kind. Arzt.",
            ("Zieht im August nach Wien, mit Kind.",),
        ),
        ("I like tea.", "Wants short answers. Likes hiking.", ()),
    ],
)
def test_short_lines_are_recognised(memory: Appliance, said: str, value: str, gone: tuple[str, ...]) -> None:
    message = memory.sessions.create().add("user", said)
    memory.core.set("person", value)
    assert offered(memory.erasure.preview(message.id)) == ({"core:person": gone} if gone else {})


@pytest.mark.slow
def test_words_are_erased_out_of_blocks_too(memory: Appliance, home: Path) -> None:
    memory.sessions.create().add("user", "Put the letter into the blue envelope.")
    memory.core.set("project-zorn", "The letter is in a blue\nenvelope. Send it in May.", description="Blue envelope!")
    preview = memory.erasure.preview(query="blue envelope")
    assert preview.found_in["core memory"] == 0 and preview.found_alone["core memory"] == 1
    receipt = memory.erasure.forget(preview)
    assert (receipt.blocks, receipt.proof.traces) == (1, ())
    block = memory.core.get("project-zorn")
    assert (block.value, block.description) == ("Send it in May.", "")
    assert not holding(home, b"envelope")
    assert memory.erasure.preview(query="zorn").notes == (
        "The label of the block 'project-zorn' has the words: 'appliance forget core:project-zorn' erases the block",
    )


def test_a_block_is_forgotten_by_its_id_with_its_history(memory: Appliance, home: Path) -> None:
    memory.core.set("house", "The alarm code is in the quillfeather drawer.")
    memory.core.set("house", "Nothing here.")
    memory.core.set("person", "Plays the viola.")
    preview = memory.erasure.preview("core:House")
    assert [(block.id, block.texts) for block in preview.blocks] == [("core:house", ())]
    receipt = memory.erasure.forget(preview)
    assert (receipt.messages, receipt.blocks, receipt.proof.traces, receipt.proof.searched) == (0, 1, (), True)
    assert memory.erasure.receipts()[0].blocks == 1
    assert [block.label for block in memory.core.list()] == ["person"]
    assert not holding(home, b"quillfeather")
    with pytest.raises(NotFound, match="no block 'house'"):
        memory.erasure.preview("core:house")
    with pytest.raises(UsageError, match="nothing narrows"):
        memory.erasure.preview("core:person", query="viola")


def test_blocks_go_with_their_user_also_without_any_message(memory: Appliance, home: Path) -> None:
    memory.core.set("person", "Keeps a quillfeather.", user_id="ben")
    memory.core.set("person", "Plays the viola.")
    preview = memory.erasure.preview(everything=True, user_id="ben")
    assert not preview.is_empty
    receipt = memory.erasure.forget(preview)
    assert (receipt.blocks, receipt.proof.traces) == (1, ())
    assert not memory.core.list("ben") and memory.core.list()
    assert not holding(home, b"quillfeather")


@pytest.mark.slow
def test_an_assistant_takes_nothing_out_of_what_it_may_not_write(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", KEYS)
    memory.core.set("person", f"{KEYS}.", read_only=True)
    memory.core.set("project", f"{KEYS}.")
    preview = memory.erasure.preview(said.id, with_echoes=True, by="assistant")
    assert set(offered(preview)) == {"core:person", "core:project"}
    assert [block.id for block in preview.blocks] == ["core:project"]
    assert [note for note in preview.notes if "read-only" in note]
    with pytest.raises(UsageError, match="Only the person"):
        memory.erasure.preview("core:project", by="assistant")
    both = memory.erasure.preview(said.id, with_echoes=True)
    assert {block.id for block in both.blocks} == {"core:person", "core:project"}


@pytest.mark.slow
def test_a_secret_that_is_hidden_is_erased_nevertheless(memory: Appliance, home: Path) -> None:
    said = memory.sessions.create().add("user", "The password of the quillfeather router is 7xK!mQ2pzR9w")
    memory.core.set("house", "Router quillfeather, password: 7xK!mQ2pzR9w\nTwo floors.")
    preview = memory.masked().erasure.preview(said.id, with_echoes=True)
    assert "7xK!mQ2pzR9w" not in str(preview) and "Router quillfeather" in str(preview.blocks)
    memory.erasure.forget(preview)
    assert memory.core.get("house").value == "Two floors."
    assert not holding(home, b"7xK!mQ2pzR9w")


@pytest.mark.slow
def test_a_block_in_the_place_of_one_that_is_gone_stays(memory: Appliance) -> None:
    memory.core.set("house", "Two floors.")
    preview = memory.erasure.preview("core:house")
    memory.core.delete("house")
    memory.core.set("person", "Plays the viola.")
    assert memory.erasure.forget(preview).blocks == 0
    assert [block.value for block in memory.core.list()] == ["Plays the viola."]


@pytest.mark.slow
def test_one_sentence_goes_and_the_gaps_stay(memory: Appliance) -> None:
    memory.core.set("notes", "One here. Quince jam. Three.\n\n# Part\n- quince jam\n- four\n")
    memory.erasure.forget(memory.erasure.preview(query="quince jam"))
    assert memory.core.get("notes").value == "One here. Three.\n\n# Part\n- four\n"
