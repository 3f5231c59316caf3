"""The models read what the services wrote, through the ORM and from raw documents, alike."""

import pytest

from cms.testing.build import node
from marginalia.mongo.clock import now
from marginalia.mongo.models import WrittenByServices
from nodes.models import Node
from nodes.selectors import stored_nodes
from tests.support.commands import explain, stages


def test_orm_and_selector_read_the_same(mongo):
    folder = node("folder", "folder")
    node_id = node(slug="page", parent=folder, text="Hello", tags=("a",))
    by_orm, by_selector = Node.objects.get(pk=node_id), stored_nodes.get(node_id)
    for name in ("type", "slug", "title", "created", "published", "expires", "tags", "parent_id", "nonce"):
        assert getattr(by_orm.metadata, name) == getattr(by_selector.metadata, name), name
    assert by_orm.metadata.detail.text == by_selector.metadata.detail.text == "Hello"
    assert by_orm.metadata.author.name == by_selector.metadata.author.name == "Ann"
    assert by_orm.is_live(now())
    assert by_orm.get_absolute_url() == "/folder/page"


def test_orm_filters_by_index(mongo, commands):
    node(slug="page")
    with commands.recorded():
        assert list(Node.objects.filter(metadata__type="basic-page").order_by("-metadata__published")[:5])
    found = stages(explain(mongo, commands.sent[0]))
    assert "IXSCAN" in found
    assert "SORT" not in found


def test_orm_never_writes_nodes(mongo):
    node(slug="page")
    shown = Node.objects.get()
    with pytest.raises(WrittenByServices):
        shown.save()
    with pytest.raises(WrittenByServices):
        shown.delete()
    with pytest.raises(WrittenByServices):
        Node.objects.update(pk=None)
    with pytest.raises(WrittenByServices):
        Node.objects.all().delete()
