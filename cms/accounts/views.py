"""The login page for readers, invitations, names, and password resets.

Requests for a reset are throttled, and a job sends the emails.
"""

import secrets
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import login
from django.contrib.auth import views as auth_views
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from cms.accounts import invitations, throttling
from cms.accounts.forms import AcceptInvitationForm, NameForm
from cms.accounts.password_reset_email import QueuedResetForm
from marginalia.comments.posting import ip_hash
from marginalia.mongo import rate_limit

# Maximum number of reset requests in WINDOW_SECONDS, per network and per email address.
RESET_LIMIT = 5
WINDOW_SECONDS = 60 * 60


class LoginView(auth_views.LoginView):
    """Django's view without its `site` context variable, which would hide the variable with the site's settings."""

    template_name = "accounts/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        del context["site"]
        return context


class PasswordResetView(auth_views.PasswordResetView):
    """Django's view, throttled per network and per email address.

    Without a limit, anyone could have many emails sent to someone else's address.
    """

    form_class = QueuedResetForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        for sender in (ip_hash.key(request), request.POST.get("email", "").strip().casefold()):
            key = throttling.rate_limit_key("reset", sender)
            if not rate_limit.allow(key, limit=RESET_LIMIT, seconds=WINDOW_SECONDS, token=secrets.token_hex(8)):
                return throttling.throttled_response(request, WINDOW_SECONDS)
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


class AcceptInvitationView(auth_views.PasswordResetConfirmView):
    """Django's view for setting a password with a link, except that GET requests don't store the token in a session.

    The token stays in the URL, so the policy for the Referer header keeps it from other sites and from logs.
    """

    form_class = AcceptInvitationForm
    template_name = "registration/invitation.html"
    title = _("Accept invitation")
    success_url = reverse_lazy("admin:index")

    @method_decorator(sensitive_post_parameters())
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.user = self.get_user(kwargs["uidb64"])
        self.validlink = invitations.is_valid(self.user, kwargs["token"])
        response = FormView.dispatch(self, request, *args, **kwargs) if self.validlink else self._expired()
        add_never_cache_headers(response)
        # "no-referrer" would also remove the Origin header, which the check of the CSRF token needs.
        response["Referrer-Policy"] = "strict-origin"
        return response

    def get_initial(self) -> dict[str, Any]:
        return {"name": self.user.get_full_name() if self.user else ""}

    def form_valid(self, form: AcceptInvitationForm) -> HttpResponseBase:
        """Log the person in, unless another request accepted the invitation first."""
        if not form.save():
            self.validlink = False
            return self._expired()
        login(self.request, self.user, backend="django.contrib.auth.backends.ModelBackend")
        return FormView.form_valid(self, form)

    def _expired(self) -> HttpResponse:
        return self.render_to_response(self.get_context_data() | {"title": _("This link doesn't work")}, status=410)


class NameView(FormView):
    """The page with which users change the name that readers see. Only staff have this page."""

    form_class = NameForm
    template_name = "admin/name.html"
    success_url = reverse_lazy("admin:index")

    def get_initial(self) -> dict[str, Any]:
        return {"name": self.request.user.get_full_name()}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shared = admin.site.each_context(self.request)
        context: dict[str, Any] = super().get_context_data(**shared, title=_("Your name"), **kwargs)
        return context

    def form_valid(self, form: NameForm) -> HttpResponseBase:
        form.store(self.request.user)
        messages.success(self.request, _("Your name was changed."))
        return super().form_valid(form)
