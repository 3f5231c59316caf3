"""Functions that compare declared indexes with the indexes that the server lists, and that describe indexes."""

from collections.abc import Mapping
from typing import Any

from marginalia.mongo.collections import Index

# Options that the server lists in addition to the requested options.
_SERVER_OPTIONS = {"v", "key", "name", "ns", "background"}
# Options that the server always lists for text indexes. If they aren't declared, they have default values.
_TEXT_DEFAULTS = {"weights", "default_language", "language_override", "textIndexVersion"}
# Options that don't distinguish two indexes. The server rejects a second index that differs only in these options
# (error 85, tested with 6.0), but allows indexes that differ in other options.
_NOT_DISTINGUISHING = {"expireAfterSeconds", "hidden"}


def is_same(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether the server's `details` of an index match the keys and options of the declared `index`."""
    if _keys(index) != listed_keys(details):
        return False
    return _comparable(index.settings(), index) == _comparable(details, index)


def are_twins(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether the server doesn't allow `index` alongside an existing index in the same collection.

    The server rejects a second text index in a collection, and an index that differs too little from another index.
    """
    if index.is_text:
        return ("_fts", "text") in _key_pairs(details)
    if _keys(index) != listed_keys(details):
        return False
    declared_options = _comparable(index.settings(), index)
    listed_options = _comparable(details, index)
    return {k: v for k, v in declared_options.items() if k not in _NOT_DISTINGUISHING} == {
        k: v for k, v in listed_options.items() if k not in _NOT_DISTINGUISHING
    }


def enforces(details: Mapping[str, Any]) -> bool:
    """Return whether an index is unique or makes documents expire. Such an index does more than support queries."""
    return "unique" in details or "expireAfterSeconds" in details


def describe_index(index: Index) -> str:
    """Return a readable description of `index`, such as "unique index by_place (metadata.parent_id, metadata.slug)"."""
    return f"{'unique ' if index.unique else ''}index {index.name} {_format_keys(index)}"


def describe_keys(index: Index) -> str:
    """Return the keys and options of `index` without its name, such as "unique (metadata.parent_id, metadata.slug)"."""
    return f"{'unique ' if index.unique else ''}{_format_keys(index)}"


def _format_keys(index: Index) -> str:
    keys = ", ".join(f"{path}{'' if kind == 1 else f' {kind}'}" for path, kind in index.keys)
    options = "".join(f", {name}: {value}" for name, value in index.settings().items() if name != "unique")
    return f"({keys}{options})"


def from_listing(name: str, details: Mapping[str, Any]) -> Index:
    """Return the declaration that corresponds to an index listed by the server."""
    keys = tuple(listed_keys(details))
    options = {k: v for k, v in details.items() if k not in _SERVER_OPTIONS and v is not False}
    if ("_fts", "text") in _key_pairs(details):
        options = {k: v for k, v in options.items() if k in ("weights", "default_language")}
    unique = bool(options.pop("unique", False))
    return Index(name, keys, unique=unique, options=options)


def _keys(index: Index) -> list[tuple[str, Any]]:
    if not index.is_text:
        return list(index.keys)
    return sorted((path, kind) for path, kind in index.keys if kind == "text")


def _key_pairs(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(path, int(kind) if isinstance(kind, float) else kind) for path, kind in details["key"]]


def listed_keys(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the (path, kind) pairs of an index listed by the server. For a text index, they are sorted."""
    keys = _key_pairs(details)
    if ("_fts", "text") not in keys:
        return keys
    # The server lists the fields of a text index as its weights.
    return sorted((path, "text") for path in details["weights"])


def _comparable(options: Mapping[str, Any], index: Index) -> dict[str, Any]:
    ignored = _SERVER_OPTIONS | (_TEXT_DEFAULTS - set(index.options) if index.is_text else set())
    return {name: value for name, value in options.items() if name not in ignored and value is not False}
