"""The actions that save and delete redirects from URLs without a page."""

from collections.abc import Iterable, Iterator, Sequence, Set
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
from nodes.errors import FieldRefused, RedirectChanged
from nodes.models import File, Node, Photo, tree
from nodes.models.stored_site import linked_id
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
        _check_rights(self.user)
        known = _KnownURLs([(self.url, self.target)])
        return _clean(known, self.url, self.target, is_new=self.seen is None)

    def execute(self) -> None:
        """Check permissions and rules, then store the redirect. Adding it again changes nothing.

        Raises:
            RedirectChanged: Someone else has changed, added or deleted the redirect.
        """
        url, target = self.check()
        if self.seen is not None or manual_redirects.get(url) is None:
            services.save(Actor.of(self.user), url, target, self.seen)


@dataclass(frozen=True, kw_only=True)
class AddRedirects:
    """The action that adds many redirects. The number of queries doesn't depend on the number of redirects.

    Attributes:
        user: The user who performs the action.
        redirects: The URL and the target of each redirect, as typed.
    """

    user: Any
    redirects: Sequence[tuple[str, str]]

    def check(self) -> list[str]:
        """Return, for each redirect, the reason why it can't be added, or "".

        Raises:
            PermissionDenied: The user can't manage redirects.
        """
        return [reason for reason, _url in self._checked({})]

    def execute(self) -> list[str]:
        """Store the redirects that can be added. Return the reasons why others weren't added, as in `check`.

        Adding a redirect again changes nothing.

        Raises:
            PermissionDenied: The user can't manage redirects.
        """
        targets: dict[str, str] = {}
        checked = list(self._checked(targets))
        changed = services.add_all(Actor.of(self.user), targets)
        return [str(RedirectChanged(url)) if url in changed else reason for reason, url in checked]

    def _checked(self, targets: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Yield (reason, URL) for each redirect, and add the target of each URL without a redirect to `targets`."""
        _check_rights(self.user)
        known = _KnownURLs(self.redirects)
        for typed_url, typed_target in self.redirects:
            try:
                url, target = _clean(known, typed_url, typed_target, is_new=True)
            except FieldRefused as error:
                yield str(error), ""
                continue
            if url not in known.targets:
                known.targets[url] = targets[url] = target
            yield "", url


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
        _check_rights(self.user)
        services.delete(self.url, self.seen)


class _KnownURLs:
    """The pages and redirects at the URLs and targets of some redirects, read with a few queries.

    Attributes:
        targets: The targets of stored redirects, keyed by URL, including all redirects to which the redirects lead.
    """

    def __init__(self, typed: Iterable[tuple[str, str]]) -> None:
        urls = {redirects.normalized(text) for pair in typed for text in pair}
        self.sections = tree.current()
        self.moment = now()
        paths = {redirects.path_of(url)[1:] for url in urls}
        self._pages = stored_nodes.live_at(self.sections, paths - {""}, self.moment)
        self.targets: dict[str, str] = {}
        self._read_targets(urls)

    def _read_targets(self, urls: Set[str]) -> None:
        known: set[str] = set()
        for _hop in range(MOST_HOPS):
            urls = (urls | {redirects.path_of(url) for url in urls}) - known
            if not urls:
                return
            stored = manual_redirects.get_all(urls)
            self.targets |= {url: redirect.target for url, redirect in stored.items()}
            known |= urls
            urls = {_next_url(redirect.target) for redirect in stored.values()}

    def page_at(self, path: str) -> Node | Photo | None:
        """Return the public page or photo that has this path now, such as "/news/hello", or None."""
        return self._pages.get(path[1:])

    def resolve_address(self, address: str) -> Node | Photo | File | None:
        """Return the public page, photo or file that has, or used to have, the URL `address`, or None."""
        page = self.page_at(redirects.path_of(redirects.normalized(address)))
        return page or stored_nodes.resolve_address(address)

    def target_of(self, url: str) -> str | None:
        """Return the target to which readers of a normalized URL are redirected, or None."""
        return self.targets.get(url) or self.targets.get(redirects.path_of(url))


def _check_rights(user: Any) -> None:
    """Raise PermissionDenied unless the user can manage redirects."""
    if not access.may_manage_redirects(user):
        raise PermissionDenied


def _clean(known: _KnownURLs, typed_url: str, typed_target: str, *, is_new: bool) -> tuple[str, str]:
    """Return a redirect's URL and target in their stored form. This function raises FieldRefused."""
    url = redirects.normalized(typed_url)
    _check_url(known, url)
    target = _clean_target(known, typed_target)
    _check_loop(known, url, target)
    stored = known.targets.get(url) if is_new else None
    if stored and stored != target:
        raise FieldRefused(
            "url", _("“%(url)s” already redirects to %(target)s.") % {"url": url, "target": _label(stored)}
        )
    return url, target


def _check_url(known: _KnownURLs, url: str) -> None:
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
    page = known.page_at(path)
    is_page = page is not None and unquote(page.get_absolute_url()) == path
    if is_page or routes.find(known.sections, path[1:], known.moment):
        raise FieldRefused("url", _("There is a page at “%(url)s”. Move or unpublish this page first.") % {"url": path})


def _clean_target(known: _KnownURLs, typed: str) -> str:
    """Return a target in its stored form. This function raises FieldRefused."""
    try:
        target = clean_target(typed.strip(), known.resolve_address)
    except ValidationError as error:
        raise FieldRefused("target", " ".join(error.messages)) from error
    if target.startswith(MAIL):
        raise FieldRefused("target", _("A redirect can't lead to an email address."))
    return target


def _check_loop(known: _KnownURLs, url: str, target: str) -> None:
    """Raise FieldRefused if the target leads back to `url`."""
    following: str | None = target
    for _hop in range(MOST_HOPS):
        next_url = _next_url(following) if following else ""
        if not next_url:
            return
        if redirects.path_of(next_url) == redirects.path_of(url):
            raise FieldRefused("target", _("This redirect would lead back to “%(url)s”.") % {"url": url})
        following = known.target_of(next_url)


def _next_url(target: str) -> str:
    """Return the normalized URL on this site to which a stored target leads, or "".

    A target that is a page leads to no other redirect, because readers see the page.
    """
    return redirects.normalized(target) if _is_on_site(target) and not linked_id(target) else ""


def _is_on_site(target: str) -> bool:
    return "://" not in target or bool(settings.SITE_URL and target.startswith(f"{settings.SITE_URL}/"))


def _label(target: str) -> str:
    return unquote(manual_redirects.target_url(target)) or _("a page that readers can't see")
