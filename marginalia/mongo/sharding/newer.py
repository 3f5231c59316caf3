"""What newer versions of MongoDB have for a cluster, as commands for mongosh. None of it is tested: no such server is here."""

from collections.abc import Iterator, Sequence

from marginalia.mongo.collections import stored
from marginalia.mongo.connection import database
from marginalia.mongo.sharding.ranges import spelled

# What stands for a shard's name where none was given.
ANY = "SHARD"


def mongosh(shards: Sequence[str] = ()) -> Iterator[str]:
    """Yield commands, with comments, that move what stays unsharded to these shards in turn, and tell how the keys route."""
    every = [(f"{database(item.alias).name}.{item.collection.name}", item.collection) for item in stored()]
    names = list(shards) or [ANY]
    yield f"\n// MongoDB 8.0, untested: what stays on one shard, on another than the first (its name for {ANY})."
    for number, name in enumerate(name for name, one in every if one.shard_key is None and one.is_busy):
        yield f"db.adminCommand({spelled({'moveCollection': name, 'toShard': names[number % len(names)]})})"
    yield "// MongoDB 7.0, untested: sample queries for a day, then see how the keys route them; then mode “off”."
    for name, one in every:
        if one.shard_key:
            sampled = {"configureQueryAnalyzer": name, "mode": "full", "samplesPerSecond": 5}
            yield f"db.adminCommand({spelled(sampled)})"
            yield f"db.adminCommand({spelled({'analyzeShardKey': name, 'key': dict(one.shard_key.keys)})})"
