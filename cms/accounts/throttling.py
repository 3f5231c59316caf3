"""Log-ins are throttled before any password is looked at, wherever on the site it was typed.

An attempt takes its place under every key first and gives it back if the password was right. A thousand tries at once
are therefore held to the same number as tries one by one. Names and addresses are kept as keyed hashes, until the
window has passed; nothing of them is logged.
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

SECONDS = 15 * 60
# Wrong passwords in SECONDS: from one network for one account, from one network, for one account from anywhere. The last is
# high, because anyone who knows a name can use it up.
PAIR = 5
NETWORK = 30
ACCOUNT = 100


class ThrottledBackend:
    """The first authentication backend: it knows no account, and no other backend sees a password that is one too many."""

    def authenticate(self, request: HttpRequest | None, username: str | None = None, **credentials: Any) -> None:
        """Count the try, once for a request. Raises PermissionDenied when it is one too many."""
        if request is None or username is None:
            return
        token = getattr(request, "throttle_token", None) or secrets.token_hex(8)
        request.throttle_token = token
        for key, limit in limits(request, username):
            if not rate_limit.allow(key, limit=limit, seconds=SECONDS, token=token):
                _give_back(request, username)
                request.is_throttled = True
                raise PermissionDenied


class ThrottleMiddleware:
    """Answer 429 in place of a log-in page whose password was not looked at."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        return too_many(request, response) if getattr(request, "is_throttled", False) else response


@receiver(user_logged_in)
def give_back(sender: Any, request: HttpRequest | None, user: Any, **more: Any) -> None:
    """Give the try's places back: a right password is not counted."""
    if request is not None:
        _give_back(request, user.get_username())


def _give_back(request: HttpRequest, name: str) -> None:
    if token := getattr(request, "throttle_token", None):
        for key, _limit in limits(request, name):
            rate_limit.refund(key, token=token)


def limits(request: HttpRequest, name: str) -> list[tuple[str, int]]:
    """Return (key, how many in SECONDS) of all that a try for an account is counted under."""
    network = ip_hash.key(request)
    account = name.strip().casefold()
    pairs = (("pair", f"{network} {account}", PAIR), ("network", network, NETWORK), ("account", account, ACCOUNT))
    return [(key(f"login:{kind}", what), limit) for kind, what, limit in pairs]


def too_many(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Answer 429. After a log-in over a form, its text comes back as it would with a wrong password."""
    if not is_form_sent(request):
        return refused(request, SECONDS)
    return _as_refusal(response, SECONDS)


def refused(request: HttpRequest, seconds: int) -> HttpResponse:
    """Answer 429 with a page that says when to come back."""
    return _as_refusal(render(request, "429.html", {"minutes": seconds // 60}), seconds)


def key(kind: str, what: str) -> str:
    """Return what tries of a kind are counted under: a keyed hash, from which nothing can be read."""
    return f"{kind}:{salted_hmac('cms.accounts.throttling', what, algorithm='sha256').hexdigest()[:40]}"


def _as_refusal(response: HttpResponse, seconds: int) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(seconds)
    add_never_cache_headers(response)
    return response
