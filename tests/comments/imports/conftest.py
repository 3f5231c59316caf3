"""Fixtures that import the same comments from each system, and compare the database with what was in the export."""

import io
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from django.core.management import CommandError, call_command
from django.db.utils import ConnectionHandler

from api.embed import pages
from api.embed.pages import PageAddress
from marginalia.comments.imports.records import SourceState
from marginalia.comments.imports.sources import TABLES, django_comments
from tests.comments.imports.writers import WRITERS, Row

ORIGIN = "https://blog.example.org"


@pytest.fixture
def static_site(mongo, rules, settings) -> str:
    """Another site, whose pages embed their comments."""
    settings.EMBED = {"ORIGINS": [ORIGIN], "KEYS": []}
    return ORIGIN


@pytest.fixture
def run_import(mongo, tmp_path, monkeypatch) -> Iterable[Callable[..., tuple[str, str]]]:
    """Return a function that writes an export, runs the command, and returns its output and its error."""
    path = tmp_path / "export"
    old = {"ENGINE": "django.db.backends.sqlite3", "NAME": path}
    handler = ConnectionHandler({"default": old, "old": old})
    monkeypatch.setattr(django_comments, "connections", handler)

    def run(system: str, rows: Iterable[Row] | None = None, *options: str) -> tuple[str, str]:
        if rows is not None:
            handler.close_all()
            path.unlink(missing_ok=True)
            WRITERS[system](path, rows)
        source = ("--database", "old") if system in TABLES else (str(path),)
        out = io.StringIO()
        try:
            call_command("import_comments", *source, "--from", system, *options, stdout=out)
        except CommandError as error:
            return out.getvalue(), str(error)
        return out.getvalue(), ""

    yield run
    handler.close_all()


def page_of(system: str, number: int) -> str:
    """Return the page of a thread, as the system stores it. Tables need stored objects."""
    address = PageAddress(f"{ORIGIN}/posts/{number}/")
    return str(address.target) if system in TABLES else address.text


def store_pages(mongo, count: int) -> None:
    """Store the pages of the first `count` threads."""
    new = (pages.unsaved(PageAddress(f"{ORIGIN}/posts/{number}/")) for number in range(count))
    documents = [{"_id": p.pk, "address": p.address, "title": p.title, "created": p.created} for p in new]
    mongo["api.embedded_pages"].insert_many(documents)


def check_database(mongo, rows: Iterable[Row], *, has_parents: bool = True) -> None:
    """Assert that the database contains each of the rows once, in its state and below its parent."""
    rows = list(rows)
    states = Counter(row.state for row in rows)
    stored = list(mongo["comments"].find())
    counts = Counter(document["state"] for document in stored)
    assert (counts["public"], counts["removed"]) == (states[SourceState.PUBLIC], states[SourceState.REMOVED])
    queued = Counter(document["state"] for document in mongo["comments.pending"].find())
    assert (queued["waiting"], queued["spam"]) == (states[SourceState.PENDING], states[SourceState.SPAM])
    by_slug = {document["slug"]: document["source"] for document in stored}
    assert len(by_slug) == len(stored)
    public = {row.text for row in rows if row.state is SourceState.PUBLIC}
    assert {source for source in by_slug.values() if source} == public
    texts = {row.id: row.text for row in rows}
    parents = {row.text: texts[row.parent] for row in rows if row.parent is not None}
    for document in stored if has_parents else ():
        if document["source"]:
            above = by_slug.get(document["answers"] or document["parent_id"])
            assert above == parents.get(document["source"])
    discussions = list(mongo["discussions"].find())
    assert sum(discussion["count"] for discussion in discussions) == states[SourceState.PUBLIC]
    assert not any(discussion["claims"] for discussion in discussions)
    assert mongo["comments.catalogue"].count_documents({}) == len(stored)


def contents(mongo) -> dict[str, list[object]]:
    """Return all that an import can change."""
    names = ("comments", "comments.pending", "comments.imported", "comments.catalogue", "discussions")
    return {name: list(mongo[name].find().sort("_id", 1)) for name in (*names, "api.embedded_pages")}
