"""`manage.py check_nodes [--files] [--fix]`: find and repair damage that crashes caused in pages and photos."""

from argparse import ArgumentParser
from collections import Counter
from dataclasses import asdict
from typing import Any

from tqdm import tqdm

from marginalia.mongo.management.base import AuditCommand, problems_error
from nodes.services import integrity

NAMES = {
    integrity.ORPHAN: "orphan revisions",
    integrity.BROKEN_HISTORY: "pages without the revision of their current version",
    integrity.REDIRECT: "needless redirects",
    integrity.PARENT: "pages without a section",
    integrity.CYCLE: "sections inside themselves",
    integrity.SLUG: "pages at reserved URLs",
    integrity.FILE: "incomplete photos or copies",
    integrity.UNFINISHED: "checks that failed on malformed documents",
    integrity.DAMAGED: "damaged pages and photos",
    integrity.LOST: "lost pages with only revisions left",
}
# Findings that --fix can't repair. They are listed even without --verbosity 2.
NOT_FIXABLE = frozenset(
    {
        integrity.FILE,
        integrity.BROKEN_HISTORY,
        integrity.CYCLE,
        integrity.SLUG,
        integrity.UNFINISHED,
        integrity.DAMAGED,
        integrity.LOST,
    }
)


class Command(AuditCommand):
    help = (
        "Find orphaned revisions, unnecessary redirects, pages without a section or history, pages at reserved URLs, "
        "and damaged pages and photos. The command exits with code 1 if problems remain, and with code 2 if the "
        "check can't run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--files", action="store_true", help="also read the files of all photos and their copies")
        parser.add_argument(
            "--fix", action="store_true", help="fix problems, and move pages without a section to the trash"
        )

    def handle(self, *args: Any, fix: bool, files: bool, **options: Any) -> None:
        counts: Counter[str] = Counter()
        findings_json = []
        left = 0
        with tqdm(unit=" findings", leave=False, disable=options["json"] or not self.stdout.isatty()) as bar:
            for finding in integrity.check(fix=fix, files=files):
                counts[finding.kind] += 1
                left += not finding.fixed
                bar.update()
                if options["json"]:
                    findings_json.append(asdict(finding))
                elif options["verbosity"] > 1 or finding.kind in NOT_FIXABLE:
                    self.stdout.write(f"{finding.kind}: {finding.about}")
        if options["json"]:
            self.write_json(findings_json, {**{kind: counts[kind] for kind in NAMES}, "left": left})
        else:
            summary = ", ".join(f"{counts[kind]} {name}" for kind, name in NAMES.items())
            self.stdout.write(f"Nodes: {summary}; {counts.total() - left} fixed.")
        if left:
            fixable = 0 if fix else left - sum(counts[kind] for kind in NOT_FIXABLE)
            raise problems_error(
                f"{left} problems remain." + (f" Run with --fix to fix {fixable} of them." if fixable else "")
            )
