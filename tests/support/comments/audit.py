"""Read a discussion's stored documents, and check all invariants of their layout."""

from bson import Int64, ObjectId

from marginalia.comments.backends.catalogue import terms_of
from marginalia.comments.backends.stored import FIELDS
from marginalia.comments.slugs import parent_of, stamp
from marginalia.comments.types import Target
from marginalia.mongo.connection import database


def stored(target: Target, collection: str = "", *, quiet: bool = True, crashed: bool = False) -> list[dict]:
    """Check the stored comments of a discussion, and return them ordered by (number, posted, slug).

    Args:
        target: The target of the discussion.
        collection: The collection that contains the comments, or "" for the layout's own collection.
        quiet: Whether no process is writing, so that there must be no claims and the count must be exact.
        crashed: Whether a writer may have crashed before it split a full bucket, or while it promoted the discussion.
            The next writer will split the bucket, and will end the promotion after its heartbeat has become old.
    """
    db = database()
    discussion = db.discussions.find_one({"_id": target.id})
    if discussion is None:
        return []
    read = {"documents": documents, "embedded": embedded, "buckets": buckets}[discussion["schema"]]
    comments = read(db, discussion, collection, crashed)
    assert len({item["slug"] for item in comments}) == len(comments), "a slug is there twice"
    by_slug = {item["slug"]: item for item in comments}
    for item in comments:
        check(item, by_slug)
    if quiet:
        assert discussion["claims"] == []
        assert discussion["touched"] == [] or (crashed and discussion["moving"])
        assert discussion["count"] == sum(item["state"] == "public" for item in comments)
        check_catalogue(db, target, comments)
    assert discussion["last_number"] >= max((item["number"] for item in comments), default=0)
    return sorted(comments, key=in_time)


def check_catalogue(db, target, comments):
    """Check that each comment has an entry in the catalogue, in the same state and with its terms."""
    entries = {entry["slug"]: entry for entry in db["comments.catalogue"].find({"discussion_id": target.id})}
    assert {slug: (entry["rev"], entry["state"]) for slug, entry in entries.items()} == {
        item["slug"]: (item["rev"], item["state"]) for item in comments
    }
    for item in comments:
        entry = entries[item["slug"]]
        assert entry["posted"] == item["posted"]
        if item["state"] == "public":
            assert entry["terms"] == terms_of(target, item)


def in_time(item):
    return item["number"], item["posted"], item["slug"]


def check(item, by_slug):
    assert set(item) == set(FIELDS)
    assert isinstance(item["number"], (Int64, int))
    assert (item["parent_id"] or "") == parent_of(item["slug"])
    own = f"{stamp(item['posted'])}:{item['slug'][-16:]}"
    prefix = by_slug[item["parent_id"]]["full_slug"] + "/" if item["parent_id"] else ""
    assert item["full_slug"] == prefix + own
    assert item["rev"] >= 1
    if item["state"] == "removed":
        assert (item["source"], item["html"], item["author"]) == ("", "", {"id": None, "name": "", "url": ""})


def documents(db, discussion, collection, crashed):
    comments = list(db.comments.find({"discussion_id": discussion["_id"], "epoch": discussion["epoch"]}))
    for item in comments:
        for name in ("_id", "discussion_id", "epoch"):
            del item[name]
    return comments


def embedded(db, discussion, collection, crashed):
    pk = ObjectId(Target.from_id(discussion["_id"]).pk)
    document = db[collection].find_one({"_id": pk})
    comments = document.get("comments", [])
    assert document.get("comments_epoch") in (discussion["epoch"], None)
    assert comments == sorted(comments, key=in_time)
    return comments


def buckets(db, discussion, collection, crashed):
    query = {"discussion_id": discussion["_id"], "epoch": discussion["epoch"]}
    pages = list(db.comment_pages.find(query).sort("page", 1))
    for bucket in pages:
        assert bucket["count"] == len(bucket["comments"]) > 0
    if discussion["order"] == "threaded":
        ends = [""] + [leaf["until"] for leaf in pages]
        assert [leaf["page"] for leaf in pages] == ends[:-1]
        assert not pages or ends[-1] == "~"
        for leaf in pages:
            keys = [item["full_slug"] for item in leaf["comments"]]
            assert keys == sorted(keys)
            assert all(leaf["page"] <= key < leaf["until"] for key in keys)
            assert leaf["count"] <= discussion["bucket"] * (2 if crashed else 1)
    else:
        for bucket in pages:
            assert bucket["comments"] == sorted(bucket["comments"], key=in_time)
            numbers = {(item["number"] - 1) // discussion["bucket"] + 1 for item in bucket["comments"]}
            assert numbers == {bucket["page"]}
    return [item for bucket in pages for item in bucket["comments"]]
