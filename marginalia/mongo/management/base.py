"""Base classes for management commands. The classes set exit codes, explain outages in one sentence, and write JSON.

Every command exits with code 0 if all is well, 1 if it found or left problems, and 2 if it couldn't do its work.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS

from marginalia.mongo.collections import mongodb_aliases
from marginalia.mongo.servers import describe_outage, is_outage

FOUND_PROBLEMS, COULD_NOT_RUN = 1, 2


def problems_error(message: str) -> CommandError:
    """Return the error for a command that did its work, but found or left problems. The exit code is 1."""
    error = CommandError(message, returncode=FOUND_PROBLEMS)
    error.is_finding = True
    return error


class MongoCommand(BaseCommand):
    """A command that reports errors in one sentence and exits with code 2, or with code 1 for `problems_error`."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command. Errors other than outages keep their traceback.

        Raises:
            CommandError: The command failed. The exception contains the exit code.
        """
        try:
            return super().execute(*args, **options)
        except CommandError as error:
            if error.returncode == FOUND_PROBLEMS and not getattr(error, "is_finding", False):  # Django's default
                error.returncode = COULD_NOT_RUN
            raise
        except Exception as error:
            if not is_outage(error):
                raise
            alias = options.get("database") or next(iter(mongodb_aliases()), DEFAULT_DB_ALIAS)
            raise CommandError(describe_outage(error, alias), returncode=COULD_NOT_RUN) from error


class AuditCommand(MongoCommand):
    """A command that looks for problems.

    If the command can't complete its search, it exits with code 2 and doesn't report any problems.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the findings as a JSON document")

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            return super().execute(*args, **options)
        except CommandError:
            raise
        except Exception as error:
            reason = (
                f"The check failed: {type(error).__name__}: {error}. Run it with --traceback to see "
                "where, or run manage.py setup_indexes --check to list malformed documents."
            )
            raise CommandError(reason, returncode=COULD_NOT_RUN) from error

    def write_json(self, findings: Iterable[Mapping[str, Any]], counts: Mapping[str, int]) -> None:
        """Print {"findings": […], "counts": {…}}."""
        self.stdout.write(json.dumps({"findings": list(findings), "counts": counts}, indent=2, default=str))
