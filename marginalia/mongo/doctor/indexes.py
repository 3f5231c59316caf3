"""Checks for indexes that are missing, undeclared or unused, or that prevent sharding."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from marginalia.mongo import indexes, sharding
from marginalia.mongo.doctor.findings import ADVICE, ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.indexes import status

# How long a server must have counted the uses of an index before the index is reported as unused. Before that, the
# server hasn't run enough queries.
MIN_OBSERVATION = timedelta(days=7)


@check
def declared_indexes(examination: Examination) -> Iterator[Finding]:
    """Check that the database has exactly the declared indexes, and that this release can read the stored documents."""
    try:
        changes = indexes.plan(alias=examination.alias)
    except indexes.FormerFormat as error:
        yield Finding(
            ERROR, "former-format", "", str(error), "Use an empty database, or continue with the older version."
        )
        return
    for change in changes:
        message = (
            f"{change.description[0].upper()}{change.description[1:]}."
            if change.optional
            else f"A declared change is missing: {change.description}."
        )
        if change.optional and change.sign == "-":
            yield Finding(
                WARNING,
                "index-stray",
                change.collection,
                message,
                "Run manage.py setup_indexes --drop-unknown to drop it.",
            )
        elif change.optional:
            yield Finding(
                WARNING, "validator-foreign", change.collection, message, "Run manage.py setup_indexes --plan."
            )
        elif "index" in change.description:
            yield Finding(ERROR, "index-missing", change.collection, message, "Run manage.py setup_indexes.")
        else:
            yield Finding(WARNING, "setup-incomplete", change.collection, message, "Run manage.py setup_indexes.")


@check
def unused_indexes(examination: Examination) -> Iterator[Finding]:
    """Check for indexes that haven't been used for a week. Every index slows down writes."""
    for row in status.indexes(alias=examination.alias):
        if row.name == "_id_" or row.enforces or row.uses or row.since is None:
            continue
        if datetime.now(UTC) - row.since > MIN_OBSERVATION:
            yield Finding(
                ADVICE,
                "index-unused",
                row.collection,
                f"{row.name} has not been used since {row.since:%Y-%m-%d} ({row.size / 1024:,.0f} KiB).",
                "If it isn't used for a whole week, remove its declaration and drop it.",
            )


@check
def shardable(examination: Examination) -> Iterator[Finding]:
    """Check that every declared shard key can be used."""
    for collection in examination.collections:
        for problem in sharding.shard_key_problems(collection):
            yield Finding(
                ERROR, "cannot-shard", collection.name, f"{problem}.", "Begin the unique index with the shard key."
            )
