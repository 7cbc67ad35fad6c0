"""A text is shortened by the kind of its content: traces, logs, code, tables, lists and quoted mail."""

from __future__ import annotations

import re

import pytest

from appliance.context import layers
from appliance.context.budget import shorten
from appliance.context.content import content_units
from appliance.context.materials import ContextMaterial
from appliance.context.stack_traces import has_trace
from tests.unit.test_unit_layers import COUNT, hit, items, plan

FRAMES = "".join(
    f'  File "/srv/harbour/lib/stage_{n}.py", line {n * 7}, in stage_{n}\n    return next(ship.cargo[{n}], 2.75)\n'
    for n in range(60)
)
PYTHON = f"""The unloading job stopped again. I was loading the manifest of the Aurora.

Traceback (most recent call last):
{FRAMES}  File "/srv/harbour/lib/cargo.py", line 311, in weigh
    return total / crates
           ~~~~~~^~~~~~~~
ZeroDivisionError: division by zero

Any idea? The version is 2.75.1 and the file is /srv/harbour/data/aurora-2.75.csv.
"""
JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: berth 7 is taken\n'
    + "".join(f"\tat org.harbour.Berth.step{n}(Berth.java:{n + 10})\n" for n in range(50))
    + "Caused by: java.io.FileNotFoundException: /srv/harbour/berths.json\n"
    + "\tat org.harbour.Plan.read(Plan.java:88)\n"
    + "".join(f"\tat org.harbour.Plan.step{n}(Plan.java:{n + 100})\n" for n in range(50))
    + "\t... 12 more\n"
)
NODE = (
    "TypeError: Cannot read properties of undefined (reading 'mast')\n"
    "    at rig (/srv/harbour/rig.js:14:9)\n"
    + "".join(f"    at async step{n} (/srv/harbour/steps.js:{n}:3)\n" for n in range(60))
)
GO = (
    "panic: runtime error: index out of range [7] with length 7\n\ngoroutine 1 [running]:\n"
    "main.moor(0xc000012345)\n\t/srv/harbour/moor.go:21 +0x1d\n"
    + "".join(f"main.step{n}(...)\n\t/srv/harbour/steps.go:{n + 1} +0x2f\n" for n in range(50))
)
RUST = (
    "thread 'main' panicked at src/tide.rs:9:5:\nthe tide is out\nstack backtrace:\n"
    "   0: harbour::tide::wait\n             at ./src/tide.rs:9:5\n"
    + "".join(f"  {n:2}: harbour::step{n}\n             at ./src/steps.rs:{n}:5\n" for n in range(1, 50))
)
RUBY = "rope.rb:3:in `tie': undefined method `knot' for nil (NoMethodError)\n" + "".join(
    f"\tfrom deck.rb:{n}:in `step{n}'\n" for n in range(1, 60)
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (PYTHON, ["ZeroDivisionError: division by zero", 'cargo.py", line 311, in weigh\n    return total / crates']),
        (JAVA, ["FileNotFoundException: /srv/harbour/berths.json", "berth 7 is taken", "Plan.read(Plan.java:88)"]),
        (NODE, ["(reading 'mast')", "rig (/srv/harbour/rig.js:14:9)"]),
        (GO, ["index out of range [7] with length 7", "main.moor(0xc000012345)\n\t/srv/harbour/moor.go:21 +0x1d"]),
        (
            RUST,
            ["panicked at src/tide.rs:9:5:\nthe tide is out", "harbour::tide::wait\n             at ./src/tide.rs:9:5"],
        ),
        (RUBY, ["undefined method `knot' for nil (NoMethodError)", "\tfrom deck.rb:1:in `step1'"]),
    ],
    ids=["python", "java", "node", "go", "rust", "ruby"],
)
def test_a_trace_keeps_its_error_and_the_frames_nearest_to_it(text: str, kept: list[str]) -> None:
    short = shorten(text, ["aurora"], 120, COUNT)
    assert has_trace(text)
    assert short is not None and short.tokens <= 120
    for part in kept:
        assert part in short.text
    fenced = shorten(f"It failed:\n```\n{text}```\nWhat now?", ["aurora"], 130, COUNT)
    assert fenced is not None and all(part in fenced.text for part in kept)
    assert fenced.text.count("```") == 2, "what is left of a block stands between its fences"


def test_the_last_of_several_traces_says_what_went_wrong() -> None:
    first = PYTHON.replace("ZeroDivisionError: division by zero", "KeyError: 'crates'")
    short = shorten(
        f"{first}\nDuring handling of the above exception, another exception occurred:\n\n{PYTHON}", [], 60, COUNT
    )
    assert (
        short is not None and "ZeroDivisionError: division by zero" in short.text and "KeyError: 'crates'" in short.text
    )


def test_an_error_that_is_too_large_ends_between_two_clauses() -> None:
    values = ", ".join(f"/srv/harbour/berth-{n}.json" for n in range(400))
    text = PYTHON.replace("division by zero", values)
    short = shorten(text, [], 80, COUNT)
    assert (
        short is not None
        and "ZeroDivisionError: /srv/harbour/berth-0.json, " in short.text
        and "in weigh" in short.text
    )
    assert set(re.findall(r"/srv/harbour/berth\S*", short.text)) <= {
        *(f"/srv/harbour/berth-{n}.json" for n in range(400)), *(f"/srv/harbour/berth-{n}.json," for n in range(400)),
    }  # fmt: skip


def test_prose_that_speaks_of_errors_has_no_trace() -> None:
    assert not has_trace(
        "I saw a ValueError at home (with Ana).\nAt two (maybe three) it was gone.\n1: done\n2: gone\n"
    )
    assert not has_trace("It prints Traceback (most recent call last): and stops.\nNothing else.\n")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            "The file /srv/harbour/data/aurora.v2.75.csv weighs 1.25 tons. Nothing else.",
            "/srv/harbour/data/aurora.v2.75.csv",
        ),
        ("It is approx. 3.5 m deep, see no. 7 of it. Ships fit.", "approx. 3.5 m"),
        ("We use 3.14159 as pi. Ships know it.", "3.14159"),
        ("Sie kam am 12. März 2024 an. Es regnete.", "12. März 2024"),
        ("See https://harbour.example/a.b/c?d=e.f for it. Bye.", "https://harbour.example/a.b/c?d=e.f"),
    ],
)
def test_no_unit_ends_inside_a_path_or_a_number(text: str, whole: str) -> None:
    units = content_units(text)
    assert len(units) == 2 and whole in units[0].text
    assert "".join(unit.text for unit in units) == text


def test_a_log_keeps_its_errors_and_its_last_lines() -> None:
    lines = [f"2026-03-01 10:{n // 60:02}:{n % 60:02} INFO crane {n} moves" for n in range(300)]
    lines[120] = "2026-03-01 10:02:00 ERROR crane 120 is stuck at 4.5 m"
    short = shorten("\n".join(lines), ["harbour"], 90, COUNT)
    assert short is not None
    assert lines[120] in short.text and lines[-1] in short.text
    assert all(line in lines for line in short.text.split("\n") if line != "[…]")


def test_a_row_stands_with_the_header_of_its_table() -> None:
    rows = "".join(f"| berth {n} | ship {n} | {n}.5 m |\n" for n in range(80))
    table = f"| berth | ship | depth |\n|---|---|---|\n{rows}| berth 99 | Aurora | 12.5 m |\n"
    short = shorten(f"The plan of the week follows. {'It is long. ' * 40}\n\n{table}", ["aurora"], 70, COUNT)
    assert short is not None
    assert "| berth | ship | depth |\n|---|---|---|\n" in short.text and "| berth 99 | Aurora | 12.5 m |" in short.text


def test_a_line_of_code_stands_with_its_function_and_its_fences() -> None:
    functions = "".join(f"def step_{n}(ship):\n    check(ship, {n})\n    return {n}.5\n\n" for n in range(40))
    code = f"{functions}def anchor(ship):\n    depth = sound(ship)\n    return drop(ship, 'aurora', depth + 1.5)\n"
    short = shorten(f"Here it is:\n```python\n{code}```\nDone.", ["aurora"], 70, COUNT)
    assert short is not None
    assert "```python\n" in short.text and "def anchor(ship):\n" in short.text
    assert "return drop(ship, 'aurora', depth + 1.5)\n```" in short.text


def test_quoted_mail_comes_behind_its_answer_and_with_its_author() -> None:
    quoted = "".join(f"> The mooring fee of berth {n} is due.\n" for n in range(60))
    mail = f"The mooring fee is paid since Monday.\n\nOn 3 March 2026 Ben wrote:\n{quoted}"
    short = shorten(mail, ["mooring", "fee"], 60, COUNT)
    assert short is not None and short.text.startswith("The mooring fee is paid since Monday.")
    assert "On 3 March 2026 Ben wrote:\n> The mooring fee of berth 0 is due." in short.text


def test_what_is_left_of_the_budget_lengthens_what_was_shortened() -> None:
    context = layers.build(plan(1_000), ContextMaterial(hits=[hit(1, "lighthouse"), hit(2, PYTHON, score=0.9)]))
    (trace,) = (item for item in items(context, "retrieved") if item.message_id == "m2")
    assert trace.fidelity == "compressed" and "ZeroDivisionError: division by zero" in trace.text
    assert context.tokens > 900, "the budget is used"
    assert trace.text.count("File ") >= 10


def test_a_trace_among_many_memories_keeps_its_error_and_frames() -> None:
    others = [hit(n, f"The lighthouse keeper said {f'word{n} ' * 40}", score=0.99 - n / 1_000) for n in range(3, 80)]
    context = layers.build(
        plan(2_000), ContextMaterial(hits=[hit(1, "lighthouse"), hit(2, PYTHON, score=0.99), *others])
    )
    (trace,) = (item for item in items(context, "retrieved") if item.message_id == "m2")
    assert "ZeroDivisionError: division by zero" in trace.text and "line 311, in weigh" in trace.text
    assert context.tokens <= 2_000


@pytest.mark.parametrize(
    "piece", ["A", ".", "at (", "| ", "Error ", "\t", "-", "> ", ":1", "```\n", "1. ", "[.", 'File "']
)
def test_texts_of_one_repeated_piece_take_linear_time(piece: str) -> None:
    """A quadratic reading of any of these takes minutes, which the suite's time limit ends."""
    text = piece * (200_000 // len(piece))
    assert "".join(unit.text for unit in content_units(f"Error: x\n{text}")).startswith("Error: x\n")
