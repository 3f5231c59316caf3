"""Validators for the documents of discussions. MongoDB rejects documents that don't match."""

from marginalia.comments.types import BatchState, Kind, Order, State, TermKind, Verdict
from marginalia.mongo.schemas import (
    ANYTHING,
    BOOLEAN,
    DATE,
    ID,
    INTEGER,
    TEXT,
    Schema,
    array_of,
    document,
    either,
    one_of,
    optional,
)

_AUTHOR = document(
    {"id": optional(TEXT), "name": TEXT, "url": TEXT},
    {"email": TEXT, "moderator": BOOLEAN, "picture": TEXT, "extra": document({})},
)
_PLACED: dict[str, Schema] = {
    "slug": TEXT,
    "full_slug": TEXT,
    "number": INTEGER,
    "posted": DATE,
    "parent_id": optional(TEXT),
    "answers": optional(TEXT),
    "kind": one_of(*Kind),
    "author": _AUTHOR,
    "source": TEXT,
    "html": TEXT,
    "said": TEXT,
    "edited": optional(DATE),
    "rev": INTEGER,
    "change": optional(ID),
    "op": optional(TEXT),
}
_IN_DISCUSSION: dict[str, Schema] = {"discussion_id": TEXT, "epoch": INTEGER}
_COMMENT: dict[str, Schema] = _PLACED | {"state": one_of(*State)}
# The name of a storage layout. Any name is accepted, because projects can register their own layouts.
_LAYOUT = TEXT
_ORDER = one_of(*Order)

DISCUSSION = document(
    {
        "_id": TEXT,
        "label": TEXT,
        "schema": _LAYOUT,
        "order": _ORDER,
        "bucket": INTEGER,
        "state": one_of("open", "closed"),
        "epoch": INTEGER,
        "last_epoch": INTEGER,
        "version": ID,
        "count": INTEGER,
        "last_number": INTEGER,
        "last_posted": DATE,
        "newest": DATE,
        "claims": array_of(
            document(
                {
                    "op": TEXT,
                    "slug": TEXT,
                    "kind": TEXT,
                    "number": optional(INTEGER),
                    "change": ID,
                    "posted": DATE,
                    "at": DATE,
                    "delta": INTEGER,
                    "rev": INTEGER,
                }
            )
        ),
        "touched": array_of(document({"slug": TEXT, "id": ID})),
        "moving": optional(
            document(
                {"id": ID, "to": _LAYOUT, "order": _ORDER, "renumber": BOOLEAN, "beat": DATE, "epoch": INTEGER},
                {"gate": optional(DATE), "done": INTEGER},
            )
        ),
        "leftovers": array_of(document({"schema": _LAYOUT, "order": _ORDER, "epoch": INTEGER, "due": DATE})),
    },
    {
        "restrictions": document(
            {},
            {
                "slow_seconds": INTEGER,
                "hold_until": optional(DATE),
                "hours": optional(array_of(INTEGER)),
                "pinned": TEXT,
                "locked": array_of(TEXT),
            },
        ),
        "has_likes": BOOLEAN,
    },
)
COMMENT = document(_IN_DISCUSSION | _COMMENT)
# `page` is a number in chronological buckets, and a full slug in threaded buckets. The validator does not check the
# comments in the array. Otherwise, MongoDB would validate all comments in the bucket (about 90) each time a comment is
# posted, which takes about 0.3 ms (benchmarks/validators).
BUCKET = document(
    _IN_DISCUSSION | {"page": either(INTEGER, TEXT), "count": INTEGER, "comments": array_of(ANYTHING)}, {"until": TEXT}
)
EMBEDDING = document({}, {"comments_epoch": INTEGER, "comments": array_of(ANYTHING)})
PENDING = document(
    _PLACED
    | {
        "discussion_id": TEXT,
        "state": one_of(*Verdict),
        "created": DATE,
        "reasons": array_of(TEXT),
        "decided_by": TEXT,
        "decided": optional(DATE),
    },
    {
        "lease": document({"by": TEXT, "until": DATE}),
        "edits": INTEGER,
        "settled": BOOLEAN,
        "terms": array_of(TEXT),
        "batch": ID,
    },
)
HISTORY = document(
    _PLACED | {"_id": ID, "discussion_id": TEXT, "state": one_of(*State), "at": DATE, "by": TEXT},
)
CATALOGUE = document(
    {
        "discussion_id": TEXT,
        "slug": TEXT,
        "posted": DATE,
        "rev": INTEGER,
        "state": one_of(*State),
        "terms": array_of(TEXT),
    },
    {"batch": ID, "verdict": one_of(*Verdict)},
)
BATCH = document(
    {
        "by": TEXT,
        "created": DATE,
        "verdict": one_of(Verdict.SPAM, Verdict.REJECTED, Verdict.APPROVED),
        "what": TEXT,
        "state": one_of(*BatchState),
        "total": INTEGER,
        "skipped": INTEGER,
        "restored": INTEGER,
        "lease": document({"by": optional(ID), "until": DATE}),
    },
    {"selection": document({}), "ended": DATE, "undone_by": TEXT, "origin": TEXT},
)
FLAGS = document(
    {"_id": TEXT, "discussion_id": TEXT, "slug": TEXT, "who": array_of(TEXT), "count": INTEGER, "last": DATE}
)
LIKE = document({"discussion_id": TEXT, "slug": TEXT, "who": TEXT, "at": DATE})
LIKE_COUNT = document({"discussion_id": TEXT, "slug": TEXT, "count": INTEGER, "imported": INTEGER})
SUBSCRIPTION = document(
    {"_id": TEXT, "discussion_id": TEXT, "email": TEXT, "slugs": array_of(TEXT), "confirmed": optional(DATE)},
    {"asked": DATE},
)
FEATURE = document({"_id": TEXT, "at": DATE}, {"spam": INTEGER, "approved": INTEGER})
LESSON = document({"_id": TEXT, "kind": one_of("spam", "approved", ""), "at": DATE}, {"before": TEXT, "call": ID})
# Older versions also stored `likes`.
IMPORTED = document({"_id": TEXT, "discussion_id": TEXT, "slug": TEXT, "dislikes": INTEGER}, {"likes": INTEGER})
ERASURE = document({"_id": TEXT, "at": DATE})
IP_HASH = document(
    {"discussion_id": TEXT, "slug": TEXT, "ip_hash": TEXT, "at": DATE}, {"networks": array_of(TEXT), "browser": TEXT}
)
BAN = document(
    {
        "term": TEXT,
        "kind": one_of(*TermKind),
        "value": TEXT,
        "reason": TEXT,
        "by": TEXT,
        "created": DATE,
        "expires": optional(DATE),
        "words": array_of(TEXT),
    }
)
