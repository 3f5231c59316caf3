"""The settings of the site's look: their form fields, and swatches of the accent in light and dark colours."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from editor.fields import ReferenceField
from editor.link_rows import LinkRowsField
from marginalia.mongo.clock import now
from nodes.models import look, stored_site, tree
from nodes.selectors import stored_nodes
from reader.selectors.menus import MenuLink


class AccentField(forms.CharField):
    """A colour. The theme's own accent is stored as ""."""

    widget = forms.TextInput({"type": "color"})

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
            raise ValidationError(_("Write the colour as # and six digits, such as #1f4e8c."))
        nearest = look.readable(value, look.LIGHT, look.CONTRAST)
        reason = _(
            "Links in %(colour)s are hard to read: the contrast on the page is %(contrast)s : 1, and must be at least 4.5 : 1. "
            "The nearest colour that can be read is %(nearest)s."
        )
        params = {"colour": value, "contrast": f"{look.lowest_contrast(value):.1f}", "nearest": nearest}
        raise ValidationError(reason, params=params)


@dataclass(frozen=True)
class Swatch:
    """An accent on the two surfaces of a colour scheme."""

    label: Any
    paper: str
    raised: str
    accent: str

    @property
    def contrast(self) -> str:
        """Return the lower contrast of the two surfaces in words: "4.5 : 1"."""
        return f"{look.lowest_contrast(self.accent, (self.paper, self.raised)):.1f} : 1"


def swatches(accent: str) -> list[Swatch]:
    """Return the swatches of an accent in both schemes. "" means the theme's own accent.

    An accent without enough contrast is replaced by the nearest colour that has enough.
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


class LookForm(forms.Form):
    """The settings of the site's look."""

    theme = forms.ChoiceField(label=gettext_lazy("Theme"), choices=stored_site.THEMES)
    logo = ReferenceField(
        photos=True,
        label=gettext_lazy("Logo"),
        required=False,
        help_text=gettext_lazy(
            "The address of a photo of this site, best a PNG or WebP without a background. It stands in place of the name. "
            "The icons of tabs and home screens are made of it."
        ),
    )
    logo_dark = ReferenceField(
        photos=True,
        label=gettext_lazy("Logo on dark"),
        required=False,
        help_text=gettext_lazy("For readers with dark colours. Without it they see the logo above."),
    )
    accent = AccentField(
        label=gettext_lazy("Accent colour"),
        required=False,
        help_text=gettext_lazy("For links and marks. The colour for dark screens is made from it."),
    )
    fonts = forms.ChoiceField(
        label=gettext_lazy("Fonts"),
        choices=[(name, label) for name, (label, _properties) in look.FONTS.items()],
        required=False,
    )
    home = forms.ChoiceField(
        label=gettext_lazy("Home page"),
        choices=stored_site.HOMES,
        help_text=gettext_lazy("A page at the top level with the address “home” stands in its place."),
    )
    menu = LinkRowsField(
        label=gettext_lazy("Menu"),
        default_links=_sections,
        help_text=gettext_lazy(
            "Empty a row to leave it out. Without a label the title is shown. Addresses elsewhere begin with https://. "
            "Empty all rows to show the sections again."
        ),
    )
    footer = forms.CharField(
        label=gettext_lazy("Footer text"),
        required=False,
        max_length=500,
        widget=forms.Textarea({"rows": 3}),
        help_text=gettext_lazy("Plain text. Without it the name and the tagline stand there."),
    )
    footer_links = LinkRowsField(label=gettext_lazy("Footer links"), default_links=_pages)
    social = LinkRowsField(
        label=gettext_lazy("Social links"),
        help_text=gettext_lazy("Your profiles elsewhere, each with a label. Mastodon can verify them (rel=me)."),
    )
