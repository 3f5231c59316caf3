"""Commands for mongosh that only newer versions of MongoDB have. They are not tested, because no such server was available."""

from collections.abc import Iterator, Sequence

from marginalia.mongo.collections import mongodb_collections
from marginalia.mongo.connection import database
from marginalia.mongo.sharding.ranges import to_mongosh

# Placeholder for a shard's name if none is given.
SHARD_PLACEHOLDER = "SHARD"


def mongosh(shards: Sequence[str] = ()) -> Iterator[str]:
    """Yield commands, with comments, that move unsharded collections to `shards` in turn and analyze the shard keys."""
    declarations = [
        (f"{database(item.alias).name}.{item.collection.name}", item.collection) for item in mongodb_collections()
    ]
    names = list(shards) or [SHARD_PLACEHOLDER]
    yield f"\n// MongoDB 8.0, untested: what stays on one shard, on another than the first (its name for {SHARD_PLACEHOLDER})."
    for number, name in enumerate(
        name for name, declaration in declarations if declaration.shard_key is None and declaration.is_busy
    ):
        yield f"db.adminCommand({to_mongosh({'moveCollection': name, 'toShard': names[number % len(names)]})})"
    yield "// MongoDB 7.0, untested: sample queries for a day, then see how the keys route them; then mode “off”."
    for name, declaration in declarations:
        if declaration.shard_key:
            sampled = {"configureQueryAnalyzer": name, "mode": "full", "samplesPerSecond": 5}
            yield f"db.adminCommand({to_mongosh(sampled)})"
            yield f"db.adminCommand({to_mongosh({'analyzeShardKey': name, 'key': dict(declaration.shard_key.keys)})})"
