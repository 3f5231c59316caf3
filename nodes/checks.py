"""System checks for content type declarations."""

import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db import models
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import select_template
from django.urls import Resolver404, resolve
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField, ObjectIdField

from nodes.content import Content, Part, lookups, registry, routes, uniqueness, values
from nodes.content.base import LISTED_BY, UPCOMING, Written
from nodes.content.declared_fields import RESERVED
from nodes.content.routes import GET, PAGES, POST, Route
from nodes.content.upgrading import FIRST
from nodes.models.stored_site import COMMENT_POLICIES
from nodes.selectors.routes import MOST_PARTS
from nodes.selectors.slugs import ROUTE

POLICIES = tuple(dict(COMMENT_POLICIES))
# The classes of fields that can't be facets. Long text, documents and ids aren't useful as filters. The date in a
# datetime depends on the time zone. Times and durations are stored as datetimes and numbers, so readers would see them
# in this form.
_NOT_FACETS = (
    *(models.TextField, models.JSONField, ObjectIdField),
    *(models.DateTimeField, models.TimeField, models.DurationField),
)
# Maximum number of nodes on one page of a section's list.
MOST_ON_A_PAGE = 100
# The check of routes inserts these values into paths. Each common converter matches at least one of the values.
_PATH_VALUES = ("2026", "x", "01", "2026-01-01", "0" * 24, "00000000-0000-0000-0000-000000000000")
# Matches a value in a path, such as "<int:year>", and captures its name.
_PATH_VALUE = re.compile(r"<(?:[^<>:]*:)?([^<>]*)>")
# A route's part between two slashes can have this many values that may contain hyphens. With n values, matching a
# path of length l takes up to l**n steps.
MOST_VALUES = 2
# Maximum nesting depth of parts.
MOST_NESTED = 3
# The fields that most types share, keyed by name.
_WRITTEN = {field.name: field for field in Written._meta.fields}


@register()
def check_content(**kwargs: Any) -> list[CheckMessage]:
    """Check all content types. Problems in the fields themselves are reported with Django's own ids.

    - nodes.E003: two types have the same name.
    - nodes.E004: a field has a reserved name.
    - nodes.E005: fields of this class can't be stored in a document.
    - nodes.E006: no section can contain the type.
    - nodes.E007: a name in `facets` isn't a field by which lists can be filtered.
    - nodes.E008: a version of a type has no upgrade function, or more than one.
    - nodes.E009: an upgrade function is for a version that doesn't exist.
    - nodes.E010: an attribute of a section type has an invalid value.
    - nodes.E011: a name in `list_display`, `searched_as_title` or `searched_as_tags` isn't a field.
    - nodes.E012: parts are nested too deeply.
    - nodes.E013: `date_field` isn't a date field.
    - nodes.W014: a type without a `date_field` can be in sections that list pages by date.
    - nodes.E020: `unique_together_in_section` contains a field whose values can't be unique, or isn't a list of tuples.
    - nodes.E030: a declaration in `indexes` is invalid, or indexes are declared in `Meta`.
    - nodes.E040: requests never reach a route.
    - nodes.E041: the options or the method of a route are invalid.
    - nodes.E042: the template of a route doesn't exist or is invalid.
    - nodes.E043: matching the path of a route can take seconds.
    """
    messages: list[CheckMessage] = []
    for double in registry.duplicates():
        first = registry.get(double.type_name)
        message = f"{_name(double)} and {_name(first)} both have the `type_name` “{double.type_name}”."
        messages.append(Error(message, hint="Change one of them.", obj=double, id="nodes.E003"))
    for content_type in registry.types():
        messages += _fields(content_type, content_type.__name__)
        messages += _facets(content_type)
        messages += _field_names(content_type)
        if not any(content_type.may_stand_in(section) for section in registry.types() if section.is_section):
            hint = "List section types in `stands_in`, as classes or by their names."
            message = f"{_name(content_type)} can't be in any section. No section type in its `stands_in` is installed."
            messages.append(Error(message, hint=hint, obj=content_type, id="nodes.E006"))
        messages += _upgraders(content_type)
        messages += _rules(content_type)
        messages += _date_field(content_type)
        messages += _unique_together(content_type)
        messages += _routes(content_type)
        messages += _indexes(content_type)
    return messages


def _facets(content_type: type[Content]) -> Iterator[CheckMessage]:
    known = {field.name: field for field in content_type._meta.fields}
    for name in content_type.facets:
        field = known.get(name)
        inner = field.base_field if isinstance(field, ArrayField) else field
        if inner is None or name in _WRITTEN or _part_of(inner) or isinstance(inner, _NOT_FACETS):
            message = f"{_name(content_type)}.facets contains “{name}”, by which lists can't be filtered."
            hint = "Use fields of short texts, numbers, dates, booleans, or lists of these."
            yield Error(message, hint=hint, obj=content_type, id="nodes.E007")


def _rules(content_type: type[Content]) -> Iterator[CheckMessage]:
    most = content_type.most
    size = content_type.page_size
    policy = content_type.comment_policy
    sizes = range(1, MOST_ON_A_PAGE + 1) if content_type.is_section else ()
    orders = tuple(LISTED_BY) if content_type.is_section else ("",)
    for name, value, is_valid, hint in (
        (
            "lists",
            content_type.lists,
            content_type.lists in orders,
            f"For a section, use one of {', '.join(LISTED_BY)}.",
        ),
        ("most", most, most is None or (content_type.is_section and most > 0), "For a section, use a number from 1."),
        ("page_size", size, size is None or size in sizes, f"For a section, use a number from 1 to {MOST_ON_A_PAGE}."),
        ("comment_policy", policy, policy in ("", *POLICIES), f"Use one of {', '.join(POLICIES)}."),
    ):
        if not is_valid:
            message = f"{_name(content_type)}.{name} can't be {value!r}."
            yield Error(message, hint=hint, obj=content_type, id="nodes.E010")


def _field_names(content_type: type[Content]) -> Iterator[CheckMessage]:
    known = {field.name for field in values.stored_fields(content_type) if field.editable}
    for attribute in ("list_display", "searched_as_title", "searched_as_tags"):
        for name in getattr(content_type, attribute):
            if name not in known:
                message = f"{_name(content_type)}.{attribute} contains “{name}”, which is not a field of this type."
                hint = "Use fields that editors fill in."
                yield Error(message, hint=hint, obj=content_type, id="nodes.E011")


def _date_field(content_type: type[Content]) -> Iterator[CheckMessage]:
    name = content_type.date_field
    known = {field.name: field for field in values.stored_fields(content_type)}
    if name and not isinstance(known.get(name), models.DateField):
        message = f"{_name(content_type)}.date_field is “{name}”, which is not a field with a date."
        hint = "Use a DateField or DateTimeField of the type."
        yield Error(message, hint=hint, obj=content_type, id="nodes.E013")
    holders = [registry.get(holder) if isinstance(holder, str) else holder for holder in content_type.stands_in]
    upcoming = [holder.__name__ for holder in holders if holder.lists == UPCOMING]
    if upcoming and not name:
        message = f"{_name(content_type)} has no date_field, so the list in a section of type {upcoming[0]} omits it."
        hint = (
            "Set `date_field` to the name of a date field. If the list should omit these pages, silence this warning."
        )
        yield Warning(message, hint=hint, obj=content_type, id="nodes.W014")


def _unique_together(content_type: type[Content]) -> Iterator[CheckMessage]:
    known = {field.name: field for field in values.stored_fields(content_type) if field.editable}
    attribute = f"{_name(content_type)}.unique_together_in_section"
    for names in content_type.unique_together_in_section:
        if isinstance(names, str) or not names:
            message = f"{attribute} contains {names!r}, which is not a tuple of field names."
            yield Error(message, hint='Write [("starts", "room")].', obj=content_type, id="nodes.E020")
            continue
        for name in names:
            if name in _WRITTEN or name not in known or uniqueness.filled(known[name]) is None:
                message = f"{attribute} contains “{name}”, whose values can't be unique."
                hint = "Use fields of this type with short text, numbers, dates, booleans, or links to pages or photos."
                yield Error(message, hint=hint, obj=content_type, id="nodes.E020")


def _routes(content_type: type[Content]) -> Iterator[CheckMessage]:
    for route in content_type.declared_routes:
        name = f"The route “{route.path}” of {_name(content_type)}"
        problem, hint = _unreachable(content_type, route)
        if problem:
            yield Error(f"{name} {problem}.", hint=hint, obj=content_type, id="nodes.E040")
            continue
        for problem, hint in _invalid_options(content_type, route):
            yield Error(f"{name} {problem}.", hint=hint, obj=content_type, id="nodes.E041")
        if _matches_slowly(route):
            hint = "Separate the values with slashes, or use converters such as <int:…>."
            problem = f"has more than {MOST_VALUES} texts in one part, so that matching some URLs takes seconds"
            yield Error(f"{name} {problem}.", hint=hint, obj=content_type, id="nodes.E043")
        if problem := _template_problem(content_type, route):
            hint = "Create the template in a `templates` folder of the app."
            yield Error(f"{name} {problem}.", hint=hint, obj=content_type, id="nodes.E042")


def _unreachable(content_type: type[Content], route: Route) -> tuple[str, str]:
    """Return why no request reaches a route, and a hint. If no problem is found, return two empty strings."""
    if content_type.is_file:
        return "never matches, because photos can't have routes", "Declare the route in a section or page."
    if not route.path or route.path != route.path.strip("/") or "//" in route.path or set(route.path) & set("?# "):
        return "never matches", "Use a path such as “calendar/<int:year>”, without a slash at the beginning or end."
    if route.path.count("/") >= MOST_PARTS:
        return "never matches, because it is too long", f"Use at most {MOST_PARTS} parts."
    try:
        converters = route.pattern.pattern.converters
    except ImproperlyConfigured as error:
        return f"isn't a valid path: {error}", "Use the syntax of django.urls.path()."
    values = {
        name: next((value for value in _PATH_VALUES if re.fullmatch(converter.regex, value)), None)
        for name, converter in converters.items()
    }
    if None in values.values():
        return "", ""  # A converter of the project matches none of the values, so this route can't be checked.
    path = _PATH_VALUE.sub(lambda found: str(values[found[1]]), route.path)
    match = routes.match(content_type.declared_routes, path)
    if match and match.func != route:
        return f"is hidden by the route “{match.route}”", "Declare the more specific route first."
    try:
        is_hidden = resolve(f"/x/{path}").url_name != ROUTE
    except Resolver404:
        return "never matches", "Use the syntax of django.urls.path()."
    if is_hidden:
        return "is hidden by a URL of the site", "Choose another path. Feeds and archives have the site's own URLs."
    return "", ""


def _invalid_options(content_type: type[Content], route: Route) -> Iterator[tuple[str, str]]:
    names = set(route.pattern.pattern.converters)
    try:
        inspect.signature(getattr(content_type, route.attribute)).bind(None, None, **dict.fromkeys(names))
    except TypeError as error:
        hint = f"Write {route.attribute}({', '.join(['self', 'request', *sorted(names)])})."
        yield f"doesn't match the parameters of its method: {error}", hint
    if not route.methods or set(route.methods) - {GET, POST}:
        yield f"can't have the methods {route.methods!r}", "Use GET, POST or both."
    if route.reads not in ("", PAGES):
        yield f"can't declare reads={route.reads!r}", f"Use “{PAGES}”, or leave it out."
    elif route.reads and set(route.methods) != {GET}:
        yield "accepts POST, so its responses can't be cached", "Leave out `reads`."
    if route.in_sitemap and names:
        yield "can't be in the sitemap, because its path contains values", "Leave out `in_sitemap`."


def _matches_slowly(route: Route) -> bool:
    """Return whether regular expressions may need seconds to match the path of a route.

    Values of `path` converters can contain slashes, so they count in every part.
    """
    converters = route.pattern.pattern.converters
    texts = {name for name, converter in converters.items() if re.fullmatch(converter.regex, "a-a")}
    paths = {name for name in texts if re.fullmatch(converters[name].regex, "a/a")}
    parts = (set(_PATH_VALUE.findall(part)) & (texts - paths) for part in route.path.split("/"))
    return max(map(len, parts)) + len(paths) > MOST_VALUES


def _template_problem(content_type: type[Content], route: Route) -> str:
    """Return the problem with the template that a route needs, or "" if it needs none."""
    if not route.template and not _returns_context(getattr(content_type, route.attribute)):
        return ""
    names = content_type.route_templates(route)
    try:
        select_template(names)
    except TemplateDoesNotExist:
        return f"needs the template “{names[0]}”, which doesn't exist"
    except TemplateSyntaxError as error:
        return f"needs the template “{names[0]}”, which is invalid: {error}"
    return ""


def _returns_context(method: Any) -> bool:
    """Return whether the annotation of a method's result is a mapping, or a union that contains a mapping."""
    try:
        result = get_type_hints(method).get("return")
    except (NameError, TypeError):
        return False  # The annotation uses a name that is imported only for type checkers.
    results = get_args(result) if get_origin(result) in (Union, UnionType) else [result]
    classes = (get_origin(one) or one for one in results)
    return any(isinstance(one, type) and issubclass(one, Mapping) for one in classes)


def _indexes(content_type: type[Content]) -> Iterator[CheckMessage]:
    hint = 'Write indexes = ["starts", ["hall", "-published"]], with fields that store single values or one list.'
    declared = content_type.indexes
    if not isinstance(declared, list | tuple):
        yield Error(f"{_name(content_type)}.indexes isn't a list.", hint=hint, obj=content_type, id="nodes.E030")
        return
    for names in declared:
        try:
            lookups.index_keys(content_type, names)
        except FieldError as error:
            message = f"{_name(content_type)}.indexes contains {names!r}. {error}"
            yield Error(message, hint=hint, obj=content_type, id="nodes.E030")
    if content_type._meta.indexes:
        message = f"{_name(content_type)}.Meta.indexes has no effect."
        yield Error(message, hint=hint, obj=content_type, id="nodes.E030")


def _name(content_type: type[Content]) -> str:
    return f"{content_type.__module__}.{content_type.__name__}"


def _upgraders(content_type: type[Content]) -> Iterator[CheckMessage]:
    upgrader_counts = Counter(from_version for from_version, _upgrader in content_type.upgraders)
    name = _name(content_type)
    present = content_type.schema_version
    for number in range(FIRST, present):
        if upgrader_counts[number] != 1:
            message = f"{name} has {upgrader_counts[number] or 'no'} upgraders from version {number} to {number + 1}."
            hint = f"Declare exactly one function with @upgrade(from_version={number}). Older revisions need it too."
            yield Error(message, hint=hint, obj=content_type, id="nodes.E008")
    for number in sorted(number for number in upgrader_counts if not FIRST <= number < present):
        message = f"{name} has an upgrader from version {number}, but its schema_version is {present}."
        hint = f"Set schema_version = {number + 1}, or correct the upgrader's from_version."
        yield Error(message, hint=hint, obj=content_type, id="nodes.E009")


def _fields(model: Any, path: str, depth: int = 0) -> Iterator[CheckMessage]:
    """Check the fields of a type (`depth` is 0), or of a part that is nested this deeply."""
    for field in model._meta.fields:
        if isinstance(field, models.AutoField) or field.primary_key:
            continue
        where = f"{path}.{field.name}"
        if issubclass(model, Content) and _is_taken(model, field):
            yield Error(f"{where} has a reserved name.", hint="Choose another name.", obj=field, id="nodes.E004")
        if _part_of(field) and depth == MOST_NESTED:
            hint = "Move its fields into this part."
            message = f"{where} nests parts more than {MOST_NESTED} levels deep."
            yield Error(message, hint=hint, obj=field, id="nodes.E012")
        elif problem := _problem(field):
            yield Error(f"{where} {problem}", hint="Use a field that stores a value.", obj=field, id="nodes.E005")
        elif part := _part_of(field):
            yield from _fields(part, where, depth + 1)
        else:
            yield from field.check()


def _is_taken(model: type[Content], field: models.Field) -> bool:
    if field.name in _WRITTEN and issubclass(model, Written):
        return field.creation_counter != _WRITTEN[field.name].creation_counter
    return field.name in RESERVED or hasattr(Content, field.name) or field.db_column is not None


def _problem(field: models.Field) -> str:
    if field.remote_field:
        return "is a relation. Use a NodeField or PhotoField, which stores an id."
    if isinstance(field, models.FileField):
        return "is a file field. Use a PhotoField, which refers to a photo."
    if field.unique:
        return "is unique. Remove unique=True. Only slugs are unique, in their section."
    if isinstance(field, ArrayField) and not isinstance(field, EmbeddedModelArrayField):
        if _part_of(field.base_field):
            return "is a list of embedded models. Use an EmbeddedModelArrayField for lists of parts."
        return _problem(field.base_field)
    if (part := _part_of(field)) and not issubclass(part, Part):
        return f"nests {part.__name__}, which is not a Part."
    return ""


def _part_of(field: models.Field) -> Any:
    return field.embedded_model if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField) else None
