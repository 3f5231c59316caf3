"""Who asks: a visitor, an account with a session, or a token, which is its owner with the rights that its scopes leave.

A Principal stands for a user in access functions (nodes/access.py, comments/posting/policy.py) and in Actor.of.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from api.problems import Problem
from api.rights import limits, tokens
from api.rights.scopes import Scope, leaves
from api.rights.tokens import Token
from marginalia.mongo.clock import now

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Principal:
    """Who asks, with no more of a user than access functions ask for, so that no right passes by the scopes."""

    def __init__(self, user: Any, token: Token | None = None, *, is_reading: bool = True) -> None:
        """`is_reading`: whether the request can change nothing, so that rights to write are rights to see."""
        self._user = user
        self.token = token
        self._is_reading = is_reading
        self.pk = self.id = user.pk
        self.is_authenticated: bool = user.is_authenticated
        self.is_active: bool = user.is_active
        self.is_staff: bool = user.is_staff and (token is None or bool(token.scopes))

    def has_scope(self, scope: Scope) -> bool:
        """Return whether the token was made for this; a session has every scope, a visitor none."""
        return self.is_authenticated and (self.token is None or scope in self.token.scopes)

    def has_perm(self, permission: str, obj: Any = None) -> bool:
        """Return whether the user has a permission, and the token's scopes leave it."""
        # What the admin is closed to, the API does not open.
        if permission.startswith("nodes.") and not self.is_staff:
            return False
        if self.token and not leaves(self.token.scopes, permission, is_reading=self._is_reading):
            return False
        # Who publishes sees all, also by a token that may not publish.
        if permission == "nodes.view_node" and self._user.has_perm("nodes.publish_node"):
            return True
        return bool(self._user.has_perm(permission))

    def get_username(self) -> str:
        """Return the account's name, "" of a visitor."""
        return str(self._user.get_username())

    def get_full_name(self) -> str:
        """Return the name that readers see, "" where there is none."""
        return str(self._user.get_full_name()) if self.is_authenticated else ""

    @property
    def email(self) -> str:
        """The account's e-mail address, "" of a visitor: where notices go that it asks for."""
        return str(self._user.email) if self.is_authenticated else ""


def of(request: HttpRequest) -> Principal:
    """Return who asks. For an endpoint, whose router has seen to it."""
    principal: Principal = request.auth
    return principal


def having(request: HttpRequest, scope: Scope) -> Principal:
    """Return who asks. Raises Problem (403) where a token was not made for this: what each change begins with."""
    principal = of(request)
    if not principal.has_scope(scope):
        raise Problem("forbidden", f"The token does not have the scope “{scope}”.", scope=str(scope))
    return principal


class BearerToken(HttpBearer):
    """`Authorization: Bearer mrg_…`: a header that opens nothing is refused, never taken for a visitor's."""

    def __call__(self, request: HttpRequest) -> Principal | None:
        if not (header := request.headers.get("Authorization")):
            return None
        return self.authenticate(request, _secret(header))

    def authenticate(self, request: HttpRequest, token: str) -> Principal:
        """Return the principal of a secret. Raises Problem: 401, or 429 where it asked too often."""
        moment = now()
        principal = _owner(token, moment, is_reading=request.method in SAFE)
        if principal is None or principal.token is None:
            raise Problem("unauthorized", headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        limits.count(request, f"token:{principal.token.id}", is_reading=request.method in SAFE)
        tokens.note_use(principal.token, moment)
        return principal


def sender(request: HttpRequest) -> Principal | None:
    """Return who asks, with the rights to change something; None for visitors and invalid tokens. No limit counts it."""
    if header := request.headers.get("Authorization"):
        return _owner(_secret(header), now(), is_reading=False)
    return Principal(request.user, is_reading=False) if request.user.is_authenticated else None


def _secret(header: str) -> str:
    kind, _space, secret = header.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def _owner(secret: str, moment: datetime, *, is_reading: bool) -> Principal | None:
    found = tokens.find(secret, moment)
    user = get_user_model()._default_manager.filter(pk=found.owner_id).first() if found else None
    return Principal(user, found, is_reading=is_reading) if user is not None and user.is_active else None


class Session(APIKeyCookie):
    """The session of the admin, and of readers with an account: what changes something needs the CSRF token besides."""

    param_name = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> Principal | None:
        if self.param_name not in request.COOKIES or not request.user.is_authenticated:
            return None
        is_reading = request.method in SAFE
        if not is_reading:
            if check_csrf(request):
                raise Problem("forbidden", "The CSRF token is missing or wrong.")
            limits.count(request, f"account:{request.user.pk}", is_reading=False)
        return Principal(request.user, is_reading=is_reading)

    def authenticate(self, request: HttpRequest, key: str | None) -> Principal | None:
        """Return None: a key alone names no one: Django's own middleware reads the session."""
        return None


class Visitor:
    """Any reader: what changes something is counted by network address."""

    # Without it the schema would say that everything needs a token.
    openapi_security_schema: dict[str, str] = {}

    def __call__(self, request: HttpRequest) -> Principal:
        if request.method not in SAFE:
            limits.count(request, limits.network(request), is_reading=False)
        return Principal(AnonymousUser(), is_reading=request.method in SAFE)


# What an operation takes as `auth`: anyone at all, or an account alone, by a token or a session.
ANYONE: list[Callable[[HttpRequest], Any]] = [BearerToken(), Session(), Visitor()]
ACCOUNTS: list[Callable[[HttpRequest], Any]] = [BearerToken(), Session()]
