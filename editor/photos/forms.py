"""Forms for photos: the node form with a photo's fields instead of body text, and the form for a row with a photo."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_mongodb_backend.forms import ObjectIdField

from editor.fields import TagsSeenField, accept_long_input
from editor.forms import PATHS, NodeForm
from nodes import tags
from nodes.content import FILE, PHOTO
from nodes.content.shipped import ROTATIONS, check_crop
from nodes.form_fields import LineField
from nodes.models import Photo
from nodes.selectors.editable_nodes import Version
from nodes.types import NO_TAGS, TagChange

# The path under `metadata` of each field in a row.
ROW_PATHS = {"title": "title", "alt": "detail.alt", "focal": "detail.focal"}


class PercentsInput(forms.MultiWidget):
    """Inputs for percentages. Either all of the inputs have labels, or all are hidden."""

    def __init__(self, labels: Sequence[Any], *, hidden: bool = False) -> None:
        attrs = {"min": 0, "max": 100, "step": "any", "inputmode": "decimal"}
        super().__init__([forms.HiddenInput() if hidden else forms.NumberInput(attrs) for _label in labels])
        self.labels = labels
        if not hidden:
            self.template_name = "editor/percents.html"

    def decompress(self, value: Any) -> list[Any]:
        return [None] * len(self.widgets)

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        for widget, label in zip(context["widget"]["subwidgets"], self.labels, strict=True):
            widget["label"] = label
        return context


class PercentsField(forms.MultiValueField):
    """A field for fractions of a photo's width and height, entered as percentages.

    Editors have to enter either all percentages or none.
    """

    def __init__(self, labels: Sequence[Any], **kwargs: Any) -> None:
        # `compress` rounds to four decimal places, which is finer than one pixel.
        fields = [forms.FloatField(min_value=0, max_value=100, required=False) for _label in labels]
        super().__init__(fields, widget=PercentsInput(labels), required=False, require_all_fields=False, **kwargs)
        self.hidden_widget = partial(PercentsInput, labels, hidden=True)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [f"{part * 100:.6g}" if isinstance(part, int | float) else part for part in value]

    def compress(self, values: list[Any]) -> list[float] | None:
        if not values:
            return None
        if None in values:
            raise forms.ValidationError(_("Enter all of these numbers, or none of them."))
        return [round(part / 100, 4) for part in values]


class CropField(PercentsField):
    """A field for the visible part of a photo. If the field is empty, the whole photo is shown."""

    def __init__(self, **kwargs: Any) -> None:
        labels = [gettext_lazy("Left"), gettext_lazy("Top"), gettext_lazy("Width"), gettext_lazy("Height")]
        super().__init__(labels, validators=[check_crop], **kwargs)

    def compress(self, values: list[Any]) -> list[float] | None:
        part = super().compress(values)
        return None if part == [0, 0, 1, 1] else part


class FocalField(PercentsField):
    """A field for the point that stays visible when a photo is cropped. If the field is empty, the centre is used."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__([gettext_lazy("From the left"), gettext_lazy("From the top")], **kwargs)


class PhotoForm(NodeForm):
    """The form for a photo."""

    paths = {name: path for name, path in PATHS.items() if name not in ("text", "format")} | {
        "alt": "detail.alt",
        "focal": "detail.focal",
        "crop": "detail.crop",
        "rotation": "detail.rotation",
    }
    alt = LineField(
        label=gettext_lazy("Alternative text"),
        required=False,
        max_length=500,
        widget=AdminTextareaWidget(attrs={"rows": 2}),
        help_text=gettext_lazy(
            "Describe what the photo shows for people who can't see it. A photo without alternative text can't be "
            "published."
        ),
    )
    focal = FocalField(
        label=gettext_lazy("Focal point"),
        help_text=gettext_lazy(
            "This point stays visible when the photo is cropped to a square. Click the photo to set it. Leave empty to "
            "use the centre."
        ),
    )
    crop = CropField(
        label=gettext_lazy("Crop"),
        help_text=gettext_lazy(
            "Drag over the unrotated photo to choose the part that readers see. The file isn't changed. Leave empty to "
            "show the whole photo."
        ),
    )
    rotation = forms.TypedChoiceField(
        label=gettext_lazy("Rotation"),
        choices=[("", gettext_lazy("None")), *ROTATIONS],
        coerce=int,
        empty_value=None,
        required=False,
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: Any,
        seen: Version | None = None,
        initial: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data, user=user, type=PHOTO, seen=seen, initial=initial, **kwargs)
        del self.fields["text"], self.fields["format"]
        self.fields["section"].label = _("Gallery")
        self.fields["summary"].label = _("Description")
        self.fields["summary"].help_text = ""
        if "published" in self.fields:
            # Replace the help text, because it refers to pages.
            self.fields["published"].help_text = _(
                "Leave empty to keep the photo unpublished. If the time is in the future, the photo appears then."
            )
        order = (
            "title",
            "alt",
            "summary",
            "tags",
            "section",
            "slug",
            "focal",
            "crop",
            "rotation",
            "published",
            "expires",
            "author",
            "comments",
        )
        self.order_fields(order)


class FileForm(NodeForm):
    """The form for a file."""

    # The URL of a file contains its id, so the slug has no effect.
    paths = {name: path for name, path in PATHS.items() if name not in ("text", "format", "comments", "slug")}

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        user: Any,
        seen: Version | None = None,
        initial: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data, user=user, type=FILE, seen=seen, initial=initial, **kwargs)
        for name in ("text", "format", "comments", "slug"):
            self.fields.pop(name, None)
        self.fields["summary"].label = _("Description")
        self.fields["summary"].help_text = ""
        if "published" in self.fields:
            self.fields["published"].help_text = _(
                "Leave empty to keep the file unpublished. If the time is in the future, readers can open it then."
            )
            self.fields["expires"].help_text = _("Leave empty if the file should never expire.")


# The forms for photos and files, by type.
ASSET_FORMS: dict[str, type[PhotoForm | FileForm]] = {PHOTO: PhotoForm, FILE: FileForm}


class RowForm(forms.Form):
    """The form for one photo in a list of photos.

    If the photo is stored, the form contains the nonce that it was rendered with.
    """

    alt = LineField(
        label=gettext_lazy("Alternative text"),
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    title = forms.CharField(label=gettext_lazy("Title"), max_length=300)
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False)
    focal = FocalField(label=gettext_lazy("Focal point"))
    nonce = ObjectIdField(required=False, widget=forms.HiddenInput)
    tags_seen = TagsSeenField()

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        photo: Photo | None = None,
        shown: Mapping[str, Any] | None = None,
        change: TagChange = NO_TAGS,
    ) -> None:
        """Create the row.

        Args:
            data: The submitted data.
            photo: The photo, or None if the photo hasn't been uploaded yet.
            shown: Values to show instead of the stored values, keyed by path.
            change: Changes to apply to the stored tags.
        """
        initial: dict[str, Any] = {}
        if photo:
            metadata = photo.metadata
            stored = {"title": metadata.title, "detail.alt": metadata.detail.alt, "detail.focal": metadata.detail.focal}
            stored |= shown or {}
            initial = {name: stored[path] for name, path in ROW_PATHS.items()} | {"nonce": metadata.nonce}
            initial |= {"tags": ", ".join(change.applied(metadata.tags)), "tags_seen": list(metadata.tags)}
        # The inputs don't need ids, because they are inside their labels. With ids, each row would contain the same
        # ids.
        super().__init__(data, initial=initial, auto_id=False, prefix=str(photo.pk) if photo else None)
        accept_long_input(self.fields.values())
        if photo is None:
            self.fields["title"].required = False

    def clean_tags(self) -> tuple[str, ...]:
        return tags.parse(self.cleaned_data["tags"])

    def mine(self) -> dict[str, Any]:
        """Return the form's values, keyed by path, without the tags. The form must be valid."""
        return {path: self.cleaned_data[name] for name, path in ROW_PATHS.items()}

    def tag_change(self) -> TagChange:
        """Return the editor's changes to the tags that the form was rendered with."""
        return TagChange.between(self.cleaned_data["tags_seen"], self.cleaned_data["tags"])
