"""What an assistant has before it anyway is left out of a context."""

from __future__ import annotations

from appliance import Appliance


def test_a_memory_that_says_the_same_is_left_out_with_its_copies(memory: Appliance) -> None:
    one, other = memory.sessions.create(), memory.sessions.create()
    one.add("user", "The otter there is called Lutz.")
    other.add("user", "The otter   there is called\nLutz.")
    other.add("user", "The otter eats fish.")
    memory.embed_pending()
    question = "what is the otter called, and what does the otter eat?"
    assert "Lutz" in memory.context(question).text
    left = memory.context(question, leave_out=["The otter there is called Lutz.  "])
    assert "Lutz" not in left.text and "eats fish" in left.text


def test_it_is_not_quoted_beside_another_either(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "Shall we feed the otter on Friday?")
    session.add("assistant", "Yes, fish on Friday.")
    memory.embed_pending()
    assert "Shall we feed" in memory.context("fish on Friday").text
    left = memory.context("fish on Friday", leave_out=["Shall we feed the otter on Friday?"])
    assert "Shall we feed" not in left.text and "Yes, fish on Friday." in left.text


def test_what_is_left_out_makes_room_for_others(memory: Appliance) -> None:
    session = memory.sessions.create()
    texts = [f"Otter number {number} eats fish in the pond." for number in range(80)]
    for text in texts:
        session.add("user", text)
    memory.embed_pending()
    whole = memory.context("which otter eats fish?", budget=400)
    shown = [item.text for layer in whole.layers if layer.name == "retrieved" for item in layer.items]
    left = memory.context("which otter eats fish?", budget=400, leave_out=shown)
    others = [item.text for layer in left.layers if layer.name == "retrieved" for item in layer.items]
    assert len(shown) > 5 and len(others) > 5 and not set(shown) & set(others)
