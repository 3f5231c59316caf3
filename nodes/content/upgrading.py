"""Handle documents with an older or newer version of their content type.

Documents are upgraded to the current version whenever they are read, so writes always store the current version.
`metadata.schema_version` is the version of `metadata.detail`. Documents without this field are at version 1.
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
    """A type's upgrader raised an exception or returned an invalid `detail`. `__cause__` is the original exception."""

    def __init__(self, type: str, from_version: int) -> None:
        self.type = type
        self.from_version = from_version
        super().__init__(f"{type} from version {from_version}")


def version(metadata: Mapping[str, Any]) -> int:
    """Return the version of the content type with which `metadata` was stored."""
    return metadata.get(VERSION) or FIRST


def version_fields(type: str) -> dict[str, int]:
    """Return the metadata fields that store the current version of `type`, or {} if it is the first version."""
    current = registry.get(type).schema_version
    return {} if current == FIRST else {VERSION: current}


def is_newer(metadata: Mapping[str, Any]) -> bool:
    """Return whether stored `metadata` has a newer version than the running code supports."""
    return version(metadata) > registry.get(metadata["type"]).schema_version


def draft_metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the stored metadata of a node's draft, with the node's type added."""
    return {"type": document["metadata"]["type"], **document["draft"]["metadata"]}


def upgraded(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return stored `metadata` with its `detail` upgraded to the current version of its type.

    Metadata that already has the current version or a newer one is returned unchanged.

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
            # Adding ids fails if a part contains a value that BSON can't encode.
            _give_ids(content_type, detail)
        # Upgraders are part of apps, so they can raise any exception.
        except Exception as error:
            raise UpgradeFailed(metadata["type"], step) from error
    return {**metadata, "detail": detail, VERSION: content_type.schema_version}


def read(metadata: Mapping[str, Any]) -> Content | None:
    """Return the detail in stored `metadata` as an instance of its type, or None if a projection excluded it.

    If the detail can't be upgraded, return a Missing object. If it was stored with a newer version, fields whose
    values the running code doesn't accept get their defaults.
    """
    content_type = registry.get(metadata["type"])
    detail = metadata.get("detail")
    if detail is None:
        # A detail that is stored as null is treated as empty.
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


def _give_ids(model: Any, detail: dict[str, Any]) -> None:
    """Add ids to parts that an upgrader added to lists, and to the parts nested in these parts.

    Edits are merged by these ids, so each read must generate the same ids for the same parts.
    """
    for field in filter(values.is_parts, values.stored_fields(model)):
        parts = detail.get(field.column)
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, dict):
                _give_ids(field.embedded_model, part)
        if isinstance(field, EmbeddedModelArrayField) and isinstance(parts, list):
            counts: Counter[bytes] = Counter()
            for part in parts:
                if isinstance(part, dict) and part.get("_id") is None:
                    encoded = bson.encode({"field": field.column, "part": part})
                    counts[encoded] += 1
                    digest = hashlib.sha256(encoded + bytes(str(counts[encoded]), "ascii")).digest()
                    part["_id"] = ObjectId(digest[:12])
