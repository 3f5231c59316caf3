"""Comments on nodes: which nodes have them, with which policy, and what happens to them with the node."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId
from pymongo.collection import Collection

from cms import comments as ties
from cms.testing import build, photos
from marginalia.comments import targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.operations import maintenance, privacy
from marginalia.comments.posting import policy, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Fault, Order, Target
from marginalia.mongo.clock import now
from nodes.models import stored_site
from nodes.selectors import stored_nodes, stored_photos
from nodes.services import drafts, editing, trash
from nodes.services import site as site_services
from nodes.signals import node_deleted

pytestmark = pytest.mark.usefixtures("mongo")


def target_of(node_id) -> Target:
    return Target("nodes.node", str(node_id))


def change_site(**changes) -> None:
    site_services.save_settings(changes, asdict(stored_site.read().settings))


def policy_of(node_id) -> policy.Policy:
    return policy.policy_for(stored_nodes.get(node_id))


def test_live_node_in_live_sections_is_a_target():
    node_id = build.node("blog-entry", "post", parent=build.node("blog", "news"))
    assert targets.resolve(target_of(node_id)).pk == node_id


@pytest.mark.parametrize("published", [None, datetime(2999, 1, 1, tzinfo=UTC)])
def test_hidden_nodes_and_their_contents_are_no_targets(published):
    blog = build.node("blog", "news", published=published)
    inside = build.node("blog-entry", "post", parent=blog)
    for node_id in (blog, inside):
        with pytest.raises(TargetNotFound):
            targets.resolve(target_of(node_id))


def test_policy_of_a_node_overrides_section_and_site():
    blog = build.node("blog", "news")
    plain = build.node("blog-entry", "plain", parent=blog)
    assert policy_of(plain).mode == "hold-first"
    change_site(comment_policy="open")
    assert policy_of(plain).mode == "open"
    strict = build.node("blog", "strict", **{"detail.comments": "members"})
    assert policy_of(build.node("blog-entry", "inside", parent=strict)).mode == "members"
    assert policy_of(build.node("blog-entry", "own", parent=strict, **{"detail.comments": "closed"})).mode == "closed"


def test_sections_and_the_site_say_how_many_comments_need_approval(settings):
    settings.COMMENTS = {**settings.COMMENTS, "TRUST_AFTER": 3}
    post = build.node("blog-entry", "post", parent=build.node("blog", "news"))
    photo = photos.upload(build.node("gallery", "photos", **{"detail.trust_after": 0}))
    assert policy_of(post).trust_after == 3
    change_site(comments_trust_after=2)
    assert policy_of(post).trust_after == 2
    strict = build.node("folder", "strict", **{"detail.trust_after": 5})
    inner = build.node("blog", "inner", parent=strict)
    assert policy_of(strict).trust_after == 5
    assert policy_of(build.node("blog-entry", "inside", parent=inner)).trust_after == 5
    assert policy.policy_for(stored_photos.get(photo)).trust_after == 0


def test_page_shows_its_discussion_if_its_editor_says_so(client):
    plain, asked = build.node(slug="plain"), build.node(slug="asked", **{"detail.comments": "open"})
    shut = build.node(slug="shut", **{"detail.comments": "closed"})
    build.node("author", "ann", **{"detail.comments": "open"})

    def shown() -> list[str]:
        return [
            path
            for path in ("/plain", "/asked", "/ann", "/shut")
            if 'id="comments"' in client.get(path).content.decode()
        ]

    assert shown() == ["/asked", "/ann"]
    for node_id in (plain, asked, shut):
        services.post(target_of(node_id), author=CommentAuthor("Bea"), source="Hello", token=str(node_id))
    assert shown() == ["/asked", "/ann", "/shut"]
    assert "Hello" in client.get("/asked").content.decode()
    assert "This discussion is closed." in client.get("/shut").content.decode()


def test_discussions_close_after_the_number_of_days_set():
    blog = build.node("blog", "news")
    old = build.node("blog-entry", "old", parent=blog, published=now() - timedelta(days=8))
    new = build.node("blog-entry", "new", parent=blog, published=now() - timedelta(days=6))
    change_site(comments_close_after_days=7)
    closed = [policy_of(node).is_closed(selectors.discussion(target_of(node))) for node in (old, new)]
    assert closed == [True, False]


def test_discussion_is_deleted_with_its_node():
    target = target_of(build.node("basic-page", "page"))
    services.post(target, author=CommentAuthor("Ann"), source="Hello", token="t")
    node = stored_nodes.get(target.pk)
    node_deleted.send(object, node_id=node.pk, type=node.metadata.type)
    assert selectors.count(target) == 0
    assert ties.live_nodes([node.pk])


@pytest.mark.parametrize(("deleted", "other"), [("basic-page", "nodes.photo"), ("photo", "nodes.node")])
def test_discussion_of_another_model_with_the_same_id_stays(deleted, other):
    """Documents of two collections can have the same id."""
    node_id = ObjectId()
    for label in ("nodes.node", "nodes.photo"):
        services.post(Target(label, str(node_id)), author=CommentAuthor("Ann"), source="Hello", token=label)
    node_deleted.send(object, node_id=node_id, type=deleted)
    left = {label: selectors.count(Target(label, str(node_id))) for label in ("nodes.node", "nodes.photo")}
    assert left == {"nodes.node": 0, "nodes.photo": 0} | {other: 1}


@pytest.fixture
def embedded() -> Target:
    """A post with a discussion converted to its own document."""
    target = target_of(build.node("blog-entry", "post", parent=build.node("blog", "news"), title="Post", text="Text"))
    first = services.post(target, author=CommentAuthor("Ann", id="1"), source="First", token="1").comment
    services.post(target, author=CommentAuthor("Bob", id="2"), source="Answer", token="2", parent=first.slug)
    assert selectors.discussion(target).layout == "documents"
    maintenance.convert(target, "embedded", Order.THREADED)
    assert selectors.discussion(target).layout == "embedded"
    return target


def said(target: Target) -> list[str]:
    return [comment.source for comment in selectors.page(target, order="threaded").comments]


def faults(target: Target) -> tuple[Fault, ...]:
    (found,) = maintenance.select_targets(discussion=str(target))
    return maintenance.faults(found)


def test_edits_of_a_node_keep_its_embedded_comments(mongo, client, embedded):
    node_id, other = ObjectId(embedded.pk), build.node("blog", "other")
    editing.save(build.EDITOR, node_id, build.nonce(node_id), {"title": "Changed", "detail.text": "New text"})
    drafts.save_draft(build.EDITOR, node_id, build.nonce(node_id), {"title": "Drafted"})
    drafts.publish_draft(build.EDITOR, node_id, mongo["cms.nodes"].find_one(node_id)["draft"]["nonce"])
    editing.save(build.EDITOR, node_id, build.nonce(node_id), {"parent_id": other, "slug": "elsewhere"})
    services.post(embedded, author=CommentAuthor("Ann"), source="Last", token="3")
    assert said(embedded) == ["First", "Answer", "Last"]
    assert faults(embedded) == ()
    page = client.get("/other/elsewhere").content.decode()
    assert "Drafted" in page
    assert page.index("First") < page.index("Answer") < page.index("Last")


def test_embedded_comments_are_trashed_and_restored(mongo, embedded):
    node_id = ObjectId(embedded.pk)
    trash.trash(build.EDITOR, node_id, build.nonce(node_id))
    assert said(embedded) == ["First", "Answer"]
    assert faults(embedded) == ()
    services.post(embedded, author=CommentAuthor("Cid"), source="Late", token="4")
    assert len(mongo["cms.trash"].find_one(node_id)["comments"]) == 3
    trash.restore(build.EDITOR, node_id)
    assert said(embedded) == ["First", "Answer", "Late"]
    assert faults(embedded) == ()


def test_author_is_erased_in_the_trash(mongo, embedded):
    node_id = ObjectId(embedded.pk)
    trash.trash(build.EDITOR, node_id, build.nonce(node_id))
    assert [comment.source for comment in selectors.written_by(id="1")] == ["First"]
    assert privacy.erase_author(id="1") == 1
    assert "First" not in str(mongo["cms.trash"].find_one(node_id)["comments"])
    trash.restore(build.EDITOR, node_id)
    assert said(embedded) == ["", "Answer"]


def test_embedded_discussion_in_the_trash_can_be_converted(mongo, embedded):
    node_id = ObjectId(embedded.pk)
    trash.trash(build.EDITOR, node_id, build.nonce(node_id))
    maintenance.convert(embedded, "buckets", Order.THREADED)
    maintenance.convert(embedded, "embedded", Order.OLDEST)
    assert said(embedded) == ["First", "Answer"]
    trash.delete(node_id)
    assert mongo.discussions.count_documents({}) == mongo.comment_pages.count_documents({}) == 0


def test_author_is_erased_in_a_node_being_restored(mongo, embedded, monkeypatch):
    node_id = ObjectId(embedded.pk)
    trash.trash(build.EDITOR, node_id, build.nonce(node_id))
    find, left = Collection.find, [lambda: trash.restore(build.EDITOR, node_id)]

    def restored_after(home, query=None, *args, **options):
        found = find(home, query, *args, **options)
        if not (left and home.name == "cms.nodes" and "comments.author.id" in query):
            return found
        documents = list(found)
        left.pop()()
        return documents

    monkeypatch.setattr(Collection, "find", restored_after)
    assert [comment.source for comment in selectors.written_by(id="1")] == ["First"]
