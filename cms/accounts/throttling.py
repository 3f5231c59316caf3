"""Throttle all of the site's login forms.

Each attempt is counted before the password is checked. If the password is correct, the attempt is then removed from the
counts. Simultaneous attempts are therefore subject to the same limit as successive attempts. Usernames and IP addresses
are never logged. They are stored only as keyed hashes, and only until the time window has passed.
"""

import secrets
from collections.abc import Callable
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import salted_hmac

from editor.relogin import is_form_sent
from marginalia.comments.posting import ip_hash
from marginalia.mongo import rate_limit

WINDOW_SECONDS = 15 * 60
# How many wrong passwords are allowed in WINDOW_SECONDS. The limit per account is high, because anyone who knows a
# username can use up this limit and lock out the account's owner.
NETWORK_AND_ACCOUNT_LIMIT = 5
NETWORK_LIMIT = 30
ACCOUNT_LIMIT = 100


class ThrottledBackend:
    """The first authentication backend. It only counts login attempts, and rejects attempts that exceed a limit."""

    def authenticate(self, request: HttpRequest | None, username: str | None = None, **credentials: Any) -> None:
        """Count the attempt, once per request.

        Raises:
            PermissionDenied: The attempt exceeds a limit.
        """
        if request is None or username is None:
            return
        token = getattr(request, "throttle_token", None) or secrets.token_hex(8)
        request.throttle_token = token
        for key, limit in login_limits(request, username):
            if not rate_limit.allow(key, limit=limit, seconds=WINDOW_SECONDS, token=token):
                _release(request, username)
                request.is_throttled = True
                raise PermissionDenied


class ThrottleMiddleware:
    """Middleware that returns status 429 instead of the login page if ThrottledBackend rejected the attempt."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        return login_throttled_response(request, response) if getattr(request, "is_throttled", False) else response


@receiver(user_logged_in)
def uncount_successful_login(sender: Any, request: HttpRequest | None, user: Any, **more: Any) -> None:
    """Remove a login attempt from the counts, because its password was correct."""
    if request is not None:
        _release(request, user.get_username())


def _release(request: HttpRequest, username: str) -> None:
    if token := getattr(request, "throttle_token", None):
        for key, _limit in login_limits(request, username):
            rate_limit.refund(key, token=token)


def login_limits(request: HttpRequest, username: str) -> list[tuple[str, int]]:
    """Return the limits that apply to a login attempt, as (rate limit key, maximum in WINDOW_SECONDS) pairs."""
    network = ip_hash.key(request)
    account = username.strip().casefold()
    limits = (
        ("pair", f"{network} {account}", NETWORK_AND_ACCOUNT_LIMIT),
        ("network", network, NETWORK_LIMIT),
        ("account", account, ACCOUNT_LIMIT),
    )
    return [(rate_limit_key(f"login:{kind}", value), limit) for kind, value, limit in limits]


def login_throttled_response(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return a 429 response for a login.

    If the user was logging in again to save a form, the response contains the form's text.
    """
    if not is_form_sent(request):
        return throttled_response(request, WINDOW_SECONDS)
    return _mark_throttled(response, WINDOW_SECONDS)


def throttled_response(request: HttpRequest, seconds: int) -> HttpResponse:
    """Return a 429 response with a page that shows how long to wait."""
    return _mark_throttled(render(request, "429.html", {"minutes": seconds // 60}), seconds)


def rate_limit_key(kind: str, value: str) -> str:
    """Return the rate limit key for a `kind` of attempt and a `value`. The value is hashed with a secret."""
    return f"{kind}:{salted_hmac('cms.accounts.throttling', value, algorithm='sha256').hexdigest()[:40]}"


def _mark_throttled(response: HttpResponse, seconds: int) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(seconds)
    add_never_cache_headers(response)
    return response
