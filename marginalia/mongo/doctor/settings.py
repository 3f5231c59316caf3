"""Checks of migrations, connection options and settings."""

from collections.abc import Iterator

from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from marginalia.mongo.connection import client
from marginalia.mongo.doctor.findings import ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.servers import unmet_write_concern


@check
def pending_migrations(examination: Examination) -> Iterator[Finding]:
    """Check that all migrations have been applied, if the database uses migrations."""
    executor = MigrationExecutor(connections[examination.alias])
    if examination.alias != DEFAULT_DB_ALIAS and not executor.recorder.has_table():
        return
    for migration, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes()):
        yield Finding(
            ERROR, "migration-pending", str(migration), "This migration has not been applied.", "Run manage.py migrate."
        )


@check
def promises(examination: Examination) -> Iterator[Finding]:
    """Check that, with the driver's options, acknowledged writes survive the loss of a server."""
    options = client(examination.alias).options
    asked = options.write_concern.document
    fix = "Set w=majority, journal=true and retryWrites=true in the URI, or remove these options."
    members = asked.get("w", "majority")
    # A write concern that is a number or a tag isn't necessarily weak, because it can require more members than a
    # majority.
    if members in (0, 1) or asked.get("j") is False:
        message = f"Writes are acknowledged with {asked}, so saved data can be lost."
        yield Finding(ERROR, "weak-writes", examination.alias, message, fix)
    if reason := unmet_write_concern(connections[examination.alias].settings_dict):
        fix = "Set MONGODB_WRITE_CONCERN to majority, or to at most the number of members that store data."
        yield Finding(ERROR, "unmet-writes", examination.alias, reason, fix)
    if not options.retry_writes:
        message = "Writes are not retried, so some requests fail during each election."
        yield Finding(WARNING, "no-retries", examination.alias, message, fix)
    if options.read_preference.mode != 0:
        message = f"Reads go to {options.read_preference.name}, so readers may see outdated data."
        yield Finding(
            WARNING, "stale-reads", examination.alias, message, "Set readPreference=primary, or remove it from the URI."
        )


@check
def deployment_checks(examination: Examination) -> Iterator[Finding]:
    """Report the messages of `manage.py check --deploy` if the site is in production."""
    if examination.production and examination.alias == DEFAULT_DB_ALIAS:
        for message in checks.run_checks(include_deployment_checks=True):
            if message.is_silenced():
                continue
            level = ERROR if message.level >= checks.WARNING else WARNING
            yield Finding(
                level, "setting-unfit", message.id or "", message.msg, message.hint or "See docs/reference/settings.md."
            )
