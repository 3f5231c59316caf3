"""Frequent queries, whose plans the doctor checks, and queries that are deliberately sent to all shards."""

from typing import Any

from marginalia.comments.types import State, Verdict
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import HotQuery
from marginalia.mongo.sharding.targeting import Broadcast


def _copy_filter(document: dict[str, Any]) -> dict[str, Any]:
    return {"discussion_id": document["discussion_id"], "epoch": document["epoch"]}


HOT_QUERIES = (
    HotQuery(
        "a page of comments, one document each",
        "comments",
        lambda comment: {
            "filter": {**_copy_filter(comment), "number": {"$gte": comment["number"], "$lte": comment["number"] + 99}},
            "sort": {"number": 1, "posted": 1, "slug": 1},
        },
    ),
    HotQuery(
        "a page of threads, one document each",
        "comments",
        lambda comment: {
            "filter": {**_copy_filter(comment), "full_slug": {"$gt": "", "$lt": "~"}},
            "sort": {"full_slug": 1},
            "limit": 101,
        },
    ),
    HotQuery(
        "a comment by its slug",
        "comments",
        lambda comment: {"filter": {**_copy_filter(comment), "slug": {"$in": [comment["slug"]]}}},
    ),
    HotQuery(
        "a page of comments in buckets",
        "comment_pages",
        lambda bucket: {
            "filter": {**_copy_filter(bucket), "page": {"$gte": bucket["page"], "$lte": bucket["page"]}},
            "sort": {"page": 1},
        },
    ),
    HotQuery(
        "a page of threads in buckets",
        "comment_pages",
        lambda bucket: {"filter": {**_copy_filter(bucket), "until": {"$gt": ""}}, "sort": {"until": 1}, "limit": 2},
    ),
    HotQuery(
        "a comment in its bucket",
        "comment_pages",
        lambda bucket: {"filter": {**_copy_filter(bucket), "comments.slug": {"$in": [bucket["comments"][0]["slug"]]}}},
    ),
    HotQuery(
        "the discussions with the newest comments",
        "discussions",
        lambda discussion: {"filter": {}, "sort": {"newest": -1}, "limit": 10},
        broadcast_because="The newest comments of the whole site are read. Each shard returns its newest.",
    ),
    HotQuery(
        "the discussions of a label",
        "discussions",
        lambda discussion: {"filter": {"label": discussion["label"]}, "sort": {"_id": 1}, "limit": 100},
        broadcast_because="The discussions of a label are on all shards, because their ids begin with a hash.",
    ),
    HotQuery(
        "the discussions of a label with the newest comments",
        "discussions",
        lambda discussion: {"filter": {"label": discussion["label"]}, "sort": {"newest": -1}, "limit": 10},
        broadcast_because="The discussions of a label are on all shards, because their ids begin with a hash.",
    ),
    HotQuery(
        "the oldest pending comments",
        "comments.pending",
        lambda held: {
            "filter": {"state": Verdict.WAITING.value, "lease.until": {"$not": {"$gt": now()}}},
            "sort": {"created": 1, "_id": 1},
            "limit": 1,
        },
        broadcast_because="The queue of the whole site is read. Each shard returns its oldest pending comments.",
    ),
    HotQuery(
        "published comments with a term",
        "comments.catalogue",
        lambda entry: {
            "filter": {"terms": {"$all": entry["terms"][:1]}, "state": State.PUBLIC.value},
            "sort": {"posted": -1, "_id": -1},
            "limit": 50,
        },
        broadcast_because="Moderators search the comments of the whole site. Each shard returns its newest matches.",
    ),
    HotQuery(
        "pending comments that no other moderator has claimed",
        "comments.pending",
        lambda held: {
            "filter": {
                "state": Verdict.WAITING.value,
                "$nor": [{"lease.until": {"$gt": now()}, "lease.by": {"$ne": ""}}],
            },
            "sort": {"created": 1, "_id": 1},
            "limit": 25,
        },
        broadcast_because="The queue of the whole site is read. Each shard returns its oldest pending comments.",
    ),
)


# Queries that are deliberately sent to all shards. docs/internals/operations.md contains the same list.
BROADCASTS = (
    Broadcast(
        "comments", ("author.id",), "An author's comments, which spam rules also count, can be in any discussion."
    ),
    Broadcast("comment_pages", ("comments.author.id",), "An author's comments can be in any discussion."),
    Broadcast(
        "discussions", ("label",), "A model's discussions are on all shards, because their ids begin with a hash."
    ),
    Broadcast(
        "comments.catalogue",
        ("terms",),
        "Moderators search the comments of the whole site, and an author's comments can be in any discussion.",
    ),
    Broadcast(
        "comments.ip_hashes", ("browser",), "A guest's comments, which trust depends on, can be in any discussion."
    ),
    Broadcast("comments.likes", ("who",), "A reader's likes can be in any discussion."),
    Broadcast("comments.pending", ("_id",), "Moderators and authors identify a pending comment only by its id."),
    Broadcast(
        "comments.pending",
        ("state",),
        "Moderators review the queue of the whole site. Each shard returns its oldest pending comments.",
    ),
    Broadcast(
        "discussions",
        (),
        "The site lists the newest comments in all discussions. Each shard returns its most recent discussions.",
    ),
)
