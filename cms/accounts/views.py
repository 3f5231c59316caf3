"""Readers' log-in. Passwords that were forgotten: asked for a few times an hour at most, answered by a job (password_mail)."""

import secrets
from typing import Any

from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from cms.accounts import throttling
from cms.accounts.password_mail import QueuedResetForm
from marginalia.comments.posting import ip_hash
from marginalia.mongo import rate_limit

RESETS = 5
SECONDS = 60 * 60


class LogIn(views.LoginView):
    """Django's own, on a page that bears the site's name: the view's `site` would be the host."""

    template_name = "accounts/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        del context["site"]
        return context


class PasswordReset(views.PasswordResetView):
    """Django's own, throttled by network and by address: anyone who knows an address can ask for a mail to it."""

    form_class = QueuedResetForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        for asked in (ip_hash.key(request), request.POST.get("email", "").strip().casefold()):
            key = throttling.key("reset", asked)
            if not rate_limit.allow(key, limit=RESETS, seconds=SECONDS, token=secrets.token_hex(8)):
                return throttling.refused(request, SECONDS)
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer
