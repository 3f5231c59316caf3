"""What the doctor asks of comments: hot queries, writers and converters that never came back, counts that are off."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from comments import conf
from comments.operations import maintenance
from comments.types import Target, Verdict
from mongo import jobs
from mongo.clock import now
from mongo.doctor import ADVICE, ERROR, WARNING, Examination, Finding, HotQuery, check
from mongo.sharding.targeting import Broadcast

# Discussions that are read whole, of at most so many comments each, in search of a count that is off.
AUDITED, LONGEST = 100, 2_000
NAMED = 3
# How long a job may be due, and a claim or a conversion be open, before what is to do it counts as dead.
LATE = timedelta(minutes=10)
# A worker says each minute that it runs.
SILENT = timedelta(minutes=3)
DAMAGE = "comments-damaged"
# Kinds of Fault → names of findings; what is missing here has a finding of its own, or is being put right.
_FAULTS = {
    "count": "counter-drift",
    "numbers": "counter-drift",
    "form": DAMAGE,
    "comment": DAMAGE,
    "damaged": DAMAGE,
    "copies": "copies-left",
}


def _of(document: dict[str, Any]) -> dict[str, Any]:
    return {"discussion_id": document["discussion_id"], "epoch": document["epoch"]}


HOT_QUERIES = (
    HotQuery(
        "a page of comments, one document each",
        "comments",
        lambda comment: {
            "filter": {**_of(comment), "number": {"$gte": comment["number"], "$lte": comment["number"] + 99}},
            "sort": {"number": 1, "posted": 1, "slug": 1},
        },
    ),
    HotQuery(
        "a page of threads, one document each",
        "comments",
        lambda comment: {
            "filter": {**_of(comment), "full_slug": {"$gt": "", "$lt": "~"}},
            "sort": {"full_slug": 1},
            "limit": 101,
        },
    ),
    HotQuery(
        "a comment by its slug",
        "comments",
        lambda comment: {"filter": {**_of(comment), "slug": {"$in": [comment["slug"]]}}},
    ),
    HotQuery(
        "a page of comments in buckets",
        "comment_pages",
        lambda bucket: {
            "filter": {**_of(bucket), "page": {"$gte": bucket["page"], "$lte": bucket["page"]}},
            "sort": {"page": 1},
        },
    ),
    HotQuery(
        "a page of threads in buckets",
        "comment_pages",
        lambda bucket: {"filter": {**_of(bucket), "until": {"$gt": ""}}, "sort": {"until": 1}, "limit": 2},
    ),
    HotQuery(
        "a comment in its bucket",
        "comment_pages",
        lambda bucket: {"filter": {**_of(bucket), "comments.slug": {"$in": [bucket["comments"][0]["slug"]]}}},
    ),
    HotQuery(
        "the discussions with the newest comments",
        "discussions",
        lambda discussion: {"filter": {}, "sort": {"newest": -1}, "limit": 10},
        broadcast_because="The newest comments of the whole site: each shard gives its newest.",
    ),
    HotQuery(
        "what waits longest for a moderator",
        "comments.pending",
        lambda held: {
            "filter": {"state": Verdict.WAITING.value, "lease.until": {"$not": {"$gt": now()}}},
            "sort": {"created": 1, "_id": 1},
            "limit": 1,
        },
    ),
    HotQuery(
        "the job that is due first",
        jobs.COLLECTION,
        lambda job: {
            "filter": {"state": jobs.WAITING, "due": {"$lte": now()}},
            "sort": {"due": 1, "_id": 1},
            "limit": 1,
        },
    ),
)


# What asks every shard by intent; docs/how-to/scale-out.md has the same list.
BROADCASTS = (
    Broadcast(
        "comments", ("author.id",), "One author's comments lie in any discussion; so do those that the rules count."
    ),
    Broadcast("comment_pages", ("comments.author.id",), "One author's comments lie in any discussion."),
    Broadcast(
        "discussions",
        (),
        "The newest comments of the whole site: each shard gives the discussions that were written to last.",
    ),
)


@check
def stale_claims(examination: Examination) -> Iterator[Finding]:
    """Writers that announced a comment and never came back."""
    if examination.alias != conf.database_alias():
        return
    due = now() - LATE
    for found in examination.db.discussions.find({"claims.at": {"$lt": due}}, {"_id": 1}).limit(NAMED):
        message = f"{found['_id']} has claims of writers that never came back."
        yield Finding(WARNING, "stale-claim", "discussions", message, "manage.py check_comments --fix")


@check
def stale_leases(examination: Examination) -> Iterator[Finding]:
    """Converters and workers that died, jobs that no worker does."""
    if examination.alias != conf.database_alias():
        return
    unheard = now() - LATE
    for found in examination.db.discussions.find({"moving.beat": {"$lt": unheard}}, {"moving.to": 1}).limit(NAMED):
        message = f"The conversion of {found['_id']} to {found['moving']['to']} has stopped."
        fix = f"manage.py convert_comments --discussion {found['_id']} --to {found['moving']['to']}"
        yield Finding(WARNING, "stale-lease", "discussions", message, fix)
    if not jobs.is_tended(SILENT, alias=examination.alias):
        message = "No worker runs: mails are not sent, and what crashes leave behind waits."
        yield Finding(WARNING, "no-worker", jobs.WORKERS, message, "Run manage.py work beside the site.")
    stored = examination.db[jobs.COLLECTION]
    if stored.find_one({"state": jobs.RUNNING, "due": {"$lt": now() - LATE}}):
        message = "A worker died over a job, and no other has taken it."
        yield Finding(WARNING, "stale-lease", jobs.COLLECTION, message, "Run manage.py work.")
    if stored.find_one({"state": jobs.WAITING, "due": {"$lt": now() - LATE}}):
        message = f"Jobs have been due for more than {LATE.seconds // 60} minutes."
        yield Finding(WARNING, "jobs-waiting", jobs.COLLECTION, message, "Run manage.py work.")
    if stored.find_one({"state": jobs.FAILED}):
        message = "Some jobs failed for good."
        fix = "manage.py work --failed lists them, --retry-failed tries again."
        yield Finding(ADVICE, "jobs-failed", jobs.COLLECTION, message, fix)


@check
def discussions_gone(examination: Examination) -> Iterator[Finding]:
    """Comments whose discussion's document is gone: readers no longer find them."""
    if examination.alias != conf.database_alias():
        return
    for name in ("comments", "comment_pages"):
        if name not in examination.existing:
            continue
        grouped: list[dict[str, Any]] = [*examination.part_of(name), {"$group": {"_id": "$discussion_id"}}]
        ids = [found["_id"] for found in examination.db[name].aggregate(grouped)]
        there = {found["_id"] for found in examination.db.discussions.find({"_id": {"$in": ids}}, {"_id": 1})}
        if missing := sorted(str(discussion_id) for discussion_id in ids if discussion_id not in there):
            message = f"The discussions of {len(missing)} targets are gone, and their comments are there: "
            fix = "Restore discussions from a backup, or what was deleted on purpose: run its deletion again."
            yield Finding(ERROR, "discussion-gone", name, message + ", ".join(missing[:NAMED]) + ".", fix)


@check
def counters(examination: Examination) -> Iterator[Finding]:
    """Discussions count what they have; a sample of those that can be read quickly is read whole."""
    if examination.alias != conf.database_alias():
        return
    short: list[dict[str, Any]] = [
        *examination.part_of("discussions", AUDITED),
        {"$match": {"count": {"$not": {"$gt": LONGEST}}, "last_number": {"$not": {"$gt": LONGEST}}}},
        {"$limit": AUDITED},
        {"$project": {"_id": 1}},
    ]
    for document in examination.db.discussions.aggregate(short):
        for fault in maintenance.faults(Target.parse(document["_id"])):
            if name := _FAULTS.get(fault.kind):
                fix = "manage.py check_comments" + (" --fix" if fault.mendable else ", and restore from a backup")
                yield Finding(WARNING, name, "discussions", f"{fault.discussion_id}: {fault.what}.", fix)
