"""The settings for the site's look: form fields, and swatches of the accent colour in light and dark mode."""

import copy
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from editor.fields import ReferenceInput
from editor.link_rows import RowsInput
from marginalia.mongo.clock import now
from nodes import setting_fields
from nodes.models import look, tree
from nodes.selectors import stored_nodes
from nodes.themes import THEMES
from reader.selectors.menus import MenuLink


@dataclass(frozen=True)
class Swatch:
    """An accent colour on the two background colours of a colour scheme."""

    label: Any
    paper: str
    raised: str
    accent: str

    @property
    def contrast(self) -> str:
        """Return the lower of the two contrast ratios with the background colours as text, such as "4.5 : 1"."""
        return f"{look.lowest_contrast(self.accent, (self.paper, self.raised)):.1f} : 1"


def swatches(accent: str) -> list[Swatch]:
    """Return the swatches of an accent colour in light and dark mode.

    If `accent` is "", use the theme's own accent colour. If the contrast of the accent colour is too low, use the
    nearest colour that has sufficient contrast.
    """
    light = look.readable(accent or look.ACCENT, look.LIGHT, look.CONTRAST)
    return [
        Swatch(gettext_lazy("Light"), *look.LIGHT, light),
        Swatch(gettext_lazy("Dark"), *look.DARK, look.in_dark(light)),
    ]


def _sections() -> list[MenuLink]:
    sections = tree.current().live_children(None, now())
    return [MenuLink(section.title, section.url, section.id) for section in sections]


def _pages() -> list[MenuLink]:
    sections = tree.current()
    return [MenuLink(title, sections.url(None, slug)) for title, slug in stored_nodes.links_at_top(now())]


def setting_field(name: str, label: Any, help_text: Any = "", widget: forms.Widget | None = None) -> forms.Field:
    """Return the form field that validates the setting `name`, with a label and a widget for the admin."""
    field = copy.deepcopy(setting_fields.FIELDS[name])
    field.label = label
    field.help_text = help_text
    if widget is not None:
        widget.is_required = field.required
        widget.attrs.update(field.widget_attrs(widget))
        field.widget = widget
    return field


class ThemeInput(forms.RadioSelect):
    """Radio buttons for the theme. Each theme has a picture, `static/editor/themes/NAME.webp`."""

    template_name = "editor/themes.html"


class LookForm(forms.Form):
    """The form with the settings for the site's look."""

    theme = setting_field("theme", label=gettext_lazy("Theme"), widget=ThemeInput(choices=THEMES))
    logo = setting_field(
        "logo",
        widget=ReferenceInput(photos=True, alt_from="name"),
        label=gettext_lazy("Logo"),
        help_text=gettext_lazy(
            "Ideally a PNG or WebP with a transparent background. The logo replaces the site's name and is used for "
            "icons. Leave empty to show the name."
        ),
    )
    logo_dark = setting_field(
        "logo_dark",
        widget=ReferenceInput(photos=True, alt_from="name"),
        label=gettext_lazy("Logo for dark mode"),
        help_text=gettext_lazy("Shown in dark mode. Leave empty to use the logo above."),
    )
    accent = setting_field(
        "accent",
        widget=forms.TextInput({"type": "color"}),
        label=gettext_lazy("Accent colour"),
        help_text=gettext_lazy("Used for links and highlights. The colour for dark mode is derived from this colour."),
    )
    fonts = setting_field(
        "fonts",
        label=gettext_lazy("Fonts"),
    )
    home = setting_field(
        "home",
        label=gettext_lazy("Home page"),
        help_text=gettext_lazy("A page at the top level with the slug “home” replaces this list."),
    )
    menu = setting_field(
        "menu",
        label=gettext_lazy("Menu"),
        widget=RowsInput(_sections),
        help_text=gettext_lazy(
            "Enter a page on this site, or a URL that begins with https://. If you leave a label empty, the page's "
            "title is shown. If all rows are empty, the menu shows the sections."
        ),
    )
    footer = setting_field(
        "footer",
        label=gettext_lazy("Footer text"),
        widget=forms.Textarea({"rows": 3}),
        help_text=gettext_lazy("Plain text. Leave empty to show the name and the tagline."),
    )
    footer_links = setting_field("footer_links", label=gettext_lazy("Footer links"), widget=RowsInput(_pages))
    social = setting_field(
        "social",
        widget=RowsInput(),
        label=gettext_lazy("Social links"),
        help_text=gettext_lazy("Your profiles on other sites, each with a label. Mastodon can verify them (rel=me)."),
    )
