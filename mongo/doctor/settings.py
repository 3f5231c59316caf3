"""Migrations and settings, as far as Django itself can judge them."""

from collections.abc import Iterator

from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from mongo.doctor.findings import ERROR, WARNING, Examination, Finding, check


@check
def pending_migrations(examination: Examination) -> Iterator[Finding]:
    """Every migration has been applied."""
    executor = MigrationExecutor(connections[examination.alias])
    for migration, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes()):
        yield Finding(
            ERROR, "migration-pending", str(migration), "This migration has not been applied.", "manage.py migrate"
        )


@check
def deployment_checks(examination: Examination) -> Iterator[Finding]:
    """What `manage.py check --deploy` says, where the site is one."""
    if examination.production and examination.alias == DEFAULT_DB_ALIAS:
        for message in checks.run_checks(include_deployment_checks=True):
            level = ERROR if message.level >= checks.WARNING else WARNING
            yield Finding(
                level, "setting-unfit", message.id or "", message.msg, message.hint or "See docs/reference/settings.md."
            )
