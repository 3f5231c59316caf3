"""Indexes that are missing, strange, unused, or that forbid sharding."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from mongo import indexes, sharding, status, validators
from mongo.doctor.findings import ADVICE, ERROR, WARNING, Examination, Finding, check

# A young server has not seen enough to call an index unused.
LONG_ENOUGH = timedelta(days=7)


@check
def declared_indexes(examination: Examination) -> Iterator[Finding]:
    """Every declared index exists, and no other."""
    for change in indexes.plan():
        if change.alias != examination.alias:
            continue
        if change.optional:
            yield Finding(
                WARNING, "index-stray", change.collection, f"{change.what}.", "manage.py setup_indexes --drop-unknown"
            )
        elif "index" in change.what:
            yield Finding(
                ERROR, "index-missing", change.collection, f"Not built: {change.what}.", "manage.py setup_indexes"
            )
        else:
            yield Finding(
                WARNING, "setup-incomplete", change.collection, f"Not set up: {change.what}.", "manage.py setup_indexes"
            )


@check
def unused_indexes(examination: Examination) -> Iterator[Finding]:
    """Indexes that a week of use has not used: they slow each write."""
    names = {collection.name for collection in examination.collections}
    for row in status.indexes():
        if row.collection not in names or row.name == "_id_" or row.uses or row.since is None:
            continue
        if datetime.now(UTC) - row.since > LONG_ENOUGH:
            yield Finding(
                ADVICE,
                "index-unused",
                row.collection,
                f"{row.name} was not used since {row.since:%Y-%m-%d} ({row.size / 1024:,.0f} KiB).",
                "If a full week of use needs none of it, declare it no longer and drop it.",
            )


@check
def shardable(examination: Examination) -> Iterator[Finding]:
    """Every declared key can be the shard key."""
    for collection in examination.collections:
        for problem in sharding.refusals(collection):
            yield Finding(
                ERROR, "cannot-shard", collection.name, f"{problem}.", "Begin the unique index with the shard key."
            )


@check
def valid_documents(examination: Examination) -> Iterator[Finding]:
    """Every stored document is one that its collection's validator accepts."""
    for violation in validators.violations([c.name for c in examination.collections], most=5):
        yield Finding(
            WARNING,
            "invalid-document",
            violation.collection,
            f"The document {violation.id} violates the validator.",
            "manage.py setup_indexes --check lists them all.",
        )
