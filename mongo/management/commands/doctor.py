"""Say what is wrong with this system, and how to mend it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from mongo.doctor import ADVICE, ERROR, WARNING, Finding, examine


class Command(BaseCommand):
    help = "Examine topology, indexes, hot queries, documents and settings. Exits non-zero when there are errors."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as one JSON document")
        parser.add_argument("--production", action="store_true", help="what only production needs becomes an error")

    def handle(self, *args: Any, **options: Any) -> None:
        with tqdm(unit=" checks", leave=False, disable=options["json"] or not self.stdout.isatty()) as bar:

            def progress(name: str) -> None:
                bar.set_description(name)
                bar.update()

            findings = examine(production=options["production"], progress=progress)
        counts = {level: sum(f.level == level for f in findings) for level in (ERROR, WARNING, ADVICE)}
        if options["json"]:
            self.stdout.write(json.dumps({"findings": [asdict(f) for f in findings], "counts": counts}, indent=2))
        else:
            for finding in findings:
                self._show(finding)
        summary = f"{counts[ERROR]} errors, {counts[WARNING]} warnings, {counts[ADVICE]} pieces of advice."
        if counts[ERROR]:
            raise CommandError(summary)
        if not options["json"]:
            self.stdout.write(self.style.SUCCESS(summary))

    def _show(self, finding: Finding) -> None:
        style = {ERROR: self.style.ERROR, WARNING: self.style.WARNING, ADVICE: self.style.NOTICE}[finding.level]
        self.stdout.write(f"{style(finding.level)} [{finding.name}] {finding.where}: {finding.message}")
        self.stdout.write(f"    fix: {finding.fix}")
