"""`manage.py doctor`: report problems with this system, and how to fix them."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.doctor import ADVICE, ERROR, WARNING, Finding, examine
from marginalia.mongo.management.base import COULD_NOT_RUN, AuditCommand, problems_error

NAMES = {ERROR: ("error", "errors"), WARNING: ("warning", "warnings"), ADVICE: ("piece of advice", "pieces of advice")}
LEVELS = tuple(NAMES)  # the most severe level first


class Command(AuditCommand):
    help = (
        "Check the topology, indexes, frequent queries, documents and settings. The command exits with code 1 if there "
        "are errors (see --fail-on), and with code 2 if a database can't be reached."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--production", action="store_true", help="report problems that matter only in production as errors"
        )
        parser.add_argument(
            "--fail-on",
            choices=LEVELS,
            default=ERROR,
            help="exit with code 1 if there are findings of at least this level (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with tqdm(unit=" checks", leave=False, disable=options["json"] or not self.stdout.isatty()) as bar:

            def progress(name: str) -> None:
                bar.set_description(name)
                bar.update()

            findings = examine(production=options["production"], progress=progress)
        counts = {level: sum(f.level == level for f in findings) for level in LEVELS}
        if options["json"]:
            self.write_json([asdict(finding) for finding in findings], counts)
        else:
            for finding in findings:
                self._show(finding)
        summary = ", ".join(f"{counts[level]} {NAMES[level][counts[level] != 1]}" for level in LEVELS) + "."
        if any(finding.name == "unreachable" for finding in findings):
            raise CommandError(summary, returncode=COULD_NOT_RUN)
        if any(counts[level] for level in LEVELS[: LEVELS.index(options["fail_on"]) + 1]):
            raise problems_error(summary)
        if not options["json"]:
            self.stdout.write(self.style.SUCCESS(summary))

    def _show(self, finding: Finding) -> None:
        style = {ERROR: self.style.ERROR, WARNING: self.style.WARNING, ADVICE: self.style.NOTICE}[finding.level]
        self.stdout.write(f"{style(finding.level)} [{finding.name}] {finding.where}: {finding.message}")
        self.stdout.write(f"    fix: {finding.fix}")
