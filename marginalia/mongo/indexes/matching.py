"""A declared index beside one that the server lists: whether they do the same, and how either is spelled."""

from collections.abc import Mapping
from typing import Any

from marginalia.mongo.collections import Index

# Options that the server lists beside those that were asked for.
_SERVER_OPTIONS = {"v", "key", "name", "ns", "background"}
# A text index is listed with these, each at its default unless declared.
_TEXT_DEFAULTS = {"weights", "default_language", "language_override", "textIndexVersion"}
# Two indexes that differ in these alone cannot stand beside each other (error 85, tried on 6.0); all else they can differ in.
_NOT_DISTINGUISHING = {"expireAfterSeconds", "hidden"}


def is_same(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether an index that the server lists does what a declared one asks for."""
    if _keys(index) != listed_keys(details):
        return False
    return _comparable(index.settings(), index) == _comparable(details, index)


def are_twins(index: Index, details: Mapping[str, Any]) -> bool:
    """Return whether the server refuses to have both: two text indexes of one collection, or two that differ too little."""
    if index.is_text:
        return ("_fts", "text") in _key_pairs(details)
    if _keys(index) != listed_keys(details):
        return False
    one = _comparable(index.settings(), index)
    other = _comparable(details, index)
    return {k: v for k, v in one.items() if k not in _NOT_DISTINGUISHING} == {
        k: v for k, v in other.items() if k not in _NOT_DISTINGUISHING
    }


def enforces(details: Mapping[str, Any]) -> bool:
    """Return whether an index that the server lists does something without being asked: keeps values unique, or has documents
    expire."""
    return "unique" in details or "expireAfterSeconds" in details


def describe_index(index: Index) -> str:
    """Return an index as one readable phrase: "unique index by_place (metadata.parent_id, metadata.slug)"."""
    return f"{'unique ' if index.unique else ''}index {index.name} {_format_keys(index)}"


def describe_keys(index: Index) -> str:
    """Return what an index does, without its name: "unique (metadata.parent_id, metadata.slug)"."""
    return f"{'unique ' if index.unique else ''}{_format_keys(index)}"


def _format_keys(index: Index) -> str:
    keys = ", ".join(f"{path}{'' if way == 1 else f' {way}'}" for path, way in index.keys)
    options = "".join(f", {name}: {value}" for name, value in index.settings().items() if name != "unique")
    return f"({keys}{options})"


def from_listing(name: str, details: Mapping[str, Any]) -> Index:
    """Return an index that the server lists as one that could be declared."""
    keys = tuple(listed_keys(details))
    options = {k: v for k, v in details.items() if k not in _SERVER_OPTIONS and v is not False}
    if ("_fts", "text") in _key_pairs(details):
        options = {k: v for k, v in options.items() if k in ("weights", "default_language")}
    unique = bool(options.pop("unique", False))
    return Index(name, keys, unique=unique, options=options)


def _keys(index: Index) -> list[tuple[str, Any]]:
    if not index.is_text:
        return list(index.keys)
    return sorted((path, way) for path, way in index.keys if way == "text")


def _key_pairs(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(path, int(way) if isinstance(way, float) else way) for path, way in details["key"]]


def listed_keys(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the (path, way) pairs of an index that the server lists; those of a text index are sorted."""
    keys = _key_pairs(details)
    if ("_fts", "text") not in keys:
        return keys
    # The server lists the fields of a text index as its weights.
    return sorted((path, "text") for path in details["weights"])


def _comparable(options: Mapping[str, Any], index: Index) -> dict[str, Any]:
    ignored = _SERVER_OPTIONS | (_TEXT_DEFAULTS - set(index.options) if index.is_text else set())
    return {name: value for name, value in options.items() if name not in ignored and value is not False}
