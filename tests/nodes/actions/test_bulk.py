"""The same action on many nodes: each is done or refused by itself, with a reason."""

from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from nodes.actions import PublishListed, SaveNode, SelectedNode, Tag, Trash, execute_all
from nodes.services import drafts
from nodes.types import TagChange
from tests.nodes.actions.conftest import create


def selected(page: ObjectId) -> SelectedNode:
    return SelectedNode(page, nonce(page), stored(page)["title"])


def test_each_refused_node_is_listed_with_its_reason(mongo, author, other_author):
    own = selected(create(author))
    changed = selected(create(author, title="Changed"))
    save(changed.id, changed.nonce, title="By an editor")
    public = selected(create(author, title="Public"))
    save(public.id, public.nonce, published=PAST)
    hidden = selected(create(other_author))
    missing = SelectedNode(ObjectId(), ObjectId(), "Missing")
    nodes = [own, changed, public, hidden, missing]
    summary = execute_all((one, Trash(user=author, node_id=one.id, seen=one.nonce)) for one in nodes)
    assert summary.done == 1
    assert [(refused.selected, refused.reason) for refused in summary.refused] == [
        (changed, "Another editor changed this page while you were editing it."),
        (public, "Your account doesn't have permission to do this."),
        (hidden, "This item no longer exists."),
        (missing, "This item no longer exists."),
    ]
    assert [trashed["_id"] for trashed in mongo["cms.trash"].find()] == [own.id]


def test_refused_fields_and_tags_change_no_node(mongo, author):
    pages = [selected(create(author, title=f"Page {number}")) for number in range(3)]
    dates = execute_all(
        (one, SaveNode(user=author, node_id=one.id, seen=one.nonce, fields={"published": PAST})) for one in pages
    )
    tags = TagChange(added=frozenset({".."}))
    tagged = execute_all((one, Tag(user=author, node_id=one.id, tags=tags)) for one in pages)
    assert (dates.done, tagged.done, len(dates.refused), len(tagged.refused)) == (0, 0, 3, 3)
    assert [stored(one.id)["nonce"] for one in pages] == [one.nonce for one in pages]


def test_listed_node_is_published_as_it_was_shown(mongo, publisher):
    draft, changed, drafted = (node(slug=slug, published=None) for slug in ("draft", "changed", "drafted"))
    public = node(slug="public")
    nodes = [selected(page) for page in (draft, changed, drafted, public)]
    save(changed, nonce(changed), title="Since")
    for page in (drafted, public):
        drafts.save_draft(EDITOR, page, nonce(page), {"title": "Drafted"})
    summary = execute_all((one, PublishListed(user=publisher, node_id=one.id, seen=one.nonce)) for one in nodes)
    assert [refused.selected.id for refused in summary.refused] == [changed, public]
    assert [bool(stored(page)["published"]) for page in (draft, changed, drafted, public)] == [True, False, True, True]
