"""Sharding: plans that apply the declared shard keys, and checks that show which shards mongos sends a command to."""

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
