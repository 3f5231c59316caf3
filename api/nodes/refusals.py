"""Errors of services as problems: the reason, the field, and for a change of an outdated version, a merge of both sides."""

import json
from collections.abc import Mapping
from typing import Any

from api.http import responses
from api.nodes import patches
from api.problems import Problem
from nodes import merging
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
    SlugTaken,
    TooBusy,
)
from nodes.types import TagChange

# The kind of problem for an error; the first match counts. All other errors are conflicts with stored data.
_KINDS: tuple[tuple[type[NodeError], str], ...] = (
    (NodeGone, "not-found"),
    (Published, "forbidden"),
    (DraftGone, "stale"),
    (ChangedSince, "stale"),
)
# The field that an error is about.
_FIELDS: dict[type[NodeError], str] = {
    SlugTaken: "body.slug",
    InvalidSlug: "body.slug",
    InvalidPlace: "body.section",
    NotReady: "body.detail.alt",
}


def problem_of(error: NodeError) -> Problem:
    """Return the problem for an error of a service."""
    message = str(error)
    if isinstance(error, EditConflict):
        return stale_problem(error, {})
    if isinstance(error, TooBusy):
        return Problem("unavailable", message, headers={"Retry-After": "1"})
    field = patches.body_path(error.path) if isinstance(error, FieldRefused) else _FIELDS.get(type(error))
    if field:
        free: dict[str, Any] = {"free": error.free} if isinstance(error, SlugTaken) else {}
        return Problem("invalid", errors=[(field, message)], **free)
    return Problem(next((kind for error_type, kind in _KINDS if isinstance(error, error_type)), "conflict"), message)


def stale_problem(error: EditConflict, changes: Mapping[str, Any]) -> Problem:
    """Return the problem for a change of an outdated version, with everything that a program needs to continue.

    `changes`: the fields in the request, by path.
    """
    type = error.theirs["type"]
    merge = error.merge
    theirs = merging.fields(error.theirs)
    base = error.base
    tags = {"tags": error.tags.applied(error.theirs["tags"])} if error.tags else {}
    conflicts = [
        {
            "field": patches.body_path(conflict.path),
            **{
                side: _serialize_side(type, conflict.path, value)
                for side, value in (("base", conflict.base), ("yours", conflict.mine), ("stored", conflict.theirs))
            },
        }
        for conflict in merge.conflicts
    ]
    sides = {
        "base": None if base is None else patches.serialize_fields(type, {path: base.get(path) for path in changes}),
        "stored": patches.serialize_fields(type, {path: theirs.get(path) for path in changes})
        | ({"tags": error.theirs["tags"]} if tags else {}),
        "yours": patches.serialize_fields(type, changes) | ({"tags": _requested_tags(error.tags)} if tags else {}),
        "merged": patches.serialize_fields(type, merge.changes) | tags,
        "conflicts": conflicts,
    }
    return Problem(
        "stale",
        "Others have saved this since. Send `merged` with the `etag` here as If-Match to keep what both sides changed"
        + (", and decide about `conflicts`." if conflicts else "."),
        etag=f'"{error.theirs["nonce"]}"',
        **json.loads(json.dumps(sides, default=responses.json_default)),
    )


def _requested_tags(tags: TagChange) -> list[str]:
    return sorted(tags.wanted or tags.added)


def _serialize_side(type: str, path: str, value: Any) -> Any:
    data = patches.serialize_fields(type, {path: value})
    return next(iter(data.get("detail", data).values()), None)
