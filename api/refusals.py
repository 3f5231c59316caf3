"""Convert errors from actions and services to API problems.

A problem contains the reason and, if a value was rejected, its field. If a change was based on an outdated version, the
problem also contains a merge of the two versions.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from api.http import responses
from api.problems import Problem
from api.schemas.fields import body_path, serialize_fields
from marginalia.markup.comparing.merge import Merged
from nodes import merging
from nodes.access import FieldForbidden
from nodes.errors import (
    ChangedSince,
    DraftGone,
    EditConflict,
    FieldRefused,
    InvalidPlace,
    InvalidSlug,
    NodeError,
    NodeGone,
    NotReady,
    Published,
    RedirectChanged,
    SlugTaken,
    TagChanged,
    TooBusy,
)
from nodes.types import TagChange
from photos.assets.errors import BadFile, DecoderBusy, PhotoLocked, UploadLost

# Maps error types to the kind of problem and the number of seconds to wait before trying again. The first match
# applies. All other errors are conflicts with stored data.
_KINDS: tuple[tuple[type[NodeError], str, int | None], ...] = (
    (NodeGone, "not-found", None),
    (Published, "forbidden", None),
    (DraftGone, "stale", None),
    (ChangedSince, "stale", None),
    (RedirectChanged, "stale", None),
    (TagChanged, "stale", None),
    (DecoderBusy, "unavailable", 5),
    (TooBusy, "unavailable", 1),
    (PhotoLocked, "conflict", 30),
    (UploadLost, "conflict", 30),
    (NodeError, "conflict", None),
)
# Maps error types to the path of the field that the error refers to.
_PATHS: dict[type[NodeError], str] = {
    SlugTaken: "slug",
    InvalidSlug: "slug",
    InvalidPlace: "parent_id",
    NotReady: "detail.alt",
}


@contextmanager
def as_problems(fields: Mapping[str, str] | None = None) -> Iterator[None]:
    """Convert errors from actions and services to problems.

    Args:
        fields: The locations of a node's fields in the request, keyed by field path. By default, the fields are in a
            body with the schema NodeChange.
    """
    try:
        yield
    except FieldForbidden as error:
        fields = fields or {}
        errors = [(fields.get(path) or body_path(path), error.reason(path)) for path in error.paths]
        raise Problem("forbidden", errors=errors) from error
    except NodeError as error:
        raise _problem(error, fields or {}) from error


def _problem(error: NodeError, fields: Mapping[str, str]) -> Problem:
    message = str(error)
    if isinstance(error, EditConflict):
        return _stale_problem(error)
    if isinstance(error, BadFile):
        return Problem("invalid", message, errors=[("body", message)])
    if isinstance(error, FieldRefused):
        located = [(fields.get(path) or body_path(path), text) for path, text in error.errors.items()]
        return Problem("invalid", errors=located)
    if path := _PATHS.get(type(error)):
        free: dict[str, Any] = {"free": error.free} if isinstance(error, SlugTaken) else {}
        return Problem("invalid", errors=[(fields.get(path) or body_path(path), message)], **free)
    kind, seconds = next((kind, seconds) for error_type, kind, seconds in _KINDS if isinstance(error, error_type))
    return Problem(kind, message, headers={"Retry-After": str(seconds)} if seconds else None)


def _stale_problem(error: EditConflict) -> Problem:
    """Return the problem for a change to an outdated version, with the data for resolving the conflict."""
    type = error.theirs["type"]
    merge = error.merge
    mine = error.mine
    theirs = merging.fields(error.theirs)
    base = error.base
    tags = {"tags": error.tags.applied(error.theirs["tags"])} if error.tags else {}
    conflicts = [
        {
            "field": body_path(conflict.path),
            **{
                side: _serialize_side(type, conflict.path, value)
                for side, value in (("base", conflict.base), ("yours", conflict.mine), ("stored", conflict.theirs))
            },
            **_serialize_chunks(conflict.merged),
        }
        for conflict in merge.conflicts
    ]
    sides = {
        "base": None if base is None else serialize_fields(type, {path: base.get(path) for path in mine}),
        "stored": serialize_fields(type, {path: theirs.get(path) for path in mine})
        | ({"tags": error.theirs["tags"]} if tags else {}),
        "yours": serialize_fields(type, mine) | ({"tags": _requested_tags(error.tags)} if tags else {}),
        "merged": serialize_fields(type, merge.changes) | tags,
        "conflicts": conflicts,
    }
    return Problem(
        "stale",
        "Someone else has saved this item since you read it. Nothing was changed. To keep both sets of changes, "
        "send `merged` with this `etag` as If-Match" + (", and resolve `conflicts`." if conflicts else "."),
        etag=f'"{error.theirs["nonce"]}"',
        **json.loads(json.dumps(sides, default=responses.json_default)),
    )


def _requested_tags(tags: TagChange) -> list[str]:
    return sorted(tags.wanted or tags.added)


def _serialize_chunks(merged: Merged | None) -> dict[str, list[dict[str, str]]]:
    """Return {"chunks": …} for a merged text, or {} for other fields."""
    if merged is None:
        return {}
    chunks = [
        {"merged": chunk.text, "gap": chunk.gap}
        if chunk.text is not None
        else {"base": chunk.base, "yours": chunk.mine, "stored": chunk.theirs, "gap": chunk.gap}
        for chunk in merged.condensed().chunks
    ]
    return {"chunks": chunks}


def _serialize_side(type: str, path: str, value: Any) -> Any:
    data = serialize_fields(type, {path: value})
    return next(iter(data.get("detail", data).values()), None)
