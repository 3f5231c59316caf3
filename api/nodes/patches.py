"""Convert JSON bodies to fields, keyed by path. The nodes' form fields validate the values."""

from collections.abc import Callable, Mapping
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from api.http.idempotency import derive_id
from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.fields import PATHS
from api.schemas.shapes import editable_fields
from nodes import access, form_fields
from nodes.access import TOP
from nodes.content import values
from nodes.content.declared_fields import PREFIX
from nodes.content.messages import unknown_field
from nodes.form_fields import AuthorField, SectionField
from nodes.types import NEVER

# Maps kinds of model fields to the Python types of their parsed JSON values and to a label. The first match applies.
_KINDS: tuple[tuple[Any, tuple[tuple[type, ...], Any]], ...] = (
    (models.BooleanField, ((bool,), gettext_lazy("true or false"))),
    (models.IntegerField, ((int,), gettext_lazy("a whole number"))),
    (models.FloatField, ((int, float), gettext_lazy("a number"))),
    (models.DecimalField, ((str, int, float), gettext_lazy("a number"))),
    ((models.CharField, models.TextField, models.DateField, models.TimeField), ((str,), gettext_lazy("text"))),
)


def parse_fields(
    principal: Principal,
    type: str,
    data: Mapping[str, Any],
    seen: Mapping[str, Any],
    request_id: ObjectId | None = None,
) -> dict[str, Any]:
    """Return the changes in a request body as fields, keyed by path. Tags are left out.

    Args:
        principal: The principal that sent the request.
        type: The type of the node.
        data: A request body with the schema NewNode or NodeChange.
        seen: The fields that the change is based on, keyed by path. For a new node, there are none.
        request_id: The id of the request. The ids of new parts are derived from it, so that a repeated request creates
            the same ids.

    Raises:
        Problem: 422 with an error for each invalid field.
        FieldForbidden: The principal can't set a field.
    """
    known = editable_fields(type)
    detail = data.get("detail") or {}
    paths = {path for name, path in PATHS.items() if name in data}
    paths |= {f"{PREFIX}{field.column}" for name, field in known.items() if name in detail}
    # Check permissions first, because error messages about values could reveal data to users without permission.
    access.check_fields(principal, type, paths)
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
    for name, value in detail.items():
        if field := known.get(name):
            path = f"{PREFIX}{field.column}"
            add(path, f"detail.{name}", _parse_declared, field, value, seen.get(path), request_id)
        else:
            errors.append((f"body.detail.{name[:100]}", unknown_field(name)))
    if errors:
        raise Problem("invalid", errors=errors)
    return changes


def _parse_common(principal: Principal, type: str, name: str, value: Any, seen: Mapping[str, Any]) -> Any:
    if name == "section":
        return _clean_section(principal, type, value, seen.get("parent_id"))
    if name == "author":
        return _clean_author(value, seen.get("author"))
    if name in ("published", "expires"):
        return value or (NEVER if name == "expires" else None)
    return form_fields.COMMON[name].clean(value or "")


def _clean_section(principal: Principal, type: str, value: str | None, seen: ObjectId | None) -> ObjectId | None:
    try:
        return SectionField(principal, type, seen).clean(value or TOP)
    except ValidationError as error:
        at_top = _("This type of content can't be placed at the top level. Specify a section.")
        raise ValidationError(access.NO_SUCH_SECTION if value else at_top) from error


def _clean_author(value: Mapping[str, Any] | None, seen: dict[str, Any] | None) -> Any:
    if value is None:
        return AuthorField(seen, required=bool(seen)).clean(["", ""])
    account = value.get("account", str(seen["_id"] or "") if seen else "")
    return AuthorField(seen).clean([account or "", value.get("name", "")])


def _parse_declared(field: models.Field, value: Any, seen: Any, request_id: ObjectId | None) -> Any:
    _check_kind(field, value)
    if field.name == "comments":
        return form_fields.COMMON["comments"].clean(value)
    if value is None:
        value = field.get_default()
    elif isinstance(field, EmbeddedModelField | models.JSONField):
        value = _apply_patch(seen, value)
    if request_id:
        value = _with_ids(field, value, f"{request_id}:{field.column}")
    return values.cleaned(field, value)


def _check_kind(field: models.Field, value: Any) -> None:
    """Raise an error if a JSON value has the wrong type, because Django would accept "no" as true and 2.7 as 2.

    Raises:
        ValidationError: The value has the wrong type.
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
            raise ValidationError(_("“%(name)s” must be %(kind)s."), params={"name": field.name, "kind": label})


def _apply_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON Merge Patch (RFC 7396) and return the result."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _apply_patch(result.get(name), value)
    return result


def _with_ids(field: models.Field, value: Any, text: str) -> Any:
    """Return a value in which new parts have ids, including parts in nested lists. The ids are derived from `text`."""
    if isinstance(field, EmbeddedModelArrayField) and isinstance(value, list):
        parts = [_with_nested_ids(field, part, f"{text}:{number}") for number, part in enumerate(value)]
        return [_with_id(part, f"{text}:{number}") for number, part in enumerate(parts)]
    return _with_nested_ids(field, value, text) if isinstance(field, EmbeddedModelField) else value


def _with_nested_ids(field: models.Field, part: Any, text: str) -> Any:
    if not isinstance(part, Mapping):
        return part
    nested = (inner for inner in values.stored_fields(field.embedded_model) if inner.attname in part)
    return {
        **part,
        **{inner.attname: _with_ids(inner, part[inner.attname], f"{text}:{inner.column}") for inner in nested},
    }


def _with_id(part: Any, text: str) -> Any:
    is_new = isinstance(part, Mapping) and not (part.get("id") or part.get("_id"))
    return {**part, "id": derive_id(text)} if is_new else part
