"""The admin under the site's own name."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from nodes.selectors import site


class Site(AdminSite):
    """The admin; its pages say whose it is."""

    index_title = _("What is there to do")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        name = site.current().settings.name
        return {**super().each_context(request), "site_header": name, "site_title": name}
