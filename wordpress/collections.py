"""What an import leaves beside nodes and comments: the old addresses of what it brought."""

from mongo.collections import Collection, Index, ShardKey
from mongo.schemas import ID, TEXT, document

LINKS = "wordpress.links"
PLACE = (("path", 1), ("source", 1))

COLLECTIONS = (
    Collection(
        LINKS,
        (Index("by_path", PLACE, unique=True),),
        shard_key=ShardKey(PLACE, unique=True, reason="Read by the path that was asked for, where nothing is found."),
        validator=document({"path": TEXT, "source": TEXT, "host": TEXT, "node_id": ID}),
    ),
)
