"""Shard keys: declared keys compared with those of mongos, and the commands that mongos can send to few shards."""

from marginalia.mongo.sharding.keys import (
    CannotShard,
    Statement,
    apply,
    distribution,
    is_mongos,
    plan,
    shard_key_problems,
    unsharded,
)

__all__ = ["CannotShard", "Statement", "apply", "distribution", "is_mongos", "plan", "shard_key_problems", "unsharded"]
