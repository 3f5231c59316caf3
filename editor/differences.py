"""Two versions of a node for the eye, field by field: what belongs together side by side, what differs marked."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from bson import ObjectId
from django.db import models
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django_mongodb_backend.fields import ArrayField

from editor import declared
from editor.forms import FIELDS, NodeForm
from marginalia.markup.comparing import alignment, diff
from marginalia.markup.comparing.alignment import Kind, Pair, Row
from marginalia.markup.comparing.diff import Change
from marginalia.markup.comparing.sequences import Budget
from marginalia.mongo.clock import now
from nodes import access
from nodes.content import declared_fields
from nodes.content.declared_fields import ITEMS, PART, PARTS, TEXT
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import is_public
from nodes.selectors.references import MOST_REFERENCES
from nodes.services.editing import NEVER

# Photos as a text names them: ![words](photo:…), ::photo{photo=photo:…}.
_PHOTO = re.compile(r"(?i)\bphoto:([^\s()\"'<>{}\[\],#]+)")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
# Rows that are the same are shown so many beside a difference, and where fewer than the second would be folded.
_BESIDE, _LEAST_FOLDED = 1, 2


@dataclass(frozen=True)
class Line:
    """A paragraph, item or value of both versions side by side, with the photos that one side names and the other does not."""

    kind: Kind
    old: Sequence[Change]
    new: Sequence[Change]
    old_photos: Sequence[Photo] = ()
    new_photos: Sequence[Photo] = ()


@dataclass(frozen=True)
class Fold:
    """Lines that are the same in both versions, far from what differs."""

    lines: Sequence[Line]
    kind: Literal["fold"] = "fold"


@dataclass(frozen=True)
class Difference:
    """A field that differs. `is_text`: its lines are paragraphs, else items."""

    label: str
    lines: Sequence[Line | Fold]
    is_text: bool

    @property
    def is_blank(self) -> bool:
        """Whether nothing differs but the white space between paragraphs."""
        return all(line.kind in ("same", "fold") for line in self.lines)


def changes(old: Mapping[str, Any], new: Mapping[str, Any], type: str, user: Any) -> list[Difference]:
    """Return the fields by path that differ between two versions of a node of a type, with the photos that `user` may see."""
    budget = Budget()
    found = []
    for path in {**old, **new}:
        before = old.get(path)
        after = new.get(path)
        if display(path, before, type) != display(path, after, type):
            found.append((path, _rows(path, before, after, type, budget)))
    seen = _photos([name for _path, rows in found for row in rows for side in row.names for name in side], user)
    return [
        Difference(label(path, type), folded([row.line(seen) for row in rows]), is_text(path, type))
        for path, rows in found
    ]


def sides(path: str, theirs: Any, mine: Any, type: str) -> list[Line | Fold]:
    """Return what two editors made of a field, side by side."""
    return folded([row.line({}) for row in _rows(path, theirs, mine, type, Budget())])


def folded(lines: Sequence[Line]) -> list[Line | Fold]:
    """Return the lines with those that are the same as a Fold, but for those beside a difference."""
    shown: list[Line | Fold] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].kind == "same":
            end += 1
        first = at + (_BESIDE if at else 0)
        last = end - (_BESIDE if end < len(lines) else 0)
        if last - first >= _LEAST_FOLDED:
            shown += [*lines[at:first], Fold(lines[first:last]), *lines[last:end]]
        else:
            shown += lines[at:end]
        shown += lines[end : end + 1]
        at = end + 1
    return shown


@dataclass(frozen=True)
class _Named:
    """A row, and the names of the photos that either side has and the other has not."""

    row: Row
    names: tuple[Collection[str], Collection[str]]

    def line(self, seen: Mapping[str, Photo]) -> Line:
        old, new = ([seen[name] for name in side if name in seen] for side in self.names)
        return Line(self.row.kind, self.row.old, self.row.new, old, new)


@dataclass(frozen=True)
class _Item:
    """A part of a value: its text, what it is recognized by, the names of its photos; of a part its fields by label."""

    text: str
    key: str
    names: tuple[str, ...] = ()
    fields: Mapping[str, str] | None = None


def _rows(path: str, old: Any, new: Any, type: str, budget: Budget) -> list[_Named]:
    olds, news = (list(_items(path, value, type)) for value in (old, new))
    field = declared_fields.declared(type).get(path)
    way = declared_fields.merge_strategy(type, path)
    if is_text(path, type) or way == ITEMS:
        rows = alignment.align_items([one.text for one in olds], [one.text for one in news], budget)
    elif way in (PART, PARTS) or path == "tags":
        pairs = alignment.align([one.key for one in olds], [one.key for one in news], budget)
        rows = [_keyed(pair, olds, news, budget) for pair in pairs]
        rows = [row for row in rows if path != "tags" or row.kind != "same"]
    else:
        is_free = isinstance(old or new, str) and not (field and field.flatchoices)
        rows = [_value(olds, news, budget if is_free else None)]
    return [_Named(row, _names(row, olds, news)) for row in rows]


def is_text(path: str, type: str) -> bool:
    """Return whether a field of a type is a text, which is compared by its paragraphs."""
    return declared_fields.merge_strategy(type, path) == TEXT


def is_blank(path: str, old: Any, new: Any, type: str) -> bool:
    """Return whether nothing differs between two values of a text but the white space around its paragraphs."""
    return is_text(path, type) and _single_spaced(old) == _single_spaced(new)


def _single_spaced(text: str | None) -> str:
    """Return a text with one blank line between its paragraphs and none around them."""
    return _BLANK_LINES.sub("\n\n", text or "").lstrip("\n").rstrip()


def _items(path: str, value: Any, type: str) -> Iterator[_Item]:
    """Yield the parts of a stored value of a field."""
    field = declared_fields.declared(type).get(path)
    way = declared_fields.merge_strategy(type, path)
    text = display(path, value, type)
    if way == TEXT:
        for part in diff.split_paragraphs(text, alignment.MAX_PARAGRAPHS):
            yield _Item(part, part, tuple(dict.fromkeys(_PHOTO.findall(part))))
    elif way in (PART, PARTS) and field:
        for one in value if isinstance(value, list) else [value] if value is not None else []:
            said = declared.part_fields(field, one)
            key = "" if way == PART else str(one.get("_id", one.get("id")) if isinstance(one, Mapping) else one.pk)
            yield _Item("\n".join(filter(None, said.values())), key, _ids(field, [one] if way == PARTS else one), said)
    elif way == ITEMS and isinstance(field, ArrayField) and isinstance(value, list):
        for one in value:
            if text := declared.display(field.base_field, one):
                yield _Item(text, text, _ids(field.base_field, one))
    elif path == "tags":
        yield from (_Item(tag, tag) for tag in value or ())
    elif text:
        yield _Item(text, text, _ids(field, value) if field else ())


def _ids(field: models.Field, value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in declared_fields.referenced_ids(field, value))


def _keyed(pair: Pair, olds: Sequence[_Item], news: Sequence[_Item], budget: Budget) -> Row:
    """Return the row of a tag, or of a part: field by field."""
    before = olds[pair.old] if pair.old is not None else _Item("", "")
    after = news[pair.new] if pair.new is not None else _Item("", "")
    if before.fields is None and after.fields is None:
        return alignment.make_row(pair, alignment.whole_change(before.text, after.text))
    pieces: list[Change] = []
    old = before.fields or {}
    new = after.fields or {}
    for name in {**old, **new}:
        if old.get(name) or new.get(name):
            said = diff.diff_words(old.get(name, ""), new.get(name, ""), budget)
            line_end = "\n" if pieces else ""
            pieces += [Change("equal", f"{line_end}{name}: "), *said]
    row = alignment.make_row(pair, pieces)
    return Row(row.kind, pair, row.old if before.fields else (), row.new if after.fields else ())


def _value(olds: Sequence[_Item], news: Sequence[_Item], budget: Budget | None) -> Row:
    """Return the row of a single value: with a `budget` by its words, else as a whole."""
    before, after = (items[0].text if items else "" for items in (olds, news))
    pair = Pair(0 if olds else None, 0 if news else None)
    return alignment.make_row(
        pair, diff.diff_words(before, after, budget) if budget else alignment.whole_change(before, after)
    )


def _names(row: Row, olds: Sequence[_Item], news: Sequence[_Item]) -> tuple[list[str], list[str]]:
    """Return the names of photos that a row has on its old side alone, and on its new side alone; none of what moved."""
    if row.kind in ("same", "left", "came"):
        return [], []
    before = olds[row.pair.old].names if row.pair.old is not None else ()
    after = news[row.pair.new].names if row.pair.new is not None else ()
    return [name for name in before if name not in after], [name for name in after if name not in before]


def _photos(names: Sequence[str], user: Any) -> dict[str, Photo]:
    """Return the photos of these names, of the first few, that a user may see."""
    found = stored_photos.by_references(list(dict.fromkeys(names))[:MOST_REFERENCES])
    if access.may_see_photos(user):
        return found
    sections = tree.current()
    moment = now()
    return {name: photo for name, photo in found.items() if is_public(photo, sections, moment)}


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
    if field := declared_fields.declared(type).get(path):
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
