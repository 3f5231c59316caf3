"""Collections declared as data: each app's `collections` module says what is stored where, under which indexes.

    COLLECTIONS = (
        Collection("cms.nodes", indexes=(Index("by_tag", (("metadata.tags", 1),)),), shard_key=ShardKey(...)),
    )

A module whose collections live behind another of Django's connections also defines `database_alias() -> str`. One whose
collections depend on settings defines `collections() -> tuple[Collection, ...]` in place of the constant.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any

from bson import Int64, ObjectId
from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.module_loading import module_has_submodule

Keys = tuple[tuple[str, int | str], ...]


@dataclass(frozen=True)
class Index:
    """One index: `keys` are (dotted path, 1 | -1 | "text" | "hashed"); `options`: what createIndexes takes besides."""

    name: str
    keys: Keys
    unique: bool = False
    expire_after_seconds: int | None = None
    sparse: bool = False
    partial: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        return any(way == "text" for _path, way in self.keys)

    def settings(self) -> dict[str, Any]:
        """Return the options as the server lists them, keys and name apart."""
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
    """The key by which a collection is sharded; `reason` is shown in plans.

    `least`: where values of the first field are spread evenly by the hexadecimal digits that they begin with, the function that
    returns the least of those that begin with four (of a hashed field, the least such hash): such a collection can be cut into
    ranges before anything is in it.
    """

    keys: Keys
    unique: bool = False
    reason: str = ""
    least: Callable[[str], Any] | None = None


def least_id(digits: str) -> ObjectId:
    """Return the least ObjectId that begins with some hexadecimal digits: for keys that begin with random ones."""
    return ObjectId(digits.ljust(24, "0"))


def least_hash(digits: str) -> Int64:
    """Return the least hash, as hashed indexes keep them, of those that begin with some hexadecimal digits."""
    return Int64(int(digits.ljust(16, "0"), 16) - (1 << 63))


@dataclass(frozen=True)
class Collection:
    """A collection, its indexes (beside the one on _id), its shard key (None: stays unsharded) and its $jsonSchema.

    `shared`: Django's migrations make indexes there too; those not declared here are left alone. `former`: the filter of
    documents in a former format, which this code cannot read: a database that has nothing else is refused. `is_busy`: readers
    and posters write it, in no transaction with others: from MongoDB 8.0 on it may lie, unsharded, on any shard.
    """

    name: str
    indexes: tuple[Index, ...] = ()
    shard_key: ShardKey | None = None
    validator: dict[str, Any] | None = None
    unsharded_because: str = ""
    shared: bool = False
    former: dict[str, Any] | None = None
    is_busy: bool = False


@dataclass(frozen=True)
class DeclaredCollection:
    """A collection together with the alias of the connection it lives behind."""

    alias: str
    collection: Collection


def declared_collections() -> list[DeclaredCollection]:
    """Return every collection that the installed apps declare, in the order of INSTALLED_APPS.

    Where one app needs indexes on another's collection, both are given as one. What connections there are is not asked: checks
    of settings must be able to say of an alias that there is none.
    """
    found: dict[tuple[str, str], Collection] = {}
    for module in app_modules("collections"):
        alias = getattr(module, "database_alias", lambda: DEFAULT_DB_ALIAS)
        for collection in (
            module.collections() if hasattr(module, "collections") else getattr(module, "COLLECTIONS", ())
        ):
            key = alias(), collection.name
            found[key] = _merged(found[key], collection) if key in found else collection
    return [DeclaredCollection(alias, collection) for (alias, _), collection in found.items()]


def mongodb_collections(alias: str = "", names: Iterable[str] = ()) -> list[DeclaredCollection]:
    """Return the declared collections that MongoDB stores: all, or those behind one connection, or those of these names."""
    wanted = set(names)
    return [
        item
        for item in declared_collections()
        if connections[item.alias].vendor == "mongodb"
        and (not alias or item.alias == alias)
        and (not wanted or item.collection.name in wanted)
    ]


def mongodb_aliases() -> list[str]:
    """Return the connections to MongoDB behind which collections are declared."""
    return list(dict.fromkeys(item.alias for item in mongodb_collections()))


def app_modules(name: str) -> Iterator[ModuleType]:
    """Yield the modules of this name of the installed apps, in the order of INSTALLED_APPS."""
    for app in apps.get_app_configs():
        # This app's own modules are what looks for the others'.
        if app.name != __package__ and module_has_submodule(app.module, name):
            yield import_module(f"{app.name}.{name}")


def shard_key_of(collection: str) -> tuple[str, ...]:
    """Return the dotted paths of a collection's declared shard key, () without one: what a targeted update must name."""
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
        is_busy=first.is_busy or second.is_busy,
    )


def _both(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"allOf": [first, second]} if first and second else first or second
