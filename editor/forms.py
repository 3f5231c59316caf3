"""The flat form over a node: what it says by field, under the nonce that the form was rendered with.

Of each content type there is one class of it, with the fields that the type declares.
"""

import builtins
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

from bson import ObjectId
from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.forms import ObjectIdField

from editor import declared
from editor.fields import (
    AuthorField,
    EndField,
    MomentField,
    ReferenceField,
    SectionField,
    TagsSeenField,
    TextField,
    TitleField,
    VersionField,
    accept_long_input,
)
from editor.parts import PartsField, is_left_alone
from marginalia.markup.characters import normalize_newlines
from marginalia.mongo.clock import now
from nodes import access, content, rendering, tags
from nodes.content import HTML, MARKDOWN, declared_fields
from nodes.models.stored_site import COMMENT_POLICIES
from nodes.selectors.editable_nodes import Version
from nodes.services.editing import publication_dates
from nodes.types import TagChange
from photos import texts

# Each field's path under `metadata`.
PATHS = {
    "title": "title",
    "slug": "slug",
    "section": "parent_id",
    "text": "detail.text",
    "format": "detail.format",
    "summary": "summary",
    "published": "published",
    "expires": "expires",
    "author": "author",
    "comments": "detail.comments",
}
FIELDS = {path: name for name, path in PATHS.items()}
# First and wide; then the texts, lists and rows that the type declares.
MAIN = ("title", "text")
# The groups of the panel beside it, and which of them are open. Without names: what else the type declares.
GROUPS: tuple[tuple[Any, tuple[str, ...], bool], ...] = (
    (_("Details"), (), True),
    (_("Address"), ("section", "slug"), True),
    (_("Picture"), ("picture",), True),
    (_("Summary and tags"), ("summary", "tags"), True),
    (_("Publication"), ("published", "expires", "author", "is_pinned"), True),
    (_("Search and sharing"), ("seo_title", "seo_description"), False),
    (_("Comments and format"), ("comments", "format"), False),
)
_GROUPED = frozenset(name for _heading, names, _is_open in GROUPS for name in names)
# What only those may say who may publish, the author besides.
_FOR_EDITORS = ("published", "expires", "comments")


@dataclass(frozen=True)
class Group:
    """A group of fields in the panel."""

    heading: Any
    fields: list[forms.BoundField]
    is_open: bool
    is_wrong: bool


class NodeForm(forms.Form):
    """What an editor types of a node.

    `seen` is what the node said under the nonce that the form carries: what equals it was left alone. None: a new node, or
    not known any more.
    """

    # Each field's path under `metadata`.
    paths: ClassVar[Mapping[str, str]] = PATHS
    # The fields that the type declares, or all texts have: those that no group names are shown as its details.
    details: ClassVar[tuple[str, ...]] = ()

    title = TitleField(label=_("Title"), max_length=300)
    text = TextField(label=_("Text"), required=False, widget=AdminTextareaWidget(attrs={"rows": 24}))
    slug = forms.CharField(
        label=_("Slug"),
        max_length=200,
        required=False,
        widget=AdminTextInputWidget,
        help_text=_("The last part of the address. Left empty, it is made from the title."),
    )
    summary = TextField(
        label=_("Summary"),
        required=False,
        widget=AdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("For lists, search engines and feeds. Left empty, the text's beginning serves."),
    )
    tags = forms.CharField(
        label=_("Tags"), required=False, widget=AdminTextInputWidget, help_text=_("Separated by commas.")
    )
    format = forms.ChoiceField(
        label=_("Written in"), choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")], initial=MARKDOWN
    )
    comments = forms.ChoiceField(
        label=_("Comments"),
        required=False,
        choices=[("", _("As for the section, or the site")), *COMMENT_POLICIES],
    )
    published = MomentField(
        label=_("Published"),
        required=False,
        help_text=_("Empty: not public. Ahead: the page, or what changed on a live one, appears at that time."),
    )
    expires = EndField(label=_("Expires"), required=False, help_text=_("Empty: never."))
    nonce = ObjectIdField(required=False, widget=forms.HiddenInput)
    form = ObjectIdField(widget=forms.HiddenInput)
    schema_version = VersionField(required=False)
    tags_seen = TagsSeenField()

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: Any,
        type: str,
        seen: Version | None = None,
        initial: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        said = declared.shown(type, seen.fields) if seen else {}
        shown = {name: said[path] for name, path in self.paths.items() if path in said} | {"form": ObjectId()}
        shown["schema_version"] = content.get(type).schema_version
        if seen:
            shown |= {"nonce": seen.nonce, "tags": ", ".join(seen.tags), "tags_seen": list(seen.tags)}
        super().__init__(data, initial={**shown, **(initial or {})}, label_suffix="", **kwargs)
        self.type = type
        self.seen = seen
        self.user = user
        self._shown = {name: said[path] for name, path in self.paths.items() if name in self.details and path in said}
        # After a clash of slugs: one that was free.
        self.free_slug = ""
        # What the script last made of the title, for a new page.
        self.proposed_slug = self.data.get("_proposed", "")
        self.fields["section"] = SectionField(user, type, said.get("parent_id"), label=_("Section"))
        for name, field in self.fields.items():
            if isinstance(field, MomentField | PartsField):
                field.seen = said.get(self.paths[name])
            elif isinstance(field, ReferenceField):
                field.widget.sees_all, field.widget.sees_photos = access.sees_all(user), access.may_see_photos(user)
        if user.has_perm("nodes.publish_node"):
            # A new page gets who makes it; what was imported without an author may stay so.
            required = bool(said.get("author"))
            self.fields["author"] = AuthorField(said.get("author"), label=_("Author"), required=required)
        else:
            for name in _FOR_EDITORS:
                del self.fields[name]
        accept_long_input(self.fields.values())
        # Sent by the form of another release, it may lack fields: what it does not say was not emptied.
        self.is_of_another_version = self.is_bound and self.data.get("schema_version", "1") != str(
            content.get(type).schema_version
        )
        for name, field in self.fields.items() if self.is_of_another_version else ():
            if not any(self._is_of(key, name) for key in self.data):
                field.required = False
                field.bound_data = _initial

    def clean(self) -> dict[str, Any] | None:
        """Refuse an end before the beginning, and what another release's form says, naming what it says of former fields."""
        if not self.is_of_another_version:
            said: dict[str, Any] = super().clean() or self.cleaned_data
            published = said.get("published")
            expires = said.get("expires")
            if published and expires and now() < published >= expires:
                self.add_error("expires", _("It would expire before it appears."))
            return said
        told = [
            _("The site was updated in between, and this form with it. Nothing was saved: look at it and save again.")
        ]
        gone = (_("No field any more: %(name)s, “%(value)s”") % {"name": n, "value": v} for n, v in self._unknown())
        raise forms.ValidationError([*told, *gone])

    def _unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the (name, value) of what was sent and is no field, nor anything that goes with a form."""
        known = {*self.fields, *declared_fields.RESERVED, "csrfmiddlewaretoken"}
        for key, value in self.data.items():
            is_known = key.startswith("_") or key.partition("-")[0] in known
            if value and not is_known and not any(self._is_of(key, name) for name in self.fields):
                yield key, value

    def _is_of(self, key: str, name: str) -> bool:
        """Return whether what was sent under a key is a field's: a date and its time are two, those of rows many."""
        name = self.add_prefix(name)
        return key == name or (key.startswith((f"{name}_", f"{name}-")) and key not in self.fields)

    def clean_slug(self) -> str:
        """Return the slug that was typed; "" for one that was proposed: it is made anew, as another may have it now."""
        slug: str = self.cleaned_data["slug"]
        return "" if slug == self.proposed_slug else slug

    def clean_tags(self) -> tuple[str, ...]:
        return tags.parse(self.cleaned_data["tags"])

    def mine(self) -> dict[str, Any]:
        """Return what the (valid) form says, by path."""
        return {path: self._said(name) for name, path in self.paths.items() if name in self.cleaned_data}

    def _said(self, name: str) -> Any:
        """Return what the form says of a field; what was left alone with all of it that the widget does not show."""
        field = self.fields[name]
        sent = self[name].data
        if name in self._shown and not isinstance(field, PartsField) and is_left_alone(field, sent, self._shown[name]):
            return self._shown[name]
        return self.cleaned_data[name]

    def to_publish(self) -> dict[str, Any]:
        """Return what the (valid) form says, public from now on. A date that was typed into it stays, also one ahead."""
        mine = self.mine()
        seen = self.seen.fields if self.seen else {}
        for name, date in publication_dates({**seen, **mine}, now()).items():
            if not mine.get(name) or mine[name] == seen.get(name):
                mine[name] = date
        return mine

    def tag_change(self) -> TagChange:
        """Return what the editor did to the tags that the form was rendered with."""
        return TagChange.between(self.cleaned_data["tags_seen"], self.cleaned_data["tags"])

    def main(self, without: Collection[str] = ()) -> list[forms.BoundField]:
        """Return the fields that are written, first and wide, but for those `without`, shown elsewhere."""
        names = (*MAIN, *(name for name in self.details if self._is_written(name)))
        return [self[name] for name in names if name in self.fields and name not in without]

    def groups(self, without: Collection[str] = ()) -> Iterator[Group]:
        """Yield the groups of the panel, but for fields `without`, shown elsewhere. One with an error is open."""
        chosen = tuple(name for name in self.details if name not in _GROUPED and not self._is_written(name))
        for heading, names, is_open in GROUPS:
            fields = [self[name] for name in names or chosen if name in self.fields and name not in without]
            if fields:
                wrong = any(field.errors for field in fields)
                yield Group(heading, fields, is_open=is_open or wrong, is_wrong=wrong)

    def _is_written(self, name: str) -> bool:
        return name not in _GROUPED and isinstance(self.fields.get(name), TextField | PartsField | declared.LinesField)

    def broken_references(self) -> list[texts.BrokenReference]:
        """Return what the text, as the form shows it, names that readers cannot see."""
        source, format = (str(self[name].value() or "") for name in ("text", "format"))
        source = normalize_newlines(source)
        sees_photos = access.may_see_photos(self.user)
        sees_all = access.sees_all(self.user)
        render = partial(rendering.to_html, source, format)
        return texts.find_broken(source, render, sees_photos=sees_photos, sees_all=sees_all)


def _initial(data: Any, initial: Any) -> Any:
    return initial


def form_of(type: str) -> builtins.type[NodeForm]:
    """Return the class of the forms over nodes of a type."""
    return _form_of(content.get(type))


@cache
def _form_of(content_type: builtins.type[content.Content]) -> builtins.type[NodeForm]:
    own = dict(declared_fields.own_fields(content_type.type_name))
    if not own or content_type.is_file:
        return NodeForm
    fields = {field.name: declared.form_field(field) for field in own.values()}
    paths = {**PATHS, **{field.name: path for path, field in own.items()}}
    # What every type has comes last.
    details = tuple(sorted(fields, key=lambda name: name in _GROUPED))
    return type(f"{content_type.__name__}Form", (NodeForm,), {**fields, "paths": paths, "details": details})
