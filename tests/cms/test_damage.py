"""Damaged documents: no other page fails, the doctor finds them, and repairs lose nothing."""

import traceback
from contextlib import suppress
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.core.signals import got_request_exception
from django.test import Client

from cms.testing.process_caches import clear_caches
from marginalia.mongo import doctor
from marginalia.mongo.collections import declared_collections
from nodes.collections import ASSET_FILES, NODES, TRASH
from nodes.models.validation import REQUIRED_FIELDS
from tests.support import damaging

# The collections whose documents are copied and damaged.
VICTIMS = (
    (NODES, {"metadata.slug": "one"}),
    (NODES, {"metadata.slug": "news"}),
    (ASSET_FILES, {"metadata.slug": "lake"}),
    (TRASH, {}),
    ("cms.revisions", {}),
    ("cms.redirects", {}),
    ("discussions", {}),
    ("comments", {}),
    ("comments.pending", {}),
    ("auth_user", {}),
    ("api.tokens", {}),
)
# Repairs keep everything that an editor or reader wrote.
WRITTEN = (NODES, ASSET_FILES, TRASH, "comments", "comments.pending", "discussions", "auth_user")


@pytest.fixture
def site(mongo, rules):
    return damaging.build(mongo)


def failing(site) -> list[str]:
    """Return the pages of the site with status 500 or more, and the reasons."""
    found, raised = [], []
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.get(username="root"))

    def note(sender, **_named):
        raised.append(traceback.format_exc(limit=-3))

    got_request_exception.connect(note)
    try:
        for path in site.pages:
            raised.clear()
            clear_caches()
            headers = {"Authorization": f"Bearer {site.secret}"} if path.startswith("/api/") else {}
            answer = client.get(path, headers=headers)
            list(answer)
            if answer.status_code >= 500:
                found.append(f"{path}: {answer.status_code} {' '.join(raised)}")
    finally:
        got_request_exception.disconnect(note)
    return found


def ids(site) -> set[str]:
    """Return the ids of everything that somebody wrote. Trashed nodes keep their ids."""
    return {str(one["_id"]) for name in WRITTEN for one in site.db[name].find({}, {"_id": 1})}


def said(command: str, *arguments: str) -> str:
    out = StringIO()
    with suppress(CommandError):
        call_command(command, *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.slow
def test_no_page_fails_with_documents_damaged_in_500_ways(site, monkeypatch):
    assert failing(site) == []
    monkeypatch.setattr("marginalia.mongo.doctor.shapes._MAX_REPORTED", 10_000)
    monkeypatch.setattr("nodes.doctor.NAMED", 10_000)
    monkeypatch.setattr("marginalia.comments.doctor.MAX_AUDITED_DISCUSSIONS", 10_000)
    healthy = {finding.name for finding in doctor.examine()}
    done = []
    for collection, query in VICTIMS:
        victim = site.db[collection].with_options(codec_options=damaging.RAW).find_one(query)
        done += damaging.insert_damaged_copies(site.db, collection, victim)
    assert len(done) > 400
    assert failing(site) == []
    # Undamaged nodes are still listed.
    listed = Client().get("/feed/json").content.decode()
    assert all(title in listed for title in ("Title one again", "Title two", "Title three"))

    findings = [one for one in doctor.examine() if one.name not in healthy]
    assert [one.message for one in findings if one.name == "check-failed"] == []
    told = "\n".join(one.message for one in findings)
    # Nobody can read a node without these. The unique index allows only one damaged place, as (null, null).
    needed = {f"metadata.{name}" for name in REQUIRED_FIELDS} - {"metadata.parent_id", "metadata.slug"}
    bad = [one for one in done if one.collection in (NODES, ASSET_FILES, TRASH) and one.path in needed]
    assert [str(one) for one in bad if str(one.key) not in told and "no-such-type" not in one.how] == []

    before = ids(site)
    for command in ("check_nodes", "check_comments"):
        said(command, "--fix")
    assert before - ids(site) == set()
    assert failing(site) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dropped", "hidden"])
def test_no_page_fails_without_its_indexes(site, how):
    gone = []
    for collection in (one.collection for one in declared_collections()):
        # Without a unique index, a site has other problems, because duplicates can be stored.
        for index in collection.indexes if collection.name in site.db.list_collection_names() else ():
            if index.unique:
                continue
            gone.append(index.name)
            if how == "dropped":
                site.db[collection.name].drop_index(index.name)
            else:
                site.db.command("collMod", collection.name, index={"name": index.name, "hidden": True})
    assert len(gone) > 50
    try:
        assert failing(site) == []
        found = [one.message for one in doctor.examine() if one.level == doctor.ERROR and one.name.startswith("index")]
        assert [name for name in gone if not any(name in message for message in found)] == []
    finally:
        call_command("setup_indexes", stdout=StringIO())
