"""Findings, and functions that register and run checks.

Every check has a time limit, so the doctor finishes even if collections are very large. The doctor reports the checks
that exceed their limit. Checks of collections that can grow without limit use a random sample.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import pymongo
from django.utils.module_loading import autodiscover_modules
from pymongo.database import Database
from pymongo.errors import OperationFailure, PyMongoError, ServerSelectionTimeoutError

from marginalia.mongo.collections import Collection, mongodb_aliases, mongodb_collections
from marginalia.mongo.connection import UNAUTHORIZED, Document, database, sample_stages
from marginalia.mongo.servers import describe_outage, first_clause, is_outage

log = logging.getLogger(__name__)

ERROR = "error"
WARNING = "warning"
ADVICE = "advice"
_SEVERITY = {ERROR: 0, WARNING: 1, ADVICE: 2}
# Maximum number of seconds that a check of the whole database or of one collection can take.
CHECK_SECONDS = 10.0


@dataclass(frozen=True)
class Finding:
    """A problem that a check found.

    Attributes:
        level: The severity of the problem.
        name: A stable name, such as "index-missing".
        where: The collection or setting that has the problem.
        message: A description of the problem.
        fix: What the operator should do.
    """

    level: str
    name: str
    where: str
    message: str
    fix: str


@dataclass(frozen=True)
class Examination:
    """The input for checks: a database, the collections declared for it, and whether the site is in production."""

    alias: str
    db: Database[Document]
    collections: tuple[Collection, ...]
    production: bool
    # The number of documents sampled from a collection that is too large to be read completely.
    sample: int = 1_000
    existing: frozenset[str] = field(default_factory=frozenset)

    @property
    def for_production(self) -> str:
        """The level for findings that are errors only in production."""
        return ERROR if self.production else ADVICE

    def sample_stages(self, name: str, sample: int = 0) -> list[Document]:
        """Return the initial stages for a pipeline that reads a collection.

        If the collection is large, the stages select a sample.
        """
        return sample_stages(self.db[name], sample or self.sample)

    def declared(self, *names: str) -> list[str]:
        """Return the subset of `names` that apps declare as collections in this database."""
        return [collection.name for collection in self.collections if collection.name in names]

    def present(self, name: str, ids: Iterable[Any]) -> set[Any]:
        """Return the subset of `ids` that exists in the collection called `name`."""
        return {document["_id"] for document in self.db[name].find({"_id": {"$in": list(ids)}}, {"_id": 1})}


Check = Callable[[Examination], Iterable[Finding]]
CollectionCheck = Callable[[Examination, Collection], Iterable[Finding]]
_checks: list[Check] = []
_collection_checks: list[CollectionCheck] = []


def check(function: Check) -> Check:
    """Register a function that yields Findings for an Examination."""
    _checks.append(function)
    return function


def collection_check(function: CollectionCheck) -> CollectionCheck:
    """Register a function that yields Findings for a collection. GridFS chunks aren't checked."""
    _collection_checks.append(function)
    return function


def examine(
    *,
    production: bool = False,
    progress: Callable[[str], None] = lambda name: None,
    checks: Sequence[Check] | None = None,
) -> list[Finding]:
    """Run every check on every MongoDB database with declared collections. Return the findings, errors first.

    Args:
        production: Whether the site is in production. If so, risks are reported as errors.
        progress: A function that is called with the name of each check.
        checks: If set, only these database checks are run, and no collection checks.
    """
    _discover()
    findings: list[Finding] = []
    for alias in mongodb_aliases():
        try:
            examination = _examination(alias, production)
            for name, where, work in _list_checks(examination, checks):
                progress(name)
                findings += _run_in_time(name, where, work)
        except PyMongoError as error:
            if not is_outage(error):
                raise
            fix = "Start MongoDB, or correct MONGODB_URI."
            findings.append(Finding(ERROR, "unreachable", alias, describe_outage(error, alias), fix))
    return sorted(findings, key=lambda finding: (_SEVERITY[finding.level], finding.name, finding.where))


def _examination(alias: str, production: bool) -> Examination:
    db = database(alias)
    return Examination(
        alias,
        db,
        tuple(item.collection for item in mongodb_collections(alias)),
        production,
        existing=frozenset(db.list_collection_names(filter={"type": "collection"})),
    )


def _list_checks(
    examination: Examination, checks: Sequence[Check] | None
) -> Iterator[tuple[str, str, Callable[[], Iterable[Finding]]]]:
    for function in _checks if checks is None else checks:
        yield _check_name(function), examination.alias, partial(function, examination)
    if checks is not None:
        return
    for collection in examination.collections:
        if collection.name in examination.existing and not collection.name.endswith(".chunks"):
            for collection_function in _collection_checks:
                yield (
                    f"{_check_name(collection_function)} of {collection.name}",
                    collection.name,
                    partial(collection_function, examination, collection),
                )


def _check_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function)).replace("_", " ")


def _run_in_time(name: str, where: str, work: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of a check. A timeout, a missing permission or a failure is also reported as a finding."""
    findings: list[Finding] = []
    try:
        with pymongo.timeout(CHECK_SECONDS):
            for finding in work():
                findings.append(finding)  # noqa: PERF402 - keeps the findings that precede a timeout
    except PyMongoError as error:
        if isinstance(error, OperationFailure) and error.code == UNAUTHORIZED:
            message = f"The site's database user doesn't have permission for the check “{name}”."
            findings.append(
                Finding(
                    ADVICE,
                    "not-allowed",
                    where,
                    message,
                    "Grant the clusterMonitor role, or run the doctor as an administrator.",
                )
            )
        elif error.timeout and not isinstance(error, ServerSelectionTimeoutError):
            findings.append(_timed_out_finding(name, where))
        elif is_outage(error):
            raise
        else:
            findings.append(_failed_finding(name, where, first_clause(error)))
    except Exception as error:  # noqa: BLE001 - a malformed document must not hide the findings of other checks
        findings.append(_failed_finding(name, where, f"{type(error).__name__}: {error}"))
    return findings


def _failed_finding(name: str, where: str, reason: str) -> Finding:
    log.exception("The doctor's check “%s” of %s failed", name, where)
    fix = "Run manage.py setup_indexes --check to list malformed documents. The log shows where the check failed."
    return Finding(ERROR, "check-failed", where, f"“{name}” failed: {reason}.", fix)


def _timed_out_finding(name: str, where: str) -> Finding:
    message = f"“{name}” was stopped after {CHECK_SECONDS:.0f} s. Its findings so far are listed."
    return Finding(ADVICE, "not-looked-through", where, message, "Run the doctor again when the server is less busy.")


def _discover() -> None:
    for name in ("topology", "capacity", "cluster", "indexes", "queries", "shapes", "settings"):
        import_module(f"marginalia.mongo.doctor.{name}")
    autodiscover_modules("doctor")
