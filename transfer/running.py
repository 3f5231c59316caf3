"""Run the import of an archive: check it, compare it with the site, import it, and verify the result.

The command and the admin share this module. They only show the progress and the report.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from transfer.archive import FILES, Archive
from transfer.importing import Import, ImportSummary
from transfer.importing_nodes import Outcome

# At most this many replaced documents are listed, and at most this many skipped documents.
NAMED = 100

# The outcomes as the report shows them.
OUTCOMES = {
    Outcome.NEW: gettext_lazy("new"),
    Outcome.NEWER: gettext_lazy("newer than here"),
    Outcome.SAME: gettext_lazy("the same here"),
    Outcome.SKIPPED: gettext_lazy("skipped"),
}

# A function that shows the progress of a step. Its arguments are a description and the number of documents. In its
# `with` block, the function that it returns is called for each document.
ShowProgress = Callable[[str, int], AbstractContextManager[Callable[[], object]]]


class ImportProblems(Exception):
    """Some documents were skipped, or differ from the archive."""


@dataclass(frozen=True)
class ArchiveRun:
    """The import of an archive.

    Attributes:
        write: A function that shows a line of the report.
        progress: A function that shows the progress.
    """

    archive: Archive
    write: Callable[[str], object]
    progress: ShowProgress

    def check(self) -> None:
        """Check that the archive is complete and unchanged.

        Raises:
            BadArchive: The archive is incomplete, or has been changed.
        """
        with self._step(_("checking")) as step:
            self.archive.check(step)

    def compare(self) -> None:
        """Report what an import would change, and change nothing.

        Raises:
            ImportProblems: Some documents would be skipped.
        """
        summary = self._run(_("comparing"), dry_run=True)
        self._report(_("Dry run: would import"), summary, _("Would overwrite"))
        if summary.skipped:
            skipped = len(summary.skipped)
            text = ngettext("%(n)d document would be skipped.", "%(n)d documents would be skipped.", skipped)
            raise ImportProblems(text % {"n": skipped})

    def import_and_verify(self) -> None:
        """Import the archive, and verify that everything has been stored.

        Raises:
            ImportProblems: Some documents were skipped, or differ from the archive.
        """
        before = self._run(_("comparing"), dry_run=True)
        imported = self._run(_("importing"), skipped_before=before.skipped_by_label)
        self._report(_("Imported"), imported, _("Overwritten"))
        skipped = imported.skipped_by_label
        verified = self._run(_("verifying"), dry_run=True, reads_photos=True, skipped_before=skipped)
        if differing := verified.count_differing(imported):
            text = ngettext(
                "%(n)d document differs from the export. Run the import again.",
                "%(n)d documents differ from the export. Run the import again.",
                differing,
            )
            raise ImportProblems(text % {"n": differing})
        if imported.skipped:
            text = ngettext(
                "%(n)d document was skipped. All others match the export.",
                "%(n)d documents were skipped. All others match the export.",
                len(imported.skipped),
            )
            raise ImportProblems(text % {"n": len(imported.skipped)})

    def _run(self, description: str, **options: Any) -> ImportSummary:
        with self._step(description) as step:
            return Import(self.archive, step=step, **options).run()

    def _step(self, description: str) -> AbstractContextManager[Callable[[], object]]:
        return self.progress(description, sum(self.archive.manifest.count(name) for name in FILES))

    def _report(self, heading: str, summary: ImportSummary, replaced_heading: str) -> None:
        for name, counts in summary.counts.items():
            if counts:
                text = ", ".join(f"{counts[outcome]} {OUTCOMES[outcome]}" for outcome in Outcome if counts[outcome])
                self.write(f"{name.removesuffix('.jsonl')}: {text}")
        self._list(replaced_heading, summary.replaced)
        self._list(_("Skipped"), [f"{result.label}: {result.reason}" for result in summary.skipped])
        text = ", ".join(f"{summary.count(outcome)} {OUTCOMES[outcome]}" for outcome in Outcome)
        self.write(f"{heading}: {text}.")

    def _list(self, heading: str, descriptions: list[str]) -> None:
        """Write up to NAMED descriptions, and how many more there are."""
        for description in descriptions[:NAMED]:
            self.write(f"{heading}: {description}")
        if len(descriptions) > NAMED:
            self.write(f"{heading}: " + _("%(n)d more") % {"n": len(descriptions) - NAMED})
