"""Shard keys, declared against what mongos knows; and which commands it can send to few shards."""

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
