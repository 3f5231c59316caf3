"""Three-way merge of a node: what one side changed merges by itself, what both changed is for the editor to decide.

Fields are named by their path under `metadata`: "title", "detail.text". Pure functions; texts merge by paragraph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markup.comparing import merge as text_merge

# Merged paragraph by paragraph; every other field is one value.
TEXTS = frozenset({"summary", "detail.text"})
# Kept by the services themselves, or saved as differences.
_NOT_FIELDS = frozenset(
    {"nonce", "type", "created", "updated", "tags", "detail", "locked", "content_id", "doomed", "superseded"}
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
    """Return the fields of a stored `metadata` by path, those of `detail` as "detail.name"."""
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


def merge(base: Mapping[str, Any] | None, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Merge:
    """Merge `mine` (the fields of a form) into `theirs` (the fields stored); `base` is what the form started from.

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
        elif path in TEXTS:
            text = text_merge.merge(before or "", wanted or "", stored or "")
            if text.text is not None:
                changes[path] = text.text
                merged.append(path)
            else:
                conflicts.append(_text_conflict(path, before, text))
        else:
            conflicts.append(FieldConflict(path, before, wanted, stored))
    return Merge(changes, tuple(merged), tuple(conflicts))


def _text_conflict(path: str, before: Any, text: text_merge.Merged) -> FieldConflict:
    mine = text_merge.resolve(text, ["mine"] * text.conflicts)
    return FieldConflict(path, before, mine, text_merge.resolve(text, ["theirs"] * text.conflicts))


def same(one: Any, other: Any) -> bool:
    """Compare as an editor would: no value and an empty one are alike, and so are a browser's line ends and ours."""
    if isinstance(one, str):
        one = one.replace("\r\n", "\n")
    if isinstance(other, str):
        other = other.replace("\r\n", "\n")
    return (one or None) == (other or None)
