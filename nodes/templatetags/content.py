"""{% load content %}: what the fields of a type refer to."""

from typing import Any

from bson import ObjectId
from django import template

from mongo.clock import now
from nodes.models import tree
from nodes.selectors import nodes

register = template.Library()


@register.simple_tag
def referred(node_id: ObjectId | None) -> Any:
    """{% referred detail.see_also as other %}: the node or photo that a field names; None where readers do not see it."""
    return nodes.live_by_id(tree.current(), node_id, now()) if node_id else None
