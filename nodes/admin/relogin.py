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

# The pages with a form over a node or a photo, by the beginnings of their names.
_FORMS = ("admin:nodes_node_", "admin:nodes_photo_change")


def keeping_text(view: View) -> View:
    """Return the view as the admin guards it, but for forms that are sent by somebody not logged in (any more)."""
    guarded = admin.site.admin_view(view)

    @sensitive_post_parameters(PASSWORD)
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or admin.site.has_permission(request):
            return guarded(request, *args, **kwargs)
        kept = kept_fields(request.POST)
        form = None
        if PASSWORD in request.POST:
            given = {"username": request.POST.get(USERNAME, ""), "password": request.POST[PASSWORD]}
            form = AdminAuthenticationForm(request, data=given)
            if form.is_valid():
                login(request, form.get_user())
                request.POST = kept
                return guarded(request, *args, **kwargs)
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
    """Answer a form over a node or photo whose security token is too old, as after another log-in: one press shows it again.

    Saves nothing, as the form may be forged. None for other forms.
    """
    match = request.resolver_match
    if match is None or not match.view_name.startswith(_FORMS) or request.method != "POST":
        return None
    return page(request, "show_again", _("This form is too old"), kept=kept_fields(request.POST).lists(), status=403)
