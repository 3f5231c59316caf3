"""What a check finds, and how checks are registered and run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module

from django.apps import apps
from django.db import connections
from django.utils.module_loading import module_has_submodule
from pymongo.database import Database

from mongo.collections import Collection, declared
from mongo.connection import Document, database

ERROR, WARNING, ADVICE = "error", "warning", "advice"
_SEVERITY = {ERROR: 0, WARNING: 1, ADVICE: 2}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `name` is stable ("index-missing"), `where` a collection or setting, `fix` what to do."""

    level: str
    name: str
    where: str
    message: str
    fix: str


@dataclass(frozen=True)
class Examination:
    """What the checks look at: one database, the collections declared for it, and how strict to be."""

    alias: str
    db: Database[Document]
    collections: tuple[Collection, ...]
    production: bool
    # Documents looked at for each collection by the checks of shape.
    sample: int = 1_000
    existing: frozenset[str] = field(default_factory=frozenset)

    @property
    def for_production(self) -> str:
        """The level of what only a production site must have."""
        return ERROR if self.production else ADVICE


Check = Callable[[Examination], Iterable[Finding]]
_checks: list[Check] = []


def check(function: Check) -> Check:
    """Register a function that yields Findings for an Examination."""
    _checks.append(function)
    return function


def examine(*, production: bool = False, progress: Callable[[str], None] = lambda name: None) -> list[Finding]:
    """Run every check on every MongoDB database that apps declare collections for; return the findings, the worst first."""
    _discover()
    found: list[Finding] = []
    for examination in _examinations(production):
        for function in _checks:
            progress(function.__name__.replace("_", " "))
            found += function(examination)
    return sorted(found, key=lambda finding: (_SEVERITY[finding.level], finding.name, finding.where))


def _examinations(production: bool) -> Iterator[Examination]:
    items = declared()
    for alias in dict.fromkeys(item.alias for item in items if connections[item.alias].vendor == "mongodb"):
        db = database(alias)
        yield Examination(
            alias,
            db,
            tuple(item.collection for item in items if item.alias == alias),
            production,
            existing=frozenset(db.list_collection_names(filter={"type": "collection"})),
        )


def _discover() -> None:
    for name in ("topology", "indexes", "queries", "shapes", "settings"):
        import_module(f"mongo.doctor.{name}")
    for app in apps.get_app_configs():
        if app.name != "mongo" and module_has_submodule(app.module, "doctor"):
            import_module(f"{app.name}.doctor")
