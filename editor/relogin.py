"""A form sent after its log-in had expired: log in again on the spot, and the form comes back with all that was typed."""

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from editor.sent_forms import KEPT
from editor.site import page

USERNAME, PASSWORD = "_username", "_password"
# What is not sent on: secrets, and the button, as nothing is saved before the text was seen again.
NOT_KEPT = frozenset(
    {USERNAME, PASSWORD, "csrfmiddlewaretoken", "_save", "_continue", "_draft", "_publish", "_preview"}
)

# The forms in which editors type for long, by the names of their addresses; for a page with other forms beside, the field that
# only this one has. Each honours KEPT: it shows what was sent and does nothing. What is done by one press is not among them:
# it is not done by logging in, and no page offers it again.
FORMS: dict[str, str] = {
    "nodes_node_add": "",
    "nodes_node_change": "",
    "nodes_photo_change": "",
    "nodes_photo_describe": "",
    "nodes_sitesettings_changelist": "",
}


def log_in_again(request: HttpRequest) -> HttpResponse | None:
    """Answer one of FORMS that was sent without being logged in (any more): asks for the password, keeps what was typed.

    With the right password it logs in and returns None, as for all else: the view shows what was sent and saves nothing.
    """
    if not is_form_sent(request) or admin.site.has_permission(request):
        return None
    # What error reports leave out.
    request.sensitive_post_parameters = [PASSWORD]
    kept = kept_fields(request.POST)
    form = None
    if PASSWORD in request.POST:
        given = {"username": request.POST.get(USERNAME, ""), "password": request.POST[PASSWORD]}
        form = AdminAuthenticationForm(request, data=given)
        if form.is_valid():
            login(request, form.get_user())
            request.POST = kept
            return None
    return _ask_for_password(request, form)


def _ask_for_password(request: HttpRequest, form: AdminAuthenticationForm | None = None) -> HttpResponse:
    kept = kept_fields(request.POST)
    response = page(request, "relogin", _("Log in again"), form=form, kept=kept.lists(), status=403)
    add_never_cache_headers(response)
    return response


def is_form_sent(request: HttpRequest) -> bool:
    """Return whether a request sends one of FORMS."""
    match = request.resolver_match
    if match is None or match.namespace != "admin" or match.url_name not in FORMS or request.method != "POST":
        return False
    own = FORMS[match.url_name]
    return not own or own in request.POST


def kept_fields(posted: QueryDict) -> QueryDict:
    """Return what was typed, to be shown again and not saved yet."""
    kept = posted.copy()
    for name in NOT_KEPT & kept.keys():
        del kept[name]
    kept[KEPT] = "1"
    return kept


def show_again(request: HttpRequest) -> HttpResponse | None:
    """Answer one of FORMS whose security token is too old, as after another login: one press shows it again.

    Saves nothing, because the form may be forged; nor does that press. Without a session it asks for the password instead,
    and uses none that was sent. None for all else.
    """
    if not is_form_sent(request):
        return None
    if not admin.site.has_permission(request):
        return _ask_for_password(request)
    return page(request, "show_again", _("This form is too old"), kept=kept_fields(request.POST).lists(), status=403)
