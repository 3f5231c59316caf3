"""Form fields that each edit one path under a node's `metadata`. Unchanged values are returned as stored."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from editor import choosing
from marginalia.markup.inserts.widgets import ChooserInput
from marginalia.mongo.clock import now
from nodes import form_fields
from nodes.models import dependencies, tree, version_cache
from nodes.selectors import due, picking, stored_nodes
from nodes.selectors.listing import is_public
from nodes.services.editing import NEVER
from nodes.times import check_year

# Maximum number of posts to choose from if JavaScript is unavailable.
OFFERED = 100


def accept_long_input(fields: Iterable[forms.Field]) -> None:
    """Remove `maxlength` from the fields' widgets, because browsers would silently truncate pasted text.

    Instead, the fields reject text that is too long.
    """
    for field in fields:
        field.widget.attrs.pop("maxlength", None)


class TagsSeenField(forms.CharField):
    """A hidden input with the tags that the form was rendered with. Submitted tags are compared with these tags."""

    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        try:
            seen = json.loads(super().clean(value) or "[]")
        except (ValueError, RecursionError) as error:
            raise ValidationError(forms.JSONField.default_error_messages["invalid"]) from error
        return [tag for tag in seen if isinstance(tag, str)] if isinstance(seen, list) else []


class VersionField(forms.IntegerField):
    """A field with the version of the content type that the form was rendered for.

    If the form is shown again, the field contains the current version.
    """

    widget = forms.HiddenInput

    def bound_data(self, data: Any, initial: Any) -> Any:
        return initial


# The formats that browsers accept as values of date and time inputs. The time inputs of a MomentField don't show seconds,
# but seconds are kept if the time isn't changed.
_DAY = "%Y-%m-%d"
_MINUTES = "%H:%M"


class DayInput(forms.DateInput):
    """A date input with the browser's date picker."""

    input_type = "date"

    def __init__(self, attrs: Any = None) -> None:
        super().__init__(attrs, format=_DAY)


class TimeInput(forms.TimeInput):
    """A time input with the browser's time picker."""

    input_type = "time"

    def __init__(self, attrs: Any = None) -> None:
        super().__init__(attrs, format="%H:%M:%S")


class MomentInput(forms.SplitDateTimeWidget):
    """A date input and a time input, each with a label, and the name of the time zone."""

    template_name = "editor/moment.html"

    def __init__(self, attrs: Any = None) -> None:
        super().__init__(attrs, _DAY, _MINUTES, {"type": "date"}, {"type": "time"})

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        zone_id = f"{context['widget']['attrs'].get('id', name)}_zone"
        context["widget"]["subwidgets"][1]["attrs"]["aria-describedby"] = zone_id
        return {**context, "zone": timezone.get_current_timezone(), "zone_id": zone_id}


class MomentField(forms.SplitDateTimeField):
    """A form field for a date and time in the site's time zone.

    An unchanged time isn't parsed, because times are ambiguous in the hour that is repeated when clocks go back.
    Instead, the field returns `seen`, which is exact to the millisecond.

    Attributes:
        seen: The time that the form was rendered with.
    """

    widget = MomentInput
    hidden_widget = partial(forms.SplitHiddenDateTimeWidget, date_format=_DAY, time_format=_MINUTES)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: datetime | None = None
        for widget, part in zip(self.widget.widgets, (_("date"), _("time")), strict=True):
            widget.attrs["aria-label"] = format_lazy("{}: {}", self.label, part)

    def clean(self, value: Any) -> datetime | None:
        if self.seen is not None and list(value or ()) == self._rendered(self.seen):
            return self.seen
        cleaned: datetime | None = super().clean(value)
        if cleaned:
            check_year(cleaned)
        return cleaned

    def _rendered(self, moment: datetime) -> list[str]:
        parts = zip(self.widget.widgets, self.widget.decompress(moment), strict=True)
        return [widget.format_value(part) for widget, part in parts]


class EndField(MomentField):
    """A form field for the time when a node expires. If the field is empty, the node never expires (NEVER)."""

    def prepare_value(self, value: Any) -> Any:
        return None if value == NEVER else value

    def clean(self, value: Any) -> datetime:
        return super().clean(value) or NEVER


class ReferenceInput(ChooserInput):
    """An input for a page's or photo's URL, with autocompletion by title. The chosen target is shown below the input.

    If JavaScript is unavailable, the input offers some public pages or photos.

    Attributes:
        alt_from: The name of the form's field that contains the alternative text of uploaded photos. If it is empty, a
            dialog asks for this text.
    """

    def __init__(self, *, photos: bool, alt_from: str = "") -> None:
        super().__init__("photo" if photos else "node")
        self.photos = photos
        self.alt_from = alt_from
        # sees_all: whether the editor can see the titles of hidden pages and why these pages are hidden. sees_photos:
        # whether the editor can see the titles of hidden photos.
        self.sees_all = self.sees_photos = False

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        list_id = f"{(attrs or {}).get('id', name)}_list"
        context = super().get_context(name, value, {**(attrs or {}), "list": list_id})
        return {**context, "chosen": self.chosen(value), "offered": self._offered()}

    def chosen(self, value: Any) -> choosing.Choice | None:
        """Return the choice for the target of a value, or None if there is no target.

        If readers can't see the target, the choice's note explains why. Choices for public URLs are cached in this
        process.
        """
        if not value:
            return None
        _scheme, colon, name = str(value).partition(":")
        if colon and ObjectId.is_valid(name):
            key = ObjectId(name)
            return choosing.make_hidden_choice(key, str(value), sees_all=self.sees_all, sees_photos=self.sees_photos)
        moment = now()

        def read() -> tuple[choosing.Choice | None, datetime | None]:
            # A choice contains only data that lists also show, so the `lists` version is enough to invalidate it. The
            # dependencies recorded in this block are discarded.
            with dependencies.recorded():
                target = stored_nodes.resolve_address(str(value))
            return choosing.make_choice(target) if target else None, due.next_due(moment)

        return version_cache.get_or_set(("chosen", str(value)), moment, read)

    def _offered(self) -> tuple[tuple[str, str], ...]:
        """Return the (URL, title) of each offered target.

        The targets are cached, because a form may have many such inputs.
        """

        def read() -> tuple[tuple[tuple[str, str], ...], datetime | None]:
            return tuple(_public_targets(moment, photos=self.photos)), due.next_due(moment)

        moment = now()
        return version_cache.get_or_set(("offered", self.photos), moment, read)


def _public_targets(moment: datetime, *, photos: bool) -> Iterator[tuple[str, str]]:
    """Yield the (URL, title) of public photos, or of public sections and the newest posts."""
    sections = tree.current()
    if photos:
        nodes = [photo for photo in picking.photos("")[0] if is_public(photo, sections, moment)]
    else:
        live_ids = sections.live_ids(moment)
        live = [sections.sections[section_id] for section_id in live_ids if section_id is not None]
        yield from ((sections.url(section.parent_id, section.slug), section.title) for section in live)
        nodes = list(stored_nodes.newest_entries(sections, moment, size=OFFERED).nodes)
    yield from ((node.get_absolute_url(), node.metadata.title) for node in nodes)


class ReferenceField(form_fields.ReferenceField):
    """A field for a node or photo, with autocompletion by title."""

    def __init__(self, *, photos: bool, **kwargs: Any) -> None:
        kwargs["help_text"] = kwargs.get("help_text") or _("Enter the URL of a page or photo on this site.")
        super().__init__(photos=photos, widget=ReferenceInput(photos=photos), **kwargs)


class AuthorWidget(forms.MultiWidget):
    """A select element for the account, and an input for the name that readers see."""

    template_name = "editor/author.html"

    def __init__(self) -> None:
        account = forms.Select({"aria-label": _("Account")})
        super().__init__({"account": account, "name": AdminTextInputWidget({"aria-label": _("Name shown to readers")})})

    def decompress(self, value: Any) -> list[Any]:
        return [str(value["_id"] or ""), value["name"]] if value else ["", ""]


class HiddenAuthorWidget(AuthorWidget):
    """Hidden inputs for the author's account and name."""

    template_name = "django/forms/widgets/multiple_hidden.html"

    def __init__(self) -> None:
        forms.MultiWidget.__init__(self, {"account": forms.HiddenInput(), "name": forms.HiddenInput()})


class AuthorField(form_fields.AuthorField):
    """A field for the author, with a select element for the account and an input for the name."""

    widget = AuthorWidget
    hidden_widget = HiddenAuthorWidget

    def __init__(self, seen: dict[str, Any] | None, **kwargs: Any) -> None:
        super().__init__(seen, **kwargs)
        self.widget.widgets[0].choices = self.fields[0].choices
