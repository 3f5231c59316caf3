"""What one editor said and what another said, for the eye: words that differ are marked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bson import ObjectId
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from markup.comparing import diff
from markup.comparing.diff import Change
from nodes.admin import declared
from nodes.admin.forms import FIELDS, NodeForm
from nodes.content import fields as content_fields
from nodes.models import tree
from nodes.services.editing import NEVER

_GAP = re.compile(r"(\n[ \t]*\n\s*)")
# Fewer paragraphs that are the same are shown.
_SKIPPED = 2


@dataclass(frozen=True)
class Skip:
    """Paragraphs that are the same in both versions, far from what differs: told by their number."""

    count: int
    kind: Literal["skip"] = "skip"


Pieces = list[Change | Skip]


def folded(pieces: Sequence[Change]) -> Pieces:
    """Return the pieces for the eye: of what is the same only the paragraphs beside a difference, the others as Skip."""
    shown: Pieces = []
    for number, piece in enumerate(pieces):
        parts = _GAP.split(piece.text) if piece.kind == "equal" else []
        # The paragraph that the difference is in, or beside.
        first = 0 if number == 0 else 1 + (parts[:1] == [""])
        last = 0 if number == len(pieces) - 1 else 1 + (parts[-1:] == [""])
        hidden = (len(parts) + 1) // 2 - first - last
        if len(pieces) == 1 or hidden < _SKIPPED:
            shown.append(piece)
            continue
        head = "".join(parts[: max(0, 2 * first - 1)])
        tail = "".join(parts[len(parts) - max(0, 2 * last - 1) :])
        shown += [*([Change("equal", head)] if head else []), Skip(hidden), *([Change("equal", tail)] if tail else [])]
    return shown


def sides(old: str, new: str) -> tuple[Pieces, Pieces]:
    """Return the old text and the new one, each with what the other lacks marked."""
    both = diff.words(old, new)
    return folded([p for p in both if p.kind != "insert"]), folded([p for p in both if p.kind != "delete"])


def labels(paths: Any, type: str) -> str:
    """Return the names of fields of a type as an editor knows them: "Title, Text"."""
    return ", ".join(dict.fromkeys(label(path, type) for path in paths))


def label(path: str, type: str) -> str:
    """Return the name of a field of a type as an editor knows it."""
    if path == "parent_id":
        return _("Section")
    if path == "author":
        return _("Author")
    if known := declared.label(type, path):
        return known
    name = FIELDS.get(path, path)
    return str(NodeForm.base_fields[name].label) if name in NodeForm.base_fields else path.rpartition(".")[2]


def display(path: str, value: Any, type: str) -> str:
    """Return the stored value of a field of a type as text for the eye."""
    if field := content_fields.declared(type).get(path):
        return declared.display(field, value)
    if path == "parent_id":
        return section_name(value)
    if path == "author":
        return value["name"] if value else ""
    if value == NEVER:
        return _("Never")
    if isinstance(value, datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def section_name(section_id: ObjectId | None) -> str:
    """Return where a section stands: "News › Sports"."""
    if section_id is None:
        return _("Top level")
    chain = tree.current().ancestors(section_id)
    return " › ".join(section.title for section in chain) if chain else _("A section that is not there any more")


def changes(old: dict[str, Any], new: dict[str, Any], type: str) -> Iterator[tuple[str, Pieces]]:
    """Yield (label, pieces) of each field by path that differs between two versions of a node of a type."""
    for path in {**old, **new}:
        before, after = display(path, old.get(path), type), display(path, new.get(path), type)
        if before != after:
            yield label(path, type), folded(diff.words(before, after))
