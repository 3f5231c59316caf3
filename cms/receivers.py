"""What happens on this site when something happens in an app."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from comments import services
from comments.types import Target
from nodes.models import Node, Photo
from nodes.signals import node_deleted


@receiver(node_deleted)
def forget_discussion(*, node_id: ObjectId, **kwargs: Any) -> None:
    """Delete the discussion of a node that was deleted for good."""
    for model in (Node, Photo):
        services.forget(Target(model._meta.label_lower, str(node_id)))
