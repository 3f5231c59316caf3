"""Columns and bulk actions of projects in the list of pages."""

import re
from contextlib import nullcontext

import pytest

from cms.testing.build import node, nonce, save, stored
from cms.testing.editors import fields
from editor.extensions import BulkAction, Column
from nodes.access import NodePermission
from nodes.actions import NodeAction, Tag
from nodes.content import Content
from nodes.types import TagChange
from tests.support.nodes.content import registered
from tests.support.nodes.extensions import Gig, gig_admin

LIST = "/admin/nodes/node/"


@pytest.fixture
def gig(mongo):
    with registered(Gig):
        yield node("gig", "jazz", parent=node("blog", "blog"), **{"detail.hall": "Red/2", "detail.doors": "7 pm"})


class Seats(Column):
    label = "Free <seats>"
    fields = ["seats"]

    def value(self, node, user):
        return node.metadata.detail.seats


def test_column_is_shown_in_the_list_of_its_type_only(gig, editor):
    save(gig, nonce(gig), detail__seats=0)
    ann = editor()
    with gig_admin(columns=[Seats]):
        html = ann.client.get(LIST, {"type": "gig"}).content.decode()
        assert '<th scope="col">Free &lt;seats&gt;</th>' in html
        assert re.search(r"<td>Red/2</td>\s*<td>0</td>", html)
        for other in ({}, {"type": "blog"}, {"type": "nothing"}):
            assert "Free" not in ann.client.get(LIST, other).content.decode()


def test_columns_cost_no_command_per_row(gig, editor, commands):
    asked = []

    class Batched(Seats):
        def values(self, nodes, user):
            asked.append(len(nodes))
            return [f"seats: {node.metadata.detail.seats}" for node in nodes]

    for number in range(9):
        node("gig", f"gig{number}", parent=stored(gig)["parent_id"])
    ann = editor()

    def count(columns):
        with gig_admin(columns=columns) if columns else nullcontext(), commands.recorded():
            html = ann.client.get(LIST, {"type": "gig"}).content.decode()
        return html, len(commands.sent)

    count([])
    _html, without = count([])
    html, with_columns = count([Seats, Batched])
    assert with_columns == without
    assert asked == [10]
    assert html.count("seats: 10") == 10


@pytest.mark.parametrize("values", [lambda self, nodes, user: [1 / 0], lambda self, nodes, user: []])
def test_failing_column_leaves_the_list_usable(gig, editor, values):
    with gig_admin(columns=[type("Broken", (Seats,), {"values": values})]):
        html = editor().client.get(LIST, {"type": "gig"}).content.decode()
    assert "<td>Error</td>" in html
    assert ">Jazz</a>" in html


class Mark(NodeAction):
    """Add a tag."""

    needs = NodePermission.PUBLISH

    def execute(self):
        self.check()
        Tag(user=self.user, node_id=self.node_id, tags=TagChange(added=frozenset({"marked"}))).execute()


class MarkThem(BulkAction):
    label = "Mark"
    action_class = Mark


def run(person, chosen, listed="gig", action="tests.editor.test_own_lists.MarkThem", **more):
    rows = {"chosen": [str(key) for key in chosen], **{f"nonce-{key}": str(nonce(key)) for key in chosen}}
    path = f"{LIST}?type={listed}" if listed else LIST
    return person.client.post(path, {"action": action, **rows, **more}, follow=True).content.decode()


def test_bulk_action_changes_the_selected_pages(gig, editor):
    ann = editor()
    with gig_admin(actions=[MarkThem]):
        assert "Mark</option>" in ann.client.get(LIST, {"type": "gig"}).content.decode()
        assert "“Mark”: 1 page changed." in run(ann, [gig])
    assert stored(gig)["tags"] == ["marked"]


def test_bulk_action_is_offered_for_its_types_only(gig, editor):
    ann, page = editor(), node(slug="other")
    with gig_admin(actions=[MarkThem]):
        for other in ("", "blog"):
            assert "Mark</option>" not in ann.client.get(LIST, {"type": other}).content.decode()
            assert "Select a valid choice" in run(ann, [gig], listed=other)
        html = run(ann, [page, gig])
    assert "available for this type" in html
    assert (stored(page)["tags"], stored(gig)["tags"]) == ([], ["marked"])


def test_bulk_action_for_all_types_is_in_every_list(gig, editor):
    ann, page = editor(), node(slug="other")
    with gig_admin(actions=[MarkThem], content_types=[Content]):
        assert "Mark</option>" in ann.client.get(LIST).content.decode()
        assert "2 pages changed" in run(ann, [page, gig], listed="")


def test_bulk_action_checks_permissions(gig, editor, author):
    save(gig, nonce(gig), author={"_id": author.user.pk, "name": "Jo"}, published=None)
    own = type("Guarded", (MarkThem,), {"permission": "nodes.publish_node", "__module__": __name__})
    with gig_admin(actions=[MarkThem, own]):
        html = author.client.get(LIST, {"type": "gig"}).content.decode()
        assert html.count("Mark</option>") == 1
        assert "have permission to do this" in run(author, [gig])
        assert "Select a valid choice" in run(author, [gig], action="tests.editor.test_own_lists.Guarded")
        assert stored(gig)["tags"] == []
        assert "1 page changed" in run(editor(), [gig], action="tests.editor.test_own_lists.Guarded")


def test_bulk_action_asks_for_confirmation(gig, editor):
    ann = editor()
    name = "tests.editor.test_own_lists.Asks"
    own = type("Asks", (MarkThem,), {"confirmation": "Readers <will> notice.", "__module__": __name__})
    with gig_admin(actions=[own]):
        listed = ann.client.get(LIST, {"type": "gig"}).content.decode()
        assert f'data-asks="publish trash unpublish {name}"' in listed
        asked = run(ann, [gig], action=name)
        assert "Mark: 1 page?" in asked
        assert "Readers &lt;will&gt; notice." in asked
        assert stored(gig)["tags"] == []
        form = fields(asked, "confirm_form")
        assert "1 page changed" in ann.client.post(f"{LIST}?type=gig", form, follow=True).content.decode()
    assert stored(gig)["tags"] == ["marked"]
