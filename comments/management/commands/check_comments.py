"""Audit stored discussions, and repair inconsistencies after crashes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.errors import TargetNotFound
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Fault
from marginalia.mongo.management.base import AuditCommand, problems_error


class Command(AuditCommand):
    help = (
        "Check stored comments and discussions for wrong fields, order, slugs, paths and counts, and for interrupted "
        "writes. The command exits with code 1 if problems remain, and with code 2 if the check can't run."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--fix",
            action="store_true",
            help="fix counts, clean up interrupted writes, and delete unused copies",
        )
        parser.add_argument(
            "--accept-loss",
            action="store_true",
            help="with --fix: also lower counts that are too high, and delete unused copies that are the last trace of "
            "lost comments",
        )
        parser.add_argument(
            "--target", default="", metavar="LABEL", help="check only discussions of this model (app.model)"
        )
        parser.add_argument("--discussion", default="", metavar="ID", help="check only this discussion (app.model:pk)")

    def handle(self, *args: Any, **options: Any) -> None:
        discussions = comments = faults = repaired = 0
        fault_rows = []
        targets = self._targets(options)
        quiet = options["json"] or not self.stdout.isatty()
        try:
            for target in tqdm(targets, unit=" discussions", leave=False, disable=quiet):
                result = maintenance.examine(target, fix=options["fix"], accept_loss=options["accept_loss"])
                discussions = discussions + 1
                comments = comments + result.comments
                faults = faults + len(result.faults)
                repaired = repaired + result.repaired
                for fault in result.faults:
                    if options["json"]:
                        fault_rows.append(_row(fault))
                    else:
                        self.stdout.write(f"{fault.discussion}: {fault.description}.")
        except TargetNotFound as error:
            raise CommandError(str(error)) from error
        remaining = sum(len(maintenance.faults(target)) for target in self._targets(options)) if repaired else faults
        if options["json"]:
            self.write_json(
                fault_rows, {"discussions": discussions, "comments": comments, "faults": faults, "left": remaining}
            )
        else:
            self.stdout.write(
                f"{discussions} discussions with {comments} comments: {faults} problems, {faults - remaining} fixed."
            )
        if remaining:
            raise problems_error(f"{remaining} problems remain.")

    def _targets(self, options: dict[str, Any]) -> Any:
        return maintenance.select_targets(label=options["target"].lower(), discussion=options["discussion"])


def _row(fault: Fault) -> dict[str, Any]:
    """Return a fault as a dict with the field names of the JSON output."""
    return {
        "discussion": fault.discussion,
        "kind": fault.kind,
        "what": fault.description,
        "repairable": fault.repairable,
    }
