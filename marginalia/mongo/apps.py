import sys
from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.core.management.base import CommandError
from django.db.models.signals import post_migrate


class MongoConfig(AppConfig):
    name = "marginalia.mongo"
    verbose_name = "MongoDB"

    def ready(self) -> None:
        import_module("marginalia.mongo.checks")
        if apps.is_installed("debug_toolbar"):
            import_module("marginalia.mongo.toolbar_panel")
        base = import_module("marginalia.mongo.engine.base")
        base.DatabaseOperations.declared_names = staticmethod(_declared_names)
        post_migrate.connect(_set_up, sender=self)


def _declared_names(alias: str) -> list[str]:
    from marginalia.mongo.collections import mongodb_collections

    return [item.collection.name for item in mongodb_collections(alias)]


def _set_up(*, using: str, verbosity: int = 1, stdout: Any = None, **kwargs: Any) -> None:
    """Create indexes and validators after `migrate`, as `setup_indexes` does.

    Raise CommandError if an index or validator can't be created.
    """
    from marginalia.mongo import indexes

    new_collections: set[str] = set()

    def report(change: indexes.Change) -> None:
        # Operators need to see the changes to collections that may contain documents. Changes to new collections are
        # reported only with --verbosity 2.
        if change.makes_collection:
            new_collections.add(change.collection)
        if verbosity > 1 or (verbosity and change.collection not in new_collections):
            (stdout or sys.stdout).write(f"  {change}\n")

    try:
        indexes.ensure(report, alias=using)
    except indexes.CannotBuild as error:
        raise CommandError(str(error)) from error
