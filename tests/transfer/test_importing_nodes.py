"""Importing nodes and photos: values that editors could have saved, or skipped with a reason that names the field."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from bson import ObjectId
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cms.testing import build
from marginalia.mongo.connection import database
from nodes.models import tree
from nodes.selectors import by_hand
from nodes.services import drafts, editing, ordering
from nodes.services.site import invalidate
from nodes.types import TagChange
from reader.page_cache import storage
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, upload
from transfer import exported, importing_nodes, importing_photos
from transfer.exported import Selection
from transfer.importing_nodes import Outcome
from transfer.lines import BadLine, decode, encode

PAGES = ("/", "/news", "/news/post", "/tag/a", "/lakes", "/lakes/lake", "/search?q=lake", "/sitemap.xml")
PAGES += ("/feed/atom", "/news/archive", "/api/v1/nodes", "/api/v1/nodes?type=photo", "/api/v1/tags")
LONG = "A" * 900_000
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
VALUES = st.one_of(
    st.sampled_from(
        [None, True, "", "/", " ", "a\nb", "a\0b", "#zzzzzz", LONG, FIRST, LAST, [], {}, [0, 0], [[]], [{}]]
    ),
    st.sampled_from([{"$oid": "x"}, {"n": "x", "v": [1]}, ["/"], [""], ["a", "A"], ["a\nb"], [None], ["news"] * 300]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-400, 400),
    st.floats(width=64),
    st.text(max_size=5),
    st.lists(st.one_of(st.floats(), st.integers(-2, 9), st.text(max_size=3)), max_size=4),
    st.builds(ObjectId),
)


def paths(value: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of all fields of a document."""
    found = []
    for name, inner in value.items():
        found.append((*above, name))
        if isinstance(inner, dict):
            found += paths(inner, (*above, name))
    return found


@pytest.fixture
def site(mongo):
    """The exported records of a post with a draft and of a photo, and the photo's bytes. Both are deleted here."""
    news, lakes = build.node("blog", "news"), gallery("lakes")
    photo = upload(lakes, pictures.jpeg(), slug="lake", tags=("a",))
    post = build.node("blog-entry", "post", parent=news, text=f"A lake ![it](photo:{photo})", tags=("a",))
    drafts.save_draft(build.EDITOR, post, build.nonce(post), {"title": "Drafted"}, TagChange.between("a", "b"))
    records = [one for one in exported.leaves(Selection()) if one["_id"] == post]
    records += [one | {"sha256": one["metadata"]["detail"]["sha256"]} for one in exported.photos(Selection())]
    pieces = list(importing_photos.read_pieces(photo))

    def clear():
        for record in records:
            database()["cms.nodes"].delete_one({"_id": record["_id"]})
            database()["cms.assets.files"].delete_one({"_id": record["_id"]})
            database()["cms.assets.chunks"].delete_many({"files_id": record["_id"]})
        tree.clear()
        storage.clear()

    return records, pieces, clear


def changed(record: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    record = deepcopy(record)
    inner = record
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return record


def arrive(record, pieces, **options):
    if "uploadDate" in record:
        return importing_photos.import_photo(record, pieces, **options)
    return importing_nodes.import_node(record, **options)


def answers(client) -> dict[str, int]:
    invalidate()
    return {page: code for page in PAGES if (code := client.get(page).status_code) >= 400}


def test_exported_nodes_are_imported_and_shown(site, client):
    records, pieces, clear = site
    clear()
    for record in records:
        assert arrive(record, pieces, dry_run=True).outcome is Outcome.NEW
        assert arrive(record, pieces).outcome is Outcome.NEW
        assert arrive(record, pieces).outcome is Outcome.SAME
    assert answers(client) == {}


def test_line_breaks_of_an_earlier_release_are_imported_unchanged(site):
    records, pieces, clear = site
    clear()
    record = changed(records[0], ("metadata", "detail", "text"), "One\r\ntwo\rthree")
    assert arrive(record, pieces).outcome is Outcome.NEW
    assert build.stored(record["_id"])["detail"]["text"] == "One\r\ntwo\rthree"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("number", "path", "value"),
    [
        (0, "tags", ["/"]),
        (0, "tags", [""]),
        (0, "tags", ["a\nb"]),
        (0, "tags", ["a", "A"]),
        (0, "detail", None),
        (0, "detail.format", "weird"),
        (0, "detail.text", None),
        (0, "title", LONG),
        (0, "title", ""),
        (0, "created", FIRST),
        (0, "published", LAST),
        (0, "author", {"_id": None, "name": LONG}),
        (1, "detail.resolution", []),
        (1, "detail.resolution", [0, 0]),
        (1, "detail.rotation", 45),
        (1, "detail.crop", []),
        (1, "detail.crop", [0.0, 0.0, 9.0, 9.0]),
        (1, "detail.colour", "#zzzzzz"),
    ],
)
def test_field_no_form_accepts_is_refused_before_storing(site, number, path, value):
    records, pieces, clear = site
    clear()
    record = changed(records[number], ("metadata", *path.split(".")), value)
    arrival = arrive(record, pieces, dry_run=True)
    assert (arrival.outcome, arrival.reason.partition(": ")[0]) == (Outcome.SKIPPED, path), arrival.reason


@pytest.mark.parametrize(
    ("name", "value"),
    [("resolution", [7, 5]), ("size", 7), ("sha256", "0" * 64), ("content_type", "image/png")],
)
def test_picture_properties_come_from_the_picture(site, name, value):
    records, pieces, clear = site
    clear()
    record = changed(records[1], ("metadata", "detail", name), value)
    arrival = arrive(record, pieces)
    assert (arrival.outcome, arrival.reason.partition(": ")[0]) == (Outcome.SKIPPED, f"detail.{name}"), arrival.reason
    assert database()["cms.assets.files"].find_one({"_id": record["_id"]}) is None


def exported_page(page):
    return next(one for one in exported.leaves(Selection()) if one["_id"] == page)


def test_discarded_draft_stays_discarded_and_a_later_one_comes(mongo):
    page = build.node()
    first = drafts.save_draft(build.EDITOR, page, build.nonce(page), {"title": "One"}).nonce
    early = exported_page(page)
    second = drafts.save_draft(build.EDITOR, page, first, {"title": "Two"}).nonce
    late = exported_page(page)
    drafts.discard_draft(page, second)
    for record in (early, late):
        assert importing_nodes.import_node(record).reason == "its draft has been discarded here"
    drafts.save_draft(build.EDITOR, page, build.nonce(page), {"title": "Three"})
    later = exported_page(page)
    # As on a site where that draft was not created.
    mongo["cms.nodes"].update_one({"_id": page}, {"$unset": {"draft": ""}})
    # Nor has a draft ever existed there that was discarded here.
    elsewhere = later | {"history": [nonce for nonce in later["history"] if nonce != second]}
    assert importing_nodes.import_node(elsewhere, dry_run=True).outcome is Outcome.NEWER
    assert importing_nodes.import_node(later).outcome is Outcome.NEWER
    assert mongo["cms.nodes"].find_one({"_id": page})["draft"]["metadata"]["title"] == "Three"


class TestHtml:
    """Texts that are HTML in the export become Markdown."""

    TEXT = "<p>One <b>two</b></p>"

    def export(self, mongo) -> dict[str, Any]:
        """Return the record of a page whose text is HTML, as exported by another site."""
        page = build.node(**{"detail.text": self.TEXT, "detail.format": "html"})
        record = exported_page(page)
        mongo["cms.nodes"].delete_one({"_id": page})
        return record

    def stored(self, mongo, record: dict[str, Any]) -> tuple[str, str]:
        detail = mongo["cms.nodes"].find_one({"_id": record["_id"]})["metadata"]["detail"]
        return detail["text"], detail["format"]

    def test_imported_html_becomes_markdown_once(self, mongo):
        record = self.export(mongo)
        assert importing_nodes.import_node(record).outcome is Outcome.NEW
        assert self.stored(mongo, record) == ("One **two**", "markdown")
        before = list(mongo["cms.revisions"].find())
        assert importing_nodes.import_node(record).outcome is Outcome.SAME
        assert list(mongo["cms.revisions"].find()) == before
        # The converted version can be edited, and its history contains the original.
        nonce = build.nonce(record["_id"])
        assert mongo["cms.revisions"].find_one({"_id": nonce})["parent"] == record["metadata"]["nonce"]
        build.save(record["_id"], nonce, title="Ours")
        assert importing_nodes.import_node(record).reason == "it has been changed here"

    def test_later_version_replaces_a_converted_text(self, mongo):
        page = build.node(**{"detail.text": self.TEXT, "detail.format": "html"})
        first = exported_page(page)
        editing.save(build.EDITOR, page, build.nonce(page), {"detail.text": "<p>Three</p>"})
        second = exported_page(page)
        mongo["cms.nodes"].delete_one({"_id": page})
        importing_nodes.import_node(first)
        assert importing_nodes.import_node(second, dry_run=True).outcome is Outcome.NEWER
        assert importing_nodes.import_node(second).outcome is Outcome.NEWER
        assert self.stored(mongo, second) == ("Three", "markdown")
        assert importing_nodes.import_node(second).outcome is Outcome.SAME

    def test_converted_text_is_newer_on_the_site_that_exported_the_html(self, mongo):
        record = self.export(mongo)
        original = {"_id": record["_id"], "metadata": record["metadata"]}
        importing_nodes.import_node(record)
        converted = exported_page(record["_id"])
        mongo["cms.nodes"].replace_one({"_id": record["_id"]}, original)
        assert importing_nodes.import_node(converted).outcome is Outcome.NEWER
        assert self.stored(mongo, record) == ("One **two**", "markdown")

    def test_unchanged_html_on_the_site_that_exported_it_stays(self, mongo):
        page = build.node(**{"detail.text": self.TEXT, "detail.format": "html"})
        assert importing_nodes.import_node(exported_page(page)).outcome is Outcome.SAME
        assert self.stored(mongo, {"_id": page}) == (self.TEXT, "html")

    def test_html_that_markdown_cannot_express_stays(self, mongo, monkeypatch):
        monkeypatch.setattr("nodes.services.imported_texts.to_markdown", lambda html: None)
        record = self.export(mongo)
        assert importing_nodes.import_node(record).outcome is Outcome.NEW
        assert self.stored(mongo, record) == (self.TEXT, "html")
        assert importing_nodes.import_node(record).outcome is Outcome.SAME


def test_arranged_folder_keeps_its_order(mongo):
    folder = build.node("folder", "folder")
    first, last = (build.node(slug=slug, parent=folder) for slug in "ab")
    ordering.move_to_start(folder, last)
    records = [*exported.sections(Selection()), *exported.leaves(Selection())]
    mongo["cms.nodes"].delete_many({})
    assert [importing_nodes.import_node(record).outcome for record in records] == [Outcome.NEW] * 3
    assert tree.fresh().is_by_hand(folder)
    assert [node.pk for node in by_hand.all_nodes(folder, size=2)[0]] == [last, first]


def test_unversioned_change_is_skipped_without_an_author(mongo):
    page = build.node(tags=("a",))
    record = exported_page(page)
    editing.change_tags(page, TagChange(added=frozenset({"b"})))
    assert importing_nodes.import_node(record).reason == "it has the same version, but other tags or another position"
    build.save(page, build.nonce(page), title="Ours")
    assert importing_nodes.import_node(record).reason == "it has been changed here"


def test_old_address_is_imported_once_even_if_its_node_is_gone(mongo):
    post = build.node("blog-entry", "post", parent=build.node("blog", "news"))
    build.save(post, build.nonce(post), slug="moved")
    [record] = exported.redirects(Selection(), frozenset({post}))
    for said in (record, record | {"deleted_at": build.PAST}):
        assert importing_nodes.import_redirect(said).outcome is Outcome.SAME
    other = importing_nodes.import_redirect(record | {"node_id": ObjectId()})
    assert (other.label, other.reason) == ("the former URL /news/post", "it redirects elsewhere here")
    place = {"parent_id": ObjectId(), "slug": "post"}
    assert (
        importing_nodes.import_redirect(record | {"_id": place}).label
        == f"the former URL 'post' in {place['parent_id']}"
    )
    assert importing_nodes.import_redirect(record | {"_id": place}).outcome is Outcome.SAME


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_changed_field_is_skipped_or_breaks_no_page(site, client, data):
    records, pieces, clear = site
    clear()
    record = data.draw(st.sampled_from(records))
    path = data.draw(st.sampled_from([path for path in paths(record) if path != ("_id",)]))
    try:
        record = decode(encode(changed(record, path, data.draw(VALUES))))
    except BadLine:
        return
    client.raise_request_exception = False
    if arrive(record, pieces).outcome is not Outcome.SKIPPED:
        broken = {page: code for page, code in answers(client).items() if code >= 500}
        assert broken == {}, (path, record)
