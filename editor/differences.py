"""Compare two versions of a node field by field, and mark the changes.

Texts are shown as readers see them, and as source, with matching lines side by side.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from bson import ObjectId
from django.db import models
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_mongodb_backend.fields import ArrayField

from editor import declared
from editor.forms import FIELDS, NodeForm
from marginalia.markup import html
from marginalia.markup.comparing import alignment, diff, rendered
from marginalia.markup.comparing.alignment import Kind, Pair, Row
from marginalia.markup.comparing.diff import Change
from marginalia.markup.comparing.sequences import Budget
from marginalia.mongo.clock import now
from nodes import access, rendering
from nodes.content import MARKDOWN, declared_fields
from nodes.content.declared_fields import ITEMS, PART, PARTS, TEXT, MarkdownField
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import is_public
from nodes.selectors.references import MOST_REFERENCES
from nodes.services.editing import NEVER
from photos import texts

# References to photos in text: ![words](photo:…) and ::photo{photo=photo:…}.
_PHOTO = re.compile(r"(?i)\bphoto:([^\s()\"'<>{}\[\],#]+)")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
# Number of unchanged rows that are shown before and after each difference, and minimum number of rows in a fold.
_CONTEXT, _LEAST_FOLDED = 1, 2
# Maximum number of characters in both versions of a text as HTML. The differences of longer texts are shown only as source.
_MOST_RENDERED = 800_000
_BODY, _FORMAT = "detail.text", "detail.format"


@dataclass(frozen=True)
class Line:
    """A paragraph, item or value, with the two versions side by side and the photos that only one of them refers to."""

    kind: Kind
    old: Sequence[Change]
    new: Sequence[Change]
    old_photos: Sequence[Photo] = ()
    new_photos: Sequence[Photo] = ()


@dataclass(frozen=True)
class Fold:
    """Unchanged lines that are hidden. Lines next to a difference are never hidden."""

    lines: Sequence[Any]
    kind: Literal["fold"] = "fold"


@dataclass(frozen=True)
class Difference:
    """A field that differs between two versions. Its lines are paragraphs if `is_text` is true, and items otherwise.

    Attributes:
        rendered: The new version as readers see it, with the changes marked. It is "" for fields without markup, and
            for very long texts.
    """

    label: str
    lines: Sequence[Line | Fold]
    is_text: bool
    rendered: SafeString = SafeString("")

    @property
    def is_blank(self) -> bool:
        """Return whether only the white space between paragraphs differs."""
        return all(line.kind in ("same", "fold") for line in self.lines)


def changes(old: Mapping[str, Any], new: Mapping[str, Any], type: str, user: Any) -> list[Difference]:
    """Return the differences between two versions of a node.

    Each version is a mapping from the paths of fields to their values. A difference includes the photos to which only
    one of the versions refers, if `user` can see them.
    """
    budget = Budget()
    differing = []
    for path in {**old, **new}:
        before = old.get(path)
        after = new.get(path)
        if display(path, before, type) != display(path, after, type):
            differing.append((path, _rows(path, before, after, type, budget)))
    photo_refs = [
        photo_ref for _path, rows in differing for row in rows for side in row.photo_refs for photo_ref in side
    ]
    photos = _photos(photo_refs, user)
    return [
        Difference(
            label(path, type),
            fold([row.line(photos) for row in rows]),
            is_text(path, type),
            _rendered(path, old, new, type, user, budget),
        )
        for path, rows in differing
    ]


def _rendered(
    path: str, old: Mapping[str, Any], new: Mapping[str, Any], type: str, user: Any, budget: Budget
) -> SafeString:
    """Return the field at `path` as readers see it, with the changes marked, or "" if it isn't rendered."""
    is_body = path == _BODY
    sources = [version.get(path) or "" for version in (old, new)]
    is_markdown = isinstance(declared_fields.declared(type).get(path), MarkdownField)
    if not (is_body or is_markdown):
        return SafeString("")
    formats = [version.get(_FORMAT) or MARKDOWN if is_body else MARKDOWN for version in (old, new)]
    before, after = (rendering.to_html(*source) for source in zip(sources, formats, strict=True))
    if len(before) + len(after) > _MOST_RENDERED:
        return SafeString("")
    blocks = rendered.mark_changes(before, after, removed=_("Removed"), added=_("Added"), budget=budget)
    if all(block.kind == "same" for block in blocks):
        return format_html("<p>{}</p>", _("Readers see no difference."))
    marked = "\n".join(_folded(block) if isinstance(block, Fold) else block.html for block in fold(blocks))
    sees_photos = access.may_see_photos(user)
    return texts.resolve_for_editor(
        html.clean(marked, "article"), sees_photos=sees_photos, sees_all=access.sees_all(user)
    )


def _folded(unchanged_blocks: Fold) -> str:
    """Return unchanged blocks that are shown only on demand."""
    count = len(unchanged_blocks.lines)
    summary = ngettext("%(n)s paragraph unchanged", "%(n)s paragraphs unchanged", count) % {"n": count}
    inner = "\n".join(block.html for block in unchanged_blocks.lines)
    return format_html("<details><summary>{}</summary>{}</details>", summary, SafeString(inner))


def lines(path: str, theirs: Any, mine: Any, type: str, budget: Budget | None = None) -> list[Line]:
    """Return two editors' versions of the field at `path` as lines, side by side."""
    return [row.line({}) for row in _rows(path, theirs, mine, type, budget or Budget())]


def unchanged(text: str) -> list[Line]:
    """Return the paragraphs of `text` as unchanged lines."""
    paragraphs = diff.split_paragraphs(text, alignment.MAX_PARAGRAPHS)
    return [Line("same", pieces, pieces) for pieces in ([Change("equal", paragraph)] for paragraph in paragraphs)]


class _Row(Protocol):
    @property
    def kind(self) -> str: ...


R = TypeVar("R", bound=_Row)


def fold(lines: Sequence[R]) -> list[R | Fold]:
    """Return the lines, with each run of unchanged lines replaced with a fold.

    Lines next to a difference aren't folded.
    """
    shown: list[R | Fold] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].kind == "same":
            end += 1
        first = start + (_CONTEXT if start else 0)
        last = end - (_CONTEXT if end < len(lines) else 0)
        if last - first >= _LEAST_FOLDED:
            shown += [*lines[start:first], Fold(lines[first:last]), *lines[last:end]]
        else:
            shown += lines[start:end]
        shown += lines[end : end + 1]
        start = end + 1
    return shown


@dataclass(frozen=True)
class _PhotoRow:
    """A row, with the photo references that only its old side contains, and those that only its new side contains."""

    row: Row
    photo_refs: tuple[Collection[str], Collection[str]]

    def line(self, photos: Mapping[str, Photo]) -> Line:
        old, new = ([photos[photo_ref] for photo_ref in side if photo_ref in photos] for side in self.photo_refs)
        return Line(self.row.kind, self.row.old, self.row.new, old, new)


@dataclass(frozen=True)
class _Item:
    """An item in the value of a field.

    Attributes:
        key: A value that identifies the item in both versions.
        fields: If the item is a part, the part's fields as text, keyed by label.
    """

    text: str
    key: str
    photo_refs: tuple[str, ...] = ()
    fields: Mapping[str, str] | None = None


def _rows(path: str, old: Any, new: Any, type: str, budget: Budget) -> list[_PhotoRow]:
    olds, news = (list(_items(path, value, type)) for value in (old, new))
    field = declared_fields.declared(type).get(path)
    strategy = declared_fields.merge_strategy(type, path)
    if is_text(path, type) or strategy == ITEMS:
        rows = alignment.align_items([item.text for item in olds], [item.text for item in news], budget)
    elif strategy in (PART, PARTS) or path == "tags":
        pairs = alignment.align([item.key for item in olds], [item.key for item in news], budget)
        rows = [_keyed_row(pair, olds, news, budget) for pair in pairs]
        rows = [row for row in rows if path != "tags" or row.kind != "same"]
    else:
        is_free = isinstance(old or new, str) and not (field and field.flatchoices)
        rows = [_value_row(olds, news, budget if is_free else None)]
    return [_PhotoRow(row, _differing_photo_refs(row, olds, news)) for row in rows]


def is_text(path: str, type: str) -> bool:
    """Return whether the type's field at `path` contains text that is compared paragraph by paragraph."""
    return declared_fields.merge_strategy(type, path) == TEXT


def is_blank(path: str, old: Any, new: Any, type: str) -> bool:
    """Return whether two values of a text field differ only in the white space around paragraphs.

    Return False for fields that don't contain text.
    """
    return is_text(path, type) and _single_spaced(old) == _single_spaced(new)


def _single_spaced(text: str | None) -> str:
    """Return text with exactly one blank line between paragraphs, and no blank lines at the beginning or end."""
    return _BLANK_LINES.sub("\n\n", text or "").lstrip("\n").rstrip()


def _items(path: str, value: Any, type: str) -> Iterator[_Item]:
    """Yield the items in a field's stored value: paragraphs, parts, list items or tags, or the value as one item."""
    field = declared_fields.declared(type).get(path)
    strategy = declared_fields.merge_strategy(type, path)
    text = display(path, value, type)
    if strategy == TEXT:
        for paragraph in diff.split_paragraphs(text, alignment.MAX_PARAGRAPHS):
            yield _Item(paragraph, paragraph, tuple(dict.fromkeys(_PHOTO.findall(paragraph))))
    elif strategy in (PART, PARTS) and field:
        for part in value if isinstance(value, list) else [value] if value is not None else []:
            fields = declared.part_fields(field, part)
            key = (
                ""
                if strategy == PART
                else str(part.get("_id", part.get("id")) if isinstance(part, Mapping) else part.pk)
            )
            photo_refs = _photo_refs(field, [part] if strategy == PARTS else part)
            yield _Item("\n".join(filter(None, fields.values())), key, photo_refs, fields)
    elif strategy == ITEMS and isinstance(field, ArrayField) and isinstance(value, list):
        for item in value:
            if text := declared.display(field.base_field, item):
                yield _Item(text, text, _photo_refs(field.base_field, item))
    elif path == "tags":
        yield from (_Item(tag, tag) for tag in value or ())
    elif text:
        yield _Item(text, text, _photo_refs(field, value) if field else ())


def _photo_refs(field: models.Field, value: Any) -> tuple[str, ...]:
    return tuple(str(node_id) for node_id in declared_fields.referenced_ids(field, value))


def _keyed_row(pair: Pair, olds: Sequence[_Item], news: Sequence[_Item], budget: Budget) -> Row:
    """Return the row for a tag or a part. The fields of parts are compared one by one."""
    before = olds[pair.old] if pair.old is not None else _Item("", "")
    after = news[pair.new] if pair.new is not None else _Item("", "")
    if before.fields is None and after.fields is None:
        return alignment.make_row(pair, alignment.whole_change(before.text, after.text))
    pieces: list[Change] = []
    old = before.fields or {}
    new = after.fields or {}
    for name in {**old, **new}:
        if old.get(name) or new.get(name):
            words = diff.diff_words(old.get(name, ""), new.get(name, ""), budget)
            line_end = "\n" if pieces else ""
            pieces += [Change("equal", f"{line_end}{name}: "), *words]
    row = alignment.make_row(pair, pieces)
    return Row(row.kind, pair, row.old if before.fields else (), row.new if after.fields else ())


def _value_row(olds: Sequence[_Item], news: Sequence[_Item], budget: Budget | None) -> Row:
    """Return the row for a single value. With a `budget`, compare the two versions of the value word by word."""
    before, after = (items[0].text if items else "" for items in (olds, news))
    pair = Pair(0 if olds else None, 0 if news else None)
    return alignment.make_row(
        pair, diff.diff_words(before, after, budget) if budget else alignment.whole_change(before, after)
    )


def _differing_photo_refs(row: Row, olds: Sequence[_Item], news: Sequence[_Item]) -> tuple[list[str], list[str]]:
    """Return the photo references that only the row's old side contains, and those that only its new side contains."""
    if row.kind in ("same", "left", "came"):
        return [], []
    before = olds[row.pair.old].photo_refs if row.pair.old is not None else ()
    after = news[row.pair.new].photo_refs if row.pair.new is not None else ()
    return (
        [photo_ref for photo_ref in before if photo_ref not in after],
        [photo_ref for photo_ref in after if photo_ref not in before],
    )


def _photos(photo_refs: Sequence[str], user: Any) -> dict[str, Photo]:
    """Return the photos that a user can see, keyed by reference.

    Only the first MOST_REFERENCES references are looked up.
    """
    photos = stored_photos.by_references(list(dict.fromkeys(photo_refs))[:MOST_REFERENCES])
    if access.may_see_photos(user):
        return photos
    sections = tree.current()
    moment = now()
    return {photo_ref: photo for photo_ref, photo in photos.items() if is_public(photo, sections, moment)}


def labels(paths: Any, type: str) -> str:
    """Return the labels of the fields at `paths` as text, such as "Title, Text"."""
    return ", ".join(dict.fromkeys(label(path, type) for path in paths))


def label(path: str, type: str) -> str:
    """Return the label of the type's field at `path`."""
    if path == "parent_id":
        return _("Section")
    if path == "author":
        return _("Author")
    if known := declared.label(type, path):
        return known
    name = FIELDS.get(path, path)
    return str(NodeForm.base_fields[name].label) if name in NodeForm.base_fields else path.rpartition(".")[2]


def display(path: str, value: Any, type: str) -> str:
    """Return the stored value of the type's field at `path` as readable text."""
    if field := declared_fields.declared(type).get(path):
        return declared.display(field, value)
    if path == "parent_id":
        return section_name(value, type)
    if path == "author":
        return value["name"] if value else ""
    if value == NEVER:
        return _("Never")
    if isinstance(value, datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def section_name(section_id: ObjectId | None, type: str = "") -> str:
    """Return the titles of a section and its ancestors, such as "News › Sports". `type` is the type of its contents."""
    if section_id is None:
        return access.top_label(type)
    chain = tree.current().ancestors(section_id)
    return " › ".join(section.title for section in chain) if chain else _("A deleted section")
