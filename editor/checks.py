"""System checks for the extensions of the admin that projects register."""

from collections import Counter
from collections.abc import Iterator
from inspect import isabstract
from typing import Any

from django import forms
from django.apps import apps
from django.contrib.staticfiles import finders
from django.core.checks import CheckMessage, Error, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template
from django.urls import NoReverseMatch, reverse

from editor import declared, extensions
from editor.extensions import BulkAction, Column, ContentAdmin, FieldGroup, Panel, name_of
from editor.forms import META, NodeForm
from editor.parts import PartsWidget
from nodes import content
from nodes.actions import NodeAction
from nodes.content import Content, declared_fields, values

# Widgets that consist of several inputs. Only their subclasses can replace them.
_SPECIAL_WIDGETS: tuple[type[forms.Widget], ...] = (forms.MultiWidget, PartsWidget)


@register()
def check_extensions(**kwargs: Any) -> list[CheckMessage]:
    """Check all extensions of the admin.

    - editor.E001: `content_types` is empty, or contains something that isn't a content type.
    - editor.E002: `form_class` isn't a NodeForm, or a content type has two form classes.
    - editor.E003: a form class changes a field that the content type doesn't declare.
    - editor.E004: a widget can't show all parts of its field's value.
    - editor.E005: a field group contains an unknown field, or a field is in two groups.
    - editor.E006: a column reads an unknown field, or defines neither `value` nor `values`.
    - editor.E007: a bulk action has no action class.
    - editor.E008: a list in a ContentAdmin contains something other than the documented classes.
    - editor.E009: a label is missing, or a permission isn't the name of a permission.
    - editor.E010: the template of a panel or a tile doesn't exist or contains an error.
    - editor.E011: the URL of a navigation item doesn't exist, or its icon is missing.
    """
    messages: list[CheckMessage] = []
    for admin in extensions.content_admins():
        messages += _content_types(admin)
        messages += _contents(admin)
    for content_type in content.types():
        messages += _form_class(content_type)
        messages += _field_groups(content_type)
    for tile in extensions.tiles():
        messages += _texts(tile)
        messages += _template(tile)
    for item in extensions.navigation_items():
        messages += _texts(item)
        messages += _navigation_item(item)
    return messages


def _content_types(admin: type[ContentAdmin]) -> Iterator[CheckMessage]:
    wrong = [entry for entry in admin.content_types if not (isinstance(entry, type) and issubclass(entry, Content))]
    if wrong or not admin.content_types:
        found = f"contains {wrong[0]!r}, which is not a content type" if wrong else "is empty"
        hint = "List the classes of content types."
        yield Error(f"{name_of(admin)}.content_types {found}.", hint=hint, obj=admin, id="editor.E001")


def _contents(admin: type[ContentAdmin]) -> Iterator[CheckMessage]:
    """Check the panels, columns and actions of an admin."""
    if admin.form_class and not (isinstance(admin.form_class, type) and issubclass(admin.form_class, NodeForm)):
        hint = "Derive the class from editor.forms.NodeForm."
        yield Error(f"{name_of(admin)}.form_class is not a NodeForm.", hint=hint, obj=admin, id="editor.E002")
    for attribute, base in (("panels", Panel), ("columns", Column), ("actions", BulkAction)):
        for entry in getattr(admin, attribute):
            if attribute == "panels" and isinstance(entry, FieldGroup):
                continue
            if not (isinstance(entry, type) and issubclass(entry, base)):
                message = (
                    f"{name_of(admin)}.{attribute} contains {entry!r}, which is not a subclass of {base.__name__}."
                )
                hint = "Use classes, not instances. Panels can also be FieldGroup objects."
                yield Error(message, hint=hint, obj=admin, id="editor.E008")
                continue
            yield from _texts(entry)
            if issubclass(entry, Panel):
                yield from _template(entry)
            elif issubclass(entry, Column):
                yield from _column(entry, admin)
            else:
                yield from _action(entry)


def _column(column: type[Column], admin: type[ContentAdmin]) -> Iterator[CheckMessage]:
    if column.value is Column.value and column.values is Column.values:
        hint = "Define value(self, node, user) or values(self, nodes, user)."
        yield Error(f"{name_of(column)} has no values.", hint=hint, obj=column, id="editor.E006")
    known = _common_fields(admin)
    for name in column.fields:
        if name not in known:
            message = f"{name_of(column)}.fields contains “{name}”, which is not a field of all its content types."
            yield Error(message, hint="Use declared fields.", obj=column, id="editor.E006")


def _common_fields(admin: type[ContentAdmin]) -> set[str]:
    """Return the names of the fields that all content types of an admin declare."""
    covered = [type for type in content.types() if admin.covers(type)]
    names = [{field.name for field in values.stored_fields(type)} for type in covered]
    return set.intersection(*names) if names and Content not in admin.content_types else set()


def _action(action: type[BulkAction]) -> Iterator[CheckMessage]:
    action_class = getattr(action, "action_class", None)
    is_action = isinstance(action_class, type) and issubclass(action_class, NodeAction) and not isabstract(action_class)
    if not is_action or not hasattr(action_class, "needs"):
        hint = "Set it to a subclass of nodes.actions.NodeAction that sets `needs` and defines `execute`."
        message = f"{name_of(action)}.action_class is not an action."
        yield Error(message, hint=hint, obj=action, id="editor.E007")


def _form_class(content_type: type[Content]) -> Iterator[CheckMessage]:
    form_classes = extensions.form_classes(content_type)
    if len(form_classes) > 1:
        message = f"{name_of(content_type)} has {len(form_classes)} form classes."
        yield Error(message, hint="Set form_class only once.", obj=content_type, id="editor.E002")
    for form_class in form_classes[:1]:
        if isinstance(form_class, type) and issubclass(form_class, NodeForm):
            yield from _form_fields(content_type, form_class)


def _form_fields(content_type: type[Content], form_class: type[NodeForm]) -> Iterator[CheckMessage]:
    own_fields = {field.name: field for _path, field in declared_fields.own_fields(content_type.type_name)}
    options = getattr(form_class, "Meta", None)
    named = {attribute: getattr(options, attribute, {}) for attribute in META}
    added = {
        name for name, field in form_class.declared_fields.items() if field is not NodeForm.declared_fields.get(name)
    }
    removed = {name for name in (*own_fields, *NodeForm.declared_fields) if getattr(form_class, name, ...) is None}
    allowed_texts = own_fields.keys() | NodeForm.declared_fields.keys()
    for where, names, allowed in (
        ("declares", added, own_fields.keys()),
        ("removes", removed, ()),
        ("has Meta.widgets for", named["widgets"], own_fields.keys()),
        ("has Meta.labels for", named["labels"], allowed_texts),
        ("has Meta.help_texts for", named["help_texts"], allowed_texts),
    ):
        for name in sorted(set(names) - set(allowed)):
            message = f"{name_of(form_class)} {where} “{name}”, but can't."
            hint = f"Use fields that {name_of(content_type)} declares. To make a field read-only, set `disabled`."
            yield Error(message, hint=hint, obj=form_class, id="editor.E003")
    if unknown := sorted(name for name in vars(options or object) if not name.startswith("_") and name not in META):
        message = f"{name_of(form_class)}.Meta has the unknown attribute “{unknown[0]}”."
        yield Error(message, hint=f"Use {', '.join(META)}.", obj=form_class, id="editor.E003")
    for name, widget in named["widgets"].items():
        if name in own_fields and name not in form_class.declared_fields:
            yield from _widget(form_class, declared.form_field(own_fields[name]), name, widget)


def _widget(form_class: type[NodeForm], field: forms.Field, name: str, widget: Any) -> Iterator[CheckMessage]:
    needed: type[forms.Widget] = forms.Widget
    if isinstance(field.widget, _SPECIAL_WIDGETS):
        needed = type(field.widget)
    elif isinstance(field, declared.LinesField):
        needed = forms.Textarea
    if not (issubclass(widget, needed) if isinstance(widget, type) else isinstance(widget, needed)):
        message = f"{name_of(form_class)}.Meta.widgets has a widget for “{name}” that isn't a {needed.__name__}."
        hint = f"Derive the widget from {needed.__module__}.{needed.__name__}, or declare another form field."
        yield Error(message, hint=hint, obj=form_class, id="editor.E004")


def _field_groups(content_type: type[Content]) -> Iterator[CheckMessage]:
    groups = [panel for panel in extensions.panels(content_type) if isinstance(panel, FieldGroup)]
    known = {field.name for _path, field in declared_fields.own_fields(content_type.type_name)}
    counts = Counter(name for group in groups for name in group.fields)
    for name, count in counts.items():
        problem = "which is not a field that editors fill in" if name not in known else "which is in several groups"
        if name not in known or count > 1:
            message = f"The panels of {name_of(content_type)} contain the field “{name}”, {problem}."
            hint = "Use each declared field at most once."
            yield Error(message, hint=hint, obj=content_type, id="editor.E005")


def _texts(extension: type[extensions.Extension]) -> Iterator[CheckMessage]:
    if not extension.label:
        yield Error(f"{name_of(extension)} has no label.", hint="Set `label`.", obj=extension, id="editor.E009")
    app, _dot, codename = extension.permission.partition(".")
    if extension.permission and not (codename and app in {config.label for config in apps.get_app_configs()}):
        message = f"{name_of(extension)}.permission can't be “{extension.permission}”."
        hint = "Use the label of an installed app and the name of a permission, such as “shop.view_order”."
        yield Error(message, hint=hint, obj=extension, id="editor.E009")


def _template(extension: Any) -> Iterator[CheckMessage]:
    problem = "" if extension.template else "doesn't exist"
    try:
        if extension.template:
            get_template(extension.template)
    except TemplateDoesNotExist:
        problem = "doesn't exist"
    except TemplateSyntaxError as error:
        problem = f"is invalid: {error}"
    if problem:
        message = f"The template “{extension.template}” of {name_of(extension)} {problem}."
        hint = "Create the template in a `templates` folder of the app."
        yield Error(message, hint=hint, obj=extension, id="editor.E010")


def _navigation_item(item: type[extensions.NavigationItem]) -> Iterator[CheckMessage]:
    try:
        reverse(item.url_name)
    except NoReverseMatch:
        message = f"{name_of(item)}.url_name is “{item.url_name}”, which is not the name of a URL without arguments."
        yield Error(message, hint="Use a name such as “shop:orders”.", obj=item, id="editor.E011")
    if item.icon and not finders.find(item.icon):
        message = f"{name_of(item)}.icon is “{item.icon}”, which is not a static file."
        yield Error(message, hint="Add the file to a `static` folder.", obj=item, id="editor.E011")
