"""The rail: the navigation on every page of the admin. It contains only links that the user can follow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.apps import apps as installed
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.dashboard.index import format_count
from editor import extensions
from marginalia.comments.moderation import pending
from nodes import access
from transfer import uploads

# The label and the icon of models that the rail lists at its top. The icons are in static/cms/icons.svg.
MAIN = {
    "nodes.Node": (gettext_lazy("Pages"), "pages"),
    "nodes.Photo": (gettext_lazy("Photos"), "photos"),
    "nodes.File": (gettext_lazy("Files"), "files"),
    "marginalia_comments.Moderation": (gettext_lazy("Comments"), "comments"),
}
SETTINGS = {
    "nodes.SiteSettings": gettext_lazy("Site"),
    "auth.User": gettext_lazy("People"),
    "auth.Group": gettext_lazy("Roles"),
}
TECHNICAL = {
    "marginalia_comments.StoredDiscussion": gettext_lazy("Discussions"),
    "marginalia_comments.StoredComment": gettext_lazy("Stored comments"),
    "marginalia_comments.StoredBucket": gettext_lazy("Buckets"),
}
# The number of pending comments is counted up to this limit.
MOST_PENDING = 99


@dataclass(frozen=True)
class Link:
    """A link of the rail.

    Attributes:
        icon: The name of a symbol in static/cms/icons.svg, or "".
        image: The path of a static file that a project uses as the icon, or "".
        count: The number of items that need attention, as text, or "".
    """

    label: str | Promise
    url: str
    icon: str = ""
    image: str = ""
    count: str = ""
    is_current: bool = False


@dataclass(frozen=True)
class Group:
    """Links of the rail with a common label. They are hidden until the user opens the group."""

    label: str
    icon: str
    links: tuple[Link, ...]

    @property
    def is_current(self) -> bool:
        """Whether the user is on a page of this group."""
        return any(link.is_current for link in self.links)


@dataclass(frozen=True)
class Rail:
    """The navigation on every page of the admin."""

    links: tuple[Link, ...]
    groups: tuple[Group, ...]

    def all_links(self) -> Iterator[Link]:
        """Yield all links, from top to bottom."""
        yield from self.links
        for group in self.groups:
            yield from group.links


def rail(request: HttpRequest, apps: list[dict[str, Any]]) -> Rail:
    """Return the rail of a page. `apps` is Django's list of the apps and models that the user can open."""
    user = request.user
    models = {model["model"]._meta.label: model for app in apps for model in app["models"]}

    def known(labels: dict[str, Promise]) -> list[Link]:
        return [Link(labels[name], models[name]["admin_url"]) for name in labels if name in models]

    settings = known(SETTINGS)
    if access.may_manage_tags(user):
        settings.append(Link(_("Tags"), reverse("admin:tags")))
    if access.may_manage_redirects(user):
        settings.append(Link(_("Redirects"), reverse("admin:redirects")))
    if uploads.may_import(user):
        settings.append(Link(_("Import"), reverse("admin:imports")))
    technical = known(TECHNICAL)
    if access.may_set_up(user):
        technical.append(Link(_("Jobs"), reverse("admin:jobs")))
    # Everyone can see API tokens, because each account manages its own tokens, regardless of its permissions.
    technical.append(Link(_("API tokens"), reverse("admin:tokens")))
    groups = [
        Group(_("Settings"), "settings", tuple(settings)),
        *_own_groups(apps, user),
        Group(_("For technicians"), "technical", tuple(technical)),
    ]
    rail = Rail(tuple(_main_links(models, user)), tuple(group for group in groups if group.links))
    return _mark_current(rail, request.path)


def _main_links(models: dict[str, dict[str, Any]], user: Any) -> Iterator[Link]:
    yield Link(_("Dashboard"), reverse("admin:index"), "dashboard")
    if user.has_perm("nodes.add_node"):
        yield Link(_("Write"), reverse("admin:nodes_node_add"), "write")
    for name, (label, icon) in MAIN.items():
        if name in models:
            count = _pending() if icon == "comments" else ""
            yield Link(label, models[name]["admin_url"], icon, count=count)


def _pending() -> str:
    count = pending.count(MOST_PENDING + 1)
    return format_count(count, MOST_PENDING) if count else ""


def _own_groups(apps: list[dict[str, Any]], user: Any) -> Iterator[Group]:
    """Yield the models and navigation items of projects, grouped by app."""
    links: dict[str, list[Link]] = {}
    shipped = {*MAIN, *SETTINGS, *TECHNICAL}
    for app in apps:
        own = [model for model in app["models"] if model["model"]._meta.label not in shipped and model["admin_url"]]
        if own:
            links[str(app["name"])] = [Link(model["name"], model["admin_url"]) for model in own]
    for item in extensions.navigation_items():
        if item.is_allowed(user):
            app_config = installed.get_containing_app_config(item.__module__)
            name = str(app_config.verbose_name) if app_config else _("Other")
            links.setdefault(name, []).append(Link(item.label, reverse(item.url_name), image=item.icon))
    for name, app_links in links.items():
        yield Group(name, "apps", tuple(app_links))


def _mark_current(found: Rail, path: str) -> Rail:
    """Mark the link to the page `path`, or to the nearest page above it, except for the Dashboard above all pages."""
    index = reverse("admin:index")
    above = [link.url for link in found.all_links() if path.startswith(link.url) and link.url != index]
    nearest = max(above, key=len, default=index if path == index else "")

    def marked(links: tuple[Link, ...]) -> tuple[Link, ...]:
        return tuple(replace(link, is_current=link.url == nearest) for link in links)

    return Rail(marked(found.links), tuple(replace(group, links=marked(group.links)) for group in found.groups))
