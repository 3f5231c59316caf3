"""Log-ins are throttled: django-axes asks here before any password is looked at, wherever on the site it was typed.

An attempt takes its place under every key first and gives it back if the password was right. Whoever sends a thousand at once
is therefore held to the same number as whoever sends them one by one. Names and addresses are kept as keyed hashes, until the
window has passed; nothing of them is logged.
"""

import secrets
from typing import Any

from axes.handlers.base import AbstractAxesHandler, AxesBaseHandler
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import salted_hmac

from comments.posting import ip_hash
from mongo import rate_limit

SECONDS = 15 * 60
# Wrong passwords in SECONDS: from one network for one account, from one network, for one account from anywhere. The last is
# high, because whoever knows a name can use it up.
PAIR, NETWORK, ACCOUNT = 5, 30, 100


class Throttle(AbstractAxesHandler, AxesBaseHandler):
    """What django-axes asks and tells about log-ins."""

    def is_allowed(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Return whether a password may be tried, and count the try: once for a request, however often it is asked."""
        if not settings.AXES_ENABLED or credentials is None:
            return True
        token = getattr(request, "throttle_token", None) or secrets.token_hex(8)
        request.throttle_token = token
        for key, limit in limits(request, _name(credentials)):
            if not rate_limit.take(key, limit=limit, seconds=SECONDS, token=token):
                self._give_back(request, _name(credentials))
                request.axes_locked_out = True
                return False
        return True

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **more: Any
    ) -> None:
        """The try was counted before."""

    def user_logged_in(self, sender: Any, request: HttpRequest, user: Any, **more: Any) -> None:
        """Give the try's places back: who knows the password is not counted."""
        self._give_back(request, user.get_username())

    def user_logged_out(self, sender: Any, request: HttpRequest, user: Any, **more: Any) -> None:
        """Nothing is counted."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return 0: `is_allowed` does not ask for a number."""
        return 0

    def _give_back(self, request: HttpRequest, name: str) -> None:
        if token := getattr(request, "throttle_token", None):
            for key, _limit in limits(request, name):
                rate_limit.give_back(key, token=token)


def limits(request: HttpRequest, name: str) -> list[tuple[str, int]]:
    """Return (key, how many in SECONDS) of all that a try for an account is counted under."""
    network, account = ip_hash.key(request), name.strip().casefold()
    pairs = (("pair", f"{network} {account}", PAIR), ("network", network, NETWORK), ("account", account, ACCOUNT))
    return [(key(f"login:{kind}", what), limit) for kind, what, limit in pairs]


def too_many(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any] | None) -> HttpResponse:
    """Answer 429. Where somebody logged in again over a form, its text comes back as it would with a wrong password."""
    match = request.resolver_match
    if match is None or not match.view_name.startswith("admin:nodes_"):
        return refused(request, SECONDS)
    return _as_refusal(response, SECONDS)


def refused(request: HttpRequest, seconds: int) -> HttpResponse:
    """Answer 429 with a page that says when to come back."""
    return _as_refusal(render(request, "429.html", {"minutes": seconds // 60}), seconds)


def key(kind: str, what: str) -> str:
    """Return what tries of a kind are counted under: a keyed hash, from which nothing can be read."""
    return f"{kind}:{salted_hmac('cms.throttling', what, algorithm='sha256').hexdigest()[:40]}"


def _as_refusal(response: HttpResponse, seconds: int) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(seconds)
    add_never_cache_headers(response)
    return response


def _name(credentials: dict[str, Any]) -> str:
    return str(credentials.get("username") or "")
