"""What services refuse, as problems: why, at which field, and of a change on a former version how both merge."""

import json
from collections.abc import Mapping
from typing import Any

from api.http import answers
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

# The kind of problem that a refusal is, the first that fits; what is not here is a conflict with what is stored.
_KINDS: tuple[tuple[type[NodeError], str], ...] = (
    (NodeGone, "not-found"),
    (Published, "forbidden"),
    (DraftGone, "stale"),
    (ChangedSince, "stale"),
)
# The field that a refusal is about.
_FIELDS: dict[type[NodeError], str] = {
    SlugTaken: "body.slug",
    InvalidSlug: "body.slug",
    InvalidPlace: "body.section",
    NotReady: "body.detail.alt",
}


def of(error: NodeError) -> Problem:
    """Return the problem that a refusal is."""
    told = str(error)
    if isinstance(error, EditConflict):
        return stale(error, {})
    if isinstance(error, TooBusy):
        return Problem("unavailable", told, headers={"Retry-After": "1"})
    field = patches.named(error.path) if isinstance(error, FieldRefused) else _FIELDS.get(type(error))
    if field:
        free: dict[str, Any] = {"free": error.free} if isinstance(error, SlugTaken) else {}
        return Problem("invalid", errors=[(field, told)], **free)
    return Problem(next((kind for one, kind in _KINDS if isinstance(error, one)), "conflict"), told)


def stale(error: EditConflict, mine: Mapping[str, Any]) -> Problem:
    """Return the problem of a change whose version is not the stored one any more: all that a program needs to go on.

    `mine`: the fields that it sent, by path.
    """
    type = error.theirs["type"]
    merge = error.merge
    theirs = merging.fields(error.theirs)
    base = error.base
    tags = {"tags": error.tags.applied(error.theirs["tags"])} if error.tags else {}
    conflicts = [
        {
            "field": patches.named(one.path),
            **{
                side: _value(type, one.path, value)
                for side, value in (("base", one.base), ("yours", one.mine), ("stored", one.theirs))
            },
        }
        for one in merge.conflicts
    ]
    said = {
        "base": None if base is None else patches.shown(type, {path: base.get(path) for path in mine}),
        "stored": patches.shown(type, {path: theirs.get(path) for path in mine})
        | ({"tags": error.theirs["tags"]} if tags else {}),
        "yours": patches.shown(type, mine) | ({"tags": _wanted(error.tags)} if tags else {}),
        "merged": patches.shown(type, merge.changes) | tags,
        "conflicts": conflicts,
    }
    return Problem(
        "stale",
        "Others have saved this since. Send `merged` with the `etag` here as If-Match to keep what both sides changed"
        + (", and decide about `conflicts`." if conflicts else "."),
        etag=f'"{error.theirs["nonce"]}"',
        **json.loads(json.dumps(said, default=answers.as_json)),
    )


def _wanted(tags: TagChange) -> list[str]:
    return sorted(tags.wanted or tags.added)


def _value(type: str, path: str, value: Any) -> Any:
    said = patches.shown(type, {path: value})
    return next(iter(said.get("detail", said).values()), None)
