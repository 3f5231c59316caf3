"""Principals: visitors, accounts with a session, and tokens. A token has a subset of its owner's permissions.

The access functions (nodes/access.py, comments/posting/policy.py) and Actor.of accept a Principal instead of a user.
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
from api.rights.scopes import Scope, allows
from api.rights.tokens import Token
from marginalia.mongo.clock import now

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Principal:
    """The visitor, account or token that sent a request.

    A principal has only those user attributes that access functions read, so that no permission check can bypass the
    scopes.
    """

    def __init__(self, user: Any, token: Token | None = None, *, is_reading: bool = True) -> None:
        """Initialize with a user.

        Args:
            user: The user.
            token: The token of the request, or None.
            is_reading: Whether the request is read-only. If it is, the owner's write permissions count as view
                permissions.
        """
        self._user = user
        self.token = token
        self._is_reading = is_reading
        self.pk = self.id = user.pk
        self.is_authenticated: bool = user.is_authenticated
        self.is_active: bool = user.is_active
        self.is_staff: bool = user.is_staff and (token is None or bool(token.scopes))

    def has_scope(self, scope: Scope) -> bool:
        """Return whether the token has a scope. Sessions have all scopes, and visitors have none."""
        return self.is_authenticated and (self.token is None or scope in self.token.scopes)

    def has_perm(self, permission: str, obj: Any = None) -> bool:
        """Return whether the user has a permission that the token's scopes allow."""
        # Accounts without access to the admin have no node permissions in the API, either.
        if permission.startswith("nodes.") and not self.is_staff:
            return False
        if self.token and not allows(self.token.scopes, permission, is_reading=self._is_reading):
            return False
        # Users with permission to publish can view everything, even if they use a token that can't publish.
        if permission == "nodes.view_node" and self._user.has_perm("nodes.publish_node"):
            return True
        return bool(self._user.has_perm(permission))

    def get_username(self) -> str:
        """Return the account's name, or "" for a visitor."""
        return str(self._user.get_username())

    def get_full_name(self) -> str:
        """Return the name that readers see, or "" if there is none."""
        return str(self._user.get_full_name()) if self.is_authenticated else ""

    @property
    def comment_picture(self) -> str:
        """Return the URL of the picture that is shown with the user's comments, or ""."""
        return str(getattr(self._user, "comment_picture", ""))

    @property
    def email(self) -> str:
        """Return the email address for the account's notifications, or "" for a visitor."""
        return str(self._user.email) if self.is_authenticated else ""


def current(request: HttpRequest) -> Principal:
    """Return the principal of an API request, which the router has already set."""
    principal: Principal = request.auth
    return principal


def require_scope(request: HttpRequest, scope: Scope) -> Principal:
    """Return a request's principal if it has the given scope. Endpoints that change something call this first.

    Raises:
        Problem: 403 if the principal's token does not have the scope.
    """
    principal = current(request)
    if not principal.has_scope(scope):
        raise Problem("forbidden", f"The token doesn't have the scope “{scope}”.", scope=str(scope))
    return principal


class BearerToken(HttpBearer):
    """Authentication with `Authorization: Bearer mrg_…`.

    A request with an invalid token is rejected instead of being treated as a visitor's request.
    """

    def __call__(self, request: HttpRequest) -> Principal | None:
        if not (header := request.headers.get("Authorization")):
            return None
        return self.authenticate(request, _secret(header))

    def authenticate(self, request: HttpRequest, token: str) -> Principal:
        """Return the principal for a token's secret.

        Raises:
            Problem: 401 if the token is not valid, 429 if the token exceeds its rate limit.
        """
        moment = now()
        principal = _principal_of_secret(token, moment, is_reading=request.method in SAFE_METHODS)
        if principal is None or principal.token is None:
            raise Problem("unauthorized", headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        limits.count(request, f"token:{principal.token.id}", is_reading=request.method in SAFE_METHODS)
        tokens.record_use(principal.token, moment)
        return principal


def for_writing(request: HttpRequest) -> Principal | None:
    """Return the principal that the sender would have in an unsafe request, or None for visitors and invalid tokens.

    The request is not counted toward a rate limit.
    """
    if header := request.headers.get("Authorization"):
        return _principal_of_secret(_secret(header), now(), is_reading=False)
    return Principal(request.user, is_reading=False) if request.user.is_authenticated else None


def _secret(header: str) -> str:
    kind, _space, secret = header.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def _principal_of_secret(secret: str, moment: datetime, *, is_reading: bool) -> Principal | None:
    token = tokens.find(secret, moment)
    user = get_user_model()._default_manager.filter(pk=token.owner_id).first() if token else None
    return Principal(user, token, is_reading=is_reading) if user is not None and user.is_active else None


class Session(APIKeyCookie):
    """Authentication with the session cookie of a user who has logged in, either to the admin or as a reader.

    Unsafe requests also need a CSRF token.
    """

    param_name = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> Principal | None:
        if self.param_name not in request.COOKIES or not request.user.is_authenticated:
            return None
        is_reading = request.method in SAFE_METHODS
        if not is_reading:
            if check_csrf(request):
                raise Problem("forbidden", "The CSRF token is missing or wrong.")
            limits.count(request, f"account:{request.user.pk}", is_reading=False)
        return Principal(request.user, is_reading=is_reading)

    def authenticate(self, request: HttpRequest, key: str | None) -> Principal | None:
        """Return None. ninja requires this method, but `__call__` uses the user that Django has already logged in."""
        return None


class Visitor:
    """Authentication that accepts any visitor. Unsafe requests are counted per network."""

    # Without this attribute, the OpenAPI document would require a token for all operations.
    openapi_security_schema: dict[str, str] = {}

    def __call__(self, request: HttpRequest) -> Principal:
        if request.method not in SAFE_METHODS:
            limits.count(request, limits.visitor_key(request), is_reading=False)
        return Principal(AnonymousUser(), is_reading=request.method in SAFE_METHODS)


# Values for an operation's `auth`. ANYONE allows all clients. ACCOUNTS allows only accounts, with a token or a session.
ANYONE: list[Callable[[HttpRequest], Any]] = [BearerToken(), Session(), Visitor()]
ACCOUNTS: list[Callable[[HttpRequest], Any]] = [BearerToken(), Session()]
