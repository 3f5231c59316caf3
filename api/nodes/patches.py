"""Conversion of JSON bodies to fields by path for services, with the checks of the admin's forms; and back to JSON."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from api.http.idempotency import derive_id
from api.nodes import presenting
from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.shapes import editable_fields
from marginalia.mongo.clock import now
from nodes import form_fields
from nodes.access import TOP
from nodes.content import values
from nodes.content.declared_fields import PREFIX
from nodes.form_fields import AuthorField, SectionField
from nodes.times import check_year
from nodes.types import NEVER

# The stored path of each field that all nodes have, by its name in JSON.
PATHS = {
    "title": "title",
    "slug": "slug",
    "section": "parent_id",
    "summary": "summary",
    "published": "published",
    "expires": "expires",
    "author": "author",
}
NAMES = {path: name for name, path in PATHS.items()}
# Fields that only users with permission to publish can change, as in forms.
PUBLISHER_FIELDS = frozenset({"published", "expires", "author", "detail.comments"})
# Fields whose choices only the form field declares.
FORM_CHOICES = frozenset({"comments"})
# The Python types that JSON values of a field have after parsing, with a label. The first match counts.
_KINDS: tuple[tuple[Any, tuple[tuple[type, ...], Any]], ...] = (
    (models.BooleanField, ((bool,), gettext_lazy("true or false"))),
    (models.IntegerField, ((int,), gettext_lazy("a whole number"))),
    (models.FloatField, ((int, float), gettext_lazy("a number"))),
    (models.DecimalField, ((str, int, float), gettext_lazy("a number"))),
    ((models.CharField, models.TextField, models.DateField, models.TimeField), ((str,), gettext_lazy("a text"))),
)


def parse_fields(
    principal: Principal,
    type: str,
    data: Mapping[str, Any],
    seen: Mapping[str, Any],
    request_id: ObjectId | None = None,
) -> dict[str, Any]:
    """Return the changes to a node that a body makes, by path. Tags are left out.

    `data`: a body of the shape NewNode or NodeChange. `seen`: the fields, by path, that the change is based on; empty
    for a new node. `request_id`: ids of new parts are derived from it, so that a repeated request creates the same ids.
    Raises Problem: 422 with every invalid field, or 403.
    """
    _check_rights(principal, data)
    changes: dict[str, Any] = {}
    errors: list[tuple[str, str]] = []

    def add(path: str, name: str, read: Callable[..., Any], *args: Any) -> None:
        try:
            changes[path] = read(*args)
        except ValidationError as error:
            errors.append((f"body.{name}", " ".join(error.messages)))

    for name, path in PATHS.items():
        if name in data:
            add(path, name, _parse_common, principal, type, name, data[name], seen)
    known = editable_fields(type)
    for name, value in (data.get("detail") or {}).items():
        if field := known.get(name):
            path = f"{PREFIX}{field.column}"
            add(path, f"detail.{name}", _parse_declared, field, value, seen.get(path), request_id)
        else:
            errors.append((f"body.detail.{name[:100]}", _("There is no field “%(name)s”.") % {"name": name[:100]}))
    merged = {**seen, **changes}
    if merged.get("published") and now() < merged["published"] >= (merged.get("expires") or NEVER):
        errors.append(("body.expires", _("It would expire before it appears.")))
    if errors:
        raise Problem("invalid", errors=errors)
    return changes


def serialize_fields(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored fields by path as JSON, in the shape of NodeChange. Fields that it does not have are left out."""
    known = {f"{PREFIX}{field.column}": field for field in editable_fields(type).values()}
    data: dict[str, Any] = {}
    for path, value in fields.items():
        if field := known.get(path):
            data.setdefault("detail", {})[field.name] = presenting.serialize_value(values.from_stored(field, value))
        elif path in NAMES:
            data[NAMES[path]] = _serialize(path, value)
    return data


def check_moment(value: datetime, field: str) -> datetime:
    """Return a time as it is stored. Raises Problem (422) with the field's name if the year is out of range."""
    try:
        return _clean_moment(value)
    except ValidationError as error:
        raise Problem("invalid", errors=[(field, " ".join(error.messages))]) from error


def field_names(data: Mapping[str, Any]) -> set[str]:
    """Return the names of the fields in a body; those in `detail` as "detail.name"."""
    return {*data, *(f"{PREFIX}{name}" for name in data.get("detail") or {})} - {"detail"}


def body_path(path: str) -> str:
    """Return the name of a stored path in a body: "parent_id" becomes "body.section"."""
    return f"body.{NAMES.get(path, path)}"


def _serialize(path: str, value: Any) -> Any:
    if path == "author" and value:
        return {"name": value["name"], "account": value["_id"]}
    return None if value == NEVER else value


def _check_rights(principal: Principal, data: Mapping[str, Any]) -> None:
    if (protected := field_names(data) & PUBLISHER_FIELDS) and not principal.has_perm("nodes.publish_node"):
        message = _("Only who may publish sets this.")
        raise Problem("forbidden", errors=[(body_path(path), message) for path in sorted(protected)])


def _parse_common(principal: Principal, type: str, name: str, value: Any, seen: Mapping[str, Any]) -> Any:
    if name == "section":
        return _clean_section(principal, type, value, seen.get("parent_id"))
    if name == "author":
        return _clean_author(value, seen.get("author"))
    if name in ("published", "expires"):
        return _clean_moment(value) if value else NEVER if name == "expires" else None
    return form_fields.COMMON[name].clean(value or "")


def _clean_section(principal: Principal, type: str, value: str | None, seen: ObjectId | None) -> ObjectId | None:
    try:
        return SectionField(principal, type, seen).clean(value or TOP)
    except ValidationError as error:
        # The message must not reveal whether a section exists that the principal cannot see.
        message = _("There is no such section, or this cannot stand in it.")
        raise ValidationError(message if value else _("This cannot stand at the top level: name a section.")) from error


def _clean_author(value: Mapping[str, Any] | None, seen: dict[str, Any] | None) -> Any:
    if value is None:
        return AuthorField(seen, required=bool(seen)).clean(["", ""])
    account = value.get("account", str(seen["_id"] or "") if seen else "")
    return AuthorField(seen).clean([account or "", value.get("name", "")])


def _clean_moment(value: datetime) -> datetime:
    check_year(value)
    # MongoDB stores milliseconds.
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _parse_declared(field: models.Field, value: Any, seen: Any, request_id: ObjectId | None) -> Any:
    _check_kind(field, value)
    if field.name in FORM_CHOICES:
        return form_fields.COMMON[field.name].clean(value)
    if value is None:
        value = field.get_default()
    elif isinstance(field, EmbeddedModelField | models.JSONField):
        value = _apply_patch(seen, value)
    elif isinstance(field, EmbeddedModelArrayField) and isinstance(value, list) and request_id:
        value = [_with_id(part, f"{request_id}:{field.column}:{number}") for number, part in enumerate(value)]
    return values.cleaned(field, value)


def _check_kind(field: models.Field, value: Any) -> None:
    """Raise ValidationError if a JSON value has the wrong type.

    Django's fields would accept "no" as true and 2.7 as 2.
    """
    if isinstance(field, ArrayField) and isinstance(value, list):
        for item in value:
            _check_kind(field.base_field, item)
    elif isinstance(field, EmbeddedModelField) and isinstance(value, Mapping):
        for part in values.stored_fields(field.embedded_model):
            _check_kind(part, value.get(part.attname))
    elif value is not None:
        types, label = next((expected for kind, expected in _KINDS if isinstance(field, kind)), ((), ""))
        if types and type(value) not in types:
            raise ValidationError(_("“%(name)s” takes %(kind)s."), params={"name": field.name, "kind": label})


def _apply_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _apply_patch(result.get(name), value)
    return result


def _with_id(part: Any, text: str) -> Any:
    is_new = isinstance(part, Mapping) and not (part.get("id") or part.get("_id"))
    return {**part, "id": derive_id(text)} if is_new else part
