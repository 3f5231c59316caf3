"""The admin site, with the site's name, the Dashboard, and pages that don't belong to any app."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from api import admin
from cms.dashboard import index, navigation, searching
from cms.requests.errors import is_invalid_id
from editor import redirect_import, redirects, tags
from marginalia.tasks import queue, scheduling
from marginalia.tasks.backend import databases
from nodes import access
from nodes.models import stored_site
from transfer import views

# Maximum number of failed jobs that the page lists.
FAILED_JOBS = 100


class MarginaliaAdminSite(AdminSite):
    """Django's admin site, with the site's name from the settings on every page."""

    index_title = gettext_lazy("Dashboard")
    index_template = "admin/dashboard.html"

    # The rail replaces Django's sidebar.
    enable_nav_sidebar = False

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        name = stored_site.current().settings.name
        context = super().each_context(request)
        rail = SimpleLazyObject(lambda: navigation.rail(request, context["available_apps"]))
        return {**context, "site_header": name, "site_title": name, "rail": rail}

    def get_urls(self) -> list[URLPattern | URLResolver]:
        # Django's view_on_site redirects to an object without checking permissions, so it would reveal the URLs of
        # other people's drafts.
        routes = [route for route in super().get_urls() if getattr(route, "name", "") != "view_on_site"]
        pages = [
            ("jobs/", self.jobs, "jobs"),
            ("tokens/", self.tokens, "tokens"),
            ("search/", self.search, "search"),
            ("tags/", tags.tag_list, "tags"),
            ("tags/change/", tags.change, "tag_change"),
            ("redirects/", redirects.redirect_list, "redirects"),
            ("redirects/add/", redirects.add, "redirect_add"),
            ("redirects/change/", redirects.change, "redirect_change"),
            ("redirects/delete/", redirects.delete, "redirect_delete"),
            ("redirects/import/", redirect_import.import_csv, "redirect_import"),
            ("import/", views.import_list, "imports"),
            ("import/<objectid:import_id>/", views.show_import, "import"),
            ("import/<objectid:import_id>/pieces/<int:number>/", views.add_piece, "import_piece"),
            ("import/<objectid:import_id>/start/", views.start, "import_start"),
            ("import/<objectid:import_id>/delete/", views.delete, "import_delete"),
        ]
        return [*(path(route, self.admin_view(view), name=name) for route, view, name in pages), *routes]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a view as Django does. In addition, errors with status 403 and 404 are shown as pages of the admin.

        An invalid id is an error with status 404.
        """

        @wraps(view)
        def show_errors(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except PermissionDenied:
                return self._error_page(request, 403, _("Access denied"))
            except Http404:
                return self._error_page(request, 404, _("Page not found"))
            except ValidationError as error:
                if not is_invalid_id(error):
                    raise
                return self._error_page(request, 404, _("Page not found"))

        return super().admin_view(show_errors, cacheable)

    def _error_page(self, request: HttpRequest, status: int, title: str) -> HttpResponse:
        context = {**self.each_context(request), "title": title, "status": status}
        return TemplateResponse(request, "admin/error.html", context, status=status)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the Dashboard, which lists the user's tasks."""
        return super().index(request, {**index.context(request.user), **(extra_context or {})})

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the Dashboard. The rail replaces Django's list of an app's models."""
        return HttpResponseRedirect(reverse("admin:index"))

    def jobs(self, request: HttpRequest) -> HttpResponse:
        """List the scheduled tasks, and the jobs that failed permanently. A POST request retries these jobs."""
        return _jobs(request, self.each_context(request))

    def tokens(self, request: HttpRequest) -> HttpResponse:
        """List, create and revoke API tokens."""
        return admin.page(request, self.each_context(request))

    def search(self, request: HttpRequest) -> HttpResponse:
        """Show what the search finds for the ?q= parameter, as a page or, with ?part=1, as a part for the script."""
        return _search(request, self.each_context(request))


@require_safe
def _search(request: HttpRequest, shared: dict[str, Any]) -> HttpResponse:
    query = request.GET.get("q", "")[: searching.LONGEST].strip()
    template = "admin/_found.html" if "part" in request.GET else "admin/search.html"
    context = {"title": _("Search"), "query": query, "groups": searching.search(request.user, query, shared["rail"])}
    return TemplateResponse(request, template, {**shared, **context})


@require_http_methods(["GET", "HEAD", "POST"])
def _jobs(request: HttpRequest, shared: dict[str, Any]) -> HttpResponse:
    if not access.may_set_up(request.user):
        raise PermissionDenied
    if request.method == "POST":
        count = queue.retry_failures()
        message = ngettext("%(n)d job will be retried.", "%(n)d jobs will be retried.", count) % {"n": count}
        messages.success(request, message)
        return HttpResponseRedirect(request.path)
    context = {
        "title": _("Jobs"),
        "jobs": queue.failures(FAILED_JOBS),
        "scheduled": scheduling.list_scheduled(databases()),
    }
    return TemplateResponse(request, "admin/jobs.html", {**shared, **context})
