"""The field groups and panels that projects declare, arranged for the edit form."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from editor import extensions
from editor.extensions import Box, FieldGroup
from editor.forms import Group, NodeForm
from nodes import content
from nodes.models import Node


@dataclass
class OwnPanels:
    """The field groups and panels of a content type.

    Attributes:
        main: The groups with long text or rows, for the main column.
        side: The other groups, and the read-only panels.
    """

    main: list[Group] = field(default_factory=list)
    side: list[Group | Box] = field(default_factory=list)


def arrange(form: NodeForm, node: Node | None, user: Any, without: Collection[str] = ()) -> OwnPanels:
    """Return the field groups and panels for a form. A new page, for which `node` is None, has no read-only panels.

    The fields in `without` are omitted, because they are shown elsewhere.
    """
    own = OwnPanels()
    for panel in extensions.panels(content.get(form.type)):
        if not isinstance(panel, FieldGroup):
            if node and panel.is_allowed(user):
                own.side.append(extensions.render_panel(panel, node, user))
        elif group := form.own_group(panel, without):
            (own.main if form.is_wide(panel) else own.side).append(group)
    return own
