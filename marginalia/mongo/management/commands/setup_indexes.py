"""`manage.py setup_indexes`: create the collections, indexes and validators that the apps declare."""

import json
from argparse import ArgumentParser
from threading import Thread
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo import collections, indexes
from marginalia.mongo.connection import database
from marginalia.mongo.indexes import status, validators
from marginalia.mongo.management.base import MongoCommand, problems_error
from marginalia.mongo.servers import unsuitable_reason

# Number of seconds between two updates of the progress bar.
PROGRESS_SECONDS = 0.5


class Command(MongoCommand):
    help = (
        "Plan, build or show indexes and validators. Without options, the command builds everything that is missing or "
        "has changed."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--plan", action="store_true", help="show the planned changes, and change nothing")
        mode.add_argument("--status", action="store_true", help="show the size and usage of every index")
        mode.add_argument("--check", action="store_true", help="list stored documents that violate the validators")
        parser.add_argument(
            "--exit-code", action="store_true", help="with --plan: exit with code 1 if there are changes to make"
        )
        parser.add_argument(
            "--json", action="store_true", help="with --plan: print the changes as JSON, including complete validators"
        )
        parser.add_argument(
            "--drop-unknown",
            action="store_true",
            help="also drop indexes and replace validators that no app declares",
        )
        parser.add_argument(
            "--collection",
            action="append",
            default=[],
            metavar="NAME",
            help="process only this collection (can be repeated)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        only: list[str] = options["collection"]
        if unknown := set(only) - {item.collection.name for item in collections.declared_collections()}:
            raise CommandError(f"No app declares the collections {', '.join(sorted(unknown))}. Check the names.")
        if options["json"] and not options["plan"]:
            raise CommandError("--json goes with --plan.")
        if options["status"]:
            self._show_status(only)
        elif options["check"]:
            self._check(only)
        else:
            self._refuse_unsuitable_servers()
            changed = self._build(only, pretend=options["plan"], drop=options["drop_unknown"], as_json=options["json"])
            if options["plan"] and options["exit_code"] and changed:
                raise problems_error(f"{changed} changes planned. Run manage.py setup_indexes to make them.")

    def _refuse_unsuitable_servers(self) -> None:
        """Raise CommandError if a server is too old or standalone. Some comment layouts would fail there much later."""
        for alias in collections.mongodb_aliases():
            if reason := unsuitable_reason(database(alias).client):
                raise CommandError(f"The MongoDB server of the connection {alias!r} {reason}.")

    def _build(self, only: list[str], *, pretend: bool, drop: bool, as_json: bool) -> int:
        """Apply the plan, or only show it. Return the number of changes in the plan, or raise CommandError."""
        try:
            changes = indexes.plan(only)
        except indexes.FormerFormat as error:
            raise CommandError(str(error)) from error
        wanted = [change for change in changes if drop or not change.optional]
        if as_json:
            self.stdout.write(json.dumps([_as_dict(change) for change in changes], indent=2, default=str))
        impossible: list[str] = []
        for change in changes:
            note = "" if change in wanted else "  (kept; use --drop-unknown to drop it)"
            if not as_json:
                self.stdout.write(f"{change}{note}")
            if change in wanted and (reason := self._try(change, pretend)):
                impossible.append(reason)
        if impossible:
            raise problems_error("\n".join(impossible))
        if as_json:
            return len(wanted)
        if pretend:
            self.stdout.write(f"{len(wanted)} changes planned." if wanted else "Nothing to do.")
        else:
            self.stdout.write(self.style.SUCCESS(f"{len(wanted)} changes made."))
        return len(wanted)

    def _try(self, change: indexes.Change, pretend: bool) -> str:
        """Apply one change, or only check whether it is possible. Return why it isn't possible, or "" if it is."""
        if pretend:
            return change.obstacles(database(change.alias))
        try:
            self._apply(change)
        except indexes.CannotBuild as error:  # the other changes are still possible
            return str(error)
        return ""

    def _apply(self, change: indexes.Change) -> None:
        """Apply one change, and show the progress of index builds on a terminal. This method can raise CannotBuild."""
        failure: list[BaseException] = []

        def work() -> None:
            try:
                indexes.apply_change(change)
            except BaseException as error:  # noqa: BLE001 - raised again below, in the main thread
                failure.append(error)

        thread = Thread(target=work)
        thread.start()
        with tqdm(total=100, unit="%", leave=False, disable=not self.stdout.isatty(), delay=1) as bar:
            while thread.is_alive():
                thread.join(PROGRESS_SECONDS)
                bar.n = status.build_progress(change.alias)
                bar.refresh()
        if failure:
            raise failure[0]

    def _show_status(self, only: list[str]) -> None:
        rows = status.indexes(only)
        for row in rows:
            used = "never used" if row.uses == 0 else f"used {row.uses} times"
            since = f" since {row.since:%Y-%m-%d %H:%M}" if row.since else ""
            declared = "" if row.declared else "  (no app declares it)"
            self.stdout.write(f"{row.collection}  {row.name}  {row.size / 1024:,.0f} KiB  {used}{since}{declared}")
        self.stdout.write(f"{len(rows)} indexes, {sum(row.size for row in rows) / 1024:,.0f} KiB.")

    def _check(self, only: list[str]) -> None:
        found = list(validators.violations(only))
        for violation in found:
            self.stdout.write(f"{violation.collection}: {violation.id}")
        if found:
            raise problems_error(f"{len(found)} documents violate the validator of their collection. Fix them.")
        self.stdout.write("Every stored document is valid.")


def _as_dict(change: indexes.Change) -> dict[str, Any]:
    names = ("sign", "alias", "collection", "description", "optional", "before", "after")
    return {name: getattr(change, name) for name in names}
