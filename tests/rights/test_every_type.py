"""Who may see, change and make nodes of each content type that is registered, and of one that a test declares."""

import pytest
from bson import ObjectId

from nodes import content
from nodes.services import editing
from tests.rights.world import KINDS, NOT_TOLD, World, body, is_refused, stored
from tests.support.nodes import valid
from tests.support.nodes.content import Everything, registered
from tests.support.nodes.editors import fields

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
    """Make a node that is not published, by the person who is called its owner; return its id, and where it stands."""
    section, given = valid.create_parent(type), valid.minimal_values(type)
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
def test_who_sees_and_changes_a_draft(site, type):
    node_id, section = draft(site, type)
    slug = stored(node_id)["metadata"]["slug"]
    holder = f"/{stored(section)['metadata']['slug']}" if section else ""
    for kind in KINDS:
        form, page = site.ask(kind, f"/admin/nodes/node/{node_id}/change/"), site.ask(kind, f"{holder}/{slug}")
        assert page.status_code == 404, kind
        assert SECRET not in body(page)
        assert (not is_refused(form)) == (kind in ITS_OWN), kind
        before = stored(node_id)
        sent = fields(body(form)) | {"title": f"{SECRET} by {kind}", "_continue": "x"}
        site.ask(kind, f"/admin/nodes/node/{node_id}/change/", sent)
        assert (stored(node_id) != before) == (kind in ITS_OWN), kind
        if kind in NOT_TOLD:
            for where in ("/search?q=common", "/", holder or "/", "/feed/atom"):
                assert SECRET not in body(site.ask(kind, where)), where


@pytest.mark.parametrize("type", NAMES)
def test_who_makes_one(site, type):
    may = PUBLISHERS if content.get(type).is_section else WRITERS
    answered = {kind for kind in KINDS if not is_refused(site.ask(kind, f"/admin/nodes/node/add/?type={type}"))}
    assert answered == may
