"""Older and newer versions of a type. Every read converts stored documents to the current version, so every write does, too.

`metadata.schema_version` is the version of `metadata.detail`. Documents without it are of the first version.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import bson
from bson import ObjectId
from django_mongodb_backend.fields import EmbeddedModelArrayField

from nodes.content import registry, values
from nodes.content.base import Content, Missing

log = logging.getLogger(__name__)

VERSION = "schema_version"
FIRST = 1


class UpgradeFailed(Exception):
    """An upgrader of a type raised an exception, or returned an invalid detail. `__cause__` is the reason."""

    def __init__(self, type: str, from_version: int) -> None:
        self.type = type
        self.from_version = from_version
        super().__init__(f"{type} from version {from_version}")


def version(metadata: Mapping[str, Any]) -> int:
    """Return the version of the type that a stored `metadata` has."""
    return metadata.get(VERSION) or FIRST


def version_fields(type: str) -> dict[str, int]:
    """Return the fields of a current `metadata` that specify its version, or {} for the first version."""
    current = registry.get(type).schema_version
    return {} if current == FIRST else {VERSION: current}


def is_newer(metadata: Mapping[str, Any]) -> bool:
    """Return whether a stored `metadata` has a newer version than the running code knows."""
    return version(metadata) > registry.get(metadata["type"]).schema_version


def draft_metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the stored `metadata` of a node's draft, with the node's type."""
    return {"type": document["metadata"]["type"], **document["draft"]["metadata"]}


def upgraded(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored `metadata` with its whole detail in the current version of its type.

    A `metadata` of the current version, or a newer one, is returned unchanged.

    Raises:
        UpgradeFailed: An upgrader failed, or its result is invalid.
    """
    stored_version = version(metadata)
    content_type = registry.get(metadata["type"])
    if stored_version >= content_type.schema_version:
        return metadata
    detail = metadata.get("detail")
    if detail is not None:
        detail = deepcopy(dict(detail))
        upgraders = dict(content_type.upgraders)
        try:
            for step in range(stored_version, content_type.schema_version):
                detail = dict(upgraders[step](detail))
            # This fails for parts with values that BSON can't encode.
            _give_ids(content_type, detail)
        # An upgrader is code of an app, which can fail in any way.
        except Exception as error:
            raise UpgradeFailed(metadata["type"], step) from error
    return {**metadata, "detail": detail, VERSION: content_type.schema_version}


def read(metadata: Mapping[str, Any]) -> Content | None:
    """Return the detail of a stored `metadata` as an object of its type, or None if a projection left it out.

    A detail that can't be upgraded becomes an object of Missing. In a detail of a newer version, fields with values
    that this version doesn't accept get their defaults.
    """
    content_type = registry.get(metadata["type"])
    detail = metadata.get("detail")
    if detail is None:
        # A detail stored as null is treated like an empty one.
        return content_type.from_document({}) if "detail" in metadata else None
    if version(metadata) == content_type.schema_version or not content_type.is_installed:
        return content_type.from_document(detail)
    if is_newer(metadata):
        return content_type.from_document(values.valid_values(content_type, detail))
    try:
        return content_type.from_document(upgraded(metadata)["detail"])
    except UpgradeFailed:
        log.exception("A document of the type %s can't be upgraded", metadata["type"])
        return Missing.from_document(values.valid_values(Missing, detail))


def _give_ids(model: type[Content], detail: dict[str, Any]) -> None:
    """Give ids to list parts made by an upgrader. Edits merge by ids, so equal parts get the same ids at each read."""
    for field in values.stored_fields(model):
        parts = detail.get(field.column)
        if isinstance(field, EmbeddedModelArrayField) and isinstance(parts, list):
            counts: Counter[bytes] = Counter()
            for part in parts:
                if isinstance(part, dict) and part.get("_id") is None:
                    encoded = bson.encode({"field": field.column, "part": part})
                    counts[encoded] += 1
                    digest = hashlib.sha256(encoded + bytes(str(counts[encoded]), "ascii")).digest()
                    part["_id"] = ObjectId(digest[:12])
