"""What the package shows to those who use it: names, types that a type checker sees, and words in a notebook."""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import inspect
import os
import re
import subprocess
import sys
import typing
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import appliance
import appliance_models
from appliance import Appliance, HomeError, Session, requests
from appliance.verbs import Verb

ROOT = Path(__file__).parents[2]
PACKAGES = {"appliance": "appliance", "appliance_models": "models", "appliance_tui": "tui"}


def exported() -> dict[str, Any]:
    return {name: getattr(appliance, name) for name in appliance.__all__}


INTERNAL = (vars(Appliance)["of"],)
"""Public methods that the program's own processes call, with what they alone have: an engine."""


def functions(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that are written out. The requests have the types of the verbs."""
    for owner in kind.__mro__:
        for name, member in vars(owner).items():
            if name.startswith("_") or member in INTERNAL or not owner.__module__.startswith("appliance"):
                continue
            if isinstance(member, property):
                member = member.fget
            elif isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if inspect.isfunction(member):
                yield name, member


def classes(hint: Any) -> Iterator[type]:
    """The classes of ours that a type is made of."""
    if isinstance(hint, type) and not typing.get_origin(hint) and hint.__module__.startswith("appliance"):
        yield hint
    for part in hint if isinstance(hint, list) else typing.get_args(hint):
        yield from classes(part)


def hints(of: Any) -> dict[str, Any]:
    """Of what a module imports for type checkers only, what is public stands for itself."""
    return typing.get_type_hints(
        of, localns={**vars(collections.abc), **exported(), "Embedder": appliance_models.Embedder, "Engine": object}
    )


ATTRIBUTES = (
    "Sessions",
    "Core",
    "Summaries",
    "Facts",
    "People",
    "Pins",
    "Overview",
    "Archive",
    "Attachments",
    "Index",
    "Erasure",
    "Backups",
    "Secrets",
    "Watching",
    "Events",
)
"""The classes of the memory's attributes."""

CLIENTS = ("Appliance", "Session", "Watcher", *ATTRIBUTES)
"""The classes whose methods are the verbs."""

REQUESTS = [
    kind
    for kind in (getattr(requests, name) for name in requests.__all__)
    if isinstance(kind, type) and kind not in (requests.Request, requests.WatchRequest)
]
"""Those of the verbs. What a watcher is sent is its own affair."""


def test_every_type_of_a_public_signature_is_exported() -> None:
    known = {*exported().values(), *(getattr(appliance_models, one) for one in appliance_models.__all__)}
    missing: dict[str, str] = {}
    waiting = [
        (f"{name}.{verb} {of}", one)
        for name in CLIENTS
        for verb, function in functions(getattr(appliance, name))
        for of, hint in hints(function).items()
        for one in classes(hint)
    ]
    waiting += [
        (f"{kind.__name__} {of}", one)
        for kind in REQUESTS
        for of, hint in {**hints(kind), "result": requests.result_type(kind)}.items()
        for one in classes(hint)
    ]
    assert waiting
    seen = set()
    for where, one in waiting:
        if one in seen:
            continue
        seen.add(one)
        if one not in known:
            missing[one.__name__] = where
        if dataclasses.is_dataclass(one):
            waiting += [(f"{one.__name__}.{of}", each) for of, hint in hints(one).items() for each in classes(hint)]
        # Of a list of hits, Hit is the type of what is in it.
        for base in getattr(one, "__orig_bases__", ()):
            waiting += [(one.__name__, each) for each in classes(base)]
    assert not missing


def test_the_attributes_of_a_memory_are_those_that_are_looked_at(memory: Appliance) -> None:
    public = {name: value for name, value in vars(memory).items() if not name.startswith("_")}
    assert {type(value).__name__ for name, value in public.items()} - {"Home", "Settings", "bool"} == {*ATTRIBUTES}


def test_every_verb_has_the_signature_and_the_words_of_its_request() -> None:
    documented = {kind.__doc__ for kind in REQUESTS}
    verbs = [
        (f"{name}.{verb}", getattr(getattr(appliance, name), verb))
        for name in CLIENTS
        for verb, member in vars(getattr(appliance, name)).items()
        if isinstance(member, Verb)
    ]
    assert len(verbs) > 50
    for name, verb in verbs:
        assert verb.__qualname__ == name and verb.__doc__ in documented
        said = inspect.signature(verb)
        assert next(iter(said.parameters)) == "self" and said.return_annotation is not said.empty
        assert all(one.annotation is not one.empty for one in [*said.parameters.values()][1:])
    assert str(inspect.signature(Appliance.message)) == "(self, reference: 'str') -> 'Message'"


def test_every_lazy_name_is_there_and_listed() -> None:
    assert set(appliance.__all__) <= set(dir(appliance))
    assert [*appliance.__all__] == sorted(appliance.__all__) and "__version__" in dir(appliance)
    for name, value in exported().items():
        assert value is not None
        if isinstance(value, type):
            assert getattr(importlib.import_module(value.__module__), name) is value
    with pytest.raises(AttributeError, match="nothing"):
        appliance.nothing  # noqa: B018


SECRET = "the password of the lighthouse is finisterre"


def test_a_memory_and_a_conversation_say_what_they_are_and_nothing_that_was_said(memory: Appliance) -> None:
    session = memory.sessions.create(user_id="ana")
    private = memory.sessions.create(private=True, user_id="ana")
    for one in (session, private):
        one.add("user", SECRET)
        one.add("assistant", SECRET)
    assert repr(memory) == f"Appliance(home={str(memory.home.root)!r}, messages=2)"
    assert repr(session) == f"Session({session.id!r}, user_id='ana', format='local', messages=2)"
    assert repr(private) == f"Session({private.id!r}, user_id='ana', format='private', messages=2)"
    assert isinstance(session, Session) and isinstance(private, Session)
    session.delete()
    assert repr(session) == f"Session({session.id!r}, NotFound)"
    memory.close()
    assert repr(memory) == f"Appliance(home={str(memory.home.root)!r}, StoreError)"
    assert issubclass(HomeError, appliance.ApplianceError)


USER = """
from appliance import Appliance, Fact, Hit, IngestReport, Message, Receipt, Session, SummaryHit, VerifyReport

with Appliance.open("~/memory") as memory:
    report = memory.ingest("export.zip")
    hits = memory.search("deployment issue", limit=10)
    context = memory.context("when is my deadline?", budget=8000)
    session = memory.sessions.create(title="…", user_id="ana", metadata={})
    message = session.add("user", "My deadline is March 15th")
    facts = memory.facts.list()
    found = memory.summaries.search("deadline")
    receipts = memory.erasure.receipts()
    lines = list(memory.export())
    findings = memory.verify()
    reveal_type(memory)
    reveal_type(report)
    reveal_type(hits[0])
    reveal_type(hits[0].why)
    reveal_type(context.layers[0].items[0])
    reveal_type(session)
    reveal_type(message)
    reveal_type(session.messages())
    reveal_type(facts[0])
    reveal_type(found[0])
    reveal_type(receipts[0])
    reveal_type(lines)
    reveal_type(findings)
    memory.search("deployment issue", limits=10)
    hit: Hit = hits
"""
REVEALED = [
    "Appliance", "IngestReport", "Hit", "Mapping[str, Any]", "ContextItem", "Session", "Message", "Sequence[Message]",
    "Fact", "SummaryHit", "Receipt", "list[dict[str, Any]]", "VerifyReport",
]  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with a wheel of the package, unpacked, and no libraries: a type that came from
    one would be shown as Any."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    venv.create(folder / "env", with_pip=False)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return folder / "env" / "bin" / "python"


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed_and_has_the_schema(installed: Path) -> None:
    (site,) = (installed.parents[1] / "lib").glob("python*/site-packages")
    for package in PACKAGES:
        assert (site / package / "py.typed").is_file()
    assert (site / "appliance" / "store" / "schema.sql").is_file()


@pytest.mark.longest
@pytest.mark.slow
def test_a_strict_type_checker_sees_the_types_of_the_installed_package(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(USER, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(installed),
         "--cache-dir", str(tmp_path / "cache"), "--hide-error-context", str(program)],
        cwd=tmp_path, capture_output=True, text=True,
        env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")},
    )  # fmt: skip
    lines = [line.partition(": ")[2] for line in checked.stdout.splitlines() if line.startswith("program.py:")]
    found = [line.removeprefix('note: Revealed type is "').removesuffix('"') for line in lines if "Revealed" in line]
    short = [re.sub(r"\b(?:\w+\.)+", "", one) for one in found]
    assert short == REVEALED, checked.stdout + checked.stderr
    errors = [line for line in lines if line.startswith("error")]
    assert [line.rpartition("[")[2] for line in errors] == ["call-arg]", "assignment]"], checked.stdout
