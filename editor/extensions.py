"""Extension points of the admin. The apps of a project use them in their `admin` module.

    @register
    class RecipeAdmin(ContentAdmin):
        content_types = [Recipe]
        panels = [FieldGroup("Cooking", ["course", "servings"]), Orders]

    @register
    class OrdersTile(DashboardTile):
        label = "Orders"
        template = "shop/orders_tile.html"

None of these classes depends on the HTML of the admin. Errors in the code of a panel, a column or a tile are logged,
and the page shows a notice instead.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from nodes.actions import NodeAction
from nodes.content import Content
from nodes.models import Node
from nodes.types import SelectedNode

if TYPE_CHECKING:
    from editor.forms import NodeForm

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class Extension:
    """Base class for everything with a label that an app adds to the admin.

    Attributes:
        label: The text that users see.
        permission: The permission without which users don't see the extension, such as "shop.view_order". If empty,
            everyone who sees the page sees the extension.
    """

    label: ClassVar[str | Promise] = ""
    permission: ClassVar[str] = ""

    @classmethod
    def is_allowed(cls, user: Any) -> bool:
        """Return whether `user` has the permission."""
        return not cls.permission or bool(user.has_perm(cls.permission))


@dataclass(frozen=True)
class FieldGroup:
    """A group of declared fields in the edit form.

    Attributes:
        label: The heading of the group.
        fields: The names of the fields, in the order in which the form shows them.
    """

    label: str | Promise
    fields: Sequence[str]


class Panel(Extension):
    """A read-only panel next to the fields of a stored page. Forms of new pages don't have panels.

    Attributes:
        template: The template. Its variables are `node`, `user`, and the result of `context`.
    """

    template: ClassVar[str] = ""

    def context(self, node: Node, user: Any) -> Mapping[str, Any]:
        """Return additional variables for the template. Don't change any data here."""
        return {}


class DashboardTile(Extension):
    """A tile on the Dashboard.

    Attributes:
        template: The template. Its variables are `user` and the result of `context`.
    """

    template: ClassVar[str] = ""

    def context(self, user: Any) -> Mapping[str, Any]:
        """Return additional variables for the template. Don't change any data here."""
        return {}


class NavigationItem(Extension):
    """A link in the rail, in the group of the app that registers the link.

    The permission only hides the link. The linked view has to check permissions, too.

    Attributes:
        url_name: The name of the URL, such as "shop:orders".
        icon: The path of a static file, such as "shop/orders.svg", or "".
    """

    url_name: ClassVar[str] = ""
    icon: ClassVar[str] = ""


class Column(Extension):
    """A column in the list of pages.

    Attributes:
        fields: The names of the declared fields that the column reads. The list loads only these fields.
    """

    fields: ClassVar[Sequence[str]] = ()

    def value(self, node: Node, user: Any) -> Any:
        """Return the value for a row. It is shown as text. Don't query the database here."""
        raise NotImplementedError

    def values(self, nodes: Sequence[Node], user: Any) -> Sequence[Any]:
        """Return the values for all rows, in the same order. Override this method to read all data with one query."""
        return [self.value(node, user) for node in nodes]


class BulkAction(Extension):
    """An action on the pages that are selected in the list.

    Attributes:
        action_class: The action, which checks the user's permission for each page and then writes.
        confirmation: A sentence about the effects, which users have to confirm first. If empty, the action starts
            immediately.
    """

    action_class: ClassVar[type[NodeAction]]
    confirmation: ClassVar[str | Promise] = ""

    def make_action(self, user: Any, selected: SelectedNode) -> NodeAction:
        """Return the action for a selected page. Override this method to pass more arguments, such as the nonce."""
        return self.action_class(user=user, node_id=selected.id)


class ContentAdmin:
    """The admin of one or more content types: their edit form, and additions to their list.

    Attributes:
        content_types: The content types. A base class includes all its types, so `Entry` stands for all posts and
            `Content` for all types.
        form_class: A subclass of `editor.forms.NodeForm`, with other widgets, labels and help texts, or with fields
            that depend on each other. The form class of a type replaces the form class of its base classes.
        panels: Field groups and panels, in the order in which the form shows them. Fields that aren't in any group keep
            their place.
        columns: Columns that the list shows while it is filtered by one of the types.
        actions: Bulk actions that the list offers while it is filtered by one of the types.
    """

    content_types: ClassVar[Sequence[type[Content]]] = ()
    form_class: ClassVar["type[NodeForm] | None"] = None
    panels: ClassVar[Sequence[FieldGroup | type[Panel]]] = ()
    columns: ClassVar[Sequence[type[Column]]] = ()
    actions: ClassVar[Sequence[type[BulkAction]]] = ()

    @classmethod
    def covers(cls, content_type: type[Content]) -> bool:
        """Return whether this class is for `content_type`. Photos have their own admin pages."""
        classes = tuple(covered for covered in cls.content_types if isinstance(covered, type))
        return not content_type.is_file and issubclass(content_type, classes)


Registered = TypeVar("Registered", bound=type[ContentAdmin] | type[DashboardTile] | type[NavigationItem])

_registered: list[Any] = []


def register(extension: Registered) -> Registered:
    """Register a ContentAdmin, DashboardTile or NavigationItem. Use this function as a class decorator."""
    if not (isinstance(extension, type) and issubclass(extension, ContentAdmin | DashboardTile | NavigationItem)):
        raise TypeError(f"{extension!r} is not a subclass of ContentAdmin, DashboardTile or NavigationItem.")
    if extension not in _registered:
        _registered.append(extension)
    return extension


def unregister(extension: type) -> None:
    """Remove a registered class, as if its app weren't installed."""
    _registered.remove(extension)


def content_admins(content_type: type[Content] | None = None) -> tuple[type[ContentAdmin], ...]:
    """Return the registered admins that apply to a content type, or all registered admins if no type is given.

    For `Content`, return the admins that apply to all types. Lists that contain different types use only these admins.
    """
    admins = (extension for extension in _registered if issubclass(extension, ContentAdmin))
    return tuple(admin for admin in admins if content_type is None or admin.covers(content_type))


def form_classes(content_type: type[Content]) -> list["type[NodeForm]"]:
    """Return the form classes of a content type. There should be at most one.

    If form classes are declared for a type and for its base classes, return those of the nearest class.
    """
    for base in content_type.__mro__:
        admins = [admin for admin in content_admins(content_type) if base in admin.content_types]
        if found := [admin.form_class for admin in admins if admin.form_class]:
            return found
    return []


def panels(content_type: type[Content]) -> Iterator[FieldGroup | type[Panel]]:
    """Yield the field groups and panels of a content type."""
    for admin in content_admins(content_type):
        yield from admin.panels


def columns(content_type: type[Content], user: Any) -> list[type[Column]]:
    """Return the columns of a content type that `user` can see."""
    admins = content_admins(content_type)
    return [column for admin in admins for column in admin.columns if column.is_allowed(user)]


def actions(content_type: type[Content], user: Any) -> dict[str, type[BulkAction]]:
    """Return the bulk actions for a content type that `user` can perform, keyed by name."""
    found = (action for admin in content_admins(content_type) for action in admin.actions)
    return {name_of(action): action for action in found if action.is_allowed(user)}


def tiles() -> tuple[type[DashboardTile], ...]:
    """Return the registered tiles."""
    return tuple(extension for extension in _registered if issubclass(extension, DashboardTile))


def navigation_items() -> tuple[type[NavigationItem], ...]:
    """Return the registered navigation items."""
    return tuple(extension for extension in _registered if issubclass(extension, NavigationItem))


def name_of(extension: type) -> str:
    """Return the name that identifies a class in messages and in forms."""
    return f"{extension.__module__}.{extension.__qualname__}"


@dataclass(frozen=True)
class Box:
    """A panel or tile as the page shows it. If its code failed, `html` is None."""

    label: str | Promise
    html: SafeString | None


def render_panel(panel: type[Panel], node: Node, user: Any) -> Box:
    """Return a panel as HTML."""
    return Box(panel.label, run(panel, _render, panel, {"node": node, "user": user}, node, user))


def render_tiles(user: Any) -> list[Box]:
    """Return the tiles that `user` can see as HTML."""
    allowed = [tile for tile in tiles() if tile.is_allowed(user)]
    return [Box(tile.label, run(tile, _render, tile, {"user": user}, user)) for tile in allowed]


def _render(extension: type[Panel] | type[DashboardTile], variables: Mapping[str, Any], *args: Any) -> SafeString:
    return render_to_string(extension.template, {**variables, **extension().context(*args)})


def run(extension: type, function: Callable[..., Result], *args: Any) -> Result | None:
    """Return the result of calling an extension's code, or None if the code fails. The error is logged.

    A mistake in an extension must not prevent editors from using the page.
    """
    try:
        return function(*args)
    except Exception:
        logger.exception("%s failed.", name_of(extension))
        return None
