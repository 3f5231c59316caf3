"""The form over a photo: that over a node, without a text, with what a photo has instead."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from nodes.admin.forms import PATHS, NodeForm
from nodes.content import PHOTO
from nodes.selectors.editing import Version


class FocalField(forms.CharField):
    """A point as parts of width and height from the top left: "0.5 0.33"; empty for the middle."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value[0]:g} {value[1]:g}" if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> list[float] | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            point = [round(float(part), 2) for part in text.replace(",", " ").split()]
        except ValueError as error:
            raise forms.ValidationError(_("Type two numbers from 0 to 1, or leave it empty.")) from error
        if len(point) != 2 or not all(0 <= part <= 1 for part in point):
            raise forms.ValidationError(_("Type two numbers from 0 to 1, or leave it empty."))
        return point


class PhotoForm(NodeForm):
    """What an editor says of a photo."""

    paths = {name: path for name, path in PATHS.items() if name not in ("text", "format")} | {
        "alt": "detail.alt",
        "focal": "detail.focal",
    }
    alt = forms.CharField(
        label=gettext_lazy("Alternative text"),
        required=False,
        max_length=500,
        widget=AdminTextareaWidget(attrs={"rows": 2}),
        help_text=gettext_lazy("What it shows, for those who cannot see it. Needed before it can be published."),
    )
    focal = FocalField(
        label=gettext_lazy("Focal point"),
        required=False,
        help_text=gettext_lazy("What must stay in the picture when it is cut square. Click on the picture to set it."),
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
        order = (
            "title",
            "alt",
            "summary",
            "tags",
            "section",
            "slug",
            "focal",
            "published",
            "expires",
            "author",
            "comments",
        )
        self.order_fields(order)
