"""Merge concurrent edits of a node. If both sides changed the same part of a field, the editor chooses a version.

Fields are identified by their path under `metadata`, such as "title" and "detail.text". All functions are pure. The
class of a field determines how two edits of the field are merged. Text is merged paragraph by paragraph, lists item by
item, and parts field by field. In lists of parts, the parts are matched by their ids. Other fields contain a single
value, which can't be merged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from marginalia.markup.characters import normalize_newlines
from marginalia.markup.comparing import lists
from marginalia.markup.comparing import merge as text_merge
from marginalia.markup.comparing.merge import Merged
from nodes.content import declared_fields, upgrading
from nodes.content.declared_fields import ITEMS, PART, PARTS, TEXT

# Metadata that isn't merged. Services set these values themselves or, for `tags`, save only the differences.
_NOT_FIELDS = frozenset(
    {"nonce", "type", "created", "updated", "tags", "detail", "locked", "content_id", "doomed", "superseded"}
    | {upgrading.VERSION}
)


@dataclass(frozen=True)
class FieldConflict:
    """A field that both sides changed in different ways.

    In a text field, `mine` and `theirs` differ only in paragraphs that both sides changed. All other changes have been
    merged into both. `merged` contains the same text in chunks, so that each of these paragraphs can be decided on its
    own. In other fields, `merged` is None.
    """

    path: str
    base: Any
    mine: Any
    theirs: Any
    merged: Merged | None = None


@dataclass(frozen=True)
class Merge:
    """The result of a merge.

    Attributes:
        changes: The fields to change in the stored version, keyed by path.
        merged: The paths of the fields in which stored changes were merged with the form's changes.
        conflicts: The fields whose conflicts the editor has to resolve.
    """

    changes: dict[str, Any]
    merged: tuple[str, ...]
    conflicts: tuple[FieldConflict, ...]


def fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of stored `metadata`, keyed by path, and upgraded to the current version of its type.

    Fields in `detail` have paths such as "detail.text".

    Raises:
        UpgradeFailed: An upgrader failed.
    """
    return flatten(upgrading.upgraded(metadata))


def flatten(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `metadata`, keyed by path, without upgrading them."""
    flat = {name: value for name, value in metadata.items() if name not in _NOT_FIELDS}
    flat.update({f"detail.{name}": value for name, value in (metadata.get("detail") or {}).items()})
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert fields that are keyed by path back to nested metadata. This is the reverse of `flatten`."""
    metadata: dict[str, Any] = {"detail": {}}
    for path, value in flat.items():
        head, _, tail = path.partition(".")
        if tail:
            metadata[head][tail] = value
        else:
            metadata[head] = value
    return metadata


def merge(base: Mapping[str, Any] | None, mine: Mapping[str, Any], theirs: Mapping[str, Any], type: str) -> Merge:
    """Merge `mine`, the fields of a form, into `theirs`, the stored fields of a node of `type`.

    `base` contains the field values with which the form was opened. Without a base, it is unknown which side changed a
    field, so every field that differs is a conflict.
    """
    changes: dict[str, Any] = {}
    merged: list[str] = []
    conflicts: list[FieldConflict] = []
    for path, wanted in mine.items():
        stored = theirs.get(path)
        if same(wanted, stored):
            continue
        strategy = declared_fields.merge_strategy(type, path)
        if base is None:
            conflicts.append(_compare_values(strategy, FieldConflict(path, None, wanted, stored)))
            continue
        before = base.get(path)
        if same(wanted, before):
            merged.append(path)
        elif same(stored, before):
            changes[path] = wanted
        else:
            conflict = _merge_values(strategy, FieldConflict(path, before, wanted, stored))
            if same(conflict.mine, conflict.theirs):
                changes[path] = conflict.mine
                merged.append(path)
            else:
                conflicts.append(conflict)
    return Merge(changes, tuple(merged), tuple(conflicts))


def _merge_values(strategy: str, conflict: FieldConflict) -> FieldConflict:
    """Merge a value that both sides changed. If `mine` and `theirs` of the result are equal, there is no conflict."""
    base = conflict.base
    mine = conflict.mine
    theirs = conflict.theirs
    merged: Merged | None = None
    if strategy == TEXT:
        merged = text_merge.merge(base or "", mine or "", theirs or "")
        mine, theirs = (text_merge.resolve(merged, [side] * merged.conflicts) for side in ("mine", "theirs"))
    elif strategy == ITEMS and _are(list, mine, theirs):
        mine, theirs = _merge_items(base or [], mine, theirs)
    elif strategy == PARTS and _are(list, mine, theirs):
        mine, theirs = _merge_parts(base or [], mine, theirs)
    elif strategy == PART and _are(Mapping, mine, theirs):
        mine, theirs = _merge_part(base or {}, mine, theirs)
    return FieldConflict(conflict.path, base, mine, theirs, merged)


def _compare_values(strategy: str, conflict: FieldConflict) -> FieldConflict:
    """Return a conflict without a known base. In text, each paragraph that differs has to be decided."""
    merged = text_merge.compare(conflict.mine or "", conflict.theirs or "") if strategy == TEXT else None
    # If only the white space between paragraphs differs, the editor has to choose one of the whole texts.
    return replace(conflict, merged=merged) if merged and merged.conflicts else conflict


def _are(kind: Any, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _merge_items(base: list[Any], mine: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    # Items are compared by their representation, because some items can't be hashed.
    by_repr = {repr(item): item for item in (*base, *mine, *theirs)}
    merged = lists.merge(*([repr(item) for item in side] for side in (base, mine, theirs)))
    return [by_repr[key] for key in merged.mine], [by_repr[key] for key in merged.theirs]


def _merge_parts(base: list[Any], mine: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Merge lists of parts.

    Additions, removals and the order are merged by the parts' ids. Parts in both lists are merged field by field.
    """
    before, ours, others = ({str(part.get("_id")): part for part in side} for side in (base, mine, theirs))
    merged = {
        key: _merge_part(part, ours.get(key), others.get(key))
        for key, part in before.items()
        if key in ours or key in others
    }
    # A part that one side removed is gone, even if the other side moved it. If the other side changed it, the editor has
    # to choose which version to keep.
    removed = {key for key in before if (key in ours) != (key in others)}
    disputed = {key for key in removed if not same(ours.get(key) or others.get(key), before[key])}
    order = lists.merge(list(before), list(ours), list(others))
    new = {**others, **ours}

    def parts_of(keys: tuple[str, ...], side: int, own_parts: Mapping[str, Any]) -> list[Any]:
        """Return the merged list for one side, including the disputed parts that this side kept."""
        gone = {key for key in removed if key not in disputed or key not in own_parts}
        result = [key for key in dict.fromkeys(keys) if key not in gone]
        result += [key for key in own_parts if key in disputed and key not in result]
        return [merged[key][side] if key in merged else new[key] for key in result]

    return parts_of(order.mine, 0, ours), parts_of(order.theirs, 1, others)


def _merge_part(
    base: Mapping[str, Any], mine: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None
) -> tuple[Any, Any]:
    """Merge a part field by field, and return the result for each side. Lists of parts in the part are merged by id.

    If only one side has the part, return this part for both sides.
    """
    if mine is None or theirs is None:
        return mine or theirs, mine or theirs
    ours = dict(theirs)
    others = dict(theirs)
    for name in {**mine, **theirs}:
        if same(theirs.get(name), base.get(name)):
            ours[name] = others[name] = mine.get(name)
        elif not same(mine.get(name), base.get(name)):
            if _are_parts(mine.get(name)) and _are_parts(theirs.get(name)):
                ours[name], others[name] = _merge_parts(base.get(name) or [], mine[name], theirs[name])
            else:
                ours[name] = mine.get(name)
    return ours, others


def _are_parts(value: Any) -> bool:
    """Return whether a stored value is a list of parts. Only parts are stored as documents with an `_id`."""
    return isinstance(value, list) and all(isinstance(part, Mapping) and "_id" in part for part in value)


def same(value: Any, other: Any) -> bool:
    """Return whether an editor would consider two values the same.

    Null equals an empty value, and the line endings that browsers send (CRLF) equal the stored line endings (LF).
    """
    if isinstance(value, str):
        value = normalize_newlines(value)
    if isinstance(other, str):
        other = normalize_newlines(other)
    if _is_empty(value) or _is_empty(other):
        return _is_empty(value) and _is_empty(other)
    return bool(value == other)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)
