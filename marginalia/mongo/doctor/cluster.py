"""Checks of a sharded cluster, run through mongos: the balancer, jumbo chunks, and reachable shards."""

from collections.abc import Iterator, Mapping
from typing import Any

from pymongo.database import Database

from marginalia.mongo import sharding
from marginalia.mongo.connection import Document, client
from marginalia.mongo.doctor.findings import ADVICE, ERROR, WARNING, Examination, Finding, check

# Maximum number of jumbo chunks to count.
MAX_JUMBO_CHUNKS = 1_000


@check
def shards(examination: Examination) -> Iterator[Finding]:
    """Check that the balancer is on, that every chunk can be moved, and that every shard has a reachable primary."""
    if not sharding.is_mongos(examination.alias):
        return
    server = client(examination.alias)
    where = examination.alias
    if not is_balancing(server["config"]):
        message = "The balancer is off, so data may become unevenly distributed."
        yield Finding(ADVICE, "balancer-off", where, message, "Run sh.startBalancer() in mongosh.")
    for namespace, number in jumbo_chunks(server["config"]).items():
        message = f"{number} chunks are marked as jumbo, so the balancer doesn't move them."
        fix = "Run sh.status() in mongosh to list them. Use sh.splitAt() to split chunks that contain several keys."
        yield Finding(WARNING, "chunk-jumbo", namespace, message, fix)
    for shard in unreachable_shards(server["config"], server.admin.command("connPoolStats")):
        message = "This shard has no reachable primary, so its data can't be read or written."
        yield Finding(ERROR, "shard-unreachable", shard, message, "Start its members, or fix the network to them.")


def is_balancing(config: Database[Document]) -> bool:
    """Return whether the balancer is on, according to the cluster's `config` database."""
    settings = config["settings"].find_one({"_id": "balancer"}) or {}
    return not settings.get("stopped") and settings.get("mode", "full") != "off"


def jumbo_chunks(config: Database[Document]) -> dict[str, int]:
    """Return the number of jumbo chunks per namespace, according to the cluster's `config` database."""
    counts: dict[Any, int] = {}
    for chunk in config["chunks"].find({"jumbo": True}, {"uuid": 1}).limit(MAX_JUMBO_CHUNKS):
        counts[chunk["uuid"]] = counts.get(chunk["uuid"], 0) + 1
    names = {
        collection["uuid"]: collection["_id"]
        for collection in config["collections"].find({"uuid": {"$in": list(counts)}}, {"uuid": 1})
    }
    return {names.get(uuid, str(uuid)): number for uuid, number in counts.items()}


def unreachable_shards(config: Database[Document], pools: Mapping[str, Any]) -> list[str]:
    """Return a cluster's shards that have no reachable primary.

    Args:
        config: The cluster's `config` database.
        pools: The response to connPoolStats. Shards to which no connection has ever been opened aren't reported.
    """
    sets = pools.get("replicaSets", {})
    return [
        shard["_id"]
        for shard in config["shards"].find().sort("_id", 1)
        if (replica_set := sets.get(shard["host"].partition("/")[0]))
        and not any(host.get("ok") and host.get("ismaster") for host in replica_set["hosts"])
    ]
