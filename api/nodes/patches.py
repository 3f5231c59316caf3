"""What JSON says of a node, as fields by path for services, checked as the forms of the admin check it; and back again."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from api.http.once import made_of
from api.nodes import presenting
from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.shapes import shown_fields
from editor.fields import FIRST_YEAR, LAST_YEAR, YEARS, AuthorField, SectionField
from editor.forms import NodeForm
from marginalia.mongo.clock import now
from nodes.access import TOP
from nodes.content import values
from nodes.content.declared_fields import PREFIX
from nodes.types import NEVER

# What all nodes have, by its name in JSON: the path under which it is stored.
PATHS = {
    "title": "title", "slug": "slug", "section": "parent_id", "summary": "summary", "published": "published",
    "expires": "expires", "author": "author",
}  # fmt: skip
NAMES = {path: name for name, path in PATHS.items()}
# What in forms only those fill in who may publish.
FOR_EDITORS = frozenset({"published", "expires", "author", "detail.comments"})
# What forms have choices for and the field has none.
CHOSEN = frozenset({"comments"})
# How JSON writes the value of a field, the first that fits: the types of Python that it is read as, and their name.
_KINDS: tuple[tuple[Any, tuple[tuple[type, ...], Any]], ...] = (
    (models.BooleanField, ((bool,), gettext_lazy("true or false"))),
    (models.IntegerField, ((int,), gettext_lazy("a whole number"))),
    (models.FloatField, ((int, float), gettext_lazy("a number"))),
    (models.DecimalField, ((str, int, float), gettext_lazy("a number"))),
    ((models.CharField, models.TextField, models.DateField, models.TimeField), ((str,), gettext_lazy("a text"))),
)


def fields(
    principal: Principal, type: str, said: Mapping[str, Any], seen: Mapping[str, Any], form: ObjectId | None = None
) -> dict[str, Any]:
    """Return what `said` (of the shapes NewNode and NodeChange) changes of a node of a type, by path; tags apart.

    `seen`: the fields, by path, that it was made on; nothing for a new node. `form`: what the ids of new parts are made from,
    so that the same request makes the same ones. Raises Problem: 422 naming each field that is wrong, 403.
    """
    _check_rights(principal, said)
    found: dict[str, Any] = {}
    errors: list[tuple[str, str]] = []

    def take(path: str, name: str, read: Callable[..., Any], *args: Any) -> None:
        try:
            found[path] = read(*args)
        except ValidationError as error:
            errors.append((f"body.{name}", " ".join(error.messages)))

    for name, path in PATHS.items():
        if name in said:
            take(path, name, _common, principal, type, name, said[name], seen)
    known = shown_fields(type)
    for name, value in (said.get("detail") or {}).items():
        if field := known.get(name):
            path = f"{PREFIX}{field.column}"
            take(path, f"detail.{name}", _declared, field, value, seen.get(path), form)
        else:
            errors.append((f"body.detail.{name[:100]}", _("There is no field “%(name)s”.") % {"name": name[:100]}))
    dates = {**seen, **found}
    if dates.get("published") and now() < dates["published"] >= (dates.get("expires") or NEVER):
        errors.append(("body.expires", _("It would expire before it appears.")))
    if errors:
        raise Problem("invalid", errors=errors)
    return found


def shown(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields by path, as they are stored, as JSON in the shape of NodeChange; what it has not is left out."""
    known = {f"{PREFIX}{field.column}": field for field in shown_fields(type).values()}
    found: dict[str, Any] = {}
    for path, value in fields.items():
        if field := known.get(path):
            found.setdefault("detail", {})[field.name] = presenting.value(values.from_stored(field, value))
        elif path in NAMES:
            found[NAMES[path]] = _shown(path, value)
    return found


def moment(value: datetime, field: str) -> datetime:
    """Return a time as it is stored. Raises Problem (422) naming the field if its year is none that can be told."""
    try:
        return _moment(value)
    except ValidationError as error:
        raise Problem("invalid", errors=[(field, " ".join(error.messages))]) from error


def paths(said: Mapping[str, Any]) -> set[str]:
    """Return what a body names, those of `detail` as "detail.name"."""
    return {*said, *(f"{PREFIX}{name}" for name in said.get("detail") or {})} - {"detail"}


def named(path: str) -> str:
    """Return how a field by path is called in a body: "parent_id" as "body.section"."""
    return f"body.{NAMES.get(path, path)}"


def _shown(path: str, value: Any) -> Any:
    if path == "author" and value:
        return {"name": value["name"], "account": value["_id"]}
    return None if value == NEVER else value


def _check_rights(principal: Principal, said: Mapping[str, Any]) -> None:
    if (sent := paths(said) & FOR_EDITORS) and not principal.has_perm("nodes.publish_node"):
        told = _("Only who may publish sets this.")
        raise Problem("forbidden", errors=[(named(path), told) for path in sorted(sent)])


def _common(principal: Principal, type: str, name: str, value: Any, seen: Mapping[str, Any]) -> Any:
    if name == "section":
        return _section(principal, type, value, seen.get("parent_id"))
    if name == "author":
        return _author(value, seen.get("author"))
    if name in ("published", "expires"):
        return _moment(value) if value else NEVER if name == "expires" else None
    return NodeForm.base_fields[name].clean(value or "")


def _section(principal: Principal, type: str, value: str | None, seen: ObjectId | None) -> ObjectId | None:
    try:
        return SectionField(principal, type, seen).clean(value or TOP)
    except ValidationError as error:
        # Whether there is a section that the principal may not see is not told.
        told = _("There is no such section, or this cannot stand in it.")
        raise ValidationError(told if value else _("This cannot stand at the top level: name a section.")) from error


def _author(value: Mapping[str, Any] | None, seen: dict[str, Any] | None) -> Any:
    if value is None:
        return AuthorField(seen, required=bool(seen)).clean(["", ""])
    account = value.get("account", str(seen["_id"] or "") if seen else "")
    return AuthorField(seen).clean([account or "", value.get("name", "")])


def _moment(value: datetime) -> datetime:
    if not FIRST_YEAR <= value.year <= LAST_YEAR:
        raise ValidationError(_("Choose a year from %(first)d to %(last)d."), params=YEARS)
    # The server keeps milliseconds.
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def _declared(field: models.Field, value: Any, seen: Any, form: ObjectId | None) -> Any:
    _check_kind(field, value)
    if field.name in CHOSEN:
        return NodeForm.base_fields[field.name].clean(value)
    if value is None:
        value = field.get_default()
    elif isinstance(field, EmbeddedModelField | models.JSONField):
        value = _patched(seen, value)
    elif isinstance(field, EmbeddedModelArrayField) and isinstance(value, list) and form:
        value = [_identified(one, f"{form}:{field.column}:{number}") for number, one in enumerate(value)]
    return values.cleaned(field, value)


def _check_kind(field: models.Field, value: Any) -> None:
    """Raise ValidationError where JSON says something of another kind: fields would read "no" as true and 2.7 as 2."""
    if isinstance(field, ArrayField) and isinstance(value, list):
        for one in value:
            _check_kind(field.base_field, one)
    elif isinstance(field, EmbeddedModelField) and isinstance(value, Mapping):
        for part in values.stored_fields(field.embedded_model):
            _check_kind(part, value.get(part.attname))
    elif value is not None:
        kinds, told = next((said for kind, said in _KINDS if isinstance(field, kind)), ((), ""))
        if kinds and type(value) not in kinds:
            raise ValidationError(_("“%(name)s” takes %(kind)s."), params={"name": field.name, "kind": told})


def _patched(target: Any, patch: Any) -> Any:
    """Apply a JSON Merge Patch, as RFC 7396 has it."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _patched(found.get(name), value)
    return found


def _identified(part: Any, text: str) -> Any:
    is_new = isinstance(part, Mapping) and not (part.get("id") or part.get("_id"))
    return {**part, "id": made_of(text)} if is_new else part
