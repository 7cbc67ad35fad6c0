"""Side files: files without messages that a parser reads together with a document, such as a list of users.

They lie beside the chats and are met by themselves too, as files that no parser recognises. The report says that they
were read, and with which document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import BinaryIO, NamedTuple

from appliance.formats.titles import export_title
from appliance.lazy_dataclasses import dataclass
from appliance.types import FileReport, InputProblem

READ_WITH = "read with "
"""How the note begins on a file that was read with another one."""

ATTACHED = "attached to a message of "
"""How the note begins on a file that is an attachment."""


class SideFile(NamedTuple):
    """The document that a side file belongs to, and whether it is an attachment in it."""

    document: str
    is_attached: bool = False


@dataclass(frozen=True, slots=True)
class SideFiles:
    """The side files of an ingest by name, as they are read, and the formats of the documents."""

    found: dict[str, SideFile] = field(default_factory=dict)
    formats: dict[str, str | None] = field(default_factory=dict)

    def opening(
        self, name: str, document: str, open_file: Callable[[], AbstractContextManager[BinaryIO]]
    ) -> Callable[[], AbstractContextManager[BinaryIO]]:
        """``open_file`` of the file called ``name``, noting that the parser of ``document`` opens it."""

        def noted() -> AbstractContextManager[BinaryIO]:
            if name not in self.found or not self.found[name].is_attached:  # an attachment is opened to be digested
                self.found[name] = SideFile(document)
            return open_file()

        return noted

    def attach(self, name: str, document: str) -> None:
        """Note that a file is attached to a message of ``document``."""
        self.found[name] = SideFile(document, is_attached=True)

    def explained(self, reports: Iterable[FileReport]) -> list[FileReport]:
        """The reports; those of side files say with which document the file was read, or to whose messages it is
        attached."""
        listed = list(reports)
        empty = {report.path for report in listed if _is_empty(report)}
        return [self._explained(report, empty) if report.path in empty else report for report in listed]

    def _explained(self, report: FileReport, empty: Collection[str]) -> FileReport:
        side, seen = self.found.get(report.path), {report.path}
        # OpenCode's parts look into its messages, which are side files of a session themselves.
        while side and side.document in empty and side.document not in seen:
            seen.add(side.document)
            side = self.found.get(side.document, side)
        if side is None:
            return report
        title = export_title(self.formats.get(side.document))
        if report.status != "skipped":
            return replace(report, read_with=side.document)
        if side.is_attached:
            note = InputProblem("", f"{ATTACHED}the {title}", harmless=True)
            return replace(report, read_with=side.document, notes=(note,))
        note = InputProblem("", f"{READ_WITH}the {title}", harmless=True)
        return replace(report, read_with=side.document, notes=(note,), status="ok")


def _is_empty(report: FileReport) -> bool:
    return not (report.messages or report.conversations or report.errors)
