"""Parts in forms: a row of fields for each, with its place and a mark to remove it. A script adds rows to the spare ones."""

import json
from collections.abc import Mapping
from typing import Any

from bson import ObjectId
from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from nodes.content.values import stored_fields

# Empty rows below those that there are; a script adds more.
EXTRA = 3
# Rows that are saved, but for more that are there already; and rows that are read, so that what is too much is told.
MOST, MOST_READ = 200, 10_000
# A part as it was typed: by the names of its fields, "id" among them, what their widgets send.
Row = dict[str, Any]


class PartsWidget(forms.Widget):
    """A row of fields for each part; `fields` by name. `many`: any number in an order that can be changed, else one."""

    template_name = "editor/parts.html"
    use_fieldset = True

    class Media:
        js = (forms.Script("editor/parts.js", defer=True),)

    def __init__(self, fields: Mapping[str, forms.Field], *, many: bool) -> None:
        super().__init__()
        self.fields = fields
        self.many = many

    def empty(self) -> Row:
        """Return the row of a part of which nothing was typed."""
        return self.row({name: field.initial for name, field in self.fields.items()})

    def row(self, values: Mapping[str, Any], part_id: str = "") -> Row:
        """Return the values of a part as a browser would send them."""
        return {"id": part_id} | {name: _raw(field, values.get(name)) for name, field in self.fields.items()}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Row] | None:
        if name in data:
            return _parsed(data[name], self.fields)
        count = data.get(f"{name}-count", "")
        if not (count.isascii() and count.isdecimal() and len(count) < 6 and int(count) <= MOST_READ):
            return None
        rows: list[tuple[float, Row]] = []
        for number in range(int(count)):
            prefix = f"{name}-{number}"
            if data.get(f"{prefix}-DELETE"):
                continue
            row = {"id": data.get(f"{prefix}-id", "")}
            for key, field in self.fields.items():
                row[key] = _sent(field.widget.value_from_datadict(data, files, f"{prefix}-{key}"))
            if row["id"] or row != self.empty():
                rows.append((_place(data.get(f"{prefix}-ORDER", ""), number), row))
        return [row for _at, row in sorted(rows, key=lambda one: one[0])]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}-count" not in data

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        rows: list[Row] = list(value or ())
        spare = [self.empty()] * (EXTRA if self.many else 1 - len(rows))
        shown = [self._shown(name, str(number), row) for number, row in enumerate([*rows, *spare])]
        return render_to_string(
            self.template_name,
            {"name": name, "rows": shown, "many": self.many, "template": self._shown(name, "__n__", self.empty())},
        )

    def _shown(self, name: str, number: str, row: Row) -> dict[str, Any]:
        prefix = f"{name}-{number}"
        boxes = []
        for key, field in self.fields.items():
            html = field.widget.render(f"{prefix}-{key}", row.get(key), {"id": f"id_{prefix}-{key}"})
            boxes.append({"label": field.label, "id": f"id_{prefix}-{key}", "html": html, "is_mark": _is_mark(field)})
        is_known = number.isdecimal()
        return {"prefix": prefix, "id": row["id"], "boxes": boxes, "place": int(number) + 1 if is_known else ""}


class HiddenParts(forms.HiddenInput):
    """The same rows in one hidden value."""

    def format_value(self, value: Any) -> str:
        return json.dumps(value or [])


class PartsField(forms.Field):
    """The parts of a node: a list of mappings, by the names of a part's fields; of one part the mapping, or None."""

    hidden_widget = HiddenParts

    def __init__(self, model: Any, fields: Mapping[str, forms.Field], *, many: bool, **kwargs: Any) -> None:
        self.model = model
        self.fields = fields
        self.many = many
        # What the form was rendered with: what was left alone of it needs no reading.
        self.seen: Any = None
        super().__init__(widget=PartsWidget(fields, many=many), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            return value
        parts = value if isinstance(value, list) else [value] if value is not None else []
        widget: Any = self.widget
        return [
            widget.row({name: getattr(part, name, None) for name in self.fields}, str(part.pk or "")) for part in parts
        ]

    def _seen(self) -> dict[str, tuple[Any, Row]]:
        """Return (part, row) by id of the parts that the form was rendered with."""
        parts = self.seen if isinstance(self.seen, list) else [self.seen] if self.seen is not None else []
        return {row["id"]: (part, row) for part, row in zip(parts, self.prepare_value(self.seen), strict=True)}

    def clean(self, value: Any) -> Any:
        if value is None:
            raise ValidationError(_("These rows cannot be read. Load the page again."))
        found = []
        wrong = []
        seen = self._seen()
        if len(value) > (most := max(MOST, len(seen))):
            raise ValidationError(_("At most %(most)d rows."), params={"most": most})
        for number, row in enumerate(value, 1):
            before, shown = seen.get(str(row.get("id")), (None, {}))
            part = {"_id": ObjectId(row["id"])} if ObjectId.is_valid(row.get("id")) else {}
            if before is not None:
                unshown = (
                    field.attname for field in stored_fields(self.model) if not (field.editable or field.primary_key)
                )
                part |= {name: getattr(before, name) for name in unshown}
            for name, field in self.fields.items():
                if name in shown and row.get(name) == shown[name]:
                    part[name] = getattr(before, name)
                    continue
                try:
                    part[name] = field.clean(row.get(name))
                except ValidationError as error:
                    told = {"number": number, "problem": f"{field.label}: {' '.join(error.messages)}"}
                    wrong.append(_("%(number)d: %(problem)s") % told if self.many else told["problem"])
            found.append(part)
        if wrong:
            raise ValidationError(wrong)
        if self.required and not found:
            raise ValidationError(self.error_messages["required"], code="required")
        return found if self.many else next(iter(found), None)


def is_left_alone(field: forms.Field, sent: Any, seen: Any) -> bool:
    """Return whether the widget of a field sent what it showed of a value: less of it, maybe, than is stored."""
    return bool(_sent(sent) == _raw(field, seen))


def _raw(field: forms.Field, value: Any) -> Any:
    if callable(value):
        value = value()
    value = field.prepare_value(value)
    if _is_mark(field):
        return bool(value)
    widget = field.widget
    if isinstance(widget, forms.MultiWidget):
        parts = zip(widget.widgets, widget.decompress(value), strict=True)
        return [_text(one.format_value(part)) for one, part in parts]
    return _text(value if isinstance(widget, forms.Select) else widget.format_value(value))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _sent(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(one) for one in value]
    return value if isinstance(value, bool) else _text(value).replace("\r\n", "\n")


def _is_mark(field: forms.Field) -> bool:
    return isinstance(field.widget, forms.CheckboxInput)


def _place(typed: str, number: int) -> float:
    try:
        return float(typed)
    except ValueError:
        return MOST + number


def _parsed(text: str, fields: Mapping[str, forms.Field]) -> list[Row] | None:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or len(rows) > MOST_READ or not all(isinstance(row, dict) for row in rows):
        return None
    return [
        {"id": _typed(row.get("id"))}
        | {name: _as_sent(field, row[name]) for name, field in fields.items() if name in row}
        for row in rows
    ]


def _as_sent(field: forms.Field, value: Any) -> Any:
    """Return a value out of JSON as the widget of a field sends it; nothing where it is of another kind."""
    if _is_mark(field):
        return value is True
    if isinstance(field.widget, forms.MultiWidget):
        said = [_typed(one) for one in value] if isinstance(value, list) else []
        count = len(field.widget.widgets)
        return [*said, *[""] * count][:count]
    return _typed(value)


def _typed(value: Any) -> str:
    # JSON spells characters that no encoding has.
    return str(value).encode(errors="replace").decode() if isinstance(value, str | bool) else ""
