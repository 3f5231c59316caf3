"""{% load inserts %}: show the inserts that editors can add to text, as a menu and as a list of examples."""

from typing import Any

from django import forms, template
from django.utils.translation import gettext as _

from marginalia.markup.inserts import base
from marginalia.markup.inserts.fields import AddressField, FileIdField, NodeIdField, PhotoIdField, PhotoIdsField
from marginalia.markup.inserts.widgets import ChooserInput
from marginalia.mongo.clock import now
from nodes import access
from nodes.models import tree

register = template.Library()


@register.inclusion_tag("editor/_inserts.html", takes_context=True)
def insert_menu(context: Any) -> dict[str, Any]:
    """{% insert_menu %}: show a dialog with a form for each insert. The dialog's script adds the insert to the text."""
    return {"inserts": [_entry(insert, context["user"]) for insert in base.registered_inserts()]}


@register.inclusion_tag("editor/_spellings.html")
def insert_spellings() -> dict[str, Any]:
    """{% insert_spellings %}: show an example of each insert, for editors who type inserts themselves."""
    return {"inserts": [(insert, base.example_directive(insert)) for insert in base.registered_inserts()]}


def _entry(insert: type[base.Insert], user: Any) -> dict[str, Any]:
    form = insert(auto_id=f"insert-{insert.name}-%s", label_suffix="")
    for name, field in form.fields.items():
        if isinstance(field, PhotoIdsField):
            field.widget = forms.TextInput({"data-photos": "", "data-most": field.most})
        elif isinstance(field, PhotoIdField):
            field.widget = ChooserInput("photo", {"data-photo": "", "data-as": "ref"})
        elif isinstance(field, AddressField):
            field.widget = ChooserInput("node", {"data-as": "ref", "data-addresses": ""})
        elif isinstance(field, FileIdField):
            field.widget = ChooserInput("file", {"data-as": "ref"})
        elif isinstance(field, NodeIdField) and not field.types:
            field.widget = ChooserInput("node", {"data-as": "ref"})
        elif isinstance(field, NodeIdField):
            field.widget = forms.Select({"data-said": ""}, choices=_sections(field, user))
            form.initial[name] = field.widget.choices[0][0]
        field.widget.is_required = field.required
        # The field has no maxlength, because browsers would silently truncate pasted text. If the value is too long,
        # saving the text with this insert fails.
        field.widget.attrs.pop("maxlength", None)
    return {"insert": insert, "form": form}


def _sections(field: NodeIdField, user: Any) -> list[tuple[str, str]]:
    sections = tree.current()
    moment = now()
    sees_all = access.sees_all(user)
    choices = [
        (f"{field.prefix}{section.id}", section.title)
        for section in sorted(sections.sections.values(), key=lambda section: section.title.casefold())
        if section.type in field.types and (sees_all or sections.is_live(section.id, moment))
    ]
    empty = [] if choices and field.required else [("", _("None") if choices else _("Nothing here yet."))]
    return [*choices, *empty]
