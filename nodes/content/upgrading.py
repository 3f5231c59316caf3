"""Older and newer versions of a type: what is stored is brought to the present shape at every read, and so by every write.

`metadata.schema_version` is the version of `metadata.detail`; where there is none it is the first.
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
    """An upgrader of a type raises, or returns what is no detail, for what is stored: its cause says why."""

    def __init__(self, type: str, from_version: int) -> None:
        self.type = type
        self.from_version = from_version
        super().__init__(f"{type} from version {from_version}")


def version(metadata: Mapping[str, Any]) -> int:
    """Return the version of its type that a stored `metadata` is of."""
    return metadata.get(VERSION) or FIRST


def stamp(type: str) -> dict[str, int]:
    """Return what a `metadata` in the present shape says of its version: nothing of the first."""
    present = registry.get(type).schema_version
    return {} if present == FIRST else {VERSION: present}


def is_newer(metadata: Mapping[str, Any]) -> bool:
    """Return whether a stored `metadata` is of a version that the running code does not know."""
    return version(metadata) > registry.get(metadata["type"]).schema_version


def draft_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `metadata` of the draft beside a stored node, of the node's type, as it is stored."""
    return {"type": document["metadata"]["type"], **document["draft"]["metadata"]}


def upgraded(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored `metadata` with its whole detail in the present shape of its type. Raises UpgradeFailed.

    What is of the present version, or a newer one, is returned itself.
    """
    present = version(metadata)
    known = registry.get(metadata["type"])
    if present >= known.schema_version:
        return metadata
    detail = metadata.get("detail")
    if detail is not None:
        detail = deepcopy(dict(detail))
        upgraders = dict(known.upgraders)
        try:
            for step in range(present, known.schema_version):
                detail = dict(upgraders[step](detail))
            # Fails for parts with values that no document holds.
            _give_ids(known, detail)
        # An upgrader is code of an app, which may fail in any way.
        except Exception as error:
            raise UpgradeFailed(metadata["type"], step) from error
    return {**metadata, "detail": detail, VERSION: known.schema_version}


def read(metadata: Mapping[str, Any]) -> Content | None:
    """Return the detail of a stored `metadata` as an object of its type; None if there is none, or a projection left it out.

    Missing stands for one that cannot be upgraded. Of a newer one, fields have their defaults that do not fit.
    """
    known = registry.get(metadata["type"])
    detail = metadata.get("detail")
    if detail is None:
        # Stored as null it is no more than empty.
        return known.from_document({}) if "detail" in metadata else None
    if version(metadata) == known.schema_version or not known.is_installed:
        return known.from_document(detail)
    if is_newer(metadata):
        return known.from_document(values.fitting(known, detail))
    try:
        return known.from_document(upgraded(metadata)["detail"])
    except UpgradeFailed:
        log.exception("A document of the type %s cannot be upgraded", metadata["type"])
        return Missing.from_document(values.fitting(Missing, detail))


def _give_ids(model: type[Content], detail: dict[str, Any]) -> None:
    """Give the parts of lists that an upgrader made their ids: of equal parts the same at every read, by which edits merge."""
    for field in values.stored_fields(model):
        parts = detail.get(field.column)
        if isinstance(field, EmbeddedModelArrayField) and isinstance(parts, list):
            seen: Counter[bytes] = Counter()
            for part in parts:
                if isinstance(part, dict) and part.get("_id") is None:
                    said = bson.encode({"field": field.column, "part": part})
                    seen[said] += 1
                    part["_id"] = ObjectId(hashlib.sha256(said + bytes(str(seen[said]), "ascii")).digest()[:12])
