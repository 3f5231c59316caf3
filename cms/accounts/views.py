"""The login page for readers, and password resets. Requests for a reset are throttled, and a job sends the emails."""

import secrets
from typing import Any

from django.contrib.auth import views as auth_views
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from cms.accounts import throttling
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
