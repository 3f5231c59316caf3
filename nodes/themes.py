"""The themes of the public site. The site settings and each section can choose one of them."""

from django.utils.translation import gettext_lazy as _

DOCUMENTATION = "documentation"
THEMES = (
    ("magazine", _("Magazine: menu at the top, one column of text")),
    (DOCUMENTATION, _("Documentation: list of the section's pages next to the text")),
)
