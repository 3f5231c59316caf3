"""The auditor of the trials, with errors that it must find, because a blind auditor would pass every trial."""

import pytest

from cms.testing import build
from marginalia.comments.moderation import pending
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor, Target
from nodes.services import editing
from nodes.types import Actor, TagChange
from tests.faults.harness.auditor import Audit
from tests.faults.harness.content import PARAGRAPHS, Content
from tests.faults.harness.ledger import Asked, Ledger, Picture, Window
from tests.faults.harness.pictures import png
from tests.support.nodes.photo_build import gallery, replace, upload

ANN = Actor(None, "Ann")
TEXTS = ("first", "second", "third")


@pytest.fixture
def audited(mongo):
    """A site with a few acknowledged things of each kind, and a function that audits it and returns the errors."""
    page, discussed, moderated = (build.node(slug=slug, text=PARAGRAPHS) for slug in ("shared", "open", "held"))
    ledger, key = Ledger(), (str(page), "ann")
    for number in (1, 2, 3):
        text = PARAGRAPHS.replace("ann 0", f"ann {number}")
        editing.save(ANN, page, build.nonce(page), {"detail.text": text})
        ledger.saved[key].append(number)
    ledger.typed[key] = 3
    editing.change_tags(page, TagChange(frozenset({"there"}), frozenset()))
    ledger.tags[str(page)] = [("there", True), ("gone", True), ("gone", False)]
    target = Target("nodes.node", str(discussed))
    for text in TEXTS:
        posted = comments.post(target, author=CommentAuthor("Ann"), source=text, token=text * 4)
        ledger.posted[text] = (str(discussed), {posted.comment.slug})
        ledger.written.add(text)
    waiting = [
        comments.hold(
            Target("nodes.node", str(moderated)), author=CommentAuthor("Bob"), source=text, token=text * 4
        ).held.id
        for text in ("yes", "no")
    ]
    ledger.written |= {"yes", "no"}
    ledger.held = dict.fromkeys(("yes", "no"), str(moderated))
    pending.approve(waiting[0], by="")
    pending.reject(waiting[1], by="")
    ledger.approved, ledger.rejected = {waiting[0]: ""}, {waiting[1]}
    photo = upload(gallery(), png(1), "1.png")
    replace(photo, png(2))
    ledger.photos[str(photo)] = [Picture(1, acknowledged=True), Picture(2, acknowledged=True)]
    content = Content(str(page), "/shared", "", str(discussed), "/open", str(moderated), "", "/gallery")

    def audit():
        ledger.wrong.clear()
        Audit(mongo, content, ledger).all(swept=True)
        return ledger.wrong

    audit.ledger, audit.page = ledger, page
    assert audit() == []
    return audit


@pytest.fixture
def short(audited, mongo, settings):
    """A discussion embedded in its target, with three acknowledged comments: `_id` and slugs."""
    settings.COMMENTS = {**settings.COMMENTS, "TARGETS": {"nodes.node": {"LAYOUT": "embedded"}}}
    node = build.node(slug="short")
    target = Target("nodes.node", str(node))
    for text in ("brief", "terse", "curt"):
        posted = comments.post(target, author=CommentAuthor("Ann"), source=text, token=text * 5)
        audited.ledger.posted[text] = (str(node), {posted.comment.slug})
        audited.ledger.written.add(text)
    audited.ledger.short[str(node)] = False
    assert mongo.discussions.find_one({"_id": target.id})["schema"] == "embedded"
    assert audited() == []
    return node


def only(found, part):
    assert found
    assert all(part in sentence for sentence in found), found


def test_lost_and_duplicate_comments_are_found(audited, mongo):
    document = mongo.comments.find_one({"source": "second"})
    mongo.comments.delete_one({"_id": document["_id"]})
    only(audited(), "a comment is there 0 times: second")
    mongo.comments.insert_one(document)
    del document["_id"]
    mongo.comments.insert_one({**document, "slug": "a" * 16, "full_slug": document["full_slug"] + "a", "number": 99})
    assert any("there 2 times: second" in sentence for sentence in audited())


def test_misplaced_and_unknown_comments_are_found(audited, mongo):
    audited.ledger.posted["first"][1].clear()
    audited.ledger.posted["first"][1].add("b" * 16)
    audited.ledger.written.discard("third")
    found = audited()
    assert any("not where its author was sent: first" in sentence for sentence in found)
    assert any("from nowhere: ['third']" in sentence for sentence in found)


def test_embedded_comments_are_audited(audited, short, mongo):
    mongo["cms.nodes"].update_one({"_id": short}, {"$pull": {"comments": {"source": "terse"}}})
    only(audited(), "a comment is there 0 times: terse")
    curt = mongo["cms.nodes"].find_one({"_id": short})["comments"][-1]
    mongo["cms.nodes"].update_one({"_id": short}, {"$push": {"comments": curt}})
    found = audited()
    assert any("there 2 times: curt" in sentence for sentence in found)
    assert "a number was given twice" in found


def test_lost_discussion_is_found(audited, short, mongo):
    """Comments of a copy other than the current one don't count."""
    mongo["cms.nodes"].update_one({"_id": short}, {"$inc": {"comments_epoch": 1}})
    assert len(audited()) == 3
    mongo["cms.nodes"].update_one({"_id": short}, {"$inc": {"comments_epoch": -1}})
    assert audited() == []
    mongo.discussions.delete_one({"_id": Target("nodes.node", str(short)).id})
    assert len(audited()) == 3


def test_undone_decisions_are_found(audited, mongo):
    mongo["comments.pending"].update_one({"source": "no"}, {"$set": {"state": "waiting"}})
    only(audited(), "a rejected comment is waiting")
    mongo["comments.pending"].update_one({"source": "no"}, {"$set": {"state": "rejected"}})
    mongo.comments.delete_one({"source": "yes"})
    only(audited(), "an approved comment is approved: yes")


def test_lost_and_undone_saves_are_found(audited, mongo):
    editing.save(ANN, audited.page, build.nonce(audited.page), {"detail.text": PARAGRAPHS.replace("ann 0", "ann 1")})
    found = audited()
    assert any("done twice or undone" in sentence for sentence in found)
    assert any("saved 3, the page says 1" in sentence for sentence in found)
    audited.ledger.saved[str(audited.page), "ann"].append(4)
    assert any("are lost: [4]" in sentence for sentence in audited())


def test_lost_tag_is_found(audited, mongo):
    editing.change_tags(audited.page, TagChange(frozenset({"gone"}), frozenset({"there"})))
    only(audited(), "['there', 'gone']")


def test_incomplete_and_outdated_photos_are_found(audited, mongo):
    (photo,) = audited.ledger.photos
    audited.ledger.photos[photo].append(Picture(3, acknowledged=True))
    only(audited(), "shows none of what it may show")
    audited.ledger.photos[photo][-1] = Picture(3, acknowledged=False)
    assert audited() == []
    mongo["cms.assets.chunks"].update_many({"n": 0}, [{"$set": {"data": b"x"}}])
    only(audited(), "half there")


def test_lost_and_unknown_photos_are_found(audited, mongo):
    (photo,) = audited.ledger.photos
    known = audited.ledger.photos.pop(photo)
    only(audited(), "not sent, or twice")
    audited.ledger.photos["0" * 24] = known
    audited.ledger.unanswered.append(2)
    only(audited(), "photos are lost")


def test_errors_are_excused_only_during_a_fault(audited):
    ledger = audited.ledger
    ledger.windows.append(Window("a fault", 10.0, 20.0))
    for began, ended in ((1, 9), (5, 11), (12, 13), (19, 25), (21, 22)):
        ledger.asked.append(Asked("reads", "/", began, ended, 503))
    ledger.asked.append(Asked("reads", "/", 1, 2, 404))
    assert [one.began for one in ledger.unexcused()] == [1, 21]


def test_comment_that_others_crowded_out_needs_no_excuse():
    ledger = Ledger(asked=[Asked("posts", "/comments/post", 1, 2, 503, is_refused=True)])
    assert ledger.unexcused() == []
