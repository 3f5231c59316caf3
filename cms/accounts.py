"""Readers' log-in. Passwords that were forgotten: asked for a few times an hour at most, and answered with the site's own
address."""

import secrets
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from cms import throttling
from comments import addresses
from mongo import rate_limit

RESETS, SECONDS = 5, 60 * 60


class LogIn(views.LoginView):
    """Django's own, on a page that bears the site's name: the view's `site` would be the host."""

    template_name = "accounts/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        del context["site"]
        return context


class PasswordReset(views.PasswordResetView):
    """Django's own, throttled by network and by address: a mail can be asked for by whoever knows where it goes."""

    @property
    def extra_email_context(self) -> dict[str, Any]:
        """Return the host and scheme of SITE_URL, where there is one: the request's host may be anybody's choice."""
        if not settings.SITE_URL:
            return {}
        parts = urlsplit(settings.SITE_URL)
        return {"domain": parts.netloc, "site_name": parts.netloc, "protocol": parts.scheme}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        for asked in (addresses.key(request), request.POST.get("email", "").strip().casefold()):
            key = throttling.key("reset", asked)
            if not rate_limit.take(key, limit=RESETS, seconds=SECONDS, token=secrets.token_hex(8)):
                return throttling.refused(request, SECONDS)
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer
