"""The tool of core memory: an assistant reads and edits the blocks that it has in every context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, cast

from msgspec.structs import replace

from appliance.context import render
from appliance.errors import UsageError
from appliance.server.mcp import pagination, rendering, results, schemas

if TYPE_CHECKING:
    from appliance.server.mcp.access import McpAccess
    from appliance.types import BlockEditor, CoreBlock


MIN_PART_CHARACTERS = 600
"""If fewer characters are left, the next block goes to the next page."""


class _Writer(TypedDict):
    """Who writes, as the requests take it."""

    by: BlockEditor
    assistant: str


def core(access: McpAccess, arguments: schemas.ReadCoreArguments | schemas.CoreArguments) -> results.CoreResult:
    """List the blocks, or the forms of one."""
    memory_core, user, namespace = access.memory.core, access.user, access.namespace
    if arguments.action == "list":
        return _page([_line(block) for block in memory_core.list(user, namespace)], arguments)
    label = _required(arguments.label, "label", arguments.action)
    block = memory_core.get(label, user_id=user, namespace=namespace)
    forms = reversed(memory_core.history(label, user_id=user, namespace=namespace))
    lines = [
        results.BlockLine(
            label=block.label, revision=form.number, text=form.value, characters=len(form.value), limit=block.limit,
            by=form.changed_by, when=form.changed_at,
        )
        for form in forms
    ]  # fmt: skip
    return _page(lines, arguments)


def _page(
    lines: Sequence[results.BlockLine], arguments: schemas.ReadCoreArguments | schemas.CoreArguments
) -> results.CoreResult:
    """The texts that an answer holds; the last of them may be a part."""
    digest = pagination.query_digest(arguments.action, [(line.label, line.revision) for line in lines])
    position = cast("tuple[int, int] | None", pagination.decode_cursor(arguments.cursor, digest, (int, int)))
    first, offset = position or (0, 0)
    shown: list[results.BlockLine] = []
    remaining = pagination.PAGE_CHARACTERS
    for number in range(first, len(lines)):
        if shown and remaining < MIN_PART_CHARACTERS:
            return results.CoreResult(blocks=shown, next=pagination.encode_cursor(digest, number, 0))
        line, start = lines[number], offset if number == first else 0
        part = _part(line, start, remaining)
        shown.append(part)
        if part.end:
            return results.CoreResult(blocks=shown, next=pagination.encode_cursor(digest, number, part.end))
        remaining -= max(pagination.json_length(part), len(rendering.render_block(part)))
    return results.CoreResult(blocks=shown)


def _part(line: results.BlockLine, start: int, limit: int) -> results.BlockLine:
    """A block's text from a character on, as far as it fits. Its ``end`` is set if that is not all."""
    empty = replace(line, text="", start=start, end=len(line.text))
    head = max(pagination.json_length(empty), len(rendering.render_block(empty)))
    end = pagination.find_page_end(line.text, start, limit - head, render.escape_block)
    return replace(line, text=line.text[start:end], start=start, end=0 if end >= len(line.text) else end)


def update_core(access: McpAccess, arguments: schemas.CoreArguments) -> results.CoreResult:
    """Read the blocks, or write to one as the assistant."""
    action = arguments.action
    if action in ("list", "history"):
        return core(access, arguments)
    memory_core, user, namespace = access.memory.core, access.user, access.namespace
    writer: _Writer = {"by": "assistant", "assistant": access.assistant}
    label = _required(arguments.label, "label", action)
    if action == "append":
        text = _required(arguments.text, "text", action)
        block = memory_core.append(label, text, **writer, user_id=user, namespace=namespace)
    elif action == "replace":
        old = _required(arguments.old, "old", action)
        block = memory_core.replace(label, old, arguments.text, **writer, user_id=user, namespace=namespace)
    elif action == "rewrite":
        block = memory_core.set(
            label, arguments.text, revision=arguments.revision or None, **writer, user_id=user,
            namespace=namespace,
        )  # fmt: skip
    else:
        if not arguments.revision:
            raise UsageError("The action revert needs revision.", hint="The action history gives the revisions.")
        block = memory_core.revert(label, arguments.revision, **writer, user_id=user, namespace=namespace)
    return results.CoreResult(blocks=[_line(block)], done=f"{block.label} is now revision {block.revision}.")


def _required(value: str, name: str, action: str) -> str:
    if not value.strip():
        raise UsageError(f"The action {action} needs {name}.", hint="The action list shows the blocks.")
    return value


def _line(block: CoreBlock) -> results.BlockLine:
    return results.BlockLine(
        label=block.label, revision=block.revision, text=block.value, characters=len(block.value), limit=block.limit,
        by=block.changed_by, when=block.changed_at, description=block.description, read_only=block.read_only,
    )  # fmt: skip
