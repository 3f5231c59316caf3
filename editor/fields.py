"""Form fields for a node's fields. Each has one path under `metadata`, and returns an unchanged value exactly as stored."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime, AdminTextInputWidget
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from editor import choosing
from marginalia.markup.characters import is_blank
from marginalia.markup.inserts.widgets import ChooserInput
from marginalia.mongo.clock import now
from nodes.access import TOP, section_choices
from nodes.models import dependencies, tree, version_cache
from nodes.selectors import due, picking, stored_nodes
from nodes.selectors.listing import is_public
from nodes.services.editing import NEVER

# Years in which every moment has a date in every time zone.
FIRST_YEAR, LAST_YEAR = 1000, 9998
# Maximum posts offered to choose from without JavaScript.
OFFERED = 100
YEARS = {"first": FIRST_YEAR, "last": LAST_YEAR}


def accept_long_input(fields: Iterable[forms.Field]) -> None:
    """Remove `maxlength` from the widgets of fields, because browsers truncate pasted text silently.

    The fields refuse text that is too long instead.
    """
    for field in fields:
        field.widget.attrs.pop("maxlength", None)


class TextField(forms.CharField):
    """A text exactly as typed, with line ends converted to "\\n"."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n").replace("\r", "\n")


class LineField(forms.CharField):
    """A text on one line. A blank text becomes ""."""

    def to_python(self, value: Any) -> str:
        line = str(super().to_python(value))
        return "" if is_blank(line) else line


class TitleField(LineField):
    """A title on one line. Its textarea wraps long titles."""

    widget = forms.Textarea({"class": "vTextField", "rows": 1, "placeholder": _("Title")})

    def to_python(self, value: Any) -> str:
        return re.sub(r"\s*[\r\n]\s*", " ", super().to_python(value))


class TagsSeenField(forms.CharField):
    """The hidden tags that a form was rendered with. The submitted tags are compared with them."""

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
    """The version of the content type that a form was rendered for. A form that is shown again has the present version."""

    widget = forms.HiddenInput

    def bound_data(self, data: Any, initial: Any) -> Any:
        return initial


# The format of times. An unchanged time keeps its seconds.
_MINUTES = "%H:%M"


class MomentInput(AdminSplitDateTime):
    """A date input and a time input, each with a label."""

    template_name = "editor/moment.html"

    def __init__(self, attrs: Any = None) -> None:
        super().__init__(attrs)
        self.widgets[1].format = _MINUTES


class MomentField(forms.SplitDateTimeField):
    """A time in the site's time zone.

    `seen`: the time that the form was rendered with. An unchanged time is returned as `seen`, to the millisecond. It is not
    parsed, because the hour that is repeated when clocks go back is ambiguous.
    """

    widget = MomentInput
    hidden_widget = partial(forms.SplitHiddenDateTimeWidget, time_format=_MINUTES)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: datetime | None = None
        for widget, part in zip(self.widget.widgets, (_("date"), _("time")), strict=True):
            widget.attrs["aria-label"] = format_lazy("{}: {}", self.label, part)

    def clean(self, value: Any) -> datetime | None:
        if self.seen is not None and list(value or ()) == self._rendered(self.seen):
            return self.seen
        cleaned: datetime | None = super().clean(value)
        if cleaned and not FIRST_YEAR <= cleaned.year <= LAST_YEAR:
            raise ValidationError(_("Choose a year from %(first)d to %(last)d."), params=YEARS)
        return cleaned

    def _rendered(self, moment: datetime) -> list[str]:
        parts = zip(self.widget.widgets, self.widget.decompress(moment), strict=True)
        return [widget.format_value(part) for widget, part in parts]


class EndField(MomentField):
    """The time at which a node expires. An empty field means never, which is stored as NEVER."""

    def prepare_value(self, value: Any) -> Any:
        return None if value == NEVER else value

    def clean(self, value: Any) -> datetime:
        return super().clean(value) or NEVER


class SectionField(forms.ChoiceField):
    """The section of a node. The choices are sections that accept the node's type and in which the user can create nodes."""

    def __init__(self, user: Any, type: str, seen: ObjectId | None, **kwargs: Any) -> None:
        super().__init__(choices=section_choices(user, type, seen), **kwargs)

    def prepare_value(self, value: Any) -> str:
        return TOP if value is None else str(value)

    def clean(self, value: Any) -> ObjectId | None:
        chosen = super().clean(value)
        return None if chosen == TOP else ObjectId(chosen)


class ReferenceInput(ChooserInput):
    """An input for an address, with completion by title, and its target shown below.

    Without JavaScript, the input offers some public pages or photos.
    """

    def __init__(self, *, photos: bool) -> None:
        super().__init__("photo" if photos else "node")
        self.photos = photos
        # Whether the editor can see the titles of hidden pages and why they are hidden, and the titles of hidden photos.
        self.sees_all = self.sees_photos = False

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        list_id = f"{(attrs or {}).get('id', name)}_list"
        context = super().get_context(name, value, {**(attrs or {}), "list": list_id})
        return {**context, "chosen": self.chosen(value), "offered": self._offered()}

    def chosen(self, value: Any) -> choosing.Choice | None:
        """Return the target of a value as a choice, or None. The note of a choice says why readers cannot see it.

        The process caches choices of public addresses.
        """
        if not value:
            return None
        _scheme, colon, name = str(value).partition(":")
        if colon and ObjectId.is_valid(name):
            key = ObjectId(name)
            return choosing.make_hidden_choice(key, str(value), sees_all=self.sees_all, sees_photos=self.sees_photos)
        moment = now()

        def read() -> tuple[choosing.Choice | None, datetime | None]:
            # A choice shows no more of its target than lists do, so the dependencies noted in this block are dropped.
            with dependencies.recorded():
                target = choosing.resolve_address(str(value))
            return choosing.make_choice(target) if target else None, due.next_due(moment)

        return version_cache.get_or_set(("chosen", str(value)), moment, read)

    def _offered(self) -> tuple[tuple[str, str], ...]:
        """Return (address, title) of each offered target. The process caches them, because a form may have many such inputs."""

        def read() -> tuple[tuple[tuple[str, str], ...], datetime | None]:
            return tuple(_public_targets(moment, photos=self.photos)), due.next_due(moment)

        moment = now()
        return version_cache.get_or_set(("offered", self.photos), moment, read)


def _public_targets(moment: datetime, *, photos: bool) -> Iterator[tuple[str, str]]:
    """Yield (address, title) of public photos, or of public sections and the newest posts."""
    sections = tree.current()
    if photos:
        nodes = [photo for photo in picking.photos("") if is_public(photo, sections, moment)]
    else:
        live_ids = sections.live_ids(moment)
        live = [sections.sections[section_id] for section_id in live_ids if section_id is not None]
        yield from ((sections.url(section.parent_id, section.slug), section.title) for section in live)
        nodes = list(stored_nodes.newest_entries(sections, moment, size=OFFERED).nodes)
    yield from ((node.get_absolute_url(), node.metadata.title) for node in nodes)


class ReferenceField(forms.CharField):
    """A node or photo, typed as its address or id. Targets that readers cannot see are shown as `node:ID` or `photo:ID`."""

    def __init__(self, *, photos: bool, **kwargs: Any) -> None:
        self.photos = photos
        self.prefix = "photo:" if photos else "node:"
        kwargs["help_text"] = kwargs.get("help_text") or _("Its address on this site.")
        super().__init__(max_length=1_000, widget=ReferenceInput(photos=photos), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return format_reference(value, photos=self.photos) if isinstance(value, ObjectId) else value

    def clean(self, value: Any) -> ObjectId | None:
        typed = str(super().clean(value))
        if not typed:
            return None
        if ObjectId.is_valid(key := typed.removeprefix(self.prefix)):
            return ObjectId(key)
        target = choosing.resolve_address(typed)
        if target is None or target.content_type.is_file != self.photos:
            raise ValidationError(
                _("No public photo has this address.") if self.photos else _("No public page has this address.")
            )
        target_id: ObjectId = target.pk
        return target_id


def format_reference(node_id: ObjectId, *, photos: bool) -> str:
    """Return a reference as editors read it: the address of its target if readers can see it, otherwise its id."""
    target = stored_nodes.live_by_id(tree.current(), node_id, now())
    return unquote(target.get_absolute_url()) if target else f"{'photo' if photos else 'node'}:{node_id}"


class AuthorWidget(forms.MultiWidget):
    """A select for an account, and an input for the name that readers see."""

    template_name = "editor/author.html"

    def __init__(self) -> None:
        account = forms.Select({"aria-label": _("Account")})
        super().__init__({"account": account, "name": AdminTextInputWidget({"aria-label": _("Name that readers see")})})

    def decompress(self, value: Any) -> list[Any]:
        return [str(value["_id"] or ""), value["name"]] if value else ["", ""]


class HiddenAuthorWidget(AuthorWidget):
    """Hidden inputs for the same two values."""

    template_name = "django/forms/widgets/multiple_hidden.html"

    def __init__(self) -> None:
        forms.MultiWidget.__init__(self, {"account": forms.HiddenInput(), "name": forms.HiddenInput()})


class AuthorField(forms.MultiValueField):
    """The author: an account that can log in to the admin, or none, and the name that readers see."""

    widget = AuthorWidget
    hidden_widget = HiddenAuthorWidget

    def __init__(self, seen: dict[str, Any] | None, **kwargs: Any) -> None:
        self.accounts = {"": str(_("No account"))}
        if seen and seen["_id"]:
            self.accounts[str(seen["_id"])] = seen["name"]
        staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True).order_by("username")
        self.accounts.update({str(user.pk): user.get_full_name() or user.get_username() for user in staff})
        account = forms.ChoiceField(choices=list(self.accounts.items()), required=False)
        name = LineField(max_length=200, required=False)
        super().__init__((account, name), require_all_fields=False, **kwargs)
        self.widget.widgets[0].choices = account.choices

    def compress(self, values: Any) -> dict[str, Any] | None:
        if not values:
            return None
        account, name = values
        # Readers see the name. If an account's name is its email address, only the part before the @ is used.
        name = name or (self.accounts[account].partition("@")[0] if account else "")
        if not name:
            raise ValidationError(_("Choose an account, or type a name."))
        return {"_id": ObjectId(account) if account else None, "name": name}
