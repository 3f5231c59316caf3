"""The form for a node, with a form field for each field of the node, and the nonce of the version that the form shows.

Each content type has its own form class, with the fields that the type declares.
"""

import builtins
import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from bson import ObjectId
from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.forms import ObjectIdField

from editor import declared, extensions, text_warnings
from editor.fields import (
    AuthorField,
    EndField,
    MomentField,
    ReferenceField,
    TagsSeenField,
    VersionField,
    accept_long_input,
)
from editor.parts import PartsField, is_unchanged
from marginalia.markup.characters import normalize_newlines
from marginalia.mongo.clock import now
from nodes import access, content, tags
from nodes.content import HTML, MARKDOWN, declared_fields
from nodes.form_fields import CommentsField, SectionField, SlugField, TextField, TitleField
from nodes.selectors.editable_nodes import Version
from nodes.services.editing import publication_dates
from nodes.types import TagChange

# The path of each field under `metadata`.
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
# The first fields in the main column. After these fields come the text fields, lists and rows that the type declares.
MAIN = ("title", "text")
# The groups in the panel: (heading, field names, whether the group is open). The group without names contains the
# type's other fields.
GROUPS: tuple[tuple[Any, tuple[str, ...], bool], ...] = (
    (_("Details"), (), True),
    (_("URL"), ("section", "slug"), True),
    (_("Featured photo"), ("picture",), True),
    (_("Summary and tags"), ("summary", "tags"), True),
    (_("Publishing"), ("published", "expires", "author", "language", "is_pinned"), True),
    (_("Search and sharing"), ("seo_title", "seo_description"), False),
    (_("Comments and format"), ("comments", "trust_after", "format"), False),
)
_GROUPED = frozenset(name for _heading, names, _is_open in GROUPS for name in names)
# The attributes of a subclass's `Meta`. Each is a mapping whose keys are field names.
META = ("widgets", "labels", "help_texts")


@dataclass(frozen=True)
class Group:
    """A group of fields in the form.

    Attributes:
        has_errors: Whether any of the fields has an error.
    """

    heading: Any
    fields: list[forms.BoundField]
    is_open: bool
    has_errors: bool


class NodeForm(forms.Form):
    """The form for a node.

    Projects can extend this class for their content types (see ContentAdmin). As in Django's model forms, the
    attributes `widgets`, `labels` and `help_texts` of a subclass's `Meta` change the fields, and its `clean` method can
    compute values. A subclass can't remove fields. It applies only to the form, so rules for values belong in the
    content type's `clean` method.

    Attributes:
        seen: The version of the node that the nonce in the form identifies. A field is unchanged if its value is the
            same as in this version. The attribute is None for a new node, or if the version is no longer known.
    """

    # The path of each field under `metadata`.
    paths: ClassVar[Mapping[str, str]] = PATHS
    # The fields that the type declares, and the fields that all types have. Fields that don't belong to a group are in
    # "Details".
    details: ClassVar[tuple[str, ...]] = ()
    cleaned_data: dict[str, Any]
    # The names of the fields whose widgets a project has replaced, and the field groups that a project declares.
    own_widgets: ClassVar[frozenset[str]] = frozenset()
    field_groups: ClassVar[tuple[extensions.FieldGroup, ...]] = ()

    title = TitleField(
        label=_("Title"), widget=forms.Textarea({"class": "vTextField", "rows": 1, "placeholder": _("Title")})
    )
    text = TextField(label=_("Text"), required=False, widget=AdminTextareaWidget(attrs={"rows": 24}))
    slug = SlugField(
        label=_("Slug"),
        widget=AdminTextInputWidget,
        help_text=_("The last part of the URL. Leave empty to create it from the title."),
    )
    summary = TextField(
        label=_("Summary"),
        required=False,
        widget=AdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("Used in lists, search engines and feeds. Leave empty to use the beginning of the text."),
    )
    tags = forms.CharField(
        label=_("Tags"), required=False, widget=AdminTextInputWidget, help_text=_("Separate tags with commas.")
    )
    format = forms.ChoiceField(label=_("Format"), choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")], initial=MARKDOWN)
    comments = CommentsField(label=_("Comments"))
    published = MomentField(
        label=_("Published"),
        required=False,
        help_text=_("Leave empty to keep the page unpublished. If the time is in the future, the page appears then."),
    )
    expires = EndField(label=_("Expires"), required=False, help_text=_("Leave empty if the page should never expire."))
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
        values = declared.form_values(type, seen.fields) if seen else {}
        shown = {name: values[path] for name, path in self.paths.items() if path in values} | {"form": ObjectId()}
        shown["schema_version"] = content.get(type).schema_version
        if seen:
            shown |= {"nonce": seen.nonce, "tags": ", ".join(seen.tags), "tags_seen": list(seen.tags)}
        super().__init__(data, initial={**shown, **(initial or {})}, label_suffix="", **kwargs)
        self.type = type
        self.seen = seen
        self.user = user
        # The names of the fields whose values `clean` has changed.
        self._computed: set[str] = set()
        self._shown = {
            name: values[path] for name, path in self.paths.items() if name in self.details and path in values
        }
        # An available slug to offer if the submitted slug is already in use.
        self.free_slug = ""
        # The slug that the script last proposed for the title of a new page.
        self.proposed_slug = self.data.get("_proposed", "")
        self.fields["section"] = SectionField(user, type, values.get("parent_id"), label=_("Section"))
        for name, field in self.fields.items():
            if isinstance(field, MomentField | PartsField):
                field.seen = values.get(self.paths[name])
            elif isinstance(field, ReferenceField):
                field.widget.sees_all, field.widget.sees_photos = access.sees_all(user), access.may_see_photos(user)
        if user.has_perm("nodes.publish_node"):
            # The author of a new page is the user who creates it. The author isn't required if the page was imported
            # without one.
            required = bool(values.get("author"))
            self.fields["author"] = AuthorField(values.get("author"), label=_("Author"), required=required)
        else:
            for name, path in self.paths.items():
                if path in access.PUBLISHER_FIELDS:
                    self.fields.pop(name, None)
        accept_long_input(self.fields.values())
        # If an older release rendered the form, some fields may be missing. A missing field must not empty the stored
        # value.
        self.is_of_another_version = self.is_bound and self.data.get("schema_version", "1") != str(
            content.get(type).schema_version
        )
        for name, field in self.fields.items() if self.is_of_another_version else ():
            if not any(self._belongs_to(key, name) for key in self.data):
                field.required = False
                field.bound_data = _initial
        # The names of the generated fields, recorded before a subclass's `__init__` changes the form.
        self.built = frozenset(self.fields)

    def _clean_form(self) -> None:
        before = {name: _snapshot(value) for name, value in self.cleaned_data.items()}
        super()._clean_form()
        # The `clean` method of a subclass can omit values from its result, but these values must not be lost.
        kept = {name: value for name, value in before.items() if name not in self.errors}
        self.cleaned_data = {**kept, **self.cleaned_data}
        self._computed = {name for name, value in kept.items() if self.cleaned_data[name] != value}

    def clean(self) -> dict[str, Any] | None:
        """Reject a form that was rendered by another release.

        The error lists the values of fields that no longer exist.
        """
        if not self.is_of_another_version:
            return super().clean()
        reasons = [
            _("The site was updated while you were editing. Nothing has been saved yet. Check the form and save again.")
        ]
        gone = (
            _("This field was removed: %(name)s, “%(value)s”") % {"name": n, "value": v} for n, v in self._unknown()
        )
        raise forms.ValidationError([*reasons, *gone])

    def _unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the (name, value) of each submitted value that belongs neither to a field nor to the form itself."""
        known = {*self.fields, *declared_fields.RESERVED, "csrfmiddlewaretoken"}
        for key, value in self.data.items():
            is_known = key.startswith("_") or key.partition("-")[0] in known
            if value and not is_known and not any(self._belongs_to(key, name) for name in self.fields):
                yield key, value

    def _belongs_to(self, key: str, name: str) -> bool:
        """Return whether a submitted key belongs to a field.

        A field for a date and time has two keys, and a field for rows has many.
        """
        name = self.add_prefix(name)
        return key == name or (key.startswith((f"{name}_", f"{name}-")) and key not in self.fields)

    def clean_slug(self) -> str:
        """Return the typed slug. For a proposed slug, return "", so that saving generates an available slug."""
        slug: str = self.cleaned_data["slug"]
        return "" if slug == self.proposed_slug else slug

    def clean_tags(self) -> tuple[str, ...]:
        return tags.parse(self.cleaned_data["tags"])

    def mine(self) -> dict[str, Any]:
        """Return the form's values, keyed by path. The form must be valid."""
        return {
            path: self._value(name)
            for name, path in self.paths.items()
            if name in self.cleaned_data and not self._is_omitted(name)
        }

    def _is_omitted(self, name: str) -> bool:
        """Return whether the form leaves a field unchanged.

        This is the case if the field is disabled, or if the request contains no value for the field's widget.
        """
        if name in self._computed or name not in self.details:
            return False
        field = self.fields[name]
        is_sent = name not in self.own_widgets or not field.widget.value_omitted_from_data(
            self.data, self.files, self.add_prefix(name)
        )
        return field.disabled or not is_sent

    def _value(self, name: str) -> Any:
        """Return a field's value.

        Unchanged values are returned as stored, including data that the widget doesn't show.
        """
        if name in self._computed:
            return self.cleaned_data[name]
        field = self.fields[name]
        sent = self[name].data
        if name in self._shown and not isinstance(field, PartsField) and is_unchanged(field, sent, self._shown[name]):
            return self._shown[name]
        return self.cleaned_data[name]

    def to_publish(self) -> dict[str, Any]:
        """Return the form's values, keyed by path, with dates that make the node public now. The form must be valid.

        If the editor typed a date, this date is kept, even if it is in the future.
        """
        mine = self.mine()
        seen = self.seen.fields if self.seen else {}
        for name, date in publication_dates({**seen, **mine}, now()).items():
            if not mine.get(name) or mine[name] == seen.get(name):
                mine[name] = date
        return mine

    def tag_change(self) -> TagChange:
        """Return the editor's changes to the tags that the form was rendered with."""
        return TagChange.between(self.cleaned_data["tags_seen"], self.cleaned_data["tags"])

    def main_fields(self, without: Collection[str] = ()) -> list[forms.BoundField]:
        """Return the fields in the main column, except the fields in `without`, which are shown elsewhere."""
        names = (*MAIN, *(name for name in self.details if self._is_main(name)))
        skipped = {*without, *self._own_grouped()}
        return [self[name] for name in names if name in self.fields and name not in skipped]

    def groups(self, without: Collection[str] = ()) -> Iterator[Group]:
        """Yield the groups in the panel. Groups with errors are open.

        The fields in `without` are omitted, because they are shown elsewhere.
        """
        others = tuple(name for name in self.details if name not in _GROUPED and not self._is_main(name))
        skipped = {*without, *self._own_grouped()}
        for heading, names, is_open in GROUPS:
            if group := self._group(heading, names or others, skipped, is_open=is_open):
                yield group

    def own_group(self, group: extensions.FieldGroup, without: Collection[str] = ()) -> Group | None:
        """Return a group that a project declares, or None if all its fields are in `without`."""
        return self._group(group.label, group.fields, without, is_open=True)

    def is_wide(self, group: extensions.FieldGroup) -> bool:
        """Return whether a group contains long text or rows, so that it needs the main column."""
        return any(self._is_main(name) for name in group.fields)

    def _group(self, heading: Any, names: Iterable[str], without: Collection[str], *, is_open: bool) -> Group | None:
        fields = [self[name] for name in names if name in self.fields and name not in without]
        has_errors = any(field.errors for field in fields)
        return Group(heading, fields, is_open=is_open or has_errors, has_errors=has_errors) if fields else None

    def _own_grouped(self) -> set[str]:
        return {name for group in self.field_groups for name in group.fields}

    def _is_main(self, name: str) -> bool:
        return name not in _GROUPED and isinstance(self.fields.get(name), TextField | PartsField | declared.LinesField)

    def text_warnings(self) -> text_warnings.TextWarnings:
        """Return the warnings about the form's text."""
        source, format = (str(self[name].value() or "") for name in ("text", "format"))
        return text_warnings.find(normalize_newlines(source), format, self.user)


def _initial(data: Any, initial: Any) -> Any:
    return initial


def _same(value: Any) -> Any:
    return value


def _snapshot(value: Any) -> Any:
    """Return a copy of `value`, so that later changes to the lists and mappings in `value` don't affect the copy."""
    if isinstance(value, list):
        return [_snapshot(item) for item in value]
    if isinstance(value, dict):
        return {key: _snapshot(item) for key, item in value.items()}
    return value


class _Checked:
    """Mixin for the forms of projects. It checks the changes that the project's class makes in `__init__`."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = builtins.type(self).__name__
        if removed := sorted(self.built - self.fields.keys()):
            raise ImproperlyConfigured(f"{name} removes {', '.join(removed)}. Set the fields' `disabled` instead.")
        for key in self.details:
            if builtins.type(self.fields[key].widget) is not builtins.type(self.base_fields[key].widget):
                raise ImproperlyConfigured(f"{name} replaces the widget of {key}. Use Meta.widgets instead.")
        for field in self.fields.values():
            if field.disabled:
                # Browsers don't send disabled fields. Their values are the stored values, which don't need parsing.
                field.clean = _same


def replace_widget(field: forms.Field, widget: forms.Widget | builtins.type[forms.Widget]) -> None:
    """Give a field another widget, as if the field had been created with it."""
    made = widget() if isinstance(widget, type) else copy.deepcopy(widget)
    made.is_required = field.required
    made.is_localized = field.localize
    made.attrs = {**field.widget_attrs(made), **made.attrs}
    if isinstance(field, forms.ChoiceField):
        made.choices = field.choices
    field.widget = made


def form_class(type: str) -> builtins.type[NodeForm]:
    """Return a content type's form class."""
    content_type = content.get(type)
    return _form_class(content_type, extensions.content_admins(content_type))


@cache
def _form_class(
    content_type: builtins.type[content.Content], admins: tuple[builtins.type[extensions.ContentAdmin], ...]
) -> builtins.type[NodeForm]:
    own_fields = dict(declared_fields.own_fields(content_type.type_name))
    if not own_fields or content_type.is_file:
        return NodeForm
    base = next(iter(extensions.form_classes(content_type)), NodeForm)
    fields = {field.name: declared.form_field(field) for field in own_fields.values()}
    # Fields that the project's class declares itself replace the generated fields.
    replaced = {name: copy.deepcopy(base.declared_fields[name]) for name in fields if name in base.declared_fields}
    options = getattr(base, "Meta", None)
    widgets, labels, help_texts = (getattr(options, name, {}) for name in META)
    common = {*labels, *help_texts} & base.base_fields.keys()
    fields |= {name: copy.deepcopy(base.base_fields[name]) for name in common} | replaced
    for name, widget in widgets.items():
        replace_widget(fields[name], widget)
    for name, label in labels.items():
        fields[name].label = label
    for name, help_text in help_texts.items():
        fields[name].help_text = help_text
    attributes = {
        **fields,
        "paths": {**PATHS, **{field.name: path for path, field in own_fields.items()}},
        # The fields that are common to all types come last.
        "details": tuple(sorted((field.name for field in own_fields.values()), key=lambda name: name in _GROUPED)),
        "own_widgets": frozenset({*replaced, *widgets}),
        "field_groups": tuple(
            panel for admin in admins for panel in admin.panels if isinstance(panel, extensions.FieldGroup)
        ),
    }
    bases = (base,) if base is NodeForm else (_Checked, base)
    return type(f"{content_type.__name__}Form", bases, attributes)
