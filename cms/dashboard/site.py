"""The admin under the site's own name: its start page, and the pages that belong to no app."""

from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from api import admin
from cms.dashboard import navigation, start
from marginalia.mongo import jobs
from nodes import access
from nodes.models import stored_site

# Failed jobs that are listed.
SHOWN = 100


class Site(AdminSite):
    """The admin; its pages say whose it is."""

    index_title = gettext_lazy("Dashboard")
    index_template = "admin/start.html"

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        name = stored_site.current().settings.name
        return {**super().each_context(request), "site_header": name, "site_title": name}

    def get_urls(self) -> list[URLPattern | URLResolver]:
        # Django's redirect to the page of any object asks for no right: it tells staff the address of others' drafts.
        checked = [route for route in super().get_urls() if getattr(route, "name", "") != "view_on_site"]
        pages = [("jobs/", self.jobs, "jobs"), ("tokens/", self.tokens, "tokens")]
        return [*(path(route, self.admin_view(view), name=name) for route, view, name in pages), *checked]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super().get_app_list(request, app_label)
        return found if app_label else navigation.grouped(found, request.user)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show what concerns the user first, and everything else below it."""
        return super().index(request, {**start.context(request.user), **(extra_context or {})})

    def jobs(self, request: HttpRequest) -> HttpResponse:
        """List the jobs that failed for good; let them be tried anew."""
        return _jobs(request, self.each_context(request))

    def tokens(self, request: HttpRequest) -> HttpResponse:
        """List the tokens of the API, make and revoke them."""
        return admin.page(request, self.each_context(request))


@require_http_methods(["GET", "HEAD", "POST"])
def _jobs(request: HttpRequest, shared: dict[str, Any]) -> HttpResponse:
    if not access.may_set_up(request.user):
        raise PermissionDenied
    if request.method == "POST":
        again = jobs.retry_failures()
        told = ngettext("%(n)d job is tried again.", "%(n)d jobs are tried again.", again) % {"n": again}
        messages.success(request, told)
        return HttpResponseRedirect(request.path)
    return TemplateResponse(
        request, "admin/jobs.html", {**shared, "title": _("Failed jobs"), "jobs": jobs.failures(SHOWN)}
    )
