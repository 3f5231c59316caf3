"""Permissions to see, change and create nodes of each registered content type, and of one that a test declares."""

import pytest
from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404

from cms.testing import generated
from cms.testing.editors import fields
from nodes import content
from nodes.actions import CreateNode, SaveNode
from nodes.services import editing
from tests.rights.world import KINDS, World, body, is_refused, stored
from tests.support.nodes.content import Everything, registered

NAMES = [type.type_name for type in content.types() if not type.is_file] + [Everything.type_name]
SECRET = "zqsecretzq"
ITS_OWN = {"owner", "editor", "administrator"}
WRITERS = {"owner", "author", "editor", "administrator"}
PUBLISHERS = {"editor", "administrator"}


@pytest.fixture(scope="module")
def site(world: World):
    with registered(Everything):
        yield world


def draft(site: World, type: str):
    """Create an unpublished node of the owner, and return its id and its section."""
    section, given = generated.create_parent(type), generated.minimal_values(type)
    text = {"detail.text": f"{SECRET} common", "summary": SECRET}
    made = editing.create(
        site.owner,
        type=type,
        parent_id=section,
        slug=f"d-{ObjectId()}",
        title=f"{SECRET} {type}",
        fields={**given, **text},
    )
    return made.id, section


@pytest.mark.parametrize("type", NAMES)
def test_draft_is_changed_by_the_right_accounts(site, type):
    node_id, _section = draft(site, type)
    for kind in KINDS:
        before = stored(node_id)
        seen = before["metadata"]["nonce"]
        action = SaveNode(user=site.user(kind), node_id=node_id, seen=seen, fields={"title": f"{SECRET} by {kind}"})
        if kind in ITS_OWN:
            action.execute()
            assert stored(node_id)["metadata"]["title"] == f"{SECRET} by {kind}"
        else:
            with pytest.raises(Http404):
                action.execute()
            assert stored(node_id) == before, kind


@pytest.mark.parametrize("type", NAMES)
def test_node_is_created_by_the_right_accounts(site, type):
    place = {"title": "New", "slug": "", "parent_id": generated.create_parent(type)}
    for kind in KINDS:
        action = CreateNode(user=site.user(kind), type=type, fields={**place, **generated.minimal_values(type)})
        if kind in (PUBLISHERS if content.get(type).is_section else WRITERS):
            assert stored(action.execute().id)["metadata"]["type"] == type
        else:
            with pytest.raises(PermissionDenied):
                action.execute()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("type", NAMES)
def test_form_shows_and_changes_a_draft_of_its_author(site, type):
    node_id, _section = draft(site, type)
    path = f"/admin/nodes/node/{node_id}/change/"
    for kind in ("author", "owner"):
        form = site.ask(kind, path)
        assert is_refused(form) == (kind not in ITS_OWN)
        before = stored(node_id)
        site.ask(kind, path, fields(body(form)) | {"title": f"{SECRET} by {kind}", "_continue": "x"})
        assert (stored(node_id) != before) == (kind in ITS_OWN)
        assert is_refused(site.ask("author", f"/admin/nodes/node/add/?type={type}")) == content.get(type).is_section


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("type", NAMES)
def test_readers_cannot_see_a_draft(site, type):
    node_id, section = draft(site, type)
    slug = stored(node_id)["metadata"]["slug"]
    above = f"/{stored(section)['metadata']['slug']}" if section else ""
    for kind in ("anonymous", "author"):
        page = site.ask(kind, f"{above}/{slug}")
        assert page.status_code == 404
        for where in (page, *(site.ask(kind, path) for path in ("/search?q=common", "/", above or "/", "/feed/atom"))):
            assert SECRET not in body(where)
