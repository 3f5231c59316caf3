"""Collections that are declared as data. Each app's `collections` module lists the app's collections and their indexes.

    COLLECTIONS = (
        Collection("cms.nodes", indexes=(Index("by_tag", (("metadata.tags", 1),)),), shard_key=ShardKey(...)),
    )

If the collections don't use Django's default connection, the module also defines `database_alias() -> str`, or
`database_aliases() -> list[str]` for several connections.
If the collections depend on settings, the module defines `collections() -> tuple[Collection, ...]` instead of the
constant.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

from bson import Int64, ObjectId
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.module_loading import module_has_submodule

Keys = tuple[tuple[str, int | str], ...]


@dataclass(frozen=True)
class Index:
    """An index that an app declares for a collection.

    Attributes:
        name: The name of the index.
        keys: The keys, as pairs (dotted path, 1 | -1 | "text" | "hashed").
        options: Other options for createIndexes.
        unsharded_only: Whether the index is left out on a sharded cluster, because it is unique but doesn't begin with
            the shard key.
    """

    name: str
    keys: Keys
    unique: bool = False
    expire_after_seconds: int | None = None
    sparse: bool = False
    partial: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    unsharded_only: bool = False

    @property
    def is_text(self) -> bool:
        return any(kind == "text" for _path, kind in self.keys)

    def settings(self) -> dict[str, Any]:
        """Return the options in the form in which the server lists them, without the keys and the name."""
        settings = dict(self.options)
        if self.unique:
            settings["unique"] = True
        if self.sparse:
            settings["sparse"] = True
        if self.expire_after_seconds is not None:
            settings["expireAfterSeconds"] = self.expire_after_seconds
        if self.partial is not None:
            settings["partialFilterExpression"] = self.partial
        return settings


@dataclass(frozen=True)
class ShardKey:
    """The shard key of a collection.

    Attributes:
        keys: The keys, as pairs (dotted path, 1 | "hashed").
        reason: Why this key was chosen. Plans show this reason.
        least: A function that returns the smallest value (for a hashed field, the smallest hash) that begins with four
            given hexadecimal digits. The function is set only if the first digits of the first field are evenly
            distributed. A collection whose key has this function can be split into ranges while it is empty.
    """

    keys: Keys
    unique: bool = False
    reason: str = ""
    least: Callable[[str], Any] | None = None


def least_id(digits: str) -> ObjectId:
    """Return the smallest ObjectId that begins with the hexadecimal `digits`.

    Use this function only for collections whose ids begin with random digits.
    """
    return ObjectId(digits.ljust(24, "0"))


def least_hash(digits: str) -> Int64:
    """Return the smallest hash that begins with the hexadecimal `digits`, in the form that hashed indexes store."""
    return Int64(int(digits.ljust(16, "0"), 16) - (1 << 63))


@dataclass(frozen=True)
class Collection:
    """A collection that an app declares.

    Attributes:
        name: The name in the database.
        indexes: The indexes, except the one on _id.
        shard_key: The shard key. If it is None, the collection isn't sharded.
        validator: The $jsonSchema for documents.
        unsharded_because: Why there is no shard key.
        shared: Whether Django's migrations also create indexes in the collection. If so, undeclared indexes are kept.
        former: A filter that matches documents in an old format that this release can't read. If all documents in the
            collection match, the site refuses to use the database.
    """

    name: str
    indexes: tuple[Index, ...] = ()
    shard_key: ShardKey | None = None
    validator: dict[str, Any] | None = None
    unsharded_because: str = ""
    shared: bool = False
    former: dict[str, Any] | None = None


@dataclass(frozen=True)
class DeclaredCollection:
    """A collection and the alias of its connection."""

    alias: str
    collection: Collection


def declared_collections() -> list[DeclaredCollection]:
    """Return every collection that the installed apps declare, in the order of INSTALLED_APPS.

    If an app declares indexes on another app's collection, the two declarations are merged. This function doesn't check
    aliases, because the system checks report aliases that don't exist.
    """
    merged: dict[tuple[str, str], Collection] = {}
    for module in app_modules("collections"):
        collections = module.collections() if hasattr(module, "collections") else getattr(module, "COLLECTIONS", ())
        for alias, collection in product(_aliases_of(module), collections):
            key = alias, collection.name
            merged[key] = _merged(merged[key], collection) if key in merged else collection
    return [DeclaredCollection(alias, collection) for (alias, _), collection in merged.items()]


def _aliases_of(module: ModuleType) -> list[str]:
    if hasattr(module, "database_aliases"):
        return list(module.database_aliases())
    return [module.database_alias() if hasattr(module, "database_alias") else DEFAULT_DB_ALIAS]


def mongodb_collections(alias: str = "", names: Iterable[str] = ()) -> list[DeclaredCollection]:
    """Return the declared collections that MongoDB stores.

    Args:
        alias: If set, only collections of this connection are included.
        names: If not empty, only collections with these names are included.
    """
    wanted = set(names)
    return [
        item
        for item in declared_collections()
        if connections[item.alias].vendor == "mongodb"
        and (not alias or item.alias == alias)
        and (not wanted or item.collection.name in wanted)
    ]


def mongodb_aliases() -> list[str]:
    """Return the aliases of the MongoDB connections for which apps declare collections."""
    return list(dict.fromkeys(item.alias for item in mongodb_collections()))


def app_modules(name: str) -> Iterator[ModuleType]:
    """Yield the module called `name` of each installed app that has one, in the order of INSTALLED_APPS."""
    for app in apps.get_app_configs():
        # The loop skips this app, because its own `collections` and `doctor` modules call this function.
        if app.name != __package__ and module_has_submodule(app.module, name):
            yield import_module(f"{app.name}.{name}")


def shard_key_of(collection: str) -> tuple[str, ...]:
    """Return the dotted paths in a collection's shard key, or () if it has none.

    The filter of a targeted update must contain these paths.
    """
    for item in declared_collections():
        if item.collection.name == collection and item.collection.shard_key:
            return tuple(path for path, _ in item.collection.shard_key.keys)
    return ()


def _merged(first: Collection, second: Collection) -> Collection:
    return replace(
        first,
        indexes=first.indexes + second.indexes,
        shard_key=first.shard_key or second.shard_key,
        validator=_both(first.validator, second.validator),
        unsharded_because=first.unsharded_because or second.unsharded_because,
        shared=first.shared and second.shared,
        former=first.former or second.former,
    )


def _both(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"allOf": [first, second]} if first and second else first or second
