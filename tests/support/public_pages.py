"""Public pages as readers see them, and site settings that change the look of pages."""

import re
from typing import Any

from django.test import Client

from nodes.services.site import save_settings


def save_look(**settings: Any) -> None:
    """Save site settings. The stored values must still be the defaults."""
    defaults = {"accent": "", "fonts": "", "menu": [], "footer_links": [], "social": [], "footer": "", "home": "lead"}
    save_settings(settings, dict.fromkeys(settings, None) | defaults)


def get_html(client: Client, path: str = "/") -> str:
    """Return a page's HTML. The page must exist."""
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def requested_files(html: str) -> list[str]:
    """Return the URLs of the style sheets, icons and scripts that a page requests, in their order on the page."""
    return re.findall(r'<(?:link rel="(?:stylesheet|icon|apple-touch-icon)"|script)[^>]* (?:href|src)="([^"]+)"', html)
