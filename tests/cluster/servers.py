"""A sharded cluster without mongos: one config server and two shard servers, controlled by mongos's internal commands.

For tests only. The servers validate keys, indexes and uniqueness as they would behind mongos. config.collections and
config.chunks show the result.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from bson import MaxKey, MinKey
from pymongo import MongoClient

# A part of the command itself, because the driver sends none with commands.
MAJORITY = {"writeConcern": {"w": "majority"}}


class Cluster:
    """Two shards and their config server. `database` is on the first shard until collections are sharded."""

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
        """Execute a command of the admin database as mongos would pass it on."""
        (name, about), *rest = command.items()
        if name == "shardCollection":
            self._shard(command)
        elif name == "split":
            self._split(about, command["middle"])
        else:
            # Nothing moves while the balancer is off, which is the initial state.
            self.config.admin.command("_configsvrBalancerStart", 1)
            self.config.admin.command({f"_configsvr{name[0].upper()}{name[1:]}": about, **dict(rest), **MAJORITY})

    def _split(self, namespace: str, middle: dict[str, Any]) -> None:
        entry = self.entries()[namespace]
        # The last chunk that starts before the key.
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
        """The entries of all sharded collections of the database, by namespace."""
        listed = self.config.config.collections.find({"_id": {"$regex": f"^{self.name}\\."}})
        return {entry["_id"]: entry for entry in listed}

    def chunks(self, name: str) -> list[dict[str, Any]]:
        """The chunks of a sharded collection, in order."""
        return self.chunks_of(self.entry(name))

    def chunks_of(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        """The chunks of an entry of config.collections, in order."""
        return list(self.config.config.chunks.find({"uuid": entry["uuid"]}).sort("min", 1))

    def targets(self, name: str, places: Iterable[Sequence[Any]]) -> list[set[str]]:
        """Return the shards to which mongos would send a query for each place.

        A place is the shard key's values, or its first ones.
        """
        entry, places = self.entry(name), list(places)
        key, chunks = list(entry["key"].items()), self.chunks_of(entry)
        if key[0][1] == "hashed":
            places = self._hashed(place[0] for place in places)
        found = []
        for place in places:
            rest = len(key) - len(place)
            low, high = (*place, *[MinKey()] * rest), (*place, *[MaxKey()] * rest)
            found.append(
                {c["shard"] for c in chunks if tuple(c["min"].values()) <= high and low < tuple(c["max"].values())}
            )
        return found

    def _hashed(self, values: Iterable[Any]) -> list[tuple[int]]:
        documents: list[dict[str, Any]] = [{"value": {"$literal": value}} for value in values]
        hashed = {"$project": {"hash": {"$toHashedIndexKey": "$value"}}}
        return [(one["hash"],) for one in self.config.admin.aggregate([{"$documents": documents}, hashed])]


def _seed(uri: str) -> str:
    hosts, _, options = uri.removeprefix("mongodb://").partition("/?replicaSet=")
    return f"{options}/{hosts}"
