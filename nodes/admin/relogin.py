"""A form sent after its log-in had expired: log in again on the spot, and the form comes back with all that was typed."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from nodes.admin.editing import KEPT
from nodes.admin.site import page

View = Callable[..., HttpResponse]
USERNAME, PASSWORD = "_username", "_password"
# What is not sent on: secrets, and the button, as nothing is saved before the text was seen again.
NOT_KEPT = frozenset(
    {USERNAME, PASSWORD, "csrfmiddlewaretoken", "_save", "_continue", "_draft", "_publish", "_preview"}
)

# The forms in which somebody types for long, by the names of their addresses. Each honours KEPT: it shows what was sent and
# saves nothing. What is done by one press is not among them: it is not done by logging in, and no page offers it again.
FORMS = frozenset({"nodes_node_add", "nodes_node_change", "nodes_photo_change"})


def guarded(view: View, name: str) -> View:
    """Return the view as the admin guards it; one of FORMS keeps what somebody typed who is not logged in (any more)."""
    return _keeping_text(view) if name in FORMS else admin.site.admin_view(view)


def _keeping_text(view: View) -> View:
    plain = admin.site.admin_view(view)

    @sensitive_post_parameters(PASSWORD)
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or admin.site.has_permission(request):
            return plain(request, *args, **kwargs)
        kept = kept_fields(request.POST)
        form = None
        if PASSWORD in request.POST:
            given = {"username": request.POST.get(USERNAME, ""), "password": request.POST[PASSWORD]}
            form = AdminAuthenticationForm(request, data=given)
            if form.is_valid():
                login(request, form.get_user())
                request.POST = kept
                return plain(request, *args, **kwargs)
        return page(request, "relogin", _("Log in again"), form=form, kept=kept.lists(), status=403)

    return wrapper


def kept_fields(posted: QueryDict) -> QueryDict:
    """Return what was typed, to be shown again and not saved yet."""
    kept = posted.copy()
    for name in NOT_KEPT & kept.keys():
        del kept[name]
    kept[KEPT] = "1"
    return kept


def show_again(request: HttpRequest) -> HttpResponse | None:
    """Answer one of FORMS whose security token is too old, as after another log-in: one press shows it again.

    Saves nothing, as the form may be forged; nor does that press. None for all else.
    """
    match = request.resolver_match
    if match is None or match.namespace != "admin" or match.url_name not in FORMS or request.method != "POST":
        return None
    return page(request, "show_again", _("This form is too old"), kept=kept_fields(request.POST).lists(), status=403)
