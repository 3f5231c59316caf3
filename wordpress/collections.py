"""The importer's MongoDB collections: one for old URLs, and one for data that later runs with the same source need."""

from marginalia.mongo.collections import Collection, Index, ShardKey
from marginalia.mongo.schemas import ID, INTEGER, TEXT, array_of, document, one_of

LINKS = "wordpress.links"
PLACE = (("path", 1), ("source", 1))
ITEMS = "wordpress.items"

COLLECTIONS = (
    Collection(
        LINKS,
        (Index("by_path", PLACE, unique=True),),
        shard_key=ShardKey(PLACE, unique=True, reason="Read by the requested path if no page has it."),
        validator=document({"path": TEXT, "source": TEXT, "host": TEXT, "node_id": ID}),
    ),
    Collection(
        ITEMS,
        (Index("by_source", (("source", 1), ("number", 1))),),
        unsharded_because="Only imports read it.",
        validator=document(
            {
                "source": TEXT,
                "number": INTEGER,
                "kind": one_of("post", "page", "attachment", "wp_block"),
                "record": document({}),
            },
            {"waiting": document({"wants": array_of(TEXT)})},
        ),
    ),
)
