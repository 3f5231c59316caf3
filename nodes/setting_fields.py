"""Form fields that validate the site settings. The admin form shows them with labels and widgets."""

import json
import zoneinfo
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator, URLValidator, validate_email
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from marginalia.trust import MAX_TRUST_AFTER
from nodes.form_fields import LineField, ReferenceField
from nodes.models import File, Node, Photo, look, stored_site, tree
from nodes.models.stored_site import NODE_PREFIX, linked_id
from nodes.selectors import routes, stored_nodes
from nodes.themes import THEMES

LONGEST_LABEL, LONGEST_TARGET = 60, 1_000
MAIL = "mailto:"
Rows = list[dict[str, str]]
ResolveAddress = Callable[[str], Node | Photo | File | None]


class AccentField(forms.CharField):
    """A field for the accent colour. The theme's default accent is stored as ""."""

    def prepare_value(self, value: Any) -> Any:
        return value or look.ACCENT

    def to_python(self, value: Any) -> str:
        colour = str(super().to_python(value)).lower()
        return "" if colour == look.ACCENT else colour

    def validate(self, value: Any) -> None:
        super().validate(value)
        if not value or look.is_accent(value):
            return
        if not look.is_colour(value):
            raise ValidationError(_("Enter the colour as # followed by six hexadecimal digits, such as #1f4e8c."))
        nearest = look.readable(value, look.LIGHT, look.CONTRAST)
        reason = _(
            "Links in %(colour)s would be hard to read. Their contrast is %(contrast)s : 1, and at "
            "least 4.5 : 1 is required. The closest readable colour is %(nearest)s."
        )
        params = {"colour": value, "contrast": f"{look.lowest_contrast(value):.1f}", "nearest": nearest}
        raise ValidationError(reason, params=params)


class HiddenRows(forms.HiddenInput):
    """A hidden input that contains, as JSON, the rows with which a form was rendered."""

    def format_value(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value or [])


class LinkRowsField(forms.Field):
    """A field for a list of links, [{label, target}].

    If a target is a page or section of this site, its id is stored, so that the link still works if the target moves.
    Other targets are stored as a path or an absolute URL.
    """

    hidden_widget = HiddenRows

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def to_python(self, value: Any) -> Rows:
        """Return a list of rows unchanged. Parse other values, which come from the hidden input, as JSON.

        Raises:
            ValidationError: The value isn't a list of rows.
        """
        if isinstance(value, list):
            return value
        try:
            return plain(json.loads(value or "[]"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValidationError(
                _("The form couldn't be read. Nothing was saved. Reload the page and try again.")
            ) from error

    def clean(self, value: Any) -> Rows:
        return [_clean_row(row) for row in super().clean(value)]


def plain(rows: Any) -> Rows:
    """Return the rows with only their label and target, both as strings."""
    return [{"label": str(row["label"]), "target": str(row["target"])} for row in rows]


def _clean_row(row: dict[str, str]) -> dict[str, str]:
    """Validate a row, and return it in its stored form. This function raises ValidationError."""
    label = row["label"]
    MaxLengthValidator(LONGEST_LABEL)(label)
    ProhibitNullCharactersValidator()(label)
    if len(row["target"]) > LONGEST_TARGET or not row["target"]:
        raise ValidationError(_("Enter a URL for “%(label)s”."), params={"label": label})
    target = clean_target(row["target"])
    if not label and not linked_id(target):
        raise ValidationError(_("Enter a label for “%(target)s”."), params={"target": target})
    return {"label": label, "target": target}


def clean_target(target: str, resolve_address: ResolveAddress = stored_nodes.resolve_address) -> str:
    """Validate the target of a link, and return it in its stored form: "node:ID", a path, or the URL of another site.

    Args:
        target: The target as typed.
        resolve_address: A function that returns the public page at a URL. To check many targets with few queries, pass
            a function that has read the pages before.

    Raises:
        ValidationError: The target isn't a valid URL, or no public page has it.
    """
    MaxLengthValidator(LONGEST_TARGET)(target)
    ProhibitNullCharactersValidator()(target)
    if linked_id(target):
        return target
    # Browsers treat a backslash like a slash, so "/\\host" is a URL of another site.
    if target.startswith("/") and not target.startswith("//") and "\\" not in target:
        return _clean_path(target, resolve_address)
    try:
        if target.startswith(MAIL):
            validate_email(target.removeprefix(MAIL))
        else:
            URLValidator(schemes=["https", "http"])(target)
    except ValidationError as error:
        reason = _(
            "“%(target)s” isn't a valid URL. Start it with / for a page on this site, or with "
            "https:// for another site."
        )
        raise ValidationError(reason, params={"target": target}) from error
    return target


def _clean_path(path: str, resolve_address: ResolveAddress) -> str:
    """Return the stored form of a path on this site.

    Raise ValidationError if the path could be the URL of a page, but no public page has this URL.
    """
    if "?" not in path and "#" not in path:
        if (node := resolve_address(path)) and not node.content_type.is_file:
            return f"{NODE_PREFIX}{node.pk}"
        try:
            is_page = resolve(path).url_name == "node"
        except Resolver404:
            is_page = True
        if is_page and not node and not routes.find(tree.current(), unquote(path).strip("/"), now()):
            raise ValidationError(_("No public page has the URL “%(path)s”."), params={"path": path})
    return path


def _time_zones() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in sorted(zoneinfo.available_timezones())]


FIELDS: dict[str, forms.Field] = {
    "name": LineField(max_length=100),
    "tagline": forms.CharField(max_length=200, required=False),
    "language": forms.ChoiceField(choices=settings.LANGUAGES),
    "time_zone": forms.ChoiceField(choices=_time_zones),
    "posts_per_page": forms.IntegerField(min_value=1, max_value=100),
    "comment_policy": forms.ChoiceField(choices=stored_site.COMMENT_POLICIES),
    "comments_trust_after": forms.IntegerField(min_value=0, max_value=MAX_TRUST_AFTER),
    "comments_close_after_days": forms.IntegerField(min_value=0, max_value=36_500),
    "comment_likes": forms.BooleanField(required=False),
    "share_picture": ReferenceField(photos=True, required=False),
    "theme": forms.ChoiceField(choices=THEMES),
    "logo": ReferenceField(photos=True, required=False),
    "logo_dark": ReferenceField(photos=True, required=False),
    "accent": AccentField(required=False),
    "fonts": forms.ChoiceField(
        choices=[(name, label) for name, (label, _properties) in look.FONTS.items()], required=False
    ),
    "home": forms.ChoiceField(choices=stored_site.HOMES),
    "menu": LinkRowsField(),
    "footer": forms.CharField(required=False, max_length=500),
    "footer_links": LinkRowsField(),
    "social": LinkRowsField(),
}
