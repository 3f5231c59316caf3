"""The collections of what editors write; every hot query's index stands here."""

from mongo.collections import Collection, Index, ShardKey

NODES = "cms.nodes"
REVISIONS = "cms.revisions"
REDIRECTS = "cms.redirects"
TRASH = "cms.trash"
SITE = "cms.site"

PLACE = (("metadata.parent_id", 1), ("metadata.slug", 1))


def node_indexes() -> tuple[Index, ...]:
    """Return the indexes that nodes and photos share: the same code queries either."""
    return (
        Index("by_place", PLACE, unique=True),
        # Newest of a section: lists, feeds, archives, previous and next. `expires` lets the index alone decide what is live.
        Index(
            "by_section",
            (("metadata.parent_id", 1), ("metadata.published", -1), ("_id", -1), ("metadata.expires", 1)),
        ),
        Index("by_type", (("metadata.type", 1), ("metadata.published", -1), ("_id", -1), ("metadata.expires", 1))),
        Index("by_tag", (("metadata.tags", 1), ("metadata.published", -1), ("_id", -1))),
    )


COLLECTIONS = (
    Collection(
        NODES,
        (
            *node_indexes(),
            Index("by_updated", (("metadata.updated", -1), ("_id", -1))),
            Index("by_author", (("metadata.author._id", 1), ("metadata.updated", -1))),
            Index("by_draft", (("draft.saved_at", -1),), sparse=True),
        ),
        shard_key=ShardKey(
            PLACE, unique=True, reason="Only a unique shard key keeps (section, slug) unique over shards."
        ),
    ),
    Collection(
        REVISIONS,
        (Index("by_node", (("node_id", 1), ("saved_at", -1))), Index("by_age", (("saved_at", 1),))),
        shard_key=ShardKey((("node_id", 1), ("_id", 1)), reason="A node's history is read together."),
    ),
    Collection(
        REDIRECTS,
        (Index("by_node", (("node_id", 1),)),),
        unsharded_because="Small, and read only where nothing is found.",
    ),
    Collection(
        TRASH,
        (Index("by_trashed", (("trashed_at", -1),)), Index("by_section", (("metadata.parent_id", 1),))),
        unsharded_because="Small: what editors threw away.",
    ),
    Collection(SITE, unsharded_because="One document."),
)
