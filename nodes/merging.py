"""Three-way merge of a node: what one side changed merges by itself, what both changed is for the editor to decide.

Fields are named by their path under `metadata`: "title", "detail.text". Pure functions. How two edits of one field merge is
said by the field's class: texts by paragraph, lists by item, lists of parts by the parts' ids and each part by its fields; all
else is one value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marginalia.markup.comparing import lists
from marginalia.markup.comparing import merge as text_merge
from nodes.content import declared_fields, upgrading
from nodes.content.declared_fields import ITEMS, PART, PARTS, TEXT

# Kept by the services themselves, or saved as differences.
_NOT_FIELDS = frozenset(
    {"nonce", "type", "created", "updated", "tags", "detail", "locked", "content_id", "doomed", "superseded"}
    | {upgrading.VERSION}
)


@dataclass(frozen=True)
class FieldConflict:
    """A field that both sides changed, each in another way.

    Of a text, `mine` and `theirs` differ only in the paragraphs that both changed: whichever is taken, what either side did to
    other paragraphs stays.
    """

    path: str
    base: Any
    mine: Any
    theirs: Any


@dataclass(frozen=True)
class Merge:
    """`changes`: what to write over theirs. `merged`: fields of `changes`, or of theirs, where both sides had a hand."""

    changes: dict[str, Any]
    merged: tuple[str, ...]
    conflicts: tuple[FieldConflict, ...]


def fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a stored `metadata` by path, those of `detail` as "detail.name", in the present shape of its type.

    Raises UpgradeFailed.
    """
    return as_stored(upgrading.upgraded(metadata))


def as_stored(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `metadata` by path, in whatever shape it is."""
    flat = {name: value for name, value in metadata.items() if name not in _NOT_FIELDS}
    flat.update({f"detail.{name}": value for name, value in (metadata.get("detail") or {}).items()})
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by path as a `metadata` again."""
    metadata: dict[str, Any] = {"detail": {}}
    for path, value in flat.items():
        head, _, tail = path.partition(".")
        if tail:
            metadata[head][tail] = value
        else:
            metadata[head] = value
    return metadata


def merge(base: Mapping[str, Any] | None, mine: Mapping[str, Any], theirs: Mapping[str, Any], type: str) -> Merge:
    """Merge `mine` (the fields of a form) into `theirs` (the fields stored) of a node of a type; `base` is what the form
    started from.

    Without a base every field that differs is a conflict: neither side is known to have changed it.
    """
    changes: dict[str, Any] = {}
    merged: list[str] = []
    conflicts: list[FieldConflict] = []
    for path, wanted in mine.items():
        stored = theirs.get(path)
        if same(wanted, stored):
            continue
        if base is None:
            conflicts.append(FieldConflict(path, None, wanted, stored))
            continue
        before = base.get(path)
        if same(wanted, before):
            merged.append(path)
        elif same(stored, before):
            changes[path] = wanted
        else:
            ours, others = _both(declared_fields.way(type, path), before, wanted, stored)
            if same(ours, others):
                changes[path] = ours
                merged.append(path)
            else:
                conflicts.append(FieldConflict(path, before, ours, others))
    return Merge(changes, tuple(merged), tuple(conflicts))


def _both(way: str, base: Any, mine: Any, theirs: Any) -> tuple[Any, Any]:
    """Return a value that both sides changed as either side would have it merged: alike where nothing is left to decide."""
    if way == TEXT:
        return _texts(base or "", mine or "", theirs or "")
    if way == ITEMS and _are(list, mine, theirs):
        return _items(base or [], mine, theirs)
    if way == PARTS and _are(list, mine, theirs):
        return _parts(base or [], mine, theirs)
    if way == PART and _are(Mapping, mine, theirs):
        return _part(base or {}, mine, theirs)
    return mine, theirs


def _are(kind: Any, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _texts(base: str, mine: str, theirs: str) -> tuple[str, str]:
    merged = text_merge.merge(base, mine, theirs)
    if merged.text is not None:
        return merged.text, merged.text
    ours = text_merge.resolve(merged, ["mine"] * merged.conflicts)
    return ours, text_merge.resolve(merged, ["theirs"] * merged.conflicts)


def _items(base: list[Any], mine: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    # Of what a list holds not everything has a hash.
    known = {repr(item): item for item in (*base, *mine, *theirs)}
    merged = lists.merge(*([repr(item) for item in side] for side in (base, mine, theirs)))
    return [known[key] for key in merged.mine], [known[key] for key in merged.theirs]


def _parts(base: list[Any], mine: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Merge lists of parts: which there are and in which order by their ids, what both sides kept field by field."""
    before, ours, others = ({str(part.get("_id")): part for part in side} for side in (base, mine, theirs))
    changed = {
        key: _part(part, ours.get(key), others.get(key)) for key, part in before.items() if key in ours or key in others
    }
    # A part that one side removed and the other changed is for the editor to decide.
    kept = {
        key
        for key, part in before.items()
        if (key in ours) != (key in others) and not same((ours.get(key) or others.get(key)), part)
    }
    order = lists.merge(list(before), list(ours), list(others))
    new = {**others, **ours}

    def made(keys: tuple[str, ...], side: int, own: Mapping[str, Any]) -> list[Any]:
        listed = [key for key in keys if key not in kept or key in own]
        listed += [key for key in own if key in kept and key not in listed]
        return [changed[key][side] if key in changed else new[key] for key in listed]

    return made(order.mine, 0, ours), made(order.theirs, 1, others)


def _part(base: Mapping[str, Any], mine: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """Merge one part field by field; of what one side has not, it is what the other has."""
    if mine is None or theirs is None:
        return mine or theirs, mine or theirs
    ours = dict(theirs)
    others = dict(theirs)
    for name in {**mine, **theirs}:
        if same(theirs.get(name), base.get(name)):
            ours[name] = others[name] = mine.get(name)
        elif not same(mine.get(name), base.get(name)):
            ours[name] = mine.get(name)
    return ours, others


def same(one: Any, other: Any) -> bool:
    """Compare as an editor would: no value and an empty one are alike, and so are a browser's line ends and ours."""
    if isinstance(one, str):
        one = one.replace("\r\n", "\n")
    if isinstance(other, str):
        other = other.replace("\r\n", "\n")
    if _is_empty(one) or _is_empty(other):
        return _is_empty(one) and _is_empty(other)
    return bool(one == other)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)
