"""The page with the site's settings. Concurrent changes are merged, unless they affect the same setting."""

import zoneinfo
from dataclasses import asdict, dataclass, replace
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from editor.fields import ReferenceInput, accept_long_input
from editor.link_rows import format_rows
from editor.look import LookForm, Swatch, setting_field, swatches
from editor.photos.forms import RowForm
from editor.sent_forms import SHOW_ONLY
from editor.site import render_page
from nodes import access
from nodes.errors import TooBusy
from nodes.form_fields import ReferenceField
from nodes.models import look, stored_site
from nodes.services.site import SettingsConflict, save_settings
from nodes.setting_fields import LinkRowsField
from reader.views import previews


@dataclass(frozen=True)
class Tab:
    """A tab of the settings page. `name` is its id and the fragment of its URL."""

    name: str
    label: Any
    fields: tuple[str, ...]


class SettingsForm(LookForm):
    """The form with all settings.

    The form also sends the initial value of each field, so that only changed settings are saved.
    """

    name = setting_field("name", label=gettext_lazy("Name"), widget=AdminTextInputWidget())
    tagline = setting_field("tagline", label=gettext_lazy("Tagline"), widget=AdminTextInputWidget())
    language = setting_field("language", label=gettext_lazy("Language"))
    time_zone = setting_field(
        "time_zone", label=gettext_lazy("Time zone"), help_text=gettext_lazy("Times in the admin use this time zone.")
    )
    posts_per_page = setting_field("posts_per_page", label=gettext_lazy("Posts per page"))
    comment_policy = setting_field("comment_policy", label=gettext_lazy("Comments"))
    comments_trust_after = setting_field(
        "comments_trust_after",
        label=gettext_lazy("First comments to approve"),
        help_text=gettext_lazy(
            "How many comments of each author need approval, if their first comments need approval."
        ),
    )
    comments_close_after_days = setting_field(
        "comments_close_after_days",
        label=gettext_lazy("Days until comments close"),
        help_text=gettext_lazy("Enter 0 to keep comments open."),
    )
    comment_likes = setting_field("comment_likes", label=gettext_lazy("Readers can like comments"))
    share_picture = setting_field(
        "share_picture",
        widget=ReferenceInput(photos=True),
        label=gettext_lazy("Link preview photo"),
        help_text=gettext_lazy(
            "Used for link previews of pages without a featured photo. Leave empty to show these previews without a "
            "photo."
        ),
    )

    TABS = (
        Tab("site", gettext_lazy("Site"), ("name", "tagline", "language", "time_zone", "share_picture")),
        Tab("appearance", gettext_lazy("Appearance"), ("theme", "logo", "logo_dark", "accent", "fonts")),
        Tab("navigation", gettext_lazy("Navigation"), ("menu", "footer", "footer_links", "social")),
        Tab(
            "reading",
            gettext_lazy("Posts and comments"),
            (
                "home",
                "posts_per_page",
                "comment_policy",
                "comments_trust_after",
                "comments_close_after_days",
                "comment_likes",
            ),
        ),
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, initial=asdict(stored_site.read().settings))
        accept_long_input(self.fields.values())
        for field in self.fields.values():
            field.show_hidden_initial = True

    def tabs(self) -> list[tuple[Tab, list[forms.BoundField], bool]]:
        """Return a tuple for each tab: the tab, its fields, and whether any of these fields has errors."""
        return [
            (tab, [self[name] for name in tab.fields], not self.errors.keys().isdisjoint(tab.fields))
            for tab in self.TABS
        ]

    def swatches(self) -> list[Swatch]:
        """Return swatches of the form's accent colour. If this colour is invalid, use the theme's own accent colour."""
        accent = str(self["accent"].value())
        return swatches(accent if look.is_colour(accent) else "")

    def seen(self) -> dict[str, Any]:
        """Return the value that each field was rendered with, or None if the submitted initial value is invalid."""
        return {name: self._seen(self[name]) for name in self.fields}

    def _seen(self, bound: forms.BoundField) -> Any:
        try:
            if isinstance(bound.field, ReferenceField):
                return bound.field.clean(self.data.get(bound.html_initial_name))
            return bound.field.to_python(self.data.get(bound.html_initial_name))
        except forms.ValidationError:
            return None

    def changes(self) -> dict[str, Any]:
        """Return the changed settings, keyed by name."""
        seen = self.seen()
        return {name: value for name, value in self.cleaned_data.items() if value != seen[name]}


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest) -> HttpResponse:
    """Show the settings. If the form was submitted, save the changed settings."""
    if not access.may_set_up(request.user):
        raise PermissionDenied
    form = SettingsForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and SHOW_ONLY not in request.POST and form.is_valid():
        try:
            save_settings(form.changes(), form.seen())
        except SettingsConflict as conflict:
            return _show(request, _add_conflicts(form, conflict), status=409)
        except TooBusy as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("The settings were saved."))
            return HttpResponseRedirect(request.path)
    return _show(request, form)


@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Show the home page with the settings from the form, without storing them.

    For scripts, the response is {"html": …, "swatches": …}, in which invalid settings have their stored values.
    """
    if not access.may_set_up(request.user):
        raise PermissionDenied
    form = SettingsForm(request.POST)
    is_valid = form.is_valid()
    if "application/json" in request.headers.get("Accept", ""):
        swatches_html = render_to_string("editor/_swatches.html", {"form": form})
        html = _front_page(request, form).content.decode()
        return JsonResponse({"html": html, "swatches": swatches_html})
    return _front_page(request, form) if is_valid else _show(request, form)


def _front_page(request: HttpRequest, form: SettingsForm) -> HttpResponse:
    """Return the home page with the valid settings from the form. They apply to the rest of this request."""
    stored = stored_site.read()
    site_settings = replace(stored.settings, **form.changes())
    # Without `versions`, this process doesn't cache anything that depends on the unsaved settings from the form.
    stored_site.begin_request(replace(stored, versions=None, settings=site_settings))
    with timezone.override(zoneinfo.ZoneInfo(site_settings.time_zone)), translation.override(site_settings.language):
        return previews.front_page(request)


def _add_conflicts(form: SettingsForm, conflict: SettingsConflict) -> SettingsForm:
    """Add an error with the other administrator's value to each conflicting field. Return the form.

    The form then contains these values as initial values, so saving the form again replaces the other administrator's
    values.
    """
    stored = asdict(stored_site.read().settings)
    data = form.data.copy()
    for name in conflict.names:
        reason = _("Another editor has changed this to “%(value)s”. Save again to replace it.")
        form.add_error(name, reason % {"value": _format(form.fields[name], stored[name])})
        data[form[name].html_initial_name] = stored[name]
    form.data = data
    return form


def _format(field: forms.Field, value: Any) -> Any:
    """Return a stored value of a field as text for a message."""
    if isinstance(field, LinkRowsField):
        return format_rows(value)
    if isinstance(field, forms.ChoiceField):
        return dict(field.choices).get(value, value)
    return field.prepare_value(value)


def _show(request: HttpRequest, form: SettingsForm, status: int = 200) -> HttpResponse:
    return render_page(request, "settings", _("Site settings"), form=form, new_photo=RowForm(), status=status)


class SettingsAdmin(admin.ModelAdmin):
    """The admin registration for the site's settings."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("", view(edit), name="nodes_sitesettings_changelist"),
            path("preview/", view(preview), name="nodes_sitesettings_preview"),
        ]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.may_set_up(request.user)

    has_view_permission = has_change_permission = lambda self, request, obj=None: self.has_module_permission(request)
    has_add_permission = has_delete_permission = lambda self, request, obj=None: False
