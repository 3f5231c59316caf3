"""Audit the stored documents of discussions, and mend what crashes may leave behind."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.errors import TargetNotFound
from marginalia.comments.operations import maintenance
from marginalia.mongo.management.base import AuditCommand, problems_error


class Command(AuditCommand):
    help = (
        "Audit stored comments: form, order, slugs, paths, counts, claims. Ends with 1 if something stays wrong, with 2 if"
        " it could not look."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--fix", action="store_true", help="mend counts, old claims and copies of no use")
        parser.add_argument(
            "--accept-loss",
            action="store_true",
            help="with --fix: also lower counts, and delete unused copies, that are the only trace of lost comments",
        )
        parser.add_argument("--target", default="", metavar="LABEL", help="only discussions of this model (app.model)")
        parser.add_argument("--discussion", default="", metavar="ID", help="only this one (app.model:pk)")

    def handle(self, *args: Any, **options: Any) -> None:
        looked_at = comments = faults = mended = 0
        listed = []
        found = maintenance.wanted(label=options["target"].lower(), discussion=options["discussion"])
        quiet = options["json"] or not self.stdout.isatty()
        try:
            for target in tqdm(found, unit=" discussions", leave=False, disable=quiet):
                result = maintenance.examine(target, fix=options["fix"], accept_loss=options["accept_loss"])
                looked_at = looked_at + 1
                comments = comments + result.comments
                faults = faults + len(result.faults)
                mended = mended + result.mended
                for fault in result.faults:
                    if options["json"]:
                        listed.append(asdict(fault))
                    else:
                        self.stdout.write(f"{fault.discussion}: {fault.what}.")
        except TargetNotFound as error:
            raise CommandError(str(error)) from error
        left = sum(len(maintenance.faults(target)) for target in self._again(options)) if mended else faults
        if options["json"]:
            self.write_json(listed, {"discussions": looked_at, "comments": comments, "faults": faults, "left": left})
        else:
            self.stdout.write(
                f"{looked_at} discussions with {comments} comments: {faults} faults, {faults - left} mended."
            )
        if left:
            raise problems_error(f"{left} faults are left.")

    def _again(self, options: dict[str, Any]) -> Any:
        return maintenance.wanted(label=options["target"].lower(), discussion=options["discussion"])
