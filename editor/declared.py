"""The fields that a content type declares, as editors see them: fields of forms, labels, and values as text."""

import datetime
from collections.abc import Mapping
from itertools import filterfalse
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

from editor.fields import MomentField, ReferenceField, TextField, spelled
from editor.parts import PartsField
from marginalia.markup.characters import is_blank
from nodes.content import NodeField, PhotoField, declared_fields, values

# Rows of a box for a text, or for a list with an item a line.
ROWS = {"rows": 6}


class LinesField(forms.CharField):
    """A list, an item a line; lines that show nothing are none."""

    def __init__(self, item: forms.Field, **kwargs: Any) -> None:
        self.item = item
        kwargs.setdefault("widget", AdminTextareaWidget(attrs=ROWS))
        kwargs["help_text"] = kwargs.get("help_text") or gettext_lazy("One per line.")
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(str(self.item.prepare_value(one)) for one in value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[Any]:
        # Of the characters that end a line for Python a browser's box has one.
        lines = [line.strip() for line in str(super().clean(value)).split("\n")]
        found = []
        for number, line in enumerate(filterfalse(is_blank, lines), 1):
            try:
                found.append(self.item.clean(line))
            except ValidationError as error:
                told = {"number": number, "problem": " ".join(error.messages)}
                raise ValidationError(_("%(number)d: %(problem)s") % told) from error
        return found


def form_field(field: models.Field) -> forms.Field:
    """Return the field of a form in which editors fill in a declared one, with the admin's widgets."""
    if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        part = field.embedded_model
        many = isinstance(field, EmbeddedModelArrayField)
        fields = {one.attname: form_field(one) for one in values.stored_fields(part) if one.editable}
        label = capfirst(field.verbose_name)
        return PartsField(part, fields, many=many, label=label, required=not field.blank, help_text=field.help_text)
    if isinstance(field, ArrayField) and not isinstance(field, EmbeddedModelArrayField):
        item = _plain(field.base_field)
        return LinesField(
            item,
            label=capfirst(field.verbose_name),
            required=not field.blank,
            help_text=field.help_text,
            initial=field.get_default(),
        )
    return _plain(field)


def _plain(field: models.Field) -> forms.Field:
    if isinstance(field, NodeField):
        named = {"label": capfirst(field.verbose_name), "help_text": field.help_text}
        return ReferenceField(photos=isinstance(field, PhotoField), required=not field.blank, **named)
    given: dict[str, Any] = {}
    if isinstance(field, models.DateTimeField):
        given = {"form_class": MomentField}
    elif isinstance(field, models.URLField):
        given = {"assume_scheme": "https", "widget": AdminURLFieldWidget}
    elif isinstance(field, models.TextField):
        given = {"form_class": TextField, "widget": AdminTextareaWidget(attrs=ROWS)}
    elif not field.choices:
        known = (
            FORMFIELD_FOR_DBFIELD_DEFAULTS[kind]
            for kind in type(field).__mro__
            if kind in FORMFIELD_FOR_DBFIELD_DEFAULTS
        )
        given = dict(next(known, {}))
    made: forms.Field = field.formfield(**given)
    # What was typed is compared with what was shown by the nonce of the form.
    made.show_hidden_initial = False
    return made


def shown(type: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by path, as they are stored, with the values that a form shows."""
    known = declared_fields.declared(type)
    return {path: values.from_stored(known[path], value) if path in known else value for path, value in said.items()}


def label(type: str, path: str) -> str | None:
    """Return what a declared field is called; None if the type has none at this path."""
    field = declared_fields.declared(type).get(path)
    return str(capfirst(field.verbose_name)) if field else None


def display(field: models.Field, value: Any) -> str:
    """Return a stored value of a declared field as text for the eye: a list has an item a line, a part a field."""
    if value is None:
        return ""
    if isinstance(field, EmbeddedModelArrayField) and isinstance(value, list):
        return "\n\n".join(_part(field, one) for one in value)
    if isinstance(field, EmbeddedModelField):
        return _part(field, value)
    if isinstance(field, ArrayField) and isinstance(value, list):
        return ("\n" if isinstance(field.base_field, models.CharField | models.TextField) else ", ").join(
            display(field.base_field, one) for one in value
        )
    if isinstance(field, NodeField) and isinstance(value, ObjectId):
        return spelled(value, photos=isinstance(field, PhotoField))
    if field.flatchoices:
        return str(dict(field.flatchoices).get(value, value))
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    python = values.from_stored(field, value)
    if isinstance(python, datetime.datetime):
        return formats.date_format(timezone.localtime(python), "DATETIME_FORMAT")
    return formats.date_format(python) if isinstance(python, datetime.date) else str(python)


def _part(field: models.Field, value: Any) -> str:
    return "\n".join(f"{label}: {text}" for label, text in part_fields(field, value).items() if text)


def part_fields(field: models.Field, value: Any) -> dict[str, str]:
    """Return the values of one part of a declared field as text for the eye, by the labels of the part's fields."""

    def of(one: models.Field) -> Any:
        return value.get(one.column) if isinstance(value, Mapping) else getattr(value, one.attname, None)

    known = (one for one in values.stored_fields(field.embedded_model) if one.editable)
    return {str(capfirst(one.verbose_name)): display(one, of(one)) for one in known}
