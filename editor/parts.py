"""Form fields for a node's parts. Each part is a row of inputs, including its position and a checkbox for removing it.

After the stored rows, the form contains some empty rows, and a script can add more rows. If a part contains other
parts, its row contains their rows.
"""

import json
from collections.abc import Mapping
from typing import Any

from bson import ObjectId
from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from nodes.content.values import MOST_PARTS, stored_fields

# How many empty rows follow the stored rows. EXTRA_NESTED applies to rows that contain other rows, and to the rows
# inside them. A script can add more empty rows.
EXTRA, EXTRA_NESTED = 3, 1
# MOST is the maximum number of rows that can be saved, unless more rows are already stored. MOST_READ, the maximum
# number of rows that are read, is higher, so that an error can be reported if there are too many rows.
MOST, MOST_READ = 200, 1_000
# A part as it was typed: the submitted values, keyed by field name, and the part's "id".
Row = dict[str, Any]


class PartsWidget(forms.Widget):
    """A widget with one row of inputs per part.

    Attributes:
        fields: The fields of a part, keyed by name.
        many: Whether there can be several parts, which editors can reorder, instead of a single part.
        is_nested: Whether the parts are in another part.
    """

    template_name = "editor/parts.html"
    use_fieldset = True

    class Media:
        js = (forms.Script("editor/parts.js", type="module"),)

    def __init__(self, fields: Mapping[str, forms.Field], *, many: bool) -> None:
        super().__init__()
        self.fields = fields
        self.many = many
        self.is_nested = False

    @property
    def contains_rows(self) -> bool:
        return any(isinstance(field, PartsField) for field in self.fields.values())

    def empty_row(self) -> Row:
        """Return the row for a new, empty part."""
        return self.row({name: field.initial for name, field in self.fields.items()})

    def row(self, values: Mapping[str, Any], part_id: str = "") -> Row:
        """Return a part's values as a browser would submit them."""
        return {"id": part_id} | {name: _shown_value(field, values.get(name)) for name, field in self.fields.items()}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Row] | None:
        if name in data:
            return _parse_rows(data[name], self.fields)
        count = data.get(f"{name}-count", "")
        most = MOST_PARTS if self.is_nested or self.contains_rows else MOST_READ
        if not (count.isascii() and count.isdecimal() and len(count) < 6 and int(count) <= most):
            return None
        rows: list[tuple[float, Row]] = []
        empty_row = self.empty_row()
        for number in range(int(count)):
            prefix = f"{name}-{number}"
            if data.get(f"{prefix}-DELETE") or (self.is_nested and f"{prefix}-id" not in data):
                continue
            row: Row = {"id": data.get(f"{prefix}-id", "")}
            for key, field in self.fields.items():
                sent = field.widget.value_from_datadict(data, files, f"{prefix}-{key}")
                row[key] = sent if isinstance(field, PartsField) else _normalize_sent(sent)
            if row["id"] or row != empty_row:
                rows.append((_parse_place(data.get(f"{prefix}-ORDER", ""), number), row))
        return [row for _place, row in sorted(rows, key=lambda entry: entry[0])]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}-count" not in data

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        rows: list[Row] = list(value or ())
        extra = EXTRA_NESTED if self.is_nested or self.contains_rows else EXTRA
        spare = [self.empty_row()] * (extra if self.many else 1 - len(rows))
        shown = [self._shown(name, str(number), row) for number, row in enumerate([*rows, *spare])]
        # The template of an outer list contains the templates of inner lists, so their placeholders must differ.
        placeholder = f"__n{name.count('__n')}__"
        return render_to_string(
            self.template_name,
            {
                "name": name,
                "rows": shown,
                "many": self.many,
                "placeholder": placeholder,
                "template": self._shown(name, placeholder, self.empty_row()) if self.many else None,
            },
        )

    def _shown(self, name: str, number: str, row: Row) -> dict[str, Any]:
        prefix = f"{name}-{number}"
        boxes = []
        for key, field in self.fields.items():
            html = field.widget.render(f"{prefix}-{key}", row.get(key), {"id": f"id_{prefix}-{key}"})
            box = {"label": field.label, "id": f"id_{prefix}-{key}", "html": html, "is_checkbox": _is_checkbox(field)}
            boxes.append(box | {"is_group": isinstance(field, PartsField)})
        is_numbered = number.isdecimal()
        return {"prefix": prefix, "id": row["id"], "boxes": boxes, "place": int(number) + 1 if is_numbered else ""}


class HiddenParts(forms.HiddenInput):
    """A hidden input that contains the rows of a PartsWidget as JSON."""

    def format_value(self, value: Any) -> str:
        return json.dumps(value or [])


class PartsField(forms.Field):
    """A field for a node's parts. Its value is a list of mappings from field names to values.

    If `many` is false, the value is a single mapping or None.
    """

    hidden_widget = HiddenParts

    def __init__(self, model: Any, fields: Mapping[str, forms.Field], *, many: bool, **kwargs: Any) -> None:
        self.model = model
        self.fields = fields
        self.many = many
        # The value that the form was rendered with. Unchanged parts aren't parsed.
        self.seen: Any = None
        for field in fields.values():
            if isinstance(field, PartsField):
                field.widget.is_nested = True
        super().__init__(widget=PartsWidget(fields, many=many), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list) and all(isinstance(row, dict) for row in value):
            return value
        parts = value if isinstance(value, list) else [value] if value is not None else []
        widget: Any = self.widget
        return [
            widget.row({name: getattr(part, name, None) for name in self.fields}, str(part.pk or "")) for part in parts
        ]

    def _seen_parts(self) -> dict[str, tuple[Any, Row]]:
        """Return the (part, row) of each part that the form was rendered with, keyed by id."""
        parts = self.seen if isinstance(self.seen, list) else [self.seen] if self.seen is not None else []
        return {row["id"]: (part, row) for part, row in zip(parts, self.prepare_value(self.seen), strict=True)}

    def clean(self, value: Any) -> Any:
        if value is None:
            raise ValidationError(_("These rows couldn't be read. Nothing was saved. Reload the page and try again."))
        cleaned = []
        errors = []
        seen = self._seen_parts()
        if len(value) > (most := max(MOST, len(seen))):
            raise ValidationError(_("Too many rows. Use at most %(most)d."), params={"most": most})
        for number, row in enumerate(value, 1):
            before, shown = seen.get(str(row.get("id")), (None, {}))
            part = {"_id": ObjectId(row["id"])} if ObjectId.is_valid(row.get("id")) else {}
            if before is not None:
                hidden_names = (
                    field.attname for field in stored_fields(self.model) if not (field.editable or field.primary_key)
                )
                part |= {name: getattr(before, name) for name in hidden_names}
            for name, field in self.fields.items():
                if name in shown and row.get(name) == shown[name]:
                    part[name] = getattr(before, name)
                    continue
                if isinstance(field, PartsField):
                    field.seen = getattr(before, name, None)
                try:
                    part[name] = field.clean(row.get(name))
                except ValidationError as error:
                    params = {"number": number, "problem": f"{field.label}: {' '.join(error.messages)}"}
                    errors.append(_("%(number)d: %(problem)s") % params if self.many else params["problem"])
            cleaned.append(part)
        if errors:
            raise ValidationError(errors)
        if self.required and not cleaned:
            raise ValidationError(self.error_messages["required"], code="required")
        return cleaned if self.many else next(iter(cleaned), None)


def is_unchanged(field: forms.Field, sent: Any, seen: Any) -> bool:
    """Return whether the submitted value is exactly what the field's widget displayed for `seen`.

    The displayed values are compared, because some widgets don't display all of the stored data.
    """
    return bool(_normalize_sent(sent) == _shown_value(field, seen))


def _shown_value(field: forms.Field, value: Any) -> Any:
    """Return the value that a field's widget shows for a stored value."""
    if callable(value):
        value = value()
    value = field.prepare_value(value)
    if isinstance(field, PartsField):
        return value
    if _is_checkbox(field):
        return bool(value)
    widget = field.widget
    if isinstance(widget, forms.MultiWidget):
        parts = zip(widget.widgets, widget.decompress(value), strict=True)
        return [_text(inner.format_value(part)) for inner, part in parts]
    return _text(value if isinstance(widget, forms.widgets.ChoiceWidget) else widget.format_value(value))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _normalize_sent(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(part) for part in value]
    return value if isinstance(value, bool) else _text(value).replace("\r\n", "\n")


def _is_checkbox(field: forms.Field) -> bool:
    return isinstance(field.widget, forms.CheckboxInput)


def _parse_place(typed: str, number: int) -> float:
    """Return the position that was typed for a row.

    Rows without a typed position come last, in their present order.
    """
    try:
        return float(typed)
    except ValueError:
        return MOST + number


def _parse_rows(text: str, fields: Mapping[str, forms.Field]) -> list[Row] | None:
    """Return the rows in a hidden input's JSON, or None if the JSON isn't a list of rows or contains too many rows."""
    try:
        rows = _read_rows(json.loads(text), fields)
    except (ValueError, RecursionError):
        return None
    is_nested = any(isinstance(field, PartsField) for field in fields.values())
    return None if rows is not None and is_nested and _count_rows(rows, fields) > MOST_PARTS else rows


def _count_rows(rows: list[Row], fields: Mapping[str, forms.Field]) -> int:
    """Return the number of rows, including rows in other rows."""
    inner = {name: field.fields for name, field in fields.items() if isinstance(field, PartsField)}
    nested = sum(_count_rows(row.get(name) or [], fields) for row in rows for name, fields in inner.items())
    return len(rows) + nested


def _read_rows(rows: Any, fields: Mapping[str, forms.Field]) -> list[Row] | None:
    if not isinstance(rows, list) or len(rows) > MOST_READ or not all(isinstance(row, dict) for row in rows):
        return None
    return [
        {"id": _typed_text(row.get("id"))}
        | {name: _as_sent(field, row[name]) for name, field in fields.items() if name in row}
        for row in rows
    ]


def _as_sent(field: forms.Field, value: Any) -> Any:
    """Return a JSON value as a browser would submit it. Values of the wrong type become empty."""
    if isinstance(field, PartsField):
        return _read_rows(value, field.fields)
    if _is_checkbox(field):
        return value is True
    if isinstance(field.widget, forms.MultiWidget):
        parts = [_typed_text(part) for part in value] if isinstance(value, list) else []
        count = len(field.widget.widgets)
        return [*parts, *[""] * count][:count]
    return _typed_text(value)


def _typed_text(value: Any) -> str:
    # JSON can contain lone surrogates, which can't be encoded, so replace them.
    return str(value).encode(errors="replace").decode() if isinstance(value, str | bool) else ""
