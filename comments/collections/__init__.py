"""The MongoDB collections of the comments app, in the database that COMMENTS["DATABASE"] specifies.

Each copy of a discussion has its own `epoch`. Each read filters by epoch, so a page never mixes the current copy with a
copy that a conversion is still writing. The indexes for reading a discussion begin with the discussion's id, so that a
read needs only one range of the index.
"""

from marginalia.comments import conf
from marginalia.comments.backends import layout_classes
from marginalia.comments.collections import schemas
from marginalia.mongo import rate_limit
from marginalia.mongo.collections import Collection, Index, ShardKey, least_hash

DAY = 24 * 60 * 60

# The indexes with which searches, bans and bulk decisions find published and pending comments.
FOUND = (
    # Without the state, so that a change of the state doesn't change a key for each term.
    Index("by_term", (("terms", 1), ("posted", -1), ("_id", -1))),
    Index("by_time", (("state", 1), ("posted", -1), ("_id", -1))),
    Index(
        "by_batch",
        (("batch", 1), ("state", 1), ("discussion_id", 1), ("posted", 1)),
        partial={"batch": {"$exists": True}},
    ),
)
STATIC = (
    Collection(
        "discussions",
        (
            Index("by_newest", (("newest", -1), ("_id", -1))),
            Index("by_label", (("label", 1), ("_id", 1))),
            Index("label_by_newest", (("label", 1), ("newest", -1), ("_id", -1))),
            # The worker reads the following indexes every minute. They are small, because they contain only discussions
            # with claims, with a conversion in progress, or with old copies.
            Index("by_claim", (("claims.at", 1),), sparse=True),
            Index("by_beat", (("moving.beat", 1),), sparse=True),
            Index("by_due", (("leftovers.due", 1),), sparse=True),
        ),
        shard_key=ShardKey((("_id", "hashed"),), reason="one findAndModify per write, always by _id", least=least_hash),
        validator=schemas.DISCUSSION,
        former={"label": None},
    ),
    Collection(
        "comments",
        (
            Index("by_slug", (("discussion_id", 1), ("slug", 1), ("epoch", 1)), unique=True),
            Index("by_number", (("discussion_id", 1), ("epoch", 1), ("number", 1), ("posted", 1), ("slug", 1))),
            Index("by_full_slug", (("discussion_id", 1), ("epoch", 1), ("full_slug", 1))),
            Index("by_author", (("author.id", 1), ("posted", -1)), partial={"author.id": {"$gt": ""}}),
            Index("by_email", (("author.email", 1),), partial={"author.email": {"$gt": ""}}),
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("slug", 1)),
            reason="keeps slugs unique, and limits reads to the shards of one discussion",
            least=str,
        ),
        validator=schemas.COMMENT,
    ),
    Collection(
        "comment_pages",
        (
            Index("by_page", (("discussion_id", 1), ("page", 1), ("epoch", 1)), unique=True),
            Index("by_until", (("discussion_id", 1), ("epoch", 1), ("until", 1))),
            Index("by_comment", (("discussion_id", 1), ("comments.slug", 1))),
            Index("by_number", (("discussion_id", 1), ("epoch", 1), ("comments.number", 1))),
            Index("by_author", (("comments.author.id", 1),)),
            Index("by_email", (("comments.author.email", 1),), sparse=True),
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("page", 1)), reason="a page of comments is one document on one shard", least=str
        ),
        validator=schemas.BUCKET,
    ),
    Collection(
        "comments.pending",
        (
            Index("by_slug", (("discussion_id", 1), ("slug", 1)), unique=True),
            Index("by_number", (("discussion_id", 1), ("state", 1), ("number", 1))),
            Index("by_state", (("state", 1), ("created", 1), ("_id", 1))),
            Index("by_lease", (("state", 1), ("lease.by", 1), ("created", 1), ("_id", 1))),
            Index("by_author", (("author.id", 1),), sparse=True),
            Index("by_email", (("author.email", 1),), sparse=True),
            *FOUND,
            Index("decided_long_ago", (("decided", 1),), expire_after_seconds=30 * DAY),
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("slug", 1)),
            reason="new comments are stored by it; moderators query all shards",
            least=str,
        ),
        validator=schemas.PENDING,
    ),
    Collection(
        "comments.history",
        (
            Index("by_comment", (("discussion_id", 1), ("slug", 1), ("rev", 1))),
            Index("by_author", (("author.id", 1),), sparse=True),
            Index("by_email", (("author.email", 1),), sparse=True),
        ),
        shard_key=ShardKey((("discussion_id", 1), ("slug", 1)), reason="read by comment", least=str),
        validator=schemas.HISTORY,
    ),
    Collection(
        "comments.catalogue",
        (
            Index("by_slug", (("discussion_id", 1), ("slug", 1)), unique=True),
            *FOUND,
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("slug", 1)),
            reason="written with each comment; moderators search all shards",
            least=str,
        ),
        validator=schemas.CATALOGUE,
    ),
    Collection(
        "comments.erasures",
        (Index("kept_for_a_day", (("at", 1),), expire_after_seconds=DAY),),
        validator=schemas.ERASURE,
        unsharded_because="small, and short-lived",
    ),
    Collection(
        "comments.flags",
        (
            Index("by_last", (("last", -1), ("_id", -1))),
            Index("by_discussion", (("discussion_id", 1),)),
            Index("by_reader", (("who", 1),)),
        ),
        validator=schemas.FLAGS,
        unsharded_because="a queue: moderators read the newest comments of the site",
    ),
    Collection(
        "comments.likes",
        (
            Index("by_comment", (("discussion_id", 1), ("slug", 1), ("who", 1)), unique=True),
            Index("by_reader", (("who", 1), ("discussion_id", 1))),
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("slug", 1)), reason="keeps each reader's like of a comment unique", least=str
        ),
        validator=schemas.LIKE,
    ),
    Collection(
        "comments.like_counts",
        (Index("by_comment", (("discussion_id", 1), ("slug", 1)), unique=True),),
        shard_key=ShardKey((("discussion_id", 1), ("slug", 1)), reason="read with a page of comments", least=str),
        validator=schemas.LIKE_COUNT,
    ),
    Collection(
        "comments.subscriptions",
        (
            Index("by_slug", (("discussion_id", 1), ("slugs", 1))),
            Index("by_email", (("email", 1),)),
            Index("never_confirmed", (("asked", 1),), expire_after_seconds=7 * DAY),
        ),
        validator=schemas.SUBSCRIPTION,
        unsharded_because="small: one document per subscriber and discussion",
    ),
    Collection(
        "comments.ip_hashes",
        (
            Index("by_comment", (("discussion_id", 1), ("slug", 1))),
            Index("by_network", (("networks", 1), ("at", -1))),
            Index("by_browser", (("browser", 1), ("at", -1)), partial={"browser": {"$exists": True}}),
            Index("kept_for_a_month", (("at", 1),), expire_after_seconds=30 * DAY),
        ),
        shard_key=ShardKey(
            (("discussion_id", 1), ("slug", 1)), reason="one document per comment, read by comment", least=str
        ),
        validator=schemas.IP_HASH,
    ),
    Collection(
        "comments.features",
        (Index("kept_for_a_year", (("at", 1),), expire_after_seconds=365 * DAY),),
        shard_key=ShardKey((("_id", "hashed"),), reason="always read and counted by _id", least=least_hash),
        validator=schemas.FEATURE,
    ),
    Collection(
        "comments.lessons",
        (Index("kept_for_three_months", (("at", 1),), expire_after_seconds=90 * DAY),),
        shard_key=ShardKey((("_id", "hashed"),), reason="one document per decision, by _id", least=least_hash),
        validator=schemas.LESSON,
    ),
    Collection(
        "comments.imported",
        (Index("by_discussion", (("discussion_id", 1),)),),
        shard_key=ShardKey((("_id", "hashed"),), reason="old permalinks are found by _id", least=least_hash),
        validator=schemas.IMPORTED,
    ),
    Collection(
        "comments.bans",
        (
            Index("by_term", (("term", 1),), unique=True),
            Index("by_kind", (("kind", 1),)),
            Index("by_word", (("words", 1), ("created", -1), ("_id", -1))),
            Index("by_time", (("created", -1), ("_id", -1))),
            Index("by_moderator", (("by", 1),)),
            Index("ended", (("expires", 1),), expire_after_seconds=0),
        ),
        validator=schemas.BAN,
        unsharded_because="small: one document per ban, and every new comment is compared with it",
    ),
    Collection(
        "comments.batches",
        (
            Index("by_time", (("created", -1), ("_id", -1))),
            Index("by_state", (("state", 1), ("lease.until", 1))),
            Index("by_what", (("what", 1),)),
            Index("by_moderator", (("by", 1),)),
            Index("ended_long_ago", (("ended", 1),), expire_after_seconds=30 * DAY),
        ),
        validator=schemas.BATCH,
        unsharded_because="small: one document per bulk decision",
    ),
    *rate_limit.COLLECTIONS,
)


def database_alias() -> str:
    """Return the alias of the connection to these collections."""
    return conf.database_alias()


def collections() -> tuple[Collection, ...]:
    """Return the declarations of the app's collections.

    Also return declarations for collections of other apps in which comments can be embedded.
    """
    layouts = layout_classes().values()
    declared = tuple(collection for layout in layouts for collection in layout.extra_collections)
    configured = (
        (layout, label) for layout in layouts for label in conf.get("TARGETS") if layout.is_configured_for(label)
    )
    embedding = {name for layout, label in configured for name in layout.collections_of(label)}
    return (*STATIC, *declared) + tuple(
        Collection(
            name,
            (
                Index("by_comment_author", (("comments.author.id", 1),), sparse=True),
                Index("by_comment_email", (("comments.author.email", 1),), sparse=True),
            ),
            validator=schemas.EMBEDDING,
            unsharded_because="the app that declares the collection decides",
            shared=True,
        )
        for name in sorted(embedding)
    )
