"""A sharded cluster without mongos: one config server and two shard servers, told by internal commands what mongos says.

For tests only. The servers validate keys, indexes and uniqueness as they would behind mongos; config.collections and
config.chunks show the result.
"""

from typing import Any

from pymongo import MongoClient

# Part of the command itself: the driver sends none with commands.
MAJORITY = {"writeConcern": {"w": "majority"}}


class Cluster:
    """Two shards and their config server; `database` lies on the first shard until collections are sharded."""

    def __init__(self, uris: dict[str, str], name: str) -> None:
        self.config = MongoClient(uris["config"])
        self.shards = [MongoClient(uris["a"]), MongoClient(uris["b"])]
        self.name = name
        admin = self.config.admin
        self.shard_ids = [
            admin.command({"_configsvrAddShard": _seed(uris[shard]), "name": f"shard-{shard}", **MAJORITY})[
                "shardAdded"
            ]
            for shard in "ab"
        ]
        admin.command({"_configsvrCreateDatabase": name, "primaryShardId": self.shard_ids[0], **MAJORITY})
        self.primary.admin.command("_flushDatabaseCacheUpdates", name)

    @property
    def primary(self) -> MongoClient[dict[str, Any]]:
        return self.shards[0]

    def tell(self, command: dict[str, Any]) -> None:
        """Carry out a command of the admin database as mongos would pass it on."""
        (name, about), *rest = command.items()
        if name == "shardCollection":
            self._shard(command)
        elif name == "split":
            self._split(about, command["middle"])
        elif name != "enableSharding":
            # Nothing moves while the balancer is off, as it is at first.
            self.config.admin.command("_configsvrBalancerStart", 1)
            self.config.admin.command({f"_configsvr{name[0].upper()}{name[1:]}": about, **dict(rest), **MAJORITY})

    def _split(self, namespace: str, middle: dict[str, Any]) -> None:
        entry = self.entries()[namespace]
        # The last that begins before it.
        *_before, chunk = (c for c in self.chunks_of(entry) if tuple(c["min"].values()) < tuple(middle.values()))
        self.shards[self.shard_ids.index(chunk["shard"])].admin.command(
            "splitChunk",
            namespace,
            keyPattern=entry["key"],
            min=chunk["min"],
            max=chunk["max"],
            splitKeys=[middle],
            **{"from": chunk["shard"]},
            epoch=entry["lastmodEpoch"],
            timestamp=entry["timestamp"],
        )

    def _shard(self, command: dict[str, Any]) -> None:
        name = command["shardCollection"].removeprefix(f"{self.name}.")
        version = self.config.config.databases.find_one({"_id": self.name})["version"]
        self.primary[self.name].command(
            {
                "_shardsvrCreateCollection": name,
                "shardKey": command["key"],
                "unique": command["unique"],
                "databaseVersion": version,
                **MAJORITY,
            }
        )

    def entry(self, name: str) -> dict[str, Any] | None:
        """The entry of a sharded collection in config.collections."""
        return self.config.config.collections.find_one({"_id": f"{self.name}.{name}"})

    def entries(self) -> dict[str, dict[str, Any]]:
        """Those of all sharded collections of the database, by namespace."""
        listed = self.config.config.collections.find({"_id": {"$regex": f"^{self.name}\\."}})
        return {entry["_id"]: entry for entry in listed}

    def chunks(self, name: str) -> list[dict[str, Any]]:
        """The chunks of a sharded collection, in order."""
        return self.chunks_of(self.entry(name))

    def chunks_of(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        """Those of an entry of config.collections, in order."""
        return list(self.config.config.chunks.find({"uuid": entry["uuid"]}).sort("min", 1))


def _seed(uri: str) -> str:
    hosts, _, options = uri.removeprefix("mongodb://").partition("/?replicaSet=")
    return f"{options}/{hosts}"
