"""The scope of a save: everything that lists read is compared."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bson import ObjectId

from nodes.models.stored_site import Scope
from nodes.selectors import listing
from nodes.services import scope
from nodes.types import NEVER

TEMPLATES = Path(__file__).parents[3] / "reader/templates"
AT = datetime(2020, 1, 1, tzinfo=UTC)
METADATA = {
    "nonce": ObjectId(),
    "type": "blog-entry",
    "parent_id": ObjectId(),
    "slug": "post",
    "title": "Post",
    "created": AT,
    "updated": AT,
    "published": AT,
    "expires": NEVER,
    "author": {"_id": None, "name": "Ann"},
    "tags": ["paper"],
    "summary": "",
    "detail": {"text": "First", "format": "markdown", "is_pinned": False},
}
DERIVED = {"excerpt": "First", "minutes": 1}


def reach(changes=(), derived=DERIVED, metadata=METADATA):
    before = {"metadata": metadata, "derived": DERIVED}
    return scope.of_save(before, {**metadata, **dict(changes)}, derived)


def paths(fields):
    """Return the names below metadata and derived that a projection reads."""
    return [tuple(path.split(".")) for path in fields]


def test_text_affects_only_its_own_page():
    assert (
        reach({"nonce": ObjectId(), "updated": NEVER, "detail": {**METADATA["detail"], "text": "Second"}})
        == Scope.TEXTS
    )


@pytest.mark.parametrize("path", [one for one in paths(listing.LISTED) if one[1] not in scope.UNLISTED])
def test_fields_read_by_lists_affect_lists(path):
    """If a selector reads another field, it must be compared too, or this test fails."""
    if path[0] == "derived":
        assert reach(derived={**DERIVED, path[1]: ObjectId()}) == Scope.LISTS
    else:
        assert reach({path[1]: "page" if path[1] == "type" else ObjectId()}) <= Scope.LISTS


@pytest.mark.parametrize("name", scope.DERIVED)
def test_derived_values_affect_lists(name):
    assert reach(derived={**DERIVED, name: "other"}) == Scope.LISTS
    without = {key: value for key, value in DERIVED.items() if key != name}
    assert reach(derived=without) == (Scope.LISTS if name in DERIVED else Scope.TEXTS)


def test_document_read_without_derived_values_affects_lists():
    assert scope.of_save({"metadata": METADATA}, METADATA, DERIVED) == Scope.LISTS


@pytest.mark.parametrize("name", ["is_pinned", "format", "comments", "picture", "unknown"])
def test_other_fields_affect_lists(name):
    assert reach({"detail": {**METADATA["detail"], name: "other"}}) == Scope.LISTS


@pytest.mark.parametrize("name", scope.PLACED_BY)
def test_places_and_dates_affect_every_page(name):
    assert reach({name: ObjectId()}) == Scope.SITE


def test_top_level_fields_in_menus_affect_every_page():
    top = {**METADATA, "parent_id": None}
    assert reach({"title": "Other"}, metadata=top) == Scope.SITE
    assert reach({"detail": {"text": "Second"} | METADATA["detail"]}, metadata=top) == Scope.TEXTS


@pytest.mark.parametrize(("type", "wanted"), [("folder", Scope.SITE), ("blog", Scope.SITE), ("photo", Scope.LISTS)])
def test_saves_of_sections_and_photos_affect_every_page(type, wanted):
    assert reach({"nonce": ObjectId()}, metadata={**METADATA, "type": type}) == wanted


# The own pages of a node, and data shown only there.
OWN = frozenset({"blog-entry.html", "basic-page.html", "photo.html", "base.html", "_head.html"})


@pytest.mark.parametrize("template", sorted({path.name for path in (TEMPLATES / "nodes").glob("**/*.html")} - OWN))
def test_list_templates_show_only_fields_read_by_lists(template):
    found = next((TEMPLATES / "nodes").glob(f"**/{template}")).read_text()
    # Nonces can be values of `frame`, because they are only compared, and not shown.
    shown = set(re.findall(r"\bmetadata\.(\w+)", re.sub(r"{% frame .*? %}", "", found))) - {"detail"}
    assert not shown & {"nonce", "updated"}
    assert shown <= {path[1] for path in paths(listing.LISTED) if path[0] == "metadata"}
