"""The actions that save and delete redirects from URLs without a page."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from nodes import access, redirects
from nodes.errors import FieldRefused
from nodes.models import tree
from nodes.selectors import manual_redirects, routes, slugs, stored_nodes
from nodes.services import manual_redirects as services
from nodes.setting_fields import MAIL, clean_target
from nodes.types import Actor

# Maximum number of redirects to follow when looking for a loop.
MOST_HOPS = 20


@dataclass(frozen=True, kw_only=True)
class SaveRedirect:
    """The action that adds a redirect, or changes its target.

    Attributes:
        user: The user who performs the action.
        url: The URL from which to redirect, as typed.
        target: The URL of a page, another path on this site, or the URL of another site, as typed.
        seen: The nonce of the stored redirect that the user saw, or None for a new redirect.
    """

    user: Any
    url: str
    target: str
    seen: ObjectId | None = None

    def check(self) -> tuple[str, str]:
        """Check permissions and rules. Return the URL and the target in their stored form.

        Raises:
            PermissionDenied: The user can't manage redirects.
            FieldRefused: The redirect would never be used, would lead nowhere, or would lead back to its own URL.
        """
        if not access.may_manage_redirects(self.user):
            raise PermissionDenied
        url = redirects.normalized(self.url)
        _check_url(url)
        target = _clean_target(self.target)
        _check_loop(url, target)
        stored = manual_redirects.get(url) if self.seen is None else None
        if stored and stored.target != target:
            raise FieldRefused(
                "url", _("“%(url)s” already redirects to %(target)s.") % {"url": url, "target": _label(stored.target)}
            )
        return url, target

    def execute(self) -> None:
        """Check permissions and rules, then store the redirect. Adding it again changes nothing.

        Raises:
            RedirectChanged: Someone else has changed, added or deleted the redirect.
        """
        url, target = self.check()
        if self.seen is not None or manual_redirects.get(url) is None:
            services.save(Actor.of(self.user), url, target, self.seen)


@dataclass(frozen=True, kw_only=True)
class DeleteRedirect:
    """The action that deletes a redirect.

    Attributes:
        user: The user who performs the action.
        url: The normalized URL.
        seen: The nonce of the stored redirect that the user saw.
    """

    user: Any
    url: str
    seen: ObjectId

    def execute(self) -> None:
        """Check permissions, then delete the redirect.

        Raises:
            PermissionDenied: The user can't manage redirects.
            RedirectChanged: Someone else has changed or deleted the redirect.
        """
        if not access.may_manage_redirects(self.user):
            raise PermissionDenied
        services.delete(self.url, self.seen)


def _check_url(url: str) -> None:
    """Raise FieldRefused if readers who open the normalized URL would not be redirected, because there is a page."""
    if not url:
        raise FieldRefused("url", _("Enter a URL on this site that starts with /, such as /old-page."))
    path = redirects.path_of(url)
    try:
        is_page = resolve(path).url_name == slugs.ROUTE
    except Resolver404:
        is_page = True
    if not is_page or path.startswith(settings.STATIC_URL.rstrip("/") + "/"):
        raise FieldRefused("url", _("“%(url)s” belongs to the site itself, so it can't redirect.") % {"url": path})
    sections = tree.current()
    node = stored_nodes.resolve(sections, path[1:], now())
    is_live = node is not None and unquote(node.get_absolute_url()) == path
    if is_live or routes.find(sections, path[1:], now()):
        raise FieldRefused("url", _("There is a page at “%(url)s”. Move or unpublish this page first.") % {"url": path})


def _clean_target(typed: str) -> str:
    """Return a target in its stored form. This function raises FieldRefused."""
    try:
        target = clean_target(typed.strip())
    except ValidationError as error:
        raise FieldRefused("target", " ".join(error.messages)) from error
    if target.startswith(MAIL):
        raise FieldRefused("target", _("A redirect can't lead to an email address."))
    return target


def _check_loop(url: str, target: str) -> None:
    """Raise FieldRefused if the target leads back to `url`."""
    for _hop in range(MOST_HOPS):
        next_url = redirects.normalized(manual_redirects.target_url(target)) if _is_on_site(target) else ""
        if next_url and redirects.path_of(next_url) == redirects.path_of(url):
            raise FieldRefused("target", _("This redirect would lead back to “%(url)s”.") % {"url": url})
        following = manual_redirects.find(next_url) if next_url else None
        if following is None:
            return
        target = following.target


def _is_on_site(target: str) -> bool:
    return "://" not in target or bool(settings.SITE_URL and target.startswith(f"{settings.SITE_URL}/"))


def _label(target: str) -> str:
    return unquote(manual_redirects.target_url(target)) or _("a page that readers can't see")
