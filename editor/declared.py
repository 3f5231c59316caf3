"""The fields that a content type declares, in the form that editors see: form fields, labels, and values as text."""

import datetime
from collections.abc import Mapping
from itertools import filterfalse
from textwrap import indent
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib.admin.options import FORMFIELD_FOR_DBFIELD_DEFAULTS
from django.contrib.admin.widgets import AdminTextareaWidget, AdminURLFieldWidget
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import formats, timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from editor.fields import DayInput, MomentField, ReferenceField, TimeInput
from editor.parts import PartsField
from marginalia.markup.characters import is_blank
from nodes.content import NodeField, PhotoField, declared_fields, values
from nodes.form_fields import TextField, format_reference

# Attributes for the textarea of a text field, or of a list with one item per line.
ROWS = {"rows": 6}


class LinesField(forms.CharField):
    """A form field for a list with one item per line. Blank lines are ignored."""

    def __init__(self, item: forms.Field, **kwargs: Any) -> None:
        self.item = item
        kwargs["help_text"] = kwargs.get("help_text") or gettext_lazy("One per line.")
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(str(self.item.prepare_value(item)) for item in value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[Any]:
        # str.splitlines would also split at characters that aren't line breaks in a browser's textarea.
        lines = [line.strip() for line in str(super().clean(value)).split("\n")]
        items = []
        for number, line in enumerate(filterfalse(is_blank, lines), 1):
            try:
                items.append(self.item.clean(line))
            except ValidationError as error:
                params = {"number": number, "problem": " ".join(error.messages)}
                raise ValidationError(_("%(number)d: %(problem)s") % params) from error
        return items


def form_field(field: models.Field) -> forms.Field:
    """Return the form field for a declared field, with the admin's widgets."""
    if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        part = field.embedded_model
        many = isinstance(field, EmbeddedModelArrayField)
        fields = {inner.attname: form_field(inner) for inner in values.stored_fields(part) if inner.editable}
        label = capfirst(field.verbose_name)
        return PartsField(part, fields, many=many, label=label, required=not field.blank, help_text=field.help_text)
    if isinstance(field, ArrayField) and not isinstance(field, EmbeddedModelArrayField):
        item = _plain(field.base_field)
        # The attribute is for a script that lets editors choose photos. Without it, editors type one URL per line.
        photos = {"data-photos": ""} if isinstance(field.base_field, PhotoField) else {}
        return LinesField(
            item,
            widget=AdminTextareaWidget(attrs=ROWS | photos),
            label=capfirst(field.verbose_name),
            required=not field.blank,
            help_text=field.help_text,
            initial=field.get_default(),
        )
    return _plain(field)


def _plain(field: models.Field) -> forms.Field:
    if isinstance(field, NodeField):
        texts = {"label": capfirst(field.verbose_name), "help_text": field.help_text}
        return ReferenceField(photos=isinstance(field, PhotoField), required=not field.blank, **texts)
    kwargs: dict[str, Any] = {}
    if isinstance(field, models.DateTimeField):
        kwargs = {"form_class": MomentField}
    elif isinstance(field, models.DateField):
        kwargs = {"widget": DayInput}
    elif isinstance(field, models.TimeField):
        kwargs = {"widget": TimeInput}
    elif isinstance(field, models.URLField):
        kwargs = {"assume_scheme": "https", "widget": AdminURLFieldWidget}
    elif isinstance(field, models.TextField):
        kwargs = {"form_class": TextField, "widget": AdminTextareaWidget(attrs=ROWS)}
    elif not field.choices:
        defaults = (
            FORMFIELD_FOR_DBFIELD_DEFAULTS[kind]
            for kind in type(field).__mro__
            if kind in FORMFIELD_FOR_DBFIELD_DEFAULTS
        )
        kwargs = dict(next(defaults, {}))
    form_field: forms.Field = field.formfield(**kwargs)
    # The form doesn't contain the initial values, because the nonce in the form already identifies them.
    form_field.show_hidden_initial = False
    return form_field


def form_values(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert stored fields, keyed by path, to the values that a form shows."""
    known = declared_fields.declared(type)
    return {path: values.from_stored(known[path], value) if path in known else value for path, value in fields.items()}


def label(type: str, path: str) -> str | None:
    """Return the label of the declared field at a path, or None if there is no such field."""
    field = declared_fields.declared(type).get(path)
    return str(capfirst(field.verbose_name)) if field else None


def display(field: models.Field, value: Any) -> str:
    """Return the stored value of a declared field as readable text.

    Each list item, and each field of a part, is on its own line.
    """
    if value is None:
        return ""
    if isinstance(field, EmbeddedModelArrayField) and isinstance(value, list):
        return "\n\n".join(_display_part(field, part) for part in value)
    if isinstance(field, EmbeddedModelField):
        return _display_part(field, value)
    if isinstance(field, ArrayField) and isinstance(value, list):
        return ("\n" if isinstance(field.base_field, models.CharField | models.TextField) else ", ").join(
            display(field.base_field, item) for item in value
        )
    if isinstance(field, NodeField) and isinstance(value, ObjectId):
        return format_reference(value, photos=isinstance(field, PhotoField))
    if field.flatchoices:
        return str(dict(field.flatchoices).get(value, value))
    return display_value(values.from_stored(field, value))


def display_value(value: Any) -> str:
    """Return a single value, such as a number or a date, as readable text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime.datetime):
        return formats.date_format(timezone.localtime(value), "DATETIME_FORMAT")
    return formats.date_format(value) if isinstance(value, datetime.date) else str(value)


def _display_part(field: models.Field, value: Any) -> str:
    return "\n".join(f"{label}: {text}" for label, text in part_fields(field, value).items() if text)


def part_fields(field: models.Field, value: Any) -> dict[str, str]:
    """Return the values in a part as readable text, keyed by the labels of the part's fields."""

    def text(inner: models.Field) -> str:
        shown = display(inner, values.attribute(value, inner))
        # Nested parts begin on a new line, and all their lines are indented.
        return "\n" + indent(shown, "  ") if shown and values.is_parts(inner) else shown

    editable = (inner for inner in values.stored_fields(field.embedded_model) if inner.editable)
    return {str(capfirst(inner.verbose_name)): text(inner) for inner in editable}
