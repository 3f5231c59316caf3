"""Login for editors whose session expired before they submitted a form. The form is then shown with all typed text."""

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from editor.sent_forms import SHOW_ONLY
from editor.site import render_page

USERNAME, PASSWORD = "_username", "_password"
# Submitted fields that the login page doesn't repeat. Some are secrets. The others are buttons, which are left out so
# that nothing is saved until the editor has seen the text again.
DROPPED = frozenset({USERNAME, PASSWORD, "csrfmiddlewaretoken", "_save", "_continue", "_draft", "_publish", "_preview"})

# The long forms, keyed by URL name. If a page also has other forms, the value is the name of a field that only the long
# form contains. The views of these forms support SHOW_ONLY, which shows the submitted form without saving it. Forms
# that consist of a single button are not listed, because logging in must not perform their action.
FORMS: dict[str, str] = {
    "nodes_node_add": "",
    "nodes_node_change": "",
    "nodes_photo_change": "",
    "nodes_photo_describe": "",
    "nodes_sitesettings_changelist": "",
}


def log_in_again(request: HttpRequest) -> HttpResponse | None:
    """If one of FORMS was submitted by a user who wasn't logged in, return a page that asks for the password.

    The page contains the submitted fields. If the request contains the correct password, log the user in and return
    None, so that the view shows the submitted form without saving it. For all other requests, return None.
    """
    if not is_form_sent(request) or admin.site.has_permission(request):
        return None
    # Exclude the password from error reports.
    request.sensitive_post_parameters = [PASSWORD]
    typed = typed_fields(request.POST)
    form = None
    if PASSWORD in request.POST:
        credentials = {"username": request.POST.get(USERNAME, ""), "password": request.POST[PASSWORD]}
        form = AdminAuthenticationForm(request, data=credentials)
        if form.is_valid():
            login(request, form.get_user())
            request.POST = typed
            return None
    return _ask_for_password(request, form)


def _ask_for_password(request: HttpRequest, form: AdminAuthenticationForm | None = None) -> HttpResponse:
    typed = typed_fields(request.POST)
    response = render_page(request, "relogin", _("Log in again"), form=form, typed=typed.lists(), status=403)
    add_never_cache_headers(response)
    return response


def is_form_sent(request: HttpRequest) -> bool:
    """Return whether a request submits one of FORMS."""
    match = request.resolver_match
    if match is None or match.namespace != "admin" or match.url_name not in FORMS or request.method != "POST":
        return False
    unique_field = FORMS[match.url_name]
    return not unique_field or unique_field in request.POST


def typed_fields(posted: QueryDict) -> QueryDict:
    """Return the typed fields, with SHOW_ONLY added, so that the form is shown again but not saved."""
    typed = posted.copy()
    for name in DROPPED & typed.keys():
        del typed[name]
    typed[SHOW_ONLY] = "1"
    return typed


def show_again(request: HttpRequest) -> HttpResponse | None:
    """Return a page with a button that shows a submitted form again.

    This is used if the form's CSRF token has expired, for example after another login.

    The form must be one of FORMS. Neither this page nor its button saves anything, because the form may be forged. If
    there is no session, the page asks for the password, and ignores any password in the request. For all other forms,
    return None.
    """
    if not is_form_sent(request):
        return None
    if not admin.site.has_permission(request):
        return _ask_for_password(request)
    return render_page(
        request, "show_again", _("This form has expired"), typed=typed_fields(request.POST).lists(), status=403
    )
